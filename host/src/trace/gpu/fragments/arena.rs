//! The memory that fragments are found and joined in.

use trazar_kernels::trace::fragments::follow::tile_record;
use trazar_kernels::trace::fragments::join::{Chains, MOST_ROUNDS, join_fragments};
use trazar_kernels::trace::fragments::{Parts, TILE_HEIGHT, counter, tiles};
use trazar_kernels::trace::pixels::Raster;

use crate::Result;
use crate::gpu::{Gpu, GpuBuffer};

/// Numbers of elements for which there is memory, or of those that were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace::gpu) struct Capacities {
    fragments: u32,
    closed: u32,
    sides: u32,
    points: u32,
}

impl Capacities {
    /// What will do for most images.
    pub(super) fn guess(raster: Raster) -> Self {
        let tiles = tiles(raster);
        let each = |per_tile: u32| tiles.saturating_mul(per_tile).max(16 * per_tile);
        Self {
            fragments: each(24),
            closed: each(16),
            sides: each(192),
            points: each(192),
        }
    }

    /// What an image needs, by its counters.
    pub(super) fn needed(counts: &[u32]) -> Self {
        let count = |counter: u32| counts[counter as usize];
        Self {
            fragments: count(counter::FRAGMENTS),
            closed: count(counter::CLOSED),
            sides: count(counter::SIDES),
            points: count(counter::POINTS),
        }
    }

    /// Whether `other` is enough for these.
    pub(super) fn fit(&self, other: &Self) -> bool {
        self.fragments <= other.fragments
            && self.closed <= other.closed
            && self.sides <= other.sides
            && self.points <= other.points
    }

    /// The most borders.
    pub(super) fn borders(&self) -> u32 {
        self.fragments.saturating_add(self.closed)
    }
}

/// Memory for images of one size, which is kept from one image to the next.
#[derive(Debug)]
pub(in crate::trace::gpu) struct Arena<G: Gpu> {
    raster: Raster,
    pub(super) capacities: Capacities,
    /// Blocks of the cooperative launch.
    pub(super) blocks: u32,
    /// The counters, the grid's barrier, and what was learned in each round: all 0 at first.
    pub(super) counters: G::Buffer<u32>,
    barrier: G::Buffer<u32>,
    learned: G::Buffer<u32>,
    block_sums: G::Buffer<u32>,
    tiles: G::Buffer<u32>,
    rows: G::Buffer<u16>,
    starts: G::Buffer<u64>,
    starts_before: G::Buffer<u32>,
    fragments: G::Buffer<u32>,
    closed: G::Buffer<u32>,
    sides: G::Buffer<u16>,
    points: G::Buffer<u32>,
    links: G::Buffer<u32>,
    other_links: G::Buffer<u32>,
    fragment_borders: G::Buffer<u32>,
    fragment_points_left: G::Buffer<u32>,
    closed_borders: G::Buffer<u32>,
    turns: G::Buffer<u32>,
}

impl<G: Gpu> Arena<G> {
    /// Memory for an image, with counters that are 0: `old`, if that will do.
    pub(super) fn ready(
        gpu: &G,
        raster: Raster,
        capacities: Capacities,
        old: Option<Self>,
    ) -> Result<Self> {
        if let Some(mut old) = old
            && old.raster == raster
            && capacities.fit(&old.capacities)
        {
            old.counters.fill(0)?;
            old.barrier.fill(0)?;
            old.learned.fill(0)?;
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
        let blocks = gpu.multiprocessors();
        let (fragments, closed) = (fragments as usize, closed as usize);
        Ok(Self {
            raster,
            capacities,
            blocks,
            counters: gpu.alloc_zeroed(counter::COUNT)?,
            barrier: gpu.alloc_zeroed(1)?,
            learned: gpu.alloc_zeroed(MOST_ROUNDS as usize)?,
            block_sums: gpu.alloc(blocks as usize)?,
            tiles: gpu.alloc(tiles * tile_record::WORDS as usize)?,
            rows: gpu.alloc(tiles * TILE_HEIGHT as usize)?,
            starts: gpu.alloc(2 * words)?,
            starts_before: gpu.alloc(words)?,
            fragments: gpu.alloc(4 * fragments)?,
            closed: gpu.alloc(2 * closed)?,
            sides: gpu.alloc(sides as usize)?,
            points: gpu.alloc(points as usize)?,
            links: gpu.alloc(4 * fragments)?,
            other_links: gpu.alloc(4 * fragments)?,
            fragment_borders: gpu.alloc(fragments)?,
            fragment_points_left: gpu.alloc(fragments)?,
            closed_borders: gpu.alloc(closed)?,
            turns: gpu.alloc(fragments + closed)?,
        })
    }

    /// For kernels to use.
    pub(super) fn parts_and_chains(&mut self) -> (Parts<'_>, Chains<'_>) {
        let parts = Parts {
            counters: self.counters.view_mut(),
            tiles: self.tiles.view_mut(),
            rows: self.rows.view_mut(),
            starts: self.starts.view_mut(),
            starts_before: self.starts_before.view_mut(),
            fragments: self.fragments.view_mut(),
            closed: self.closed.view_mut(),
            sides: self.sides.view_mut(),
            points: self.points.view_mut(),
        };
        let chains = Chains {
            barrier: self.barrier.view_mut(),
            learned: self.learned.view_mut(),
            block_sums: self.block_sums.view_mut(),
            links: self.links.view_mut(),
            other_links: self.other_links.view_mut(),
            fragment_borders: self.fragment_borders.view_mut(),
            fragment_points_left: self.fragment_points_left.view_mut(),
            closed_borders: self.closed_borders.view_mut(),
            turns: self.turns.view_mut(),
        };
        (parts, chains)
    }

    /// What the first stage fills.
    pub(super) fn parts(&mut self) -> Parts<'_> {
        self.parts_and_chains().0
    }
}
