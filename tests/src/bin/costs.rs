//! What steps on tables cost, as the README has it: requests of a store, and bytes.
//!
//! `cargo run --release -p demilance-tests --bin costs`

use demilance_tests::{costs, ours};

fn main() {
    ours::run(async {
        let [small, large] = costs::SHAPES;
        let (few, many) = (costs::make(small).await, costs::make(large).await);
        for step in costs::STEPS {
            let few = costs::measure(step, small, &few).await;
            let many = costs::measure(step, large, &many).await;
            println!("{}", costs::line(step, &few, &many));
        }
    });
}
