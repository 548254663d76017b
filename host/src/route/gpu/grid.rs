//! Grids in a GPU's memory: in tiles, and row by row.

use trazar_kernels::route::tiles::{self, TILE, TiledGrid, Tiling};
use trazar_kernels::route::{GridSize, MAX_CELLS, RowGrid};

use crate::error::{Error, Result};
use crate::geometry::Window;
use crate::gpu::{Gpu, GpuBuffer, Lent, ViewMut};
use crate::memory::{with_room, zeroed_vec};
use crate::route::grid::{BLOCKED, RoutingGrid};
use crate::route::net::Net;

/// The most slots of one launch: labels and the cells of paths have 32-bit indices.
const MAX_SLOTS: u64 = (1 << 20) - (1 << 10);

/// Name used in out-of-memory errors.
const GRID: &str = "a part of the grid";

/// A routing grid in a GPU's memory, laid out in tiles.
#[derive(Debug)]
pub struct DeviceGrid<G: Gpu> {
    tiling: Tiling,
    right: G::Buffer<u32>,
    down: G::Buffer<u32>,
    via: G::Buffer<u32>,
    /// Whether some edge costs nothing.
    has_free_edges: bool,
    /// See [`DeviceGrid::evenness`].
    evenness: f32,
}

impl<G: Gpu> DeviceGrid<G> {
    /// Copies `grid` to the memory of `gpu`, and waits for the copy. It takes 8 bytes per cell
    /// there, 12 with several layers, and during the copy a quarter more where all weights are from
    /// 1 to 255 or [`BLOCKED`], which travel as bytes; otherwise twice as much.
    ///
    /// # Errors
    /// [`Error::GridTooLarge`] past 2³² - 2²² cells, including padding of tiles; `Error::Cuda`,
    /// [`Error::Emulator`].
    pub fn upload(gpu: &G, grid: &RoutingGrid) -> Result<Self> {
        let tiling = Tiling::new(grid.width(), grid.height(), grid.layers());
        if tiling.tiles() > MAX_SLOTS {
            return Err(too_large(grid));
        }
        match Self::upload_bytes(gpu, grid, tiling)? {
            Some(uploaded) => Ok(uploaded),
            None => Self::upload_words(gpu, grid, tiling),
        }
    }

    /// A grid whose weights all fit in bytes; `None` for any other.
    fn upload_bytes(gpu: &G, grid: &RoutingGrid, tiling: Tiling) -> Result<Option<Self>> {
        let arrays = [grid.rights(), grid.downs(), grid.vias()];
        let len = arrays.iter().map(|weights| weights.len()).sum();
        let write = |start: usize, bytes: &mut [u8]| write_weights(&arrays, start, bytes);
        let Some(bytes) = gpu.upload_computed(len, write)? else {
            return Ok(None);
        };
        let mut first = 0;
        let mut lay_out = |weights: &[u32]| {
            let rows = bytes.view_of(first..first + weights.len());
            first += weights.len();
            in_tiles(gpu, tiling, weights, |threads, tiles| {
                // SAFETY: one byte per cell, room for each cell of a tile, and one thread per four
                // of them.
                unsafe {
                    tiles::lay_out_bytes::launch_threads(
                        &gpu.launcher(),
                        threads,
                        rows,
                        tiles,
                        tiling,
                    )
                }
            })
        };
        let [right, down, via] = arrays;
        Ok(Some(Self {
            tiling,
            right: lay_out(right)?,
            down: lay_out(down)?,
            via: lay_out(via)?,
            has_free_edges: false,
            evenness: evenness(grid),
        }))
    }

