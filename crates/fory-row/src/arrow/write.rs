//! Writing the images of a batch, a column at a time.
//!
//! Each image has a cursor, where its next variable data go. A column is written with all below it before the next
//! one, so that variable data come in the order of the fields, whatever is nested in whatever.

use arrow_buffer::BooleanBuffer;

use super::column::{Column, Payload, Payloads, Values};
use super::image::{Even, Fault, Image, KEYS_SIZE, Nested};
use super::number::{self, Change};
use crate::error::Step;
use crate::layout::{ElementLayout, MapLayout, RowLayout, ValueLayout};
use crate::write::{put, refer, set_bit};
use crate::{Error, Format, Result};

/// Where the values of one column are in their images.
#[derive(Debug, Clone, Copy)]
enum Slots {
    /// In each row or struct, one.
    Field { slot: usize, bitmap: usize, bit: usize, nullable: bool },
    /// In each array, as many as there are elements.
    Elements { stride: usize, bitmap: usize, nullable: bool },
}

/// One column as it is written.
struct Target<'t> {
    slab: &'t mut [u8],
    column: &'t Column,
    images: &'t mut [Image],
    even: Option<Even>,
    slots: Slots,
}

/// Writes the fields of `rows`, whose bytes in `slab` are all zero.
pub(super) fn write_row(
    slab: &mut [u8],
    columns: &[Column],
    layout: &RowLayout,
    rows: &mut [Image],
    nested: &mut [Nested],
) -> Result<(), Fault> {
    let even = Even::of(rows);
    for ((column, field), nested) in columns.iter().zip(&layout.fields).zip(nested) {
        let slots = Slots::Field {
            slot: field.slot,
            bitmap: layout.geometry.bitmap,
            bit: field.bit,
            nullable: field.nullable,
        };
        Target { slab, column, images: rows, even, slots }
            .write(&field.value, nested)
            .map_err(|fault| fault.in_field(&field.name))?;
    }
    Ok(())
}

/// Writes counts and elements of `arrays`, whose other bytes in `slab` are all zero.
fn write_arrays(
    slab: &mut [u8],
    items: &Column,
    element: &ElementLayout,
    arrays: &mut [Image],
    nested: &mut Nested,
    step: fn(usize) -> Step,
) -> Result<(), Fault> {
    let count_len = element.shape.count_len();
    for (ordinal, array) in arrays.iter().enumerate() {
        let count = (array.len as u64).to_le_bytes();
        put(slab, array.start, count.get(..count_len).unwrap_or_default()).map_err(|error| Fault {
            image: ordinal,
            at: 0,
            error,
        })?;
    }
    let slots = Slots::Elements {
        stride: element.shape.stride(),
        bitmap: count_len,
        nullable: element.shape.nullable,
    };
    let written =
        Target { slab, column: items, images: arrays, even: None, slots }.write(&element.value, nested);
    written.map_err(|fault| fault.out_of(arrays, |error, at| error.within(step(at))))
}

