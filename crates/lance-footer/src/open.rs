//! The machine that opens a file: footer, tables, descriptor, column metadata.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use crate::footer::FOOTER_LEN;
use crate::{
    Alignment, Answer, Ask, Column, Extent, Footer, FormatError, Machine, OffsetTable, Result, Step, Version,
};

/// An opened file: all of its metadata, none of its data.
#[derive(Debug, Clone)]
pub struct Container {
    /// Bytes of the file.
    pub size: u64,
    /// Its footer.
    pub footer: Footer,
    /// Where the global buffers lie; 0 is the descriptor.
    pub global_buffers: Vec<Extent>,
    /// Where the column metadata messages lie.
    pub column_metadata: Vec<Extent>,
    /// Global buffer 0, the serialized file descriptor.
    pub descriptor: Bytes,
    /// The columns, shared with whoever reads them.
    pub columns: Vec<Arc<Column>>,
}

impl Container {
    /// The file's version.
    pub const fn version(&self) -> Version {
        self.footer.version
    }
}

/// Opens a file of known size with one speculative read of its tail, and one more round where the metadata
/// starts before that tail.
#[derive(Debug)]
pub struct Open {
    size: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Start {
        tail: u64,
    },
    Tail,
    /// The GBO table starts before the tail.
    Table {
        footer: Footer,
        tail: Held,
    },
    /// The metadata start before the tail.
    Metadata {
        footer: Footer,
        globals: OffsetTable,
        tail: Held,
    },
    Done,
}

/// The bytes of the file from `start` on.
#[derive(Debug)]
struct Held {
    start: u64,
    bytes: Bytes,
}

impl Open {
    /// A good first read: what the reference reads from object stores.
    pub const TAIL: u64 = 64 * 1024;

    /// Opens a file of `size` bytes, reading its last `tail` bytes first.
    pub const fn new(size: u64, tail: u64) -> Self {
        Self { size, state: State::Start { tail } }
    }

    fn tail_arrived(&self, tail: Held) -> Result<(State, Step<Container>)> {
        let footer_start = tail.bytes.len().checked_sub(FOOTER_LEN);
        let footer = footer_start.and_then(|start| tail.bytes.get(start..));
        let footer = Footer::parse(footer.unwrap_or_default(), self.size)?;
        if footer.gbo_table.offset() >= tail.start {
            return self.table_there(footer, tail);
        }
        let missing = Extent::between(footer.gbo_table.offset(), tail.start)?;
        Ok((State::Table { footer, tail }, Step::Fetch(vec![Ask::slices(vec![missing])])))
    }

    fn table_there(&self, footer: Footer, tail: Held) -> Result<(State, Step<Container>)> {
        let globals = OffsetTable::parse("GBO table", &tail.slice(footer.gbo_table)?)?;
        globals.check_within("GBO table", Extent::new(0, self.size)?)?;
        if footer.version > Version::V2_0 {
            check_aligned(&globals)?;
        }
        let descriptor = descriptor(&globals)?;
        if descriptor.offset() > footer.column_metadata {
            return Err(FormatError::corrupt(
                "GBO table",
                format!(
                    "global buffer 0 starts at {}, after the start of the column metadata at {}",
                    descriptor.offset(),
                    footer.column_metadata
                ),
            ));
        }
        // Descriptor and metadata are asked for apart: there may be a lot between them.
        let mut missing = vec![];
        if descriptor.offset() < tail.start {
            missing.push(descriptor);
        }
        if footer.column_metadata < tail.start {
            missing.push(Extent::between(footer.column_metadata, tail.start)?);
        }
        if missing.is_empty() {
            let bytes = tail.slice(descriptor)?;
            return Ok((State::Done, Step::Ready(self.container(footer, globals, bytes, &tail)?)));
        }
        Ok((State::Metadata { footer, globals, tail }, Step::Fetch(vec![Ask::slices(missing)])))
    }

    fn metadata_there(
        &self,
        footer: Footer,
        globals: OffsetTable,
        tail: Held,
        answers: Vec<Answer>,
    ) -> Result<Container> {
        let descriptor_missing = descriptor(&globals)?.offset() < tail.start;
        let metadata_missing = footer.column_metadata < tail.start;
        let count = usize::from(descriptor_missing) + usize::from(metadata_missing);
        let mut slices = Answer::only_slices(answers, count)?.into_iter();
        let bytes = match descriptor_missing.then(|| slices.next()).flatten() {
            Some(bytes) => bytes,
            None => tail.slice(descriptor(&globals)?)?,
        };
        let tail = match slices.next() {
            Some(before) => tail.preceded_by(&before),
            None => tail,
        };
        self.container(footer, globals, bytes, &tail)
    }

