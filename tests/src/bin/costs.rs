//! What steps on tables cost, as the README has it: requests of a store, and bytes.
//!
//! `cargo run --release -p demilance-tests --bin costs`; with the argument `many`, times on tables of 10,000 fragments on
//! the local disk, beside the reference where it is there.

use demilance_tests::{costs, ours};

fn main() {
    ours::run(async {
        if std::env::args().nth(1).is_some_and(|argument| argument == "many") {
            return costs::many::print().await;
        }
        let [small, large] = costs::SHAPES;
        let (few, many) = (costs::make(small).await, costs::make(large).await);
        for step in costs::STEPS {
            let few = costs::measure(step, small, &few).await;
            let many = costs::measure(step, large, &many).await;
            println!("{}", costs::line(step, &few, &many));
        }
    });
}
