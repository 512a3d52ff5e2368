//! Pages that are much more in memory than in the file.

use arrow_schema::{DataType, Field};
use lance_encoding::DecodeBudget;
use lance_encoding::proto::compressive_encoding::Compression;
use lance_encoding::proto::page_layout::Layout;
use lance_encoding::proto::{
    self, CompressiveEncoding, ConstantLayout, FullZipLayout, MiniBlockLayout, RepDefLayer, full_zip_layout,
};

/// A page that is much more in memory than in the file.
pub struct Bomb {
    /// What it is.
    pub name: &'static str,
    /// Of the only column.
    pub field: Field,
    /// Rows of the only page.
    pub rows: u64,
    /// Of the page.
    pub layout: Layout,
    /// Those of the page.
    pub buffers: Vec<Vec<u8>>,
    /// Which rows are taken; all of them if there is none.
    pub taken: Option<u64>,
    /// With which it is too much.
    pub budget: DecodeBudget,
    /// Bytes that it may take.
    pub memory: u64,
    /// Whether it is refused as too much, and not as wrong.
    pub too_much: bool,
}

impl Default for Bomb {
    fn default() -> Self {
        Self {
            name: "",
            field: Field::new("x", DataType::Binary, true),
            rows: 1,
            layout: full_zip(1, 0, variable(32)),
            buffers: vec![],
            taken: None,
            budget: DecodeBudget { constant: 16 << 20, ..Default::default() },
            memory: 100 << 20,
            too_much: true,
        }
    }
}

/// All of them.
pub fn all() -> impl Iterator<Item = Bomb> {
    [symbols_in_records(), symbols_in_a_chunk(), nulls_of_lists(), packed_structs(), runs()]
        .into_iter()
        .flatten()
}

/// Strings of codes, where code 0 stands for 8 bytes.
fn fsst(values: CompressiveEncoding) -> CompressiveEncoding {
    let mut table = (0x4653_5354_u64 << 32 | 1 << 24 | 1).to_le_bytes().to_vec();
    table.extend(b"aaaaaaaa\x08");
    table.resize(2312, 0);
    let fsst = proto::Fsst { symbol_table: table.into(), values: Some(Box::new(values)) };
    encoded(Compression::Fsst(Box::new(fsst)))
}

/// Codes that become 8 times as much, also where they came out of compressed bytes.
fn symbols_in_records() -> Vec<Bomb> {
    let record = |bytes: &[u8]| {
        let record = [&words(&[bytes.len() as u32])[..], bytes].concat();
        vec![record.clone(), words(&[0, record.len() as u32])]
    };
    let plain = Bomb {
        name: "codes in a record",
        layout: full_zip(1, 0, fsst(variable(32))),
        buffers: record(&vec![0; 16 << 20]),
        budget: DecodeBudget { per_byte: 1, constant: 1 << 20 },
        ..Default::default()
    };
    let compressed = Bomb {
        name: "compressed codes in a record",
        layout: full_zip(1, 0, zstd(fsst(variable(32)))),
        buffers: record(&zeros(120)),
        ..Default::default()
    };
    vec![plain, compressed]
}

/// The layout and buffers of a page of as many chunks, of 8192 empty blobs each, and how many rows that is: 2 KiB of
/// descriptions for 3 bytes.
pub fn empty_blobs(chunks: u32) -> (u64, Layout, Vec<Vec<u8>>) {
    let packed = proto::PackedStruct { bits_per_value: vec![64, 64], values: Some(Box::new(flat(128))) };
    let rows = u64::from(chunks) * 8192;
    let inner = MiniBlockLayout {
        value_compression: Some(zstd(encoded(Compression::PackedStruct(Box::new(packed))))),
        num_items: rows,
        ..Default::default()
    };
    let (inner, buffers) = chunk(inner, &[&zeros(1)]);
    // Each word tells that there are 2^13 values.
    let word = u32::from_le_bytes(buffers[0].as_slice().try_into().unwrap()) | 13;
    let buffers = vec![words(&vec![word; chunks as usize]), buffers[1].repeat(chunks as usize)];
    let layout = Layout::BlobLayout(Box::new(proto::BlobLayout {
        inner_layout: Some(Box::new(proto::PageLayout { layout: Some(inner) })),
        layers: vec![RepDefLayer::RepdefAllValidItem.into()],
    }));
    (rows, layout, buffers)
}

