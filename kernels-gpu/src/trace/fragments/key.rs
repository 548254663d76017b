//! Keys: the starts of borders as numbers of 32 or 64 bits, in the order of nodes in the image; and
//! what a fragment knows of the keys of the fragments after it.

use cuda_std::prelude::*;

use super::records::FragmentRecord;
use crate::trace::pixels::Raster;

/// The bit of a key from which the index of the image's word begins; below are the pixel's bit in
/// the word, and 1 for a node of kind E.
pub(super) const KEY_WORD: u32 = 7;
/// The bit, in the last word of a fragment's or closed border's record, from which the key's bits
/// from the 33rd on are stored.
pub(super) const KEY_SHIFT: u32 = 24;

/// The highest key.
pub(super) const NO_KEY: [u32; 2] = [u32::MAX, u32::MAX >> KEY_SHIFT];

/// The key of a W or E node at a bit of a word of the image: its low 32 bits, and those above.
#[inline(always)]
pub(super) const fn key_in_word(word: u32, bit: u32, east: bool) -> [u32; 2] {
    const { assert!(Raster::MOST_WORDS << KEY_WORD <= 1 << (64 - KEY_SHIFT)) };
    let low = word << KEY_WORD | bit << 1 | east as u32;
    [low, word >> (u32::BITS - KEY_WORD)]
}

/// Whether keys of an image's nodes take more than 32 bits. `u32::MAX` is none.
#[must_use]
pub const fn is_wide(raster: Raster) -> bool {
    // planted: key-wide
    raster.words() >= 1 << (u32::BITS - KEY_WORD)
}

/// Words per link of [`join_fragments`](fn@super::join::join_fragments).
pub const LINK_WORDS: usize = 4;
/// Words per link of [`join_wide_fragments`](fn@super::join::join_wide_fragments), so that a link
/// lies in one sector of 32 bytes.
pub const WIDE_LINK_WORDS: usize = 8;

/// The start of a border, as a number in raster order ([`KEY_WORD`]), of 32 bits for images that
/// are not [wide](is_wide), of 64 bits for others.
pub(super) trait Key: Copy + PartialOrd {
    const LOWEST: Self;
    /// From its low 32 bits, and those above.
    fn of_record(key: [u32; 2]) -> Self;
    /// The lowest key of a fragment.
    fn of_fragment(fragments: ViewMut<'_, u32>, fragment: u32) -> Self;
    /// The column and the row of the pixel.
    fn pixel(self, raster: Raster) -> (u32, u32);
    fn is_outer(self) -> bool;
    fn load(links: ViewMut<'_, u32>, fragment: u32) -> Link<Self>;
    fn store(link: Link<Self>, links: ViewMut<'_, u32>, fragment: u32);
}

impl Key for u32 {
    const LOWEST: Self = 0;

    #[inline(always)]
    fn of_record([low, _]: [u32; 2]) -> Self {
        low
    }

    #[inline(always)]
    fn of_fragment(fragments: ViewMut<'_, u32>, fragment: u32) -> Self {
        FragmentRecord::load_low_key(fragments, fragment)
    }

    #[inline(always)]
    fn pixel(self, raster: Raster) -> (u32, u32) {
        raster.pixel_of_word(self >> KEY_WORD, self >> 1 & 63)
    }

    #[inline(always)]
    fn is_outer(self) -> bool {
        self & 1 == 0
    }

    #[inline(always)]
    fn load(links: ViewMut<'_, u32>, fragment: u32) -> Link<Self> {
        let [next, points, key, points_to_key] = links.ld_vector(fragment as usize * LINK_WORDS);
        Link {
            next,
            points,
            key,
            points_to_key,
        }
    }

    #[inline(always)]
    fn store(link: Link<Self>, links: ViewMut<'_, u32>, fragment: u32) {
        let words = [link.next, link.points, link.key, link.points_to_key];
        links.st_vector(fragment as usize * LINK_WORDS, words);
    }
}

impl Key for u64 {
    const LOWEST: Self = 0;

    #[inline(always)]
    fn of_record([low, high]: [u32; 2]) -> Self {
        // planted: join-wide-low
        Self::from(high) << 32 | Self::from(low)
    }

    #[inline(always)]
    fn of_fragment(fragments: ViewMut<'_, u32>, fragment: u32) -> Self {
        Self::of_record(FragmentRecord::load(fragments, fragment).key)
    }

    #[inline(always)]
    fn pixel(self, raster: Raster) -> (u32, u32) {
        raster.pixel_of_word((self >> KEY_WORD) as u32, self as u32 >> 1 & 63)
    }

    #[inline(always)]
    fn is_outer(self) -> bool {
        self & 1 == 0
    }

    #[inline(always)]
    fn load(links: ViewMut<'_, u32>, fragment: u32) -> Link<Self> {
        let at = fragment as usize * WIDE_LINK_WORDS;
        let [next, points, points_to_key, low] = links.ld_vector(at);
        let high = links.ld(at + 4);
        Link {
            next,
            points,
            // planted: join-wide-halves
            key: Self::from(high) << 32 | Self::from(low),
            points_to_key,
        }
    }

    #[inline(always)]
    fn store(link: Link<Self>, links: ViewMut<'_, u32>, fragment: u32) {
        let at = fragment as usize * WIDE_LINK_WORDS;
        let words = [link.next, link.points, link.points_to_key, link.key as u32];
        links.st_vector(at, words);
        links.st(at + 4, (link.key >> 32) as u32);
    }
}

/// What a fragment knows of the fragments after it on its border.
#[derive(Clone, Copy)]
pub(super) struct Link<K> {
    /// A fragment after it.
    pub(super) next: u32,
    /// The number of points from its first point to the first of `next`.
    pub(super) points: u32,
    /// The lowest start in the fragments after it, up to `next`.
    pub(super) key: K,
    /// The number of points from its first point to the first of the fragment with that start.
    pub(super) points_to_key: u32,
}

impl<K: Key> Link<K> {
    /// After one more round. Sums wrap around only past the start.
    #[inline(always)]
    pub(super) fn jumped(self, ahead: Self) -> Self {
        let (key, points_to_key) = if ahead.key < self.key {
            (ahead.key, self.points.wrapping_add(ahead.points_to_key))
        } else {
            (self.key, self.points_to_key)
        };
        Self {
            next: ahead.next,
            points: self.points.wrapping_add(ahead.points),
            key,
            points_to_key,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_keys_name_the_pixels_of_large_images() {
        for (width, height) in [
            (100_000, 100_000),
            (64, 1 << 31),
            (2_000_000_000, 63),
            (1 << 15, 1 << 15),
        ] {
            let raster = Raster::new(width, height).unwrap();
            let ends = |side: u32| [0, 1, side / 2, side - 1];
            let mut last = None;
            for (y, x) in ends(height)
                .into_iter()
                .flat_map(|y| ends(width).map(|x| (y, x)))
            {
                for east in [false, true] {
                    let word = y * raster.row_words + x / 64;
                    let [low, high] = key_in_word(word, x % 64, east);
                    let read = u64::of_record([low, high]);
                    assert_eq!(read.pixel(raster), (x, y));
                    assert_eq!(read.is_outer(), !east);
                    if !is_wide(raster) {
                        assert_eq!(u64::from(u32::of_record([low, 0])), read);
                    }
                    assert!(last < Some(read));
                    last = Some(read);
                }
            }
        }
    }
}
