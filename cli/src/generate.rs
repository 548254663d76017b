//! `trazar generate`.

use trazar::formats;
use trazar::generate::{CompetingNets, RandomNets};
use trazar::route::RoutingCase;

use std::path::Path;

use crate::args::{CompetingArgs, Generate, GenerateArgs, ImageFormat, MaskArgs, NetArgs};
use crate::failure::Failure;
use crate::output::{self, Destination};

pub(crate) fn run(args: &GenerateArgs) -> Result<(), Failure> {
    match &args.what {
        Generate::Mask(args) => mask(args),
        Generate::Net(args) => net(args),
        Generate::Competing(args) => competing(args),
    }
}

fn mask(args: &MaskArgs) -> Result<(), Failure> {
    let format = match args.format {
        Some(format) => format,
        None => output::by_extension(&args.output)?,
    };
    let (width, height) = args.size;
    let image = args.pattern.generate(width, height, args.seed)?;
    let mut destination = Destination::open(&args.output)?;
    destination.fill(args.quiet, |out| match format {
        ImageFormat::Png => formats::write_image_png(&image, out),
        ImageFormat::Pbm => formats::write_image_pbm(&image, out),
        ImageFormat::Npy => formats::write_image_npy(&image, out),
    })?;
    destination.commit()
}

fn net(args: &NetArgs) -> Result<(), Failure> {
    let (width, height) = args.size;
    let default = RandomNets::default();
    let case = RandomNets::default()
        .width(width)
        .height(height)
        .layers(args.layers)
        .weights(args.weights.clone())
        .via_weight(args.via.unwrap_or(default.via_weight))
        .blocked(args.blocked)
        .nets(args.nets)
        .pins(args.pins)
        .generate(args.seed)?;
    write(&case, &args.output, args.quiet)
}

fn competing(args: &CompetingArgs) -> Result<(), Failure> {
    let (width, height) = args.size;
    let case = CompetingNets::default()
        .width(width)
        .height(height)
        .layers(args.layers)
        .via_weight(args.via)
        .nets(args.nets)
        .pins(args.pins)
        .reach(args.reach)
        .demand(args.demand)
        .generate(args.seed)?;
    write(&case, &args.output, args.quiet)
}

fn write(case: &RoutingCase, output: &Path, quiet: bool) -> Result<(), Failure> {
    let mut destination = Destination::open(output)?;
    destination.fill(quiet, |out| formats::write_case_text(case, out))?;
    destination.commit()
}
