//! One broken rule at a time, and what is odd but legal.

use lance_footer::proto::file2::{DeferredEncoding, Empty, Encoding, encoding::Location};
use lance_footer::{FormatError, Version};

use crate::draft::{Draft, Layout, direct, page_url};
use crate::open;

fn refused(file: &[u8], text: &str, case: &str) {
    let error = open(file).map(|_| case).unwrap_err().to_string();
    assert!(error.contains(text), "{case}: {error:?} does not contain {text:?}");
}

#[test]
fn a_good_draft_opens() {
    for version in Version::ALL {
        let container = open(&Draft::new(version).layout().to_bytes()).unwrap();
        assert_eq!(container.version(), version);
        assert_eq!(container.descriptor, crate::draft::DESCRIPTOR);
        assert_eq!(container.columns.len(), 2);
        assert_eq!(container.columns[1].pages[0].buffers[0].offset(), 64);
        assert_eq!(container.columns[1].pages[0].encoding, "opaque");
        assert_eq!(container.columns[1].length(), 15);
        assert_eq!(container.global_buffers[1].offset(), 128);
    }
}

type Break = fn(&mut Layout);

#[test]
fn rules_of_the_footer_and_the_tables() {
    let cases: [(&str, Break, &str); 24] = [
        ("magic", |l| l.magic = *b"LANX", "not a Lance file"),
        ("trailing bytes", |l| (l.magic, l.minor) = (*b"ANC\0", 0x4c00), "not a Lance file"),
        ("v1", |l| (l.major, l.minor) = (0, 2), "legacy v1 Lance file (footer 0.2)"),
        ("unstable", |l| (l.major, l.minor) = (2, 3), "unstable (footer 2.3)"),
        ("unknown", |l| (l.major, l.minor) = (2, 4), "unknown Lance file version 2.4"),
        ("C beyond the file", |l| l.c = l.size(), "footer is corrupt: the GBO table of 2 entries"),
        ("C overflows", |l| l.c = u64::MAX, "does not end before the footer"),
        ("GN too large", |l| l.global_buffers = 3, "the GBO table of 3 entries"),
        ("GN hostile", |l| l.global_buffers = u32::MAX, "does not end before the footer"),
        ("B after C", |l| l.b = l.c + 1, "the CMO table of 2 entries"),
        ("B before its table", |l| l.b -= 1, "does not end where the GBO table starts"),
        ("CN too large", |l| l.columns = 3, "the CMO table of 3 entries"),
        ("CN hostile", |l| l.columns = u32::MAX, "does not end where the GBO table starts"),
        ("tables apart", |l| (l.between, l.c) = (vec![0; 16], l.c + 16), "does not end where the GBO table"),
        ("A after B", |l| l.a = l.b + 1, "start after the CMO table"),
        ("column before A", |l| l.cmo[0].0 -= 1, "CMO table is corrupt: entry 0"),
        ("column after B", |l| l.cmo[1].1 += 1, "CMO table is corrupt: entry 1"),
        ("column overflows", |l| l.cmo[1].1 = u64::MAX, "CMO table is corrupt: entry 1"),
        ("global buffer outside", |l| l.gbo[1].1 = l.size(), "GBO table is corrupt: entry 1"),
        ("global buffer overflows", |l| l.gbo[1].1 = u64::MAX, "overflows 64 bits"),
        ("no global buffer", |l| (l.global_buffers, l.gbo) = (0, vec![]), "so there is no schema"),
        ("descriptor outside", |l| l.gbo[0] = (64, u64::MAX - 64), "GBO table is corrupt: entry 0"),
        ("descriptor after A", |l| l.gbo[0].0 = l.size() / 64 * 64, "global buffer 0 starts at"),
        ("column cut short", |l| l.cmo[0].1 -= 1, "metadata of column 0 is corrupt: not a message"),
    ];
    for version in Version::ALL {
        for (case, break_it, text) in cases {
            let mut layout = Draft::new(version).layout();
            break_it(&mut layout);
            refused(&layout.to_bytes(), text, case);
        }
    }
}

#[test]
fn short_files_are_refused() {
    let file = Draft::new(Version::V2_2).layout().to_bytes();
    for len in [0, 4, 8, 39] {
        refused(&file[file.len() - len..], "too few for a Lance file", "short");
    }
    refused(&file[file.len() - 40..], "does not end before the footer", "a footer and nothing else");
}

type BreakColumn = fn(&mut Draft);

