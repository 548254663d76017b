//! [`BandNumbers`]: the final numbers of one band, separate from those of the others.

use std::ops::Range;

use super::table::Final;
use super::{LabelNumber, LabelPart, LabelTable};
use crate::error::{Error, Result};
use crate::label::Component;
use crate::memory::reserve;

/// The final numbers of a band's components, for a worker that labels the band.
///
/// [`LabelTable::into_bands`] gives one for each band. Memory: 16 bytes per component on the first
/// or last row of the band, and with statistics 40 per component on them that starts in the band.
///
/// ```
/// use trazar::BinaryImage;
/// use trazar::label::{ComponentOptions, LabelPart};
///
/// let bands = [BinaryImage::from_art("#.#")?, BinaryImage::from_art("..#\n#..")?];
/// let options = ComponentOptions::default().statistics(true);
/// let mut upper = LabelPart::label(&bands[0], 0, &options)?;
/// let mut lower = LabelPart::label(&bands[1], 1, &options)?;
/// // These stay where they were made.
/// let inside = [upper.take_inside(), lower.take_inside()];
/// let numbers = LabelPart::join(upper, lower)?.finish()?.into_bands();
/// assert_eq!(numbers[1].numbers::<u32>()?, [0, 2, 3]);
/// let components = numbers[0].components(&inside[0])?.unwrap();
/// assert_eq!(components[1].area, 2);
/// assert_eq!(numbers[1].first_component(), 3);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BandNumbers {
    pub(super) band: Final,
    /// The number of components of the whole image.
    pub(super) total: u64,
    /// With statistics, the measures of the components on the rim that start in the band.
    pub(super) on_rim: Option<Vec<Component>>,
}

impl LabelPart {
    /// Takes out the measures of the components that are on no band's first or last row, in their
    /// order.
    ///
    /// The rest is joined and finished as before, and takes no memory for these components.
    /// [`BandNumbers::components`] takes the measures again. Join it only to parts whose
    /// measures were taken out too.
    pub fn take_inside(&mut self) -> Vec<Component> {
        let inside = self.bands.iter_mut().map(|band| &mut band.inside);
        let mut inside = inside.map(std::mem::take);
        let mut all = inside.next().unwrap_or_default();
        for more in inside {
            all.extend(more);
        }
        all
    }
}

impl LabelTable {
    /// The numbers of each band, from the top.
    ///
    /// With statistics, this is for parts whose inner measures were
    /// [taken out](LabelPart::take_inside).
    pub fn into_bands(self) -> Vec<BandNumbers> {
        let mut components = self.components.map(Vec::into_iter);
        let take = |band: Final| {
            let starting = band.nodes.iter().filter(|node| node.starts).count();
            let components = components.as_mut();
            let on_rim = components.map(|all| all.by_ref().take(starting).collect());
            BandNumbers {
                band,
                total: self.count,
                on_rim,
            }
        };
        self.bands.into_iter().map(take).collect()
    }
}

impl BandNumbers {
    /// The band's rows of the image.
    pub fn rows(&self) -> Range<u32> {
        self.band.rows.clone()
    }

    /// The number of the band's own components.
    pub fn own_count(&self) -> u32 {
        self.band.count
    }

    /// The number of components of the whole image.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The number of the first component that starts in the band, if any does.
    pub fn first_component(&self) -> u64 {
        self.band.before + 1
    }

    /// The number of components that start in the band.
    pub fn starting_count(&self) -> u64 {
        let absorbed = self.band.nodes.iter().filter(|node| !node.starts).count();
        u64::from(self.band.count) - absorbed as u64
    }

    /// As [`LabelTable::numbers`]: element `n` is the final number of the component with the band's
    /// own number `n`, and element 0 is 0.
    ///
    /// # Errors
    /// [`Error::TooMany`] if the image has more components than `T` can count;
    /// [`Error::OutOfMemory`].
    pub fn numbers<T: LabelNumber>(&self) -> Result<Vec<T>> {
        if self.total > T::MOST {
            return Err(Error::TooMany {
                what: "components",
                limit: T::MOST,
            });
        }
        self.band.numbers()
    }

    /// The measures of the components that start in the band, in the order of their numbers. They
    /// cover the components in the whole image. `inside` must come from [`LabelPart::take_inside`]
    /// for the band; `None` without statistics.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if `inside` is not of this band; [`Error::OutOfMemory`].
    pub fn components(&self, inside: &[Component]) -> Result<Option<Vec<Component>>> {
        let Some(on_rim) = &self.on_rim else {
            return Ok(None);
        };
        let needed = self.band.count as usize - self.band.nodes.len();
        if inside.len() != needed {
            return Err(Error::LengthMismatch {
                needed,
                given: inside.len(),
            });
        }
        let (mut on_rim, mut inside) = (on_rim.iter(), inside.iter());
        let mut components = Vec::new();
        let starting = self.starting_count() as usize;
        reserve(&mut components, starting, "the components' measures")?;
        for (_, is_on_rim) in self.band.starting() {
            let next = if is_on_rim { &mut on_rim } else { &mut inside };
            components.extend(next.next());
        }
        Ok(Some(components))
    }
}
