//! Where what was asked for goes: stdout, or a file that is there only once it is whole.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Stdout, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use tempfile::{NamedTempFile, TempPath};

/// Something to write to, shared with the sink that writes.
#[derive(Debug)]
pub(crate) struct Output {
    sink: BufWriter<Target>,
}

/// What is left to do when the sink is finished.
#[derive(Debug)]
pub(crate) struct Ending {
    file: Option<(TempPath, PathBuf)>,
    broken: Arc<AtomicBool>,
}

#[derive(Debug)]
enum Target {
    Stdout { out: Stdout, broken: Arc<AtomicBool> },
    File(File),
}

impl Output {
    /// Writes to `path`, or to stdout.
    pub(crate) fn open(path: Option<&Path>) -> Result<(Self, Ending)> {
        let broken = Arc::new(AtomicBool::new(false));
        let (target, file) = match path {
            None => (Target::Stdout { out: std::io::stdout(), broken: Arc::clone(&broken) }, None),
            Some(path) => {
                let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                let directory = directory.unwrap_or(Path::new("."));
                // Else the error would be about a name that nobody asked for.
                if !directory.is_dir() {
                    bail!("{}: there is no directory {}", path.display(), directory.display());
                }
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let file = NamedTempFile::with_prefix_in(format!(".{name}."), directory)
                    .with_context(|| path.display().to_string())?;
                let (file, temporary) = file.into_parts();
                (Target::File(file), Some((temporary, path.to_path_buf())))
            }
        };
        Ok((Self { sink: BufWriter::with_capacity(1 << 16, target) }, Ending { file, broken }))
    }
}

impl Ending {
    /// Whether the reader of stdout went away.
    pub(crate) fn broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// Gives the file its name.
    pub(crate) fn publish(self) -> Result<()> {
        if let Some((temporary, path)) = self.file {
            // A temporary file is for its owner only; what is published is as if it had been created.
            open_to_others(&temporary);
            temporary.persist(&path).with_context(|| path.display().to_string())?;
        }
        Ok(())
    }
}

#[cfg(unix)]
fn open_to_others(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    // Without it the file is still right.
    let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644));
}

#[cfg(not(unix))]
fn open_to_others(_: &Path) {}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.sink.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.sink.flush()
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Stdout { out, broken } => noted(out.write(bytes), broken),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Stdout { out, broken } => noted(out.flush(), broken),
            Self::File(file) => file.flush(),
        }
    }
}

/// Writers between us and the pipe turn its error into text, so it is noted here.
fn noted<T>(result: std::io::Result<T>, broken: &AtomicBool) -> std::io::Result<T> {
    if let Err(error) = &result
        && error.kind() == ErrorKind::BrokenPipe
    {
        broken.store(true, Ordering::Relaxed);
    }
    result
}
