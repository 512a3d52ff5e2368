//! Reading cells into arrays, a column at a time.

use arrow_array::builder::{BinaryViewBuilder, StringViewBuilder};
use arrow_buffer::{ArrowNativeType, i256};

use super::builder::{Builder, Nulls, Offsets, Values};
use super::cells::{Cell, Cells, Items};
use crate::arrow::image::Fault;
use crate::arrow::number;
use crate::error::Step;
use crate::layout::{ElementLayout, MapLayout, RowLayout, ValueLayout};
use crate::raw::{RawArray, RawMap, Slot, check_row};
use crate::read::{read_bool, read_str};
use crate::value::Budget;
use crate::{Decimal, Error, Result};

/// Where values are read from, and what keeps count of them.
struct Source<'s, 'a> {
    cells: Cells<'s, 'a>,
    layout: &'s ValueLayout,
    nulls: &'s mut Nulls,
    budget: &'s mut Budget,
}

impl Builder {
    /// Adds the values in `cells`, which rows have as `layout`.
    pub(super) fn append(
        &mut self,
        cells: Cells<'_, '_>,
        layout: &ValueLayout,
        budget: &mut Budget,
    ) -> Result<(), Fault> {
        let absent = self.absent();
        let from = Source { cells, layout, nulls: &mut self.nulls, budget };
        match (&mut self.values, layout) {
            (Values::Bool(values), _) => from.cells.visit(|cell| {
                values.append(match cell {
                    Cell::Value(slot) => from.nulls.some(read_bool(slot)?),
                    none => from.nulls.none(none)?,
                });
                Ok(())
            }),
            (Values::Number1(values), _) => from.numbers(values, u8::from_le_bytes),
            (Values::Number2(values), _) => from.numbers(values, u16::from_le_bytes),
            (Values::Number4(values), _) => from.numbers(values, u32::from_le_bytes),
            (Values::Number8(values), _) => from.numbers(values, u64::from_le_bytes),
            (Values::UInt8(values), _) => {
                from.changed(values, |bytes| number::unsigned(i16::from_le_bytes(bytes)))
            }
            (Values::UInt16(values), _) => {
                from.changed(values, |bytes| number::unsigned(i32::from_le_bytes(bytes)))
            }
            (Values::UInt32(values), _) => {
                from.changed(values, |bytes| number::unsigned(i64::from_le_bytes(bytes)))
            }
            (Values::Date64(values), _) => {
                from.changed(values, |bytes| Ok(number::millis_of_days(i32::from_le_bytes(bytes))))
            }
            (Values::Time(unit, values), _) => {
                from.changed(values, |bytes| number::of_micros(i64::from_le_bytes(bytes), *unit))
            }
            (Values::Decimal32(digits, values), _) => {
                from.decimals(*digits, values, |n| i32::try_from(n).ok())
            }
            (Values::Decimal64(digits, values), _) => {
                from.decimals(*digits, values, |n| i64::try_from(n).ok())
            }
            (Values::Decimal128(digits, values), _) => from.decimals(*digits, values, Some),
            (Values::Decimal256(digits, values), _) => {
                from.decimals(*digits, values, |n| Some(i256::from_i128(n)))
            }
            (Values::Payload(ends, data), _) => from.payloads(ends, data),
            (Values::Utf8View(views), _) => from.text_views(views),
            (Values::BinaryView(views), _) => from.binary_views(views),
            (Values::FixedBinary(width, data), _) => from.fixed_binary(*width, data),
            (Values::List(ends, item), ValueLayout::List(element)) => from.lists(ends, item, element),
            (Values::FixedList(size, item), ValueLayout::List(element)) => {
                from.fixed_lists(*size, item, element, absent)
            }
            (Values::Map(ends, entries), ValueLayout::Map(map)) => from.maps(ends, entries, map),
            (Values::Struct(members), ValueLayout::Struct(row)) => from.structs(members, row, absent),
            // Builders are made for their layout.
            (_, layout) => {
                Err(cells.fault(0, Error::value(format!("an array that is not one of {}", layout.name()))))
            }
        }
    }
}

