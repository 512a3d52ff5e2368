use std::ops::Range;

use super::{Region, RegionKind, text};
use crate::layout::{ElementLayout, FieldLayout, RowLayout, ValueLayout};
use crate::raw::{RawArray, RawMap};
use crate::{Cell, Error, Format, Frame, FromCell, Image, Layout, Result, Row, ValueRef};

/// Lists of numbers are told in pieces of this size.
const PIECE: usize = 8;

/// The regions of one frame, in order.
pub(super) fn walk(layout: &Layout, frame: Frame, bytes: &[u8]) -> Result<Vec<Region>> {
    let body = frame.body(layout.hash(), bytes)?;
    // So that what follows meets no wrong values, and errors name the place as decodes do.
    layout.check(frame.image(), body)?;
    let mut walk = Walk { bytes, regions: vec![], end: 0 };
    let start = bytes.len() - body.len();
    if frame.has_size() {
        walk.push(4, "", RegionKind::Size, text::count(bytes.len() - 4, "byte"));
    }
    if frame.has_hash() {
        walk.push(8, "", RegionKind::Hash, layout.hash().to_string());
    }
    match frame.image() {
        Image::Row => walk.row(start, layout.row(body)?, ""),
        Image::Array => walk.array(start, layout.array(body)?.raw(), layout.first_list()?, ""),
        Image::Map => {
            let map = layout.first_map()?;
            walk.map(start, body, &map.keys, &map.values, "")
        }
    }?;
    Ok(walk.regions)
}

/// Walks through containers in the order of the bytes. What a container refers to does not overlap, so that no byte
/// is met twice.
struct Walk<'a> {
    bytes: &'a [u8],
    regions: Vec<Region>,
    /// Behind the last region.
    end: usize,
}

/// What a reference refers to.
struct Child<'a> {
    /// Within the container.
    range: Range<usize>,
    path: String,
    layout: &'a ValueLayout,
    cell: Cell<'a>,
}

