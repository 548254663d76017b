//! The runs of a label image in a GPU's memory, sorted by label.

use trazar_kernels::image::equality::EqualityPlanes;
use trazar_kernels::measure::runs::{RunsBuffers, count_value_runs, list_value_runs};
use trazar_kernels::measure::sorted_runs::{SortedRuns, count_background, find_first_columns};
use trazar_kernels::measure::table::TableShape;
use trazar_kernels::trace::borders::count;
use trazar_kernels::trace::fragments::row_values::RowsOfValues;
use trazar_kernels::trace::values::group_borders;

use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu, Scanner, read_first};
use crate::image::gpu::{DeviceValues, Equality};
use crate::measure::Label;
use crate::trace::gpu::Groups;

/// The runs of a label image, sorted by label, and the planes that they are from.
pub(super) struct Sorted<G: Gpu> {
    /// The number of runs.
    pub(super) len: u32,
    pub(super) width: u32,
    pub(super) height: u32,
    /// Where neighbours are equal.
    pub(super) equality: Equality<G>,
    runs: RunsBuffers<OnGpu<G>>,
    /// The runs by label.
    pub(super) groups: Groups<G>,
    /// The number of the first labels, which are background: 0 and negative values.
    pub(super) background: u32,
}

impl<G: Gpu> Sorted<G> {
    /// The runs of an image; `None` if there are none.
    pub(super) fn find<L: Label>(gpu: &G, labels: &DeviceValues<G, L>) -> Result<Option<Self>> {
        let on = &gpu.launcher();
        let equality = labels.equality(gpu)?;
        let planes = equality.view();
        let words = planes.raster.words();
        let mut before = gpu.alloc(words as usize)?;
        // SAFETY: there is an element per word.
        unsafe { count_value_runs::launch_threads(on, words, planes, before.view_mut())? };
        let mut scanner = Scanner::new(gpu, words)?;
        scanner.scan_in_place(&mut before)?;
        let len = read_first(scanner.total())?;
        if len == 0 {
            return Ok(None);
        }
        let mut runs = RunsBuffers::alloc(&OnGpu(gpu.clone()), &len)?;
        let blocks = gpu.resident_blocks(&group_borders::SPEC, 0)?;
        let mut counts = [0; count::COUNT as usize];
        counts[count::BORDERS as usize] = len;
        let mut counters = gpu.upload(&counts)?;
        let values = gpu.using(labels.values())?;
        let rows = RowsOfValues {
            values: values.view(),
            pitch: labels.pitch(),
        };
        let width = labels.width();
        // SAFETY: there is room for all runs, which start at pixels of the image; it has been
        // acquired.
        let groups = unsafe {
            list_value_runs::launch_threads(on, words, planes, before.view(), runs.views())?;
            Groups::of(
                gpu,
                (rows, width),
                runs.starts.view(),
                &mut counters,
                blocks,
            )?
        };
        values.finish()?;
        let mut sorted = Self {
            len,
            width,
            height: labels.height(),
            equality,
            runs,
            groups,
            background: 0,
        };
        // Keys of values up to 0 are at most that of 0.
        sorted.background = sorted.count_up_to(gpu, L::SIGN)?;
        Ok(Some(sorted))
    }

    /// The number of labels that are not background: rows of a table.
    pub(super) fn rows(&self) -> u32 {
        self.groups.values - self.background
    }

    /// The shape of a table with these distances between rows and between columns of pixels.
    pub(super) fn shape(&self, spacing: [f64; 2]) -> TableShape {
        TableShape {
            spacing,
            labels: self.rows().into(),
        }
    }

    /// The planes and the runs, for kernels to read.
    pub(super) fn views(&mut self) -> (EqualityPlanes<'_>, SortedRuns<'_>) {
        let order = &self.groups.order;
        let runs = SortedRuns {
            runs: self.runs.views(),
            order: order.pairs.values.view(),
            begins: order.begins.view(),
            low: order.low.view(),
            high: order.high.view(),
            groups: order.groups.view(),
            labels: self.groups.values,
            width: self.width,
        };
        (self.equality.view(), runs)
    }

    /// The runs, for kernels to read.
    pub(super) fn view(&mut self) -> SortedRuns<'_> {
        self.views().1
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