impl<'a> Source<'_, 'a> {
    fn numbers<const N: usize, T: ArrowNativeType>(
        self,
        values: &mut Vec<T>,
        number: impl Fn([u8; N]) -> T,
    ) -> Result<(), Fault> {
        values.reserve(self.cells.len());
        if let Cells::Fields { rows, field, .. } = self.cells
            && !self.cells.any_none()
        {
            // No row is shorter than its fields.
            let read = |row: &Option<&[u8]>| {
                *row.and_then(|row| row.get(field.slot..)?.first_chunk()).unwrap_or(&[0; N])
            };
            values.extend(rows.iter().map(|row| number(read(row))));
            self.nulls.all(rows.len());
            return Ok(());
        }
        if let Cells::Elements(arrays) = self.cells {
            for (ordinal, items) in arrays.iter().enumerate() {
                match &items.array {
                    Some(array) if !array.has_nulls() => {
                        values.extend(array.elements().as_chunks().0.iter().map(|bytes| number(*bytes)));
                        self.nulls.all(items.len);
                    }
                    _ => {
                        let cells = Cells::Elements(std::slice::from_ref(items));
                        let nulls = &mut *self.nulls;
                        changed(cells, nulls, values, |bytes| Ok(number(bytes)))
                            .map_err(|fault| Fault { image: ordinal, ..fault })?;
                    }
                }
            }
            return Ok(());
        }
        changed(self.cells, self.nulls, values, |bytes| Ok(number(bytes)))
    }

    fn changed<const N: usize, T: ArrowNativeType>(
        self,
        values: &mut Vec<T>,
        number: impl Fn([u8; N]) -> Result<T>,
    ) -> Result<(), Fault> {
        values.reserve(self.cells.len());
        changed(self.cells, self.nulls, values, number)
    }

    fn decimals<T: ArrowNativeType>(
        self,
        digits: u8,
        values: &mut Vec<T>,
        number: impl Fn(i128) -> Option<T>,
    ) -> Result<(), Fault> {
        let ValueLayout::Decimal { precision, scale } = self.layout else { return Ok(()) };
        self.cells.visit(|cell| {
            values.push(match cell {
                Cell::Value(slot) => {
                    let bytes = slot.payload()?;
                    self.budget.spend(bytes.len())?;
                    let decimal = Decimal::from_stored(bytes, *precision, *scale)?;
                    // Of the digits that Arrow has, which may be fewer.
                    decimal.to_stored(digits, *scale)?;
                    let number = number(decimal.unscaled());
                    self.nulls.some(number.ok_or_else(|| too_wide(decimal, digits))?)
                }
                none => self.nulls.none(none)?,
            });
            Ok(())
        })
    }

    fn payloads(self, ends: &mut Offsets, data: &mut Vec<u8>) -> Result<(), Fault> {
        self.cells.visit(|cell| {
            // Whether text is text is looked at when all of it is there.
            let bytes = match cell {
                Cell::Value(slot) => self.nulls.some(slot.payload()?),
                none => self.nulls.none(none)?,
            };
            self.budget.spend(bytes.len())?;
            data.extend_from_slice(bytes);
            ends.push(data.len())
        })
    }

    fn text_views(self, views: &mut StringViewBuilder) -> Result<(), Fault> {
        let placeholder = (!self.nulls.nullable).then_some("");
        self.cells.visit(|cell| match cell {
            Cell::Value(slot) => {
                let text = self.nulls.some(read_str(slot)?);
                self.budget.spend(text.len())?;
                views.try_append_value(text).map_err(|error| Error::value(error.to_string()))
            }
            none => self.nulls.none(none).map(|()| views.append_option(placeholder)),
        })
    }

    fn binary_views(self, views: &mut BinaryViewBuilder) -> Result<(), Fault> {
        let placeholder = (!self.nulls.nullable).then_some([]);
        self.cells.visit(|cell| match cell {
            Cell::Value(slot) => {
                let bytes = self.nulls.some(slot.payload()?);
                self.budget.spend(bytes.len())?;
                views.try_append_value(bytes).map_err(|error| Error::value(error.to_string()))
            }
            none => self.nulls.none(none).map(|()| views.append_option(placeholder)),
        })
    }

    fn fixed_binary(self, width: usize, data: &mut Vec<u8>) -> Result<(), Fault> {
        self.cells.visit(|cell| {
            match cell {
                Cell::Value(slot) => {
                    let bytes = match self.layout {
                        ValueLayout::FixedBinary(_) => slot.inline(width)?,
                        _ => slot.payload()?,
                    };
                    if bytes.len() != width {
                        return Err(Error::value(format!("{} bytes instead of {width}", bytes.len())));
                    }
                    self.budget.spend(width)?;
                    data.extend_from_slice(self.nulls.some(bytes));
                }
                none => {
                    let () = self.nulls.none(none)?;
                    self.budget.spend(width)?;
                    data.resize(data.len() + width, 0);
                }
            }
            Ok(())
        })
    }

    fn lists(self, ends: &mut Offsets, item: &mut Builder, element: &ElementLayout) -> Result<(), Fault> {
        let mut arrays = vec![];
        let (mut end, mut ordinal) = (item.len(), 0);
        self.cells.visit(|cell| {
            match cell {
                Cell::Value(slot) => {
                    let array = self.nulls.some(open(slot.payload()?, element, self.budget)?);
                    arrays.push(Items { array: Some(array), len: array.len(), cell: ordinal });
                    end += array.len();
                }
                none => self.nulls.none(none)?,
            }
            ordinal += 1;
            ends.push(end)
        })?;
        item.append(Cells::Elements(&arrays), &element.value, self.budget)
            .map_err(|fault| self.cells.fault_in(&arrays, Step::Element, fault))
    }

    fn fixed_lists(
        self,
        size: usize,
        item: &mut Builder,
        element: &ElementLayout,
        absent: usize,
    ) -> Result<(), Fault> {
        let mut arrays = vec![];
        let mut ordinal = 0;
        self.cells.visit(|cell| {
            let array = match cell {
                Cell::Value(slot) => {
                    let array = open(slot.payload()?, element, self.budget)?;
                    if array.len() != size {
                        return Err(Error::value(format!("a list of {} instead of {size}", array.len())));
                    }
                    self.nulls.some(Some(array))
                }
                none => {
                    spend_absent(self.budget, none, absent)?;
                    self.nulls.none(none)?
                }
            };
            arrays.push(Items { array, len: size, cell: ordinal });
            ordinal += 1;
            Ok(())
        })?;
        item.append(Cells::Elements(&arrays), &element.value, self.budget)
            .map_err(|fault| self.cells.fault_in(&arrays, Step::Element, fault))
    }

    fn maps(self, ends: &mut Offsets, entries: &mut [Builder; 2], map: &MapLayout) -> Result<(), Fault> {
        let [keys, values] = entries;
        let (mut key_arrays, mut value_arrays) = (vec![], vec![]);
        let (mut end, mut ordinal) = (keys.len(), 0);
        self.cells.visit(|cell| {
            match cell {
                Cell::Value(slot) => {
                    let raw = RawMap::open(slot.payload()?, map.keys.shape, map.values.shape)?;
                    for (array, arrays) in [(raw.keys, &mut key_arrays), (raw.values, &mut value_arrays)] {
                        self.budget.spend_array(&array)?;
                        arrays.push(Items { array: Some(array), len: array.len(), cell: ordinal });
                    }
                    end += self.nulls.some(raw.keys.len());
                }
                none => self.nulls.none(none)?,
            }
            ordinal += 1;
            ends.push(end)
        })?;
        keys.append(Cells::Elements(&key_arrays), &map.keys.value, self.budget)
            .map_err(|fault| self.cells.fault_in(&key_arrays, Step::Key, fault))?;
        values
            .append(Cells::Elements(&value_arrays), &map.values.value, self.budget)
            .map_err(|fault| self.cells.fault_in(&value_arrays, Step::Value, fault))
    }

    fn structs(
        self,
        members: &mut [(usize, Builder)],
        layout: &RowLayout,
        absent: usize,
    ) -> Result<(), Fault> {
        let mut rows = Vec::with_capacity(self.cells.len());
        self.cells.visit(|cell| {
            rows.push(match cell {
                Cell::Value(slot) => Some(self.nulls.some(struct_bytes(slot, layout, self.budget)?)),
                none => {
                    spend_absent(self.budget, none, absent)?;
                    self.nulls.none(none)?
                }
            });
            Ok(())
        })?;
        append_rows(members, &rows, layout, self.budget)
            .map_err(|fault| self.cells.fault(fault.image, fault.error))
    }
}

