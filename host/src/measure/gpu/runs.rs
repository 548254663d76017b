//! The runs of a label image in a GPU's memory, sorted by label.

use trazar_kernels::measure::runs::{RunsBuffers, count_value_runs, list_value_runs};
use trazar_kernels::measure::sorted_runs::{SortedRuns, count_background, find_first_columns};
use trazar_kernels::measure::table::{ColumnSizes, TableShape};
use trazar_kernels::trace::borders::count;
use trazar_kernels::trace::fragments::row_values::RowsOfValues;
use trazar_kernels::trace::values::group_borders;

use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu, Scanner, read_first};
use crate::image::gpu::{DeviceValues, Equality};
use crate::measure::Label;
use crate::trace::gpu::Groups;

/// The runs of a label image in rows or along columns, sorted by label.
pub(crate) struct Sorted<G: Gpu> {
    /// The number of runs.
    pub(super) len: u32,
    pub(super) width: u32,
    pub(super) height: u32,
    runs: RunsBuffers<OnGpu<G>>,
    /// The runs by label.
    pub(super) groups: Groups<G>,
    /// The number of the first labels, which are background: 0 and negative values.
    pub(super) background: u32,
}

impl<G: Gpu> Sorted<G> {
    /// The runs in the rows of an image, and where its neighbours are equal; `None` if there are no
    /// runs.
    pub(super) fn of_rows<L: Label>(
        gpu: &G,
        labels: &DeviceValues<G, L>,
    ) -> Result<Option<(Self, Equality<G>)>> {
        let on = &gpu.launcher();
        let equality = labels.equality(gpu)?;
        let planes = equality.view();
        let words = planes.raster.words();
        let mut before = gpu.alloc(words as usize)?;
        // SAFETY: there is an element per word.
        unsafe { count_value_runs::launch_threads(on, words, planes, before.view_mut())? };
        let Some(mut runs) = room(gpu, &mut before)? else {
            return Ok(None);
        };
        // SAFETY: `before` has been scanned, and there is room for all runs.
        unsafe {
            list_value_runs::launch_threads(on, words, planes, before.view(), runs.views())?;
        }
        Ok(Some((Self::of_runs(gpu, labels, runs)?, equality)))
    }

    /// Sorts the runs of an image, given in the order of their pixels. There is at least one run.
    pub(super) fn of_runs<L: Label>(
        gpu: &G,
        labels: &DeviceValues<G, L>,
        runs: RunsBuffers<OnGpu<G>>,
    ) -> Result<Self> {
        let len = runs.starts.len() as u32;
        let blocks = gpu.resident_blocks(&group_borders::SPEC, 0)?;
        let mut counts = [0; count::COUNT as usize];
        counts[count::BORDERS as usize] = len;
        let mut counters = gpu.upload(&counts)?;
        let width = labels.width();
        let values = gpu.using(labels.values())?;
        let rows = RowsOfValues {
            values: values.view(),
            pitch: labels.pitch(),
        };
        // SAFETY: runs start at pixels of the image, which has been acquired.
        let groups = unsafe {
            let starts = runs.starts.view();
            Groups::of(gpu, (rows, width), starts, &mut counters, blocks)?
        };
        values.finish()?;
        let mut sorted = Self {
            len,
            width,
            height: labels.height(),
            runs,
            groups,
            background: 0,
        };
        // Keys of values up to 0 are at most that of 0.
        sorted.background = sorted.count_up_to(gpu, L::SIGN)?;
        Ok(sorted)
    }

    /// The number of labels that are not background: rows of a table.
    pub(crate) fn rows(&self) -> u32 {
        self.groups.values - self.background
    }

    /// The number of their runs.
    pub(crate) fn runs_of_rows(&self) -> Result<u32> {
        let [begin, end] = self.places_of(self.background, self.groups.values)?;
        Ok(end - begin)
    }

    /// Whether the image's last pixel has a label that is not background. The runs are along
    /// columns.
    pub(crate) fn has_last_pixel(&self) -> Result<bool> {
        let last = self.len as usize - 1;
        let (mut end, mut label) = ([0], [0]);
        self.runs.ends.read_at(last, &mut end)?;
        self.groups.order.groups.read_at(last, &mut label)?;
        Ok(end[0] == self.width * self.height && label[0] >= self.background)
    }

    /// Room for these columns of a table.
    pub(super) fn column_sizes(&self, wanted: u32) -> ColumnSizes {
        ColumnSizes {
            rows: self.rows(),
            wanted,
        }
    }

    /// The shape of a table with these distances between rows and between columns of pixels.
    pub(super) fn shape(&self, spacing: [f64; 2]) -> TableShape {
        TableShape {
            spacing,
            labels: self.rows().into(),
        }
    }

    /// The runs, for kernels to read.
    pub(crate) fn view(&mut self) -> SortedRuns<'_> {
        let order = &self.groups.order;
        SortedRuns {
            runs: self.runs.views(),
            order: order.pairs.values.view(),
            begins: order.begins.view(),
            low: order.low.view(),
            high: order.high.view(),
            groups: order.groups.view(),
            labels: self.groups.values,
            width: self.width,
        }
    }

    /// The number of the first labels whose keys are at most this one.
    fn count_up_to(&mut self, gpu: &G, key: u64) -> Result<u32> {
        let mut count = gpu.alloc(1)?;
        // SAFETY: there is one element.
        unsafe {
            count_background::launch_threads(
                &gpu.launcher(),
                1u32,
                self.view(),
                key,
                count.view_mut(),
            )?;
        }
        read_first(&count)
    }

    /// Where the runs of these labels begin in the order, and where they end: the first label, and
    /// the one after the last.
    pub(super) fn places_of(&self, first: u32, end: u32) -> Result<[u32; 2]> {
        let begins = &self.groups.order.begins;
        let mut places = [[self.len]; 2];
        for (place, label) in places.iter_mut().zip([first, end]) {
            if label < self.groups.values {
                begins.read_at(label as usize, place)?;
            }
        }
        Ok(places.map(|[place]| place))
    }

    /// The first column of each label's box.
    pub(super) fn first_columns(&mut self, gpu: &G) -> Result<G::Buffer<u32>> {
        let mut columns = gpu.alloc(self.groups.values as usize)?;
        columns.fill(u32::MAX)?;
        let (len, runs) = (self.len, self.view());
        // SAFETY: there is an element per label.
        unsafe {
            find_first_columns::launch_threads(&gpu.launcher(), len, runs, columns.view_mut())?;
        }
        Ok(columns)
    }
}

/// Room for runs, given the number that begin in each part of an image, which becomes the number
/// that begin before it. Waits for their number; `None` if there are none.
pub(super) fn room<G: Gpu>(
    gpu: &G,
    counts: &mut G::Buffer<u32>,
) -> Result<Option<RunsBuffers<OnGpu<G>>>> {
    let mut scanner = Scanner::new(gpu, counts.len() as u32)?;
    scanner.scan_in_place(counts)?;
    match read_first(scanner.total())? {
        0 => Ok(None),
        len => Ok(Some(RunsBuffers::alloc(&OnGpu(gpu.clone()), &len)?)),
    }
}
