//! The contours of each value of an image of values: borders by fragments, grouped by value, each
//! group arranged as an image of a batch is. The host waits for the number of borders, for that of
//! values, and for the sizes of the result.

use cuda_std::{View, ViewMut};
use trazar_kernels::trace::borders::{Destination, FoundBorders, Stack, count};
use trazar_kernels::trace::fragments::VALUE_TILE_HEIGHT;
use trazar_kernels::trace::fragments::follow::{follow_dense_value_centers, follow_value_centers};
use trazar_kernels::trace::fragments::join::join_value_contours;
use trazar_kernels::trace::fragments::row_values::{
    self, RowTableBuffers, RowTableSizes, RowsOfValues,
};
use trazar_kernels::trace::fragments::source::{TracedRegions, TracedValues};
use trazar_kernels::trace::options as kernel_options;
use trazar_kernels::trace::values::{find_group_starts, group_borders};

use super::contours::offsets_of;
use super::fragments::{guess, needed};
use super::groups::Groups;
use super::hierarchy::{Arranger, ResultSize, cooperative_blocks};
use super::regions::{RegionArena, check_same_size, place_points, traced_size};
use super::{Arranged, DeviceContours, DeviceTracer, kernel_geometry, points_of, teh_chin};
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu};
use crate::image::gpu::{AnyValues, DeviceValues, FoundInRows, with_values};
use crate::image::{PixelValue, ValueImage};
use crate::label::Connectivity;
use crate::memory::collect;
use crate::regions::ValueContours;
use crate::trace::contours::Contours;
use crate::trace::{ContourOptions, Geometry, Retrieval};

/// Named in out-of-memory errors.
const GROUPS: &str = "the groups of contours";

/// The contours of each value of an image in a GPU's memory, grouped by value in ascending order.
///
/// Contours are those of [`ValueContours`], in their order. Group `i` has the contours from
/// `group_offsets[i]` to before `group_offsets[i + 1]`.
///
/// ```
/// use trazar::emulator::Emulator;
/// use trazar::trace::ContourOptions;
/// use trazar::{DeviceTracer, DeviceValues, Samples, ValueImage};
///
/// // On an NVIDIA GPU: `DeviceTracer::new(&trazar::cuda::Device::open(0)?)?`.
/// let tracer = DeviceTracer::on(Emulator::new(0));
/// let labels = [0u16, 7, 7, 4, 0, 7];
/// let image = ValueImage::new(Samples::new(3, 2, &labels)?)?.background(0)?;
/// let on_device = DeviceValues::upload(tracer.gpu(), &image)?;
/// let contours = tracer.trace_values(&on_device, &ContourOptions::default())?;
/// assert_eq!(contours.len(), 2);
/// assert_eq!(contours.to_host(&image)?.values(), [4, 7]);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceValueContours<G: Gpu> {
    contours: DeviceContours<G>,
    group_offsets: G::Buffer<u32>,
    group_starts: G::Buffer<u32>,
}

impl<G: Gpu> DeviceValueContours<G> {
    /// The contours of all values, group after group. The hierarchy links contours of one group
    /// only, by index into all contours.
    pub fn contours(&self) -> &DeviceContours<G> {
        &self.contours
    }

    /// Each group's first contour, then the number of contours.
    pub fn group_offsets(&self) -> &G::Buffer<u32> {
        &self.group_offsets
    }

    /// For each group, the index of a pixel with its value, counted row by row: of the pixel at
    /// which the border of its first contour starts.
    pub fn group_starts(&self) -> &G::Buffer<u32> {
        &self.group_starts
    }

    /// The number of groups: of values.
    pub fn len(&self) -> usize {
        self.group_starts.len()
    }

    /// Whether there are no values: no pixel counts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the contours of all values out.
    pub fn into_contours(self) -> DeviceContours<G> {
        self.contours
    }

    /// Copies the contours to the host, and takes their values from the image that was traced.
    ///
    /// # Errors
    /// [`Error::SizeMismatch`](crate::Error::SizeMismatch) for an image of another size;
    /// `Error::Cuda`, [`Error::Emulator`](crate::Error::Emulator),
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn to_host<T: PixelValue>(&self, image: &ValueImage<'_, T>) -> Result<ValueContours<T>> {
        let (width, height) = (self.contours.width, self.contours.height);
        check_same_size([width, height], [image.width(), image.height()])?;
        self.groups_to_host()?.with_values(image)
    }

