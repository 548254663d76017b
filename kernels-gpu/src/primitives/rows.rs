//! Going down a column of an image.

/// Rows that are loaded together.
const AHEAD: u32 = 4;

/// Calls `take` with what `load` gives for each row of a column of this height, and with defaults
/// for up to three rows below. Four rows are loaded while four others are taken; passing one value
/// on from row to row would wait for its load.
#[inline(always)]
pub(crate) fn for_each_row<T: Default>(
    height: u32,
    load: impl Fn(u32) -> T,
    mut take: impl FnMut(T, u32),
) {
    let load = |y: u32| if y < height { load(y) } else { T::default() };
    let load_rows = |y: u32| [load(y), load(y + 1), load(y + 2), load(y + 3)];
    let mut ahead = load_rows(0);
    let mut y = 0;
    while y < height {
        let [first, second, third, fourth] = ahead;
        ahead = load_rows(y + AHEAD);
        take(first, y);
        take(second, y + 1);
        take(third, y + 2);
        take(fourth, y + 3);
        y += AHEAD;
    }
}
