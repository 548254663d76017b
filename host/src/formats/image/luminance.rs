//! Colours reduced to their luminance.

use super::sample::Stored;

/// A row's luminance: the row itself if its pixels have one channel; otherwise `grey`, after
/// filling it.
pub(super) fn reduced<'a, T: Stored + Into<u64> + TryFrom<u64>>(
    row: &'a [T],
    channels: usize,
    grey: &'a mut [T],
) -> &'a [T] {
    if channels == 1 {
        return row;
    }
    for (out, pixel) in grey.iter_mut().zip(row.chunks_exact(channels)) {
        *out = match *pixel {
            [r, g, b, ..] => luminance(r, g, b),
            [grey, ..] => grey,
            [] => T::zeroed(),
        };
    }
    grey
}

/// ITU-R BT.601's weights in 16-bit fixed point, rounded: white stays white.
pub(super) fn luminance<T: Stored + Into<u64> + TryFrom<u64>>(r: T, g: T, b: T) -> T {
    let sum = 19595 * r.into() + 38470 * g.into() + 7471 * b.into() + 0x8000;
    // The weights add up to 1, so the luminance fits the type.
    T::try_from(sum >> 16).unwrap_or(r)
}
