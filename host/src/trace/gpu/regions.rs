//! The regions of images of values: labels, then borders by fragments, then rings in the order of
//! their regions. The host waits once, for the sizes of the result.

use glam::IVec2;
use trazar_kernels::label::tiles::layout::TileLayout;
use trazar_kernels::trace::borders::{Destination, count};
use trazar_kernels::trace::fragments::follow::{follow_dense_value_tiles, follow_value_tiles};
use trazar_kernels::trace::fragments::join::{
    Chains, ChainsBuffers, join_value_contours, join_value_fragments,
};
use trazar_kernels::trace::fragments::key::is_wide;
use trazar_kernels::trace::fragments::source::TracedRegions;
use trazar_kernels::trace::fragments::write::{TILES_PER_BLOCK, place_value_points};
use trazar_kernels::trace::fragments::{
    JoinSizes, Parts, PartsBuffers, Sizes, VALUE_TILE_HEIGHT, value_tiles,
};
use trazar_kernels::trace::options as kernel_options;
use trazar_kernels::trace::pixels::Raster;
use trazar_kernels::trace::regions::{
    RegionOrderBuffers, RegionOrderSizes, RingBuffers, order_regions, write_rings,
};

use super::contours::{kinds_of, offsets_of, points_of};
use super::fragments::{Joining, guess, needed};
use super::hierarchy::{cooperative_blocks, single_image};
use super::{BorderBuffers, DeviceTracer};
use crate::error::{Error, Result};
use crate::gpu::{Gpu, GpuBuffer, OnGpu, WorkingMemory};
use crate::image::gpu::{AnyValues, DeviceValues, with_values};
use crate::image::{PixelValue, ValueImage};
use crate::label::region_layout;
use crate::memory::{collect, with_room};
use crate::regions::{RegionOptions, Regions};
use crate::trace::Geometry;
use crate::trace::contours::{BorderKind, Contours};
use crate::trace::cpu::hierarchy;

/// Named in out-of-memory errors.
const RINGS: &str = "the rings of regions";

/// The regions of an image of values in a GPU's memory, as rings along the pixels' edges.
///
/// Rings are those of [`Regions`], in their order: an outer ring before the rings of its holes.
/// Ring `i` has the points from `offsets[i]` to before `offsets[i + 1]`.
///
/// ```
/// use trazar::emulator::Emulator;
/// use trazar::{DeviceTracer, DeviceValues, RegionOptions, Samples, ValueImage};
///
/// // On an NVIDIA GPU: `DeviceTracer::new(&trazar::cuda::Device::open(0)?)?`.
/// let tracer = DeviceTracer::on(Emulator::new(0));
/// let classes = [3u8, 3, 3, 3, 8, 3, 3, 3, 3];
/// let image = ValueImage::new(Samples::new(3, 3, &classes)?)?;
/// let on_device = DeviceValues::upload(tracer.gpu(), &image)?;
/// let regions = tracer.trace_regions(&on_device, &RegionOptions::default())?;
/// assert_eq!(regions.len(), 3);
/// assert_eq!(regions.to_host(&image)?.values(), [3, 3, 8]);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceRegions<G: Gpu> {
    width: u32,
    height: u32,
    points: G::Buffer<i32>,
    offsets: G::Buffer<u32>,
    kinds: G::Buffer<u8>,
    regions: G::Buffer<u32>,
}

impl<G: Gpu> DeviceRegions<G> {
    /// Width of the image that was traced.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height of the image that was traced.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The number of rings.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether there are no regions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All rings' points, one ring after the other: x and y of each.
    pub fn points(&self) -> &G::Buffer<i32> {
        &self.points
    }

    /// Start of each ring's points, counted in points, then the number of points.
    pub fn offsets(&self) -> &G::Buffer<u32> {
        &self.offsets
    }

    /// Each ring's kind: 0 is an outer ring, 1 a hole's.
    pub fn kinds(&self) -> &G::Buffer<u8> {
        &self.kinds
    }

    /// Each ring's region, numbered from 1 in raster order of the regions' first pixels.
    pub fn regions(&self) -> &G::Buffer<u32> {
        &self.regions
    }

