//! Measures of the labels of an image: areas, boxes, moments, perimeters, hulls, intensities.
//!
//! [`Engine::measure`](crate::Engine::measure) reads a label image once and returns a table, whose
//! numbers are those of scikit-image's `regionprops_table`. The time depends on the numbers of
//! pixels, runs and border pixels, not on the number of labels or their values.
//!
//! A label is a positive value of the image. All of its pixels are one object, connected or not. 0
//! and negative values are background.
//!
//! # Exactness
//! Numbers of pixels, boxes, Euler numbers, areas of hulls and of filled objects are exact. So are
//! the sums behind centroids, axes, orientations, and means and deviations of integers; each result
//! is rounded a few times. Sums of higher moments are exact below 2⁵³. The image is summed up in
//! strips of rows whose size depends on the image alone, and strips are joined in their order, so
//! results are the same, bit for bit, on any number of threads.
//!
//! # Files
//!
//! | what | file |
//! |---|---|
//! | labels and intensities of any type, in rows | `labels.rs`, `intensities.rs`, `rows.rs` |
//! | one pass over a strip: its runs, and where neighbours are equal | `strip.rs`, `planes.rs` |
//! | from a label to its place among the sums | `slots.rs` |
//! | what is summed up, and how the sums of strips are joined | `sums.rs` |
//! | what can be measured, and which sums that needs | `properties.rs` |
//! | runs sorted by label, for hulls and holes | `spans.rs` |
//! | the numbers of one label, from its sums | `object.rs`, `hull.rs`, `fill.rs` |
//! | the table | `table.rs` |
//! | bands of an image, joined later; as bytes | `part.rs`, `part_bytes.rs` |
//! | on a GPU, by tiles: sums and columns | `gpu/tiles.rs` |
//! | on a GPU, runs sorted by label | `gpu/runs.rs` |
//! | on a GPU, from these: exact sums, and their columns | `gpu/pieces.rs` |
//! | on a GPU, from these: rounded sums, and their columns | `gpu/portions.rs` |
//! | on a GPU, from both: moments | `gpu/moments.rs` |
//! | on a GPU, from sorted runs: hulls and holes, and their columns | `gpu/hulls.rs` |
//! | on a GPU, the columns of properties | `gpu/columns.rs` |
//! | intensities in a GPU's memory | `gpu/intensities.rs` |
//! | the table in a GPU's memory | `gpu/result.rs` |
//! | for COCO's run lengths: runs along columns | `column_runs.rs`, `gpu/column_runs.rs` |
//!
//! What the kernels of `trazar_kernels::measure` and the processor both compute is there: outlines
//! and Euler numbers (`neighbours.rs`), their lengths (`lengths.rs`), ellipses (`ellipse.rs`),
//! moments (`moments.rs`), hulls (`convex.rs`).

mod column_runs;
mod fill;
mod gpu;
mod hull;
mod intensities;
mod labels;
mod object;
mod part;
mod part_bytes;
#[cfg(test)]
mod part_tests;
mod planes;
mod properties;
mod rows;
mod slots;
mod spans;
mod strip;
mod sums;
mod table;
#[cfg(test)]
mod tests;

use std::ops::Range;

use bytemuck::Zeroable;
use rayon::prelude::*;

pub(crate) use column_runs::column_runs;
pub use gpu::{
    DeviceColumn, DeviceColumnValues, DeviceIntensities, DeviceMeasurer, DeviceMeasures,
};
pub(crate) use gpu::{Sorted, measure_host};
pub(crate) use intensities::AnyIntensities;
pub use intensities::Intensity;
pub use labels::Label;
pub use part::{MARGIN, MeasurePart};
pub use properties::Property;
pub use table::{Column, Measures, Values};

use crate::error::{Error, OptionProblem, Result};
use crate::image::{Samples, check_size};
use crate::memory::{advise_large_pages, collect, filled_vec, par_collect, with_room, zeroed_vec};
use crate::options::setters;
use crate::progress::Progress;
use fill::Filler;
use hull::Hull;
use intensities::{IntensityImage, Kind};
use labels::LabelImage;
use object::{Object, Shape};
use slots::Slots;
use spans::Chunks;
use strip::{Needs, Sums, Work, sum_up};
use sums::Span;

/// What [`Engine::measure`](crate::Engine::measure) computes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MeasureOptions {
    /// The properties, in the order of the table's columns; by default the label and its box. Only
    /// what these need is computed. A property that is named twice has its columns once.
    pub properties: Properties,
    /// The distances between rows and between columns; 1 by default.
    pub spacing: [f64; 2],
}

