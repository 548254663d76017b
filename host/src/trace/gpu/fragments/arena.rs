//! The memory that fragments are found and joined in.

use trazar_kernels::trace::borders::{FoundBorders, Stack, count};
use trazar_kernels::trace::fragments::follow::follow_few_tiles;
use trazar_kernels::trace::fragments::join::{
    Chains, ChainsBuffers, join_fragments, join_wide_fragments,
};
use trazar_kernels::trace::fragments::{
    JoinSizes, MOST, Parts, PartsBuffers, Sizes, TILE_WIDTH, counter,
};
use trazar_kernels::trace::pixels::Raster;

use crate::error::{Error, Result};
use crate::gpu::{Gpu, GpuBuffer, OnGpu, View, WorkingMemory, nothing};
use crate::trace::Retrieval;
use crate::trace::gpu::hierarchy::{Arranger, ResultSize, cooperative_blocks, few_room};
use crate::trace::gpu::{Arranged, BorderBuffers};

/// The most borders: rows of the hierarchy are of `i32`.
const MOST_BORDERS: u32 = i32::MAX as u32 - 1;

/// Sizes for which memory is allocated at first, with tiles of `tile_height` rows: enough for most
/// images.
pub(in crate::trace::gpu) fn guess(raster: Raster, tile_height: u32) -> Sizes {
    // By pixels, because most of a tile lies outside a narrow image.
    let pixels = raster.pixels();
    let tiles = pixels.div_ceil((TILE_WIDTH * tile_height).into()).max(16);
    let each = |per_tile: u64| (tiles * per_tile).min(MOST.into()) as u32;
    Sizes {
        raster,
        tile_height,
        fragments: each(24),
        closed: each(16),
        sides: each(192),
        points: each(192),
    }
}

/// The sizes that an image needs, from its counters; an error if kernels cannot number as many.
pub(in crate::trace::gpu) fn needed(
    raster: Raster,
    tile_height: u32,
    counts: &[u32],
) -> Result<Sizes> {
    let count = |counter: u32| counts[counter as usize];
    let needed = Sizes {
        raster,
        tile_height,
        fragments: count(counter::FRAGMENTS),
        closed: count(counter::CLOSED),
        sides: count(counter::SIDES),
        points: count(counter::POINTS),
    };
    for (found, what) in [
        (needed.points, "points of borders in all"),
        (needed.sides, "vertical sides of pixels at borders"),
        (needed.fragments, "pieces of borders in tiles"),
        (needed.closed, "borders inside tiles"),
    ] {
        // Which counter has wrapped around is unknown: points, the most numerous, come first.
        if found > MOST || count(counter::WRAPPED) != 0 {
            let limit = MOST.into();
            return Err(Error::TooMany { what, limit });
        }
    }
    if needed.borders() > MOST_BORDERS {
        return Err(Error::TooMany {
            what: "borders",
            limit: MOST_BORDERS.into(),
        });
    }
    Ok(needed)
}

/// How fragments are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace::gpu) struct Joining {
    /// Whether keys of borders' starts take 64 bits.
    pub(in crate::trace::gpu) wide_keys: bool,
    /// Up to this many fragments are always ranked by pointer jumping; if it is 0, all are ranked
    /// by segments.
    pub(in crate::trace::gpu) few_fragments: u32,
}

impl Joining {
    /// The fastest setting, for images whose keys fit 32 bits.
    pub(in crate::trace::gpu) const DEFAULT: Self = Self {
        wide_keys: false,
        few_fragments: 1 << 16,
    };
}

/// Images stacked vertically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace::gpu) struct Images {
    /// How many there are.
    pub(in crate::trace::gpu) count: u32,
    /// Rows from the top of one image to the top of the next.
    pub(in crate::trace::gpu) pitch: u32,
}

/// Memory for images of one size, which is kept from one image to the next.
#[derive(Debug)]
pub(in crate::trace::gpu) struct Arena<G: Gpu> {
    pub(super) sizes: Sizes,
    images: Images,
    pub(super) joining: Joining,
    /// Blocks of the cooperative launch.
    pub(super) blocks: u32,
    /// Whether tiles are so few that two warps share each.
    pub(super) few_tiles: bool,
    pub(super) parts: PartsBuffers<OnGpu<G>>,
    chains: ChainsBuffers<OnGpu<G>>,
    found: BorderBuffers<G>,
    arranger: Arranger<G>,
    /// For several images, the number of result borders before each image, then the total.
    pub(super) image_offsets: G::Buffer<u32>,
    /// What the last image had, if it was traced in this memory.
    pub(super) last: Option<Found>,
}

/// What an image had, by the counters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// All borders, also those that were not kept.
    borders: u32,
    pub(super) result: ResultSize,
    /// Tiles with many nodes.
    pub(super) dense: u32,
}

impl Found {
    /// From the counters' values.
    pub(super) fn of(counts: &[u32]) -> Self {
        Self {
            borders: counts[count::BORDERS as usize],
            result: ResultSize::of(counts),
            dense: counts[counter::DENSE as usize],
        }
    }

