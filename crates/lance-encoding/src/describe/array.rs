//! Array encodings: what pages of version 2.0 have.

use super::{EncodingTree, hex};
use crate::proto::array::array_encoding::ArrayEncoding as Kind;
use crate::proto::array::nullable::Nullability;
use crate::proto::array::{ArrayEncoding, Compression};

/// Describes an array encoding.
pub(super) fn array(encoding: &ArrayEncoding) -> EncodingTree {
    let Some(kind) = &encoding.array_encoding else { return EncodingTree::new("unknown") };
    match kind {
        Kind::Flat(flat) => {
            EncodingTree::new("flat").fact("bits", flat.bits_per_value).scheme(flat.compression.as_ref())
        }
        Kind::Nullable(nullable) => match &nullable.nullability {
            Some(Nullability::NoNulls(nulls)) => {
                EncodingTree::new("no-nulls").array("values", nulls.values.as_deref())
            }
            Some(Nullability::SomeNulls(nulls)) => EncodingTree::new("some-nulls")
                .array("validity", nulls.validity.as_deref())
                .array("values", nulls.values.as_deref()),
            Some(Nullability::AllNulls(_)) => EncodingTree::new("all-nulls"),
            None => EncodingTree::new("unknown"),
        },
        Kind::FixedSizeList(list) => EncodingTree::new("fixed-size-list")
            .fact("items per value", list.dimension)
            .array("values", list.items.as_deref()),
        Kind::List(list) => EncodingTree::new("list")
            .fact("items", list.num_items)
            .fact("null adjustment", list.null_offset_adjustment)
            .array("offsets", list.offsets.as_deref()),
        Kind::Struct(_) => EncodingTree::new("struct"),
        Kind::Binary(binary) => EncodingTree::new("binary")
            .fact("null adjustment", binary.null_adjustment)
            .array("indices", binary.indices.as_deref())
            .array("bytes", binary.bytes.as_deref()),
        Kind::Dictionary(dictionary) => EncodingTree::new("dictionary")
            .fact("dictionary items", dictionary.num_dictionary_items)
            .array("indices", dictionary.indices.as_deref())
            .array("dictionary", dictionary.items.as_deref()),
        Kind::Fsst(fsst) => EncodingTree::new("fsst")
            .fact("symbol table bytes", fsst.symbol_table.len())
            .array("values", fsst.binary.as_deref()),
        Kind::PackedStruct(packed) => {
            let described = EncodingTree::new("packed-struct");
            packed.inner.iter().fold(described, |described, member| described.array("member", Some(member)))
        }
        Kind::Bitpacked(packed) => EncodingTree::new("bitpacked")
            .fact("bits", packed.uncompressed_bits_per_value)
            .fact("packed bits", packed.compressed_bits_per_value)
            .fact_if(packed.signed, "numbers", "signed"),
        Kind::BitpackedForNonNeg(packed) => EncodingTree::new("bitpacked-for-non-neg")
            .fact("bits", packed.uncompressed_bits_per_value)
            .fact("packed bits", packed.compressed_bits_per_value),
        Kind::FixedSizeBinary(binary) => EncodingTree::new("fixed-size-binary")
            .fact("bytes per value", binary.byte_width)
            .array("bytes", binary.bytes.as_deref()),
        Kind::Constant(constant) => EncodingTree::new("constant").fact("value", hex(&constant.value)),
    }
}

impl EncodingTree {
    fn array(mut self, role: &'static str, encoding: Option<&ArrayEncoding>) -> Self {
        self.parts.extend(encoding.map(|encoding| (role, array(encoding))));
        self
    }

    fn scheme(self, compression: Option<&Compression>) -> Self {
        let Some(Compression { scheme, level }) = compression else { return self };
        let described = self.fact("scheme", scheme);
        match level {
            Some(level) => described.fact("level", level),
            None => described,
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use lance_footer::Version;
    use prost::Message;

    use super::*;
    use crate::describe::describe_page;
    use crate::proto::array as proto;

    fn encoding(kind: Kind) -> ArrayEncoding {
        ArrayEncoding { array_encoding: Some(kind) }
    }

    #[test]
    fn the_short_form_names_encodings_and_compression() {
        let flat = |bits_per_value, scheme: Option<&str>| {
            let compression = scheme.map(|scheme| Compression { scheme: scheme.into(), level: Some(3) });
            encoding(Kind::Flat(proto::Flat { bits_per_value, buffer: None, compression }))
        };
        let ends = proto::NoNull { values: Some(Box::new(flat(64, None))) };
        let ends = proto::Nullable { nullability: Some(Nullability::NoNulls(Box::new(ends))) };
        let binary = proto::Binary {
            indices: Some(Box::new(encoding(Kind::Nullable(Box::new(ends))))),
            bytes: Some(Box::new(flat(8, Some("zstd")))),
            null_adjustment: 7,
        };
        let message = encoding(Kind::Binary(Box::new(binary))).encode_to_vec();
        let tree = describe_page(&Bytes::from(message), Version::V2_0);
        assert_eq!(tree.to_string(), "binary(indices: no-nulls(flat), bytes: flat[zstd])");
        assert!(tree.facts.contains(&("null adjustment", "7".to_string())));
        assert_eq!(describe_page(&Bytes::new(), Version::V2_0).name, "unknown");
        assert_eq!(describe_page(&Bytes::from_static(&[0xff]), Version::V2_0).name, "unreadable");
    }
}
