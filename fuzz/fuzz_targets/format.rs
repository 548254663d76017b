//! Image files of the format that the first byte selects: their start is always right.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| trazar_fuzz::image(&trazar_fuzz::with_magic(data)));