impl Default for MeasureOptions {
    fn default() -> Self {
        Self {
            properties: [Property::Label, Property::Bbox].into(),
            spacing: [1.0; 2],
        }
    }
}

setters! { MeasureOptions {
    properties: impl Into<Properties>,
    spacing: [f64; 2],
}}

/// A set of properties, in the order of a table's columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties(Vec<Property>);

impl Properties {
    /// The properties, each once.
    pub fn as_slice(&self) -> &[Property] {
        &self.0
    }

    /// All properties, with those of intensities or without.
    pub fn all(with_intensities: bool) -> Self {
        let all = Property::ALL.iter().copied();
        all.filter(|property| with_intensities || !property.needs_intensities())
            .collect()
    }
}

impl FromIterator<Property> for Properties {
    fn from_iter<I: IntoIterator<Item = Property>>(properties: I) -> Self {
        let mut list = Vec::new();
        for property in properties {
            if !list.contains(&property) {
                list.push(property);
            }
        }
        Self(list)
    }
}

impl<const N: usize> From<[Property; N]> for Properties {
    fn from(properties: [Property; N]) -> Self {
        properties.into_iter().collect()
    }
}

impl From<&[Property]> for Properties {
    fn from(properties: &[Property]) -> Self {
        properties.iter().copied().collect()
    }
}

impl From<Vec<Property>> for Properties {
    fn from(properties: Vec<Property>) -> Self {
        properties.into_iter().collect()
    }
}

/// Measures the labels of an image.
pub(crate) fn measure<L: Label>(
    labels: Samples<'_, L>,
    options: &MeasureOptions,
    progress: &Progress<'_>,
) -> Result<Measures> {
    let rows = rows_per_strip(labels.width());
    measure_images(&labels, None, options, rows, progress)
}

/// Measures the labels of an image, with the intensities of another one.
pub(crate) fn measure_intensities<L: Label, I: Intensity>(
    labels: Samples<'_, L>,
    intensities: Samples<'_, I>,
    options: &MeasureOptions,
    progress: &Progress<'_>,
) -> Result<Measures> {
    let rows = rows_per_strip(labels.width());
    measure_images(&labels, Some(&intensities), options, rows, progress)
}

/// Measures in strips of this number of rows.
fn measure_images(
    labels: &dyn LabelImage,
    intensities: Option<&dyn IntensityImage>,
    options: &MeasureOptions,
    rows: usize,
    progress: &Progress<'_>,
) -> Result<Measures> {
    let needs = check_images(labels, intensities, options)?;
    let work = Work {
        labels,
        intensities: intensities.filter(|_| needs.intensities || needs.weighted),
        needs,
    };
    let all = 0..labels.height();
    let sums = sum_up_rows(work, all, rows, progress)?;
    let kind = intensities.map(IntensityImage::kind).unwrap_or_default();
    let table = table_of(&sums, &shapes_of(&sums, options)?, options, kind)?;
    progress.report(1, 1)?;
    Ok(table)
}

/// The table of labels with these sums and shapes; none if no property needs shapes.
fn table_of(
    sums: &Sums,
    shapes: &[Shape],
    options: &MeasureOptions,
    kind: Kind,
) -> Result<Measures> {
    let order = order_of(sums)?;
    let object = |slot: u32| Object {
        sums,
        slot: slot as usize,
        shape: shapes.get(slot as usize).copied().unwrap_or_default(),
        spacing: options.spacing,
        kind,
    };
    let mut columns = Vec::new();
    for &property in options.properties.as_slice() {
        add_columns(property, &order, &object, &mut columns)?;
    }
    Ok(Measures {
        len: order.len(),
        columns,
    })
}

/// As [`check`], of images.
fn check_images(
    labels: &dyn LabelImage,
    intensities: Option<&dyn IntensityImage>,
    options: &MeasureOptions,
) -> Result<Needs> {
    let size = [labels.width(), labels.height()];
    let intensity_size = intensities.map(|image| [image.width(), image.height()]);
    check(size, intensity_size, options)
}

