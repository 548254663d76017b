//! Grids with nets, as text.
#![no_main]

use trazar::formats::{read_case, write_case_text};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let path = trazar_fuzz::file("case", data);
    match read_case(&path) {
        Err(error) => trazar_fuzz::check(&error),
        Ok(case) => {
            let mut text = Vec::new();
            write_case_text(&case, &mut text).expect("text");
            let again = read_case(trazar_fuzz::file("again", &text)).expect("the same case");
            assert!(again == case);
            trazar_fuzz::route(&case);
        }
    }
    trazar_fuzz::check_folder(&["case", "again"]);
});