    /// Copies the rings to the host, and takes their values from the image that was traced.
    ///
    /// # Errors
    /// [`Error::SizeMismatch`] for an image of another size; `Error::Cuda`, [`Error::Emulator`],
    /// [`Error::OutOfMemory`].
    pub fn to_host<T: PixelValue>(&self, image: &ValueImage<'_, T>) -> Result<Regions<T>> {
        check_same_size([self.width, self.height], [image.width(), image.height()])?;
        self.rings_to_host()?.with_values(image)
    }

    /// As [`to_host`](Self::to_host), from the image in the GPU's memory.
    ///
    /// # Errors
    /// Those of [`to_host`](Self::to_host).
    pub fn to_host_with<T: PixelValue>(
        &self,
        gpu: &G,
        image: &DeviceValues<G, T>,
    ) -> Result<Regions<T>> {
        check_same_size([self.width, self.height], [image.width(), image.height()])?;
        let rings = self.rings_to_host()?;
        let pixels = (0..rings.kinds.len()).map(|ring| {
            let (x, y) = rings.start(ring);
            y * self.width + x
        });
        let pixels = collect(pixels, RINGS)?;
        let values = image.values_at(gpu, &gpu.upload(&pixels)?)?;
        rings.with(values)
    }

    /// Copies the rings to the host.
    pub(crate) fn rings_to_host(&self) -> Result<Rings> {
        Ok(Rings {
            width: self.width,
            height: self.height,
            points: points_of(self.points.to_vec()?),
            offsets: offsets_of(&self.offsets.to_vec()?, RINGS)?,
            kinds: kinds_of(&self.kinds.to_vec()?, RINGS)?,
            regions: self.regions.to_vec()?,
        })
    }
}

/// Refuses an image of another size than the one that was traced.
pub(super) fn check_same_size([width, height]: [u32; 2], given: [u32; 2]) -> Result<()> {
    if given == [width, height] {
        return Ok(());
    }
    Err(Error::SizeMismatch {
        width,
        height,
        needed: u64::from(width) * u64::from(height),
        given: u64::from(given[0]) * u64::from(given[1]),
        unit: "values",
    })
}

/// The rings of regions in the host's memory, without their values.
#[derive(Debug)]
pub(crate) struct Rings {
    width: u32,
    height: u32,
    points: Vec<IVec2>,
    offsets: Vec<usize>,
    kinds: Vec<BorderKind>,
    regions: Vec<u32>,
}

impl Rings {
    /// The regions, given the image that was traced.
    pub(crate) fn with_values<T: PixelValue>(
        self,
        image: &ValueImage<'_, T>,
    ) -> Result<Regions<T>> {
        let values = (0..self.kinds.len()).map(|ring| {
            let (x, y) = self.start(ring);
            image.value(x, y)
        });
        let values = collect(values, RINGS)?;
        self.with(values)
    }

    /// The pixel at which a ring starts.
    fn start(&self, ring: usize) -> (u32, u32) {
        // The upper left corner of the first pixel, or the upper right one of the pixel to the left
        // of a hole.
        let start = self.points[self.offsets[ring]];
        let is_hole = self.kinds[ring] == BorderKind::Hole;
        ((start.x - i32::from(is_hole)) as u32, start.y as u32)
    }

    /// The regions, given each ring's value.
    fn with<T: PixelValue>(self, values: Vec<T>) -> Result<Regions<T>> {
        let mut parents: Vec<i32> = with_room(self.kinds.len(), RINGS)?;
        let mut outer = -1;
        for (ring, kind) in self.kinds.iter().enumerate() {
            let is_hole = *kind == BorderKind::Hole;
            if !is_hole {
                outer = ring as i32;
            }
            parents.push(if is_hole { outer } else { -1 });
        }
        let count = self.regions.last().copied().unwrap_or(0);
        Ok(Regions {
            contours: Contours {
                width: self.width,
                height: self.height,
                geometry: Geometry::Edges,
                points: self.points,
                offsets: self.offsets,
                kinds: self.kinds,
                hierarchy: hierarchy::link(&parents)?,
            },
            values,
            regions: self.regions,
            count,
        })
    }
}

/// Memory in which the regions, or the contours of values, of images of one size are traced, kept
/// from one image to the next.
#[derive(Debug)]
pub(super) struct RegionArena<G: Gpu> {
    pub(super) sizes: Sizes,
    pub(super) joining: Joining,
    /// Blocks of the cooperative launches.
    pub(super) blocks: u32,
    order_blocks: u32,
    pub(super) parts: PartsBuffers<OnGpu<G>>,
    pub(super) chains: ChainsBuffers<OnGpu<G>>,
    pub(super) found: BorderBuffers<G>,
    order: RegionOrderBuffers<OnGpu<G>>,
}

