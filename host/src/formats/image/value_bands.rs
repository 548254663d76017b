//! [`ValueBands`]: a file of values as bands of one type.

use super::raster::RasterValues;
use super::raster_bands::RasterBands;
use crate::error::{Error, OptionProblem, Result};
use crate::formats::FileValue;
use crate::image::ValueRows;
use crate::label::BandSource;
use crate::memory::push;

/// A file of values of type `T`, band by band, for
/// [`Engine::label_value_bands`](crate::Engine::label_value_bands).
///
/// ```
/// use trazar::formats::{RasterBands, ValueBands};
/// use trazar::{Connectivity, Engine};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("a.pgm");
/// std::fs::write(&path, "P2\n3 2\n9\n1 1 0\n2 1 2\n").unwrap();
/// let file = ValueBands::<u8>::new(RasterBands::open(&path)?)?.background(0)?;
/// let mut bands = Engine::cpu().label_value_bands(file, Connectivity::Four, 64 << 20)?;
/// let band = bands.next_band::<u32>()?.unwrap();
/// assert_eq!(band.labels(), [1, 1, 0, 2, 1, 3]);
/// // The file has bytes.
/// assert!(ValueBands::<u16>::new(RasterBands::open(&path)?).is_err());
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Debug)]
pub struct ValueBands<T> {
    bands: RasterBands,
    background: Vec<T>,
}

impl<T: FileValue> ValueBands<T> {
    /// The bands of a file whose values are of type `T` ([`RasterValues`] has the types).
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for a file of another type.
    pub fn new(bands: RasterBands) -> Result<Self> {
        of_type::<T>(RasterValues::zeros(bands.kind(), 0)?)?;
        Ok(Self {
            bands,
            background: Vec::new(),
        })
    }

    /// Leaves out the pixels with a value, such as the one that the file names for pixels without
    /// data: see [`ValueImage::background`](crate::ValueImage::background).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn background(mut self, value: T) -> Result<Self> {
        push(&mut self.background, value, "the background's values")?;
        Ok(self)
    }

    /// The file.
    pub fn file(&self) -> &RasterBands {
        &self.bands
    }
}

/// Values of type `T`, or the error for those of another type.
fn of_type<T: FileValue>(values: RasterValues) -> Result<Vec<T>> {
    let dtype = values.dtype();
    T::of_raster(values).ok_or_else(|| {
        let asked = std::any::type_name::<T>();
        let reason = format!("the file's values are of {dtype}, and {asked} was asked for");
        Error::option("T", OptionProblem::Conflict, reason)
    })
}

impl<T: FileValue> BandSource<ValueRows<T>> for ValueBands<T> {
    fn width(&self) -> u32 {
        self.bands.width()
    }

    fn height(&self) -> u32 {
        self.bands.height()
    }

    fn next_band(&mut self, rows: u32) -> Result<Option<ValueRows<T>>> {
        let Some(values) = self.bands.next_band(rows)? else {
            return Ok(None);
        };
        let rows = ValueRows::new(self.bands.width(), of_type(values)?)?;
        let leave_out = |rows: ValueRows<T>, &value| rows.background(value);
        self.background.iter().try_fold(rows, leave_out).map(Some)
    }

    fn rewind(&mut self) -> Result<()> {
        self.bands.rewind()
    }

    fn decoding_bytes(&self) -> u64 {
        self.bands.decoding_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::read_raster;
    use crate::{Connectivity, Engine, Samples, ValueImage};

    /// Files in several bands have the labels of the whole file, and are read twice if the memory
    /// does not hold their values.
    #[test]
    fn labels_of_a_file_in_bands() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("classes.pgm");
        let (width, height) = (1500u32, 3000u32);
        let mut file = format!("P5\n{width} {height}\n255\n").into_bytes();
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        // Stripes that bend, of three values.
        file.extend(pixels.map(|(x, y)| ((x + y * y / 900) / 37 % 3) as u8));
        std::fs::write(&path, file).unwrap();
        let raster = read_raster(&path).unwrap();
        let RasterValues::U8(values) = &raster.values else {
            panic!("{raster:?}");
        };
        let image = ValueImage::new(Samples::new(width, height, values).unwrap()).unwrap();
        let image = image.background(1).unwrap();
        let engine = Engine::cpu();
        for connectivity in [Connectivity::Four, Connectivity::Eight] {
            let whole = engine.label_values(&image, connectivity).unwrap();
            assert!(whole.count() > 20);
            for (memory, at_once) in [(1 << 30, true), (44 << 20, false)] {
                let file = ValueBands::<u8>::new(RasterBands::open(&path).unwrap()).unwrap();
                let file = file.background(1).unwrap();
                let mut bands = engine
                    .label_value_bands(file, connectivity, memory)
                    .unwrap();
                assert_eq!(bands.rows() == height, at_once, "{}", bands.rows());
                assert_eq!(bands.count(), u64::from(whole.count()));
                let mut labels = Vec::new();
                while let Some(band) = bands.next_band::<u32>().unwrap() {
                    labels.extend_from_slice(band.labels());
                }
                assert_eq!(labels, whole.as_slice());
            }
        }
        let error = ValueBands::<f32>::new(RasterBands::open(&path).unwrap()).unwrap_err();
        assert!(error.to_string().contains("uint8, and f32"), "{error}");
    }
}
