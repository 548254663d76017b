//! Labels by parts: an image in bands of rows that are labelled separately, and joined.
//!
//! No step holds more of the image than a band.
//! [`Engine::label_bands`](crate::Engine::label_bands) labels an image that is larger than the
//! memory, in two passes ([`BandLabels`]).

mod band_pixels;
mod bands;
mod bytes;
mod first_pass;
mod numbers;
mod plan;
mod relabel;
mod rim;
mod table;
#[cfg(test)]
mod tests;
mod values;
mod workers;

use std::ops::Range;

pub use band_pixels::BandPixels;
pub use bands::{BandLabels, BandSource, LabelBand};
pub use bytes::{components_from_bytes, components_to_bytes};
pub use numbers::BandNumbers;
pub(super) use rim::RimRow;
use rim::{Rim, RimRuns};
pub(crate) use table::is_wide;
pub use table::{LabelNumber, LabelTable};
pub(crate) use workers::{Workers, workers_on};

use super::cpu::{Meter, Numbered, Tally};
use super::{Component, ComponentOptions, Connectivity};
use crate::error::{Error, Result};
use crate::image::{BinaryImage, Key, MAX_SIDE};
use crate::memory::{collect, reserve, zeroed_vec};
use crate::progress::Progress;

/// Some consecutive rows of an image, labelled.
///
/// It is the information that joining needs: the **rim**, which is the runs of the first and last
/// row with their components; and which components of the bands belong together.
/// [`label`](Self::label) makes one from a band, and [`label_values`](Self::label_values) one from
/// a band of values. [`join`](Self::join) joins two adjacent ones, and is associative: joining in
/// any order gives the same part. [`finish`](Self::finish) numbers the components of all rows as
/// [`Engine::label`](crate::Engine::label) or
/// [`Engine::label_values`](crate::Engine::label_values) numbers those of the whole image, and maps
/// each band's own numbers to these ([`LabelTable`]).
///
/// ```
/// use trazar::BinaryImage;
/// use trazar::label::{ComponentOptions, LabelPart};
///
/// // The two legs are two components of the first band, and one of the image.
/// let upper = BinaryImage::from_art("#.#.#\n#.#..")?;
/// let lower = BinaryImage::from_art("###..\n....#")?;
/// let options = ComponentOptions::default();
/// let above = LabelPart::label(&upper, 0, &options)?;
/// let below = LabelPart::label(&lower, 2, &options)?;
/// let table = LabelPart::join(above, below)?.finish()?;
/// assert_eq!(table.count(), 3);
/// // By the numbers that each band has for itself; 0 is background.
/// assert_eq!(table.numbers::<u32>(0)?, [0, 1, 1, 2]);
/// assert_eq!(table.numbers::<u32>(2)?, [0, 1, 3]);
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// Memory: per component on the first or last row of each of its bands, 8 bytes and, with
/// statistics, 64 more; the bits of two rows; with statistics, 40 bytes per other component.
#[derive(Clone, Debug)]
pub struct LabelPart {
    width: u32,
    rows: Range<u32>,
    connectivity: Connectivity,
    statistics: bool,
    /// The [type](crate::image::Key::TYPE) of values; `None` for bits.
    values: Option<u8>,
    bands: Vec<Band>,
    nodes: Nodes,
    top: Rim,
    bottom: Rim,
}

/// A band that was labelled.
#[derive(Clone, Debug)]
struct Band {
    rows: Range<u32>,
    /// The number of its own components.
    count: u32,
    /// The number of its nodes.
    nodes: u32,
    /// The measures of the components that are not nodes, in their order.
    inside: Vec<Component>,
}

/// The components on the bands' first and last rows: band by band, and within a band in the order
/// of their numbers. So a node's index is the rank of its first pixel in raster order.
#[derive(Clone, Debug, Default)]
struct Nodes {
    /// Each component's number in its band.
    number: Vec<u32>,
    /// A union-find forest. A parent's index is at most the node's own, and a root's parent is
    /// itself: the root of a component is the node of its first pixel.
    parent: Vec<u32>,
    /// With statistics, for roots: the tally of the component's joined nodes.
    tally: Vec<Tally<u128>>,
}

/// The image's rows in a band of `height` rows that begins with row `first_row` of the image.
///
/// # Errors
/// [`Error::ImageTooLarge`] if one lies below the last row that an image can have.
pub(in crate::label) fn rows_in_image(
    width: u32,
    first_row: u32,
    height: u32,
) -> Result<Range<u32>> {
    let end = first_row.checked_add(height).filter(|&end| end <= MAX_SIDE);
    let end = end.ok_or(Error::ImageTooLarge {
        width: width.into(),
        height: u64::from(first_row) + u64::from(height),
        limit: "a side is at most 2147483646 pixels",
    })?;
    Ok(first_row..end)
}