    fn container(
        &self,
        footer: Footer,
        globals: OffsetTable,
        descriptor: Bytes,
        held: &Held,
    ) -> Result<Container> {
        let table = OffsetTable::parse("CMO table", &held.slice(footer.cmo_table)?)?;
        let region = Extent::between(footer.column_metadata, footer.cmo_table.offset())?;
        table.check_within("CMO table", region)?;
        let mut columns = Vec::with_capacity(table.entries.len());
        for (index, entry) in table.entries.iter().enumerate() {
            let column = Column::parse(held.slice(*entry)?, index, footer.version, self.size)?;
            columns.push(Arc::new(column));
        }
        Ok(Container {
            size: self.size,
            footer,
            global_buffers: globals.entries,
            column_metadata: table.entries,
            descriptor,
            columns,
        })
    }
}

impl Machine for Open {
    type Output = Container;

    fn step(&mut self, answers: Vec<Answer>) -> Result<Step<Container>> {
        let (state, step) = match std::mem::replace(&mut self.state, State::Done) {
            State::Start { tail } => {
                if self.size < FOOTER_LEN as u64 {
                    return Err(FormatError::corrupt(
                        "file",
                        format!("{} bytes are too few for a Lance file", self.size),
                    ));
                }
                let len = tail.max(FOOTER_LEN as u64).min(self.size);
                let extent = Extent::new(self.size - len, len)?;
                (State::Tail, Step::Fetch(vec![Ask::slices(vec![extent])]))
            }
            State::Tail => {
                let bytes = only(answers)?;
                let start = self.size.saturating_sub(bytes.len() as u64);
                self.tail_arrived(Held { start, bytes })?
            }
            State::Table { footer, tail } => {
                let before = only(answers)?;
                self.table_there(footer, tail.preceded_by(&before))?
            }
            State::Metadata { footer, globals, tail } => {
                let container = self.metadata_there(footer, globals, tail, answers)?;
                (State::Done, Step::Ready(container))
            }
            State::Done => {
                return Err(FormatError::corrupt("step protocol", "a step after the file was open"));
            }
        };
        self.state = state;
        Ok(step)
    }
}

impl Held {
    fn slice(&self, extent: Extent) -> Result<Bytes> {
        let start = extent.offset().checked_sub(self.start).and_then(|start| usize::try_from(start).ok());
        let range = start.zip(usize::try_from(extent.len()).ok());
        let range = range.and_then(|(start, len)| Some(start..start.checked_add(len)?));
        match range {
            Some(range) if range.end <= self.bytes.len() => Ok(self.bytes.slice(range)),
            _ => Err(FormatError::corrupt("file", format!("{extent:?} is outside of the metadata"))),
        }
    }

    /// The same, with the bytes that lie directly before.
    fn preceded_by(self, before: &Bytes) -> Self {
        let mut bytes = BytesMut::with_capacity(before.len() + self.bytes.len());
        bytes.extend_from_slice(before);
        bytes.extend_from_slice(&self.bytes);
        Self { start: self.start.saturating_sub(before.len() as u64), bytes: bytes.freeze() }
    }
}

fn only(answers: Vec<Answer>) -> Result<Bytes> {
    Ok(Answer::only_slices(answers, 1)?.pop().unwrap_or_default())
}

fn descriptor(globals: &OffsetTable) -> Result<Extent> {
    globals.entries.first().copied().ok_or_else(|| FormatError::corrupt("GBO table", "it has no entry"))
}

fn check_aligned(globals: &OffsetTable) -> Result<()> {
    let mut unaligned = globals.entries.iter().enumerate();
    match unaligned.find(|(_, entry)| Alignment::Bytes64.padding(entry.offset()) != 0) {
        None => Ok(()),
        Some((index, entry)) => Err(FormatError::corrupt(
            "GBO table",
            format!("global buffer {index} at {} is not aligned to 64 bytes", entry.offset()),
        )),
    }
}