    fn upload_words(gpu: &G, grid: &RoutingGrid, tiling: Tiling) -> Result<Self> {
        let mut has_free = gpu.alloc_zeroed(1)?;
        let mut lay_out = |weights: &[u32]| {
            in_tiles(gpu, tiling, weights, |threads, tiles| {
                let rows = gpu.upload(weights)?;
                // SAFETY: one weight per cell, room for each cell of a tile, and one thread per
                // four of them.
                unsafe {
                    tiles::lay_out_weights::launch_threads(
                        &gpu.launcher(),
                        threads,
                        rows.view(),
                        tiles,
                        has_free.view_mut(),
                        tiling,
                    )
                }
            })
        };
        Ok(Self {
            tiling,
            right: lay_out(grid.rights())?,
            down: lay_out(grid.downs())?,
            via: lay_out(grid.vias())?,
            has_free_edges: has_free.to_vec()? != [0],
            evenness: evenness(grid),
        })
    }

    /// Width in cells.
    pub fn width(&self) -> u32 {
        self.tiling.width
    }

    /// Height in cells.
    pub fn height(&self) -> u32 {
        self.tiling.height
    }

    /// The number of layers.
    pub fn layers(&self) -> u32 {
        self.tiling.layers
    }

    /// The same grid with weight 1 for every edge that is not blocked.
    pub(super) fn with_steps(&self, gpu: &G) -> Result<Self> {
        let steps = |weights: &G::Buffer<u32>| {
            let mut steps = weights.to_vec()?;
            for step in steps.iter_mut().filter(|step| **step != BLOCKED) {
                *step = 1;
            }
            gpu.upload(&steps)
        };
        Ok(Self {
            tiling: self.tiling,
            right: steps(&self.right)?,
            down: steps(&self.down)?,
            via: steps(&self.via)?,
            has_free_edges: false,
            evenness: 1.0,
        })
    }

    /// The windows of nets on the grid; refuses nets outside it.
    pub(super) fn windows(&self, nets: &[Net]) -> Result<Vec<Window>> {
        Net::check_all(nets, self.width(), self.height(), self.layers())
    }

    /// Lets later launches on `gpu` use it.
    pub(super) fn using<'a>(&'a self, gpu: &'a G) -> Result<[Lent<'a, G, u32>; 3]> {
        Ok([
            gpu.using(&self.right)?,
            gpu.using(&self.down)?,
            gpu.using(&self.via)?,
        ])
    }

    /// A copy of a part of the grid, which has one layer.
    pub(super) fn part(&self, window: Window) -> Result<RoutingGrid> {
        let Window {
            x,
            y,
            width,
            height,
        } = window;
        let (columns, rows) = (self.tiling.columns(), self.tiling.rows());
        let (left, above) = (x / columns, y / rows);
        // The tiles of a row of tiles that the part needs, and all their cells.
        let tiles_x = (x + width).div_ceil(columns) - left;
        let row_of_tiles = tiles_x as usize * TILE as usize;
        let cells_of = |weights: &G::Buffer<u32>, width: u32, height: u32| {
            let tiles_y = (y + height).div_ceil(rows) - above;
            let mut tiles = zeroed_vec(tiles_y as usize * row_of_tiles, GRID)?;
            for (tile_y, row) in (above..).zip(tiles.chunks_exact_mut(row_of_tiles)) {
                let tile = tile_y as usize * self.tiling.tiles_x as usize + left as usize;
                weights.read_at(tile * TILE as usize, row)?;
            }
            let mut cells = with_room(width as usize * height as usize, GRID)?;
            for y in y..y + height {
                let row = &tiles[(y / rows - above) as usize * row_of_tiles..][..row_of_tiles];
                let mut at = x;
                while at < x + width {
                    let next = (at / columns + 1) * columns;
                    let tile = (at / columns - left) as usize * TILE as usize;
                    let start = tile + self.tiling.place(at, y, 0) as usize;
                    let count = next.min(x + width) - at;
                    cells.extend_from_slice(&row[start..][..count as usize]);
                    at += count;
                }
            }
            Ok::<Vec<u32>, Error>(cells)
        };
        let right = cells_of(&self.right, width - 1, height)?;
        let down = cells_of(&self.down, width, height - 1)?;
        RoutingGrid::from_edges(width, height, &right, &down)
    }

    /// Its layout.
    pub(super) fn tiling(&self) -> Tiling {
        self.tiling
    }

    /// Whether some edge costs nothing.
    pub(super) fn has_free_edges(&self) -> bool {
        self.has_free_edges
    }

    /// The ratio of the least to the greatest weight of edges within a layer, estimated from a few
    /// edges; 1 if all weigh the same.
    pub(super) fn evenness(&self) -> f32 {
        self.evenness
    }

    /// The grid, as the kernels take it.
    pub(super) fn tiled(&self) -> TiledGrid<'_> {
        TiledGrid {
            right: self.right.view(),
            down: self.down.view(),
            via: self.via.view(),
            tiling: self.tiling,
        }
    }
}

