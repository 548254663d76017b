//! From labels to places in arrays, for labels of any size and with any gaps.

use std::collections::HashMap;

use crate::error::Result;
use crate::memory::{reserve, reserve_in_map, zeroed_vec};

/// What a slot holds: at least the label.
pub(super) trait Labelled {
    fn label(&self) -> i64;
}

/// The smallest table.
const LEAST_LEN: usize = 1 << 12;
/// The largest table that is made for any labels: 2 MiB.
const SMALL_LEN: i64 = 1 << 19;
/// The most elements per label of a larger table. If there were more, most labels would have a page
/// of memory for themselves.
const MOST_PER_LABEL: i64 = 64;

/// The slots of labels, numbered as the labels come.
///
/// Labels below a limit index a table, if there are not too few of them for its length. An entry
/// counts if the slot that it names has that label, so the table is never cleared. Other labels, as
/// of an image with gaps, are in a map: none of them is below the table's length.
pub(super) struct Slots {
    table: Vec<u32>,
    limit: i64,
    map: HashMap<i64, u32>,
}

impl Slots {
    /// Slots for labels of which most are below `limit`.
    pub(super) fn new(limit: usize) -> Self {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        Self {
            table: Vec::new(),
            limit: limit.max(LEAST_LEN as i64),
            map: HashMap::new(),
        }
    }

    /// Forgets all labels. The caller must empty `all` before the next call of [`get`](Self::get).
    pub(super) fn clear(&mut self) {
        self.map.clear();
    }

    /// Whether a label would be looked for in the map, which takes longer than the table.
    #[inline(always)]
    pub(super) fn is_in_map(&self, label: i64) -> bool {
        label >= self.table.len() as i64
    }

    /// The slot of `label`, if it has one among `all`, what there is at the slots.
    #[inline(always)]
    pub(super) fn get(&self, label: i64, all: &[impl Labelled]) -> Option<u32> {
        if let Some(&slot) = self.table.get(label as usize) {
            let found = all.get(slot as usize)?;
            return (found.label() == label).then_some(slot);
        }
        self.map.get(&label).copied()
    }

    /// Says that `label` has the next slot, which is `slot`.
    #[cold]
    pub(super) fn set(&mut self, label: i64, slot: u32) -> Result<()> {
        const WHAT: &str = "the places of labels";
        let most = (MOST_PER_LABEL * i64::from(slot)).max(SMALL_LEN);
        if label < (self.table.len() as i64).max(most.min(self.limit)) {
            let index = label as usize;
            if index >= self.table.len() {
                let len = (index + 1).next_power_of_two();
                let len = len.clamp(LEAST_LEN, self.limit as usize);
                // A new array instead of a longer one: zeros that nobody reads take no memory.
                let mut table = zeroed_vec(len, WHAT)?;
                table[..self.table.len()].copy_from_slice(&self.table);
                self.table = table;
                let table = &mut self.table;
                self.map
                    .retain(|&label, slot| match table.get_mut(label as usize) {
                        Some(entry) => {
                            *entry = *slot;
                            false
                        }
                        None => true,
                    });
            }
            self.table[index] = slot;
            return Ok(());
        }
        reserve_in_map(&mut self.map, WHAT)?;
        self.map.insert(label, slot);
        Ok(())
    }
}

/// Room for one more element, for all arrays that are indexed by slots.
pub(super) fn room<T>(array: &mut Vec<T>) -> Result<()> {
    if array.len() == array.capacity() {
        reserve(array, array.len().max(64), "the sums of labels")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Labelled for i64 {
        fn label(&self) -> i64 {
            *self
        }
    }

    #[test]
    fn labels_keep_their_slots() {
        // Multiples of a step in a scattered order: all in the table, all in the map, and first in
        // the map, then in the table.
        for (count, step, limit) in [
            (3_000, 1, 10),
            (3_000, 1 << 30, 1 << 20),
            (40_000, 40, 1 << 30),
            (40_000, 150, 1 << 30),
        ] {
            let (mut slots, mut all) = (Slots::new(limit), Vec::new());
            for round in 0..2 {
                slots.clear();
                all.clear();
                for i in 0..count {
                    let label = 1 + (i * 7_919 + round) % count * step;
                    assert_eq!(slots.get(label, &all), None, "{label}");
                    slots.set(label, all.len() as u32).unwrap();
                    all.push(label);
                }
                for (slot, &label) in all.iter().enumerate() {
                    assert_eq!(slots.get(label, &all), Some(slot as u32), "{label}");
                    assert_eq!(slots.get(label + count * step, &all), None, "{label}");
                }
            }
            assert_eq!(slots.map.is_empty(), step < 150, "steps of {step}");
        }
    }
}
