//! Extents of which some may be empty.

use bytes::Bytes;

use crate::{Answer, Ask, Extent, FormatError, Result};

/// Extents to fetch as slices, of which some may be empty: these are not asked for.
///
/// ```
/// use lance_footer::{Answer, Extent, Slices};
///
/// let slices = Slices::new(vec![Extent::new(8, 0)?, Extent::new(3, 2)?]);
/// assert_eq!(slices.ask().unwrap().extents, [Extent::new(3, 2)?]);
/// assert_eq!(slices.of(vec![Answer::Slices(vec!["de".into()])])?, ["", "de"]);
/// # Ok::<(), lance_footer::FormatError>(())
/// ```
#[derive(Debug)]
pub struct Slices {
    extents: Vec<Extent>,
}

impl Slices {
    /// The slices of `extents`.
    pub const fn new(extents: Vec<Extent>) -> Self {
        Self { extents }
    }

    /// What to ask for; none if all are empty.
    pub fn ask(&self) -> Option<Ask> {
        let extents: Vec<_> = self.extents.iter().copied().filter(|extent| !extent.is_empty()).collect();
        (!extents.is_empty()).then(|| Ask::slices(extents))
    }

    /// The slices, the empty ones included. An error if `answers` are not what was asked for.
    pub fn of(&self, answers: Vec<Answer>) -> Result<Vec<Bytes>> {
        let count = self.extents.iter().filter(|extent| !extent.is_empty()).count();
        let mut slices = match count {
            0 => vec![],
            _ => Answer::only_slices(answers, count)?,
        }
        .into_iter();
        let mut all = Vec::with_capacity(self.extents.len());
        for extent in &self.extents {
            let slice = if extent.is_empty() { None } else { slices.next() };
            let slice = slice.unwrap_or_default();
            if slice.len() as u64 != extent.len() {
                return Err(FormatError::corrupt("step protocol", "an answer is not as long as asked"));
            }
            all.push(slice);
        }
        Ok(all)
    }
}
