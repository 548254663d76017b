//! The prefix sum on the GPU, beside a device-to-device copy of as many bytes.
//! `cargo bench -p trazar-benches --bench gpu_scan`
//!
//! Both are timed by CUDA events, with the data in the GPU's memory: the median of many launches
//! after some for warming up. The preparation of the scan's status words is not part of the scan's
//! time, and has a column of its own.

#[cfg(not(target_os = "macos"))]
mod table {
    use trazar::cuda::{CudaError, Device, Event, Kernels, Queue, Stream};
    use trazar_test_support::kernels::scan::{self, ScanState};

    /// The median of the GPU's time for `work`, in milliseconds. `before` runs before each,
    /// untimed.
    fn median_ms(
        stream: &Stream,
        runs: usize,
        mut before: impl FnMut() -> Result<(), CudaError>,
        mut work: impl FnMut() -> Result<(), CudaError>,
    ) -> Result<f32, CudaError> {
        const WARM_UP: usize = 3;
        let (start, end) = (Event::new(stream.device())?, Event::new(stream.device())?);
        let mut times = Vec::with_capacity(runs);
        for run in 0..WARM_UP + runs {
            before()?;
            stream.record_into(&start)?;
            work()?;
            stream.record_into(&end)?;
            let time = end.elapsed_ms_since(&start)?;
            if run >= WARM_UP {
                times.push(time);
            }
        }
        times.sort_by(f32::total_cmp);
        Ok(times[runs / 2])
    }

    /// Prints one line per size.
    pub(crate) fn print(device: &Device) -> Result<(), CudaError> {
        let multiprocessors = device.info().multiprocessors;
        let stream = device.stream()?;
        let queue = Queue::new(&stream, &Kernels::load(device)?)?;
        println!(
            "{}, {multiprocessors} multiprocessors. GB/s: bytes read and written.\n",
            device.info().name
        );
        println!("| elements | copy ms | GB/s | scan ms | GB/s | of the copy | preparation ms |");
        println!("| --- | --- | --- | --- | --- | --- | --- |");
        for log in (18..=28).step_by(2) {
            let n = 1u32 << log;
            let values: Vec<u32> = (0..n).map(|i| i.wrapping_mul(0x9e37_79b9) >> 7).collect();
            let input = stream.upload(&values)?;
            let mut output = stream.alloc::<u32>(n as usize)?;
            let mut total = stream.alloc::<u32>(1)?;
            let mut status = stream.alloc::<u64>(scan::status_len(n) as usize)?;
            let mut ticket = stream.alloc::<u32>(1)?;
            let runs = if log > 24 { 31 } else { 101 };

            let copy = median_ms(
                &stream,
                runs,
                || Ok(()),
                || output.copy_from(0, &input, 0..n as usize),
            )?;
            let mut prepare = || {
                let state = ScanState {
                    status: status.view_mut(),
                    ticket: ticket.view_mut(),
                };
                // SAFETY: the kernel's whole launch contract; the buffers are this loop's own.
                unsafe { scan::scan_init::launch_threads(&queue, scan::status_len(n), state) }
            };
            let preparation = median_ms(&stream, runs, || Ok(()), &mut prepare)?;
            let time = {
                let state = ScanState {
                    status: status.view_mut(),
                    ticket: ticket.view_mut(),
                };
                median_ms(
                    &stream,
                    runs,
                    // SAFETY: as above.
                    || unsafe {
                        scan::scan_init::launch_threads(&queue, scan::status_len(n), state)
                    },
                    // SAFETY: lengths and alignment as the kernel asks, and the status is prepared.
                    || unsafe {
                        scan::scan_exclusive::launch(
                            &queue,
                            scan::blocks(n, multiprocessors),
                            input.view(),
                            output.view_mut(),
                            total.view_mut(),
                            state,
                            n,
                        )
                    },
                )?
            };
            let sum = values.iter().fold(0u32, |sum, v| sum.wrapping_add(*v));
            assert_eq!(total.to_vec()?, [sum], "a wrong sum is of no interest");
            let rate = |ms: f32| 8.0 * n as f32 / ms / 1e6;
            println!(
                "| 2^{log} | {copy:.4} | {:.0} | {time:.4} | {:.0} | {:.1} % | {preparation:.4} |",
                rate(copy),
                rate(time),
                100.0 * copy / time
            );
        }
        Ok(())
    }
}

#[cfg(not(target_os = "macos"))]
fn main() {
    match trazar::cuda::Device::open(0) {
        Ok(device) => table::print(&device).expect("the GPU works"),
        Err(why) => println!("skipped: {why}"),
    }
}

#[cfg(target_os = "macos")]
fn main() {
    println!("skipped: the GPU benches run on Linux");
}
