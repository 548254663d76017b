//! Binary images of 1 bit per pixel, made from images of other kinds.

pub mod pack;
