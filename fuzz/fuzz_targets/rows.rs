#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fory_row_fuzz::row(input));
