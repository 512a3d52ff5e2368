//! Whether strings are worth a symbol table, and strings as codes.

use arrow_buffer::Buffer;
use bytes::Bytes;
use lance_footer::Result;

use super::encoder::Encoder;
use super::train::train;
use super::{LONGEST_SYMBOL, TABLE_LEN};
use crate::block::Offsets;
use crate::proto::{self, CompressiveEncoding, compressive_encoding::Compression};

/// Bytes of strings that a table is made from.
const TRAINING: usize = 32 << 10;

/// Bytes of strings by which it is judged how well a table does. They are others, since a table does well on what it
/// was made from.
const TRIAL: usize = 16 << 10;

/// Bytes of a piece of a sample.
const PIECE: usize = 512;

/// Strings of fewer bytes in all do not pay for a table.
const LEAST: usize = 16 << 10;

/// A symbol table for the strings of a page.
pub(crate) struct Trained {
    encoder: Encoder,
    /// What one byte of them becomes, about.
    ratio: f64,
}

impl Trained {
    /// A table for `data`, cut at `offsets`; none if there is so little that it cannot pay.
    pub(crate) fn worthwhile(offsets: &Offsets, data: &[u8]) -> Option<Self> {
        let bytes = offsets.at(offsets.len()) - offsets.at(0);
        if bytes < LEAST || offsets.longest() < 5 {
            return None;
        }
        let trained = Self::new(offsets, data);
        // A little less is not worth the work of reading it.
        let saved = bytes as f64 * (1.0 - trained.ratio) - TABLE_LEN as f64;
        (saved > bytes as f64 / 32.0).then_some(trained)
    }

    /// A table for `data`, cut at `offsets`.
    pub(crate) fn new(offsets: &Offsets, data: &[u8]) -> Self {
        let encoder = train(&sample(offsets, data, TRAINING, 0.0));
        let trial = sample(offsets, data, TRIAL, 0.5);
        let (mut before, mut after) = (0, 0);
        let mut out = [0; 2 * PIECE];
        for piece in trial {
            before += piece.len();
            after += encoder.encode(piece, piece.len(), &mut out);
        }
        Self { encoder, ratio: after as f64 / before.max(1) as f64 }
    }

    /// Bytes that strings of `bytes` bytes become, about, with the table.
    pub(crate) fn estimate(&self, bytes: usize) -> u64 {
        // Saturates.
        #[expect(clippy::cast_possible_truncation, reason = "an estimate")]
        let coded = (bytes as f64 * self.ratio) as u64;
        coded + TABLE_LEN as u64
    }

    /// What a page says of it.
    pub(crate) fn table(&self) -> Bytes {
        self.encoder.table().into()
    }

    /// The strings of `data`, cut at `offsets`, as codes.
    pub(crate) fn encode(&self, offsets: &Offsets, data: &[u8]) -> Result<(Offsets, Buffer)> {
        let len = offsets.len();
        let mut codes = Codes { bytes: vec![], end: 0 };
        let mut lengths = Vec::with_capacity(len);
        for index in 0..len {
            let range = offsets.range(index);
            let rest = data.get(range.start..).unwrap_or_default();
            let out = codes.room(2 * range.len());
            let length = self.encoder.encode(rest, range.len().min(rest.len()), out);
            codes.end += length;
            lengths.push(length);
        }
        codes.bytes.truncate(codes.end);
        let ends = Offsets::from_lengths(offsets.width() == 8, lengths.into_iter())?;
        Ok((ends, codes.bytes.into()))
    }
}

/// The description of strings of codes that are stored as `values`.
pub(crate) fn encoding(table: &Bytes, values: CompressiveEncoding) -> CompressiveEncoding {
    let fsst = proto::Fsst { symbol_table: table.clone(), values: Some(Box::new(values)) };
    CompressiveEncoding { compression: Some(Compression::Fsst(Box::new(fsst))) }
}

/// Codes of all strings so far, with room after them.
struct Codes {
    bytes: Vec<u8>,
    end: usize,
}

impl Codes {
    /// The place for at most `most` more codes.
    fn room(&mut self, most: usize) -> &mut [u8] {
        const STEP: usize = 64 << 10;
        if self.bytes.len() < self.end + most {
            self.bytes.resize(self.end + most.max(STEP), 0);
        }
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }
}

/// About `wanted` bytes of the strings of `data`, in pieces from places that are evenly spread; with `phase`, from 0
/// to 1, they move from one place towards the next. Everything if it is no more than that.
fn sample<'a>(offsets: &Offsets, data: &'a [u8], wanted: usize, phase: f64) -> Vec<&'a [u8]> {
    let (start, len) = (offsets.at(0), offsets.len());
    let total = offsets.at(len) - start;
    let places = if total <= wanted { 1 } else { wanted / PIECE };
    let room = total.min(wanted) / places.max(1);
    let mut pieces = vec![];
    for place in 0..places {
        let phase = if places == 1 { 0.0 } else { phase };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a place within the data"
        )]
        let at = start + (total as f64 * (place as f64 + phase) / places as f64) as usize;
        let (mut index, mut left) = (offsets.index_at(at), room);
        while left > 0 && index < len {
            let range = offsets.range(index);
            // Of a long string what lies around the place.
            let first = if range.len() > PIECE && range.contains(&at) { at } else { range.start };
            for piece in data.get(first..range.end).unwrap_or_default().chunks(PIECE) {
                let piece = piece.get(..piece.len().min(left)).unwrap_or_default();
                left -= piece.len();
                if !piece.is_empty() {
                    pieces.push(piece);
                }
            }
            index += 1;
        }
    }
    pieces
}

