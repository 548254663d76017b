//! Borders by fragments.
//!
//! | file | stages | kernels of `trazar_kernels::trace::fragments` |
//! |---|---|---|
//! | this file | fragments of tiles, joined to borders; the points | `follow`, `join`, `write` |
//! | `arena.rs` | the memory that they work in | |

mod arena;

use trazar_kernels::trace::fragments::follow::follow_tiles;
use trazar_kernels::trace::fragments::join::join_fragments;
use trazar_kernels::trace::fragments::write::place_points;
use trazar_kernels::trace::fragments::{counter, tiles};

use super::{Arranged, Found, Work};
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer};

pub(super) use arena::{Arena, Capacities};

/// The borders of an image, in order of discovery, and what their points are written from.
pub(super) struct FragmentBorders<G: Gpu> {
    pub(super) found: Found<G>,
    arena: Arena<G>,
}

/// Finds all borders. `arena` is memory to work in, from an earlier image perhaps.
pub(super) fn find<G: Gpu>(
    work: &Work<'_, G>,
    arena: Option<Arena<G>>,
    queued: &mut dyn FnMut(&'static str) -> Result<()>,
) -> Result<FragmentBorders<G>> {
    let Work { gpu, raster, .. } = *work;
    let on = &gpu.launcher();
    let mut capacities = Capacities::guess(raster);
    let mut arena = arena;
    loop {
        let mut memory = Arena::ready(gpu, raster, capacities, arena.take())?;
        let mut found = Found::new(gpu, memory.capacities.borders())?;
        // SAFETY: the arena has the lengths that the kernels ask for, which run in their order; the
        // image is acquired.
        unsafe {
            follow_tiles::launch(
                on,
                tiles(raster),
                work.image(),
                work.approximation,
                memory.parts(),
            )?;
        }
        queued("fragments")?;
        let blocks = memory.blocks;
        let (parts, chains) = memory.parts_and_chains();
        // SAFETY: as above.
        unsafe {
            join_fragments::launch(on, blocks, work.image(), parts, chains, found.view_mut())?;
        }
        let counts = memory.counters.to_vec()?;
        queued("joining")?;
        let needed = Capacities::needed(&counts);
        if needed.fit(&memory.capacities) {
            found.count = counts[counter::BORDERS as usize];
            return Ok(FragmentBorders {
                found,
                arena: memory,
            });
        }
        capacities = needed;
        drop(memory);
    }
}

/// Writes the points of the borders that are kept. Gives the arena back.
pub(super) fn write<G: Gpu>(
    work: &Work<'_, G>,
    borders: FragmentBorders<G>,
    arranged: &Arranged<G>,
) -> Result<(G::Buffer<i32>, Arena<G>)> {
    let gpu = work.gpu;
    let mut arena = borders.arena;
    let mut points = gpu.alloc(arranged.points as usize * 2)?;
    if arranged.points > 0 {
        let (parts, chains) = arena.parts_and_chains();
        // SAFETY: these are what `find` has made of the image; `points` has room for all.
        unsafe {
            place_points::launch(
                &gpu.launcher(),
                tiles(work.raster),
                work.raster,
                work.geometry,
                parts,
                chains,
                arranged.destination(&mut points),
            )?;
        }
    }
    Ok((points, arena))
}
