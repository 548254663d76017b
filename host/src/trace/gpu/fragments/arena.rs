//! The memory that fragments are found and joined in.

use cuda_std::grid::GridBarrier;
use trazar_kernels::trace::borders::{FoundBorders, Stack};
use trazar_kernels::trace::fragments::cycles::most_segments;
use trazar_kernels::trace::fragments::follow::follow_few_tiles;
use trazar_kernels::trace::fragments::join::{Chains, join_fragments, join_wide_fragments};
use trazar_kernels::trace::fragments::key::WIDE_LINK_WORDS;
use trazar_kernels::trace::fragments::records::tile_record;
use trazar_kernels::trace::fragments::{MOST, Parts, TILE_HEIGHT, TILE_WIDTH, counter, tiles};
use trazar_kernels::trace::pixels::Raster;

use crate::error::{Error, Result};
use crate::gpu::{Gpu, GpuBuffer, View};
use crate::trace::Retrieval;
use crate::trace::gpu::hierarchy::{Arranger, cooperative_blocks};
use crate::trace::gpu::{Arranged, BorderBuffers};

/// The most borders: rows of the hierarchy are of `i32`.
const MOST_BORDERS: u32 = i32::MAX as u32 - 1;

/// Element counts: those that the memory holds, or those that were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace::gpu) struct Capacities {
    fragments: u32,
    closed: u32,
    sides: u32,
    points: u32,
}

impl Capacities {
    /// Enough for most images.
    pub(super) fn guess(raster: Raster) -> Self {
        // By pixels, because most of a tile lies outside a narrow image.
        let pixels = raster.pixels();
        let tiles = pixels.div_ceil((TILE_WIDTH * TILE_HEIGHT).into()).max(16);
        let each = |per_tile: u64| (tiles * per_tile).min(MOST.into()) as u32;
        Self {
            fragments: each(24),
            closed: each(16),
            sides: each(192),
            points: each(192),
        }
    }

    /// The capacities that an image needs, from its counters; an error if kernels cannot number as
    /// many.
    pub(super) fn needed(counts: &[u32]) -> Result<Self> {
        let count = |counter: u32| counts[counter as usize];
        let needed = Self {
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

    /// The larger of both, element by element.
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            fragments: self.fragments.max(other.fragments),
            closed: self.closed.max(other.closed),
            sides: self.sides.max(other.sides),
            points: self.points.max(other.points),
        }
    }

    /// Whether these fit in `other`.
    pub(super) fn fit(&self, other: &Self) -> bool {
        self.fragments <= other.fragments
            && self.closed <= other.closed
            && self.sides <= other.sides
            && self.points <= other.points
    }

    /// The most borders: a border that leaves its tile has at least two fragments.
    fn borders(&self) -> u32 {
        // planted: arena-borders
        (self.fragments / 2).saturating_add(self.closed)
    }
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
    raster: Raster,
    images: Images,
    pub(super) joining: Joining,
    pub(super) capacities: Capacities,
    /// Blocks of the cooperative launch.
    pub(super) blocks: u32,
    /// Whether tiles are so few that two warps share each.
    pub(super) few_tiles: bool,
    /// All 0 at first.
    pub(super) counters: G::Buffer<u32>,
    found: BorderBuffers<G>,
    arranger: Arranger<G>,
    /// For several images, the number of result borders before each image, then the total.
    pub(super) image_offsets: G::Buffer<u32>,
    barrier: G::Buffer<u32>,
    block_sums: G::Buffer<u32>,
    tiles: G::Buffer<u32>,
    dense: G::Buffer<u32>,
    rows: G::Buffer<u16>,
    starts: G::Buffer<u64>,
    starts_before: G::Buffer<u32>,
    fragments: G::Buffer<u32>,
    closed: G::Buffer<u32>,
    fragment_nodes_before: G::Buffer<u16>,
    closed_nodes_before: G::Buffer<u16>,
    sides: G::Buffer<u16>,
    points: G::Buffer<u32>,
    links: G::Buffer<u32>,
    segment_links: G::Buffer<u32>,
    other_segment_links: G::Buffer<u32>,
    segments: G::Buffer<u32>,
    fragment_borders: G::Buffer<u32>,
    fragment_points_left: G::Buffer<u32>,
    closed_borders: G::Buffer<u32>,
    turns: G::Buffer<u32>,
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

impl<G: Gpu> Arena<G> {
    /// Memory for an image, with counters that are 0: `old`, if it fits.
    pub(super) fn ready(
        gpu: &G,
        raster: Raster,
        images: Images,
        joining: Joining,
        capacities: Capacities,
        old: Option<Self>,
    ) -> Result<Self> {
        if let Some(mut old) = old
            // planted: arena-size
            && (old.raster, old.images, old.joining) == (raster, images, joining)
            && capacities.fit(&old.capacities)
        {
            // planted: arena-counters
            old.counters.fill(0)?;
            return Ok(old);
        }
        let Capacities {
            fragments,
            closed,
            sides,
            points,
        } = capacities;
        let words = raster.words() as usize;
        let tiles = tiles(raster) as usize;
        // About the number of blocks that are resident at once.
        let few = gpu
            .resident_blocks(&follow_few_tiles::SPEC, 0)?
            .saturating_mul(2);
        let (join, link_words) = if joining.wide_keys {
            (&join_wide_fragments::SPEC, WIDE_LINK_WORDS)
        } else {
            (&join_fragments::SPEC, 4)
        };
        let resident = gpu.resident_blocks(join, 0)?;
        let blocks = cooperative_blocks(gpu, resident, raster);
        let borders = capacities.borders();
        let segments = most_segments(fragments) as usize;
        let (fragments, closed) = (fragments as usize, closed as usize);
        Ok(Self {
            raster,
            images,
            joining,
            capacities,
            blocks,
            few_tiles: tiles <= few as usize,
            counters: gpu.alloc_zeroed(counter::COUNT as usize)?,
            found: BorderBuffers::new(gpu, borders)?,
            arranger: Arranger::new(gpu, raster, borders, images.count)?,
            image_offsets: gpu.alloc(match images.count {
                1 => 0,
                several => several as usize + 1,
            })?,
            barrier: gpu.alloc_zeroed(1)?,
            // planted: arena-block-sums
            block_sums: gpu.alloc(blocks as usize)?,
            tiles: gpu.alloc(tiles * tile_record::WORDS as usize)?,
            dense: gpu.alloc(tiles)?,
            rows: gpu.alloc(tiles * TILE_HEIGHT as usize)?,
            starts: gpu.alloc(tiles * TILE_HEIGHT as usize)?,
            starts_before: gpu.alloc(words)?,
            fragments: gpu.alloc(4 * fragments)?,
            closed: gpu.alloc(2 * closed)?,
            fragment_nodes_before: gpu.alloc(fragments)?,
            closed_nodes_before: gpu.alloc(closed)?,
            sides: gpu.alloc(sides as usize)?,
            points: gpu.alloc(points as usize)?,
            links: gpu.alloc(link_words * fragments)?,
            segment_links: gpu.alloc(link_words * fragments)?,
            other_segment_links: gpu.alloc(link_words * segments)?,
            segments: gpu.alloc(4 * segments)?,
            fragment_borders: gpu.alloc(fragments)?,
            fragment_points_left: gpu.alloc(fragments)?,
            closed_borders: gpu.alloc(closed)?,
            turns: gpu.alloc(borders as usize)?,
        })
    }