    /// As [`to_host`](Self::to_host), from the image in the GPU's memory.
    ///
    /// # Errors
    /// Those of [`to_host`](Self::to_host).
    pub fn to_host_with<T: PixelValue>(
        &self,
        gpu: &G,
        image: &DeviceValues<G, T>,
    ) -> Result<ValueContours<T>> {
        let (width, height) = (self.contours.width, self.contours.height);
        check_same_size([width, height], [image.width(), image.height()])?;
        let ValueContoursOf {
            contours, groups, ..
        } = self.groups_to_host()?;
        Ok(ValueContours {
            contours,
            values: image.values_at(gpu, &self.group_starts)?,
            groups,
        })
    }

    /// Copies the contours to the host.
    fn groups_to_host(&self) -> Result<ValueContoursOf> {
        Ok(ValueContoursOf {
            contours: self.contours.to_host()?,
            groups: offsets_of(&self.group_offsets.to_vec()?, GROUPS)?,
            starts: self.group_starts.to_vec()?,
        })
    }
}

/// The contours of values in the host's memory, without the values.
#[derive(Debug)]
pub(crate) struct ValueContoursOf {
    contours: Contours,
    groups: Vec<usize>,
    starts: Vec<u32>,
}

impl ValueContoursOf {
    /// The contours with their values, given the image that was traced.
    pub(crate) fn with_values<T: PixelValue>(
        self,
        image: &ValueImage<'_, T>,
    ) -> Result<ValueContours<T>> {
        let width = image.width();
        let value = |&start: &u32| image.value(start % width, start / width);
        Ok(ValueContours {
            contours: self.contours,
            values: collect(self.starts.iter().map(value), GROUPS)?,
            groups: self.groups,
        })
    }
}