#[test]
fn rules_of_the_column_metadata() {
    let deferred = || {
        let location = DeferredEncoding { buffer_location: 0, buffer_length: 1 };
        Some(Encoding { location: Some(Location::Indirect(location)) })
    };
    let none = || Some(Encoding { location: Some(Location::None(Empty {})) });
    let cases: [(&str, BreakColumn, &str); 20] = [
        (
            "page beyond the file",
            |d| d.columns[1].pages[0].buffer_offsets[0] = 1 << 40,
            "ends beyond the file",
        ),
        ("page too long", |d| d.columns[1].pages[0].buffer_sizes[0] = 1 << 40, "ends beyond the file"),
        ("page overflows", |d| d.columns[1].pages[0].buffer_sizes[0] = u64::MAX, "ends beyond the file"),
        (
            "page sizes missing",
            |d| d.columns[1].pages[0].buffer_sizes.clear(),
            "1 buffer offsets but 0 sizes",
        ),
        (
            "column buffer beyond",
            |d| {
                (d.columns[1].buffer_offsets, d.columns[1].buffer_sizes) = (vec![0], vec![1 << 40]);
            },
            "ends beyond the file",
        ),
        ("column sizes missing", |d| d.columns[1].buffer_offsets = vec![0], "1 buffer offsets but 0 sizes"),
        (
            "lengths overflow",
            |d| {
                let mut page = d.columns[1].pages[0].clone();
                page.length = u64::MAX;
                d.columns[1].pages.push(page);
            },
            "the lengths of its pages overflow",
        ),
        ("page encoding missing", |d| d.columns[1].pages[0].encoding = None, "page 0: it has no encoding"),
        (
            "page encoding empty",
            |d| {
                d.columns[1].pages[0].encoding = Some(Encoding { location: None });
            },
            "page 0: it has no encoding",
        ),
        ("column encoding missing", |d| d.columns[1].encoding = None, "it has no encoding"),
        (
            "page encoding of another version",
            |d| {
                let other = if d.version == Version::V2_0 { Version::V2_1 } else { Version::V2_0 };
                d.columns[1].pages[0].encoding = Some(direct(page_url(other), b""));
            },
            "its encoding has the type",
        ),
        (
            "planar page",
            |d| {
                d.columns[1].pages[0].encoding = Some(direct("/lance.encodings23.PlanarLayout", b""));
            },
            "PlanarLayout",
        ),
        (
            "type without a slash",
            |d| {
                let url = page_url(d.version).trim_start_matches('/');
                d.columns[1].pages[0].encoding = Some(direct(url, b""));
            },
            "its encoding has the type",
        ),
        (
            "any of another type",
            |d| {
                d.columns[1].encoding = Some(direct("/lance.encodings.PageEncoding", &[0x0a, 0]));
            },
            "instead of lance.encodings.ColumnEncoding",
        ),
        (
            "column encoding is no message",
            |d| {
                d.columns[1].encoding = Some(direct("/lance.encodings.ColumnEncoding", &[0xff]));
            },
            "its column encoding is not a message",
        ),
        (
            "column encoding without a member",
            |d| {
                d.columns[1].encoding = Some(direct("/lance.encodings.ColumnEncoding", &[]));
            },
            "its column encoding is empty",
        ),
        (
            "unknown member",
            |d| {
                // Field 9, which no version has.
                d.columns[1].encoding = Some(direct("/lance.encodings.ColumnEncoding", &[0x4a, 0]));
            },
            "its column encoding is empty",
        ),
        (
            "zone index",
            |d| {
                d.columns[1].encoding = Some(direct("/lance.encodings.ColumnEncoding", &[0x12, 0]));
            },
            "it has a zone index",
        ),
        (
            "column encoding of a wrong kind",
            |d| {
                d.columns[1].encoding = Some(direct("", &[]));
            },
            "its encoding has the type \"\"",
        ),
        (
            "not an any",
            |d| {
                let direct = lance_footer::proto::file2::DirectEncoding { encoding: vec![0xff].into() };
                d.columns[1].encoding = Some(Encoding { location: Some(Location::Direct(direct)) });
            },
            "its encoding is not an Any",
        ),
    ];
    for version in Version::ALL {
        for (case, break_it, text) in cases {
            let mut draft = Draft::new(version);
            break_it(&mut draft);
            let file = draft.layout().to_bytes();
            refused(&file, text, case);
            refused(&file, "metadata of column 1 is corrupt", case);
        }
        for (encoding, text) in [(deferred(), "deferred"), (none(), "it has no encoding")] {
            let mut draft = Draft::new(version);
            draft.columns[0].pages[0].encoding = encoding.clone();
            refused(&draft.layout().to_bytes(), text, "page");
            let mut draft = Draft::new(version);
            draft.columns[0].encoding = encoding;
            refused(&draft.layout().to_bytes(), text, "column");
        }
    }
}

#[test]
fn alignment_is_required_from_2_1_on() {
    for version in Version::ALL {
        let mut draft = Draft::new(version);
        draft.columns[1].pages[0].buffer_offsets[0] += 8;
        let page = draft.layout().to_bytes();
        let mut layout = Draft::new(version).layout();
        layout.gbo[1].0 += 8;
        let global = layout.to_bytes();
        let mut layout = Draft::new(version).layout();
        layout.gbo[0] = (191, 11);
        let descriptor = layout.to_bytes();
        if version == Version::V2_0 {
            for file in [page, global, descriptor] {
                open(&file).unwrap();
            }
        } else {
            refused(&page, "page 0: a buffer at 72 is not aligned to 64 bytes", "page");
            refused(&global, "global buffer 1 at 136 is not aligned", "global buffer");
            refused(&descriptor, "global buffer 0 at 191 is not aligned", "descriptor");
        }
        // Column-level buffers and metadata may lie anywhere.
        let mut draft = Draft::new(version);
        (draft.columns[0].buffer_offsets, draft.columns[0].buffer_sizes) = (vec![3], vec![5]);
        assert_eq!(open(&draft.layout().to_bytes()).unwrap().columns[0].buffers[0].offset(), 3);
    }
}