const _: () = assert!(LONGEST_SYMBOL == 8, "a word holds the longest symbol");

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, BinaryArray, LargeStringArray, StringArray};
    use std::sync::Arc;

    use super::*;
    use crate::block::Block;
    use crate::codec::variable::VariableScheme;
    use crate::scheme::tests::array_through;
    use crate::settings::{Compression as Wanted, Settings};

    fn lines(count: usize) -> Vec<String> {
        (0..count)
            .map(|at| format!("https://robots.example.com/unit-{}/frame {}", at % 17, at * at))
            .collect()
    }

    fn parts(array: &ArrayRef) -> (Offsets, Buffer) {
        let Block::Variable { offsets, data } = Block::from_array(array).unwrap() else {
            panic!("no strings")
        };
        (offsets, data)
    }

    fn forced() -> Settings {
        Settings { compression: Some(Wanted::Fsst), ..Settings::default() }
    }

    #[test]
    fn strings_come_back() {
        let random: Vec<u8> = (0..40_000_u32).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
        let pieces = || random.chunks(7).enumerate().map(|(at, piece)| &piece[..at % piece.len().max(1)]);
        let long = ["ab".repeat(40_000), String::new(), "x".into(), "cde".repeat(3)];
        let arrays: [ArrayRef; 8] = [
            Arc::new(StringArray::from(lines(3000))),
            Arc::new(LargeStringArray::from(lines(3000))),
            Arc::new(StringArray::from(lines(3000)).slice(1000, 1500)),
            Arc::new(BinaryArray::from_iter_values(pieces())),
            Arc::new(BinaryArray::from_iter_values((0..3000).map(|at| vec![0_u8; at % 20]))),
            Arc::new(StringArray::from_iter_values(long)),
            Arc::new(StringArray::from(vec![""; 10])),
            Arc::new(StringArray::from(vec!["a"])),
        ];
        for array in arrays {
            let (back, _) = array_through(&VariableScheme, &array, &forced()).unwrap();
            assert_eq!(&back, &array);
        }
    }

    #[test]
    fn estimates_are_near() {
        let array: ArrayRef = Arc::new(StringArray::from(lines(5000)));
        let (offsets, data) = parts(&array);
        let trained = Trained::worthwhile(&offsets, &data).unwrap();
        let coded = trained.encode(&offsets, &data).unwrap().1.len() as f64;
        let estimate = trained.estimate(data.len()) as f64 - TABLE_LEN as f64;
        assert!((0.9..1.1).contains(&(estimate / coded)), "{coded} bytes instead of {estimate}");
    }

    #[test]
    fn no_table_where_it_does_not_pay() {
        let none = |array: ArrayRef| {
            let (offsets, data) = parts(&array);
            Trained::worthwhile(&offsets, &data).is_none()
        };
        assert!(none(Arc::new(StringArray::from(lines(100)))));
        let mut state = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .take(200_000)
        .collect();
        assert!(none(Arc::new(BinaryArray::from_iter_values(noise.chunks(100)))));
        assert!(none(Arc::new(StringArray::from_iter_values(
            (0..9000).map(|at| format!("{:03}", at % 1000))
        ))));
    }

    /// The rival: the crate `fsst-rs`, whose tables are made of the same strings.
    #[test]
    fn no_larger_than_elsewhere() {
        let words = ["grasp", "the", "green", "cube", "and", "put", "it", "into", "left", "box", "slowly"];
        let sentences: Vec<String> = (0..4000_usize)
            .map(|at| {
                (0..9)
                    .map(|word| words[(at * 7 + word * word * at) % words.len()])
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        for strings in [lines(4000), sentences] {
            let array: ArrayRef = Arc::new(StringArray::from(strings.clone()));
            let (offsets, data) = parts(&array);
            let ours = Trained::new(&offsets, &data).encode(&offsets, &data).unwrap().1.len();
            let bytes: Vec<&[u8]> = strings.iter().map(|string| string.as_bytes()).collect();
            let rival = ::fsst::Compressor::train(&bytes);
            let theirs: usize = bytes.iter().map(|string| rival.compress(string).len()).sum();
            assert!(ours as f64 <= theirs as f64 * 1.02, "{ours} bytes instead of {theirs}");
        }
    }

    #[test]
    fn samples_are_spread() {
        let array: ArrayRef = Arc::new(StringArray::from(lines(20_000)));
        let (offsets, data) = parts(&array);
        let pieces = sample(&offsets, &data, TRAINING, 0.0);
        let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
        assert!((TRAINING * 9 / 10..=TRAINING).contains(&bytes), "{bytes} bytes");
        let places =
            pieces.iter().map(|piece| (piece.as_ptr().addr() - data.as_ptr().addr()) * 8 / data.len());
        let mut eighths: Vec<_> = places.collect();
        eighths.dedup();
        assert_eq!(eighths, [0, 1, 2, 3, 4, 5, 6, 7]);
        // Of long strings, what lies around each place.
        let array: ArrayRef = Arc::new(BinaryArray::from_iter_values([vec![1_u8; 60_000], vec![2; 60_000]]));
        let (offsets, data) = parts(&array);
        let pieces = sample(&offsets, &data, TRAINING, 0.0);
        let twos = pieces.iter().filter(|piece| piece[0] == 2).count();
        assert_eq!((pieces.len(), twos), (64, 32));
    }
}
