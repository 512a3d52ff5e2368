//! Hostile rows: sound rows of any schema, changed. Nothing that is done with them may panic, look outside of the bytes,
//! or take more memory than the bytes allow; eager and lazy reading have to agree.
//!
//! A case is made of a seed and its number alone, so that one that fails can be repeated by itself. Cases come in
//! groups that share a schema, since drawing one takes longer than a case.

mod change;
mod check;
mod structs;

use fory_row::{
    Compact, DataType, Field, Format, ForyRow, Frame, Image, Layout, RowFormat, Schema, Standard, Value,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::any_row;
use change::Image as Changed;
pub use check::{Measure, Outcome};
use structs::Everything;

/// Cases that share a schema.
pub const GROUP: u64 = 250;
/// How deep schemas are nested.
const DEPTH: u32 = 4;
/// Rows of a schema.
const ROWS: usize = 3;

/// What the cases of one group are made of.
#[derive(Debug)]
pub struct Group {
    seed: u64,
    layout: Layout,
    /// Framed rows of the layout, and arrays and maps where its first field is one.
    images: Vec<(Frame, Changed)>,
    /// Rows one behind the other, each with its size.
    stream: Changed,
    /// The serialised schema; empty if it cannot be.
    schema: Changed,
    typed: Vec<Changed>,
}

/// One case.
#[derive(Debug)]
pub enum Case {
    /// An image of a layout.
    Image(Layout, Frame, Vec<u8>),
    /// A row of a struct.
    Typed(Format, Vec<u8>),
    /// A stream of rows.
    Stream(Layout, Vec<u8>),
    /// A serialised schema, and a row of perhaps another one.
    Schema(Vec<u8>, Format, Vec<u8>),
}

impl Group {
    /// The group that case `number` is in.
    pub fn of(seed: u64, number: u64) -> Self {
        let group = number / GROUP;
        let mut rng_seed = [0; 32];
        rng_seed[..8].copy_from_slice(&seed.to_le_bytes());
        rng_seed[8..16].copy_from_slice(&group.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &rng_seed);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        let rows = any_row::format().prop_flat_map(|format| any_row::rows(format, DEPTH, ROWS));
        let (mut layout, mut rows) = rows.new_tree(&mut runner).unwrap().current();
        if group % 10 == 9 {
            (layout, rows) = lists_of_lists(layout.format());
        }

        let mut images = vec![];
        for row in &rows {
            let Value::Struct(fields) = row else { panic!("{row:?}") };
            for frame in Frame::ALL {
                let value = match (frame.image(), &fields[0]) {
                    (Image::Row, _) => row,
                    (Image::Array, list @ Value::List(_)) => list,
                    (Image::Map, map @ Value::Map(_)) => map,
                    _ => continue,
                };
                let bytes = encoded(&layout, frame, value);
                let regions = layout.inspect(frame, &bytes).unwrap();
                images.push((frame, Changed::new(bytes, &regions)));
            }
        }
        let stream = rows.iter().flat_map(|row| encoded(&layout, Frame::RowWithSizeAndHash, row)).collect();
        let schema = layout.schema().serialize().unwrap_or_default();
        let everything = any_row::row_of_full_maps(&Everything::schema().unwrap());
        let everything = everything.new_tree(&mut runner).unwrap().current();
        let typed = vec![typed::<Standard>(&everything), typed::<Compact>(&everything)];
        Self {
            seed,
            layout,
            images,
            stream: Changed::new(stream, &[]),
            schema: Changed::new(schema, &[]),
            typed,
        }
    }

    /// Case `number`, which is one of this group.
    pub fn case(&self, number: u64) -> Case {
        let mut rng_seed = [1; 32];
        rng_seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        rng_seed[8..16].copy_from_slice(&number.to_le_bytes());
        let rng = &mut StdRng::from_seed(rng_seed);
        let image = |rng: &mut StdRng| &self.images[rng.random_range(0..self.images.len())];
        match rng.random_range(0..10) {
            0..6 => {
                let (frame, changed) = image(rng);
                let bytes = changed.changed(&image(rng).1, rng);
                Case::Image(self.layout.clone(), *frame, bytes)
            }
            6..8 => {
                let standard = rng.random_bool(0.5);
                let (format, changed) = if standard {
                    (Format::Standard, &self.typed[0])
                } else {
                    (Format::Compact, &self.typed[1])
                };
                Case::Typed(format, changed.changed(&image(rng).1, rng))
            }
            8 => Case::Stream(self.layout.clone(), self.stream.changed(&image(rng).1, rng)),
            _ => {
                let format = if rng.random_bool(0.5) { Format::Standard } else { Format::Compact };
                let schema = self.schema.changed(&self.schema, rng);
                Case::Schema(schema, format, image(rng).1.bytes().to_vec())
            }
        }
    }
}

impl Case {
    /// Does all that can be done with it, and panics where that goes wrong. `measure` gives the most memory that was
    /// taken at one time.
    pub fn run(&self, measure: Measure) -> Outcome {
        match self {
            Self::Image(layout, frame, bytes) => check::image(layout, *frame, bytes, measure),
            Self::Typed(Format::Standard, bytes) => structs::check::<Standard>(bytes, measure),
            Self::Typed(Format::Compact, bytes) => structs::check::<Compact>(bytes, measure),
            Self::Stream(layout, bytes) => check::stream(layout, bytes, measure),
            Self::Schema(schema, format, row) => check::schema(schema, *format, row, measure),
        }
    }
}

/// Lists in lists in lists, of which the first of each is long and the others are empty. Where all slots refer to the
/// first, a few bytes are thousands of values.
fn lists_of_lists(format: Format) -> (Layout, Vec<Value>) {
    const LEN: usize = 20;
    let list = |element| DataType::list(element, true);
    let schema = Schema::new(vec![Field::new("lists", list(list(list(DataType::Utf8))), true)]).unwrap();
    let lists = (0..3).fold(Value::Utf8("text".into()), |inner, depth| {
        let rest = if depth == 0 { Value::Null } else { Value::List(vec![]) };
        let mut elements = vec![rest; LEN];
        elements[0] = inner;
        Value::List(elements)
    });
    (Layout::new(schema, format).unwrap(), vec![Value::Struct(vec![lists])])
}

fn encoded(layout: &Layout, frame: Frame, value: &Value) -> Vec<u8> {
    let mut bytes = vec![];
    layout.encode_framed(frame, value, &mut bytes).unwrap();
    bytes
}

fn typed<F: RowFormat>(row: &Value) -> Changed {
    let layout = Layout::new(Everything::schema().unwrap(), F::FORMAT).unwrap();
    let bytes = encoded(&layout, Frame::Row, row);
    let regions = layout.inspect(Frame::Row, &bytes).unwrap();
    Changed::new(bytes, &regions)
}
