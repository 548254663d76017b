//! [`GeoTags`]: what a GeoTIFF says of its place, word for word.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use tiff::decoder::Decoder;
use tiff::decoder::ifd::Value;
use tiff::tags::Tag;

use crate::error::{Error, Result};

/// The tags of a GeoTIFF that say where it is, to be written to another one of the same size:
/// transform and coordinate reference system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GeoTags {
    /// Number and values, by number.
    pub(super) tags: Vec<(u16, TagValues)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TagValues {
    Shorts(Vec<u16>),
    Doubles(Vec<f64>),
    /// Without the zero at its end.
    Text(String),
}

/// ModelPixelScale, ModelTiepoint, ModelTransformation; GeoKeyDirectory, GeoDoubleParams.
const DOUBLES: [u16; 4] = [33550, 33922, 34264, 34736];
const SHORTS: u16 = 34735;
const TEXT: u16 = 34737;

impl GeoTags {
    /// The tags of a file, which are none if it is no TIFF.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let io = |source| Error::Io {
            path: path.into(),
            source,
        };
        // A pipe, say, whose content has been read already: opening it again may wait for a writer.
        if !std::fs::metadata(path).map_err(io)?.is_file() {
            return Ok(Self::default());
        }
        let file = File::open(path).map_err(io)?;
        // A damaged file has been refused where its values were read.
        let decoder = Decoder::new(BufReader::new(file)).ok();
        Ok(decoder.map_or_else(Self::default, Self::of))
    }

    fn of(mut decoder: Decoder<BufReader<File>>) -> Self {
        let mut tags = Vec::new();
        let mut find = |number| {
            decoder
                .find_tag(Tag::from_u16_exhaustive(number))
                .ok()
                .flatten()
        };
        for number in DOUBLES {
            let values = find(number).and_then(|value: Value| value.into_f64_vec().ok());
            tags.extend(values.map(|values| (number, TagValues::Doubles(values))));
        }
        let shorts = find(SHORTS).and_then(|value| value.into_u16_vec().ok());
        tags.extend(shorts.map(|values| (SHORTS, TagValues::Shorts(values))));
        let text = find(TEXT).and_then(|value| value.into_string().ok());
        tags.extend(text.map(|text| {
            let text = text.trim_end_matches('\0').to_owned();
            (TEXT, TagValues::Text(text))
        }));
        tags.sort_unstable_by_key(|&(number, _)| number);
        Self { tags }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty()
    }
}
