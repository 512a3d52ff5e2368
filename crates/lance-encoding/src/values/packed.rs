//! The members of packed structs.

use std::sync::Arc;

use arrow_array::{ArrayRef, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use lance_footer::{FormatError, Result};

use super::{Values, check_room, invalid, misfit};
use crate::storage::Storage;

/// Values of each member, as many of each.
#[derive(Debug)]
pub(crate) struct PackedValues {
    members: Vec<Values>,
    /// Bytes that all of them together may take.
    limit: usize,
}

impl PackedValues {
    /// None yet, of these `members`, which may take `limit` bytes.
    pub(super) fn within(members: &[Storage], limit: usize) -> Self {
        Self { members: members.iter().map(|member| Values::within(member, limit)).collect(), limit }
    }

    /// The values of each member.
    pub(crate) fn members(&self) -> &[Values] {
        &self.members
    }

    /// How many there are of each member.
    pub(super) fn len(&self) -> usize {
        self.members.first().map_or(0, Values::len)
    }

    /// Bytes that they take.
    pub(super) fn weight(&self) -> usize {
        self.members.iter().map(Values::weight).fold(0, usize::saturating_add)
    }

    /// Bytes by which they may still grow.
    pub(super) fn room(&self) -> usize {
        self.limit.saturating_sub(self.weight())
    }

    /// Lets them grow by no more than `room` bytes.
    pub(super) fn limit_to(&mut self, room: usize) {
        self.limit = self.weight().saturating_add(room);
    }

    /// An error if they take more than they may.
    pub(super) fn check(&self) -> Result<()> {
        check_room(0, self.weight(), self.limit)
    }

    /// Hands the members to `append`, one after the other, each of which may take what the others leave.
    pub(crate) fn each(&mut self, mut append: impl FnMut(&mut Values) -> Result<()>) -> Result<()> {
        let mut room = self.room();
        for member in &mut self.members {
            let before = member.weight();
            member.limit_to(room);
            let others = self.limit.saturating_sub(before.saturating_add(room)) as u64;
            append(member).map_err(|error| match error {
                FormatError::OverBudget { what, needed, allowed } => {
                    let (needed, allowed) = (needed.saturating_add(others), allowed.saturating_add(others));
                    FormatError::OverBudget { what, needed, allowed }
                }
                error => error,
            })?;
            room = room.saturating_sub(member.weight().saturating_sub(before));
        }
        Ok(())
    }

    pub(super) fn finish(self, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let DataType::Struct(fields) = data_type else { return Err(misfit("packed structs")) };
        let len = self.len();
        let arrays = self.members.into_iter().zip(fields);
        let arrays = arrays.map(|(member, field)| member.finish(field.data_type(), None));
        let arrays = arrays.collect::<Result<_>>()?;
        let array = StructArray::try_new_with_length(fields.clone(), arrays, nulls, len);
        Ok(Arc::new(array.map_err(invalid)?))
    }
}
