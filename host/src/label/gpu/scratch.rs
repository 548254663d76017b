//! The memory in which images are labelled, besides the images and their labels.

use trazar_kernels::label::tiles::layout::TileLayout;
use trazar_kernels::label::tiles::runs::TileRunsBuffers;

use super::number::{CountBuffers, NumberingBuffers};
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu, WorkingMemory, grow};

/// Memory that serves one labelling after the other. Each array has the most elements that any of
/// them has needed.
#[derive(Debug)]
pub(super) struct Scratch<G: Gpu> {
    pub(super) numbering: NumberingBuffers<G>,
    /// The runs of tiles.
    pub(super) runs: TileRunsBuffers<OnGpu<G>>,
    /// The counts of runs in rows, for labels that go to the host run by run.
    pub(super) run_counts: CountBuffers<G>,
    /// The labels of these runs.
    pub(super) of_runs: G::Buffer<u32>,
}

/// The lengths of the arrays of [`Scratch::runs`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunLengths {
    pub(super) firsts: usize,
    pub(super) offsets: usize,
    pub(super) sides: usize,
}

impl RunLengths {
    /// For images of bits.
    pub(super) fn of(layout: TileLayout) -> Self {
        Self {
            firsts: layout.firsts_len(),
            offsets: layout.offsets_len(),
            sides: layout.sides_len(),
        }
    }
}

impl<G: Gpu> Scratch<G> {
    /// The memory `kept` from an earlier labelling, or new memory without any elements.
    pub(super) fn of(gpu: &G, kept: Option<Self>) -> Result<Self> {
        if let Some(scratch) = kept {
            return Ok(scratch);
        }
        Ok(Self {
            numbering: NumberingBuffers::new(gpu, 0)?,
            runs: TileRunsBuffers {
                firsts: gpu.alloc(0)?,
                offsets: gpu.alloc(0)?,
                sides: gpu.alloc(0)?,
            },
            run_counts: CountBuffers::new(gpu, 0)?,
            of_runs: gpu.alloc(0)?,
        })
    }

    /// Makes room for tiles with `runs`, of images of `words` words together.
    pub(super) fn make_room(&mut self, gpu: &G, words: u32, runs: RunLengths) -> Result<()> {
        self.numbering.make_room(gpu, words)?;
        grow(gpu, &mut self.runs.firsts, runs.firsts)?;
        grow(gpu, &mut self.runs.offsets, runs.offsets)?;
        grow(gpu, &mut self.runs.sides, runs.sides)
    }
}

impl<G: Gpu> WorkingMemory for Scratch<G> {
    fn bytes(&self) -> u64 {
        let Self {
            numbering,
            runs,
            run_counts,
            of_runs,
        } = self;
        numbering.roots.bytes()
            + numbering.counts.bytes()
            + runs.bytes()
            + run_counts.bytes()
            + of_runs.bytes()
    }
}
