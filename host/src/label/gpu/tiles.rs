//! Labelling in tiles: [`LabelAlgorithm::Tiles`](crate::LabelAlgorithm::Tiles).

use cuda_std::launch::ThreadCount;
use cuda_std::{View, ViewMut};
use trazar_kernels::image::ByteImage;
use trazar_kernels::label::tiles::flatten::tiles_flatten;
use trazar_kernels::label::tiles::label::{tiles_label, tiles_label_bytes};
use trazar_kernels::label::tiles::layout::{TileLayout, run_bytes};
use trazar_kernels::label::tiles::merge::{MERGE_BLOCK, tiles_merge};
use trazar_kernels::label::tiles::rim::tiles_rim;
use trazar_kernels::label::tiles::runs::{TileComponents, TileRuns, TileRunsBuffers, TileRunsMut};
use trazar_kernels::label::tiles::write::{tiles_write, tiles_write_numbered};
use trazar_kernels::primitives::scan::ScanState;

use super::scratch::{RunLengths, Scratch};
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu};
use crate::label::Connectivity;

/// The arrays of one labelling in tiles, besides the image and the labels, or of the images of a
/// batch. Call
/// [`label`](Self::label) or [`label_bytes`](Self::label_bytes) first; then
/// [`finish`](Self::finish), or [`join`](Self::join) and later [`write`](Self::write), with the
/// same labels: one element per pixel, from a multiple of 16 bytes on.
#[derive(Debug)]
pub(super) struct Tiles<G: Gpu> {
    layout: TileLayout,
    connectivity: Connectivity,
    scratch: Scratch<G>,
}

impl<G: Gpu> Tiles<G> {
    /// In the memory `kept` from an earlier labelling on `gpu`, or in new memory.
    pub(super) fn new(
        gpu: &G,
        layout: TileLayout,
        connectivity: Connectivity,
        kept: Option<Scratch<G>>,
    ) -> Result<Self> {
        let mut scratch = Scratch::of(gpu, kept)?;
        scratch.make_room(gpu, layout.words(), RunLengths::of(layout))?;
        Ok(Self {
            layout,
            connectivity,
            scratch,
        })
    }

    /// The memory, for the next labelling on the same queue.
    pub(super) fn into_scratch(self) -> Scratch<G> {
        self.scratch
    }

