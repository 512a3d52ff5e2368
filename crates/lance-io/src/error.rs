use lance_footer::{Extent, FormatError};

/// What a function of this crate returns.
pub(crate) type Result<T, E = IoError> = std::result::Result<T, E>;

/// Why bytes could not be read or written. Every error names the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IoError {
    /// There is no such file.
    #[error("{path}: not found")]
    NotFound {
        /// The file.
        path: String,
    },
    /// There is a file of that name already, and it was not to be replaced.
    #[error("{path}: already exists")]
    AlreadyExists {
        /// The file.
        path: String,
    },
    /// The bytes were there, but could not be understood.
    #[error("{path}: {source}")]
    Format {
        /// The file.
        path: String,
        /// What is wrong with them.
        source: FormatError,
    },
    /// The operating system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What it said.
        source: std::io::Error,
    },
    /// The file was written and has its name, but the operating system did not say that the name is on the disk: after a
    /// power failure it may be there or not.
    #[error("{path}: written, but perhaps not for good: {source}")]
    NotDurable {
        /// The file.
        path: String,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The object store refused.
    #[cfg(feature = "object-store")]
    #[error("{path}: {source}")]
    Store {
        /// The object.
        path: String,
        /// What it said.
        source: object_store::Error,
    },
    /// A URL or a path below a store that names no place.
    #[error("{url:?} is no place to read or write: {reason}")]
    InvalidUrl {
        /// The text.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// This build, this system or this file system does not have what is wanted.
    #[error("{path}: unsupported: {what}")]
    Unsupported {
        /// The file.
        path: String,
        /// What is missing, and how it can be had.
        what: String,
    },
}

impl IoError {
    /// What the operating system said about `path`, with the two kinds that callers ask for made variants.
    pub(crate) fn from_io(path: impl Into<String>, source: std::io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            std::io::ErrorKind::NotFound => Self::NotFound { path },
            std::io::ErrorKind::AlreadyExists => Self::AlreadyExists { path },
            _ => Self::Io { path, source },
        }
    }

    /// What the object store said about `path`, sorted in the same way.
    #[cfg(feature = "object-store")]
    pub(crate) fn from_store(path: impl Into<String>, source: object_store::Error) -> Self {
        let path = path.into();
        match source {
            object_store::Error::NotFound { .. } => Self::NotFound { path },
            object_store::Error::AlreadyExists { .. } => Self::AlreadyExists { path },
            source => Self::Store { path, source },
        }
    }

    /// A format error in `path`.
    pub(crate) fn format(path: impl Into<String>, source: FormatError) -> Self {
        Self::Format { path: path.into(), source }
    }

    /// An extent that ends beyond the file.
    pub(crate) fn outside(path: impl Into<String>, extent: Extent, size: u64) -> Self {
        let reason =
            format!("bytes {}..{} were asked for, but it has {size} bytes", extent.offset(), extent.end());
        Self::format(path, FormatError::corrupt("file", reason))
    }

    /// More bytes in one piece than this machine can address.
    pub(crate) fn too_large(path: impl Into<String>, bytes: u64) -> Self {
        Self::Unsupported { path: path.into(), what: format!("a piece of {bytes} bytes on this machine") }
    }
}
