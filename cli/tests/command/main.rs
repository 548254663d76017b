//! The command as it is run: one binary of tests, because each would take a second or two to link.

#![allow(missing_docs)]

mod bands;
mod bench;
mod common;
mod competing;
mod devices;
#[cfg(unix)]
mod distance;
mod docs;
mod generate;
mod inputs;
mod manual;
mod measure;
mod outputs;
mod polygonize;
mod results;
mod route;
#[cfg(unix)]
mod surroundings;
mod trace_bands;
