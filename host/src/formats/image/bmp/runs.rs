//! Run-length encoded pixels of a BMP.

use std::io::Read;

use super::damaged;
use super::header::{Compression, Header};
use crate::Result;
use crate::formats::source::{Bytes, Origin};

/// Decodes the runs. `take` gets the rows that have pixels, in the file's order, with their
/// numbers; pixels that the file skips are black. `grey` has room for one row.
pub(super) fn read(
    bytes: &mut Bytes,
    origin: Origin<'_>,
    header: &Header,
    shades: &[u8; 256],
    grey: &mut [u8],
    mut take: impl FnMut(u32, &[u8]) -> Result<()>,
) -> Result<()> {
    let nibbles = header.compression == Compression::Runs4;
    let byte = |bytes: &mut Bytes| {
        let mut byte = [0];
        let read = bytes.read_exact(&mut byte);
        read.map(|()| byte[0]).map_err(|error| origin.io(error))
    };
    let beyond = || damaged(origin, "its runs leave the picture");
    let width = grey.len();
    // The shade of the `n`-th pixel that bytes of indices hold.
    let shade = |indices: &[u8], n: usize| {
        let index = match (nibbles, n % 2) {
            (false, _) => indices[n],
            (true, 0) => indices[n / 2] >> 4,
            (true, _) => indices[n / 2] & 0xf,
        };
        shades[usize::from(index)]
    };

    // The next pixel. `x` may exceed the width after a run that was cut.
    let (mut x, mut y) = (0, 0);
    grey.fill(0);
    loop {
        let count = usize::from(byte(bytes)?);
        if count > 0 {
            let index = byte(bytes)?;
            let place = grey.get_mut(x..).unwrap_or_default();
            // ImageMagick writes runs of 8-bit indices that exceed the row: they are cut.
            if nibbles && place.len() < count {
                return Err(beyond());
            }
            let pair = [0, 1].map(|n| shade(&[index; 2], n));
            for (n, grey) in place.iter_mut().take(count).enumerate() {
                *grey = pair[n % 2];
            }
            x += count;
            continue;
        }
        match byte(bytes)? {
            0 => {
                take(y, grey)?;
                grey.fill(0);
                (x, y) = (0, y + 1);
                if y == header.height {
                    return Ok(());
                }
            }
            1 => return take(y, grey),
            2 => {
                let (right, rows) = (usize::from(byte(bytes)?), u32::from(byte(bytes)?));
                if rows > 0 {
                    take(y, grey)?;
                    grey.fill(0);
                    y += rows;
                    if y >= header.height || x > width {
                        return Err(beyond());
                    }
                }
                if right > 0 && x + right > width {
                    return Err(beyond());
                }
                x += right;
            }
            count => {
                let count = usize::from(count);
                let stored = if nibbles { count.div_ceil(2) } else { count };
                // Padded to an even number.
                let mut indices = [0; 256];
                let read = bytes.read_exact(&mut indices[..stored.next_multiple_of(2)]);
                read.map_err(|error| origin.io(error))?;
                let place = grey.get_mut(x..x + count).ok_or_else(beyond)?;
                for (n, grey) in place.iter_mut().enumerate() {
                    *grey = shade(&indices, n);
                }
                x += count;
            }
        }
    }
}