impl Target<'_> {
    fn write(mut self, layout: &ValueLayout, nested: &mut Nested) -> Result<(), Fault> {
        let column = self.column;
        match (&column.values, layout, nested) {
            (Values::Bool(values), ..) => self.bools(values),
            (Values::Number { width: 1, bytes }, ..) => self.numbers::<1>(bytes),
            (Values::Number { width: 2, bytes }, ..) => self.numbers::<2>(bytes),
            (Values::Number { width: 4, bytes }, ..) => self.numbers::<4>(bytes),
            (Values::Number { bytes, .. }, ..) => self.numbers::<8>(bytes),
            (Values::Changed { change, bytes }, ..) => self.changed(*change, bytes),
            (Values::FixedBinary { width, bytes }, ..) => self.visit(|slab, _, slot, index| {
                put(slab, slot, bytes.get(index * width..(index + 1) * width).unwrap_or_default())
            }),
            (Values::Decimal { width, bytes }, ValueLayout::Decimal { precision, scale }, _) => {
                self.visit(|slab, image, slot, index| {
                    let decimal = number::decimal(bytes, *width, index, *scale)?;
                    write_payload(slab, image, slot, &decimal.to_stored(*precision, *scale)?)
                })
            }
            (Values::Payload(payload), ..) => match payload {
                Payload::Small(bytes) => self.payloads(bytes),
                Payload::Large(bytes) => self.payloads(bytes),
                Payload::Utf8View(views) => self.payloads(views),
                Payload::BinaryView(views) => self.payloads(views),
                Payload::Fixed(bytes) => self.payloads(bytes),
            },
            (Values::Struct(columns), ValueLayout::Struct(row), Nested::Structs(structs, nested)) => {
                self.nulls()?;
                self.place_structs(structs, row)?;
                write_row(self.slab, columns, row, structs, nested)
                    .map_err(|fault| fault.out_of(structs, |error, _| error))
            }
            (Values::List { items, .. }, ValueLayout::List(element), Nested::Lists(lists, nested)) => {
                self.nulls()?;
                self.place_lists(lists, element)?;
                write_arrays(self.slab, items, element, lists, nested, Step::Element)
            }
            (Values::Map { keys, values, .. }, ValueLayout::Map(map), Nested::Maps(nested)) => {
                self.nulls()?;
                let [(key_images, key_nested), (value_images, value_nested)] = nested.as_mut();
                self.place_maps(key_images, value_images, map)?;
                write_arrays(self.slab, keys, &map.keys, key_images, key_nested, Step::Key)?;
                write_arrays(self.slab, values, &map.values, value_images, value_nested, Step::Value)
            }
            // Columns are made for their layout, and images for their column.
            (_, layout, _) => {
                let error = Error::value(format!("a column that is not one of {}", layout.name()));
                Err(Fault { image: 0, at: 0, error })
            }
        }
    }

    fn bools(&mut self, values: &BooleanBuffer) -> Result<(), Fault> {
        match (self.even, self.slots) {
            (Some(even), Slots::Field { slot, .. }) if self.column.keys.is_none() => {
                let values = values.slice(even.first, even.len);
                even.write(self.slab, slot, values.iter().map(|value| [value.into()]));
                self.clear_nulls(even, slot, 1)
            }
            _ => self.visit(|slab, _, slot, index| put(slab, slot, &[values.value(index).into()])),
        }
    }

    fn numbers<const N: usize>(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if cfg!(target_endian = "little") && self.column.keys.is_none() {
            match (self.even, self.slots) {
                (Some(even), Slots::Field { slot, .. }) => {
                    let (numbers, _) = bytes.get(even.first * N..).unwrap_or_default().as_chunks::<N>();
                    even.write(self.slab, slot, numbers.iter().copied());
                    return self.clear_nulls(even, slot, N);
                }
                // Elements lie as the numbers of Arrow do.
                (_, Slots::Elements { .. }) if self.column.nulls.is_none() => {
                    return copy_elements(self.slab, self.images, bytes, N);
                }
                _ => {}
            }
        }
        self.visit(|slab, _, slot, index| put(slab, slot, &number::little_endian::<N>(bytes, index)?))
    }

    /// Marks nulls, and takes out what was written in their slots of `width` bytes.
    fn clear_nulls(&mut self, even: Even, slot: usize, width: usize) -> Result<(), Fault> {
        let Some(nulls) = &self.column.nulls else { return Ok(()) };
        let valid = nulls.inner().slice(even.first, even.len);
        for ordinal in (!&valid).set_indices() {
            let start = even.start + ordinal * even.step;
            put(self.slab, start + slot, [0; 8].get(..width).unwrap_or_default())
                .and_then(|()| self.slots.null(self.slab, start, 0))
                .map_err(|error| Fault { image: ordinal, at: 0, error })?;
        }
        Ok(())
    }

    fn changed(&mut self, change: Change, bytes: &[u8]) -> Result<(), Fault> {
        use number::{days, micros_of_millis, micros_of_nanos, micros_of_seconds, read};

        let long = |index| read(bytes, index).map(i64::from_ne_bytes);
        match change {
            Change::UInt8 => self.change(|i| Ok(i16::from(u8::from_ne_bytes(read(bytes, i)?)).to_le_bytes())),
            Change::UInt16 => {
                self.change(|i| Ok(i32::from(u16::from_ne_bytes(read(bytes, i)?)).to_le_bytes()))
            }
            Change::UInt32 => {
                self.change(|i| Ok(i64::from(u32::from_ne_bytes(read(bytes, i)?)).to_le_bytes()))
            }
            Change::Date64 => self.change(|i| Ok(days(long(i)?)?.to_le_bytes())),
            Change::Seconds => self.change(|i| Ok(micros_of_seconds(long(i)?)?.to_le_bytes())),
            Change::Millis => self.change(|i| Ok(micros_of_millis(long(i)?)?.to_le_bytes())),
            Change::Nanos => self.change(|i| Ok(micros_of_nanos(long(i)?).to_le_bytes())),
        }
    }

    fn change<const N: usize>(&mut self, number: impl Fn(usize) -> Result<[u8; N]>) -> Result<(), Fault> {
        self.visit(|slab, _, slot, index| put(slab, slot, &number(index)?))
    }

    fn payloads(&mut self, payloads: &impl Payloads) -> Result<(), Fault> {
        self.visit(|slab, image, slot, index| write_payload(slab, image, slot, payloads.bytes(index)))
    }

    /// Marks the nulls of values that are images.
    fn nulls(&mut self) -> Result<(), Fault> {
        if self.column.nulls.is_none() {
            return Ok(());
        }
        self.visit(|_, _, _, _| Ok(()))
    }

    fn place_structs(&mut self, structs: &mut [Image], layout: &RowLayout) -> Result<(), Fault> {
        for image in structs {
            if layout.geometry.inline.is_some() {
                let owner = self.images.get(image.owner).copied().unwrap_or_default();
                image.start = self.slots.of(&owner, image.at);
            } else {
                image.start = self.claim(image, image.size)?;
            }
            image.cursor = image.start + layout.geometry.fixed_end;
        }
        Ok(())
    }

    fn place_lists(&mut self, lists: &mut [Image], element: &ElementLayout) -> Result<(), Fault> {
        for image in lists {
            image.start = self.claim(image, image.size)?;
            image.cursor = image.start + elements_end(image, element);
        }
        Ok(())
    }

    fn place_maps(
        &mut self,
        keys: &mut [Image],
        values: &mut [Image],
        layout: &MapLayout,
    ) -> Result<(), Fault> {
        for (key, value) in keys.iter_mut().zip(values) {
            let start = self.claim(key, KEYS_SIZE + key.size + value.size)?;
            put(self.slab, start, &(key.size as u64).to_le_bytes()).map_err(|error| key.fault(error))?;
            key.start = start + KEYS_SIZE;
            key.cursor = key.start + elements_end(key, &layout.keys);
            value.start = key.start + key.size;
            value.cursor = value.start + elements_end(value, &layout.values);
        }
        Ok(())
    }

    /// Gives `inner` the next `size` bytes of the image that it is in, and refers to them.
    fn claim(&mut self, inner: &Image, size: usize) -> Result<usize, Fault> {
        let Some(owner) = self.images.get_mut(inner.owner) else {
            return Err(inner.fault(Error::value("a value outside of all images")));
        };
        let start = owner.cursor;
        owner.cursor += size;
        let slot = self.slots.of(owner, inner.at);
        refer(self.slab, slot, start - owner.start, size).map_err(|error| inner.fault(error))?;
        Ok(start)
    }

    /// Calls `write` for each value that is not null, with its image, its slot and its place in the values of the
    /// column, and marks the nulls.
    #[inline]
    fn visit(
        &mut self,
        mut write: impl FnMut(&mut [u8], &mut Image, usize, usize) -> Result<()>,
    ) -> Result<(), Fault> {
        let plain = self.column.nulls.is_none() && self.column.keys.is_none();
        match self.slots {
            Slots::Field { slot, .. } if plain => {
                for (ordinal, image) in self.images.iter_mut().enumerate() {
                    let (slot, index) = (image.start + slot, image.first);
                    write(self.slab, image, slot, index).map_err(|error| Fault {
                        image: ordinal,
                        at: 0,
                        error,
                    })?;
                }
                Ok(())
            }
            slots => {
                for (ordinal, image) in self.images.iter_mut().enumerate() {
                    for at in 0..image.len {
                        let index = image.first + at;
                        let written = if self.column.is_null(index) {
                            slots.null(self.slab, image.start, at)
                        } else {
                            let slot = slots.of(image, at);
                            write(self.slab, image, slot, self.column.place(index))
                        };
                        written.map_err(|error| Fault { image: ordinal, at, error })?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl Slots {
    /// The slot of element `at` of `image`.
    #[inline]
    fn of(self, image: &Image, at: usize) -> usize {
        match self {
            Self::Field { slot, .. } => image.start + slot,
            Self::Elements { stride, .. } => image.start + image.elements + at * stride,
        }
    }

    /// Marks element `at` of the image at `start` as null.
    #[inline]
    fn null(self, slab: &mut [u8], start: usize, at: usize) -> Result<()> {
        let (bitmap, bit, nullable) = match self {
            Self::Field { bitmap, bit, nullable, .. } => (bitmap, bit, nullable),
            Self::Elements { bitmap, nullable, .. } => (bitmap, at, nullable),
        };
        if !nullable {
            return Err(Error::value("null, and not nullable"));
        }
        set_bit(slab, start + bitmap, bit);
        Ok(())
    }
}

/// Where the variable data of an array begin, counted from its start.
fn elements_end(array: &Image, element: &ElementLayout) -> usize {
    array.elements + Format::padded(array.len * element.shape.stride())
}

/// Copies the numbers of each array at once.
fn copy_elements(slab: &mut [u8], arrays: &[Image], bytes: &[u8], width: usize) -> Result<(), Fault> {
    for (ordinal, array) in arrays.iter().enumerate() {
        let numbers = bytes.get(array.first * width..(array.first + array.len) * width).unwrap_or_default();
        put(slab, array.start + array.elements, numbers).map_err(|error| Fault {
            image: ordinal,
            at: 0,
            error,
        })?;
    }
    Ok(())
}

/// Writes text or bytes at the cursor of `image`, and a reference to them.
#[inline]
fn write_payload(slab: &mut [u8], image: &mut Image, slot: usize, bytes: &[u8]) -> Result<()> {
    refer(slab, slot, image.cursor - image.start, bytes.len())?;
    match slab.get_mut(image.cursor..image.cursor + bytes.len()) {
        Some(to) if bytes.len() <= SHORT => copy_short(to, bytes),
        Some(to) => to.copy_from_slice(bytes),
        None => put(slab, image.cursor, bytes)?,
    }
    image.cursor += Format::padded(bytes.len());
    Ok(())
}

/// Up to so many bytes are copied without a call.
const SHORT: usize = 32;

/// Copies at most [`SHORT`] bytes: the first and the last of them, which overlap.
#[inline]
fn copy_short(to: &mut [u8], from: &[u8]) {
    let copied = copy_ends::<16>(to, from) || copy_ends::<8>(to, from) || copy_ends::<4>(to, from);
    if !copied {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    }
}

#[inline]
fn copy_ends<const N: usize>(to: &mut [u8], from: &[u8]) -> bool {
    let (Some(first), Some(last)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) else { return false };
    if let Some(to) = to.first_chunk_mut() {
        *to = *first;
    }
    if let Some(to) = to.last_chunk_mut() {
        *to = *last;
    }
    true
}