impl Walk<'_> {
    fn row(&mut self, start: usize, row: Row<'_>, path: &str) -> Result<()> {
        let mut children = vec![];
        self.fields(start, row, path, &mut children)?;
        let fixed_end = row.layout().geometry.fixed_end;
        self.pad(start + fixed_end);
        self.children(start, row.bytes().len(), 0, children)
    }

    /// The slots and the bitmap of a row, or of a struct in the slot of its parent.
    fn fields<'a>(
        &mut self,
        start: usize,
        row: Row<'a>,
        path: &str,
        children: &mut Vec<Child<'a>>,
    ) -> Result<()> {
        let layout = row.layout();
        if layout.format == Format::Standard {
            self.bitmap(row, path);
        }
        for field in layout.order.iter().filter_map(|index| layout.field(*index)) {
            let path = member(path, &field.name);
            match row.cell(field) {
                Some(cell) => self.slot(start, cell, slot_len(layout, field), path, children)?,
                None => self.null(slot_len(layout, field), &path),
            }
        }
        if layout.format == Format::Compact {
            self.bitmap(row, path);
        }
        Ok(())
    }

    fn bitmap(&mut self, row: Row<'_>, path: &str) {
        let layout = row.layout();
        let nulls = layout.order.iter().filter_map(|index| layout.field(*index));
        let nulls = nulls.filter(|field| row.null(field)).map(|field| field.name.clone());
        self.push(layout.geometry.bitmap_len, path, RegionKind::Bitmap, text::nulls(nulls));
    }

    /// One value that is not null, in a slot of `len` bytes of a container which starts at `start`.
    fn slot<'a>(
        &mut self,
        start: usize,
        cell: Cell<'a>,
        len: usize,
        path: String,
        children: &mut Vec<Child<'a>>,
    ) -> Result<()> {
        if let ValueLayout::Struct(row) = cell.layout
            && row.geometry.inline.is_some()
        {
            return self.fields(start, Row::from_cell(cell)?, &path, children);
        }
        if !cell.layout.is_reference() {
            self.push(len, &path, RegionKind::Value, text::of(ValueRef::from_cell(cell)?));
            return Ok(());
        }
        let (offset, size) = cell.slot.reference()?;
        let text = format!("{} at offset {offset:#x}", text::count(size, "byte"));
        self.push(len, &path, RegionKind::Reference, text);
        let range = offset..offset + size;
        children.push(Child { range, path, layout: cell.layout, cell });
        Ok(())
    }

    fn array(
        &mut self,
        start: usize,
        array: &RawArray<'_>,
        element: &ElementLayout,
        path: &str,
    ) -> Result<()> {
        let geometry = array.geometry();
        let mut children = vec![];
        let count = text::count(array.len(), "element");
        self.push(element.shape.count_len(), path, RegionKind::Count, count);
        let nulls = (0..array.len()).filter(|index| array.is_null(*index)).map(|index| index.to_string());
        self.push(geometry.bitmap_len, path, RegionKind::Bitmap, text::nulls(nulls));
        self.pad(start + geometry.elements);
        if element.value.is_reference() || matches!(element.value, ValueLayout::Struct(_)) {
            for index in 0..array.len() {
                let path = format!("{path}[{index}]");
                let len = element.shape.stride();
                if array.is_null(index) {
                    self.null(len, &path);
                } else {
                    let cell = Cell { slot: array.slot(index), layout: &element.value };
                    self.slot(start, cell, len, path, &mut children)?;
                }
            }
        } else {
            self.elements(array, element, path)?;
        }
        self.children(start, array.bytes().len(), geometry.fixed_end() - geometry.elements_end, children)
    }

    /// Elements of fixed width, some at a time.
    fn elements(&mut self, array: &RawArray<'_>, element: &ElementLayout, path: &str) -> Result<()> {
        let stride = element.shape.stride();
        let step = (PIECE / stride).max(1);
        for first in (0..array.len()).step_by(step) {
            let end = array.len().min(first + step);
            let texts = (first..end).map(|index| match array.is_null(index) {
                true => Ok("null".into()),
                false => {
                    let cell = Cell { slot: array.slot(index), layout: &element.value };
                    ValueRef::from_cell(cell).map(text::of)
                }
            });
            let texts = texts.collect::<Result<Vec<String>>>()?.join(", ");
            let path =
                if end == first + 1 { format!("{path}[{first}]") } else { format!("{path}[{first}..{end}]") };
            self.push((end - first) * stride, &path, RegionKind::Value, texts);
        }
        Ok(())
    }

    fn map(
        &mut self,
        start: usize,
        bytes: &[u8],
        keys: &ElementLayout,
        values: &ElementLayout,
        path: &str,
    ) -> Result<()> {
        let map = RawMap::open(bytes, keys.shape, values.shape)?;
        let size = map.keys.bytes().len();
        self.push(8, path, RegionKind::KeysSize, format!("keys of {}", text::count(size, "byte")));
        self.array(start + 8, &map.keys, keys, &member(path, "key"))?;
        self.array(start + 8 + size, &map.values, values, &member(path, "value"))
    }

    /// What the slots of a container of `len` bytes refer to, and what is between. `pad` bytes behind the slots are
    /// padding.
    fn children(
        &mut self,
        start: usize,
        len: usize,
        mut pad: usize,
        mut children: Vec<Child<'_>>,
    ) -> Result<()> {
        children.retain(|child| !child.range.is_empty());
        children.sort_by_key(|child| child.range.start);
        let mut before = String::new();
        for Child { range, path, layout, cell } in children {
            if start + range.start < self.end {
                return Err(
                    Error::malformed(format!("bytes {range:?} are also those of {before}")).in_field(&path)
                );
            }
            self.gap(start + range.start, pad);
            pad = if layout.is_padded() { Format::padded(range.len()) - range.len() } else { 0 };
            self.child(start + range.start, range.len(), cell, &path)?;
            before = path;
        }
        self.gap(start + len, pad);
        Ok(())
    }

    fn child(&mut self, start: usize, len: usize, cell: Cell<'_>, path: &str) -> Result<()> {
        match cell.layout {
            ValueLayout::Struct(_) => self.row(start, Row::from_cell(cell)?, path),
            ValueLayout::List(element) => {
                let array = RawArray::open(cell.slot.payload()?, element.shape)?;
                self.array(start, &array, element, path)
            }
            ValueLayout::Map(map) => self.map(start, cell.slot.payload()?, &map.keys, &map.values, path),
            _ => {
                self.push(len, path, RegionKind::Payload, text::of(ValueRef::from_cell(cell)?));
                Ok(())
            }
        }
    }

    /// The bytes up to `end`, of which at most the first `pad` are padding.
    fn gap(&mut self, end: usize, pad: usize) {
        self.pad(end.min(self.end + pad));
        let len = end - self.end;
        self.push(
            len,
            "",
            RegionKind::Unused,
            format!("{} that nothing refers to", text::count(len, "byte")),
        );
    }

    /// The padding up to `end`.
    fn pad(&mut self, end: usize) {
        let len = end - self.end;
        let text = if self.zeros(len) { "padding" } else { "padding, not all zero" };
        self.push(len, "", RegionKind::Padding, text.into());
    }

    /// The slot of a null.
    fn null(&mut self, len: usize, path: &str) {
        let text = if self.zeros(len) { "null" } else { "null, in a slot that is not zero" };
        self.push(len, path, RegionKind::Null, text.into());
    }

    /// Whether the next bytes are zero.
    fn zeros(&self, len: usize) -> bool {
        self.bytes.get(self.end..self.end + len).is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0))
    }

    fn push(&mut self, len: usize, path: &str, kind: RegionKind, text: String) {
        if len > 0 {
            let range = self.end..self.end + len;
            self.end = range.end;
            self.regions.push(Region { range, path: path.into(), kind, text });
        }
    }
}

fn member(path: &str, name: &str) -> String {
    if path.is_empty() { name.into() } else { format!("{path}.{name}") }
}

fn slot_len(layout: &RowLayout, field: &FieldLayout) -> usize {
    match layout.format {
        Format::Standard => 8,
        Format::Compact => field.value.width(layout.format).unwrap_or(8),
    }
}

impl ValueLayout {
    /// Whether a slot holds a reference, if the value is a struct: in this format.
    fn is_reference(&self) -> bool {
        match self {
            Self::Utf8 | Self::Binary | Self::Decimal { .. } | Self::List(_) | Self::Map(_) => true,
            Self::Struct(row) => row.geometry.inline.is_none(),
            _ => false,
        }
    }
}
