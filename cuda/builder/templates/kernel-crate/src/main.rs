//! Counts the bytes of a file, on the GPU where there is one and in the emulator otherwise:
//! `cargo run --release -- FILE`. Without a file it counts its own source.

use std::error::Error;
use std::fs;

use cuda_std::emulator::Emulator;
use cust::device::Device;
use cust::launch::ModuleQueue;
use cust::module::Module;
use {{crate_name}}::histogram;

/// Written by `cargo kernels`. A program that is installed elsewhere takes the text itself, by
/// `include_str!`.
const PTX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ptx/kernels.ptx");

fn main() -> Result<(), Box<dyn Error>> {
    let bytes = match std::env::args_os().nth(1) {
        Some(file) => fs::read(file)?,
        None => include_bytes!("main.rs").to_vec(),
    };
    if bytes.is_empty() {
        return Err("there is nothing to count".into());
    }
    let counts = match Device::open(0) {
        Ok(device) => {
            println!("on {}", device.info().name);
            on_gpu(&device, &bytes)?
        }
        Err(why) => {
            println!("in the emulator, since {why}");
            in_emulator(&bytes)?
        }
    };
    for (byte, count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
        println!("{:>6} {:?}", count, char::from(byte as u8));
    }
    Ok(())
}

fn on_gpu(device: &Device, bytes: &[u8]) -> Result<Vec<u32>, Box<dyn Error>> {
    let ptx = fs::read_to_string(PTX)
        .map_err(|error| format!("{PTX}: {error}; `cargo kernels` writes it"))?;
    let stream = device.stream()?;
    let queue = ModuleQueue::new(&stream, &Module::from_ptx(device, &ptx)?)?;
    let bytes = stream.upload(bytes)?;
    let mut counts = stream.alloc_zeroed(256)?;
    // SAFETY: `counts` has 256 elements, and nothing else uses either buffer.
    unsafe { histogram::launch_threads(&queue, bytes.len(), bytes.view(), counts.view_mut())? };
    Ok(counts.to_vec()?)
}

fn in_emulator(bytes: &[u8]) -> Result<Vec<u32>, Box<dyn Error>> {
    let emulator = Emulator::new(0);
    let bytes = emulator.upload(bytes)?;
    let mut counts = emulator.upload(&[0; 256])?;
    // SAFETY: as above.
    unsafe { histogram::launch_threads(&emulator, bytes.len(), bytes.view(), counts.view_mut())? };
    Ok(counts.to_vec()?)
}