#[test]
fn odd_containers_that_are_legal_open() {
    let cases: [(&str, Break); 7] = [
        ("gap before the footer", |l| l.gap = vec![9; 100]),
        ("gap before the CMO table", |l| {
            l.body.extend([9; 64]);
            (l.b, l.c) = (l.b + 64, l.c + 64);
        }),
        ("A below the first metadata", |l| l.a = 195),
        ("columns in another order", |l| l.cmo.swap(0, 1)),
        ("descriptor at the start", |l| l.gbo[0] = (0, 10)),
        ("empty global buffer at the end", |l| l.gbo[1] = (l.size() / 64 * 64, 0)),
        ("descriptor that reaches into the metadata", |l| l.gbo[0].1 += 10),
    ];
    for version in Version::ALL {
        for (case, change) in cases {
            let mut layout = Draft::new(version).layout();
            change(&mut layout);
            let container = open(&layout.to_bytes()).map_err(|error| format!("{case}: {error}")).unwrap();
            assert_eq!(container.columns.len(), 2, "{case}");
        }
        // Pages that share a buffer, pages without rows and buffers.
        let mut draft = Draft::new(version);
        draft.columns[1].pages[0].buffer_offsets[0] = 0;
        let mut empty = draft.columns[1].pages[0].clone();
        (empty.length, empty.buffer_offsets, empty.buffer_sizes) = (0, vec![], vec![]);
        draft.columns[1].pages.push(empty);
        assert_eq!(open(&draft.layout().to_bytes()).unwrap().columns[1].pages.len(), 2);
        // Both pairs of 2.0.
        if version == Version::V2_0 {
            let mut layout = draft.layout();
            (layout.major, layout.minor) = (2, 0);
            assert_eq!(open(&layout.to_bytes()).unwrap().version(), Version::V2_0);
        }
    }
}

#[test]
fn a_zero_size_entry_may_lie_at_the_end_of_the_file() {
    let mut layout = Draft::new(Version::V2_0).layout();
    layout.gbo[1] = (layout.size(), 0);
    open(&layout.to_bytes()).unwrap();
    layout.gbo[1] = (layout.size() + 1, 0);
    refused(&layout.to_bytes(), "GBO table is corrupt: entry 1", "one further");
}

#[test]
fn unknown_fields_are_ignored_and_lists_may_be_unpacked() {
    // Field 15 as a number, 14 as bytes.
    let unknown: &[u8] = &[0x78, 5, 0x72, 2, 1, 2];
    let encoding = |url: &str, value: &[u8]| {
        let message = direct(url, value);
        let mut bytes = prost::Message::encode_to_vec(&message);
        bytes.extend_from_slice(unknown);
        bytes
    };
    let field = |tag: u8, bytes: &[u8]| [&[tag << 3 | 2, bytes.len() as u8], bytes].concat();
    for version in Version::ALL {
        // Offsets 0 and 64, sizes 60 and 20, one number a field.
        let page = [
            &[0x08, 0, 0x08, 64, 0x10, 60, 0x10, 20, 0x18, 15][..],
            &field(4, &encoding(page_url(version), b"x")),
            unknown,
        ]
        .concat();
        let column_encoding = [&[0x0a, 0][..], unknown].concat();
        let column = [
            &field(1, &encoding("any.authority/lance.encodings.ColumnEncoding", &column_encoding))[..],
            &field(2, &page),
            &[0x18, 3, 0x20, 5],
            unknown,
        ]
        .concat();
        let container = open(&Layout::new(version, &[column]).to_bytes()).unwrap();
        let column = &container.columns[0];
        let pairs = |extents: &[lance_footer::Extent]| -> Vec<_> {
            extents.iter().map(|extent| (extent.offset(), extent.len())).collect()
        };
        assert_eq!(pairs(&column.pages[0].buffers), [(0, 60), (64, 20)]);
        assert_eq!(pairs(&column.buffers), [(3, 5)]);
        assert_eq!((column.pages[0].length, &column.pages[0].encoding[..]), (15, &b"x"[..]));
    }
}

#[test]
fn errors_say_whether_the_file_is_wrong_or_the_software() {
    let mut layout = Draft::new(Version::V2_2).layout();
    layout.minor = 3;
    assert!(matches!(open(&layout.to_bytes()), Err(FormatError::Unsupported { .. })));
    layout.magic = [0; 4];
    assert!(matches!(open(&layout.to_bytes()), Err(FormatError::Corrupt { .. })));
}
