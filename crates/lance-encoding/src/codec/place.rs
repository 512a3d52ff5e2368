//! Where a codec may stand.
//!
//! | place | codecs that the reference writes | others that it reads, and so do we |
//! |---|---|---|
//! | chunks | flat, inline bit packing, rle, variable, fsst, packed struct, fixed-size list, byte-stream split; general around any | |
//! | records of fixed width | flat, fixed-size list | constant, packed struct |
//! | records of any length | variable, fsst, variable packed struct; general around variable | general around fsst |
//! | levels | flat, inline and out-of-line bit packing, rle | general around these |
//! | dictionary | flat, variable, both bit packings, rle; general around these | fixed-size list |

use std::fmt;

use lance_footer::{FormatError, Result};

use super::Codec;

/// A place in a page where a codec stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The values of mini-block pages.
    Chunks,
    /// Values of fixed width in full-zip pages.
    FixedRecords,
    /// Values of any length in full-zip pages.
    Records,
    /// Repetition or definition levels.
    Levels,
    /// The items of a dictionary.
    Dictionary,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Chunks => "the chunks of a page",
            Self::FixedRecords => "records of fixed width",
            Self::Records => "records of any length",
            Self::Levels => "levels",
            Self::Dictionary => "a dictionary",
        })
    }
}

