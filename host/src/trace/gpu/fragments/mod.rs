//! Borders by fragments.
//!
//! | file | stages | kernels of `trazar_kernels::trace::fragments` |
//! |---|---|---|
//! | this file | fragments of tiles, joined to borders; the points | `follow`, `join`, `write` |
//! | `arena.rs` | the memory that they work in | |
//!
//! The host waits once, for the sizes of the result. An image that follows another one is expected
//! to have about as many contours and points, and its result is written before the host waits.

mod arena;

use trazar_kernels::trace::borders::{Destination, count};
use trazar_kernels::trace::fragments::before::find_sides_before;
use trazar_kernels::trace::fragments::follow::{
    follow_dense_tiles, follow_dense_tiles_along_edges, follow_few_tiles, follow_tiles,
};
use trazar_kernels::trace::fragments::join::{join_fragments, join_wide_fragments};
use trazar_kernels::trace::fragments::key::is_wide;
use trazar_kernels::trace::fragments::write::{
    TILES_PER_BLOCK, place_points, place_points_of_dense_tiles,
};
use trazar_kernels::trace::fragments::{TILE_HEIGHT, tiles};
use trazar_kernels::trace::options::Geometry;

use super::hierarchy::ResultSize;
use super::{Arranged, Work};
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer};
use crate::trace::Retrieval;

pub(super) use arena::{Arena, Images, Joining};
use arena::{Found, Views};
pub(super) use arena::{guess, needed};

/// The result, and the memory that it was found in.
pub(super) struct Traced<G: Gpu> {
    pub(super) arranged: Arranged<G>,
    pub(super) points: G::Buffer<i32>,
    /// For several images, the number of contours before each image, then the total.
    pub(super) image_offsets: Vec<u32>,
    pub(super) arena: Arena<G>,
}

