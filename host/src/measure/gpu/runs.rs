//! The runs of a label image in a GPU's memory, sorted by label.

use cuda_std::ViewMut;
use trazar_kernels::measure::pieces::SortedRuns;
use trazar_kernels::measure::portions::{self, count_portions, list_portions};
use trazar_kernels::measure::powers::sum_count;
use trazar_kernels::measure::runs::{RunsBuffers, count_value_runs, list_value_runs};
use trazar_kernels::trace::borders::count;
use trazar_kernels::trace::fragments::row_values::RowsOfValues;
use trazar_kernels::trace::values::group_borders;

use super::warp_blocks;
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu, Scanner, read_first};
use crate::image::gpu::{DeviceValues, Equality};
use crate::measure::Label;
use crate::memory::zeroed_vec;
use crate::trace::gpu::Groups;

/// The runs of a label image, sorted by label.
pub(super) struct Sorted<G: Gpu> {
    /// The number of runs.
    pub(super) len: u32,
    pub(super) width: u32,
    runs: RunsBuffers<OnGpu<G>>,
    /// The runs by label.
    pub(super) groups: Groups<G>,
}

impl<G: Gpu> Sorted<G> {
    /// The runs of an image whose neighbours have been compared; `None` if there are none.
    pub(super) fn find<L: Label>(
        gpu: &G,
        labels: &DeviceValues<G, L>,
        equality: &Equality<G>,
    ) -> Result<Option<Self>> {
        let on = &gpu.launcher();
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
        Ok(Some(Self {
            len,
            width,
            runs,
            groups,
        }))
    }

    /// For kernels to read.
    pub(super) fn view(&mut self) -> SortedRuns<'_> {
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

    /// The runs of each label in each strip of `rows` rows.
    pub(super) fn find_portions(&mut self, gpu: &G, rows: usize) -> Result<PortionBuffers<G>> {
        // Images have fewer rows than that.
        let rows = u32::try_from(rows).unwrap_or(u32::MAX);
        let (on, len, runs) = (&gpu.launcher(), self.len, self.view());
        let mut before = gpu.alloc(len as usize)?;
        // SAFETY: there is an element per run.
        unsafe { count_portions::launch_threads(on, len, runs, rows, before.view_mut())? };
        let mut scanner = Scanner::new(gpu, len)?;
        scanner.scan_in_place(&mut before)?;
        let count = read_first(scanner.total())? as usize;
        let (mut begins, mut origins) = (gpu.alloc(count)?, gpu.alloc(count)?);
        // SAFETY: there is room for all portions.
        unsafe {
            list_portions::launch_threads(
                on,
                len,
                runs,
                rows,
                before.view(),
                begins.view_mut(),
                origins.view_mut(),
            )?;
        }
        Ok(PortionBuffers { begins, origins })
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

    /// Where each label's runs begin in the order.
    pub(super) fn begins(&self) -> Result<Vec<u32>> {
        let mut begins = zeroed_vec(self.groups.values as usize, "the runs of labels")?;
        self.groups.order.begins.read_at(0, &mut begins)?;
        Ok(begins)
    }
}

/// The runs of each label in each strip.
pub(super) struct PortionBuffers<G: Gpu> {
    /// Where each one begins in the order of runs.
    pub(super) begins: G::Buffer<u32>,
    /// The place of each one's first pixel.
    pub(super) origins: G::Buffer<u64>,
}

impl<G: Gpu> PortionBuffers<G> {
    pub(super) fn none(gpu: &G) -> Result<Self> {
        Ok(Self {
            begins: gpu.alloc(0)?,
            origins: gpu.alloc(0)?,
        })
    }

    /// The sums of `weight · rowⁱ · columnʲ` of each one for i and j below `powers`, if they are
    /// wanted. `launch` launches the kernel, in this number of blocks.
    pub(super) fn sums(
        &self,
        gpu: &G,
        wanted: bool,
        powers: u32,
        launch: impl FnOnce(u32, ViewMut<'_, f64>) -> Result<()>,
    ) -> Result<Vec<f64>> {
        let count = self.begins.len();
        if !wanted {
            return Ok(Vec::new());
        }
        let mut sums = gpu.alloc(count * sum_count(powers) as usize)?;
        // There are fewer portions than pixels.
        launch(
            warp_blocks(count as u32, portions::SUM_BLOCK),
            sums.view_mut(),
        )?;
        sums.to_vec()
    }
}
