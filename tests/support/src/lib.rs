//! What the tests across crates share.
//!
//! | module | what it has |
//! |---|---|
//! | [`seeds`] | seeds, and random numbers that follow them |
//! | [`images`], [`grids`], [`friction`] | random inputs |
//! | [`border_oracle`], [`route_oracle`] | plain, slow algorithms, without the library's code |
//! | [`contours`], [`labels`], [`routes`], [`tracers`] | options, and comparisons of results |
//! | [`tilings`] | images of any size whose labels are known |
//! | [`values`] | random images of values, and their regions by flooding |
//! | [`emulators`] | emulators, and random cases that run on them |
//! | [`kernels`] | what tests use of the kernels' crate |
//! | [`threads`] | numbers of threads |
//! | [`optional`] | what not every machine has: a GPU, time, real images |

pub mod border_oracle;
pub mod competing;
pub mod contours;
pub mod emulators;
pub mod friction;
pub mod grids;
pub mod images;
pub mod kernels;
pub mod labels;
pub mod legality;
pub mod optional;
pub mod route_oracle;
pub mod routes;
pub mod threads;
pub mod tilings;
pub mod tracers;
pub mod values;

pub use trazar_test_seeds as seeds;
