//! Any change of a container gives an error or a container.

use bytes::Bytes;
use lance_footer::{Alignment, Container, ContainerWriter, Extent, Open, PageRecord, Version, run_on_slice};
use proptest::prelude::*;

use crate::draft::Draft;
use crate::goldens;

/// Opens with a small and a large tail; whatever opens keeps what an open container promises.
fn survives(file: Vec<u8>) {
    let file = Bytes::from(file);
    let size = file.len() as u64;
    for tail in [40, 150, Open::TAIL] {
        if let Ok(container) = run_on_slice(Open::new(size, tail), &file) {
            promises(&container, size);
        }
    }
}

fn promises(container: &Container, size: u64) {
    let pages = || container.columns.iter().flat_map(|column| &column.pages);
    let buffers = pages().flat_map(|page| &page.buffers);
    let buffers = buffers.chain(container.columns.iter().flat_map(|column| &column.buffers));
    for extent in buffers.chain(&container.global_buffers).chain(&container.column_metadata) {
        assert!(extent.end() <= size);
    }
    if container.version() > Version::V2_0 {
        assert!(pages().flat_map(|page| &page.buffers).all(|buffer| buffer.offset() % 64 == 0));
    }
    assert_eq!(container.columns.len(), container.footer.columns as usize);
    assert_eq!(container.global_buffers.len(), container.footer.global_buffers as usize);
    assert_eq!(container.descriptor.len() as u64, container.global_buffers[0].len());
    for column in &container.columns {
        // Does not overflow.
        column.length();
    }
}

#[test]
fn every_flipped_bit_and_every_truncation_of_small_files() {
    let mut files = vec![goldens::worked_example()];
    files.extend(Version::ALL.map(|version| Draft::new(version).layout().to_bytes()));
    for file in files {
        for at in 0..file.len() {
            for bit in 0..8 {
                let mut flipped = file.clone();
                flipped[at] ^= 1 << bit;
                survives(flipped);
            }
            survives(file[..at].to_vec());
            survives(file[at..].to_vec());
        }
    }
}

fn container(columns: u32, pages: u64, globals: u64, wide: bool, version: Version) -> Vec<u8> {
    let alignment = if wide { Alignment::Bytes4096 } else { Alignment::Bytes64 };
    let mut writer = ContainerWriter::new(version, alignment, columns);
    let mut file: Vec<u8> = vec![];
    let mut buffer = |len: usize| {
        file.resize(file.len().next_multiple_of(alignment.bytes() as usize), 0);
        let extent = Extent::new(file.len() as u64, len as u64).unwrap();
        file.resize(file.len() + len, 0x55);
        extent
    };
    for page in 0..pages {
        for column in 0..columns {
            let buffers = (0..page % 3).map(|n| buffer(10 + 30 * n as usize)).collect();
            let record = PageRecord { length: page, priority: page * 2, buffers, encoding: vec![1; 5] };
            writer.page(column, record).unwrap();
        }
    }
    for index in 0..globals {
        writer.global_buffer(buffer(index as usize)).unwrap();
    }
    let tail = writer.finish(file.len() as u64, &[2; 50]).unwrap();
    file.extend(tail);
    file
}

proptest! {
    #[test]
    fn changed_containers_do_not_panic(
        shape in (0_u32..4, 0_u64..5, 0_u64..4, any::<bool>(), 0_usize..3),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (columns, pages, globals, wide, version) = shape;
        let mut file = container(columns, pages, globals, wide, Version::ALL[version]);
        prop_assert!(crate::open(&file).is_ok());
        // What matters is at the end: half of the changes go there.
        let end = file.len().saturating_sub(300);
        for (number, (at, value)) in changes.into_iter().enumerate() {
            let start = if number % 2 == 0 { end } else { 0 };
            let at = start + at.index(file.len() - start);
            file[at] = value;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        survives(file);
    }

    #[test]
    fn arbitrary_footers_do_not_panic(words in any::<[u64; 3]>(), counts in any::<[u32; 2]>(), small in any::<bool>()) {
        let mut layout = Draft::new(Version::V2_2).layout();
        let limit = if small { layout.size() } else { u64::MAX };
        [layout.a, layout.b, layout.c] = words.map(|word| word % limit);
        [layout.global_buffers, layout.columns] = counts.map(|count| if small { count % 4 } else { count });
        survives(layout.to_bytes());
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        survives(bytes.clone());
        let mut with_magic = bytes;
        with_magic.extend([2, 0, 2, 0]);
        with_magic.extend(*b"LANC");
        survives(with_magic);
    }
}
