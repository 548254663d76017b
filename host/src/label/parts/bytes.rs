//! Parts and numbers as bytes, to be sent to other processes.

use glam::{DVec2, IVec2};

use super::rim::{Rim, RimRuns, ValueRun};
use super::table::{Final, FinalNode};
use super::{Band, BandNumbers, LabelPart, Nodes};
use crate::bytes::{Reader, Writer};
use crate::error::Result;
use crate::geometry::BoundingBox;
use crate::image::{Key, MAX_SIDE, WORD_BITS};
use crate::label::cpu::{Tally, Word};
use crate::label::{Component, Connectivity};
use crate::memory::reserve;

const PART: &str = "a label part";
const NUMBERS: &str = "a band's numbers";
const COMPONENTS: &str = "components' measures";
const VERSION: u8 = 1;
/// The second version has the type of values.
const PART_VERSION: u8 = 2;

/// The bytes of a [`Component`].
const COMPONENT: usize = 40;
/// The bytes of a tally: its area, the corners of its box and two sums.
const TALLY: usize = 8 + 4 * 4 + 2 * 16;

impl LabelPart {
    /// The part as bytes, which other processes and machines read by
    /// [`from_bytes`](Self::from_bytes).
    ///
    /// They are about as many as the bytes of the part's memory, and end with a hash of all others.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let room = 64 + 8 * self.nodes.number.len() + self.top.memory() + self.bottom.memory();
        let mut to = Writer::new(*b"TZLP", PART_VERSION, room, PART)?;
        to.put(self.width);
        to.put(self.rows.start);
        to.put(self.rows.end);
        to.put(connectivity_number(self.connectivity));
        to.put(u8::from(self.statistics));
        // No type of values has the number 0.
        to.put(self.values.unwrap_or(0));
        to.put(u8::from(
            self.bands.iter().any(|band| !band.inside.is_empty()),
        ));
        to.list(self.bands.iter().map(|band| band.rows.len() as u32))?;
        to.list(self.bands.iter().map(|band| band.count))?;
        to.list(self.bands.iter().map(|band| band.nodes))?;
        for band in &self.bands {
            put_components(&mut to, &band.inside)?;
        }
        to.list(self.nodes.number.iter().copied())?;
        to.list(self.nodes.roots()?.into_iter())?;
        to.reserve(TALLY * self.nodes.tally.len())?;
        for (i, tally) in (0..).zip(&self.nodes.tally) {
            if self.nodes.parent[i as usize] == i {
                put_tally(&mut to, tally);
            }
        }
        for rim in [&self.top, &self.bottom] {
            match &rim.runs {
                RimRuns::Bits(bits) => to.list(bits.iter().copied())?,
                RimRuns::Values(runs) => {
                    to.list(runs.iter().map(|run| run.start))?;
                    to.list(runs.iter().map(|run| run.end))?;
                    to.list(runs.iter().map(|run| run.key))?;
                }
            }
            to.list(rim.nodes.iter().copied())?;
        }
        to.finish()
    }

    /// The approximate number of bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        let inside: usize = self
            .bands
            .iter()
            .map(|band| size_of_val(&band.inside[..]))
            .sum();
        inside
            + size_of_val(&self.bands[..])
            + 2 * size_of_val(&self.nodes.number[..])
            + size_of_val(&self.nodes.tally[..])
            + self.top.memory()
            + self.bottom.memory()
    }

    /// The part that [`to_bytes`](Self::to_bytes) has written, in this version of the library or in
    /// another one with the same format.
    ///
    /// The bytes are checked: whatever they are, the resulting part can be merged and finished.
    /// Only whether they come from an image is unknown.
    ///
    /// # Errors
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) for bytes that are damaged, or not of
    /// a part; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    ///
    /// ```
    /// use trazar::BinaryImage;
    /// use trazar::label::{ComponentOptions, LabelPart};
    ///
    /// let image = BinaryImage::from_art("#.#\n#.#")?;
    /// let part = LabelPart::label(&image, 0, &ComponentOptions::default())?;
    /// let mut bytes = part.to_bytes()?;
    /// assert_eq!(LabelPart::from_bytes(&bytes)?.finish()?.count(), 2);
    /// bytes[20] ^= 1;
    /// assert!(LabelPart::from_bytes(&bytes).is_err());
    /// # Ok::<(), trazar::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new(bytes, *b"TZLP", PART_VERSION, PART)?;
        let (width, rows) = from.width_and_rows()?;
        let connectivity = get_connectivity(&mut from)?;
        let statistics = get_flag(&mut from)?;
        let values = Some(from.get::<u8>()?).filter(|&values| values > 0);
        let known = values.is_none_or(|values| values <= <f32 as Key>::TYPE && !statistics);
        from.check(known, "its type of values is none that regions have")?;
        let has_inside = get_flag(&mut from)?;
        let pixels = |rows: u32| u64::from(width) * u64::from(rows);

        let heights: Vec<u32> = from.list()?;
        let counts: Vec<u32> = from.list()?;
        let node_counts: Vec<u32> = from.list()?;
        let same = heights.len() == counts.len() && counts.len() == node_counts.len();
        from.check(same && !heights.is_empty(), "the bands do not fit the rows")?;
        let mut bands = Vec::new();
        reserve(&mut bands, heights.len(), "bands")?;
        let (mut first_row, mut node_count) = (rows.start, 0u64);
        for ((height, count), nodes) in heights.into_iter().zip(counts).zip(node_counts) {
            let end = first_row.checked_add(height).filter(|&end| end <= rows.end);
            let fits = height > 0 && nodes <= count && u64::from(count) <= pixels(height);
            let Some(end) = end.filter(|_| fits) else {
                return Err(from.refusal("the bands do not fit the rows"));
            };
            let inside = get_components(&mut from)?;
            let needed = if has_inside { count - nodes } else { 0 };
            let right = inside.len() == needed as usize && (statistics || !has_inside);
            from.check(right, "the measures are not those of the bands' components")?;
            node_count += u64::from(nodes);
            bands.push(Band {
                rows: first_row..end,
                count,
                nodes,
                inside,
            });
            first_row = end;
        }
        from.check(first_row == rows.end, "the bands do not fit the rows")?;

        let nodes = read_nodes(&mut from, &bands, node_count, statistics, (width, rows.end))?;
        let total: u128 = nodes.tally.iter().map(|tally| u128::from(tally.area)).sum();
        let fits = total <= pixels(rows.end - rows.start).into();
        from.check(fits, "the components have more pixels than the rows")?;
        let mut rim = || read_rim(&mut from, width, values.is_some(), node_count);
        let (top, bottom) = (rim()?, rim()?);
        from.end()?;
        Ok(Self {
            width,
            rows,
            connectivity,
            statistics,
            values,
            bands,
            nodes,
            top,
            bottom,
        })
    }
}

