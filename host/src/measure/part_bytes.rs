//! [`MeasurePart`] as bytes, to be sent to other processes.

use super::intensities::Kind;
use super::part::MeasurePart;
use super::properties::Property;
use super::strip::Sums;
use super::sums::{Base, IntensitySums, Outline, Pairs, Powers, Second, Span};
use super::{MeasureOptions, Properties};
use crate::bytes::{Number, Reader, Writer};
use crate::error::Result;
use crate::memory::{push, with_room, zeroed_vec};

/// Name of the bytes' content, in errors.
const PART: &str = "a part of measures";
const LETTERS: [u8; 4] = *b"TZMP";
const VERSION: u8 = 1;

/// Numbers that are written one after the other.
trait Record: Sized {
    const SIZE: usize;
    fn put(&self, to: &mut Writer);
    fn get(from: &mut Reader<'_>) -> Result<Self>;
}

/// Implements [`Record`] for structures of numbers.
macro_rules! records {
    ($($type:ident { $($field:ident: $number:ty,)* })*) => {$(
        impl Record for $type {
            const SIZE: usize = 0 $(+ <$number as Number>::SIZE)*;
            fn put(&self, to: &mut Writer) {
                $(to.put::<$number>(self.$field);)*
            }
            fn get(from: &mut Reader<'_>) -> Result<Self> {
                Ok(Self { $($field: from.get::<$number>()?,)* })
            }
        }
    )*};
}

records! {
    Base {
        label: i64, area: u64, row: u32, column: u32, last_row: u32, min_column: u32,
        max_column: u32,
    }
    Second { r: i128, c: i128, rr: i128, rc: i128, cc: i128, }
    Pairs {
        runs: u64, below: u64, below_right: u64, below_left: u64, squares: u64, diagonals: u64,
    }
    IntensitySums {
        pixels: u64, min: f64, max: f64, whole_sum: i128, squares: u128, sum: f64, deviations: f64,
    }
    Span { slot: u32, row: u32, start: u32, end: u32, }
}

impl Record for Powers {
    const SIZE: usize = 16 * 8;
    fn put(&self, to: &mut Writer) {
        self.0
            .as_flattened()
            .iter()
            .for_each(|&power| to.put(power));
    }
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        let mut powers = Self::default();
        for power in powers.0.as_flattened_mut() {
            *power = from.get()?;
        }
        Ok(powers)
    }
}

impl Record for Outline {
    const SIZE: usize = 3 * 8;
    fn put(&self, to: &mut Writer) {
        self.0.iter().for_each(|&count| to.put(count));
    }
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(Self([from.get()?, from.get()?, from.get()?]))
    }
}

fn put<R: Record>(to: &mut Writer, records: &[R]) -> Result<()> {
    to.reserve(8 + R::SIZE * records.len())?;
    to.put(records.len() as u64);
    records.iter().for_each(|record| record.put(to));
    Ok(())
}

fn get<R: Record>(from: &mut Reader<'_>) -> Result<Vec<R>> {
    let len = from.length(R::SIZE)?;
    let mut records = with_room(len, PART)?;
    for _ in 0..len {
        records.push(R::get(from)?);
    }
    Ok(records)
}

