//! The command as a person calls it: arguments in, text and exit code out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::cast_possible_truncation)]

mod cat;
mod change;
mod columns;
mod compact;
mod count;
mod demo;
mod import;
mod inspect;
mod operations;
mod recordings;
mod refs;
mod refuse;
mod rows;
mod run;
mod verify;
