//! The order and the hierarchy of borders.

use cuda_std::grid::GridBarrier;
use trazar_kernels::primitives::sort::{self, Pairs};
use trazar_kernels::trace::borders::{FoundBorders, Stack, count};
use trazar_kernels::trace::hierarchy::rows::{Rows, write_rows};
use trazar_kernels::trace::hierarchy::{Arrangement, arrange_borders};
use trazar_kernels::trace::options::Levels;
use trazar_kernels::trace::pixels::Raster;

use super::{Arranged, BorderBuffers};
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer};
use crate::trace::Retrieval;

/// The memory that borders are arranged in.
#[derive(Debug)]
pub(super) struct Arranger<G: Gpu> {
    /// Blocks of the cooperative launch.
    blocks: u32,
    barrier: G::Buffer<u32>,
    block_sums: G::Buffer<u32>,
    keys: G::Buffer<u32>,
    values: G::Buffer<u32>,
    other_keys: G::Buffer<u32>,
    other_values: G::Buffer<u32>,
    counts: G::Buffer<u32>,
    parents: G::Buffer<u32>,
    first_children: G::Buffer<u32>,
    sizes: G::Buffer<u32>,
    told: G::Buffer<u32>,
    before: G::Buffer<u32>,
    list: G::Buffer<u64>,
    other_list: G::Buffer<u64>,
    ranked_places: G::Buffer<u32>,
    pub(super) places: G::Buffer<u32>,
    offsets: G::Buffer<u32>,
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
        let n = most as usize;
        let resident = gpu.resident_blocks(&arrange_borders::SPEC, 0)?;
        let blocks = cooperative_blocks(gpu, resident, raster);
        Ok(Self {
            blocks,
            barrier: gpu.alloc_zeroed(1)?,
            block_sums: gpu.alloc(blocks as usize)?,
            keys: gpu.alloc(n)?,
            values: gpu.alloc(n)?,
            other_keys: gpu.alloc(n)?,
            other_values: gpu.alloc(n)?,
            counts: gpu.alloc(sort::counts_len(most) as usize)?,
            parents: gpu.alloc(n)?,
            first_children: gpu.alloc(n + images as usize)?,
            sizes: gpu.alloc(n)?,
            told: gpu.alloc(3 * n)?,
            before: gpu.alloc(n)?,
            list: gpu.alloc(n)?,
            other_list: gpu.alloc(n)?,
            ranked_places: gpu.alloc(n)?,
            places: gpu.alloc(n)?,
            offsets: gpu.alloc(n + 1)?,
        })
    }

    /// The bytes of its memory.
    pub(super) fn bytes(&self) -> u64 {
        let Self {
            blocks: _,
            barrier,
            block_sums,
            keys,
            values,
            other_keys,
            other_values,
            counts,
            parents,
            first_children,
            sizes,
            told,
            before,
            list,
            other_list,
            ranked_places,
            places,
            offsets,
        } = self;
        let by_border = [
            keys,
            values,
            other_keys,
            other_values,
            counts,
            parents,
            first_children,
            sizes,
            told,
            before,
            ranked_places,
            places,
            offsets,
        ];
        let by_border: u64 = by_border.map(GpuBuffer::bytes).iter().sum();
        by_border + barrier.bytes() + block_sums.bytes() + list.bytes() + other_list.bytes()
    }

    /// For kernels to use.
    fn view(&mut self) -> Arrangement<'_> {
        Arrangement {
            barrier: GridBarrier {
                counter: self.barrier.view_mut(),
            },
            block_sums: self.block_sums.view_mut(),
            pairs: Pairs {
                keys: self.keys.view_mut(),
                values: self.values.view_mut(),
                other_keys: self.other_keys.view_mut(),
                other_values: self.other_values.view_mut(),
                counts: self.counts.view_mut(),
            },
            parents: self.parents.view_mut(),
            first_children: self.first_children.view_mut(),
            sizes: self.sizes.view_mut(),
            told: self.told.view_mut(),
            before: self.before.view_mut(),
            list: self.list.view_mut(),
            other_list: self.other_list.view_mut(),
            ranked_places: self.ranked_places.view_mut(),
            places: self.places.view_mut(),
            offsets: self.offsets.view_mut(),
        }
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
        // SAFETY: lengths are those that the kernel asks for, and there are fewer than 2³¹ - 1
        // borders, because each has a node of its own.
        unsafe {
            arrange_borders::launch(
                &gpu.launcher(),
                blocks,
                counters.view_mut(),
                stack,
                found,
                self.view(),
                levels(retrieval),
            )
        }
    }

    /// Writes the rows of the result. `counts` are the values of `counters`, as set by
    /// [`arrange`](Self::arrange).
    pub(super) fn finish(
        &mut self,
        gpu: &G,
        counters: &G::Buffer<u32>,
        counts: &[u32],
        stack: Stack<'_>,
        found: FoundBorders<'_>,
    ) -> Result<Arranged<G>> {
        let kept = counts[count::KEPT as usize];
        let threads = kept.max(1);
        let kept = kept as usize;
        let mut kinds = gpu.alloc(kept)?;
        let mut hierarchy = gpu.alloc(4 * kept)?;
        let mut offsets = gpu.alloc(kept + 1)?;
        // SAFETY: places are below `kept`; lengths are those that the kernel asks for.
        unsafe {
            write_rows::launch_threads(
                &gpu.launcher(),
                threads,
                counters.view(),
                stack,
                found,
                self.view(),
                Rows {
                    kinds: kinds.view_mut(),
                    links: hierarchy.view_mut(),
                    offsets: offsets.view_mut(),
                },
            )?;
        }
        Ok(Arranged {
            kinds,
            hierarchy,
            offsets,
            points: counts[count::POINTS as usize],
        })
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
    counts[count::BORDERS as usize] = found.count;
    let mut counters = gpu.upload(&counts)?;
    let mut arranger = Arranger::new(gpu, raster, found.count, 1)?;
    let (starts_before, mut offsets) = (gpu.alloc(0)?, gpu.alloc(0)?);
    let stack = Stack {
        images: 1,
        pitch: u32::MAX,
        row_words: 0,
        starts_before: starts_before.view(),
        offsets: offsets.view_mut(),
    };
    arranger.arrange(gpu, &mut counters, stack, found.view_mut(), retrieval)?;
    counters.read(&mut counts)?;
    let arranged = arranger.finish(gpu, &counters, &counts, stack, found.view_mut())?;
    Ok((arranger, arranged))
}
