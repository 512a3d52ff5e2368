//! What a page says of its encoding, for people and tools.
//!
//! Nothing is checked here beyond what it takes to read the message: a description shall be had of pages
//! that this crate does not decode, too.

mod array;

use std::fmt;

use bytes::Bytes;
use lance_footer::Version;
use prost::Message;

use crate::proto::array::ArrayEncoding;
use crate::proto::compressive_encoding::Compression;
use crate::proto::{
    BlobLayout, BufferCompression, CompressionScheme, CompressiveEncoding, ConstantLayout, FullZipLayout,
    MiniBlockLayout, PageLayout, RepDefLayer, full_zip_layout, page_layout, variable_packed_struct,
};

/// A layout or a codec, with what lies inside it.
///
/// Its text is the short form, such as `mini-block(definition: rle(flat, run lengths: flat), inline-bitpacking)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodingTree {
    /// `mini-block`, `full-zip`, `constant`, `blob`; `flat`, `fsst`, …; in version 2.0 `no-nulls`, `binary`, …;
    /// `unknown` or `unreadable`.
    pub name: &'static str,
    /// Its parameters, as (name, value).
    pub facts: Vec<(&'static str, String)>,
    /// What it is made of, as (role, encoding). The role of what the values are stored by is `values`.
    pub parts: Vec<(&'static str, EncodingTree)>,
}

/// Describes the encoding message of a page.
pub fn describe_page(encoding: &Bytes, version: Version) -> EncodingTree {
    let described = match version {
        Version::V2_0 => ArrayEncoding::decode(encoding.clone()).map(|page| array::array(&page)),
        Version::V2_1 | Version::V2_2 => PageLayout::decode(encoding.clone()).map(|page| layout(&page)),
    };
    described.unwrap_or_else(|error| EncodingTree::new("unreadable").fact("reason", error))
}

impl EncodingTree {
    const fn new(name: &'static str) -> Self {
        Self { name, facts: Vec::new(), parts: Vec::new() }
    }

    fn fact(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.facts.push((name, value.to_string()));
        self
    }

    fn fact_if(self, there: bool, name: &'static str, value: impl fmt::Display) -> Self {
        if there { self.fact(name, value) } else { self }
    }

    fn part(mut self, role: &'static str, encoding: Option<&CompressiveEncoding>) -> Self {
        if let Some(encoding) = encoding {
            self.parts.push((role, codec(encoding)));
        }
        self
    }

    fn layers(self, layers: &[i32]) -> Self {
        let names = layers.iter().map(|layer| match RepDefLayer::try_from(*layer) {
            Ok(RepDefLayer::RepdefAllValidItem) => "item",
            Ok(RepDefLayer::RepdefAllValidList) => "list",
            Ok(RepDefLayer::RepdefNullableItem) => "nullable item",
            Ok(RepDefLayer::RepdefNullableList) => "nullable list",
            Ok(RepDefLayer::RepdefEmptyableList) => "list that may be empty",
            Ok(RepDefLayer::RepdefNullAndEmptyList) => "nullable list that may be empty",
            Ok(RepDefLayer::RepdefUnspecified) | Err(_) => "unknown",
        });
        let names = names.collect::<Vec<_>>().join(", ");
        self.fact_if(!layers.is_empty(), "layers", names)
    }

    fn compression(self, compression: Option<&BufferCompression>) -> Self {
        let Some(compression) = compression else { return self };
        let scheme = match CompressionScheme::try_from(compression.scheme) {
            Ok(CompressionScheme::CompressionAlgorithmLz4) => "lz4",
            Ok(CompressionScheme::CompressionAlgorithmZstd) => "zstd",
            Ok(CompressionScheme::CompressionAlgorithmUnspecified) | Err(_) => "unknown",
        };
        let described = self.fact("scheme", scheme);
        match compression.level {
            Some(level) => described.fact("level", level),
            None => described,
        }
    }
}

impl fmt::Display for EncodingTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        // What was compressed by is as telling as the name.
        if let Some((_, scheme)) = self.facts.iter().find(|(name, _)| *name == "scheme") {
            write!(f, "[{scheme}]")?;
        }
        for (index, (role, part)) in self.parts.iter().enumerate() {
            f.write_str(if index == 0 { "(" } else { ", " })?;
            match *role {
                "values" => write!(f, "{part}")?,
                role => write!(f, "{role}: {part}")?,
            }
        }
        f.write_str(if self.parts.is_empty() { "" } else { ")" })
    }
}

