//! Packed structs: the members of a row lie side by side.
//!
//! ```text
//! row 0: member 0 | member 1 | …    row 1: …      each as wide as its type, without padding; nothing is null
//! ```

use std::sync::Arc;

use arrow_array::{ArrayRef, StructArray};
use arrow_schema::{Field, Fields};
use lance_footer::{FormatError, Result};

use super::flat::{Pieces, Run};
use crate::bounds;
use crate::field::at_member;
use crate::storage::Storage;
use crate::values::{Values, invalid};

/// What rows consist of.
#[derive(Debug)]
pub(super) struct PackedStruct {
    fields: Fields,
    members: Vec<Member>,
    /// Bytes of a row.
    stride: usize,
}

#[derive(Debug)]
struct Member {
    storage: Storage,
    /// Where it is in a row.
    start: usize,
    width: usize,
}

impl PackedStruct {
    /// Of `fields`, which must have whole bytes.
    pub(super) fn new(fields: &Fields) -> Result<Self> {
        let mut stride = 0_usize;
        let mut members = Vec::with_capacity(fields.len());
        for field in fields {
            let member = Member::new(field, stride).map_err(|error| at_member(error, field.name()))?;
            stride =
                stride.checked_add(member.width).ok_or_else(|| unsupported("a packed struct as wide"))?;
            members.push(member);
        }
        if stride == 0 {
            return Err(unsupported("a packed struct without members"));
        }
        Ok(Self { fields: fields.clone(), members, stride })
    }

    /// Bits of a row.
    pub(super) const fn bits(&self) -> u64 {
        self.stride as u64 * 8
    }

    /// No rows yet.
    pub(super) fn values(&self) -> Vec<Values> {
        self.members.iter().map(|member| Values::new(&member.storage)).collect()
    }

    /// Appends the rows of `runs` to the values of the members.
    pub(super) fn decode(&self, pieces: &Pieces, runs: &[Run], out: &mut [Values]) -> Result<()> {
        for run in runs {
            let (rows, _) = pieces.stored(run)?;
            let count = run.count()?;
            for (member, out) in self.members.iter().zip(out.iter_mut()) {
                let mut values = Vec::with_capacity(bounds::product(count, member.width, "packed struct")?);
                for row in rows.chunks_exact(self.stride) {
                    let range = member.start..member.start + member.width;
                    values.extend_from_slice(bounds::slice(row, range, "packed struct")?);
                }
                out.append_plain(&values, count)?;
            }
        }
        Ok(())
    }

    /// The rows as an array.
    pub(super) fn finish(&self, values: Vec<Values>, rows: usize) -> Result<ArrayRef> {
        let members = values.into_iter().zip(&self.fields);
        let members = members.map(|(values, field)| values.finish(field.data_type(), None));
        let members = members.collect::<Result<Vec<_>>>()?;
        let array = StructArray::try_new_with_length(self.fields.clone(), members, None, rows);
        Ok(Arc::new(array.map_err(invalid)?))
    }
}

impl Member {
    fn new(field: &Field, start: usize) -> Result<Self> {
        let storage = Storage::of(field.data_type())?;
        match storage.bits() {
            // Items of fewer bits would have to be put apart one by one.
            Some(bits) if bits > 0 && bits % 8 == 0 && storage != (Storage::Fixed { bits: 1 }) => {
                Ok(Self { storage, start, width: bits / 8 })
            }
            _ => Err(unsupported(&format!("{} in a packed struct", field.data_type()))),
        }
    }
}

fn unsupported(what: &str) -> FormatError {
    FormatError::unsupported(format!("reading {what}"))
}
