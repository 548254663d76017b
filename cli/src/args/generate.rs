//! The arguments of `trazar generate`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use trazar::generate::Pattern;

use super::numbers::{finite, size};

/// Make test images and nets
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = false)]
pub(crate) struct GenerateArgs {
    #[command(subcommand)]
    pub(crate) what: Generate,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Generate {
    Mask(MaskArgs),
    Net(NetArgs),
    Competing(CompetingArgs),
}

/// Make a binary image from a pattern
///
/// The same arguments give the same pixels on every machine.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trazar generate mask blobs -o blobs.png --size 4096 --seed 7
  trazar generate mask noise:0.3 -o noise.npy --size 1920x1080")]
pub(crate) struct MaskArgs {
    /// blobs, noise or noise:DENSITY, nested-rectangles, spiral, serpentine, hilbert, comb,
    /// checkerboard, dots, lattice or text
    #[arg(value_name = "PATTERN")]
    pub(crate) pattern: Pattern,

    /// File to write; its extension chooses the format: .png, .pbm or .npy. '-' is standard
    /// output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Format to write, whatever OUT's extension
    #[arg(long, value_name = "F")]
    pub(crate) format: Option<ImageFormat>,

    /// Width and height in pixels
    #[arg(long, value_name = "WxH|N", default_value = "1024", value_parser = size)]
    pub(crate) size: (u32, u32),

    /// Seed of the random image, for blobs, noise and text
    #[arg(long, value_name = "S", default_value = "0")]
    pub(crate) seed: u64,

    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Make a grid of random weights with nets of random pins
///
/// Weights are whole numbers, drawn uniformly; so are the cells of the pins, which are distinct.
/// With several layers, wires run along x on the first, third, ... layer and along y on the others;
/// pins are on the first. The same arguments give the same grid on every machine.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trazar generate net -o case.txt --size 1024 --pins 16 --seed 7
  trazar generate net -o case.txt --size 640x480 --pins 9 --weights 1..40
  trazar generate net -o case.txt --layers 4 --via 40 --blocked 0.05 --nets 100 --pins 4")]
pub(crate) struct NetArgs {
    /// File to write, as text. '-' is standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Width and height in cells
    #[arg(long, value_name = "WxH|N", default_value = "1024", value_parser = size)]
    pub(crate) size: (u32, u32),

    /// Pins of each net
    #[arg(long, value_name = "K", default_value = "16")]
    pub(crate) pins: u32,

    /// Nets
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) nets: u32,

    /// The smallest and the largest weight
    #[arg(long, value_name = "A..B", default_value = "1..90", value_parser = weights)]
    pub(crate) weights: RangeInclusive<u32>,

    /// Layers, 1 to 16
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) layers: u32,

    /// The cost of a via, with several layers [default: 90]
    #[arg(long, value_name = "N")]
    pub(crate) via: Option<u32>,

    /// The share of cells that are blocked, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = finite)]
    pub(crate) blocked: f64,

    /// Seed of the random grid
    #[arg(long, value_name = "S", default_value = "0")]
    pub(crate) seed: u64,

    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Make nets that compete for the edges of a grid, with capacities that suffice
///
/// Wires run along x on the first, third, ... layer and along y on the others; pins are on the
/// first, at random in a square around each net. Capacities are such that a solution without
/// overflow exists, which uses the share DEMAND of them. The same arguments give the same nets on
/// every machine.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trazar generate competing -o case.txt --size 64 --nets 150 --reach 24
  trazar generate competing -o case.txt --demand 0.7 --layers 6 --seed 7")]
pub(crate) struct CompetingArgs {
    /// File to write, as text. '-' is standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Width and height in cells
    #[arg(long, value_name = "WxH|N", default_value = "1024", value_parser = size)]
    pub(crate) size: (u32, u32),

    /// Nets
    #[arg(long, value_name = "N", default_value = "10000")]
    pub(crate) nets: u32,

    /// Pins of each net
    #[arg(long, value_name = "K", default_value = "6")]
    pub(crate) pins: u32,

    /// The side of the square around the pins of a net, in cells
    #[arg(long, value_name = "N", default_value = "256")]
    pub(crate) reach: u32,

    /// The share of the layers' capacities that a solution uses, above 0 and at most 1
    #[arg(long, value_name = "SHARE", default_value = "0.9", value_parser = finite)]
    pub(crate) demand: f64,

    /// Layers, 2 to 16
    #[arg(long, value_name = "N", default_value = "4")]
    pub(crate) layers: u32,

    /// The cost of a via; a wire costs 1 per edge
    #[arg(long, value_name = "N", default_value = "2")]
    pub(crate) via: u32,

    /// Seed of the random nets
    #[arg(long, value_name = "S", default_value = "0")]
    pub(crate) seed: u64,

    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

fn weights(text: &str) -> Result<RangeInclusive<u32>, String> {
    text.split_once("..")
        .and_then(|(least, most)| Some(least.parse().ok()?..=most.parse().ok()?))
        .ok_or_else(|| "not a range of weights: give A..B, numbers from 0 to 4294967294".into())
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum ImageFormat {
    /// 1-bit grey
    Png,
    /// Binary PBM, foreground white
    Pbm,
    /// An array of bool of shape (height, width)
    Npy,
}
