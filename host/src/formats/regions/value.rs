//! [`FileValue`]: values of regions as files hold them.

use std::io::Write;

use crate::PixelValue;
use crate::formats::RasterValues;
use crate::formats::text::Text;

/// A type of values that all writers of regions write, and that
/// [`ValueBands`](crate::formats::ValueBands) reads.
pub trait FileValue: PixelValue + Written {}

impl<T: PixelValue + Written> FileValue for T {}

mod sealed {
    use crate::formats::RasterValues;

    /// The type of a column of FlatGeobuf.
    #[derive(Clone, Copy)]
    pub struct ColumnType(pub(in crate::formats) u8);

    /// How a value is written, and read.
    pub trait Written: Copy {
        const COLUMN: ColumnType;

        /// A file's values, if they are of this type.
        fn of_raster(values: RasterValues) -> Option<Vec<Self>>;

        /// The value as a whole number, if it is one.
        fn whole(self) -> Option<i64>;

        /// The value as a float, if the type is one.
        fn float(self) -> Option<f32> {
            None
        }

        /// Puts the value's bytes, the lowest first.
        fn put_bytes(self, bytes: &mut Vec<u8>);
    }
}

pub(super) use sealed::{ColumnType, Written};

macro_rules! integers {
    ($($type:ty, $variant:ident, $column:literal;)*) => {$(
        impl Written for $type {
            const COLUMN: ColumnType = ColumnType($column);
            fn of_raster(values: RasterValues) -> Option<Vec<Self>> {
                match values {
                    RasterValues::$variant(values) => Some(values),
                    _ => None,
                }
            }
            fn whole(self) -> Option<i64> {
                Some(self.into())
            }
            fn put_bytes(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
        }
    )*};
}

integers! {
    u8, U8, 1;
    i16, I16, 3;
    u16, U16, 4;
    i32, I32, 5;
    u32, U32, 6;
    i64, I64, 7;
}

impl Written for f32 {
    const COLUMN: ColumnType = ColumnType(9);
    fn of_raster(values: RasterValues) -> Option<Vec<Self>> {
        match values {
            RasterValues::F32(values) => Some(values),
            _ => None,
        }
    }
    fn whole(self) -> Option<i64> {
        // Within the numbers that are exact.
        let whole = self.fract() == 0.0 && self.abs() < (1u64 << 53) as f32;
        whole.then_some(self as i64)
    }
    fn float(self) -> Option<f32> {
        Some(self)
    }
    fn put_bytes(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
}

/// Puts a value as JSON: a whole number, or in as few digits as tell it apart from other values of
/// its type. JSON has no infinite numbers: they are `null`.
pub(super) fn put_json<T: FileValue>(text: &mut Text<impl Write>, value: T) {
    match (value.whole(), value.float()) {
        (Some(whole), None) => text.integer(whole),
        (Some(whole), Some(_)) => text.integer(whole).put(".0"),
        (None, Some(float)) if float.is_finite() => text.display(format_args!("{float:?}")),
        (None, _) => text.put("null"),
    };
}