impl<G: Gpu> WorkingMemory for RegionArena<G> {
    fn bytes(&self) -> u64 {
        self.parts.bytes() + self.chains.bytes() + self.found.bytes() + self.order.bytes()
    }
}

impl<G: Gpu> RegionArena<G> {
    /// Memory for an image, with counters that are 0: `old`, if it fits.
    pub(super) fn ready(
        gpu: &G,
        joining: Joining,
        sizes: Sizes,
        old: Option<Self>,
    ) -> Result<Self> {
        if let Some(mut old) = old
            && (old.sizes.raster, old.joining) == (sizes.raster, joining)
            && sizes.fit(&old.sizes)
        {
            old.parts.counters.fill(0)?;
            return Ok(old);
        }
        let blocks = |spec| -> Result<u32> {
            let resident = gpu.resident_blocks(spec, 0)?;
            Ok(cooperative_blocks(gpu, resident, sizes.raster))
        };
        // For either kernel that joins.
        let join_blocks =
            blocks(&join_value_fragments::SPEC)?.min(blocks(&join_value_contours::SPEC)?);
        let order_blocks = blocks(&order_regions::SPEC)?;
        let join_sizes = JoinSizes {
            found: sizes,
            wide_keys: false,
            blocks: join_blocks,
        };
        let order_sizes = RegionOrderSizes {
            borders: sizes.borders(),
            blocks: order_blocks,
        };
        let memory = OnGpu(gpu.clone());
        Ok(Self {
            sizes,
            joining,
            blocks: join_blocks,
            order_blocks,
            parts: PartsBuffers::alloc(&memory, &sizes)?,
            chains: ChainsBuffers::alloc(&memory, &join_sizes)?,
            found: BorderBuffers::alloc(&memory, &sizes.borders())?,
            order: RegionOrderBuffers::alloc(&memory, &order_sizes)?,
        })
    }

    /// Finds all borders and puts them into order, if what is found fits.
    fn find(&mut self, gpu: &G, image: TracedRegions<'_>) -> Result<()> {
        let on = &gpu.launcher();
        // SAFETY: the kernels run in their order, and nothing else uses the arena; the image is
        // acquired.
        unsafe {
            self.follow_edges(gpu, image)?;
            join_value_fragments::launch(
                on,
                self.blocks,
                image,
                self.parts.views(),
                self.chains.views(self.joining.few_fragments),
                self.found.views(),
            )?;
            order_regions::launch(
                on,
                self.order_blocks,
                self.parts.counters.view_mut(),
                self.found.views(),
                self.order.views(),
            )
        }
    }

    /// Follows borders along edges in all tiles.
    ///
    /// # Safety
    /// `image` is acquired and of the arena's size, and the counters are 0.
    pub(super) unsafe fn follow_edges(&mut self, gpu: &G, image: TracedRegions<'_>) -> Result<()> {
        let on = &gpu.launcher();
        let [all, dense] = self.follow_blocks(gpu);
        // SAFETY: the kernels run in their order, and nothing else uses the arena.
        unsafe {
            follow_value_tiles::launch(on, all, image, self.parts.views())?;
            follow_dense_value_tiles::launch(on, dense, image, self.parts.views())
        }
    }

    /// The numbers of blocks that follow borders in all tiles, and in tiles with many nodes.
    pub(super) fn follow_blocks(&self, gpu: &G) -> [u32; 2] {
        /// Resident blocks per multiprocessor for tiles with many nodes.
        const DENSE_BLOCKS: u32 = 3;
        let all = value_tiles(self.sizes.raster);
        [all, all.min(gpu.multiprocessors() * DENSE_BLOCKS)]
    }

