//! The library's half of `benches/route_peers.py`: makes grids, and times the library on them.
//!
//! - `route_times draw SIDE FILE` writes a square grid with random weights from 1 to 90, always the
//!   same for a size, as 32-bit numbers in little-endian order without a header: the weight of the
//!   edge to the right of each cell, row by row, then the weight of the edge down from each cell;
//!   0xffffffff where there is no edge;
//! - `route_times corners SIDE REPEAT` computes the distances of all cells from the first one on
//!   the same grid, and prints one JSON object: the seconds of the fastest of `REPEAT` runs, and
//!   the last cell's distance.

use std::error::Error;
use std::time::Instant;

use trazar::Engine;
use trazar::route::{Cell, DistanceOptions};
use trazar_bench_support::grids;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["draw", side, file] => draw(side.parse()?, file),
        ["corners", side, repeat] => corners(side.parse()?, repeat.parse()?),
        _ => Err("draw SIDE FILE, or corners SIDE REPEAT".into()),
    }
}

fn draw(side: u32, file: &str) -> Result<(), Box<dyn Error>> {
    let grid = grids::grid(side, side)?;
    let weights = grid.rights().iter().chain(grid.downs());
    let bytes: Vec<u8> = weights.flat_map(|weight| weight.to_le_bytes()).collect();
    Ok(std::fs::write(file, bytes)?)
}

fn corners(side: u32, repeat: u32) -> Result<(), Box<dyn Error>> {
    let grid = grids::grid(side, side)?;
    let first = Cell::at(0, 0);
    let engine = Engine::cpu();
    let mut fastest = f64::INFINITY;
    let mut cost = 0;
    for _ in 0..repeat.max(1) {
        let started = Instant::now();
        let distances = engine.distances(&grid, &[first], &DistanceOptions::default())?;
        fastest = fastest.min(started.elapsed().as_secs_f64());
        cost = distances.as_slice().last().copied().unwrap_or_default();
    }
    println!(r#"{{"seconds": {fastest}, "cost": {cost}}}"#);
    Ok(())
}