/// Refuses options that don't fit images of these sizes, and says which sums they need.
fn check(
    [width, height]: [usize; 2],
    intensities: Option<[usize; 2]>,
    options: &MeasureOptions,
) -> Result<Needs> {
    check_size(width as u64, height as u64)?;
    if let Some(size) = intensities
        && size != [width, height]
    {
        return Err(Error::option(
            "intensities",
            OptionProblem::Conflict,
            format!(
                "intensities of {} × {} pixels do not fit labels of {width} × {height}: they must \
                 have the same size",
                size[0], size[1]
            ),
        ));
    }
    check_options(options, intensities.is_some())
}

/// Refuses options that contradict each other, and says which sums they need.
fn check_options(options: &MeasureOptions, with_intensities: bool) -> Result<Needs> {
    let [rows, columns] = options.spacing;
    if !options
        .spacing
        .iter()
        .all(|side| side.is_finite() && *side > 0.0)
    {
        return Err(Error::option(
            "spacing",
            OptionProblem::OutOfRange,
            format!("a spacing of {rows} and {columns}: both must be greater than 0, and finite"),
        ));
    }
    let properties = options.properties.as_slice();
    for &property in properties {
        if !with_intensities && property.needs_intensities() {
            return Err(Error::option(
                "properties",
                OptionProblem::Missing,
                format!("{property} needs an intensity image"),
            ));
        }
        property.check_spacing(options.spacing)?;
    }
    Ok(Needs::of(properties.iter().copied()))
}

/// The rows of a strip: some 2¹⁹ pixels, and not too few rows, since labels at the seam of two
/// strips are joined.
fn rows_per_strip(width: usize) -> usize {
    (1usize << 19).div_ceil(width.max(1)).max(32)
}

/// Labels below this index a table, in an image of this number of pixels.
fn slots_limit(pixels: usize) -> usize {
    pixels.min(1 << 30)
}

/// Sums up some rows of the image in strips of `rows` rows, on all threads.
fn sum_up_rows(
    work: Work<'_>,
    all_rows: Range<usize>,
    rows: usize,
    progress: &Progress<'_>,
) -> Result<Sums> {
    let (width, height) = (work.labels.width(), all_rows.len());
    let strips = height.div_ceil(rows);
    let new_slots = || Slots::new(slots_limit(width.saturating_mul(rows)));
    let strip = |strip: usize, slots: &mut Slots| {
        let first = all_rows.start + strip * rows;
        sum_up(work, first, (first + rows).min(all_rows.end), slots)
    };
    let mut all = Sums::default();
    let mut slots = Slots::new(slots_limit(width.saturating_mul(height)));
    if strips > 1 {
        crate::threads::ensure();
    }
    let threads = rayon::current_num_threads();
    if strips == 1 {
        return strip(0, &mut slots);
    }
    if threads == 1 {
        let mut own = new_slots();
        for index in 0..strips {
            all.join(&strip(index, &mut own)?, &mut slots, work.needs)?;
            progress.report(index as u64 + 1, strips as u64 + 1)?;
        }
        return Ok(all);
    }
    // Some strips at a time, so that the sums of all strips are not in memory together.
    let at_once = 4 * threads;
    for first in (0..strips).step_by(at_once) {
        let end = (first + at_once).min(strips);
        let done = (first..end)
            .into_par_iter()
            .map_init(new_slots, |slots, index| strip(index, slots));
        for sums in par_collect(done, "strips")? {
            all.join(&sums?, &mut slots, work.needs)?;
        }
        progress.report(end as u64, strips as u64 + 1)?;
    }
    Ok(all)
}

/// Rows of a table that a thread fills at a time.
const TABLE_SHARE: usize = 2048;

/// The slots in the order of their labels.
fn order_of(sums: &Sums) -> Result<Vec<u32>> {
    let mut order = collect(0..sums.bases.len() as u32, "the order of labels")?;
    let label = |&slot: &u32| sums.bases[slot as usize].label;
    if order.len() <= TABLE_SHARE {
        order.sort_unstable_by_key(label);
    } else if !order.is_sorted_by_key(label) {
        // Labels that are numbered in raster order are in order already.
        crate::threads::ensure();
        order.par_sort_unstable_by_key(label);
    }
    Ok(order)
}