/// A band's part, without measures of the components that are not nodes; and, with statistics, the
/// measures of all its components. For these, `labels` needs one element per pixel.
fn part_of(
    band: &BinaryImage,
    first_row: u32,
    options: &ComponentOptions,
    labels: &mut [u32],
    progress: &Progress<'_>,
) -> Result<(LabelPart, Vec<Component>)> {
    crate::threads::ensure();
    let (width, height) = (band.width(), band.height());
    let rows = rows_in_image(width, first_row, height)?;
    let meter = Meter::new(band, progress);
    let of_pixels = options.statistics.then(|| Numbered::rows(band, labels));
    let mut of_pixels = of_pixels.transpose()?;
    let kept = of_pixels.as_deref_mut();
    let mut numbered = Numbered::of(band, options.connectivity, kept, &meter)?;
    let rim = |y: u32, numbers: Vec<u32>| -> Result<RimRow> {
        Ok(RimRow {
            runs: RimRuns::Bits(collect(band.row(y).iter().copied(), RIMS)?),
            numbers,
        })
    };
    let top = rim(0, numbered.first_row()?)?;
    let bottom = rim(height - 1, numbered.last_row()?)?;
    let mut part = LabelPart::of_band(width, rows, options, numbered.count, top, bottom)?;
    let mut measures = Vec::new();
    if let Some(mut rows) = of_pixels {
        numbered.fill(&mut rows, |number| number, &meter)?;
        let number = &part.nodes.number;
        (measures, part.nodes.tally) = numbered.measure_part(first_row, labels, number)?;
    }
    Ok((part, measures))
}

/// Name used in out-of-memory errors.
pub(super) const RIMS: &str = "the components on the bands' rims";

impl LabelPart {
    /// Labels a band of an image, whose first row is the image's row `first_row`, on all cores.
    ///
    /// The band's own numbers, which [`LabelTable`] maps to the final ones, are those of
    /// [`Engine::label`](crate::Engine::label) for the band alone.
    ///
    /// Takes about half the time of labelling the band; with statistics, all of it.
    /// [`Engine::label_part`](crate::Engine::label_part) does the same on any device.
    ///
    /// # Errors
    /// [`Error::ImageTooLarge`] if a row of the band lies below the last row that an image can
    /// have; [`Error::TooMany`] and [`Error::OutOfMemory`] as
    /// [`Engine::label`](crate::Engine::label).
    pub fn label(band: &BinaryImage, first_row: u32, options: &ComponentOptions) -> Result<Self> {
        let mut labels = match options.statistics {
            true => zeroed_vec(band.pixel_count() as usize, "labels")?,
            false => Vec::new(),
        };
        let progress = Progress::SILENT;
        let (mut part, measures) = part_of(band, first_row, options, &mut labels, &progress)?;
        if options.statistics {
            part.set_inside(measures);
        }
        Ok(part)
    }

