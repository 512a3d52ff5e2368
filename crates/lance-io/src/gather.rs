//! From the bytes of runs to the answers of a round, and the memory that they are read into.

use bytes::{Bytes, BytesMut};
use lance_footer::{Answer, Ask, Extent, Gather};

use crate::IoError;
use crate::coalesce::Run;
use crate::error::Result;

/// Arrow wants 8 bytes for most types, 16 for some; 64 is a cache line and what the format aligns to.
const ALIGNMENT: usize = 64;

/// A fresh slab of `len` zeros that starts at a multiple of 64.
pub(crate) fn slab(len: u64, path: &str) -> Result<BytesMut> {
    let bytes = addressable(len, path)?;
    // Zeroed memory comes from the system untouched: a page of it costs nothing before it is read into.
    let mut slab = BytesMut::zeroed(bytes + ALIGNMENT - 1);
    let start = slab.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT - 1);
    let mut slab = slab.split_off(start);
    slab.truncate(bytes);
    Ok(slab)
}

/// Memory of `len` bytes, filled by `read`, whose address is as far from a multiple of `alignment` as
/// `offset` is: what is aligned in the file is aligned in memory.
pub(crate) fn filled(
    offset: u64,
    len: u64,
    path: &str,
    read: impl FnOnce(&mut [u8]) -> Result<()>,
) -> Result<Bytes> {
    let bytes = addressable(len, path)?;
    let phase = usize::try_from(offset % ALIGNMENT as u64).unwrap_or_default();
    let mut memory = vec![0; bytes + phase + ALIGNMENT - 1];
    let start = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT - 1) + phase;
    if let Some(window) = memory.get_mut(start..start + bytes) {
        read(window)?;
    }
    Ok(Bytes::from(memory).slice(start..start + bytes))
}

/// The answers to `asks`, given the bytes of `runs`, which serve all of their extents.
pub(crate) fn answers(asks: &[Ask], runs: &[Run], owners: &[Bytes], path: &str) -> Result<Vec<Answer>> {
    let extents = extents(asks);
    let wanted = wanted_slices(asks);
    let mut slices = vec![Bytes::new(); extents.len()];
    for (run, owner) in runs.iter().zip(owners) {
        hand_out(&extents, run, owner, &wanted, &mut slices, path)?;
    }
    assemble(asks, slices, path)
}

/// All extents of `asks`, one after the other.
pub(crate) fn extents(asks: &[Ask]) -> Vec<Extent> {
    asks.iter().flat_map(|ask| &ask.extents).copied().collect()
}

/// Which extents of `asks` leave as slices. The others are copied into a slab, so that they keep nothing.
fn wanted_slices(asks: &[Ask]) -> Vec<bool> {
    let each = |ask: &Ask| std::iter::repeat_n(ask.gather == Gather::Slices, ask.extents.len());
    asks.iter().flat_map(each).collect()
}

/// Fills `slices` with the parts of `owner` that `run` serves.
///
/// When less than half of the run is wanted, the slices are copied: a take of a few bytes must not keep
/// megabytes in memory.
pub(crate) fn hand_out(
    extents: &[Extent],
    run: &Run,
    owner: &Bytes,
    kept: &[bool],
    slices: &mut [Bytes],
    path: &str,
) -> Result<()> {
    let sparse = run.covered < run.extent.len() / 2;
    for &member in &run.members {
        let (Some(extent), Some(slot)) = (extents.get(member), slices.get_mut(member)) else { continue };
        let start = addressable(extent.offset() - run.extent.offset(), path)?;
        let end = start + addressable(extent.len(), path)?;
        if end > owner.len() {
            return Err(IoError::outside(path, *extent, run.extent.offset() + owner.len() as u64));
        }
        let slice = owner.slice(start..end);
        let copy = sparse && kept.get(member).copied().unwrap_or(true);
        *slot = if copy { aligned_copy(&slice, path)? } else { slice };
    }
    Ok(())
}

/// Puts `slices`, one an extent, together as `asks` want them.
pub(crate) fn assemble(asks: &[Ask], slices: Vec<Bytes>, path: &str) -> Result<Vec<Answer>> {
    let mut slices = slices.into_iter();
    let mut answers = Vec::with_capacity(asks.len());
    for ask in asks {
        let own = slices.by_ref().take(ask.extents.len());
        answers.push(match ask.gather {
            Gather::Slices => Answer::Slices(own.collect()),
            Gather::Packed => {
                let mut slab = slab(ask.bytes(), path)?;
                let mut rest: &mut [u8] = &mut slab;
                for bytes in own {
                    let Some((place, after)) = rest.split_at_mut_checked(bytes.len()) else { break };
                    place.copy_from_slice(&bytes);
                    rest = after;
                }
                Answer::Packed(slab)
            }
        });
    }
    Ok(answers)
}

fn aligned_copy(bytes: &Bytes, path: &str) -> Result<Bytes> {
    filled(0, bytes.len() as u64, path, |memory| {
        memory.copy_from_slice(bytes);
        Ok(())
    })
}

/// `len` as a size of memory. Leaves room for what alignment adds.
pub(crate) fn addressable(len: u64, path: &str) -> Result<usize> {
    match usize::try_from(len) {
        Ok(bytes) if bytes <= isize::MAX as usize - 2 * 4096 => Ok(bytes),
        _ => Err(IoError::too_large(path, len)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_as_the_file_is() {
        for (offset, len) in [(0, 1), (64, 100), (4100, 10_000), (63, 3), (7, 0)] {
            let bytes = filled(offset, len, "f", |memory| {
                memory.fill(7);
                Ok(())
            })
            .unwrap();
            assert_eq!(bytes.len() as u64, len);
            assert!(bytes.iter().all(|&byte| byte == 7));
            if len > 0 {
                assert_eq!(bytes.as_ptr() as u64 % 64, offset % 64);
            }
            let slab = slab(len, "f").unwrap();
            assert_eq!(slab.len() as u64, len);
            if len > 0 {
                assert_eq!(slab.as_ptr() as usize % 64, 0);
            }
        }
        assert!(matches!(slab(u64::MAX, "f"), Err(IoError::Unsupported { .. })));
    }

    #[test]
    fn sparse_runs_are_not_kept() {
        let owner = Bytes::from((0..=255_u8).collect::<Vec<_>>());
        let within = |slice: &Bytes| owner.as_ptr_range().contains(&slice.as_ptr());
        let extents = [Extent::new(1000, 16).unwrap(), Extent::new(1200, 56).unwrap()];
        let run = Run { extent: Extent::new(1000, 256).unwrap(), covered: 72, members: vec![0, 1] };

        let mut slices = vec![Bytes::new(); 2];
        hand_out(&extents, &run, &owner, &[true, false], &mut slices, "f").unwrap();
        assert_eq!(slices, [owner.slice(0..16), owner.slice(200..256)]);
        assert!(!within(&slices[0]));
        // On its way into a slab: no copy in between.
        assert!(within(&slices[1]));

        let dense = Run { covered: 128, ..run };
        hand_out(&extents, &dense, &owner, &[true, true], &mut slices, "f").unwrap();
        assert!(within(&slices[0]));
    }

    #[test]
    fn a_short_owner_is_an_error() {
        let extents = [Extent::new(10, 16).unwrap()];
        let run = Run { extent: extents[0], covered: 16, members: vec![0] };
        let mut slices = vec![Bytes::new(); 1];
        let short = Bytes::from_static(&[0; 15]);
        assert!(hand_out(&extents, &run, &short, &[true], &mut slices, "f").is_err());
    }
}