/// What the runs of each object give, if it is wanted.
fn shapes_of(sums: &Sums, options: &MeasureOptions) -> Result<Vec<Shape>> {
    let wanted = |properties: &[Property]| {
        let mut all = options.properties.as_slice().iter();
        all.any(|property| properties.contains(property))
    };
    let with_diameter = wanted(&[Property::FeretDiameterMax]);
    let with_hull = with_diameter || wanted(&[Property::AreaConvex, Property::Solidity]);
    let with_holes = wanted(&[Property::AreaFilled]);
    if !with_hull && !with_holes {
        return Ok(Vec::new());
    }
    let shape = |(hull, filler): &mut (Hull, Filler), spans: &[Span]| -> Result<Shape> {
        let mut shape = Shape::default();
        if with_hull {
            hull.find(spans)?;
            shape.convex = hull.area();
        }
        if with_diameter {
            shape.diameter = hull.diameter(options.spacing)?;
        }
        if with_holes {
            shape.holes = filler.holes(spans)?;
        }
        Ok(shape)
    };
    /// Labels whose shapes a thread finds at a time.
    const SHARE: usize = 256;
    let count = sums.bases.len();
    let chunks = Chunks::of(&sums.spans)?;
    let mut shapes = filled_vec(Shape::default(), count, "the shapes of labels")?;
    if count <= SHARE {
        let sorted = chunks.sort(0..count as u32)?;
        let mut memory = Default::default();
        for (slot, place) in shapes.iter_mut().enumerate() {
            *place = shape(&mut memory, sorted.runs(slot))?;
        }
        return Ok(shapes);
    }
    crate::threads::ensure();
    let threads = rayon::current_num_threads();
    let share = chunks.share(count, if threads > 1 { 4 * threads } else { 1 });
    let shares = shapes.par_chunks_mut(share).enumerate();
    shares.try_for_each(|(index, shapes)| {
        let first = index * share;
        let sorted = chunks.sort(first as u32..(first + shapes.len()) as u32)?;
        shapes.par_chunks_mut(SHARE).enumerate().try_for_each_init(
            Default::default,
            |memory, (index, places)| {
                for (slot, place) in (index * SHARE..).zip(places) {
                    *place = shape(memory, sorted.runs(slot))?;
                }
                Ok::<(), Error>(())
            },
        )
    })?;
    Ok(shapes)
}

/// The most columns of a property: moments up to the third order in each coordinate.
const MAX_COLUMNS: usize = 16;

/// Adds the columns of a property, with a value for each slot of `order`.
fn add_columns<'a>(
    property: Property,
    order: &[u32],
    object: &(impl Fn(u32) -> Object<'a> + Sync),
    columns: &mut Vec<Column>,
) -> Result<()> {
    let names = property.columns();
    let values: Vec<Values> = if property.is_integer() {
        let columns = fill_columns(order, names.len(), |slot, values| {
            object(slot).integers(property, values);
        })?;
        columns.into_iter().map(Values::Integers).collect()
    } else {
        let columns = fill_columns(order, names.len(), |slot, values| {
            object(slot).floats(property, values);
        })?;
        columns.into_iter().map(Values::Floats).collect()
    };
    columns.extend(names.into_iter().zip(values).map(|(name, values)| Column {
        property,
        name,
        values,
    }));
    Ok(())
}

/// `count` columns with an element for each slot of `order`: `value` writes those of a slot.
fn fill_columns<T: Copy + Default + Zeroable + Send>(
    order: &[u32],
    count: usize,
    value: impl Fn(u32, &mut [T]) + Sync,
) -> Result<Vec<Vec<T>>> {
    const WHAT: &str = "a table of measures";
    let mut columns = Vec::new();
    for _ in 0..count {
        let mut column = zeroed_vec(order.len(), WHAT)?;
        advise_large_pages(&mut column);
        columns.push(column);
    }
    let fill = |slots: &[u32], mut places: Vec<&mut [T]>| {
        let mut values = [T::default(); MAX_COLUMNS];
        for (row, &slot) in slots.iter().enumerate() {
            value(slot, &mut values[..count]);
            for (column, value) in places.iter_mut().zip(values) {
                column[row] = value;
            }
        }
    };
    if order.len() <= TABLE_SHARE {
        fill(order, columns.iter_mut().map(Vec::as_mut_slice).collect());
        return Ok(columns);
    }
    crate::threads::ensure();
    let mut shares = with_room(order.len().div_ceil(TABLE_SHARE), WHAT)?;
    let mut rest: Vec<_> = columns
        .iter_mut()
        .map(|column| column.chunks_mut(TABLE_SHARE))
        .collect();
    for slots in order.chunks(TABLE_SHARE) {
        let places: Vec<_> = rest.iter_mut().filter_map(Iterator::next).collect();
        shares.push((slots, places));
    }
    shares
        .into_par_iter()
        .for_each(|(slots, places)| fill(slots, places));
    Ok(columns)
}
