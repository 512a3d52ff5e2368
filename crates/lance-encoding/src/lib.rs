//! Arrow arrays to and from the page buffers of Lance files.
//!
//! Reading has three parts. *Plan* is arithmetic over row ranges, *load* is a [`Machine`] that says which
//! bytes it needs, *decode* is pure CPU over bytes in hand. Writing has two: a [`FieldWriter`] collects
//! arrays and gives [`PageJob`]s, whose [`PageJob::run`] is pure CPU on a thread of the caller's choice.
//! Nothing in this crate reads, writes, or knows of an executor.
//!
//! The bytes are described in `docs/format/encoding.md`.

#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod blob;
mod block;
mod bounds;
mod budget;
mod codec;
pub mod describe;
mod detach;
mod field;
mod kernel;
mod layers;
mod legacy;
mod load;
mod order;
mod paged;
pub mod proto;
mod reader;
mod rules;
mod scheme;
mod settings;
mod storage;
mod structural;
mod validity;
mod values;
mod vocabulary;
mod writer;

pub use budget::{Allowance, DecodeBudget, TableBudget, row_bits};
pub use field::{describes_blobs, is_packed, leaf_count};
pub use layers::{Layer, Levels, Numbering};
pub use reader::{FieldReader, Loaded, is_text_as_list, open_field};
pub use settings::Compression;
pub use writer::{EncodedPage, FieldWriter, PageJob, WriterOptions, field_writer};

#[doc(no_inline)]
pub use lance_footer::{FormatError, Machine, Result, Rows, Version};
