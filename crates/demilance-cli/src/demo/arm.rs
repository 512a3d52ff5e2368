//! A simulated arm with two joints that reaches for a goal, seen by a camera.
//!
//! Columns are named as in LeRobot data sets: `observation.state` (two angles in radians, two speeds),
//! `action` (two torques), `timestamp`, `frame_index`, `episode_index`, `index`, `observation.image` (PNG).

use std::f64::consts::PI;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::builder::{BinaryBuilder, FixedSizeListBuilder, Float32Builder};
use arrow_array::{ArrayRef, Float32Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::picture::{Canvas, Color, Point, WHITE};
use super::random::Random;

/// Frames a second.
pub(super) const RATE: f64 = 30.0;
/// Lengths of the two links in metres.
const LINKS: [f64; 2] = [0.5, 0.4];
const WIDTH: u32 = 320;
const HEIGHT: u32 = 240;
/// Pixels a metre.
const SCALE: f64 = 120.0;

const GRID: Color = Color([226, 230, 236]);
const UPPER: Color = Color([44, 82, 130]);
const LOWER: Color = Color([66, 133, 200]);
const JOINT: Color = Color([30, 34, 42]);
const GOAL: Color = Color([214, 69, 65]);
const TRAIL: Color = Color([240, 170, 60]);

/// Makes the episodes of one seed, one after the other.
#[derive(Debug)]
pub(super) struct Episodes {
    seed: u64,
    frames: u64,
    next: u64,
    end: u64,
    background: Canvas,
}

impl Episodes {
    /// Episodes `first..end`, each with `frames` frames. An episode is the same whoever makes it.
    pub(super) fn new(seed: u64, frames: u64, first: u64, end: u64) -> Self {
        Self { seed, frames, next: first, end, background: background() }
    }

    /// The schema of the batches.
    pub(super) fn schema() -> SchemaRef {
        let floats =
            |size| DataType::FixedSizeList(Arc::new(Field::new("item", DataType::Float32, true)), size);
        Arc::new(Schema::new(vec![
            Field::new("observation.state", floats(4), false),
            Field::new("action", floats(2), false),
            Field::new("timestamp", DataType::Float32, false),
            Field::new("frame_index", DataType::Int64, false),
            Field::new("episode_index", DataType::Int64, false),
            Field::new("index", DataType::Int64, false),
            Field::new("observation.image", DataType::Binary, false),
        ]))
    }

    fn episode(&self, episode: u64) -> Result<RecordBatch> {
        let mut arm = Arm::new(Random::new(self.seed ^ episode.wrapping_mul(0x2545_f491_4f6c_dd1d)));
        let mut states = FixedSizeListBuilder::new(Float32Builder::new(), 4);
        let mut actions = FixedSizeListBuilder::new(Float32Builder::new(), 2);
        let mut times = Vec::new();
        let mut images = BinaryBuilder::new();
        let mut trail = Vec::new();
        for frame in 0..self.frames {
            let action = arm.action();
            for value in arm.angles.iter().chain(&arm.speeds) {
                states.values().append_value(single(*value));
            }
            states.append(true);
            for value in action {
                actions.values().append_value(single(value));
            }
            actions.append(true);
            times.push(single(frame as f64 / RATE));
            trail.push(arm.hand());
            images.append_value(arm.picture(&self.background, &trail)?);
            arm.step(action);
        }
        let frames = i64::try_from(self.frames)?;
        let number = i64::try_from(episode)?;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(states.finish()),
            Arc::new(actions.finish()),
            Arc::new(Float32Array::from(times)),
            Arc::new((0..frames).collect::<Int64Array>()),
            Arc::new((0..frames).map(|_| number).collect::<Int64Array>()),
            Arc::new((0..frames).map(|frame| number * frames + frame).collect::<Int64Array>()),
            Arc::new(images.finish()),
        ];
        Ok(RecordBatch::try_new(Self::schema(), columns)?)
    }
}

impl Iterator for Episodes {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        let episode = self.next;
        self.next += 1;
        Some(self.episode(episode))
    }
}

/// The arm on its way.
#[derive(Debug)]
struct Arm {
    angles: [f64; 2],
    speeds: [f64; 2],
    /// The angles that reach the goal.
    target: [f64; 2],
    goal: Point,
    random: Random,
}

impl Arm {
    fn new(mut random: Random) -> Self {
        let angles = [random.between(0.1 * PI, 0.9 * PI), random.between(-0.6 * PI, 0.6 * PI)];
        let target = [random.between(0.1 * PI, 0.9 * PI), random.between(-0.8 * PI, 0.8 * PI)];
        let goal = joints(target).1;
        Self { angles, speeds: [0.0; 2], target, goal, random }
    }

