//! [`TraceAlgorithm::Tiles`](super::TraceAlgorithm::Tiles) with kernels, for any [`Gpu`]: the stages of
//! [`trazar_kernels::contour::tiles`].
//!
//! What the host learns between the kernels is how many there are of vertical sides, fragments, steps, open borders and
//! borders, and allocates as much. At the end it downloads the borders' kinds and what lies before each, arranges them, and
//! sends back where each one's points go.
//!
//! # Memory
//! On the GPU, in bytes: 1.3 a pixel; 8 a vertical side; 1 a step, 60 a fragment and 64 an open one, 17 a border; and 8 a point
//! of the result. Along edges, besides, 4-connected labels: 5.2 a pixel while they are made.

use glam::IVec2;
use trazar_kernels::contour::tiles::{self, BLOCK, Fragment, Grid, NONE, Open, Place, Turns};

use super::chains::{Border, Chains, Nesting, check_count};
use super::contours::BorderKind;
use super::tiles::choose_tiles;
use super::{Approximation, Contours, Geometry, TraceOptions, approximate, hierarchy};
use crate::error::{Result, reserve};
use crate::gpu::{Gpu, GpuBuffer, Scanner};
use crate::label::device::{DeviceImage, DeviceLabeler};
use crate::label::{Connectivity, LabelAlgorithm};
use crate::{BinaryImage, Error};

/// By default, rectangles have at least this many pixels along a side, and fewer than twice as many: a large image then has
/// as many rectangles as a GPU has warps.
const DEFAULT_SIDE: u32 = 64;

/// Traces an image of the host's; the options have been [validated](TraceOptions::validate).
pub(crate) fn trace_host<G: Gpu>(
    gpu: &G,
    image: &BinaryImage,
    options: &TraceOptions,
) -> Result<Contours> {
    trace(gpu, &DeviceImage::upload(gpu, image)?, options)
}

/// Traces; the options have been [validated](TraceOptions::validate).
pub(crate) fn trace<G: Gpu>(
    gpu: &G,
    image: &DeviceImage<G>,
    options: &TraceOptions,
) -> Result<Contours> {
    let (width, height) = (image.width(), image.height());
    let (columns, rows) = choose_tiles(width, height, options.tiles, DEFAULT_SIDE)?;
    let edges = options.geometry == Geometry::Edges;
    let grid = Grid::new(width, height, columns, rows, edges).ok_or(Error::ImageTooLarge {
        width: width.into(),
        height: height.into(),
        limit: "on the GPU, pixels' sides are numbered with 32 bits; trace it on the CPU, or in parts",
    })?;
    let borders = Borders::follow(gpu, image, grid)?;
    borders.contours(options)
}

/// The borders of an image in the memory of a GPU, in order of discovery.
pub(super) struct Borders<G: Gpu> {
    gpu: G,
    grid: Grid,
    /// The codes of their steps, in fragments.
    steps: G::Buffer<u8>,
    fragments: G::Buffer<Fragment>,
    places: G::Buffer<Place>,
    turns: G::Buffer<Turns>,
    /// 0 outer, 1 hole.
    pub(super) kinds: G::Buffer<u8>,
    /// The border that passes the last vertical side before the one where each is discovered, or [`NONE`].
    pub(super) before: G::Buffer<u32>,
    /// The pixel where each is discovered, by its number.
    pub(super) pixels: G::Buffer<u32>,
    /// The number of each one's points, one a step.
    pub(super) lengths: G::Buffer<u32>,
    /// The number of each one's points where it turns.
    pub(super) turn_counts: G::Buffer<u32>,
}

/// Blocks for `threads` threads; a launch needs one at least.
fn blocks(threads: u32) -> u32 {
    threads.div_ceil(BLOCK).max(1)
}

/// Replaces counts by their exclusive prefix sums, and gives the sum of all.
fn scan<G: Gpu>(gpu: &G, counts: &mut G::Buffer<u32>) -> Result<u32> {
    let mut scanner = Scanner::new(gpu, counts.len() as u32)?;
    scanner.scan_in_place(counts)?;
    total(&scanner)
}

