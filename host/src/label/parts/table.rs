//! [`LabelTable`]: the final numbers of the bands' components.

use std::ops::Range;

use super::{Band, LabelPart, Nodes, RIMS};
use crate::error::{Error, OptionProblem, Result};
use crate::label::Component;
use crate::memory::{reserve, zeroed_vec};

/// The final numbers of an image's components, returned by [`LabelPart::finish`].
///
/// Memory: 16 bytes per component on the first or last row of a band, and the statistics.
#[derive(Clone, Debug)]
pub struct LabelTable {
    pub(super) count: u64,
    pub(super) bands: Vec<Final>,
    pub(super) components: Option<Vec<Component>>,
}

/// A band's components.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::label) struct Final {
    pub(in crate::label) rows: Range<u32>,
    /// The number of the band's own components.
    pub(in crate::label) count: u32,
    /// The number of the image's components that start above the band.
    pub(in crate::label) before: u64,
    /// The components on its first or last row, in their order.
    pub(super) nodes: Vec<FinalNode>,
}

/// A component on the first or last row of a band.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FinalNode {
    /// Its number in the band.
    pub(super) own: u32,
    /// Its number in the image.
    pub(super) number: u64,
    /// Whether the component starts in the band with this node.
    pub(super) starts: bool,
}

/// An integer that holds the number of a component: `u32` or `u64`.
pub trait LabelNumber: sealed::Number {}
impl LabelNumber for u32 {}
impl LabelNumber for u64 {}

/// Whether labels of the type `T` have 64 bits.
pub(crate) const fn is_wide<T: LabelNumber>() -> bool {
    size_of::<T>() > size_of::<u32>()
}

pub(super) mod sealed {
    pub trait Number: bytemuck::Pod + Send + Sync {
        const MOST: u64;
        fn of(number: u64) -> Self;
    }
    impl Number for u32 {
        const MOST: u64 = u32::MAX as u64;
        fn of(number: u64) -> Self {
            number as Self
        }
    }
    impl Number for u64 {
        const MOST: u64 = Self::MAX;
        fn of(number: u64) -> Self {
            number
        }
    }
}

impl LabelTable {
    pub(super) fn of(part: LabelPart) -> Result<Self> {
        let statistics = part.statistics;
        let mut components = Vec::new();
        let mut bands = Vec::new();
        let mut final_number: Vec<u64> = zeroed_vec(part.nodes.parent.len(), RIMS)?;
        let mut count = 0;
        let mut node = 0;
        for band in part.bands {
            let first_node = node;
            let nodes = number_nodes(&part.nodes, &mut node, &band, count, &mut final_number)?;
            let absorbed = nodes.iter().filter(|node| !node.starts).count();
            let before = count;
            count += u64::from(band.count) - absorbed as u64;
            if statistics {
                let starting = band.count as usize - absorbed;
                reserve(&mut components, starting, "the components' measures")?;
                let mut inside = band.inside.iter();
                let mut next = 1;
                for (i, node) in (first_node..).zip(&nodes) {
                    components.extend(inside.by_ref().take((node.own - next) as usize));
                    if node.starts {
                        components.push(part.nodes.tally[i].finish());
                    }
                    next = node.own + 1;
                }
                components.extend(inside);
            }
            bands.push(Final {
                rows: band.rows,
                count: band.count,
                before,
                nodes,
            });
        }
        Ok(Self {
            count,
            bands,
            components: statistics.then_some(components),
        })
    }

    /// The number of components.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The components' measures, if all parts were made with statistics: element `i` is component
    /// `i + 1`.
    pub fn components(&self) -> Option<&[Component]> {
        self.components.as_deref()
    }

