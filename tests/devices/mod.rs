//! The suite of the devices. Each case is written once, for any [`Gpu`], and compares with the CPU.
//! It runs on the emulator (`tests/on_emulator`) and on a GPU (`tests/on_gpu`). What only one of
//! them can show stands beside those entry points.
//!
//! What differs between the devices is data, a [`PerDevice`]: sizes and numbers of cases, since the
//! emulator is slow. On the emulator, a case also chooses the order of the threads, at random or by
//! number.
//!
//! Images, nets and orders follow one seed, which a failure names; `TRAZAR_SEED` replaces it.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use trazar::Backend;
use trazar::gpu::Gpu;
use trazar_test_support::emulators;

pub(crate) mod label;
pub(crate) mod label_bands;
pub(crate) mod label_batch;
pub(crate) mod measure;
pub(crate) mod negotiate;
pub(crate) mod racecheck;
pub(crate) mod route;
pub(crate) mod route_fields;
pub(crate) mod route_small_fields;
pub(crate) mod route_tiles;
pub(crate) mod run_lengths;
pub(crate) mod scan;
pub(crate) mod teh_chin;
pub(crate) mod trace;
pub(crate) mod trace_bands;
pub(crate) mod trace_fragments;
pub(crate) mod values;

/// What the suite runs on.
pub(crate) trait Device: Sized {
    type Gpu: Gpu<Buffer<u64>: Sync> + Send + Sync + 'static;

    /// The device; `None`, with a line that says that `test` is skipped, if there is none.
    fn open(test: &str) -> Option<Self>;

    /// A queue of the device. Each call gives another one.
    fn gpu(&self, setup: impl Into<Setup>) -> Self::Gpu;

    /// As [`gpu`](Self::gpu), with few blocks at a time, so that a small image is quick.
    fn small(&self, order: u64) -> Self::Gpu {
        self.gpu(order)
    }

    /// Queues for random cases: on the emulator with every kind of schedule.
    fn any(&self) -> impl Strategy<Value = Self::Gpu>;

    /// Another queue of the same device as `gpu`.
    fn another_queue(gpu: &Self::Gpu) -> Self::Gpu;

    /// What has to be known about a wrong result of `gpu`.
    fn notes(_gpu: &Self::Gpu) -> String {
        String::new()
    }
}

/// How the emulator is set up for a case.
#[allow(
    dead_code,
    reason = "read for the emulator alone: a GPU has an order and resources of its own"
)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) order: u64,
    pub(crate) multiprocessors: Option<u32>,
    pub(crate) resident_blocks: Option<u32>,
    pub(crate) shared_per_block: Option<u32>,
}

/// The order of threads with a number, and resources that are drawn from it.
pub(crate) fn setup(order: u64) -> Setup {
    Setup {
        order,
        multiprocessors: None,
        resident_blocks: None,
        shared_per_block: None,
    }
}

impl From<u64> for Setup {
    fn from(order: u64) -> Self {
        setup(order)
    }
}

impl Setup {
    pub(crate) fn multiprocessors(self, number: u32) -> Self {
        Self {
            multiprocessors: Some(number),
            ..self
        }
    }

    pub(crate) fn resident_blocks(self, number: u32) -> Self {
        Self {
            resident_blocks: Some(number),
            ..self
        }
    }

    pub(crate) fn shared_per_block(self, bytes: u32) -> Self {
        Self {
            shared_per_block: Some(bytes),
            ..self
        }
    }
}

/// A value for either device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PerDevice<T> {
    pub(crate) emulator: T,
    pub(crate) gpu: T,
}

impl<T> PerDevice<T> {
    /// The value for `D`.
    pub(crate) fn on<D: Device>(self) -> T {
        match D::Gpu::BACKEND {
            Backend::Emulator => self.emulator,
            _ => self.gpu,
        }
    }
}

/// Runs `test` on `cases` random values, on a GPU on ten times as many.
///
/// # Panics
/// A case fails, which is then printed with the seed.
pub(crate) fn check<D: Device, S: Strategy>(
    name: &str,
    cases: u32,
    values: &S,
    test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let gpu = 10 * cases;
    let emulator = cases;
    let cases = PerDevice { emulator, gpu }.on::<D>();
    emulators::check(name, cases, values, test);
}

