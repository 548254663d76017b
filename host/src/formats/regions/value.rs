//! [`FileValue`]: values of regions as files hold them.

use std::io::Write;

use crate::PixelValue;
use crate::formats::text::Text;

/// A type of values that all writers of regions write.
pub trait FileValue: PixelValue + Written {}

impl<T: PixelValue + Written> FileValue for T {}

mod sealed {
    /// The type of a column of FlatGeobuf.
    #[derive(Clone, Copy)]
    pub struct ColumnType(pub(in crate::formats) u8);

    /// How a value is written.
    pub trait Written: Copy {
        const COLUMN: ColumnType;

        /// The value as a whole number, if it is one.
        fn whole(self) -> Option<i64>;

        /// The value as a float.
        fn float(self) -> f64;

        /// Whether the type's values are whole numbers.
        const WHOLE: bool;

        /// Puts the value's bytes, the lowest first.
        fn put_bytes(self, bytes: &mut Vec<u8>);
    }
}

pub(super) use sealed::{ColumnType, Written};

macro_rules! integers {
    ($($type:ty, $column:literal;)*) => {$(
        impl Written for $type {
            const COLUMN: ColumnType = ColumnType($column);
            const WHOLE: bool = true;
            fn whole(self) -> Option<i64> {
                Some(self.into())
            }
            fn float(self) -> f64 {
                self as f64
            }
            fn put_bytes(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
        }
    )*};
}

integers! {
    u8, 1;
    i16, 3;
    u16, 4;
    i32, 5;
    u32, 6;
    i64, 7;
}

impl Written for f32 {
    const COLUMN: ColumnType = ColumnType(9);
    const WHOLE: bool = false;
    fn whole(self) -> Option<i64> {
        // Within the numbers that are exact.
        let whole = self.fract() == 0.0 && self.abs() < (1u64 << 53) as f32;
        whole.then_some(self as i64)
    }
    fn float(self) -> f64 {
        self.into()
    }
    fn put_bytes(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
}

/// Puts a value as JSON: a whole number, or in as few digits as tell it apart from other values of
/// its type. JSON has no infinite numbers: they are `null`.
pub(super) fn put_json<T: FileValue>(text: &mut Text<impl Write>, value: T) {
    if T::WHOLE {
        text.integer(value.whole().unwrap_or(0));
    } else if !value.float().is_finite() {
        text.put("null");
    } else if let Some(whole) = value.whole() {
        text.integer(whole).put(".0");
    } else {
        // A 32-bit float.
        text.display(format_args!("{:?}", value.float() as f32));
    }
}
