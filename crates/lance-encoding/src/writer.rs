//! What a file writer uses of this crate.

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use lance_footer::{FormatError, Result, Version};

use crate::legacy::write::LegacyWriter;
use crate::settings::Compression;
use crate::structural::write::StructuralWriter;

/// How fields are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriterOptions {
    /// The file version.
    pub version: Version,
    /// A page is closed when the arrays that it holds have more bytes than this.
    pub page_bytes: u64,
    /// What the values of fields are compressed with whose metadata does not say; none for what is smallest of
    /// what is quick.
    pub compression: Option<Compression>,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self { version: Version::default(), page_bytes: 8 << 20, compression: None }
    }
}

/// Collects the arrays of one top-level field and cuts them into pages.
pub trait FieldWriter: Send {
    /// Adds `array`, of the type that the writer was made with, and gives the pages that are full.
    fn push(&mut self, array: ArrayRef) -> Result<Vec<PageJob>>;

    /// Gives the pages that are left.
    fn finish(self: Box<Self>) -> Result<Vec<PageJob>>;
}

/// A page that waits to be encoded.
pub struct PageJob(Box<dyn FnOnce() -> Result<Vec<EncodedPage>> + Send>);

impl PageJob {
    /// A job that `run` does.
    pub fn new(run: impl FnOnce() -> Result<Vec<EncodedPage>> + Send + 'static) -> Self {
        Self(Box::new(run))
    }

    /// Encodes; pure CPU. The pages are of one column, in row order.
    pub fn run(self) -> Result<Vec<EncodedPage>> {
        (self.0)()
    }
}

/// A page whose buffers are ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedPage {
    /// Which leaf of the field it belongs to, in depth-first order; in version 2.0 which field, parents first.
    pub leaf: usize,
    /// Its length: top-level rows, or below fixed-size lists of structs their items.
    pub length: u64,
    /// Row number, within the file, of its first row; 0 in version 2.0.
    pub priority: u64,
    /// Its buffers, each in parts that lie one after the other.
    pub buffers: Vec<Vec<Bytes>>,
    /// The serialized page layout, or array encoding.
    pub encoding: Vec<u8>,
}

/// Refuses `array` unless it is of the type that a writer was made with.
pub(crate) fn check_type(array: &ArrayRef, wanted: &DataType) -> Result<()> {
    let got = array.data_type();
    if got.equals_datatype(wanted) {
        return Ok(());
    }
    Err(FormatError::unsupported(format!("writing {got} to a field of {wanted}")))
}

/// A writer of the top-level field `field`. An error if the version cannot hold its type.
pub fn field_writer(field: &Field, options: &WriterOptions) -> Result<Box<dyn FieldWriter>> {
    Ok(match options.version {
        Version::V2_0 => Box::new(LegacyWriter::new(field, options)?),
        Version::V2_1 | Version::V2_2 => Box::new(StructuralWriter::new(field, options)?),
    })
}