impl MeasurePart {
    /// The part as bytes, which other processes and machines read by
    /// [`from_bytes`](Self::from_bytes). They end with a hash of all other bytes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let properties = self.options.properties.as_slice();
        let room = 256 + 36 * self.sums.bases.len();
        let mut to = Writer::new(LETTERS, VERSION, room, PART)?;
        to.put(self.width);
        to.put(self.rows.start);
        to.put(self.rows.end);
        let number = |property: &Property| {
            let found = Property::ALL.iter().position(|known| known == property);
            found.map_or(u8::MAX, |number| number as u8)
        };
        to.list(properties.iter().map(number))?;
        to.reserve(24)?;
        self.options.spacing.iter().for_each(|&side| to.put(side));
        to.put(match self.kind {
            None => 0u8,
            Some(kind) => 1 | u8::from(kind.has_squares) << 1 | u8::from(kind.is_whole) << 2,
        });
        let sums = &self.sums;
        put(&mut to, &sums.bases)?;
        put(&mut to, &sums.second)?;
        put(&mut to, &sums.powers)?;
        put(&mut to, &sums.pairs)?;
        put(&mut to, &sums.outlines)?;
        put(&mut to, &sums.intensities)?;
        put(&mut to, &sums.weighted)?;
        put(&mut to, &sums.spans)?;
        to.finish()
    }

    /// The part that [`to_bytes`](Self::to_bytes) has written. Any bytes give either an error or
    /// measures of something.
    ///
    /// # Errors
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) for bytes that are damaged, or not of
    /// a part; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new(bytes, LETTERS, VERSION, PART)?;
        let from = &mut from;
        let (width, rows) = from.width_and_rows()?;
        let mut properties: Vec<Property> = Vec::new();
        for number in from.list::<u8>()? {
            match Property::ALL.get(usize::from(number)) {
                Some(&property) => push(&mut properties, property, PART)?,
                None => return Err(from.refusal(format!("there is no property {number}"))),
            }
        }
        let spacing = [from.get()?, from.get()?];
        let kind: u8 = from.get()?;
        let kind = (kind & 1 == 1).then_some(Kind {
            has_squares: kind & 2 != 0,
            is_whole: kind & 4 != 0,
        });
        let options = MeasureOptions::default()
            .properties(Properties::from(properties))
            .spacing(spacing);
        let sums = Sums {
            bases: get(from)?,
            second: get(from)?,
            powers: get(from)?,
            pairs: get(from)?,
            outlines: get(from)?,
            intensities: get(from)?,
            weighted: get(from)?,
            spans: get(from)?,
        };
        from.end()?;
        super::check_options(&options, kind.is_some())?;
        let part = Self {
            width,
            rows,
            options,
            kind,
            sums,
        };
        part.check_sums(from)?;
        Ok(part)
    }

    /// Refuses sums that are not as many as the options need, or could lead later code astray.
    fn check_sums(&self, from: &Reader<'_>) -> Result<()> {
        let (needs, sums) = (self.needs(), &self.sums);
        let count = |needed: bool| if needed { sums.bases.len() } else { 0 };
        let right = sums.second.len() == count(needs.second)
            && sums.powers.len() == count(needs.powers)
            && sums.pairs.len() == count(needs.pairs)
            && sums.outlines.len() == count(needs.outline)
            && sums.intensities.len() == count(needs.intensities)
            && sums.weighted.len() == count(needs.weighted)
            && (needs.spans || sums.spans.is_empty())
            && u32::try_from(sums.bases.len()).is_ok();
        from.check(right, "there are not the sums of each label")?;
        let most = u64::from(self.width) * self.rows.len() as u64;
        let is_base = |base: &Base| {
            base.label > 0
                && (1..=most).contains(&base.area)
                && base.row <= base.last_row
                && self.rows.contains(&base.row)
                && self.rows.contains(&base.last_row)
                && (base.min_column..=base.max_column).contains(&base.column)
                && base.max_column < self.width
        };
        from.check(sums.bases.iter().all(is_base), "a label is not in the rows")?;
        let areas: u128 = sums.bases.iter().map(|base| u128::from(base.area)).sum();
        from.check(
            areas <= most.into(),
            "the labels have more pixels than the rows",
        )?;
        // Coordinates are below 2³¹.
        let within =
            |sum: i128, count: u64, bits: u32| sum.unsigned_abs() <= u128::from(count) << bits;
        let second = |(sums, base): (&Second, &Base)| {
            let Second { r, c, rr, rc, cc } = *sums;
            [r, c].iter().all(|&sum| within(sum, base.area, 31))
                && [rr, rc, cc].iter().all(|&sum| within(sum, base.area, 62))
        };
        let pairs = |(pairs, base): (&Pairs, &Base)| {
            let Pairs {
                runs,
                below,
                below_right,
                below_left,
                squares,
                diagonals,
            } = *pairs;
            let all = [runs, below, below_right, below_left, squares, diagonals];
            all.iter().all(|&count| count <= base.area)
        };
        let outline =
            |(outline, base): (&Outline, &Base)| outline.0.iter().all(|&count| count <= base.area);
        // Squares are summed up of integers of up to 32 bits.
        let has_squares = self.kind.is_some_and(|kind| kind.has_squares);
        let bits = if has_squares { 32 } else { 63 };
        let intensities = |(sums, base): (&IntensitySums, &Base)| {
            sums.pixels <= base.area
                && within(sums.whole_sum, sums.pixels, bits)
                && sums.squares <= u128::from(sums.pixels) << 64
        };
        let right = sums.second.iter().zip(&sums.bases).all(second)
            && sums.pairs.iter().zip(&sums.bases).all(pairs)
            && sums.outlines.iter().zip(&sums.bases).all(outline)
            && sums.intensities.iter().zip(&sums.bases).all(intensities);
        from.check(right, "a sum is larger than that of its label's pixels")?;
        let in_order = sums
            .spans
            .is_sorted_by(|a, b| (a.row, a.end) <= (b.row, b.start));
        let is_span = |span: &Span| {
            sums.bases.get(span.slot as usize).is_some_and(|base| {
                (base.row..=base.last_row).contains(&span.row)
                    && base.min_column <= span.start
                    && span.start < span.end
                    && span.end <= base.max_column + 1
            })
        };
        let right = in_order && sums.spans.iter().all(is_span);
        from.check(right, "a run is not in its label's box")?;
        let mut has_run: Vec<u8> = zeroed_vec(sums.bases.len(), PART)?;
        sums.spans
            .iter()
            .for_each(|span| has_run[span.slot as usize] = 1);
        let right = !needs.spans || has_run.iter().all(|&has| has == 1);
        from.check(right, "a label has no runs")
    }
}
