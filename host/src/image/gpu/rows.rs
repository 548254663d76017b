//! Rows of numbers in a GPU's memory.

use crate::error::{Error, OptionProblem, Result};
use crate::gpu::Gpu;
use crate::image::{Sample, Samples, check_size};
use crate::memory::with_room;

/// Copies samples to the memory of `gpu`, and waits for the copy. Also returns the number of
/// elements from the start of a row to the start of the next. `what` names a copy in memory, made
/// of samples that do not lie in rows, in errors.
///
/// # Errors
/// [`Error::OutOfMemory`], `Error::Cuda`, [`Error::Emulator`].
pub(crate) fn upload_samples<G: Gpu, T: Sample + cuda_std::Pod>(
    gpu: &G,
    samples: &Samples<'_, T>,
    what: &'static str,
) -> Result<(G::Buffer<T>, u32)> {
    if let Some((dense, row_stride)) = samples.adjacent_rows()
        && let Ok(pitch) = u32::try_from(row_stride)
    {
        return Ok((gpu.upload(dense)?, pitch));
    }
    let (width, height) = (samples.width(), samples.height());
    let mut copy = with_room(width * height, what)?;
    for y in 0..height {
        copy.extend((0..width).map(|x| samples.get(x, y)));
    }
    Ok((gpu.upload(&copy)?, width as u32))
}

/// `pitch` in 32 bits, if `len` elements hold an image with that distance between rows. `unit`
/// names the elements in errors.
///
/// # Errors
/// Those of [`DeviceBytes::with_pitch`](crate::DeviceBytes::with_pitch).
pub(crate) fn check_pitch(
    width: u32,
    height: u32,
    pitch: usize,
    len: usize,
    unit: &'static str,
) -> Result<u32> {
    check_size(width.into(), height.into())?;
    let pitch = match u32::try_from(pitch) {
        Ok(pitch) if pitch >= width => pitch,
        _ => {
            return Err(Error::option(
                "pitch",
                OptionProblem::OutOfRange,
                format!(
                    "rows {pitch} {unit} apart: a width of {width} takes from {width} to {} {unit}",
                    u32::MAX
                ),
            ));
        }
    };
    let needed = u64::from(pitch) * u64::from(height - 1) + u64::from(width);
    if (len as u64) < needed {
        return Err(Error::SizeMismatch {
            width,
            height,
            needed,
            given: len as u64,
            unit,
        });
    }
    Ok(pitch)
}
