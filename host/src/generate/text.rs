//! [`text`](fn@text): lines of letters.

use super::random::random;
use super::regular::draw;
use crate::{BinaryImage, Result};

/// The letters from A to Z: seven rows of five pixels each, the leftmost pixel in the highest of
/// five bits.
#[rustfmt::skip]
const LETTERS: [[u8; 7]; 26] = [
    [0b01110, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001], // A
    [0b11110, 0b10001, 0b10001, 0b11110, 0b10001, 0b10001, 0b11110], // B
    [0b01110, 0b10001, 0b10000, 0b10000, 0b10000, 0b10001, 0b01110], // C
    [0b11110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b11110], // D
    [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b11111], // E
    [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b10000], // F
    [0b01110, 0b10001, 0b10000, 0b10111, 0b10001, 0b10001, 0b01110], // G
    [0b10001, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001], // H
    [0b01110, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110], // I
    [0b00111, 0b00010, 0b00010, 0b00010, 0b00010, 0b10010, 0b01100], // J
    [0b10001, 0b10010, 0b10100, 0b11000, 0b10100, 0b10010, 0b10001], // K
    [0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b11111], // L
    [0b10001, 0b11011, 0b10101, 0b10101, 0b10001, 0b10001, 0b10001], // M
    [0b10001, 0b11001, 0b10101, 0b10011, 0b10001, 0b10001, 0b10001], // N
    [0b01110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110], // O
    [0b11110, 0b10001, 0b10001, 0b11110, 0b10000, 0b10000, 0b10000], // P
    [0b01110, 0b10001, 0b10001, 0b10001, 0b10101, 0b10010, 0b01101], // Q
    [0b11110, 0b10001, 0b10001, 0b11110, 0b10100, 0b10010, 0b10001], // R
    [0b01111, 0b10000, 0b10000, 0b01110, 0b00001, 0b00001, 0b11110], // S
    [0b11111, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100], // T
    [0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110], // U
    [0b10001, 0b10001, 0b10001, 0b10001, 0b01010, 0b01010, 0b00100], // V
    [0b10001, 0b10001, 0b10001, 0b10101, 0b10101, 0b11011, 0b10001], // W
    [0b10001, 0b01010, 0b00100, 0b00100, 0b00100, 0b01010, 0b10001], // X
    [0b10001, 0b01010, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100], // Y
    [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b10000, 0b11111], // Z
];

/// Lines of random letters in four sizes, whose strokes are one to four pixels wide.
///
/// ```
/// use trazar::generate::text;
///
/// assert_eq!(text(11, 2, 1)?.to_string(), "#####.#####\n..#.....#..\n");
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// Those of [`BinaryImage::new`].
pub fn text(width: u32, height: u32, seed: u64) -> Result<BinaryImage> {
    // One line of each size, repeated. A line is eight of the letters' pixels high.
    const PERIOD: u32 = 8 * (1 + 2 + 3 + 4);
    draw(width, height, |x, y| {
        let in_period = y % PERIOD;
        let (size, top) = match in_period {
            0..8 => (1, 0),
            8..24 => (2, 8),
            24..48 => (3, 24),
            _ => (4, 48),
        };
        let (column, row) = (x / size % 6, (in_period - top) / size);
        if column == 5 || row == 7 {
            return false;
        }
        let line = y / PERIOD * 4 + size - 1;
        let letter = u64::from(line) << 32 | u64::from(x / size / 6);
        let letter = LETTERS[(random(seed, letter) % 26) as usize];
        letter[row as usize] >> (4 - column) & 1 != 0
    })
}