/// An array in tiles of as many weights as the tiling has cells, none if none are given. `lay_out`
/// fills it by the given number of threads, one for each four.
fn in_tiles<G: Gpu>(
    gpu: &G,
    tiling: Tiling,
    weights: &[u32],
    lay_out: impl FnOnce(usize, ViewMut<'_, u32>) -> Result<()>,
) -> Result<G::Buffer<u32>> {
    if weights.is_empty() {
        return gpu.alloc(0);
    }
    let len = tiling.tiles() as usize * TILE as usize;
    let mut tiles = gpu.alloc(len)?;
    lay_out(len / 4, tiles.view_mut())?;
    Ok(tiles)
}

/// See [`DeviceGrid::evenness`].
fn evenness(grid: &RoutingGrid) -> f32 {
    const SAMPLES: usize = 64;
    let (mut least, mut most) = (BLOCKED, 0);
    for weights in [grid.rights(), grid.downs()] {
        // Odd, so that the samples are not all from the same few columns.
        let step = weights.len().div_ceil(SAMPLES) | 1;
        for &weight in weights.iter().step_by(step) {
            if weight != BLOCKED {
                (least, most) = (least.min(weight), most.max(weight));
            }
        }
    }
    if least < most {
        least as f32 / most as f32
    } else {
        1.0
    }
}

/// Writes the weights of all arrays, one after the other, as bytes, from number `start` on. Returns
/// `false` if some do not fit.
fn write_weights(arrays: &[&[u32]], mut start: usize, mut bytes: &mut [u8]) -> bool {
    for weights in arrays {
        let skipped = start.min(weights.len());
        let weights = &weights[skipped..];
        let (now, later) = bytes.split_at_mut(weights.len().min(bytes.len()));
        if !write_bytes(weights, now) {
            return false;
        }
        start -= skipped;
        bytes = later;
    }
    true
}

/// Writes weights from 1 to 255 as bytes, one less than each, and [`BLOCKED`] as 255. Returns
/// `false` if there are others.
fn write_bytes(weights: &[u32], bytes: &mut [u8]) -> bool {
    let mut fit = true;
    for (byte, &weight) in bytes.iter_mut().zip(weights) {
        let less = weight.wrapping_sub(1);
        *byte = less.min(u8::MAX.into()) as u8;
        fit &= (less < u8::MAX.into()) | (weight == BLOCKED);
    }
    fit
}

fn too_large(grid: &RoutingGrid) -> Error {
    Error::GridTooLarge {
        width: grid.width().into(),
        height: grid.height().into(),
        layers: grid.layers(),
        limit: "the GPU numbers 2³² - 2²² cells in tiles at most; route on the CPU, or give each \
                net a window",
    }
}

/// The weights of a grid in a GPU's memory, row by row.
pub(super) struct Rows<G: Gpu> {
    pub(super) size: GridSize,
    right: G::Buffer<u32>,
    down: G::Buffer<u32>,
    /// Empty if there is one layer.
    via: G::Buffer<u32>,
    pub(super) has_free_edges: bool,
}

impl<G: Gpu> Rows<G> {
    pub(super) fn upload(gpu: &G, grid: &RoutingGrid) -> Result<Self> {
        let (width, height, layers) = (grid.width(), grid.height(), grid.layers());
        if grid.cell_count() > MAX_CELLS {
            return Err(Error::GridTooLarge {
                width: width.into(),
                height: height.into(),
                layers,
                limit: "on the GPU, a grid has at most 2³¹ cells; route on the CPU, or within \
                        windows",
            });
        }
        Ok(Self {
            size: GridSize {
                width,
                height,
                layers,
            },
            right: gpu.upload(grid.rights())?,
            down: gpu.upload(grid.downs())?,
            via: gpu.upload(grid.vias())?,
            has_free_edges: grid.has_free_edges(),
        })
    }

    /// The grid, as the kernels take it.
    pub(super) fn view(&self) -> RowGrid<'_> {
        RowGrid {
            right: self.right.view(),
            down: self.down.view(),
            via: self.via.view(),
            size: self.size,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::Emulator;

    /// In pieces of any size, which may end within an array.
    #[test]
    fn weights_are_written_as_bytes() {
        let [right, down, via] = [&[1, 2, 255][..], &[BLOCKED, 254, 100, 7, 1], &[BLOCKED; 2]];
        let expected = [0, 1, 254, 255, 253, 99, 6, 0, 255, 255];
        for size in 1..=expected.len() {
            let mut bytes = [77; 10];
            for (i, piece) in bytes.chunks_mut(size).enumerate() {
                assert!(write_weights(&[right, down, via], i * size, piece));
            }
            assert_eq!(bytes, expected, "pieces of {size} bytes");
        }
    }

    /// Parts of all sizes, within a tile, across sides of tiles, and the whole grid.
    #[test]
    fn parts_have_the_weights_of_the_grid() {
        let edges = |count: u32, step: u32| (0..count).map(|i| i * step % 1009).collect::<Vec<_>>();
        let (width, height) = (150, 131);
        let right = edges((width - 1) * height, 7);
        let down = edges(width * (height - 1), 11);
        let grid = RoutingGrid::from_edges(width, height, &right, &down).unwrap();
        let uploaded = DeviceGrid::upload(&Emulator::new(0), &grid).unwrap();
        for (x, y, width, height) in [
            (0, 0, 150, 131),
            (0, 0, 1, 1),
            (63, 64, 1, 67),
            (62, 3, 88, 1),
            (64, 64, 64, 64),
            (63, 63, 2, 66),
            (149, 130, 1, 1),
            (5, 60, 140, 9),
        ] {
            let window = Window {
                x,
                y,
                width,
                height,
            };
            let (part, expected) = (uploaded.part(window), grid.crop(window).unwrap());
            let part = part.unwrap();
            assert_eq!(
                part.rights(),
                expected.rights(),
                "{window:?}: not the oracle's"
            );
            assert_eq!(
                part.downs(),
                expected.downs(),
                "{window:?}: not the oracle's"
            );
        }
    }

    #[test]
    fn evenness_is_the_least_weight_per_largest() {
        let grid = |right: [u32; 2], down: [u32; 3]| {
            RoutingGrid::from_edges(3, 2, &right.repeat(2), &down)
        };
        let of = |right, down| evenness(&grid(right, down).unwrap());
        assert_eq!(of([7, 7], [7, 7, 7]), 1.0);
        assert_eq!(of([7, 8], [16, 9, BLOCKED]), 7.0 / 16.0);
        assert_eq!(of([0, 8], [16, 9, 2]), 0.0);
        assert_eq!(of([BLOCKED; 2], [BLOCKED; 3]), 1.0);
        assert_eq!(of([0; 2], [0; 3]), 1.0);
    }

    #[test]
    fn other_weights_are_no_bytes() {
        for weight in [0, 256, 257, 1 << 31, BLOCKED - 1] {
            for at in 0..40 {
                let mut weights = [9; 40];
                weights[at] = weight;
                assert!(!write_bytes(&weights, &mut [0; 40]), "{weight} at {at}");
            }
        }
    }
}
