//! The measures that need sums over each label's pixels only, other than those of higher powers,
//! weighted ones, and those of rounded intensities: summed up by tiles in a table with a slot per
//! label value, and turned into columns on the GPU.

use trazar_kernels::measure::shape_table::{ShapeSizes, ShapeTableBuffers, write_shape_columns};
use trazar_kernels::measure::shapes::Intensities;
use trazar_kernels::measure::sums::wanted as sums;
use trazar_kernels::measure::table::{
    LabelTableBuffers, TableShape, find_labels, most_slots, slots, write_columns,
};

use super::columns::{ColumnBits, ExactColumns, column_of, shape_column_of};
use super::pieces::sums_of;
use super::result::DeviceMeasures;
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu, Scanner, read_first};
use crate::image::gpu::{DeviceValues, no_intensities};
use crate::measure::strip::Needs;
use crate::measure::{Label, MeasureOptions, Property};
use crate::memory::collect;

/// Pixels per slot of the first table that is tried: most labels have more pixels than that.
const USUAL_PIXELS: u64 = 64;

/// What a table must have for some properties.
#[derive(Clone, Copy)]
struct Wanted {
    /// The columns.
    bits: ColumnBits,
    /// The sums for shapes.
    sums: u32,
}

impl Wanted {
    /// What the table must have for these properties. [Tiles give](gives) all of them.
    fn of(properties: &[Property]) -> Self {
        // The other properties need no more than a table has without sums for shapes.
        let of_shapes = |property: &Property| shape_column_of(*property).is_some();
        let needs = Needs::of(properties.iter().copied().filter(of_shapes));
        let mut wanted = sums_of(needs);
        if needs.deviations {
            wanted |= sums::SQUARES;
        }
        Self {
            bits: ColumnBits::of(properties),
            sums: wanted,
        }
    }
}

/// Whether tiles give this property of an image of this size with these intensities.
pub(super) fn gives(
    property: Property,
    size: [u32; 2],
    intensities: Option<Intensities<'_>>,
) -> bool {
    if column_of(property).is_some() {
        return true;
    }
    // Squares of numbers of 32 bits need more than 64 bits.
    let are_summed = |intensities: Intensities<'_>| {
        property != Property::IntensityStd || intensities.words.is_empty()
    };
    shape_column_of(property).is_some()
        && shapes_fit(size)
        && (!property.needs_intensities() || intensities.is_some_and(are_summed))
}

/// Whether all of these properties follow from areas and boxes.
pub(super) fn follow_from_boxes(properties: &[Property]) -> bool {
    Needs::of(properties.iter().copied()) == Needs::default()
}

/// Whether the sums for shapes of an image of this size fit their numbers of bits.
fn shapes_fit([width, height]: [u32; 2]) -> bool {
    let pixels = u64::from(width) * u64::from(height);
    let longer = u64::from(width.max(height));
    pixels < 1 << 31
        && longer
            .checked_mul(longer)
            .and_then(|square| square.checked_mul(pixels))
            .is_some()
}

/// The sums of an image's labels.
struct Tables<G: Gpu> {
    labels: LabelTableBuffers<OnGpu<G>>,
    shapes: ShapeTableBuffers<OnGpu<G>>,
}

impl<G: Gpu> Tables<G> {
    /// The number of labels before each slot, and their number in all. Background is left out.
    fn find_labels(&mut self, gpu: &G, background: &[impl Label]) -> Result<(G::Buffer<u32>, u32)> {
        let background = background.iter();
        let background = background.map(|value| value.number().cast_unsigned());
        let background = collect(
            background.filter(|&value| value > 0),
            "the values of background",
        )?;
        let background = gpu.upload(&background)?;
        let slots = self.labels.areas.len() as u32;
        let mut before = gpu.alloc(slots as usize)?;
        // SAFETY: there is an element per slot.
        unsafe {
            find_labels::launch_threads(
                &gpu.launcher(),
                slots,
                self.labels.views(),
                background.view(),
                before.view_mut(),
            )?;
        }
        let mut scanner = Scanner::new(gpu, slots)?;
        scanner.scan_in_place(&mut before)?;
        let rows = read_first(scanner.total())?;
        Ok((before, rows))
    }