/// Traces the borders of images. `arena` is memory to work in, perhaps from an earlier call.
pub(super) fn trace<G: Gpu>(
    work: &Work<'_, G>,
    images: Images,
    retrieval: Retrieval,
    arena: Option<Arena<G>>,
    queued: &mut dyn FnMut(&'static str) -> Result<()>,
) -> Result<Traced<G>> {
    let Work { gpu, raster, .. } = *work;
    let joining = Joining {
        wide_keys: work.joining.wide_keys || is_wide(raster),
        ..work.joining
    };
    let mut sizes = guess(raster, TILE_HEIGHT);
    let mut arena = arena;
    loop {
        let mut memory = Arena::ready(gpu, images, joining, sizes, arena.take())?;
        find(work, &mut memory, queued)?;
        let expected = memory.last.take().and_then(Found::expected);
        let few = memory.arrange(gpu, retrieval, expected)?;
        queued("order and hierarchy")?;
        // The result is written before the host knows its size, as if it were no larger than
        // expected. If it is, the kernels write nothing.
        let early = expected.map(|room| write(work, &mut memory, room));
        let early = early.transpose()?;
        let mut counts = memory.parts.counters.to_vec()?;
        let needed = needed(raster, TILE_HEIGHT, &counts)?;
        // planted: arena-second-run
        if !needed.fit(&memory.sizes) {
            sizes = memory.sizes.max(needed);
            continue;
        }
        if few.is_some_and(|room| counts[count::BORDERS as usize] > room) {
            memory.arrange(gpu, retrieval, None)?;
            counts = memory.parts.counters.to_vec()?;
        }
        let found = Found::of(&counts);
        let mut written = match early {
            Some(early) if early.has_room_for(found.result) => early,
            _ => write(work, &mut memory, found)?,
        };
        written.truncate(found.result);
        queued("points")?;
        memory.last = Some(found);
        return Ok(Traced {
            arranged: written.arranged,
            points: written.points,
            image_offsets: memory.image_offsets.to_vec()?,
            arena: memory,
        });
    }
}

/// The result as it was written, perhaps with more room than it takes, or too little.
struct Written<G: Gpu> {
    arranged: Arranged<G>,
    points: G::Buffer<i32>,
}

impl<G: Gpu> Written<G> {
    /// Whether there is room for a result of this size.
    fn has_room_for(&self, size: ResultSize) -> bool {
        let Arranged { kinds, points, .. } = &self.arranged;
        size.contours as usize <= kinds.len() && size.points <= *points
    }

    /// Forgets what the result does not take.
    fn truncate(&mut self, size: ResultSize) {
        self.arranged.truncate(size);
        self.points.truncate(2 * size.points as usize);
    }
}

/// For each of some starts, the place of the border that passes the side before it, and which of
/// its points comes first after it has come to that tile: see [`find_sides_before`]. `traced` is
/// what has been found over centers, of which all borders are kept.
pub(super) fn sides_before<G: Gpu>(
    work: &Work<'_, G>,
    traced: &mut Traced<G>,
    starts: &[u64],
) -> Result<Vec<u32>> {
    if starts.is_empty() {
        return Ok(Vec::new());
    }
    let gpu = work.gpu;
    let uploaded = gpu.upload(starts)?;
    let mut before = gpu.alloc(2 * starts.len())?;
    let Views {
        parts,
        chains,
        places,
        ..
    } = traced.arena.views();
    let destination = Destination {
        places,
        offsets: traced.arranged.offsets.view(),
        points: traced.points.view_mut(),
    };
    // SAFETY: the arena is as it was when the image was traced.
    unsafe {
        find_sides_before::launch_threads(
            &gpu.launcher(),
            starts.len() as u32,
            work.image(),
            work.approximation,
            parts,
            chains,
            destination,
            uploaded.view(),
            before.view_mut(),
        )?;
    }
    before.to_vec()
}

/// Finds all borders, if what is found fits the arena.
fn find<G: Gpu>(
    work: &Work<'_, G>,
    memory: &mut Arena<G>,
    queued: &mut dyn FnMut(&'static str) -> Result<()>,
) -> Result<()> {
    /// Resident blocks per multiprocessor for tiles with many nodes. More blocks would start only
    /// when these end, and leave multiprocessors idle at the tail.
    const DENSE_BLOCKS: u32 = 4;
    let Work { gpu, raster, .. } = *work;
    let on = &gpu.launcher();
    let all = tiles(raster);
    let dense = all.min(gpu.multiprocessors() * DENSE_BLOCKS);
    let (image, approximation) = (work.image(), work.approximation);
    let few_tiles = memory.few_tiles;
    // SAFETY: the arena has the lengths that the kernels ask for, which run in their order; the
    // image is acquired.
    unsafe {
        let parts = memory.views().parts;
        if few_tiles {
            follow_few_tiles::launch(on, all, image, approximation, parts)?;
        } else {
            follow_tiles::launch(on, all, image, approximation, parts)?;
        }
        let follow_dense = match work.geometry {
            Geometry::Centers => follow_dense_tiles::launch,
            Geometry::Edges => follow_dense_tiles_along_edges::launch,
        };
        follow_dense(on, dense, image, approximation, parts)?;
    }
    queued("fragments")?;
    let (blocks, wide) = (memory.blocks, memory.joining.wide_keys);
    let views = memory.views();
    // SAFETY: as above.
    unsafe {
        let join = if wide {
            join_wide_fragments::launch
        } else {
            join_fragments::launch
        };
        let Views { parts, chains, .. } = views;
        join(
            on,
            blocks,
            image,
            approximation,
            parts,
            chains,
            views.borders,
        )?;
    }
    queued("joining")
}

/// Writes the result, which has room for `expected`: nothing if there is more.
fn write<G: Gpu>(work: &Work<'_, G>, memory: &mut Arena<G>, expected: Found) -> Result<Written<G>> {
    /// Points are written by the kernel for dense tiles if more than one tile in this many is
    /// dense.
    const DENSE_SHARE: u32 = 4;
    let gpu = work.gpu;
    let arranged = memory.finish(gpu, expected.result)?;
    let mut points = gpu.alloc(arranged.points as usize * 2)?;
    if arranged.points > 0 {
        let views = memory.views();
        let destination = Destination {
            places: views.places,
            offsets: arranged.offsets.view(),
            points: points.view_mut(),
        };
        let all = tiles(work.raster);
        let are_dense = expected.dense > all / DENSE_SHARE;
        let tiles_per_block = if are_dense { 1 } else { TILES_PER_BLOCK };
        // SAFETY: `find` has made these from the image, and `Arena::arrange` the places.
        unsafe {
            let place = if are_dense {
                place_points_of_dense_tiles::launch
            } else {
                place_points::launch
            };
            place(
                &gpu.launcher(),
                // planted: fragment-grid
                all.div_ceil(tiles_per_block),
                work.raster,
                views.stack,
                work.geometry,
                views.parts,
                views.chains,
                destination,
            )?;
        }
    }
    Ok(Written { arranged, points })
}