    /// Writes the rings. `counts` are the values of the counters.
    fn write(&mut self, gpu: &G, counts: &[u32]) -> Result<DeviceRegions<G>> {
        let Raster { width, height, .. } = self.sizes.raster;
        let (borders, points) = (counts[count::KEPT as usize], counts[count::POINTS as usize]);
        let mut rings = RingBuffers::alloc(&OnGpu(gpu.clone()), &borders)?;
        let mut to = gpu.alloc(points as usize * 2)?;
        let on = &gpu.launcher();
        // SAFETY: `find` has filled the arena; there is room for all borders and points.
        unsafe {
            write_rings::launch_threads(
                on,
                borders.max(1),
                self.parts.counters.view(),
                self.found.views(),
                self.order.views(),
                rings.views(),
            )?;
            if points > 0 {
                let destination = Destination {
                    places: self.order.places.view(),
                    offsets: rings.offsets.view(),
                    points: to.view_mut(),
                };
                place_points(
                    gpu,
                    self.sizes.raster,
                    kernel_options::Geometry::Edges,
                    (
                        self.parts.views(),
                        self.chains.views(self.joining.few_fragments),
                    ),
                    destination,
                )?;
            }
        }
        Ok(DeviceRegions {
            width,
            height,
            points: to,
            offsets: rings.offsets,
            kinds: rings.kinds,
            regions: rings.regions,
        })
    }
}

/// Writes the points of all borders of an image of values that have a place.
///
/// # Safety
/// Borders have been followed and joined in `parts` and `chains`; `destination` has room for their
/// points. Nothing else uses these.
pub(super) unsafe fn place_points<G: Gpu>(
    gpu: &G,
    raster: Raster,
    geometry: kernel_options::Geometry,
    (parts, chains): (Parts<'_>, Chains<'_>),
    destination: Destination<'_>,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        place_value_points::launch(
            &gpu.launcher(),
            value_tiles(raster).div_ceil(TILES_PER_BLOCK),
            raster,
            single_image(),
            geometry,
            parts,
            chains,
            destination,
        )
    }
}

/// An image's size as the kernels take it.
pub(super) fn traced_size(width: u32, height: u32) -> Result<(TileLayout, Raster)> {
    let layout = region_layout(width, height)?;
    let raster = Raster::new(width, height).filter(|&raster| !is_wide(raster));
    let raster = raster.ok_or(Error::ImageTooLarge {
        width: width.into(),
        height: height.into(),
        limit: "on the GPU, images of values to trace have fewer than 2²⁵ words of 64 pixels",
    })?;
    Ok((layout, raster))
}

impl<G: Gpu> DeviceTracer<G> {
    /// Traces the regions of an image of values along the pixels' edges, as
    /// [`Engine::trace_regions`](crate::Engine::trace_regions) does. Waits for the sizes of the
    /// result, and returns before the points are written.
    ///
    /// # Errors
    /// [`Error::ImageTooLarge`] for more than 2³¹ pixels, or 2²⁵ words of 64 pixels in whole rows;
    /// [`Error::TooMany`] for more than 2³¹ - 2 rings, or about 2³² points, fragments or vertical
    /// sides of borders; `Error::Cuda`, [`Error::Emulator`].
    pub fn trace_regions<T: PixelValue>(
        &self,
        image: &DeviceValues<G, T>,
        options: &RegionOptions,
    ) -> Result<DeviceRegions<G>> {
        let (layout, raster) = traced_size(image.width(), image.height())?;
        let gpu = self.gpu();
        let equality = image.equality(gpu)?;
        let labels = self
            .labeler
            .label_equal(&equality, layout, options.connectivity)?;
        let traced = TracedRegions {
            planes: equality.view(),
            labels: labels.labels().view(),
        };
        let mut sizes = guess(raster, VALUE_TILE_HEIGHT);
        let mut arena = self.region_arena.take();
        loop {
            let mut memory = RegionArena::ready(gpu, self.joining, sizes, arena.take())?;
            memory.find(gpu, traced)?;
            let counts = memory.parts.counters.to_vec()?;
            let needed = needed(raster, VALUE_TILE_HEIGHT, &counts)?;
            // planted: region-arena-again
            if needed.fit(&memory.sizes) {
                let regions = memory.write(gpu, &counts)?;
                self.region_arena.put(memory);
                return Ok(regions);
            }
            sizes = sizes.max(needed);
        }
    }

    /// Traces the regions of an image in the host's memory.
    pub(crate) fn trace_regions_host(
        &self,
        image: AnyValues<'_, '_>,
        options: &RegionOptions,
    ) -> Result<Rings> {
        with_values!(image, image => {
            // Before it is copied.
            traced_size(image.width(), image.height())?;
            let image = DeviceValues::upload(self.gpu(), image)?;
            self.trace_regions(&image, options)?.rings_to_host()
        })
    }
}