fn total<G: Gpu>(scanner: &Scanner<G>) -> Result<u32> {
    let mut total = [0];
    scanner.total().read(&mut total)?;
    Ok(total[0])
}

impl<G: Gpu> Borders<G> {
    /// Follows all borders of `image`, whose grid is `grid`.
    fn follow(gpu: &G, image: &DeviceImage<G>, grid: Grid) -> Result<Self> {
        let on = &gpu.launcher();
        let words = grid.words();
        let tiles = grid.tiles();
        let pixels = grid.width as usize * grid.height as usize;
        gpu.acquire(image.words())?;

        let crossings = if grid.edges == 0 {
            gpu.alloc(0)?
        } else {
            find_crossings(gpu, image, grid)?
        };
        let mut border = gpu.alloc::<u64>(words as usize)?;
        let mut sides_before = gpu.alloc::<u32>(words as usize)?;
        // SAFETY: all buffers have the lengths that the kernel asks for, and are used by this queue alone, which has
        // acquired the image.
        unsafe {
            tiles::border_preprocessing::launch(
                on,
                blocks(words),
                image.words().view(),
                border.view_mut(),
                sides_before.view_mut(),
                grid,
            )?;
        }
        let sides = scan(gpu, &mut sides_before)?;

        let mut marks = gpu.alloc::<u8>(pixels)?;
        marks.fill(1)?;
        let mut first_fragments = gpu.alloc::<u32>(tiles as usize)?;
        let mut first_steps = gpu.alloc::<u32>(tiles as usize)?;
        let mut open_counts = gpu.alloc::<u32>(tiles as usize)?;
        // SAFETY: as above, and the marks are all 1.
        unsafe {
            tiles::track_count::launch(
                on,
                tiles,
                image.words().view(),
                border.view(),
                crossings.view(),
                marks.view_mut(),
                first_fragments.view_mut(),
                first_steps.view_mut(),
                open_counts.view_mut(),
                grid,
            )?;
        }
        let fragment_count = scan(gpu, &mut first_fragments)?;
        let step_count = scan(gpu, &mut first_steps)?;
        let mut first_open = gpu.alloc::<u32>(tiles as usize)?;
        let mut scanner = Scanner::new(gpu, tiles)?;
        scanner.scan(&open_counts, &mut first_open)?;
        let open_count = total(&scanner)? as usize;

        let mut passed_by = gpu.alloc::<u32>(sides as usize)?;
        let mut steps = gpu.alloc::<u8>(step_count as usize)?;
        let mut fragments = gpu.alloc::<Fragment>(fragment_count as usize)?;
        let mut next = gpu.alloc::<u32>(fragment_count as usize)?;
        let mut keys = gpu.alloc::<u32>(fragment_count as usize)?;
        let mut open = gpu.alloc::<Open>(open_count)?;
        // SAFETY: as above: the kernels before have made the marks and the counts, which have been scanned, and the lengths
        // are their sums.
        unsafe {
            tiles::track_write::launch(
                on,
                tiles,
                image.words().view(),
                border.view(),
                crossings.view(),
                marks.view_mut(),
                sides_before.view(),
                first_fragments.view(),
                first_steps.view(),
                first_open.view(),
                passed_by.view_mut(),
                steps.view_mut(),
                fragments.view_mut(),
                next.view_mut(),
                keys.view_mut(),
                open.view_mut(),
                grid,
            )?;
        }
        gpu.release(image.words())?;
        drop((border, marks, crossings));

        let mut joined = gpu.alloc::<Open>(open_count)?;
        let most_entries = grid.stages().map(|stage| grid.entries_len(stage)).max();
        let mut entries = gpu.alloc::<u32>(most_entries.unwrap_or(0))?;
        entries.fill(NONE)?;
        for stage in grid.stages() {
            // SAFETY: the lengths are those that the kernel asks for; stages follow each other as the grid says, with the
            // lists exchanged, and each leaves the entries as they were.
            unsafe {
                tiles::connect::launch(
                    on,
                    grid.pairs(stage),
                    open.view(),
                    joined.view_mut(),
                    first_open.view(),
                    open_counts.view_mut(),
                    entries.view_mut(),
                    next.view_mut(),
                    keys.view_mut(),
                    grid,
                    stage,
                )?;
            }
            std::mem::swap(&mut open, &mut joined);
        }
        drop((open, joined, entries));

        let mut discovered = gpu.alloc_zeroed::<u32>(sides as usize)?;
        // SAFETY: the lengths are those that the kernel asks for, and all is closed.
        unsafe {
            tiles::mark_discoveries::launch(
                on,
                blocks(fragment_count),
                keys.view(),
                discovered.view_mut(),
                fragment_count,
            )?;
        }
        let count = scan(gpu, &mut discovered)?;
        check_count(count as usize)?;
        let borders = count as usize;
        let mut leaders = gpu.alloc::<u32>(borders)?;
        let mut places = gpu.alloc::<Place>(fragment_count as usize)?;
        let mut turns = gpu.alloc::<Turns>(fragment_count as usize)?;
        let mut kinds = gpu.alloc::<u8>(borders)?;
        let mut before = gpu.alloc::<u32>(borders)?;
        let mut pixels = gpu.alloc::<u32>(borders)?;
        let mut lengths = gpu.alloc::<u32>(borders)?;
        let mut turn_counts = gpu.alloc::<u32>(borders)?;
        // SAFETY: an element a fragment or a border each, as the kernels ask for, which follow each other as they ask.
        unsafe {
            tiles::list_borders::launch(
                on,
                blocks(fragment_count),
                keys.view(),
                discovered.view(),
                leaders.view_mut(),
                fragment_count,
            )?;
            tiles::rank_fragments::launch(
                on,
                blocks(count),
                steps.view(),
                fragments.view(),
                next.view(),
                keys.view(),
                leaders.view(),
                places.view_mut(),
                kinds.view_mut(),
                pixels.view_mut(),
                lengths.view_mut(),
                count,
                grid.edges,
            )?;
            tiles::count_turns::launch(
                on,
                blocks(fragment_count),
                steps.view(),
                fragments.view(),
                places.view(),
                turns.view_mut(),
                fragment_count,
            )?;
            tiles::rank_turns::launch(
                on,
                blocks(count),
                fragments.view(),
                next.view(),
                keys.view(),
                leaders.view(),
                places.view(),
                sides_before.view(),
                passed_by.view(),
                turns.view_mut(),
                turn_counts.view_mut(),
                before.view_mut(),
                count,
                grid,
            )?;
        }
        Ok(Self {
            gpu: gpu.clone(),
            grid,
            steps,
            fragments,
            places,
            turns,
            kinds,
            before,
            pixels,
            lengths,
            turn_counts,
        })
    }