impl Nodes {
    /// The root of each node.
    fn roots(&self) -> Result<Vec<u32>> {
        let mut roots: Vec<u32> = Vec::new();
        reserve(&mut roots, self.parent.len(), super::RIMS)?;
        for (i, &parent) in (0..).zip(&self.parent) {
            // A parent comes before its node.
            let root = roots.get(parent as usize).copied();
            roots.push(root.unwrap_or(i));
        }
        Ok(roots)
    }
}

fn read_nodes(
    from: &mut Reader<'_>,
    bands: &[Band],
    count: u64,
    statistics: bool,
    size: (u32, u32),
) -> Result<Nodes> {
    let number: Vec<u32> = from.list()?;
    let parent: Vec<u32> = from.list()?;
    let right = number.len() as u64 == count && parent.len() as u64 == count;
    from.check(
        right,
        "the components on the rims are not those of the bands",
    )?;
    let mut rest = &number[..];
    for band in bands {
        let own = rest.split_off(..band.nodes as usize).unwrap_or_default();
        let in_order = own.is_sorted_by(|a, b| a < b);
        let ends = own.first().zip(own.last());
        let right = in_order && ends.is_none_or(|(&a, &b)| a > 0 && b <= band.count);
        from.check(right, "the components on the rims are not in order")?;
    }
    let is_root =
        |(node, &root): (u32, &u32)| root == node || root < node && parent[root as usize] == root;
    let right = (0..).zip(&parent).all(is_root);
    from.check(
        right,
        "the components on the rims are not joined to their first ones",
    )?;
    let mut tally = Vec::new();
    if statistics {
        reserve(&mut tally, parent.len(), super::RIMS)?;
        for (node, &root) in (0..).zip(&parent) {
            tally.push(match root == node {
                true => get_tally(from, size)?,
                false => Tally::NOTHING,
            });
        }
    }
    Ok(Nodes {
        number,
        parent,
        tally,
    })
}

