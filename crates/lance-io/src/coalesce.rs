//! Which reads serve a set of extents.

use lance_footer::Extent;

/// Gap up to which two extents of a local file are read together.
pub(crate) const LOCAL_GAP: u64 = 4 * 1024;
/// The same for an object store, where a request costs more than bytes do.
#[cfg(feature = "object-store")]
pub(crate) const OBJECT_GAP: u64 = 64 * 1024;
/// Longest run that coalescing makes.
pub(crate) const MAX_RUN: u64 = 16 * 1024 * 1024;

/// One read that serves several extents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// What to read.
    pub extent: Extent,
    /// How many of its bytes are wanted; each byte counts once.
    pub covered: u64,
    /// The extents within, as indices of the list that was coalesced, by offset.
    pub members: Vec<usize>,
}

/// Joins extents that overlap, touch, or lie at most `gap` bytes apart, into runs of at most `max` bytes.
///
/// `extents` may come in any order and may overlap. The runs come by offset. Empty extents are in no run.
/// An extent longer than `max` is a run of its own, as long as it is.
///
/// ```
/// use lance_footer::Extent;
///
/// let extents = [Extent::new(100, 10)?, Extent::new(0, 10)?, Extent::new(14, 6)?];
/// let runs = lance_io::coalesce(&extents, 4, 1 << 20);
/// assert_eq!(runs[0].extent, Extent::new(0, 20)?);
/// assert_eq!(runs[0].members, [1, 2]);
/// assert_eq!(runs[1].members, [0]);
/// # Ok::<(), lance_footer::FormatError>(())
/// ```
pub fn coalesce(extents: &[Extent], gap: u64, max: u64) -> Vec<Run> {
    let mut order: Vec<(usize, Extent)> =
        extents.iter().copied().enumerate().filter(|(_, extent)| !extent.is_empty()).collect();
    order.sort_by_key(|(_, extent)| *extent);
    let mut runs: Vec<Run> = vec![];
    for (index, extent) in order {
        match runs.last_mut().and_then(|run| Some((joined(run.extent, extent, gap, max)?, run))) {
            Some((grown, run)) => {
                let fresh = extent.offset().max(run.extent.end());
                run.covered += extent.end().saturating_sub(fresh);
                run.extent = grown;
                run.members.push(index);
            }
            None => runs.push(Run { extent, covered: extent.len(), members: vec![index] }),
        }
    }
    runs
}

/// `run` with `next`, which does not start before it, if they may be read together.
fn joined(run: Extent, next: Extent, gap: u64, max: u64) -> Option<Extent> {
    if run.contains(&next) {
        return Some(run);
    }
    if next.offset().saturating_sub(run.end()) > gap || next.end() - run.offset() > max {
        return None;
    }
    Extent::between(run.offset(), next.end()).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_serve_every_extent_once(
            extents in prop::collection::vec((0_u64..5_000, 0_u64..300), 0..40),
            gap in 0_u64..200,
            max in 1_u64..2_000,
        ) {
            let extents: Vec<_> =
                extents.into_iter().map(|(offset, len)| Extent::new(offset, len).unwrap()).collect();
            let runs = coalesce(&extents, gap, max);

            let mut served: Vec<_> = runs.iter().flat_map(|run| run.members.clone()).collect();
            served.sort_unstable();
            let wanted: Vec<_> = (0..extents.len()).filter(|&index| !extents[index].is_empty()).collect();
            prop_assert_eq!(served, wanted);

            for run in &runs {
                for &member in &run.members {
                    prop_assert!(run.extent.contains(&extents[member]));
                }
                prop_assert!(run.extent.len() <= max || run.members.iter().any(|&m| extents[m] == run.extent));
                let covered = (run.extent.offset()..run.extent.end())
                    .filter(|&byte| {
                        let inside = |e: &Extent| e.offset() <= byte && byte < e.end();
                        run.members.iter().any(|&member| inside(&extents[member]))
                    })
                    .count() as u64;
                prop_assert_eq!(run.covered, covered);
            }
            for pair in runs.windows(2) {
                prop_assert!(pair[0].extent.offset() <= pair[1].extent.offset());
                // What could be joined was joined.
                let first = &extents[pair[1].members[0]];
                prop_assert_eq!(joined(pair[0].extent, *first, gap, max), None);
            }
        }
    }

    #[test]
    fn ends_near_the_largest_offset_do_not_overflow() {
        let extents = [Extent::new(u64::MAX - 1, 1).unwrap(), Extent::new(0, u64::MAX).unwrap()];
        let runs = coalesce(&extents, u64::MAX, u64::MAX);
        assert_eq!(runs, [Run { extent: extents[1], covered: u64::MAX, members: vec![1, 0] }]);
    }
}
