//! Files of images: what is read from them is compared with samples that the tests wrote.

#![allow(missing_docs)]

mod bands;
mod contours_in_bands;
mod contours_in_files;
mod georeference;
mod overlays;
mod raster;
mod regions;
mod tiff;
mod tiffs;
