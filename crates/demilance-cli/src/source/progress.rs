//! The progress of long work, by bytes; nothing where stderr is no terminal.

use std::io::{IsTerminal, Read, Seek, SeekFrom};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::quantity;

/// How often a bar moves by itself.
const TICK: Duration = Duration::from_millis(100);

/// A bar that clones share.
#[derive(Debug, Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar over `bytes`.
    pub(crate) fn over(bytes: u64) -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(bytes), target);
        let template = "{bar:30} {bytes:>10}/{total_bytes} {bytes_per_sec:>12} {eta:>4} left  {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self { bar }
    }

    /// A bar over a number of things that is not known yet.
    pub(crate) fn steps(noun: &'static str) -> Self {
        let progress = Self::over(0);
        if let Ok(style) = ProgressStyle::with_template(&format!("{{bar:30}} {{pos}}/{{len}} {noun}")) {
            progress.bar.set_style(style);
        }
        progress
    }

    /// A sign that something goes on of which nobody knows how far it is.
    pub(crate) fn waiting(what: &'static str) -> Self {
        let progress = Self::over(0);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
            progress.bar.set_style(style);
        }
        progress.bar.set_message(what);
        progress.bar.enable_steady_tick(TICK);
        progress
    }

    /// So many of `total` are done.
    pub(crate) fn set(&self, done: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(done);
    }

    /// A bar that is not shown.
    pub(crate) fn hidden() -> Self {
        Self { bar: ProgressBar::hidden() }
    }

    /// There are `bytes` bytes in all.
    pub(crate) fn set_total(&self, bytes: u64) {
        self.bar.set_length(bytes);
    }

    /// Does something that writes lines, with the bar out of its way.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }

    /// `bytes` more of a source were read.
    pub(crate) fn add(&self, bytes: u64) {
        self.bar.inc(bytes);
    }

    /// So many rows are known by now.
    pub(crate) fn rows(&self, rows: u64) {
        self.bar.set_message(quantity::of(rows, "row"));
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// A reader that tells a bar what was read.
#[derive(Debug)]
pub(super) struct Watched<R> {
    inner: R,
    progress: Progress,
}

impl<R> Watched<R> {
    pub(super) fn new(inner: R, progress: Progress) -> Self {
        Self { inner, progress }
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.progress.add(read as u64);
        Ok(read)
    }
}

impl<R: Seek> Seek for Watched<R> {
    fn seek(&mut self, position: SeekFrom) -> std::io::Result<u64> {
        self.inner.seek(position)
    }
}
