//! [`LastOfValue`]: the last pixel of each value in a row.

use crate::error::Result;
use crate::memory::zeroed_vec;

/// A hash table from values' keys to columns, at most half full; clearing it takes constant time.
#[derive(Default)]
pub(super) struct LastOfValue {
    places: Vec<Place>,
    /// The number of places that are in use.
    used: usize,
    /// Entries of other rounds are free places.
    round: u32,
}

#[derive(Clone, Copy, bytemuck::Zeroable)]
struct Place {
    key: u64,
    round: u32,
    column: u32,
}

/// The places of the first table.
const FIRST_PLACES: usize = 512;

impl LastOfValue {
    /// Forgets all values.
    pub(super) fn clear(&mut self) {
        self.used = 0;
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            // Entries of very old rounds would look new.
            self.places.fill(bytemuck::Zeroable::zeroed());
            self.round = 1;
        }
    }

    /// Sets the column of a value's key, and returns the one before.
    #[inline]
    pub(super) fn replace(&mut self, key: u64, column: u32) -> Result<Option<u32>> {
        if self.places.len() <= 2 * self.used {
            self.grow()?;
        }
        let round = self.round;
        let place = self.find(key);
        if place.round == round {
            return Ok(Some(std::mem::replace(&mut place.column, column)));
        }
        *place = Place { key, round, column };
        self.used += 1;
        Ok(None)
    }

    /// The column of a value's key.
    #[inline]
    pub(super) fn get(&mut self, key: u64) -> Option<u32> {
        if self.places.is_empty() {
            return None;
        }
        let round = self.round;
        let place = self.find(key);
        (place.round == round).then_some(place.column)
    }

    /// The place of a key, or the free place for it.
    #[inline]
    fn find(&mut self, key: u64) -> &mut Place {
        // Fibonacci hashing: the highest bits of the product.
        let bits = self.places.len().trailing_zeros();
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize;
        while self.places[at].round == self.round && self.places[at].key != key {
            at = (at + 1) & (self.places.len() - 1);
        }
        &mut self.places[at]
    }

    #[cold]
    fn grow(&mut self) -> Result<()> {
        let places = (2 * self.places.len()).max(FIRST_PLACES);
        let places = zeroed_vec(places, "the values of a row")?;
        let old = std::mem::replace(&mut self.places, places);
        self.round = self.round.max(1);
        let round = self.round;
        for place in old.into_iter().filter(|place| place.round == round) {
            *self.find(place.key) = place;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_within_a_round() {
        let mut last = LastOfValue::default();
        assert_eq!(last.get(0), None);
        for round in 0..3u32 {
            last.clear();
            for key in 0..2000u64 {
                assert_eq!(last.get(key << 40), None);
                assert_eq!(last.replace(key << 40, key as u32 + round).unwrap(), None);
            }
            for key in 0..2000u64 {
                let before = key as u32 + round;
                assert_eq!(last.get(key << 40), Some(before));
                assert_eq!(last.replace(key << 40, 7).unwrap(), Some(before));
            }
        }
        // Round numbers begin again.
        last.round = u32::MAX;
        last.clear();
        assert_eq!(last.get(0), None);
    }
}
