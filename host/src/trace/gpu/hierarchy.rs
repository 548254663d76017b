//! The order and the hierarchy of borders.

use cuda_std::ViewMut;
use trazar_kernels::trace::borders::{FoundBorders, Stack, count};
use trazar_kernels::trace::hierarchy::few::{self, arrange_few_borders};
use trazar_kernels::trace::hierarchy::rows::{RowsBuffers, write_rows};
use trazar_kernels::trace::hierarchy::{ArrangementBuffers, ArrangementSizes, arrange_borders};
use trazar_kernels::trace::options::Levels;
use trazar_kernels::trace::pixels::Raster;

use super::{Arranged, BorderBuffers};
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu, nothing};
use crate::trace::Retrieval;

/// The memory that borders are arranged in.
#[derive(Debug)]
pub(super) struct Arranger<G: Gpu> {
    /// Blocks of the cooperative launch.
    blocks: u32,
    pub(super) buffers: ArrangementBuffers<OnGpu<G>>,
}

/// The number of blocks of a cooperative launch for an image, at most `resident`: more blocks take
/// longer to synchronize. The kernels use as many of them as there is work for.
pub(super) fn cooperative_blocks<G: Gpu>(gpu: &G, resident: u32, raster: Raster) -> u32 {
    const MOST_WORDS_PER_BLOCK: u32 = 1024;
    let wanted = gpu
        .multiprocessors()
        .max(raster.words() / MOST_WORDS_PER_BLOCK);
    // planted: cooperative-blocks
    resident.min(wanted)
}

/// The size of a result.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResultSize {
    pub(super) contours: u32,
    pub(super) points: u32,
}

impl ResultSize {
    /// From the counts that [`Arranger::arrange`] makes.
    pub(super) fn of(counts: &[u32]) -> Self {
        Self {
            contours: counts[count::KEPT as usize],
            points: counts[count::POINTS as usize],
        }
    }
}

/// Room for `expected` borders and a few more in a block's shared memory, or `None` if that is too
/// small.
pub(super) fn few_room<G: Gpu>(gpu: &G, expected: u32) -> Option<u32> {
    let most = few::room_of(gpu.shared_per_block());
    let room = expected.max(few::LEAST_ROOM).next_multiple_of(8);
    (room <= most).then_some(room)
}

/// The levels of the result.
const fn levels(retrieval: Retrieval) -> Levels {
    match retrieval {
        Retrieval::External => Levels::External,
        Retrieval::List => Levels::List,
        Retrieval::Ccomp => Levels::Ccomp,
        Retrieval::Tree => Levels::Tree,
    }
}

impl<G: Gpu> Arranger<G> {
    /// Memory for up to `most` borders, in `images` images with the combined size `raster`.
    pub(super) fn new(gpu: &G, raster: Raster, most: u32, images: u32) -> Result<Self> {
        let resident = gpu.resident_blocks(&arrange_borders::SPEC, 0)?;
        let blocks = cooperative_blocks(gpu, resident, raster);
        let sizes = ArrangementSizes {
            borders: most,
            images,
            blocks,
        };
        Ok(Self {
            blocks,
            buffers: ArrangementBuffers::alloc(&OnGpu(gpu.clone()), &sizes)?,
        })
    }

    /// Orders the borders that `retrieval` keeps. `counters` holds the number of borders, which
    /// must fit the memory, and receives the result's counts.
    pub(super) fn arrange(
        &mut self,
        gpu: &G,
        counters: &mut G::Buffer<u32>,
        stack: Stack<'_>,
        found: FoundBorders<'_>,
        retrieval: Retrieval,
    ) -> Result<()> {
        let blocks = self.blocks;
        // SAFETY: there are fewer than 2³¹ - 1 borders, because each has a node of its own.
        unsafe {
            arrange_borders::launch(
                &gpu.launcher(),
                blocks,
                counters.view_mut(),
                stack,
                found,
                self.buffers.views(),
                levels(retrieval),
            )
        }
    }

    /// [`arrange`](Self::arrange) for a single image with at most `room` borders, which is a
    /// [`few_room`]. If there are more, nothing is done.
    pub(super) fn arrange_few(
        &mut self,
        gpu: &G,
        counters: &mut G::Buffer<u32>,
        found: FoundBorders<'_>,
        retrieval: Retrieval,
        room: u32,
    ) -> Result<()> {
        // SAFETY: as in `arrange`; the room is one that the kernel takes.
        unsafe {
            arrange_few_borders::launch_with_shared(
                &gpu.launcher(),
                1,
                few::few_bytes(room),
                counters.view_mut(),
                single_image(),
                found,
                self.buffers.views(),
                levels(retrieval),
                room,
            )
        }
    }

    /// Writes the rows of the result, which has room for `room`: nothing if more borders are kept.
    pub(super) fn finish(
        &mut self,
        gpu: &G,
        counters: &G::Buffer<u32>,
        room: ResultSize,
        stack: Stack<'_>,
        found: FoundBorders<'_>,
    ) -> Result<Arranged<G>> {
        let threads = room.contours.max(1);
        let mut rows = RowsBuffers::alloc(&OnGpu(gpu.clone()), &room.contours)?;
        // SAFETY: `arrange` has made what the kernel reads.
        unsafe {
            write_rows::launch_threads(
                &gpu.launcher(),
                threads,
                counters.view(),
                stack,
                found,
                self.buffers.views(),
                rows.views(),
            )?;
        }
        Ok(Arranged {
            kinds: rows.kinds,
            hierarchy: rows.links,
            offsets: rows.offsets,
            points: room.points,
        })
    }
}

/// A single image, for kernels that take several. All arrays are empty.
pub(super) const fn single_image<'a>() -> Stack<'a> {
    Stack {
        images: 1,
        pitch: u32::MAX,
        row_words: 0,
        starts_before: nothing(),
        groups: nothing(),
        // SAFETY: there are no elements.
        offsets: unsafe { ViewMut::from_raw_parts(std::ptr::dangling_mut(), 0) },
    }
}

/// Arranges borders whose number the host knows.
pub(super) fn arrange<G: Gpu>(
    gpu: &G,
    raster: Raster,
    found: &mut BorderBuffers<G>,
    retrieval: Retrieval,
) -> Result<(Arranger<G>, Arranged<G>)> {
    let mut counts = [0; count::COUNT as usize];
    // As many as there are starts, which fit 32 bits.
    let borders = found.lengths.len() as u32;
    counts[count::BORDERS as usize] = borders;
    let mut counters = gpu.upload(&counts)?;
    let mut arranger = Arranger::new(gpu, raster, borders, 1)?;
    let stack = single_image();
    arranger.arrange(gpu, &mut counters, stack, found.views(), retrieval)?;
    counters.read(&mut counts)?;
    let size = ResultSize::of(&counts);
    let arranged = arranger.finish(gpu, &counters, size, stack, found.views())?;
    Ok((arranger, arranged))
}
