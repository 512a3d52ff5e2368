//! Opening with little in hand gives the same container in the documented number of rounds.

use bytes::Bytes;
use lance_footer::{
    Alignment, Answer, Container, ContainerWriter, Extent, FormatError, Machine, Open, PageRecord, Result,
    Step, Version, run_on_slice,
};

use crate::draft::{Draft, Layout};
use crate::{goldens, open};

/// Counts the fetches of a machine and the bytes that they ask for.
struct Counted<M> {
    machine: M,
    rounds: u64,
    bytes: u64,
}

impl<M: Machine> Machine for Counted<M> {
    type Output = (M::Output, u64, u64);

    fn step(&mut self, answers: Vec<Answer>) -> Result<Step<Self::Output>> {
        Ok(match self.machine.step(answers)? {
            Step::Ready(output) => Step::Ready((output, self.rounds, self.bytes)),
            Step::Fetch(asks) => {
                self.rounds += 1;
                self.bytes += asks.iter().map(lance_footer::Ask::bytes).sum::<u64>();
                Step::Fetch(asks)
            }
        })
    }
}

fn open_with_tail(file: &Bytes, tail: u64) -> Result<(Container, u64, u64)> {
    run_on_slice(Counted { machine: Open::new(file.len() as u64, tail), rounds: 0, bytes: 0 }, file)
}

fn many_pages(alignment: Alignment) -> Vec<u8> {
    let mut writer = ContainerWriter::new(Version::V2_2, alignment, 3);
    let buffer = Extent::new(0, 100).unwrap();
    for page in 0..10 {
        for column in 0..3 {
            let encoding = format!("page {page} of column {column}").into_bytes();
            let record = PageRecord { length: 7, priority: 7 * page, buffers: vec![buffer], encoding };
            writer.page(column, record).unwrap();
        }
    }
    let globals = (1..20).map(|n| Extent::new(n * alignment.bytes(), n).unwrap());
    for global in globals {
        writer.global_buffer(global).unwrap();
    }
    let mut file = vec![5; 20 * alignment.bytes() as usize];
    file.extend(writer.finish(file.len() as u64, &[6; 300]).unwrap());
    file
}

fn same(a: &Container, b: &Container) -> bool {
    (a.size, a.footer, &a.global_buffers, &a.column_metadata, &a.descriptor, &a.columns)
        == (b.size, b.footer, &b.global_buffers, &b.column_metadata, &b.descriptor, &b.columns)
}

#[test]
fn every_tail_gives_the_same_container_in_the_documented_rounds() {
    let far_descriptor = {
        let mut layout = Draft::new(Version::V2_1).layout();
        layout.gbo[0] = (0, 10);
        layout.to_bytes()
    };
    let gap: Vec<u8> = {
        let mut layout: Layout = Draft::new(Version::V2_0).layout();
        layout.gap = vec![1; 77];
        layout.to_bytes()
    };
    let files = [
        goldens::worked_example(),
        far_descriptor,
        gap,
        many_pages(Alignment::Bytes64),
        many_pages(Alignment::Bytes4096),
    ];
    for file in files {
        let expected = open(&file).unwrap();
        let file = Bytes::from(file);
        let size = file.len() as u64;
        let metadata = expected.footer.column_metadata.min(expected.global_buffers[0].offset());
        let table = expected.footer.gbo_table.offset();
        // Large files take large steps.
        let tails =
            (0..=size).step_by(1 + file.len() / 4000).chain([0, 39, 40, size - 1, size, size + 1, u64::MAX]);
        for tail in tails {
            let (container, rounds, bytes) = open_with_tail(&file, tail).unwrap();
            assert!(same(&container, &expected), "tail {tail}");

            let start = size - tail.clamp(40, size);
            let known = start.min(table);
            let documented = 1 + u64::from(table < start) + u64::from(metadata < known);
            assert_eq!(rounds, documented, "tail {tail} of {size}");
            // Nothing is asked for twice, except that a descriptor at the edge of the tail is asked for whole.
            assert!(bytes <= (size - start.min(metadata)) + expected.descriptor.len() as u64);
        }
    }
}

#[test]
fn a_step_after_the_end_and_answers_that_do_not_fit_are_errors() {
    let file = Bytes::from(goldens::worked_example());
    let fetch = |machine: &mut Open| match machine.step(vec![]).unwrap() {
        Step::Fetch(asks) => asks,
        Step::Ready(_) => panic!("nothing was read"),
    };
    let slices = |slices: Vec<Bytes>| vec![Answer::Slices(slices)];

    let mut machine = Open::new(270, 270);
    assert_eq!(fetch(&mut machine).len(), 1);
    assert!(matches!(machine.step(slices(vec![file.clone()])), Ok(Step::Ready(_))));
    let error = machine.step(vec![]).unwrap_err();
    assert!(matches!(&error, FormatError::Corrupt { section, .. } if section == "step protocol"), "{error}");

    let wrong: [Vec<Answer>; 6] = [
        vec![],
        slices(vec![]),
        slices(vec![file.clone(), file.clone()]),
        slices(vec![file.slice(..30)]),
        slices(vec![[&file[..], &file[..]].concat().into()]),
        vec![Answer::Packed(file[..].into())],
    ];
    for answers in wrong {
        let mut machine = Open::new(270, 270);
        fetch(&mut machine);
        // The one that is too long holds a file too, at another place.
        if let Ok(Step::Ready(container)) = machine.step(answers) {
            assert_eq!(container.size, 270);
        }
    }
}