/// The first `count` elements of a view.
fn first_of<T: cuda_std::Pod>(view: ViewMut<'_, T>, count: u32) -> ViewMut<'_, T> {
    let count = view.len().min(count as usize);
    // SAFETY: the same elements, or fewer.
    unsafe { ViewMut::from_raw_parts(view.as_mut_ptr(), count) }
}

/// The first `count` borders.
fn first_borders(found: FoundBorders<'_>, count: u32) -> FoundBorders<'_> {
    FoundBorders {
        kinds: first_of(found.kinds, count),
        lengths: first_of(found.lengths, count),
        previous_in_row: first_of(found.previous_in_row, count),
    }
}

/// An image of values to trace, in kernels' terms.
struct Traced<'a, G: Gpu, T: PixelValue> {
    gpu: &'a G,
    rows: RowsOfValues<'a, T>,
    image: TracedValues<'a>,
    /// Along edges, the image with its labels.
    regions: Option<TracedRegions<'a>>,
    approximation: kernel_options::Approximation,
    retrieval: Retrieval,
}

/// Borders in the order of the result.
struct Ordered<G: Gpu> {
    arranged: Arranged<G>,
    /// The memory that has each border's place.
    arranger: Arranger<G>,
    /// Each group's first contour, then their number.
    offsets: G::Buffer<u32>,
}

impl<G: Gpu, T: PixelValue> Traced<'_, G, T> {
    /// Finds all borders, if what is found fits the memory. `starts` gets the pixel at which each
    /// starts.
    fn find(&self, memory: &mut RegionArena<G>, starts: ViewMut<'_, u32>) -> Result<()> {
        let (gpu, approximation) = (self.gpu, self.approximation);
        let on = &gpu.launcher();
        let [all, dense] = memory.follow_blocks(gpu);
        // SAFETY: the kernels run in their order, and nothing else uses the memory; the image is
        // acquired.
        unsafe {
            if let Some(regions) = self.regions {
                memory.follow_edges(gpu, regions)?;
            } else {
                let (image, parts) = (self.image, memory.parts.views());
                follow_value_centers::launch(on, all, image, approximation, parts)?;
                follow_dense_value_centers::launch(on, dense, image, approximation, parts)?;
            }
            join_value_contours::launch(
                on,
                memory.blocks,
                self.image,
                approximation,
                memory.parts.views(),
                memory.chains.views(memory.joining.few_fragments),
                memory.found.views(),
                starts,
            )
        }
    }

    /// Finds the previous border of each outer border among those of its value.
    fn link_outer_borders(&self, memory: &mut RegionArena<G>) -> Result<()> {
        /// Blocks per multiprocessor: enough to hide the latency of the tables. Each block has its
        /// own, so more blocks take more memory.
        const BLOCKS: u32 = 4;
        let gpu = self.gpu;
        let raster = memory.sizes.raster;
        let rows = raster.height.div_ceil(row_values::WARPS);
        let blocks = rows.min(gpu.multiprocessors() * BLOCKS);
        let places = row_values::most_places(raster.width);
        let sizes = RowTableSizes { blocks, places };
        let mut tables = RowTableBuffers::alloc(&OnGpu(gpu.clone()), &sizes)?;
        let found = FoundInRows {
            image: self.image,
            approximation: self.approximation,
            parts: memory.parts.views(),
            chains: memory.chains.views(memory.joining.few_fragments),
            borders: memory.found.views(),
            tables: tables.views(places),
        };
        // SAFETY: `find` has filled the memory, which nothing else uses; the image is acquired.
        unsafe { T::link_outer_borders(&gpu.launcher(), blocks, self.rows, found) }
    }

    /// Groups all borders by value, given the pixels at which they start.
    fn group(&self, memory: &mut RegionArena<G>, starts: View<'_, u32>) -> Result<Groups<G>> {
        let (gpu, raster) = (self.gpu, memory.sizes.raster);
        let resident = gpu.resident_blocks(&group_borders::SPEC, 0)?;
        let blocks = cooperative_blocks(gpu, resident, raster);
        let counters = &mut memory.parts.counters;
        // SAFETY: all borders start at pixels of the image, which is acquired; `find` has counted
        // them.
        unsafe { Groups::of(gpu, (self.rows, raster.width), starts, counters, blocks) }
    }

    /// Arranges grouped borders.
    fn arrange(
        &self,
        memory: &mut RegionArena<G>,
        groups: &Groups<G>,
        borders: u32,
    ) -> Result<Ordered<G>> {
        let (gpu, values) = (self.gpu, groups.values);
        let mut offsets = gpu.alloc(values as usize + 1)?;
        let mut counts = [0; count::COUNT as usize];
        counts[count::BORDERS as usize] = borders;
        let mut counters = gpu.upload(&counts)?;
        let found = first_borders(memory.found.views(), borders);
        let mut arranger = Arranger::new(gpu, memory.sizes.raster, borders, values)?;
        let stack = Stack {
            images: values,
            pitch: u32::MAX,
            row_words: 0,
            starts_before: groups.order.begins.view(),
            groups: groups.order.groups.view(),
            offsets: offsets.view_mut(),
        };
        arranger.arrange(gpu, &mut counters, stack, found, self.retrieval)?;
        counters.read(&mut counts)?;
        let size = ResultSize::of(&counts);
        let arranged = arranger.finish(gpu, &counters, size, stack, found)?;
        if values == 1 {
            // The kernel writes them for several only.
            offsets = gpu.upload(&[0, counts[count::KEPT as usize]])?;
        }
        Ok(Ordered {
            arranged,
            arranger,
            offsets,
        })
    }

    /// Writes the result, of at least one border. `starts` are the pixels at which borders start.
    fn write(&self, memory: &mut RegionArena<G>, starts: View<'_, u32>) -> Result<Written<G>> {
        let gpu = self.gpu;
        let borders = starts.len() as u32;
        let groups = self.group(memory, starts)?;
        let Ordered {
            arranged,
            mut arranger,
            offsets,
        } = self.arrange(memory, &groups, borders)?;
        let mut points = gpu.alloc(arranged.points as usize * 2)?;
        let mut group_starts = gpu.alloc(groups.values as usize)?;
        let places = arranger.buffers.places.view_mut().as_view();
        // SAFETY: the borders are arranged, and there is room for all points and groups.
        unsafe {
            find_group_starts::launch_threads(
                &gpu.launcher(),
                borders,
                starts,
                places,
                groups.order.groups.view(),
                offsets.view(),
                group_starts.view_mut(),
            )?;
            let destination = Destination {
                places,
                offsets: arranged.offsets.view(),
                points: points.view_mut(),
            };
            let few = memory.joining.few_fragments;
            place_points(
                gpu,
                memory.sizes.raster,
                self.image.geometry,
                (memory.parts.views(), memory.chains.views(few)),
                destination,
            )?;
        }
        Ok(Written {
            arranged,
            points,
            offsets,
            group_starts,
        })
    }
}