    /// The bytes of its memory.
    pub(in crate::trace::gpu) fn bytes(&self) -> u64 {
        let Self {
            raster: _,
            images: _,
            joining: _,
            capacities: _,
            blocks: _,
            few_tiles: _,
            counters,
            found,
            arranger,
            image_offsets,
            barrier,
            block_sums,
            tiles,
            dense,
            rows,
            starts,
            starts_before,
            fragments,
            closed,
            fragment_nodes_before,
            closed_nodes_before,
            sides,
            points,
            links,
            segment_links,
            other_segment_links,
            segments,
            fragment_borders,
            fragment_points_left,
            closed_borders,
            turns,
        } = self;
        let of_32_bits = [
            counters,
            image_offsets,
            barrier,
            block_sums,
            tiles,
            dense,
            starts_before,
            fragments,
            closed,
            points,
            links,
            segment_links,
            other_segment_links,
            segments,
            fragment_borders,
            fragment_points_left,
            closed_borders,
            turns,
        ];
        let of_16_bits = [rows, fragment_nodes_before, closed_nodes_before, sides];
        of_32_bits.map(GpuBuffer::bytes).iter().sum::<u64>()
            + of_16_bits.map(GpuBuffer::bytes).iter().sum::<u64>()
            + starts.bytes()
            + found.bytes()
            + arranger.bytes()
    }

    /// For kernels to use.
    pub(super) fn views(&mut self) -> Views<'_> {
        let starts_before = self.starts_before.view_mut();
        let parts = Parts {
            counters: self.counters.view_mut(),
            tiles: self.tiles.view_mut(),
            dense: self.dense.view_mut(),
            rows: self.rows.view_mut(),
            starts: self.starts.view_mut(),
            starts_before,
            fragments: self.fragments.view_mut(),
            closed: self.closed.view_mut(),
            fragment_nodes_before: self.fragment_nodes_before.view_mut(),
            closed_nodes_before: self.closed_nodes_before.view_mut(),
            sides: self.sides.view_mut(),
            points: self.points.view_mut(),
        };
        let chains = Chains {
            barrier: GridBarrier {
                counter: self.barrier.view_mut(),
            },
            block_sums: self.block_sums.view_mut(),
            links: self.links.view_mut(),
            segment_links: self.segment_links.view_mut(),
            other_segment_links: self.other_segment_links.view_mut(),
            segments: self.segments.view_mut(),
            few: self.joining.few_fragments,
            fragment_borders: self.fragment_borders.view_mut(),
            fragment_points_left: self.fragment_points_left.view_mut(),
            closed_borders: self.closed_borders.view_mut(),
            turns: self.turns.view_mut(),
        };
        Views {
            parts,
            chains,
            borders: self.found.view_mut(),
            places: self.arranger.places.view(),
            stack: stack(
                self.raster,
                self.images,
                starts_before.as_view(),
                &mut self.image_offsets,
            ),
        }
    }

    /// Puts the borders that were found into order.
    pub(super) fn arrange(&mut self, gpu: &G, retrieval: Retrieval) -> Result<()> {
        let found = self.found.view_mut();
        let stack = stack(
            self.raster,
            self.images,
            self.starts_before.view(),
            &mut self.image_offsets,
        );
        self.arranger
            .arrange(gpu, &mut self.counters, stack, found, retrieval)
    }

    /// Writes the rows of the result. `counts` holds the counters' values.
    pub(super) fn finish(&mut self, gpu: &G, counts: &[u32]) -> Result<Arranged<G>> {
        let found = self.found.view_mut();
        let stack = stack(
            self.raster,
            self.images,
            self.starts_before.view(),
            &mut self.image_offsets,
        );
        self.arranger
            .finish(gpu, &self.counters, counts, stack, found)
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
        offsets: offsets.view_mut(),
    }
}