    /// The kinds and parents, on the host.
    fn nesting(&self) -> Result<Nesting> {
        let mut nesting = Nesting::default();
        reserve(&mut nesting.kinds, self.kinds.len(), "the borders")?;
        let kinds = self.kinds.to_vec()?;
        nesting.kinds.extend(kinds.iter().map(|&hole| match hole {
            0 => BorderKind::Outer,
            _ => BorderKind::Hole,
        }));
        let before = self.before.to_vec()?;
        nesting.find_parents(|id, _| before[id])?;
        Ok(nesting)
    }

    /// The result, on the host.
    fn contours(&self, options: &TraceOptions) -> Result<Contours> {
        let nesting = self.nesting()?;
        let arrangement = hierarchy::arrange(&nesting, options.retrieval)?;
        let (points, offsets) = match (options.geometry, options.approximation) {
            (Geometry::Centers, Approximation::None) => self.points(&arrangement.order, false)?,
            (Geometry::Edges, _) | (_, Approximation::Simple) => {
                self.points(&arrangement.order, true)?
            }
            (_, dominant @ (Approximation::TehChinL1 | Approximation::TehChinKCos)) => {
                let traced =
                    approximate::points(&self.chains(nesting)?, &arrangement.order, dominant)?;
                (traced.points, traced.offsets)
            }
        };
        Ok(Contours {
            width: self.grid.width,
            height: self.grid.height,
            geometry: options.geometry,
            points,
            offsets,
            kinds: arrangement.kinds,
            hierarchy: hierarchy::link(&arrangement.parents)?,
        })
    }

