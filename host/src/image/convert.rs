//! Conversions from and to the types of the crates `image` and `ndarray`.

#[cfg(feature = "image")]
mod of_image {
    use std::ops::Deref;

    use image::{FlatSamples, GrayImage, ImageBuffer, Luma, Pixel};

    use crate::error::{Error, OptionProblem};
    use crate::image::{BinaryImage, Samples};

    /// The values of a grey image such as [`GrayImage`], without a copy.
    ///
    /// ```
    /// use trazar::BinaryImage;
    ///
    /// let grey = image::GrayImage::from_raw(3, 1, vec![0, 200, 90]).unwrap();
    /// let image = BinaryImage::from_samples(&grey, 127)?;
    /// assert_eq!(image.to_string(), ".#.\n");
    /// assert_eq!(image::GrayImage::from(&image).into_raw(), [0, 255, 0]);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    impl<'a, T, C> From<&'a ImageBuffer<Luma<T>, C>> for Samples<'a, T>
    where
        Luma<T>: Pixel<Subpixel = T>,
        C: Deref<Target = [T]>,
    {
        fn from(image: &'a ImageBuffer<Luma<T>, C>) -> Self {
            let (width, height) = (image.width() as usize, image.height() as usize);
            // The buffer may be longer than the image.
            Self::dense(width, height, &image.as_raw()[..width * height])
        }
    }

    /// The values of one channel at any strides, without a copy: those of a part of an image, or of
    /// an image with padding.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for several channels; those of [`Samples::with_strides`].
    ///
    /// ```
    /// use image::flat::{FlatSamples, SampleLayout};
    /// use trazar::{BinaryImage, Samples};
    ///
    /// let padded: &[u8] = &[9, 200, 0, 0, 255, 3, 0, 0];
    /// let layout = SampleLayout {
    ///     channels: 1,
    ///     channel_stride: 1,
    ///     width: 2,
    ///     width_stride: 1,
    ///     height: 2,
    ///     height_stride: 4,
    /// };
    /// let flat = FlatSamples { samples: padded, layout, color_hint: None };
    /// let image = BinaryImage::from_samples(Samples::try_from(flat)?, 127)?;
    /// assert_eq!(image.to_string(), ".#\n#.\n");
    /// # Ok::<(), trazar::Error>(())
    /// ```
    impl<'a, T> TryFrom<FlatSamples<&'a [T]>> for Samples<'a, T> {
        type Error = Error;

        fn try_from(flat: FlatSamples<&'a [T]>) -> Result<Self, Error> {
            let layout = flat.layout;
            if layout.channels != 1 {
                return Err(Error::option(
                    "flat",
                    OptionProblem::OutOfRange,
                    format!("samples of {} channels: give one channel", layout.channels),
                ));
            }
            Self::with_strides(
                layout.width,
                layout.height,
                layout.height_stride,
                layout.width_stride,
                flat.samples,
            )
        }
    }

    /// Foreground as 255, background as 0.
    impl From<&BinaryImage> for GrayImage {
        fn from(image: &BinaryImage) -> Self {
            Self::from_fn(image.width(), image.height(), |x, y| {
                Luma([if image.get(x, y) { 255 } else { 0 }])
            })
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn foreground_is_white_and_background_black() {
            let image = BinaryImage::from_art("#..\n.##").unwrap();
            let picture = GrayImage::from(&image);
            assert_eq!(picture.dimensions(), (3, 2));
            assert_eq!(picture.into_raw(), [255, 0, 0, 0, 255, 255]);
        }
    }
}

#[cfg(feature = "ndarray")]
mod of_ndarray {
    use ndarray::{Array2, ArrayView2};

    use crate::image::samples::Layout;
    use crate::image::{BinaryImage, Samples};

    /// The elements of an array of shape (height, width), without a copy, whatever its strides.
    ///
    /// ```
    /// use ndarray::{Array2, array, s};
    /// use trazar::{BinaryImage, Engine, LabelOptions};
    ///
    /// let grey = array![[0u8, 200, 90], [255, 0, 130]];
    /// let image = BinaryImage::from_samples(grey.slice(s![.., ..;-1]), 127)?;
    /// assert_eq!(image.to_string(), ".#.\n#.#\n");
    ///
    /// let labels = Engine::cpu().label(&image, &LabelOptions::default())?;
    /// assert_eq!(Array2::from(labels), array![[0, 1, 0], [1, 0, 1]]);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    impl<'a, T> From<ArrayView2<'a, T>> for Samples<'a, T> {
        fn from(array: ArrayView2<'a, T>) -> Self {
            let (height, width) = array.dim();
            if let Some(values) = array.to_slice() {
                return Self::dense(width, height, values);
            }
            if let Some(values) = array.reversed_axes().to_slice() {
                let layout = Layout::Strided {
                    values,
                    row_stride: 1,
                    column_stride: height,
                };
                return Self {
                    width,
                    height,
                    layout,
                };
            }
            Self {
                width,
                height,
                layout: Layout::Array(array),
            }
        }
    }

    /// Like its view.
    impl<'a, T> From<&'a Array2<T>> for Samples<'a, T> {
        fn from(array: &'a Array2<T>) -> Self {
            array.view().into()
        }
    }

    /// An array of shape (height, width): foreground is true.
    impl From<&BinaryImage> for Array2<bool> {
        fn from(image: &BinaryImage) -> Self {
            let shape = (image.height() as usize, image.width() as usize);
            Self::from_shape_fn(shape, |(y, x)| image.get(x as u32, y as u32))
        }
    }

    #[cfg(test)]
    mod tests {
        use ndarray::{Axis, ShapeBuilder, s};

        use super::*;

        /// Views with axes in either order, backwards and with steps, against their elements.
        #[test]
        fn views_are_thresholded_element_by_element() {
            let value = |(y, x): (usize, usize)| ((y * 131 + x * 17) % 100) as f32;
            let c = Array2::from_shape_fn((150, 140), value);
            let f = Array2::from_shape_fn((150, 140).f(), value);
            for array in [&c, &f] {
                let mut flipped = array.view();
                flipped.invert_axis(Axis(0));
                flipped.invert_axis(Axis(1));
                for view in [
                    array.view(),
                    array.t(),
                    array.slice(s![3..133, 5..72]),
                    array.slice(s![..;2, ..;-3]),
                    array.slice(s![..;-1, ..]),
                    flipped,
                    array.slice(s![..1, 1..]),
                ] {
                    let image = BinaryImage::from_samples(view, 40.0).unwrap();
                    let expected = view.map(|&value| value > 40.0);
                    assert_eq!(
                        Array2::<bool>::from(&image),
                        expected,
                        "{:?}",
                        view.strides()
                    );
                }
            }
        }

        #[test]
        fn empty_arrays_are_refused() {
            for shape in [(0, 0), (3, 0), (0, 3)] {
                let array = Array2::<u8>::zeros(shape);
                assert!(matches!(
                    BinaryImage::from_samples(&array, 0),
                    Err(crate::Error::EmptyImage { .. })
                ));
            }
        }
    }
}
