//! `trazar generate`.

use trazar::formats;

use crate::args::{Generate, GenerateArgs, ImageFormat};
use crate::failure::Failure;
use crate::output::{self, Destination};

pub(crate) fn run(args: &GenerateArgs) -> Result<(), Failure> {
    let Generate::Mask(args) = &args.what;
    let format = output::format(&args.output, args.format)?;
    let (width, height) = args.size;
    let image = args.pattern.generate(width, height, args.seed)?;
    let mut destination = Destination::open(&args.output)?;
    destination.fill(|out| match format {
        ImageFormat::Png => formats::write_image_png(&image, out),
        ImageFormat::Pbm => formats::write_image_pbm(&image, out),
        ImageFormat::Npy => formats::write_image_npy(&image, out),
    })?;
    destination.commit()
}