fn layout(page: &PageLayout) -> EncodingTree {
    match &page.layout {
        Some(page_layout::Layout::MiniBlockLayout(layout)) => mini_block(layout),
        Some(page_layout::Layout::FullZipLayout(layout)) => full_zip(layout),
        Some(page_layout::Layout::ConstantLayout(layout)) => constant(layout),
        Some(page_layout::Layout::BlobLayout(layout)) => blob(layout),
        None => EncodingTree::new("unknown"),
    }
}

fn mini_block(layout: &MiniBlockLayout) -> EncodingTree {
    let dictionary = layout.dictionary.is_some();
    EncodingTree::new("mini-block")
        .fact("items", layout.num_items)
        .fact("buffers", layout.num_buffers)
        .fact_if(layout.repetition_index_depth > 0, "repetition index", layout.repetition_index_depth)
        .fact_if(layout.has_large_chunk, "chunks", "large")
        .fact_if(dictionary, "dictionary items", layout.num_dictionary_items)
        .layers(&layout.layers)
        .part("repetition", layout.rep_compression.as_ref())
        .part("definition", layout.def_compression.as_ref())
        .part("values", layout.value_compression.as_ref())
        .part("dictionary", layout.dictionary.as_ref())
}

fn full_zip(layout: &FullZipLayout) -> EncodingTree {
    let described = EncodingTree::new("full-zip")
        .fact("items", layout.num_items)
        .fact_if(layout.num_visible_items != layout.num_items, "visible items", layout.num_visible_items)
        .fact_if(layout.bits_rep > 0, "repetition bits", layout.bits_rep)
        .fact_if(layout.bits_def > 0, "definition bits", layout.bits_def);
    let described = match layout.details {
        Some(full_zip_layout::Details::BitsPerValue(bits)) => described.fact("bits per value", bits),
        Some(full_zip_layout::Details::BitsPerOffset(bits)) => described.fact("bits per length", bits),
        None => described,
    };
    described.layers(&layout.layers).part("values", layout.value_compression.as_ref())
}

fn constant(layout: &ConstantLayout) -> EncodingTree {
    let value = layout.inline_value.as_ref().map(hex);
    EncodingTree::new("constant")
        .fact_if(value.is_some(), "value", value.unwrap_or_default())
        .fact_if(layout.num_rep_values > 0, "repetition levels", layout.num_rep_values)
        .fact_if(layout.num_def_values > 0, "definition levels", layout.num_def_values)
        .layers(&layout.layers)
        .part("repetition", layout.rep_compression.as_ref())
        .part("definition", layout.def_compression.as_ref())
}

fn blob(blob: &BlobLayout) -> EncodingTree {
    let mut described = EncodingTree::new("blob").layers(&blob.layers);
    if let Some(inner) = &blob.inner_layout {
        described.parts.push(("descriptions", layout(inner)));
    }
    described
}

fn codec(encoding: &CompressiveEncoding) -> EncodingTree {
    let Some(compression) = &encoding.compression else { return EncodingTree::new("unknown") };
    match compression {
        Compression::Flat(flat) => {
            EncodingTree::new("flat").fact("bits", flat.bits_per_value).compression(flat.data.as_ref())
        }
        Compression::Variable(variable) => EncodingTree::new("variable")
            .compression(variable.values.as_ref())
            .part("offsets", variable.offsets.as_deref()),
        Compression::Constant(constant) => {
            let value = constant.value.as_ref().map(hex);
            EncodingTree::new("constant").fact_if(value.is_some(), "value", value.unwrap_or_default())
        }
        Compression::OutOfLineBitpacking(packed) => EncodingTree::new("out-of-line-bitpacking")
            .fact("bits", packed.uncompressed_bits_per_value)
            .part("values", packed.values.as_deref()),
        Compression::InlineBitpacking(packed) => EncodingTree::new("inline-bitpacking")
            .fact("bits", packed.uncompressed_bits_per_value)
            .compression(packed.values.as_ref()),
        Compression::Fsst(fsst) => EncodingTree::new("fsst")
            .fact("symbol table bytes", fsst.symbol_table.len())
            .part("values", fsst.values.as_deref()),
        Compression::Dictionary(dictionary) => EncodingTree::new("dictionary")
            .fact("dictionary items", dictionary.num_dictionary_items)
            .part("indices", dictionary.indices.as_deref())
            .part("dictionary", dictionary.items.as_deref()),
        Compression::Rle(rle) => EncodingTree::new("rle")
            .part("values", rle.values.as_deref())
            .part("run lengths", rle.run_lengths.as_deref()),
        Compression::ByteStreamSplit(split) => {
            EncodingTree::new("byte-stream-split").part("values", split.values.as_deref())
        }
        Compression::General(general) => EncodingTree::new("general")
            .compression(general.compression.as_ref())
            .part("values", general.values.as_deref()),
        Compression::FixedSizeList(list) => EncodingTree::new("fixed-size-list")
            .fact("items per value", list.items_per_value)
            .fact_if(list.has_validity, "validity", "of items")
            .part("values", list.values.as_deref()),
        Compression::PackedStruct(packed) => {
            let bits = packed.bits_per_value.iter().map(ToString::to_string).collect::<Vec<_>>();
            EncodingTree::new("packed-struct")
                .fact("bits", bits.join(" + "))
                .part("values", packed.values.as_deref())
        }
        Compression::VariablePackedStruct(packed) => {
            let described = EncodingTree::new("variable-packed-struct");
            packed.fields.iter().fold(described, member)
        }
    }
}