    /// The points of the borders in `order`, one a step or, if `simple`, where they turn; and where each one's begin.
    fn points(&self, order: &[u32], simple: bool) -> Result<(Vec<IVec2>, Vec<usize>)> {
        let counts = if simple {
            &self.turn_counts
        } else {
            &self.lengths
        };
        let mut places = counts.to_vec()?;
        let counts = places.clone();
        places.fill(NONE);
        let mut offsets = Vec::new();
        reserve(&mut offsets, order.len() + 1, "the contours' offsets")?;
        let mut total = 0u32;
        for &border in order {
            offsets.push(total as usize);
            places[border as usize] = total;
            total += counts[border as usize];
        }
        offsets.push(total as usize);

        let mut points = self.gpu.alloc::<i32>(total as usize * 2)?;
        let places = self.gpu.upload(&places)?;
        let fragments = self.fragments.len() as u32;
        // SAFETY: the kernels have made what is read; there is room for the points of every border that has a place.
        unsafe {
            tiles::write_points::launch(
                &self.gpu.launcher(),
                blocks(fragments),
                self.steps.view(),
                self.fragments.view(),
                self.places.view(),
                self.turns.view(),
                places.view(),
                points.view_mut(),
                fragments,
                simple.into(),
                self.grid,
            )?;
        }
        let mut on_host: Vec<IVec2> = crate::error::zeroed_vec(total as usize, "the points")?;
        points.read(bytemuck::cast_slice_mut(&mut on_host))?;
        Ok((on_host, offsets))
    }

    /// The chains of all borders, on the host.
    fn chains(&self, nesting: Nesting) -> Result<Chains> {
        let pixels = self.pixels.to_vec()?;
        let mut lengths = self.lengths.to_vec()?;
        let turns = self.turn_counts.to_vec()?;
        let mut chains = Chains {
            turns: turns.iter().map(|&turns| turns as usize).sum(),
            nesting,
            ..Chains::default()
        };
        reserve(&mut chains.borders, pixels.len(), "the borders")?;
        // A border of one point has no step: else it has two at least.
        let mut total = 0;
        for (length, &pixel) in lengths.iter_mut().zip(&pixels) {
            let steps = if *length == 1 { 0 } else { *length };
            *length = total;
            total += steps;
            chains.borders.push(Border {
                start: (pixel % self.grid.width, pixel / self.grid.width),
                steps_end: total as usize,
            });
        }
        let offsets = self.gpu.upload(&lengths)?;
        let mut codes = self.gpu.alloc::<u8>(self.steps.len())?;
        let fragments = self.fragments.len() as u32;
        // SAFETY: the kernels have made what is read; each step has its place in `codes`.
        unsafe {
            tiles::write_steps::launch(
                &self.gpu.launcher(),
                blocks(fragments),
                self.steps.view(),
                self.fragments.view(),
                self.places.view(),
                offsets.view(),
                codes.view_mut(),
                fragments,
            )?;
        }
        chains.steps = codes.to_vec()?;
        Ok(chains)
    }
}

/// The saddles at which borders along edges cross over.
fn find_crossings<G: Gpu>(gpu: &G, image: &DeviceImage<G>, grid: Grid) -> Result<G::Buffer<u64>> {
    let labels =
        DeviceLabeler::on(gpu.clone()).label(image, Connectivity::Four, LabelAlgorithm::Tiles)?;
    let mut crossings = gpu.alloc::<u64>(grid.words() as usize)?;
    // SAFETY: the labels are the image's; the crossings have an element a word. The queue has acquired the image.
    unsafe {
        tiles::find_crossings::launch(
            &gpu.launcher(),
            blocks(grid.words()),
            image.words().view(),
            labels.labels().view(),
            crossings.view_mut(),
            grid,
        )?;
    }
    Ok(crossings)
}