/// The suite's table of contents: makes a test of each case, on `$device`.
macro_rules! suite {
    ($device:ty) => {
        $crate::devices::suite! { @modules $device;
            label {
                the_comparison_can_fail
                labels_of_random_images
                labels_in_given_arrays
                labels_of_every_density
                labels_of_every_pattern
                labels_of_full_empty_and_thin_images
                labels_of_many_small_images
                labels_in_many_orders
                labels_where_tiles_meet
                labels_where_four_tiles_meet
                labels_of_as_many_runs_as_a_band_holds
                labels_by_runs_in_several_pieces
                labels_stay_on_the_device
                labels_of_another_image_are_measured_without_a_fault
                labels_and_images_from_bytes
                labels_and_images_of_all_thresholds
                labels_of_bytes_with_padding
                labels_of_what_does_not_fit_are_refused
                labels_by_other_algorithms_are_refused
                an_engine_does_all_jobs
            }
            label_bands {
                labels_in_bands
                labels_of_every_pattern_in_bands
                labels_of_bands_replace_others
                labels_by_several_devices
                labels_of_parts_on_several_gpus
                parts_of_other_images_are_refused
            }
            label_batch {
                batches_of_random_images
                batches_do_not_connect_at_seams
                batches_of_empty_images_and_of_one
                batches_of_many_images
                label_batches_of_engines
                threads_share_an_engine
            }
            negotiate {
                negotiations_of_random_nets
                negotiations_of_nets_with_a_solution
                negotiations_within_windows
                negotiations_around_walls
                negotiations_of_many_pins
            }
            racecheck {
                racecheck_labels
                racecheck_contours_by_fragments
                racecheck_long_and_nested_borders
                racecheck_dominant_points
                racecheck_many_nets_in_tiles
                racecheck_many_nets_in_tiles_of_layers
                racecheck_values
            }
            route {
                routes_on_small_grids
                routes_on_random_grids
                routes_on_resident_grids
                routes_within_a_window
                routes_on_layers_with_directions
                routes_of_nothing
                routes_along_long_lines
                routes_from_chunk_to_chunk
                routes_from_the_start_of_a_second_chunk
                routes_across_groups_of_lines
                routes_over_free_edges_alone
                routes_through_a_maze_of_heavy_edges
                routes_of_several_nets
                routes_to_the_nearest_of_many_cells
                what_the_device_does_not_do_is_said
            }
            route_fields {
                routes_of_random_nets
                routes_by_fields
                routes_with_any_shared_memory
                routes_between_corners
                routes_of_pairs_far_apart
                routes_with_boxes_that_are_too_small
                routes_of_more_pins_than_threads_have_at_hand
                routes_of_many_close_pins
                what_is_left_to_tiles_is_said
                routes_to_what_boxes_do_not_reach
                routes_from_fields_that_grow_again
                routes_to_what_is_far_or_nowhere
                routes_along_long_paths
                routes_around_a_wall
                routes_around_random_walls
                routes_where_all_paths_tie
                routes_in_wide_boxes
                routes_with_ties_that_stay_open
            }
            route_small_fields {
                routes_of_dense_pins
                routes_to_what_squares_do_not_reach
                routes_of_dense_nets_by_one_router
                routes_along_winding_ways
                routes_by_dear_edges
                routes_of_many_dense_pins
                routes_of_dense_pins_with_several_cells
                routes_between_groups
                routes_to_pins_that_the_tree_comes_near
            }
            route_tiles {
                routes_of_several_nets_in_one_launch
                routes_of_many_nets_in_one_launch
                routes_on_any_number_of_multiprocessors
                routes_into_tiles_that_wait
                routes_in_every_number_of_layers
                routes_within_windows_that_cut_tiles
                routes_of_unusual_pins
                routes_past_two_to_the_31
                costs_that_no_label_holds
                costs_that_no_label_holds_across_vias
                distances_to_all_cells
                distances_past_two_to_the_32
            }
            scan {
                prefix_sums
                prefix_sums_around_the_sizes_of_tiles_and_waves
                prefix_sums_of_patterns
                arrays_of_another_length_are_refused
                prefix_sums_by_any_number_of_blocks
                prefix_sums_repeat
                prefix_sums_by_a_block_that_comes_late
            }
            teh_chin {
                dominant_points_of_random_images
                dominant_points_of_every_density
                dominant_points_of_many_small_images
                dominant_points_of_every_pattern
                dominant_points_of_all_tiny_images
                dominant_points_along_straight_lines
                dominant_points_after_single_points_at_the_start
                dominant_points_in_tiles
                dominant_points_of_nothing
            }
            trace {
                contours_of_random_images
                contours_of_every_density
                contours_of_random_images_in_any_number_of_tiles
                contours_of_every_pattern_in_tiles
                contours_of_every_pattern
                contours_of_batches
                contours_of_batches_of_every_size
                translated_points
                translated_points_of_every_size
                contours_of_batches_with_empty_images
                batches_of_engines
                batches_that_are_refused
                stages_of_a_lone_pixel
                parts_of_buffers_that_there_are_not
                contours_of_all_small_images
                contours_where_the_keys_take_another_digit
                contours_within_holes_across_words
                what_the_device_does_not_do_is_said
                pitched_images_are_packed_where_they_lie
                images_whose_nodes_have_no_numbers_are_refused
            }
            trace_bands {
                parts_of_bands
                dots_beside_walls_across_bands
                bands_cut_in_several_tasks
                bands_on_several_gpus
                errors_on_several_gpus
            }
            trace_fragments {
                borders_cross_rims_and_corners
                every_pattern_around_a_corner
                dense_tiles
                tiles_at_the_limit_of_density
                more_rings_in_a_tile_than_a_block_keeps_in_mind
                many_blocks
                a_border_that_runs_down_tiles
                more_borders_than_threads_take_at_once
                many_borders_with_children
                many_borders_of_one_parent
                partitioned_keys_of_three_digits
                dots_beside_bars
                dots_in_cells
                rings_and_spirals_over_several_tiles
                two_nests_side_by_side
                many_nests
                one_kind_of_part_alone_exceeds_its_room
                awkward_sizes
                every_border_has_two_fragments
                one_tracer_traces_many_images
                random_images_after_others
                numbers_of_borders_around_a_blocks_memory
                two_threads_share_a_tracer
                wide_keys
                keys_are_wide_from_the_first_image_that_needs_it
                segments_of_fragments
                counters_that_wrap_around_are_noticed
            }
            values {
                labels_of_random_values
                labels_of_values_at_the_borders_of_tiles
                regions_of_random_values
                regions_at_the_borders_of_tiles
                one_tracer_traces_regions_of_many_images
                nan_is_no_data
                contours_of_random_values
                contours_of_values_at_the_borders_of_tiles
                contours_of_values_in_long_rows
                random_values
                values_of_all_types
            }
            measure {
                measures_of_random_labels
                measures_by_tiles
                measures_of_tiles_full_of_labels
                measures_of_labels_beyond_the_first_table
                measures_of_labels_with_many_runs
                measures_of_labels_in_several_strips
                hulls_and_holes_of_tall_labels
                hulls_of_many_rows_and_vertices
                measures_of_no_labels_and_refusals
            }
            run_lengths {
                run_lengths_of_random_masks
                run_lengths_of_random_labels
                run_lengths_of_labels_in_whole_words
                run_lengths_of_few_labels
            }
        }
    };
    (@modules $device:ty; $($module:ident { $($case:ident)* })*) => {
        $(mod $module {
            $(#[test]
            fn $case() {
                let test = concat!(stringify!($module), "::", stringify!($case));
                if let Some(device) = <$device as $crate::devices::Device>::open(test) {
                    $crate::devices::$module::$case(&device);
                }
            })*
        })*
    };
}
pub(crate) use suite;