fn member(described: EncodingTree, field: &variable_packed_struct::FieldEncoding) -> EncodingTree {
    use variable_packed_struct::field_encoding::Layout;
    let described = match field.layout {
        Some(Layout::BitsPerValue(bits)) => described.fact("bits per value", bits),
        Some(Layout::BitsPerLength(bits)) => described.fact("bits per length", bits),
        None => described,
    };
    described.part("member", field.value.as_ref())
}

/// Bytes as hexadecimal digits, the first few of many.
fn hex(bytes: &Bytes) -> String {
    const SHOWN: usize = 16;
    let digits: String = bytes.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
    match bytes.len() {
        0..=SHOWN => format!("0x{digits}"),
        length => format!("0x{digits}… of {length} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{Constant, Flat, General, InlineBitpacking, Rle};

    fn encoding(compression: Compression) -> CompressiveEncoding {
        CompressiveEncoding { compression: Some(compression) }
    }

    fn flat(bits_per_value: u64) -> CompressiveEncoding {
        encoding(Compression::Flat(Flat { bits_per_value, data: None }))
    }

    fn described(layout: page_layout::Layout) -> EncodingTree {
        let bytes = PageLayout { layout: Some(layout) }.encode_to_vec();
        describe_page(&Bytes::from(bytes), Version::V2_1)
    }

    #[test]
    fn the_short_form_names_layout_and_codecs() {
        let rle = Rle { values: Some(Box::new(flat(16))), run_lengths: Some(Box::new(flat(8))) };
        let packed = InlineBitpacking { uncompressed_bits_per_value: 64, values: None };
        let tree = described(page_layout::Layout::MiniBlockLayout(MiniBlockLayout {
            def_compression: Some(encoding(Compression::Rle(Box::new(rle)))),
            value_compression: Some(encoding(Compression::InlineBitpacking(packed))),
            num_items: 7,
            layers: vec![RepDefLayer::RepdefNullableItem as i32],
            ..MiniBlockLayout::default()
        }));
        let short = "mini-block(definition: rle(flat, run lengths: flat), inline-bitpacking)";
        assert_eq!(tree.to_string(), short);
        assert!(tree.facts.contains(&("items", "7".to_string())));
        assert!(tree.facts.contains(&("layers", "nullable item".to_string())));
    }

    #[test]
    fn compression_is_named() {
        let general = General {
            compression: Some(BufferCompression {
                scheme: CompressionScheme::CompressionAlgorithmZstd as i32,
                level: Some(3),
            }),
            values: Some(Box::new(flat(32))),
        };
        let tree = described(page_layout::Layout::FullZipLayout(FullZipLayout {
            value_compression: Some(encoding(Compression::General(Box::new(general)))),
            details: Some(full_zip_layout::Details::BitsPerValue(32)),
            ..FullZipLayout::default()
        }));
        assert_eq!(tree.to_string(), "full-zip(general[zstd](flat))");
    }

    #[test]
    fn values_are_shown_in_part() {
        let value = Some(Bytes::from(vec![0xab; 20]));
        let tree = codec(&encoding(Compression::Constant(Constant { value })));
        assert!(tree.facts[0].1.ends_with("ab… of 20 bytes"), "{tree:?}");
    }

    #[test]
    fn what_cannot_be_read_is_described_as_such() {
        assert_eq!(describe_page(&Bytes::from_static(&[0xff]), Version::V2_2).name, "unreadable");
        assert_eq!(describe_page(&Bytes::new(), Version::V2_2).name, "unknown");
    }
}