/// The parts of the result.
struct Written<G: Gpu> {
    arranged: Arranged<G>,
    points: G::Buffer<i32>,
    offsets: G::Buffer<u32>,
    group_starts: G::Buffer<u32>,
}

impl<G: Gpu> Written<G> {
    /// The result for an image in which no pixel counts.
    fn nothing(gpu: &G) -> Result<Self> {
        Ok(Self {
            arranged: Arranged {
                kinds: gpu.alloc(0)?,
                hierarchy: gpu.alloc(0)?,
                offsets: gpu.upload(&[0])?,
                points: 0,
            },
            points: gpu.alloc(0)?,
            offsets: gpu.upload(&[0])?,
            group_starts: gpu.alloc(0)?,
        })
    }
}

impl<G: Gpu> DeviceTracer<G> {
    /// Traces, for each value of an image, the borders of the pixels with that value, as
    /// [`Engine::trace_values`](crate::Engine::trace_values) does. Waits for the sizes of the
    /// result, and returns before the points are written.
    ///
    /// # Errors
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) for options that do not go together;
    /// those of [`trace_regions`](Self::trace_regions).
    pub fn trace_values<T: PixelValue>(
        &self,
        image: &DeviceValues<G, T>,
        options: &ContourOptions,
    ) -> Result<DeviceValueContours<G>> {
        options.validate()?;
        let (width, height) = (image.width(), image.height());
        let (layout, raster) = traced_size(width, height)?;
        let (approximation, curvature) = points_of(options);
        let gpu = self.gpu();
        let equality = image.equality(gpu)?;
        let labels = match options.geometry {
            Geometry::Centers => None,
            Geometry::Edges => Some(self.labeler().label_equal(
                &equality,
                layout,
                Connectivity::Four,
            )?),
        };
        let values = gpu.using(image.values())?;
        let traced = Traced {
            gpu,
            rows: RowsOfValues {
                values: values.view(),
                pitch: image.pitch(),
            },
            image: TracedValues {
                planes: equality.view(),
                geometry: kernel_geometry(options.geometry),
            },
            regions: labels.as_ref().map(|labels| TracedRegions {
                planes: equality.view(),
                labels: labels.labels().view(),
            }),
            approximation,
            retrieval: options.retrieval,
        };
        let mut sizes = guess(raster, VALUE_TILE_HEIGHT);
        let mut arena = self.region_arena.take();
        let written = loop {
            let mut memory = RegionArena::ready(gpu, self.joining, sizes, arena.take())?;
            let mut starts = gpu.alloc(memory.sizes.borders() as usize)?;
            traced.find(&mut memory, starts.view_mut())?;
            let counts = memory.parts.counters.to_vec()?;
            let needed = needed(raster, VALUE_TILE_HEIGHT, &counts)?;
            if !needed.fit(&memory.sizes) {
                sizes = sizes.max(needed);
                continue;
            }
            let borders = counts[count::BORDERS as usize];
            let written = if borders == 0 {
                Written::nothing(gpu)?
            } else {
                // Only these take an outer border's parent into account.
                if matches!(options.retrieval, Retrieval::External | Retrieval::Tree) {
                    traced.link_outer_borders(&mut memory)?;
                }
                let starts = first_of(starts.view_mut(), borders).as_view();
                traced.write(&mut memory, starts)?
            };
            self.region_arena.put(memory);
            break written;
        };
        values.finish()?;
        let contours = DeviceContours {
            width,
            height,
            geometry: options.geometry,
            points: written.points,
            offsets: written.arranged.offsets,
            kinds: written.arranged.kinds,
            hierarchy: written.arranged.hierarchy,
        };
        let contours = match curvature {
            None => contours,
            Some(curvature) => teh_chin::dominant(gpu, contours, curvature)?,
        };
        Ok(DeviceValueContours {
            contours,
            group_offsets: written.offsets,
            group_starts: written.group_starts,
        })
    }

    /// Traces the contours of values of an image in the host's memory.
    pub(crate) fn trace_values_host(
        &self,
        image: AnyValues<'_, '_>,
        options: &ContourOptions,
    ) -> Result<ValueContoursOf> {
        with_values!(image, image => {
            // Before it is copied.
            traced_size(image.width(), image.height())?;
            let image = DeviceValues::upload(self.gpu(), image)?;
            self.trace_values(&image, options)?.groups_to_host()
        })
    }
}
