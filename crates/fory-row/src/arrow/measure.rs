//! How large the images will be, a column at a time.

use super::column::{Column, Payload, Payloads, Spans, Values};
use super::image::{Fault, Image, KEYS_SIZE, Nested, each};
use crate::error::Step;
use crate::layout::{ElementLayout, RowLayout, ValueLayout};
use crate::scalar::DECIMAL_LEN;
use crate::write::too_large;
use crate::{Format, Result};

/// Adds to the sizes of `rows` what their fields have outside of their slots, and gives the images of the fields.
pub(super) fn measure_row(
    columns: &[Column],
    layout: &RowLayout,
    rows: &mut [Image],
) -> Result<Vec<Nested>, Fault> {
    let fields = columns.iter().zip(&layout.fields);
    let nested = fields.map(|(column, field)| {
        measure(column, &field.value, rows).map_err(|fault| fault.in_field(&field.name))
    });
    nested.collect()
}

fn measure(column: &Column, layout: &ValueLayout, images: &mut [Image]) -> Result<Nested, Fault> {
    match (&column.values, layout) {
        (Values::Payload(payload), _) => {
            match payload {
                Payload::Small(bytes) => payloads(column, bytes, images),
                Payload::Large(bytes) => payloads(column, bytes, images),
                Payload::Utf8View(views) => payloads(column, views, images),
                Payload::BinaryView(views) => payloads(column, views, images),
                Payload::Fixed(bytes) => payloads(column, bytes, images),
            }?;
            Ok(Nested::None)
        }
        (Values::Decimal { .. }, _) => {
            each(images, column, |image, _| {
                image.size = image.size.saturating_add(DECIMAL_LEN);
                Ok(())
            })?;
            Ok(Nested::None)
        }
        (Values::Struct(columns), ValueLayout::Struct(row)) => {
            let mut structs = vec![];
            // In place, they are part of the slot.
            let size = if row.geometry.inline.is_some() { 0 } else { row.geometry.fixed_end };
            each(images, column, |_, element| {
                structs.push(Image {
                    first: element.value,
                    len: 1,
                    owner: element.image,
                    at: element.at,
                    size,
                    ..Image::default()
                });
                Ok(())
            })?;
            let nested = measure_row(columns, row, &mut structs)
                .map_err(|fault| fault.out_of(&structs, |error, _| error))?;
            add_all(images, &structs, 0);
            Ok(Nested::Structs(structs, nested))
        }
        (Values::List { spans, items }, ValueLayout::List(element)) => {
            let (lists, nested) = arrays(column, spans, images, items, element, Step::Element)?;
            add_all(images, &lists, 0);
            Ok(Nested::Lists(lists, Box::new(nested)))
        }
        (Values::Map { spans, keys, values }, ValueLayout::Map(map)) => {
            let keys = arrays(column, spans, images, keys, &map.keys, Step::Key)?;
            let values = arrays(column, spans, images, values, &map.values, Step::Value)?;
            add_all(images, &keys.0, KEYS_SIZE);
            add_all(images, &values.0, 0);
            Ok(Nested::Maps(Box::new([keys, values])))
        }
        _ => Ok(Nested::None),
    }
}

/// The arrays of the lists of `column`, or of the keys or values of its maps.
fn arrays(
    column: &Column,
    spans: &Spans,
    images: &mut [Image],
    items: &Column,
    element: &ElementLayout,
    step: fn(usize) -> Step,
) -> Result<(Vec<Image>, Nested), Fault> {
    let mut arrays = vec![];
    each(images, column, |_, place| {
        let span = spans.get(place.value);
        let geometry = element.shape.array(span.len()).ok_or_else(too_large)?;
        arrays.push(Image {
            first: span.start,
            len: span.len(),
            owner: place.image,
            at: place.at,
            size: geometry.fixed_end(),
            elements: geometry.elements,
            ..Image::default()
        });
        Ok(())
    })?;
    let nested = measure(items, &element.value, &mut arrays)
        .map_err(|fault| fault.out_of(&arrays, |error, at| error.within(step(at))))?;
    Ok((arrays, nested))
}

fn payloads(column: &Column, payloads: &impl Payloads, images: &mut [Image]) -> Result<(), Fault> {
    each(images, column, |image, element| {
        image.size = image.size.saturating_add(Format::padded(payloads.len(element.value)));
        Ok(())
    })
}

/// Adds the sizes of `inner`, and `more` for each, to the images around. They saturate: the rows are checked at last.
fn add_all(images: &mut [Image], inner: &[Image], more: usize) {
    for image in inner {
        if let Some(owner) = images.get_mut(image.owner) {
            owner.size = owner.size.saturating_add(image.size).saturating_add(more);
        }
    }
}