    /// The wanted columns of `rows` labels. `before` has the number of labels before each slot;
    /// `sign` is the bit of the intensities' sign, or 0.
    fn write_columns(
        &mut self,
        gpu: &G,
        before: &G::Buffer<u32>,
        rows: u32,
        sign: u32,
        wanted: Wanted,
        options: &MeasureOptions,
    ) -> Result<ExactColumns<G>> {
        let bits = wanted.bits;
        let mut all = ExactColumns::alloc(gpu, rows, bits)?;
        let slots = self.labels.areas.len() as u32;
        let shape = TableShape {
            spacing: options.spacing,
            labels: rows.into(),
        };
        let on = &gpu.launcher();
        // SAFETY: `before` and `rows` are the numbers of this table's labels, and each wanted
        // column has an element for each, as the table has the sums that they follow from.
        unsafe {
            if bits.columns != 0 {
                write_columns::launch_threads(
                    on,
                    slots,
                    self.labels.views(),
                    before.view(),
                    shape,
                    bits.columns,
                    all.columns.views(),
                )?;
            }
            if bits.shape_columns != 0 {
                write_shape_columns::launch_threads(
                    on,
                    slots,
                    self.labels.views(),
                    self.shapes.views(),
                    before.view(),
                    shape,
                    wanted.sums,
                    sign,
                    bits.shape_columns,
                    all.shapes.views(),
                )?;
            }
        }
        Ok(all)
    }
}

/// What sums are made of.
struct Summed<'a, G: Gpu, L: Label> {
    labels: &'a DeviceValues<G, L>,
    intensities: Intensities<'a>,
    /// The sums for shapes.
    bits: u32,
}

impl<G: Gpu, L: Label> Summed<'_, G, L> {
    /// The sums of all labels; `None` if a label has no slot in the [largest table](most_slots).
    fn sum_up_all(&self, gpu: &G) -> Result<Option<Tables<G>>> {
        let pixels = u64::from(self.labels.width()) * u64::from(self.labels.height());
        let tables = self.sum_up(gpu, slots(pixels, USUAL_PIXELS))?;
        let mut beyond = [0];
        tables.labels.beyond.read(&mut beyond)?;
        match beyond[0] {
            0 => Ok(Some(tables)),
            greatest if greatest > most_slots(pixels).into() => Ok(None),
            greatest => {
                drop(tables);
                self.sum_up(gpu, greatest as u32).map(Some)
            }
        }
    }

    /// Queues the sums of all labels up to this number.
    fn sum_up(&self, gpu: &G, slots: u32) -> Result<Tables<G>> {
        let memory = &OnGpu(gpu.clone());
        let sizes = ShapeSizes {
            slots,
            wanted: self.bits,
        };
        let mut tables = Tables {
            labels: LabelTableBuffers::alloc(memory, &slots)?,
            shapes: ShapeTableBuffers::alloc(memory, &sizes)?,
        };
        if self.bits == 0 {
            self.labels.sum_tiles(gpu, &mut tables.labels)?;
        } else {
            let both = (&mut tables.labels, &mut tables.shapes);
            self.labels
                .sum_shapes(gpu, self.intensities, self.bits, both)?;
        }
        Ok(tables)
    }
}

/// The measures; `None` if a label has no slot in the [largest table](most_slots). The options have
/// been checked, and [tiles give](gives) all of their properties. Pixels whose intensities are
/// summed up have been acquired.
pub(super) fn measure<G: Gpu, L: Label>(
    gpu: &G,
    labels: &DeviceValues<G, L>,
    intensities: Option<Intensities<'_>>,
    options: &MeasureOptions,
) -> Result<Option<DeviceMeasures<G>>> {
    let wanted = Wanted::of(options.properties.as_slice());
    let intensities = intensities.unwrap_or_else(no_intensities);
    let summed = Summed {
        labels,
        intensities,
        bits: wanted.sums,
    };
    let Some(mut tables) = summed.sum_up_all(gpu)? else {
        return Ok(None);
    };
    let (before, rows) = tables.find_labels(gpu, labels.background_values())?;
    let all = tables.write_columns(gpu, &before, rows, intensities.sign, wanted, options)?;
    let properties = options.properties.as_slice();
    Ok(Some(all.table(rows as usize, properties)))
}