fn read_rim(from: &mut Reader<'_>, width: u32, values: bool, node_count: u64) -> Result<Rim> {
    let (runs, count) = match values {
        false => read_bits(from, width)?,
        true => read_value_runs(from, width)?,
    };
    let nodes: Vec<u32> = from.list()?;
    let fits =
        nodes.len() as u64 == count && nodes.iter().all(|&node| u64::from(node) < node_count);
    from.check(fits, "the runs of a rim have no components")?;
    Ok(Rim { runs, nodes })
}

/// A row of bits, and the number of its runs.
fn read_bits(from: &mut Reader<'_>, width: u32) -> Result<(RimRuns, u64)> {
    let bits: Vec<u64> = from.list()?;
    let past = width as usize % WORD_BITS;
    let is_row = bits.len() == (width as usize).div_ceil(WORD_BITS)
        && (past == 0 || bits[bits.len() - 1] >> past == 0);
    from.check(is_row, "a rim is no row of the image")?;
    let runs = Word::of_row(&bits).map(|word| u64::from(word.starts().count_ones()));
    let count = runs.sum();
    Ok((RimRuns::Bits(bits), count))
}

/// The runs of a row of values, and their number.
fn read_value_runs(from: &mut Reader<'_>, width: u32) -> Result<(RimRuns, u64)> {
    let starts: Vec<u32> = from.list()?;
    let ends: Vec<u32> = from.list()?;
    let keys: Vec<u64> = from.list()?;
    let mut runs = Vec::new();
    reserve(&mut runs, starts.len(), super::RIMS)?;
    let mut last_end = 0;
    let mut is_row = starts.len() == ends.len() && starts.len() == keys.len();
    for ((start, end), key) in starts.into_iter().zip(ends).zip(keys) {
        is_row &= last_end <= start && start < end && end <= width;
        last_end = end;
        runs.push(ValueRun { start, end, key });
    }
    from.check(is_row, "a rim is no row of the image")?;
    let count = runs.len() as u64;
    Ok((RimRuns::Values(runs), count))
}

fn put_tally(to: &mut Writer, tally: &Tally<u128>) {
    to.put(tally.area);
    for at in [tally.min, tally.max] {
        to.put(at.x);
        to.put(at.y);
    }
    to.put(tally.sum_x);
    to.put(tally.sum_y);
}

/// A tally of pixels of an image of that size; tallies can be added up without overflow.
fn get_tally(from: &mut Reader<'_>, (width, height): (u32, u32)) -> Result<Tally<u128>> {
    let tally = Tally {
        area: from.get()?,
        min: get_point(from)?,
        max: get_point(from)?,
        sum_x: from.get()?,
        sum_y: from.get()?,
    };
    let area = u128::from(tally.area);
    let is_inside = is_box(tally.min, tally.max, (width, height));
    let right = area > 0
        && is_inside
        && tally.sum_x <= area * u128::from(width)
        && tally.sum_y <= area * u128::from(height);
    from.check(
        right,
        "a component's measures are not of pixels of the image",
    )?;
    Ok(tally)
}

fn get_point(from: &mut Reader<'_>) -> Result<IVec2> {
    Ok(IVec2::new(from.get()?, from.get()?))
}

fn is_box(min: IVec2, max: IVec2, (width, height): (u32, u32)) -> bool {
    let end = IVec2::new(width as i32, height as i32);
    min.cmpge(IVec2::ZERO).all() && min.cmple(max).all() && max.cmplt(end).all()
}

fn put_components(to: &mut Writer, components: &[Component]) -> Result<()> {
    to.reserve(8 + COMPONENT * components.len())?;
    to.put(components.len() as u64);
    for component in components {
        to.put(component.area);
        for at in [component.bounding_box.min, component.bounding_box.max] {
            to.put(at.x);
            to.put(at.y);
        }
        to.put(component.centroid.x);
        to.put(component.centroid.y);
    }
    Ok(())
}

fn get_components(from: &mut Reader<'_>) -> Result<Vec<Component>> {
    let len = from.length(COMPONENT)?;
    let mut components = Vec::new();
    reserve(&mut components, len, COMPONENTS)?;
    for _ in 0..len {
        let component = Component {
            area: from.get()?,
            bounding_box: BoundingBox {
                min: get_point(from)?,
                max: get_point(from)?,
            },
            centroid: DVec2::new(from.get()?, from.get()?),
        };
        let bounds = component.bounding_box;
        let size = (MAX_SIDE, MAX_SIDE);
        let right = component.area > 0 && is_box(bounds.min, bounds.max, size);
        from.check(
            right,
            "a component's measures are not of pixels of an image",
        )?;
        components.push(component);
    }
    Ok(components)
}

