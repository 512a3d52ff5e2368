//! A small canvas: discs and thick lines with soft edges, written as PNG.

use anyhow::Result;

/// Red, green, blue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Color(pub(super) [u8; 3]);

pub(super) const WHITE: Color = Color([250, 251, 252]);

/// Pixels from the upper left, or metres.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

#[derive(Debug, Clone)]
pub(super) struct Canvas {
    width: u32,
    height: u32,
    pixels: Vec<[u8; 3]>,
}

impl Canvas {
    pub(super) fn new(width: u32, height: u32, color: Color) -> Self {
        Self { width, height, pixels: vec![color.0; width as usize * height as usize] }
    }

    /// A disc.
    pub(super) fn disc(&mut self, center: Point, radius: f64, color: Color) {
        self.line(center, center, radius, color);
    }

    /// A line with round ends. A pixel is covered as far as it is closer than `radius` to the line.
    pub(super) fn line(&mut self, from: Point, to: Point, radius: f64, color: Color) {
        let columns = span(from.x, to.x, radius, self.width);
        for y in span(from.y, to.y, radius, self.height) {
            for x in columns.clone() {
                let pixel = Point { x: f64::from(x) + 0.5, y: f64::from(y) + 0.5 };
                let cover = (radius + 0.5 - distance(pixel, from, to)).clamp(0.0, 1.0);
                if cover > 0.0 {
                    self.blend(x, y, color, cover);
                }
            }
        }
    }

    /// The canvas as a PNG file.
    pub(super) fn png(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(self.pixels.as_flattened())?;
        writer.finish()?;
        Ok(bytes)
    }

    fn blend(&mut self, x: u32, y: u32, color: Color, cover: f64) {
        let place = y as usize * self.width as usize + x as usize;
        if let Some(pixel) = self.pixels.get_mut(place) {
            for (old, new) in pixel.iter_mut().zip(color.0) {
                let mixed = f64::from(*old) + (f64::from(new) - f64::from(*old)) * cover;
                *old = rounded(mixed);
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "clamped to what fits")]
fn rounded(value: f64) -> u8 {
    value.round().clamp(0.0, 255.0) as u8
}

/// The pixels between two coordinates, wider by `radius`, inside `0..limit`.
#[expect(clippy::cast_possible_truncation, reason = "clamped to what fits")]
fn span(a: f64, b: f64, radius: f64, limit: u32) -> std::ops::Range<u32> {
    let end = f64::from(limit);
    let first = (a.min(b) - radius - 1.0).clamp(0.0, end) as u32;
    let last = (a.max(b) + radius + 2.0).clamp(0.0, end) as u32;
    first..last
}

fn distance(point: Point, from: Point, to: Point) -> f64 {
    let (dx, dy) = (to.x - from.x, to.y - from.y);
    let length = dx * dx + dy * dy;
    let along = if length == 0.0 {
        0.0
    } else {
        (((point.x - from.x) * dx + (point.y - from.y) * dy) / length).clamp(0.0, 1.0)
    };
    (point.x - from.x - along * dx).hypot(point.y - from.y - along * dy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_cover_what_they_cross() {
        let mut canvas = Canvas::new(10, 10, WHITE);
        let black = Color([0; 3]);
        canvas.line(Point { x: 0.0, y: 5.0 }, Point { x: 10.0, y: 5.0 }, 1.0, black);
        assert_eq!(canvas.pixels[45], [0; 3]);
        assert_eq!(canvas.pixels[5], WHITE.0);
        // Outside is left out, not an error.
        canvas.disc(Point { x: -50.0, y: 500.0 }, 3.0, black);
        assert!(canvas.png().unwrap().starts_with(b"\x89PNG"));
    }
}