    /// The final numbers of the band that starts in row `first_row`: element `n` is that of the
    /// component with the band's own number `n`, and element 0 is 0, for background.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] if no band starts there; [`Error::TooMany`] if the image has more
    /// components than `T` can count; [`Error::OutOfMemory`].
    pub fn numbers<T: LabelNumber>(&self, first_row: u32) -> Result<Vec<T>> {
        let band = self.band_at(first_row)?;
        self.check_fits::<T>()?;
        band.numbers()
    }

    /// The band that starts in row `first_row`.
    pub(in crate::label) fn band_at(&self, first_row: u32) -> Result<&Final> {
        let band = self
            .bands
            .binary_search_by_key(&first_row, |band| band.rows.start);
        match band {
            Ok(band) => Ok(&self.bands[band]),
            Err(_) => Err(Error::option(
                "first_row",
                OptionProblem::OutOfRange,
                format!("no band starts in row {first_row}"),
            )),
        }
    }

    /// Whether the table has a band with the rows and the number of components of `part`, which has
    /// one band.
    pub(super) fn matches(&self, part: &LabelPart) -> bool {
        let band = self.band_at(part.rows.start);
        band.is_ok_and(|band| band.rows == part.rows && band.count == part.count())
    }

    /// Refuses more components than `T` can count.
    pub(in crate::label) fn check_fits<T: LabelNumber>(&self) -> Result<()> {
        if self.count <= T::MOST {
            return Ok(());
        }
        Err(Error::TooMany {
            what: "components",
            limit: T::MOST,
        })
    }

    /// The band with that index, counted from the top; `None` after the last one.
    pub(super) fn band(&self, index: usize) -> Option<&Final> {
        self.bands.get(index)
    }
}

impl Final {
    pub(super) fn numbers<T: LabelNumber>(&self) -> Result<Vec<T>> {
        let mut numbers = Vec::new();
        reserve(
            &mut numbers,
            self.count as usize + 1,
            "the components' numbers",
        )?;
        numbers.push(T::of(0));
        let mut next = self.before;
        let mut nodes = self.nodes.iter().peekable();
        for number in 1..=self.count {
            let node = nodes.next_if(|node| node.own == number);
            numbers.push(match node {
                Some(node) if !node.starts => T::of(node.number),
                _ => {
                    next += 1;
                    T::of(next)
                }
            });
        }
        Ok(numbers)
    }

    /// The rim components that start above the band, in their order: each one's number in the band,
    /// and in the image.
    pub(in crate::label) fn absorbed(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let absorbed = self.nodes.iter().filter(|node| !node.starts);
        absorbed.map(|node| (node.own, node.number))
    }

    /// The components that start in the band, in their order: each one's number in the band, and
    /// whether it is on the band's rim.
    pub(super) fn starting(&self) -> impl Iterator<Item = (u32, bool)> + '_ {
        let mut nodes = self.nodes.iter().peekable();
        (1..=self.count).filter_map(
            move |number| match nodes.next_if(|node| node.own == number) {
                Some(node) => node.starts.then_some((number, true)),
                None => Some((number, false)),
            },
        )
    }
}

/// The final numbers of a band's nodes. `node` is the band's first node, and is advanced to the
/// first one of the next band.
fn number_nodes(
    nodes: &Nodes,
    node: &mut usize,
    band: &Band,
    before: u64,
    final_number: &mut [u64],
) -> Result<Vec<FinalNode>> {
    let mut numbered = Vec::new();
    reserve(&mut numbered, band.nodes as usize, RIMS)?;
    let mut absorbed = 0;
    for i in *node..*node + band.nodes as usize {
        let (number, parent) = (nodes.number[i], nodes.parent[i] as usize);
        let starts = parent == i;
        // A parent comes before its node, so it has its final number already.
        final_number[i] = match starts {
            true => before + u64::from(number) - absorbed,
            false => final_number[parent],
        };
        absorbed += u64::from(!starts);
        numbered.push(FinalNode {
            own: number,
            number: final_number[i],
            starts,
        });
    }
    *node += band.nodes as usize;
    Ok(numbered)
}
