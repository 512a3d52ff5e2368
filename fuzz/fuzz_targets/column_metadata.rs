#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| demilance_fuzz::files::column_metadata(input));