/// Adds the fields of `rows`, whose lengths were checked.
pub(super) fn append_rows(
    members: &mut [(usize, Builder)],
    rows: &[Option<&[u8]>],
    layout: &RowLayout,
    budget: &mut Budget,
) -> Result<(), Fault> {
    for (index, member) in members {
        let Some(field) = layout.field(*index) else { continue };
        let cells = Cells::Fields { rows, geometry: &layout.geometry, field };
        member.append(cells, &field.value, budget).map_err(|fault| fault.in_field(&field.name))?;
    }
    Ok(())
}

#[inline]
fn changed<const N: usize, T: ArrowNativeType>(
    cells: Cells<'_, '_>,
    nulls: &mut Nulls,
    values: &mut Vec<T>,
    number: impl Fn([u8; N]) -> Result<T>,
) -> Result<(), Fault> {
    cells.visit(|cell| {
        values.push(match cell {
            Cell::Value(slot) => nulls.some(number(slot.fixed()?)?),
            none => nulls.none(none)?,
        });
        Ok(())
    })
}

fn open<'a>(bytes: &'a [u8], element: &ElementLayout, budget: &mut Budget) -> Result<RawArray<'a>> {
    let array = RawArray::open(bytes, element.shape)?;
    budget.spend_array(&array)?;
    Ok(array)
}

fn struct_bytes<'a>(slot: Slot<'a>, layout: &RowLayout, budget: &mut Budget) -> Result<&'a [u8]> {
    let bytes = slot.row(layout.geometry.inline)?;
    check_row(bytes, layout.geometry.fixed_end)?;
    budget.spend_row(&layout.geometry)?;
    Ok(bytes)
}

/// Pays for what Arrow has below a null. What is absent was paid for with what is null around it.
fn spend_absent(budget: &mut Budget, cell: Cell<'_>, absent: usize) -> Result<()> {
    if matches!(cell, Cell::Null) { budget.spend(absent) } else { Ok(()) }
}

#[cold]
fn too_wide(decimal: Decimal, digits: u8) -> Error {
    Error::value(format!("{decimal} has more than {digits} digits"))
}