/// A page of one chunk, whose layout is `layout` but for what all of them have.
fn chunk(layout: MiniBlockLayout, buffers: &[&[u8]]) -> (Layout, Vec<Vec<u8>>) {
    let mut chunk = 0_u16.to_le_bytes().to_vec();
    buffers.iter().for_each(|buffer| chunk.extend((buffer.len() as u32).to_le_bytes()));
    for buffer in buffers {
        chunk.resize(chunk.len().next_multiple_of(8), 0);
        chunk.extend(*buffer);
    }
    chunk.resize(chunk.len().next_multiple_of(8), 0);
    let word = (chunk.len() as u32 / 8 - 1) << 4;
    let layout = MiniBlockLayout {
        layers: vec![RepDefLayer::RepdefAllValidItem.into()],
        num_buffers: buffers.len() as u64,
        has_large_chunk: true,
        ..layout
    };
    (Layout::MiniBlockLayout(layout), vec![words(&[word]), chunk])
}

fn symbols_in_a_chunk() -> Vec<Bomb> {
    let page = |codec, bytes: &[u8]| {
        chunk(
            MiniBlockLayout { value_compression: Some(codec), num_items: 1, ..Default::default() },
            &[bytes],
        )
    };
    let len = 16_u32 << 20;
    let offsets = words(&[8, 8 + len]);
    let mut codes = offsets.clone();
    codes.resize(codes.len() + len as usize, 0);
    let plain = page(fsst(variable(32)), &codes);
    let compressed = page(zstd(fsst(variable(32))), &zeros_after(&offsets, 240));
    vec![
        Bomb {
            name: "codes in a chunk",
            layout: plain.0,
            buffers: plain.1,
            budget: DecodeBudget { per_byte: 1, constant: 1 << 20 },
            ..Default::default()
        },
        Bomb {
            name: "compressed codes in a chunk",
            layout: compressed.0,
            buffers: compressed.1,
            ..Default::default()
        },
    ]
}

/// One list of many nulls, whose levels are 4 bytes for 64 KiB of them.
fn nulls_of_lists() -> Vec<Bomb> {
    let items = 1_u64 << 22;
    let levels = zeros_after(&[1, 0], 64);
    let types = [
        DataType::LargeUtf8,
        DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into()),
        DataType::Int64,
        DataType::new_fixed_size_list(DataType::Boolean, 64, true),
    ];
    let bomb = |item: DataType| Bomb {
        name: "a list of nulls",
        field: Field::new("x", DataType::new_list(item, true), true),
        layout: Layout::ConstantLayout(ConstantLayout {
            layers: vec![RepDefLayer::RepdefNullableItem.into(), RepDefLayer::RepdefAllValidList.into()],
            rep_compression: Some(zstd(flat(16))),
            num_rep_values: items + 1,
            ..Default::default()
        }),
        buffers: vec![levels.clone(), vec![]],
        ..Default::default()
    };
    types.map(bomb).into()
}

/// Structs whose members are fine each by itself, but not all together.
fn packed_structs() -> Vec<Bomb> {
    let field = |members: Vec<DataType>| {
        let members = members.into_iter().enumerate();
        let members = members.map(|(at, member)| Field::new(format!("m{at}"), member, true));
        let packed = [("lance-encoding:packed".to_string(), "true".to_string())].into();
        Field::new("x", DataType::Struct(members.collect()), true).with_metadata(packed)
    };
    let nulls = Bomb {
        name: "null structs of wide members",
        field: field(vec![DataType::FixedSizeBinary(1 << 16); 300]),
        rows: 100,
        layout: Layout::ConstantLayout(ConstantLayout {
            layers: vec![RepDefLayer::RepdefNullableItem.into()],
            ..Default::default()
        }),
        ..Default::default()
    };

    // One string, and vectors of 4 MiB.
    let len = 1_u64 << 20;
    let vector = |items| {
        let list =
            proto::FixedSizeList { items_per_value: len, has_validity: false, values: Some(Box::new(items)) };
        encoded(Compression::FixedSizeList(Box::new(list)))
    };
    let structs = |items: CompressiveEncoding, bits| {
        use proto::variable_packed_struct::{FieldEncoding, field_encoding::Layout as Width};
        let text = FieldEncoding { value: Some(variable(32)), layout: Some(Width::BitsPerLength(32)) };
        let vector = FieldEncoding { value: Some(vector(items)), layout: Some(Width::BitsPerValue(bits)) };
        let mut fields = vec![text];
        fields.resize(41, vector);
        encoded(Compression::VariablePackedStruct(proto::VariablePackedStruct { fields }))
    };
    let vectors = DataType::new_fixed_size_list(DataType::Float32, i32::try_from(len).unwrap(), true);
    let mut members = vec![DataType::Utf8];
    members.resize(41, vectors);
    let stored = structs(flat(32), len * 32);
    let constant = structs(encoded(Compression::Constant(proto::Constant { value: None })), 0);
    // Levels of one byte; a length.
    let records = [
        ("a null struct of vectors", 1, &stored, vec![1]),
        ("a struct of vectors without bytes", 0, &stored, vec![0; 4]),
        ("a struct of vectors of nulls", 0, &constant, vec![4, 0, 0, 0, 0, 0, 0, 0]),
    ];
    let vectors = records.map(|(name, bits_def, codec, record)| Bomb {
        name,
        field: field(members.clone()),
        layout: full_zip(1, bits_def, codec.clone()),
        buffers: vec![record.clone(), words(&[0, record.len() as u32])],
        ..Default::default()
    });
    vectors.into_iter().chain([nulls]).collect()
}

