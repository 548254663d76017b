//! The command line.

mod bench;
mod distance;
mod generate;
mod input;
mod label;
mod measure;
mod numbers;
mod place;
mod polygonize;
mod route;
mod run;
mod trace;
mod values;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub(crate) use bench::{BenchArgs, BenchDevice, BenchFormat, BenchJob};
pub(crate) use distance::{CostFormat, DistanceArgs};
pub(crate) use generate::{CompetingArgs, Generate, GenerateArgs, ImageFormat, MaskArgs, NetArgs};
pub(crate) use input::InputArgs;
pub(crate) use label::{LabelArgs, LabelFormat};
pub(crate) use measure::{Asked, MeasureArgs, TableFormat};
pub(crate) use place::{Coordinates, NoDataArg, no_data_option};
pub(crate) use polygonize::{PolygonizeArgs, RegionFormat};
pub(crate) use route::{NetInputArgs, RouteAlgorithm, RouteArgs, RouteFormat, TreeKind};
pub(crate) use run::{Device, RunArgs};
pub(crate) use trace::{ContourFormat, GdsArgs, Geometry, Retrieval, TraceArgs};
pub(crate) use values::name;

/// Label, trace, polygonize and measure images of any size, route nets and find costs of travel.
#[derive(Debug, Parser)]
#[command(
    name = "trazar",
    version,
    propagate_version = true,
    max_term_width = 100,
    arg_required_else_help = false,
    after_help = "\
Exit status:
  0    done
  1    failed: the image cannot be read, a pin cannot be reached, the output cannot be written, ...
  2    usage: options that do not exist, do not fit each other or do not fit the image
  141  whoever read the output went away (a closed pipe)"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Trace(TraceArgs),
    Label(LabelArgs),
    Measure(MeasureArgs),
    Polygonize(PolygonizeArgs),
    Route(RouteArgs),
    Distance(DistanceArgs),
    Generate(GenerateArgs),
    Bench(BenchArgs),
    Info(InfoArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Show the version, the devices and the algorithms
#[derive(Debug, clap::Args)]
pub(crate) struct InfoArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print what lets a shell complete the options and their values
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trazar completions bash > ~/.local/share/bash-completion/completions/trazar
  trazar completions fish > ~/.config/fish/completions/trazar.fish
  trazar completions zsh > \"${fpath[1]}/_trazar\"")]
pub(crate) struct CompletionsArgs {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// Write the manual pages, one for each command
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trazar man ~/.local/share/man/man1 && man trazar-trace")]
pub(crate) struct ManArgs {
    /// Folder to write to; it is made if it is missing
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}