    /// What is expected of the next image: a quarter more, and a few. `None` if the result is so
    /// large that the memory would count and the time to wait for its size would not.
    pub(super) fn expected(self) -> Option<Self> {
        const MOST_POINTS: u32 = 1 << 20;
        let more = |count: u32| count + count / 4 + 64;
        (self.result.points.max(self.borders) <= MOST_POINTS).then(|| Self {
            borders: more(self.borders),
            result: ResultSize {
                contours: more(self.result.contours),
                points: more(self.result.points),
            },
            dense: self.dense,
        })
    }
}

/// The arena, as kernels use it.
pub(super) struct Views<'a> {
    pub(super) parts: Parts<'a>,
    pub(super) chains: Chains<'a>,
    pub(super) borders: FoundBorders<'a>,
    /// The places of borders.
    pub(super) places: View<'a, u32>,
    pub(super) stack: Stack<'a>,
}

impl<G: Gpu> WorkingMemory for Arena<G> {
    fn bytes(&self) -> u64 {
        let Self {
            sizes: _,
            images: _,
            joining: _,
            blocks: _,
            few_tiles: _,
            parts,
            chains,
            found,
            arranger,
            image_offsets,
            last: _,
        } = self;
        parts.bytes()
            + chains.bytes()
            + found.bytes()
            + arranger.buffers.bytes()
            + image_offsets.bytes()
    }
}

impl<G: Gpu> Arena<G> {
    /// Memory for an image, with counters that are 0: `old`, if it fits.
    pub(super) fn ready(
        gpu: &G,
        images: Images,
        joining: Joining,
        sizes: Sizes,
        old: Option<Self>,
    ) -> Result<Self> {
        if let Some(mut old) = old
            // planted: arena-size
            && (old.sizes.raster, old.images, old.joining) == (sizes.raster, images, joining)
            && sizes.fit(&old.sizes)
        {
            // planted: arena-counters
            old.parts.counters.fill(0)?;
            return Ok(old);
        }
        // About the number of blocks that are resident at once.
        let few = gpu
            .resident_blocks(&follow_few_tiles::SPEC, 0)?
            .saturating_mul(2);
        let join = if joining.wide_keys {
            &join_wide_fragments::SPEC
        } else {
            &join_fragments::SPEC
        };
        let resident = gpu.resident_blocks(join, 0)?;
        let blocks = cooperative_blocks(gpu, resident, sizes.raster);
        let join_sizes = JoinSizes {
            found: sizes,
            wide_keys: joining.wide_keys,
            blocks,
        };
        let memory = OnGpu(gpu.clone());
        Ok(Self {
            sizes,
            images,
            joining,
            blocks,
            few_tiles: sizes.tiles() <= few,
            parts: PartsBuffers::alloc(&memory, &sizes)?,
            chains: ChainsBuffers::alloc(&memory, &join_sizes)?,
            found: BorderBuffers::alloc(&memory, &sizes.borders())?,
            arranger: Arranger::new(gpu, sizes.raster, sizes.borders(), images.count)?,
            image_offsets: gpu.alloc(match images.count {
                1 => 0,
                several => several as usize + 1,
            })?,
            last: None,
        })
    }

    /// For kernels to use.
    pub(super) fn views(&mut self) -> Views<'_> {
        let parts = self.parts.views();
        Views {
            parts,
            chains: self.chains.views(self.joining.few_fragments),
            borders: self.found.views(),
            places: self.arranger.buffers.places.view(),
            stack: stack(
                self.sizes.raster,
                self.images,
                parts.starts_before.as_view(),
                &mut self.image_offsets,
            ),
        }
    }

    /// Puts the borders that were found into order. With an `expected` number of them for which one
    /// block has memory, that block does it, if there are no more; returns that number.
    pub(super) fn arrange(
        &mut self,
        gpu: &G,
        retrieval: Retrieval,
        expected: Option<Found>,
    ) -> Result<Option<u32>> {
        let found = self.found.views();
        let counters = &mut self.parts.counters;
        let few = expected.filter(|_| self.images.count == 1);
        if let Some(room) = few.and_then(|expected| few_room(gpu, expected.borders)) {
            self.arranger
                .arrange_few(gpu, counters, found, retrieval, room)?;
            return Ok(Some(room));
        }
        let stack = stack(
            self.sizes.raster,
            self.images,
            self.parts.starts_before.view(),
            &mut self.image_offsets,
        );
        self.arranger
            .arrange(gpu, counters, stack, found, retrieval)?;
        Ok(None)
    }

    /// Writes the rows of the result, which has room for `room`: nothing if there are more.
    pub(super) fn finish(&mut self, gpu: &G, room: ResultSize) -> Result<Arranged<G>> {
        let found = self.found.views();
        let stack = stack(
            self.sizes.raster,
            self.images,
            self.parts.starts_before.view(),
            &mut self.image_offsets,
        );
        self.arranger
            .finish(gpu, &self.parts.counters, room, stack, found)
    }
}

/// The images, for kernels.
fn stack<'a>(
    raster: Raster,
    images: Images,
    starts_before: View<'a, u32>,
    offsets: &'a mut impl GpuBuffer<u32>,
) -> Stack<'a> {
    Stack {
        images: images.count,
        pitch: images.pitch,
        row_words: raster.row_words,
        starts_before,
        groups: nothing(),
        offsets: offsets.view_mut(),
    }
}