    /// The outputs of the kernels that label tiles.
    fn outputs<'a>(
        &'a mut self,
        labels: ViewMut<'a, u32>,
    ) -> (TileRunsMut<'a>, TileComponents<'a>, ScanState<'a>) {
        let runs = self.scratch.runs.views();
        let numbering = &mut self.scratch.numbering;
        let components = TileComponents {
            parents: labels,
            roots: numbering.roots.view_mut(),
        };
        let (_, scan) = numbering.counts.views_mut();
        (runs, components, scan)
    }

    /// Labels each tile of `image`.
    ///
    /// # Safety
    /// `image` has the layout's bits and `labels` one element per pixel; `gpu` has acquired both.
    pub(super) unsafe fn label(
        &mut self,
        gpu: &G,
        image: View<'_, u64>,
        labels: ViewMut<'_, u32>,
    ) -> Result<()> {
        let (on, layout, connectivity) = (&gpu.launcher(), self.layout, self.connectivity);
        let (runs, components, scan) = self.outputs(labels);
        let tiles = (layout.image_tiles(), layout.images);
        // SAFETY: all arrays have the lengths that the kernel asks for, and only this queue uses
        // them.
        unsafe {
            tiles_label::launch_with_shared(
                on,
                tiles,
                run_bytes(connectivity),
                image,
                runs,
                components,
                scan,
                layout,
                connectivity,
            )
        }
    }

    /// Labels each tile of an image of bytes, and writes its bits to `image`.
    ///
    /// # Safety
    /// `bytes` has one value per pixel, in rows of a multiple of 16, and `gpu` has acquired it.
    /// `image` has the layout's words and `labels` one element per pixel; both belong to `gpu`.
    pub(super) unsafe fn label_bytes(
        &mut self,
        gpu: &G,
        bytes: &G::Buffer<u8>,
        threshold: u8,
        image: &mut G::Buffer<u64>,
        labels: ViewMut<'_, u32>,
    ) -> Result<()> {
        let (on, layout, connectivity) = (&gpu.launcher(), self.layout, self.connectivity);
        let (runs, components, scan) = self.outputs(labels);
        let bytes = ByteImage {
            values: bytes.view(),
            width: layout.width,
            height: layout.height,
            pitch: layout.width,
            threshold: threshold.into(),
        };
        let (tiles, image) = (layout.tiles(), image.view_mut());
        // SAFETY: as in `label`, and the bytes start at a multiple of 16 bytes, as every buffer
        // does.
        unsafe {
            tiles_label_bytes::launch_with_shared(
                on,
                tiles,
                run_bytes(connectivity),
                bytes,
                image,
                runs,
                components,
                scan,
                layout,
                connectivity,
            )
        }
    }

    /// Joins the tiles' components and writes the labels. Returns the number of components, of all
    /// images together.
    ///
    /// # Safety
    /// As for [`join`](Self::join).
    pub(super) unsafe fn finish(
        &mut self,
        gpu: &G,
        image: View<'_, u64>,
        labels: ViewMut<'_, u32>,
    ) -> Result<G::Buffer<u32>> {
        // SAFETY: the caller's promise.
        unsafe {
            self.join(gpu, image, labels)?;
            self.write(gpu, image, labels, None)?;
        }
        self.take_total(gpu)
    }

    /// Joins the tiles' components and numbers them. `labels` are not final labels yet, and only
    /// [`rim`](Self::rim) and [`write`](Self::write) may use them.
    ///
    /// # Safety
    /// `image` is the image whose tiles the launch before on `gpu` has labelled, and `labels` are
    /// those of that launch.
    pub(super) unsafe fn join(
        &mut self,
        gpu: &G,
        image: View<'_, u64>,
        labels: ViewMut<'_, u32>,
    ) -> Result<()> {
        let (on, layout, connectivity) = (&gpu.launcher(), self.layout, self.connectivity);
        let Scratch {
            runs, numbering, ..
        } = &mut self.scratch;
        let runs = runs_of(runs);
        // SAFETY: all arrays have the lengths that the kernels ask for, and only this queue uses
        // them. The launches are in the order that the kernels ask for.
        unsafe {
            // planted: merge-grid
            let blocks = ThreadCount::from(layout.merge_threads()).blocks_of(MERGE_BLOCK);
            if blocks > 0 {
                let grid = (blocks, layout.images);
                tiles_merge::launch(on, grid, image, runs, labels, layout, connectivity)?;
            }
            let components = TileComponents {
                parents: labels,
                roots: numbering.roots.view_mut(),
            };
            let (counts, _) = numbering.counts.views_mut();
            tiles_flatten::launch_threads(on, layout.words(), components, counts, layout)?;
            numbering.counts.scan_chunks(gpu, layout.words())
        }
    }

    /// The number of components, after [`join`](Self::join). Waits for it.
    pub(super) fn count(&self) -> Result<u32> {
        self.scratch.numbering.counts.total()
    }

    /// The number of components before each image, then of all, after [`join`](Self::join).
    pub(super) fn image_starts(&self, gpu: &G) -> Result<G::Buffer<u32>> {
        let (images, words) = (self.layout.images, self.layout.image_words());
        let counts = &self.scratch.numbering.counts;
        counts.image_starts(gpu, images, words)
    }

    /// Takes the array of one element that [`count`](Self::count) reads.
    pub(super) fn take_total(&mut self, gpu: &G) -> Result<G::Buffer<u32>> {
        self.scratch.numbering.counts.take_total(gpu)
    }

    /// The numbers of the components on the first and on the last row: one per pixel of the first
    /// row, then one per pixel of the last row.
    ///
    /// # Safety
    /// As for [`write`](Self::write).
    pub(super) unsafe fn rim(
        &self,
        gpu: &G,
        image: View<'_, u64>,
        labels: View<'_, u32>,
    ) -> Result<G::Buffer<u32>> {
        let layout = self.layout;
        let mut rim = gpu.alloc(2 * layout.width as usize)?;
        // SAFETY: all arrays have the lengths that the kernel asks for, and `join` has launched the
        // kernels that have to come before.
        unsafe {
            tiles_rim::launch_threads(
                &gpu.launcher(),
                layout.width,
                image,
                runs_of(&self.scratch.runs),
                labels,
                self.scratch.numbering.numbering(layout),
                rim.view_mut(),
                layout,
                self.connectivity,
            )?;
        }
        Ok(rim)
    }

    /// Writes the labels: the components' numbers, or the elements of `table` at these indices.
    ///
    /// # Safety
    /// [`join`](Self::join) was called with `gpu`, `image` and `labels`, and nothing has been
    /// written to them since. `table` is as
    /// [`tiles_write_numbered`](fn@trazar_kernels::label::tiles::write::tiles_write_numbered) asks.
    pub(super) unsafe fn write(
        &self,
        gpu: &G,
        image: View<'_, u64>,
        labels: ViewMut<'_, u32>,
        table: Option<View<'_, u32>>,
    ) -> Result<()> {
        let (on, layout, connectivity) = (&gpu.launcher(), self.layout, self.connectivity);
        let (tiles, shared) = (
            (layout.image_tiles(), layout.images),
            run_bytes(connectivity),
        );
        let runs = runs_of(&self.scratch.runs);
        let numbering = self.scratch.numbering.numbering(layout);
        // SAFETY: as in `rim`; the caller vouches for the table.
        unsafe {
            match table {
                None => tiles_write::launch_with_shared(
                    on,
                    tiles,
                    shared,
                    image,
                    runs,
                    numbering,
                    labels,
                    layout,
                    connectivity,
                ),
                Some(table) => tiles_write_numbered::launch_with_shared(
                    on,
                    tiles,
                    shared,
                    image,
                    runs,
                    numbering,
                    table,
                    labels,
                    layout,
                    connectivity,
                ),
            }
        }
    }
}

/// The runs, as the tiles' kernels read them.
pub(super) fn runs_of<G: Gpu>(runs: &TileRunsBuffers<OnGpu<G>>) -> TileRuns<'_> {
    TileRuns {
        firsts: runs.firsts.view(),
        offsets: runs.offsets.view(),
        sides: runs.sides.view(),
    }
}
