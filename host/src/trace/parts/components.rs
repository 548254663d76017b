//! 4-connected components that continue beyond the parts: two that touch at a seam are one.

use crate::error::Result;
use crate::memory::zeroed_vec;
use crate::trace::cpu::saddles::{ENDED, RimRun};

/// The components of two parts that are joined.
pub(super) struct Components {
    /// A forest.
    parents: Vec<u32>,
    /// The new name of each root, or [`ENDED`].
    names: Vec<u32>,
    count: u32,
}

impl Components {
    /// `count` components, none of which touch.
    pub(super) fn new(count: u32) -> Result<Self> {
        let mut parents = zeroed_vec(count as usize, "the components at seams")?;
        parents
            .iter_mut()
            .zip(0..)
            .for_each(|(parent, i)| *parent = i);
        let mut names = zeroed_vec(count as usize, "the components at seams")?;
        names.fill(ENDED);
        Ok(Self {
            parents,
            names,
            count: 0,
        })
    }

    fn root(&mut self, mut component: u32) -> u32 {
        loop {
            let parent = self.parents[component as usize];
            if parent == component {
                return component;
            }
            let above = self.parents[parent as usize];
            self.parents[component as usize] = above;
            component = above;
        }
    }

    /// Joins the components of runs of two rows, one above the other, that overlap and have the
    /// same value.
    pub(super) fn join<V: PartialEq>(&mut self, upper: &[RimRun<V>], lower: &[RimRun<V>]) {
        let (mut upper, mut lower) = (upper.iter().peekable(), lower.iter().peekable());
        while let (Some(a), Some(b)) = (upper.peek(), lower.peek()) {
            let overlap = a.columns[0] < b.columns[1] && b.columns[0] < a.columns[1];
            if overlap && a.value == b.value {
                let roots = [a.component, b.component].map(|component| self.root(component));
                self.parents[roots[0] as usize] = roots[1];
            }
            if a.columns[1] <= b.columns[1] {
                upper.next();
            } else {
                lower.next();
            }
        }
    }

    /// Names the components that have these runs; the others end.
    pub(super) fn name<'a, V: 'a>(&mut self, runs: impl Iterator<Item = &'a RimRun<V>>) {
        for run in runs {
            let root = self.root(run.component) as usize;
            if self.names[root] == ENDED {
                self.names[root] = self.count;
                self.count += 1;
            }
        }
    }

    /// The number of names.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// A component's new name.
    pub(super) fn named(&mut self, component: u32) -> u32 {
        match component {
            ENDED => ENDED,
            component => {
                let root = self.root(component);
                self.names[root as usize]
            }
        }
    }

    /// Whether a saddle between two components is joined; `None` if not known yet.
    pub(super) fn decide(&mut self, components: [u32; 2]) -> Option<bool> {
        if components.contains(&ENDED) {
            return Some(false);
        }
        let roots = components.map(|component| self.root(component));
        if roots[0] == roots[1] {
            return Some(true);
        }
        let both_go_on = roots.iter().all(|&root| self.names[root as usize] != ENDED);
        (!both_go_on).then_some(false)
    }
}
