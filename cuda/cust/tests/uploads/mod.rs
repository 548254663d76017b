//! Large copies to the device and back.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use cust::error::CudaError;
use cust::stream::Stream;

/// Makes large uploads to one stream from rayon's tasks, each of which uses all threads of rayon: a
/// thread that waits for another's piece may begin the next upload.
pub(crate) fn check_within_rayon(stream: Stream) -> Result<(), CudaError> {
    let (done, end) = mpsc::channel();
    thread::spawn(move || {
        let values: Vec<u32> = (0..4 << 20).collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
        let pool = pool.expect("threads");
        let upload = || Ok(stream.upload(&values)?.to_vec()? == values);
        let uploaded: Result<Vec<bool>, CudaError> = thread::scope(|scope| {
            let callers: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| (0..4).map(|_| pool.install(upload)).collect()))
                .collect();
            let results = callers
                .into_iter()
                .map(|caller| caller.join().expect("no panic"));
            results
                .collect::<Result<Vec<Vec<bool>>, CudaError>>()
                .map(|all| all.concat())
        });
        let _ = done.send(uploaded);
    });
    let uploaded = end.recv_timeout(Duration::from_secs(120));
    let uploaded = uploaded.expect("uploads wait for each other")?;
    assert_eq!(uploaded, [true; 32]);
    Ok(())
}

/// Copies values to the device and back whose size is around that from which all threads copy, and
/// around whole chunks; then parts of them.
pub(crate) fn check_sizes(stream: &Stream) -> Result<(), CudaError> {
    const CHUNK: usize = 1 << 20;
    for len in [
        4 * CHUNK - 1,
        4 * CHUNK,
        4 * CHUNK + 1,
        5 * CHUNK - 1,
        7 * CHUNK,
        8 * CHUNK + 12_345,
    ] {
        let values: Vec<u32> = (0..len as u32)
            .map(|i| i.wrapping_mul(2_654_435_761))
            .collect();
        let on_device = stream.upload(&values)?;
        assert!(on_device.to_vec()? == values, "{len} elements");
        let mut found = vec![7; len];
        on_device.read(&mut found)?;
        assert!(found == values, "{len} elements, into a slice");
        let mut found = vec![7; len - 3];
        on_device.read_at(2, &mut found)?;
        assert!(found == values[2..len - 1], "{len} elements but three");
    }
    Ok(())
}

/// Uploads bytes computed piece by piece, of sizes around that from which all threads compute them,
/// and around whole chunks; and computations that give up at some byte.
pub(crate) fn check_computed(stream: &Stream) -> Result<(), CudaError> {
    const LEAST: usize = 256 << 10;
    const CHUNK: usize = 4 << 20;
    let byte = |i: usize| (i.wrapping_mul(2_654_435_761) >> 13) as u8;
    for len in [
        0,
        1,
        LEAST - 1,
        LEAST,
        LEAST + 1,
        CHUNK,
        CHUNK + 1,
        4 * CHUNK + 12_345,
    ] {
        let write = |start: usize, piece: &mut [u8], end: usize| {
            for (i, written) in (start..).zip(&mut *piece) {
                *written = byte(i);
            }
            start + piece.len() <= end
        };
        let uploaded = stream.upload_computed(len, |start, piece| write(start, piece, len))?;
        let found = uploaded.expect("all pieces are written").to_vec()?;
        assert!((0..).map(byte).take(len).eq(found), "{len} bytes");
        if len > 0 {
            for end in [0, len / 2, len - 1] {
                let uploaded = stream.upload_computed(len, |start, piece| write(start, piece, end));
                assert!(uploaded?.is_none(), "{len} bytes, up to {end}");
            }
        }
    }
    Ok(())
}
