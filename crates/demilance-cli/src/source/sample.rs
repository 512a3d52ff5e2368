//! The first rows of a text file, from which its types are inferred.

use std::cell::Cell;
use std::io::Read;
use std::rc::Rc;

/// How many rows types are inferred from.
pub(super) const ROWS: usize = 4096;

/// A reader that counts what was read through it.
#[derive(Debug)]
pub(super) struct Counted<R> {
    inner: R,
    bytes: Rc<Cell<u64>>,
}

impl<R> Counted<R> {
    /// The reader and its counter.
    pub(super) fn new(inner: R) -> (Self, Rc<Cell<u64>>) {
        let bytes = Rc::new(Cell::new(0));
        (Self { inner, bytes: Rc::clone(&bytes) }, bytes)
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes.set(self.bytes.get() + read as u64);
        Ok(read)
    }
}