/// Runs: of values that are compressed, and of so many that one of them is too much to come by.
fn runs() -> Vec<Bomb> {
    let rle = |bits| {
        let rle = proto::Rle { values: Some(Box::new(flat(bits))), run_lengths: Some(Box::new(flat(8))) };
        encoded(Compression::Rle(Box::new(rle)))
    };
    let dictionary = DataType::Dictionary(DataType::Int8.into(), DataType::Int8.into());
    let mut bombs = vec![];
    for (name, data_type) in [("runs", DataType::Int8), ("runs of indices", dictionary)] {
        let indexed = data_type != DataType::Int8;
        let page = |codec, rows, buffers: &[&[u8]]| {
            let layout = MiniBlockLayout {
                value_compression: Some(codec),
                dictionary: indexed.then(|| flat(8)),
                num_dictionary_items: u64::from(indexed),
                num_items: rows,
                ..Default::default()
            };
            let (layout, mut buffers) = chunk(layout, buffers);
            buffers.extend(indexed.then(|| vec![7]));
            let field = Field::new("x", data_type.clone(), true);
            Bomb { name, field, rows, layout, buffers, taken: Some(rows - 1), ..Default::default() }
        };
        // One length, but 200 MiB of values.
        bombs.push(Bomb { too_much: false, ..page(zstd(rle(8)), 100, &[&zeros(1600), &[100]]) });
        // 255 Mi values in 2 MiB.
        let lengths = vec![255; 1 << 20];
        let rows = lengths.len() as u64 * 255;
        let budget = DecodeBudget { per_byte: 1, constant: 1 << 20 };
        bombs.push(Bomb { budget, ..page(rle(8), rows, &[&vec![0; lengths.len()], &lengths]) });
        bombs.push(Bomb { budget, ..page(zstd(rle(8)), rows, &[&zeros(8), &lengths]) });
    }
    bombs
}

/// As bytes.
pub fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// A zstd frame of `blocks` times 128 KiB of zeros, in 4 bytes each.
pub fn zeros(blocks: usize) -> Vec<u8> {
    zeros_after(&[], blocks)
}

/// The same with these few bytes in front.
pub fn zeros_after(start: &[u8], blocks: usize) -> Vec<u8> {
    // The magic, no flags, a window of 128 KiB.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3];
    frame.extend(&((start.len() as u32) << 3).to_le_bytes()[..3]);
    frame.extend(start);
    for block in 1..=blocks {
        let repeated = 1 << 1;
        let header = (1 << 17) << 3 | repeated | u32::from(block == blocks);
        frame.extend(&header.to_le_bytes()[..3]);
        frame.push(0);
    }
    frame
}

/// `values` in zstd.
pub fn zstd(values: CompressiveEncoding) -> CompressiveEncoding {
    let scheme = proto::CompressionScheme::CompressionAlgorithmZstd.into();
    let compression = Some(proto::BufferCompression { scheme, level: None });
    let general = proto::General { compression, values: Some(Box::new(values)) };
    CompressiveEncoding { compression: Some(Compression::General(Box::new(general))) }
}

fn encoded(compression: Compression) -> CompressiveEncoding {
    CompressiveEncoding { compression: Some(compression) }
}

/// Numbers of as many bits.
pub fn flat(bits: u64) -> CompressiveEncoding {
    encoded(Compression::Flat(proto::Flat { bits_per_value: bits, data: None }))
}

/// Strings with offsets of as many bits.
pub fn variable(bits: u64) -> CompressiveEncoding {
    let variable = proto::Variable { offsets: Some(Box::new(flat(bits))), values: None };
    encoded(Compression::Variable(Box::new(variable)))
}

/// The layout of `rows` records of any length, with `bits_def` bits of levels.
pub fn full_zip(rows: usize, bits_def: u32, codec: CompressiveEncoding) -> Layout {
    let layer = if bits_def > 0 { RepDefLayer::RepdefNullableItem } else { RepDefLayer::RepdefAllValidItem };
    Layout::FullZipLayout(FullZipLayout {
        bits_def,
        num_items: rows as u32,
        num_visible_items: rows as u32,
        value_compression: Some(codec),
        layers: vec![layer.into()],
        details: Some(full_zip_layout::Details::BitsPerOffset(32)),
        ..Default::default()
    })
}
