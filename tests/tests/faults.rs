//! Whatever request to an object store goes wrong, and however, the table is as before or as after the operation; what
//! arrives twice or late does no harm.

use std::sync::Arc;

use demilance::Dataset;
use demilance_tests::crash::{self, Seen};
use demilance_tests::faulty::{Fault, Faulty, Request};
use demilance_tests::files::Files;
use demilance_tests::ours;
use lance_io::Store;
use object_store::ObjectStore;
use object_store::memory::InMemory;

/// An object store with `files`, of which the request with a number goes wrong in some way.
async fn store(files: &Files, fault: Option<(usize, Fault)>) -> (Arc<Faulty>, Store, Store) {
    let inner = Arc::new(InMemory::new());
    let plain = Store::object(Arc::clone(&inner) as Arc<dyn ObjectStore>, "table");
    files.copy_to(&plain).await;
    let faulty = Arc::new(Faulty::new(inner, fault));
    let store = Store::object(Arc::clone(&faulty) as Arc<dyn ObjectStore>, "table");
    (faulty, store, plain)
}

/// Gives what is wrong.
async fn check(operation: &str, files: &Files, fault: (usize, Fault), after: &Seen) -> Option<String> {
    let before = crash::see(files.store().await).await;
    let (faulty, store, plain) = store(files, Some(fault)).await;
    let result = crash::run(operation, store).await;
    let seen = crash::see(plain.clone()).await;
    let is_after = seen.is_on_the_way(operation, after);
    match &result {
        Ok(()) if !is_after => return Some(format!("done, but not there: {seen:?}")),
        // What arrives twice is done.
        Err(error) if matches!(fault.1, Fault::Twice | Fault::Late) => {
            return Some(format!("refused: {error}"));
        }
        Err(error) if !is_after && !seen.is_on_the_way(operation, &before) => {
            return Some(format!("{error}, and neither old nor new: {seen:?}"));
        }
        _ => {}
    }
    // What comes late comes after others have done something.
    let table = Dataset::builder("").store(plain.clone()).load().await.unwrap();
    let table = table.update_config().config("then", "this").await.unwrap();
    faulty.deliver().await;
    let late = crash::see(plain.clone()).await;
    if (&late.rows, &late.references) != (&seen.rows, &seen.references) {
        return Some(format!("something else after all arrived: {late:?}"));
    }
    let options = crash::all_but_the_newest();
    let cleaned = table.clean_up(&options).await.unwrap();
    let left = table.table().plan_cleanup(&options).await.unwrap();
    if (cleaned.failed.len(), left.files.len(), left.versions.len()) != (0, 0, 0) {
        return Some(format!("clean-up leaves {left:?}"));
    }
    let cleaned = crash::see(plain).await;
    (cleaned.rows != seen.rows).then(|| format!("something else after clean-up: {cleaned:?}"))
}

#[test]
fn one_request_of_any_operation_goes_wrong() {
    let mut wrong = vec![];
    ours::run(async {
        let original = Store::memory();
        crash::make(original.clone()).await;
        let files = Files::of(&original).await;
        for operation in crash::OPERATIONS.into_iter().chain([crash::LARGE]) {
            let (counting, through, plain) = store(&files, None).await;
            crash::run(operation, through).await.unwrap();
            let after = crash::see(plain).await;
            let in_parts = counting.requests().contains(&Request::Part);
            assert_eq!(in_parts, operation == crash::LARGE, "{operation}");
            for (number, request) in counting.requests().into_iter().enumerate() {
                let faults = match request {
                    Request::Part => vec![Fault::Fails, Fault::AnswerLost],
                    Request::Read => vec![Fault::Fails],
                    Request::Write => vec![Fault::Fails, Fault::AnswerLost, Fault::Twice, Fault::Late],
                };
                for fault in faults {
                    let found = check(operation, &files, (number, fault), &after).await;
                    wrong.extend(
                        found.map(|found| format!("{operation}, request {number} {fault:?}: {found}")),
                    );
                }
            }
        }
    });
    ours::none_wrong(wrong);
}
