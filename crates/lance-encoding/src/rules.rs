//! What the file versions differ in, as data that writers ask.

use lance_footer::{FormatError, Result, Version};

/// What a writer of 2.1 or 2.2 may do. Readers need none of it: they obey what a page itself says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Whether chunk words and the sizes of value buffers take 32 bits instead of 16.
    pub(crate) large_chunks: bool,
    /// Bytes of a chunk, its levels included.
    pub(crate) max_chunk_bytes: usize,
    /// Whether a page may say that all of its values are the same.
    pub(crate) constant_values: bool,
    /// Whether the levels of a page without values may be bit-packed.
    pub(crate) packed_null_levels: bool,
    /// Whether there may be maps and fixed-size lists of structs.
    pub(crate) newer_types: bool,
    /// Whether levels may be stored as runs.
    pub(crate) level_runs: bool,
    /// Whether plain values of 64 bits may have a dictionary.
    pub(crate) dictionaries_of_64_bits: bool,
    /// Whether a dictionary may be compressed.
    pub(crate) compressed_dictionaries: bool,
}

impl Rules {
    /// The rules of `version`. An error if it has no structural encodings.
    pub(crate) fn of(version: Version) -> Result<Self> {
        match version {
            Version::V2_0 => Err(FormatError::unsupported("structural encodings in file version 2.0")),
            Version::V2_1 => Ok(Self {
                large_chunks: false,
                max_chunk_bytes: 32 << 10,
                constant_values: false,
                packed_null_levels: false,
                newer_types: false,
                level_runs: false,
                dictionaries_of_64_bits: false,
                compressed_dictionaries: false,
            }),
            Version::V2_2 => Ok(Self {
                large_chunks: true,
                max_chunk_bytes: 1 << 31,
                constant_values: true,
                packed_null_levels: true,
                newer_types: true,
                level_runs: true,
                dictionaries_of_64_bits: true,
                compressed_dictionaries: true,
            }),
        }
    }
}
