use std::borrow::Cow;

/// What a format function returns.
pub type Result<T, E = FormatError> = std::result::Result<T, E>;

/// Why bytes could not be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The bytes contradict the format or each other.
    #[error("{section} is corrupt: {reason}")]
    Corrupt {
        /// The structure that is wrong, such as `footer` or `GBO table`.
        section: Cow<'static, str>,
        /// The contradiction, with the numbers that show it.
        reason: String,
    },
    /// What the bytes stand for takes more memory than the decode budget allows. They may be right.
    #[error(
        "{what}: {needed} bytes of memory are needed, more than the budget of {allowed}; fewer rows at once take \
         less, and a larger decode budget allows more"
    )]
    OverBudget {
        /// What takes the memory, with its place in front.
        what: String,
        /// Bytes that it takes, as far as that is known.
        needed: u64,
        /// Bytes that it may take.
        allowed: u64,
    },
    /// The bytes may be right, but this version of the software does not read or write them.
    #[error("unsupported: {what}")]
    Unsupported {
        /// The feature, by the name that the format gives it.
        what: String,
    },
}

impl FormatError {
    /// A [`FormatError::Corrupt`] for `section`.
    pub fn corrupt(section: impl Into<Cow<'static, str>>, reason: impl Into<String>) -> Self {
        Self::Corrupt { section: section.into(), reason: reason.into() }
    }

    /// A [`FormatError::Unsupported`] for the feature `what`.
    pub fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into() }
    }

    /// The same error, with the place where it was met in front: `field pose.x: mini-block is corrupt: …`.
    #[must_use]
    pub fn within(self, place: impl std::fmt::Display) -> Self {
        match self {
            Self::Corrupt { section, reason } => {
                Self::Corrupt { section: format!("{place}: {section}").into(), reason }
            }
            Self::OverBudget { what, needed, allowed } => {
                Self::OverBudget { what: format!("{place}: {what}"), needed, allowed }
            }
            Self::Unsupported { what } => Self::Unsupported { what: format!("{place}: {what}") },
        }
    }
}
