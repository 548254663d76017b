//! Which provisional labels belong to one component: a union-find forest.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::memory::reserve;

/// Trees of provisional labels: one tree per component, as far as known so far.
///
/// A label's parent is never larger than the label, and a root is its own parent. So the root of a
/// tree is its smallest label. If labels are planted in raster order, that is the first one.
///
/// Labels start at 1 and take 4 bytes each.
#[derive(Default)]
pub(super) struct Forest {
    /// Element `i` is the parent of label `i`; element 0 stands for background.
    parent: Vec<u32>,
    limit: u32,
}

impl Forest {
    /// An empty forest for at most `limit` labels.
    pub(super) fn new(limit: u32) -> Result<Self> {
        let mut parent = Vec::new();
        reserve(&mut parent, 1, "provisional labels")?;
        parent.push(0);
        Ok(Self { parent, limit })
    }

    /// Makes room for `additional` more labels, which [`plant`](Self::plant) relies on.
    pub(super) fn reserve(&mut self, additional: usize) -> Result<()> {
        reserve(&mut self.parent, additional, "provisional labels")
    }

    /// Adds a new label, as a tree of its own.
    #[inline]
    pub(super) fn plant(&mut self) -> Result<u32> {
        let label = self.parent.len() as u32;
        if label > self.limit || label == 0 {
            return Err(Error::TooMany {
                what: "provisional labels",
                limit: self.limit.into(),
            });
        }
        self.parent.push(label);
        Ok(label)
    }

    /// The root of `label`'s tree.
    #[inline]
    pub(super) fn find(&mut self, mut label: u32) -> u32 {
        loop {
            let parent = self.parent[label as usize];
            if parent == label {
                return label;
            }
            // Halve the path: each label's new parent is its grandparent.
            let grandparent = self.parent[parent as usize];
            self.parent[label as usize] = grandparent;
            label = grandparent;
        }
    }

    /// Joins the trees of `a` and `b`, and returns the root.
    #[inline]
    pub(super) fn join(&mut self, a: u32, b: u32) -> u32 {
        if a == b {
            return a;
        }
        let (a, b) = (self.find(a), self.find(b));
        let (low, high) = (a.min(b), a.max(b));
        self.parent[high as usize] = low;
        low
    }

    /// Adds the trees of another forest, whose labels come after those of this one. Returns what
    /// was added to each of its labels.
    pub(super) fn append(&mut self, other: Self) -> Result<u32> {
        let first = self.parent.len() as u32 - 1;
        let count = other.parent.len().saturating_sub(1);
        if u64::from(first) + count as u64 > self.limit.into() {
            return Err(Error::TooMany {
                what: "provisional labels",
                limit: self.limit.into(),
            });
        }
        if first == 0 && count > 0 {
            self.parent = other.parent;
            return Ok(0);
        }
        self.reserve(count)?;
        let parents = other.parent.iter().skip(1);
        self.parent.extend(parents.map(|parent| parent + first));
        Ok(first)
    }

    /// One past the largest label.
    pub(super) fn end(&self) -> usize {
        self.parent.len()
    }

    /// The number of trees whose roots are in a range of labels.
    pub(super) fn count_roots(&self, labels: Range<usize>) -> u32 {
        let parents = self.parent[labels.clone()].iter().zip(labels);
        let is_root = |(&parent, label): (&u32, usize)| u32::from(parent == label as u32);
        parents.map(is_root).sum()
    }

    /// Numbers the trees `before + 1`, `before + 2`, … in the order of their roots, except the
    /// trees for whose root `elsewhere` gives a number: that of an earlier tree, or the next one.
    ///
    /// Returns the number of each label's tree, by label (0 for background), and the last new
    /// number.
    pub(super) fn number(
        self,
        before: u32,
        mut elsewhere: impl FnMut(u32) -> Option<u32>,
    ) -> (Vec<u32>, u32) {
        let mut number = self.parent;
        let mut count = before;
        for label in 1..number.len() {
            let parent = number[label] as usize;
            number[label] = if parent != label {
                // The parent comes first, so its element is a number already.
                number[parent]
            } else {
                let number = elsewhere(label as u32).unwrap_or_else(|| count + 1);
                count = count.max(number);
                number
            };
        }
        (number, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_trees_by_their_smallest_label() {
        let mut forest = Forest::new(u32::MAX).unwrap();
        let labels: Vec<u32> = (0..6).map(|_| forest.plant().unwrap()).collect();
        assert_eq!(labels, [1, 2, 3, 4, 5, 6]);
        assert_eq!(forest.join(5, 3), 3);
        assert_eq!(forest.join(6, 5), 3);
        assert_eq!(forest.join(4, 4), 4);
        assert_eq!(forest.join(6, 2), 2);
        assert_eq!(forest.find(5), 2);
        assert_eq!(forest.count_roots(2..5), 2);
        assert_eq!(forest.count_roots(1..forest.end()), 3);
        assert_eq!(forest.number(0, |_| None), (vec![0, 1, 2, 2, 3, 2, 2], 3));
    }

    #[test]
    fn refuses_labels_past_its_limit() {
        let mut forest = Forest::new(2).unwrap();
        assert!(forest.plant().is_ok() && forest.plant().is_ok());
        assert!(matches!(
            forest.plant(),
            Err(Error::TooMany { limit: 2, .. })
        ));
    }
}