    /// Torques of a controller that pulls to the goal, with the tremble of a person who shows how.
    fn action(&mut self) -> [f64; 2] {
        let [a, b] = self.angles;
        let [u, v] = self.speeds;
        let [to_a, to_b] = self.target;
        let mut torque = |error: f64, speed: f64| 6.0 * error - 3.0 * speed + self.random.between(-0.4, 0.4);
        [torque(to_a - a, u), torque(to_b - b, v)]
    }

    fn step(&mut self, action: [f64; 2]) {
        for ((angle, speed), torque) in self.angles.iter_mut().zip(&mut self.speeds).zip(action) {
            *speed += (torque - 0.5 * *speed) / RATE;
            *angle += *speed / RATE;
        }
    }

    fn hand(&self) -> Point {
        joints(self.angles).1
    }

    fn picture(&self, background: &Canvas, trail: &[Point]) -> Result<Vec<u8>> {
        let mut canvas = background.clone();
        for point in trail.iter().rev().take(40).step_by(2) {
            canvas.disc(on_screen(*point), 1.8, TRAIL);
        }
        let goal = on_screen(self.goal);
        canvas.disc(goal, 8.0, GOAL);
        canvas.disc(goal, 5.0, WHITE);
        canvas.disc(goal, 2.0, GOAL);
        let (elbow, hand) = joints(self.angles);
        let base = on_screen(Point { x: 0.0, y: 0.0 });
        let (elbow, hand) = (on_screen(elbow), on_screen(hand));
        canvas.line(base, elbow, 6.0, UPPER);
        canvas.line(elbow, hand, 4.5, LOWER);
        canvas.disc(base, 8.0, JOINT);
        canvas.disc(elbow, 5.0, JOINT);
        canvas.disc(hand, 4.0, JOINT);
        canvas.png()
    }
}

/// Recordings have single precision.
#[expect(clippy::cast_possible_truncation, reason = "rounding is what is wanted")]
const fn single(value: f64) -> f32 {
    value as f32
}

/// Where elbow and hand are, in metres from the base.
fn joints([shoulder, elbow]: [f64; 2]) -> (Point, Point) {
    let [upper, lower] = LINKS;
    let middle = Point { x: upper * shoulder.cos(), y: upper * shoulder.sin() };
    let bend = shoulder + elbow;
    (middle, Point { x: middle.x + lower * bend.cos(), y: middle.y + lower * bend.sin() })
}

fn on_screen(point: Point) -> Point {
    Point { x: f64::from(WIDTH) / 2.0 + SCALE * point.x, y: f64::from(HEIGHT) * 0.62 - SCALE * point.y }
}

fn background() -> Canvas {
    let mut canvas = Canvas::new(WIDTH, HEIGHT, WHITE);
    for line in 0..16 {
        let at = f64::from(line) * 20.0 + 10.5;
        let (right, bottom) = (f64::from(WIDTH), f64::from(HEIGHT));
        canvas.line(Point { x: at, y: 0.0 }, Point { x: at, y: bottom }, 0.5, GRID);
        canvas.line(Point { x: 0.0, y: at }, Point { x: right, y: at }, 0.5, GRID);
    }
    canvas
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float32Type, Int64Type};

    #[test]
    fn episodes_are_the_same_every_time() {
        let first: Vec<_> = Episodes::new(1, 5, 0, 3).map(Result::unwrap).collect();
        let again: Vec<_> = Episodes::new(1, 5, 2, 3).map(Result::unwrap).collect();
        assert_eq!(first.len(), 3);
        assert_eq!(first[2], again[0]);
        assert_ne!(first[0].column(0), first[1].column(0));
        assert_eq!(first[2].column(5).as_primitive::<Int64Type>().values(), &[10, 11, 12, 13, 14]);
    }

    #[test]
    fn the_arm_reaches_its_goal() {
        let mut arm = Arm::new(Random::new(3));
        for _ in 0..150 {
            let action = arm.action();
            arm.step(action);
        }
        let (hand, goal) = (arm.hand(), arm.goal);
        assert!((hand.x - goal.x).hypot(hand.y - goal.y) < 0.1, "{hand:?} {goal:?}");
    }

    #[test]
    fn pictures_decode() {
        let batch = Episodes::new(1, 30, 0, 1).next().unwrap().unwrap();
        let images = batch.column(6).as_binary::<i32>();
        let mut frames = Vec::new();
        for row in [0, 29] {
            let mut reader = png::Decoder::new(std::io::Cursor::new(images.value(row))).read_info().unwrap();
            let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
            let info = reader.next_frame(&mut pixels).unwrap();
            assert_eq!((info.width, info.height), (WIDTH, HEIGHT));
            frames.push(pixels);
        }
        assert_ne!(frames[0], frames[1]);
        let states = batch.column(0).as_fixed_size_list();
        assert!(states.values().as_primitive::<Float32Type>().values().iter().all(|value| value.is_finite()));
    }
}
