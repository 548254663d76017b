//! The georeference of a GeoTIFF, and GDAL's value for missing data.
//!
//! As in the OGC's GeoTIFF standard (19-008r4), and as GDAL reads it: scale and first tie point
//! come before a matrix, y scales point down, and with `RasterPixelIsPoint` the tie point is the
//! center of a pixel.

use tiff::decoder::ifd::Value;
use tiff::tags::Tag;

use super::layout::TiffDecoder;
use crate::formats::image::georeference::{Affine, Crs, GeoReference, Georeferenced};
use crate::formats::source::Origin;

/// The value for missing data, as it is written in the file, without control characters.
pub(super) fn no_data_text(decoder: &mut TiffDecoder) -> Option<String> {
    let mut text = decoder.get_tag_ascii_string(Tag::GdalNodata).ok()?;
    text.retain(|c| !c.is_control());
    Some(text.trim().into())
}

/// The value for missing data, if it is a number.
pub(super) fn no_data(decoder: &mut TiffDecoder) -> Option<f64> {
    no_data_text(decoder)?.parse().ok()
}

pub(super) fn georeference(decoder: &mut TiffDecoder, origin: Origin<'_>) -> Georeferenced {
    Georeferenced::new(origin.path, read(decoder))
}

type Checked<T> = std::result::Result<T, String>;

fn read(decoder: &mut TiffDecoder) -> Checked<Option<GeoReference>> {
    let keys = Keys::read(decoder)?;
    let found = GeoReference {
        transform: transform(decoder, keys.is_point)?,
        crs: keys.crs,
    };
    Ok((found != GeoReference::default()).then_some(found))
}

/// The values of a tag of floats.
fn floats(decoder: &mut TiffDecoder, tag: Tag, name: &str) -> Checked<Option<Vec<f64>>> {
    let found = decoder.find_tag(tag);
    let found = found.map_err(|error| format!("the tag {name} cannot be read ({error})"))?;
    let list = found.map(|value| match value {
        Value::List(_) => value.into_f64_vec(),
        one => one.into_f64().map(|value| vec![value]),
    });
    let list = list.transpose();
    list.map_err(|error| format!("the tag {name} holds no numbers ({error})"))
}

fn transform(decoder: &mut TiffDecoder, is_point: bool) -> Checked<Option<Affine>> {
    let scale = floats(decoder, Tag::ModelPixelScaleTag, "ModelPixelScale")?;
    let tie = floats(decoder, Tag::ModelTiepointTag, "ModelTiepoint")?;
    let matrix = floats(decoder, Tag::ModelTransformationTag, "ModelTransformation")?;
    let mut coefficients = match (scale, tie, matrix) {
        (Some(scale), tie, _) => {
            let [scale_x, scale_y] = *scale.first_chunk().ok_or_else(|| {
                format!(
                    "the tag ModelPixelScale has {} values, and needs 3",
                    scale.len()
                )
            })?;
            let Some(tie) = tie else {
                return Err("the tag ModelPixelScale has no ModelTiepoint beside it".into());
            };
            let [column, row, _, x, y] = *tie.first_chunk().ok_or_else(|| {
                format!(
                    "the tag ModelTiepoint has {} values, and needs 6",
                    tie.len()
                )
            })?;
            let down = -scale_y.abs();
            [
                scale_x,
                0.0,
                x - column * scale_x,
                0.0,
                down,
                y - row * down,
            ]
        }
        (None, _, Some(matrix)) => {
            let Some(&[a, b, _, c, d, e, _, f]) = matrix.first_chunk() else {
                return Err(format!(
                    "the tag ModelTransformation has {} values, and needs 16",
                    matrix.len()
                ));
            };
            [a, b, c, d, e, f]
        }
        // Control points alone are no affine map.
        (None, _, None) => return Ok(None),
    };
    if is_point {
        let [a, b, c, d, e, f] = &mut coefficients;
        *c -= (*a + *b) / 2.0;
        *f -= (*d + *e) / 2.0;
    }
    let (width, height) = decoder.dimensions().unwrap_or((1, 1));
    let map = Affine::checked(coefficients, width, height);
    map.map(Some)
        .map_err(|reason| format!("its transform {reason}"))
}

/// What is needed of the GeoKeyDirectory.
#[derive(Default)]
struct Keys {
    crs: Option<Crs>,
    /// Whether tie points are centers of pixels.
    is_point: bool,
}

const MODEL_TYPE: u16 = 1024;
const RASTER_TYPE: u16 = 1025;
const GEODETIC_CRS: u16 = 2048;
const PROJECTED_CRS: u16 = 3072;
/// A value that stands for a CRS that other keys define.
const USER_DEFINED: u16 = 32767;

impl Keys {
    fn read(decoder: &mut TiffDecoder) -> Checked<Self> {
        let found = decoder.find_tag(Tag::GeoKeyDirectoryTag);
        let found =
            found.map_err(|error| format!("the tag GeoKeyDirectory cannot be read ({error})"))?;
        let Some(found) = found else {
            return Ok(Self::default());
        };
        let numbers = found
            .into_u16_vec()
            .map_err(|error| format!("the tag GeoKeyDirectory holds no short numbers ({error})"))?;
        let [_version, _revision, _minor, count] = *numbers.first_chunk().ok_or_else(|| {
            format!(
                "the tag GeoKeyDirectory has {} values, and needs 4",
                numbers.len()
            )
        })?;
        let keys = numbers[4..].as_chunks::<4>().0;
        if keys.len() < usize::from(count) {
            return Err(format!(
                "the tag GeoKeyDirectory claims {count} keys, and has {}",
                keys.len()
            ));
        }
        let value = |wanted: u16| {
            let keys = keys[..usize::from(count)].iter();
            // The value of other locations is in another tag.
            keys.filter(|&&[key, location, ..]| key == wanted && location == 0)
                .map(|&[.., value]| value)
                .next()
        };
        let (projected, geodetic) = (value(PROJECTED_CRS), value(GEODETIC_CRS));
        let code = match value(MODEL_TYPE) {
            None => projected.or(geodetic),
            // Geographic or geocentric coordinates.
            Some(2 | 3) => geodetic.or(Some(USER_DEFINED)),
            // Projected ones. Without a code, text or parameters say what the projection is; the
            // code of its datum is not that of the CRS.
            Some(_) => projected.or(Some(USER_DEFINED)),
        };
        Ok(Self {
            crs: code.map(|code| match code {
                1..USER_DEFINED => Crs::Epsg(code.into()),
                _ => Crs::Other,
            }),
            is_point: value(RASTER_TYPE) == Some(2),
        })
    }
}