/// Components' measures as bytes, for those from [`LabelPart::take_inside`].
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
pub fn components_to_bytes(components: &[Component]) -> Result<Vec<u8>> {
    let mut to = Writer::new(*b"TZCM", VERSION, 16, COMPONENTS)?;
    put_components(&mut to, components)?;
    to.finish()
}

/// The measures that [`components_to_bytes`] has written.
///
/// # Errors
/// As [`LabelPart::from_bytes`].
pub fn components_from_bytes(bytes: &[u8]) -> Result<Vec<Component>> {
    let mut from = Reader::new(bytes, *b"TZCM", VERSION, COMPONENTS)?;
    let components = get_components(&mut from)?;
    from.end()?;
    Ok(components)
}

impl BandNumbers {
    /// As [`LabelPart::to_bytes`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let band = &self.band;
        let room = 80 + 16 * band.nodes.len();
        let mut to = Writer::new(*b"TZBN", VERSION, room, NUMBERS)?;
        to.put(band.rows.start);
        to.put(band.rows.end);
        to.put(band.count);
        to.put(band.before);
        to.put(self.total);
        to.list(band.nodes.iter().map(|node| node.own))?;
        to.list(band.nodes.iter().map(|node| node.number))?;
        to.list(band.nodes.iter().map(|node| u8::from(node.starts)))?;
        to.put(u8::from(self.on_rim.is_some()));
        put_components(&mut to, self.on_rim.as_deref().unwrap_or_default())?;
        to.finish()
    }

    /// The numbers that [`to_bytes`](Self::to_bytes) has written.
    ///
    /// # Errors
    /// As [`LabelPart::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new(bytes, *b"TZBN", VERSION, NUMBERS)?;
        let rows = from.rows()?;
        let (count, before, total): (u32, u64, u64) = (from.get()?, from.get()?, from.get()?);
        let own: Vec<u32> = from.list()?;
        let number: Vec<u64> = from.list()?;
        let starts: Vec<u8> = from.list()?;
        let has_measures = get_flag(&mut from)?;
        let on_rim = get_components(&mut from)?;
        from.end()?;

        let absorbed = starts.iter().filter(|&&starts| starts == 0).count();
        let same = own.len() == number.len() && number.len() == starts.len();
        let in_order = own.is_sorted_by(|a, b| a < b)
            && own.first().is_none_or(|&own| own > 0)
            && own.last().is_none_or(|&own| own <= count);
        let flags = starts.iter().all(|&starts| starts <= 1);
        from.check(same && in_order && flags, "the components are not in order")?;
        // In order, so there are at most as many as components.
        let starting = u64::from(count) - absorbed as u64;
        let end = before.checked_add(starting).filter(|&end| end <= total);
        let counted = number.iter().all(|number| (1..=total).contains(number));
        from.check(
            end.is_some() && counted,
            "there are not that many components",
        )?;
        let needed = if has_measures {
            own.len() - absorbed
        } else {
            0
        };
        let right = on_rim.len() == needed;
        from.check(right, "the measures are not those of the components")?;
        let nodes = own.into_iter().zip(number).zip(starts);
        Ok(Self {
            band: Final {
                rows,
                count,
                before,
                nodes: nodes
                    .map(|((own, number), starts)| FinalNode {
                        own,
                        number,
                        starts: starts == 1,
                    })
                    .collect(),
            },
            total,
            on_rim: has_measures.then_some(on_rim),
        })
    }
}

fn connectivity_number(connectivity: Connectivity) -> u8 {
    match connectivity {
        Connectivity::Four => 4,
        Connectivity::Eight => 8,
    }
}

fn get_connectivity(from: &mut Reader<'_>) -> Result<Connectivity> {
    match from.get::<u8>()? {
        4 => Ok(Connectivity::Four),
        8 => Ok(Connectivity::Eight),
        other => Err(from.refusal(format!("{other} is no connectivity"))),
    }
}

fn get_flag(from: &mut Reader<'_>) -> Result<bool> {
    match from.get::<u8>()? {
        flag @ 0..=1 => Ok(flag == 1),
        other => Err(from.refusal(format!("{other} is neither yes nor no"))),
    }
}

#[cfg(test)]
#[path = "bytes_tests.rs"]
mod tests;