impl Codec {
    /// An error unless the codec can be read at `place`. What it reads there must fit still.
    pub(super) fn check_place(&self, place: Place) -> Result<()> {
        let allowed = match (self, place) {
            (Self::General(general), Place::Chunks | Place::Levels | Place::Dictionary) => {
                general.inner.check_place(place)?;
                true
            }
            (Self::General(general), Place::Records) => {
                matches!(*general.inner, Self::Variable(_) | Self::Fsst(_))
            }
            (Self::Flat(_), place) => place != Place::Records,
            (Self::InlineBitpacking(_) | Self::Rle(_), place) => {
                matches!(place, Place::Chunks | Place::Levels | Place::Dictionary)
            }
            (Self::OutOfLineBitpacking(_), place) => matches!(place, Place::Levels | Place::Dictionary),
            (Self::Variable(_), place) => {
                matches!(place, Place::Chunks | Place::Records | Place::Dictionary)
            }
            (Self::Fsst(_), place) => matches!(place, Place::Chunks | Place::Records),
            (Self::ByteStreamSplit(_), place) => place == Place::Chunks,
            (Self::PackedStruct(_), place) => matches!(place, Place::Chunks | Place::FixedRecords),
            (Self::FixedSizeList(list), Place::Dictionary) => !list.validity_inside(),
            (Self::FixedSizeList(_), place) => matches!(place, Place::Chunks | Place::FixedRecords),
            (Self::Constant(_), place) => place == Place::FixedRecords,
            (Self::VariablePackedStruct(_), place) => place == Place::Records,
            (Self::General(_), Place::FixedRecords) => false,
        };
        if allowed {
            return Ok(());
        }
        Err(FormatError::unsupported(format!("reading {} in {place}", self.name())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::compressive_encoding::Compression;
    use crate::proto::{self, CompressiveEncoding};

    type Encoding = Option<Box<CompressiveEncoding>>;

    fn of(compression: Compression) -> Encoding {
        Some(Box::new(CompressiveEncoding { compression: Some(compression) }))
    }

    fn flat(bits_per_value: u64) -> Encoding {
        of(Compression::Flat(proto::Flat { bits_per_value, data: None }))
    }

    fn variable() -> Encoding {
        of(Compression::Variable(Box::new(proto::Variable { offsets: flat(32), values: None })))
    }

    fn list(has_validity: bool) -> Encoding {
        let list = proto::FixedSizeList { items_per_value: 2, has_validity, values: flat(16) };
        of(Compression::FixedSizeList(Box::new(list)))
    }

    fn rle() -> Encoding {
        of(Compression::Rle(Box::new(proto::Rle { values: flat(16), run_lengths: flat(8) })))
    }

    fn fsst() -> Encoding {
        let mut symbol_table = b"\0\0\0\0TSSF".to_vec();
        symbol_table.resize(2312, 0);
        let symbol_table = symbol_table.into();
        of(Compression::Fsst(Box::new(proto::Fsst { symbol_table, values: variable() })))
    }

    fn split() -> Encoding {
        of(Compression::ByteStreamSplit(Box::new(proto::ByteStreamSplit { values: flat(32) })))
    }

    fn out_of_line() -> Encoding {
        let packed = proto::OutOfLineBitpacking { uncompressed_bits_per_value: 16, values: flat(3) };
        of(Compression::OutOfLineBitpacking(Box::new(packed)))
    }

    fn packed() -> Encoding {
        let packed = proto::PackedStruct { bits_per_value: vec![8, 16], values: flat(24) };
        of(Compression::PackedStruct(Box::new(packed)))
    }

    fn variable_packed() -> Encoding {
        let layout = Some(proto::variable_packed_struct::field_encoding::Layout::BitsPerValue(8));
        let field = proto::variable_packed_struct::FieldEncoding { value: flat(8).map(|flat| *flat), layout };
        of(Compression::VariablePackedStruct(proto::VariablePackedStruct { fields: vec![field] }))
    }

    fn general(inner: Encoding) -> Encoding {
        let compression = Some(proto::BufferCompression { scheme: 1, level: None });
        of(Compression::General(Box::new(proto::General { compression, values: inner })))
    }

    #[test]
    fn each_codec_stands_where_it_may_and_is_refused_by_name_elsewhere() {
        let inline = || {
            let packed = proto::InlineBitpacking { uncompressed_bits_per_value: 16, values: None };
            of(Compression::InlineBitpacking(packed))
        };
        let constant = || of(Compression::Constant(proto::Constant { value: None }));
        // Chunks, records of fixed width, records of any length, levels, dictionary.
        let table = [
            (flat(16), "flat", [true, true, false, true, true]),
            (variable(), "variable", [true, false, true, false, true]),
            (constant(), "constant", [false, true, false, false, false]),
            (out_of_line(), "out-of-line-bitpacking", [false, false, false, true, true]),
            (inline(), "inline-bitpacking", [true, false, false, true, true]),
            (fsst(), "fsst", [true, false, true, false, false]),
            (rle(), "rle", [true, false, false, true, true]),
            (split(), "byte-stream-split", [true, false, false, false, false]),
            (list(false), "fixed-size-list", [true, true, false, false, true]),
            (list(true), "fixed-size-list", [true, true, false, false, false]),
            (packed(), "packed-struct", [true, true, false, false, false]),
            (variable_packed(), "variable-packed-struct", [false, false, true, false, false]),
            (general(flat(16)), "general", [true, false, false, true, true]),
            (general(variable()), "general", [true, false, true, false, true]),
            (general(inline()), "general", [true, false, false, true, true]),
            (general(rle()), "general", [true, false, false, true, true]),
            (general(fsst()), "general", [true, false, true, false, false]),
            (general(split()), "general", [true, false, false, false, false]),
            (general(list(true)), "general", [true, false, false, false, false]),
            (general(packed()), "general", [true, false, false, false, false]),
            (general(variable_packed()), "general", [false; 5]),
            (general(out_of_line()), "general", [false, false, false, true, true]),
            (general(constant()), "general", [false; 5]),
        ];
        let places = [Place::Chunks, Place::FixedRecords, Place::Records, Place::Levels, Place::Dictionary];
        for (encoding, name, allowed) in table {
            for (place, allowed) in places.into_iter().zip(allowed) {
                match Codec::parse(encoding.as_deref(), place) {
                    Ok(codec) => assert!(allowed && codec.name() == name, "{name} in {place}"),
                    Err(error) => {
                        let text = error.to_string();
                        assert!(!allowed && text.contains(&format!("in {place}")), "{name}: {text}");
                        assert!(matches!(error, FormatError::Unsupported { .. }), "{name}: {text}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_never_written_is_refused() {
        let compression = Some(proto::BufferCompression { scheme: 2, level: None });
        let dictionary = proto::Dictionary { indices: flat(8), items: flat(8), num_dictionary_items: 1 };
        let packed = proto::InlineBitpacking { uncompressed_bits_per_value: 16, values: compression };
        let encodings = [
            of(Compression::Flat(proto::Flat { bits_per_value: 8, data: compression })),
            of(Compression::Variable(Box::new(proto::Variable { offsets: flat(32), values: compression }))),
            of(Compression::InlineBitpacking(packed)),
            of(Compression::Dictionary(Box::new(dictionary))),
        ];
        for encoding in encodings {
            let error = Codec::parse(encoding.as_deref(), Place::Chunks).unwrap_err();
            assert!(matches!(error, FormatError::Unsupported { .. }), "{error}");
        }
    }
}
