//! Image files of any format, by their content.
#![no_main]

libfuzzer_sys::fuzz_target!(
    init: {
        // Instead of fuzzing, make the seeds of all targets.
        if let Some(folder) = std::env::var_os("TRAZAR_SEEDS") {
            trazar_fuzz::seeds::make(folder.as_ref()).expect("seeds");
            std::process::exit(0);
        }
    },
    |data: &[u8]| trazar_fuzz::image(data)
);