    /// The part of a band with `count` components, without their measures.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(super) fn of_band(
        width: u32,
        rows: Range<u32>,
        options: &ComponentOptions,
        count: u32,
        top: RimRow,
        bottom: RimRow,
    ) -> Result<Self> {
        let mut number = Vec::new();
        reserve(&mut number, top.numbers.len() + bottom.numbers.len(), RIMS)?;
        number.extend(top.numbers.iter().chain(&bottom.numbers));
        number.sort_unstable();
        number.dedup();
        let nodes = number.len() as u32;
        let (top, bottom) = (top.with_nodes(&number)?, bottom.with_nodes(&number)?);
        Ok(Self {
            width,
            rows: rows.clone(),
            connectivity: options.connectivity,
            statistics: options.statistics,
            values: None,
            bands: vec![Band {
                rows,
                count,
                nodes,
                inside: Vec::new(),
            }],
            nodes: Nodes {
                number,
                parent: collect(0..nodes, RIMS)?,
                tally: Vec::new(),
            },
            top,
            bottom,
        })
    }

    /// Sets the tallies of the nodes of a one-band part; element `i` of `all` is that of the band's
    /// component `i + 1`.
    pub(super) fn set_tallies(&mut self, all: &[Tally<u64>]) {
        let number = &self.nodes.number;
        let tallies = number.iter().map(|&own| all[own as usize - 1].widened());
        self.nodes.tally = tallies.collect();
    }

    /// Keeps the measures of the components that are not nodes, from those of all components of a
    /// one-band part.
    pub(super) fn set_inside(&mut self, mut measures: Vec<Component>) {
        let mut nodes = self.nodes.number.iter().peekable();
        let mut number = 0;
        measures.retain(|_| {
            number += 1;
            nodes.next_if(|&&node| node == number).is_none()
        });
        measures.shrink_to_fit();
        self.bands[0].inside = measures;
    }

    /// Width in pixels.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The part's rows of the image.
    pub fn rows(&self) -> Range<u32> {
        self.rows.clone()
    }

    /// The number of its first band's own components.
    fn count(&self) -> u32 {
        self.bands.first().map_or(0, |band| band.count)
    }

    /// Joins two parts of an image; `lower` must start in the row below `upper`.
    ///
    /// Takes time in proportion to the components on the rims of `lower`'s bands, and to the runs
    /// along the seam.
    ///
    /// # Errors
    /// [`Error::PartsNotAdjacent`]; [`Error::PartsDiffer`] if the parts differ in width, in
    /// connectivity, in having statistics, or in the type of their pixels, and so are not of one
    /// image labelled alike; [`Error::TooMany`] for 2³² components on the bands' rims;
    /// [`Error::OutOfMemory`].
    pub fn join(mut upper: Self, lower: Self) -> Result<Self> {
        let differ = |what, upper: String, lower: String| Error::PartsDiffer { what, upper, lower };
        if upper.width != lower.width {
            let (upper, lower) = (upper.width.to_string(), lower.width.to_string());
            return Err(differ("width", upper, lower));
        }
        if upper.connectivity != lower.connectivity {
            let name = |part: &Self| format!("{:?}", part.connectivity);
            return Err(differ("connectivity", name(&upper), name(&lower)));
        }
        if upper.statistics != lower.statistics {
            let given = |part: &Self| if part.statistics { "given" } else { "missing" }.to_owned();
            return Err(differ("statistics", given(&upper), given(&lower)));
        }
        if upper.values != lower.values {
            let name = |part: &Self| pixels_name(part.values).to_owned();
            return Err(differ("pixels", name(&upper), name(&lower)));
        }
        if upper.rows.end != lower.rows.start {
            return Err(Error::PartsNotAdjacent {
                upper_end: upper.rows.end,
                lower_start: lower.rows.start,
            });
        }
        let shift = upper.nodes.append(lower.nodes)?;
        let moved = |rim: &mut Rim| rim.nodes.iter_mut().for_each(|node| *node += shift);
        let (mut top, mut bottom) = (lower.top, lower.bottom);
        moved(&mut top);
        moved(&mut bottom);
        let nodes = &mut upper.nodes;
        let join = |above, below| nodes.join_two(above, below);
        upper.bottom.touching(&top, upper.connectivity, join);
        reserve(&mut upper.bands, lower.bands.len(), "bands")?;
        upper.bands.extend(lower.bands);
        upper.bottom = bottom;
        upper.rows.end = lower.rows.end;
        Ok(upper)
    }

    /// Numbers the components, as for an image of exactly these rows: 1, 2, … in raster order of
    /// their first pixels.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn finish(self) -> Result<LabelTable> {
        LabelTable::of(self)
    }
}

/// The name of a type of pixels.
fn pixels_name(values: Option<u8>) -> &'static str {
    macro_rules! names {
        ($($value:ty)*) => {
            match values {
                None => "bits",
                $(Some(<$value as Key>::TYPE) => stringify!($value),)*
                Some(_) => "values",
            }
        };
    }
    names!(u8 u16 u32 i16 i32 i64 f32)
}

impl Nodes {
    /// Appends the nodes of a lower part, and returns the offset added to their indices.
    fn append(&mut self, lower: Self) -> Result<u32> {
        let shift = self.parent.len();
        if shift + lower.parent.len() > u32::MAX as usize {
            return Err(Error::TooMany {
                what: RIMS,
                limit: u32::MAX.into(),
            });
        }
        let shift = shift as u32;
        reserve(&mut self.number, lower.number.len(), RIMS)?;
        reserve(&mut self.parent, lower.parent.len(), RIMS)?;
        reserve(&mut self.tally, lower.tally.len(), RIMS)?;
        self.number.extend(lower.number);
        self.parent
            .extend(lower.parent.iter().map(|parent| parent + shift));
        self.tally.extend(lower.tally);
        Ok(shift)
    }

    fn join_two(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return;
        }
        let (first, second) = (a.min(b), a.max(b));
        self.parent[second as usize] = first;
        if let Some(&tally) = self.tally.get(second as usize) {
            self.tally[first as usize].add(&tally);
        }
    }

    fn find(&mut self, mut node: u32) -> u32 {
        loop {
            let parent = self.parent[node as usize];
            if parent == node {
                return node;
            }
            // Halve the path.
            let grandparent = self.parent[parent as usize];
            self.parent[node as usize] = grandparent;
            node = grandparent;
        }
    }
}
