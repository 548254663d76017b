//! [`ContourPart`]: the borders of some rows of an image, complete or not.

use std::ops::Range;

use super::components::Components;
use super::follow_band::{BandBorders, Crossings, trace_band};
use super::pool::{Name, Pool, RegionValue};
use super::store::Store;
use super::stored_contours::StoredContours;
use crate::bytes::add_to_hash;
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::label::Connectivity;
use crate::memory::reserve;
use crate::trace::Band;
use crate::trace::contours::Contours;
use crate::trace::cpu::saddles::{ENDED, RimRun};
use crate::trace::cpu::walk;
use crate::trace::gpu::DeviceTracer;
use crate::trace::gpu::band::{BAND_ROWS, trace_band as trace_band_on};
use crate::trace::{ContourOptions, Geometry};

/// The borders of some rows of an image, and the fragments of borders that leave these rows.
///
/// A part is made from a [`Band`]. Two parts with adjacent rows are [joined](Self::join) to the
/// part of all these rows, and the part of all rows of the image gives its contours. They are the
/// same whatever the bands and the order of joining: joining is associative. So parts may be traced
/// in any order, on several threads, machines or devices.
///
/// A part keeps a border as its start and its steps: 0.1 to 1 byte per step, plus 40 bytes per
/// border. A fragment takes 60 bytes more. Joining two parts removes the crossings of their seam,
/// but a border keeps 24 to 40 bytes for each time that it passes through one of the parts. Along
/// edges, a saddle that is not decided yet takes 24 bytes and two fragments.
///
/// ```
/// use trazar::trace::{Band, ContourOptions, ContourPart};
/// use trazar::{BinaryImage, Engine};
///
/// let art = [".####.\n.#..#.\n", ".#..#.\n.####.\n"];
/// let whole = BinaryImage::from_art(&art.concat())?;
/// let [upper, lower] = [BinaryImage::from_art(art[0])?, BinaryImage::from_art(art[1])?];
///
/// let options = ContourOptions::default();
/// let upper_part = ContourPart::trace(Band::new(&upper, 0).with_below(lower.row(0)), &options)?;
/// let lower_part = ContourPart::trace(Band::new(&lower, 2).with_above(upper.row(1)), &options)?;
/// let contours = ContourPart::join(upper_part, lower_part)?.finish()?;
/// assert_eq!(contours, Engine::cpu().trace(&whole, &options.into())?);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Debug)]
pub struct ContourPart(pub(super) Part);

/// A [`ContourPart`], or the same for regions of values.
#[derive(Debug)]
pub(super) struct Part<V = ()> {
    pub(super) width: u32,
    pub(super) rows: Range<u32>,
    pub(super) options: ContourOptions,
    /// Which neighbours belong to one region.
    pub(super) connectivity: Connectivity,
    pub(super) pool: Pool<V>,
    pub(super) outline: Outline<V>,
    /// The number of 4-connected components that continue beyond the part; only for saddles.
    pub(super) components: u32,
    /// Whether any of it was read from bytes: its borders are then checked before use.
    pub(super) is_foreign: bool,
}

/// Where the part is not complete.
#[derive(Clone, Debug)]
pub(super) struct Outline<V = ()> {
    /// The upper and the lower rim, where there are rows beyond.
    pub(super) rims: [Option<Rim<V>>; 2],
    /// The open saddles between two rows of the part.
    pub(super) saddles: Vec<OpenSaddle>,
}

pub(super) const SADDLES: &str = "the open saddles";

/// What crosses a rim.
#[derive(Clone, Debug)]
pub(super) struct Rim<V = ()> {
    /// The hash of the row on this side and the row beyond.
    pub(super) rows_hash: u64,
    pub(super) crossings: Crossings,
    /// The open saddles between the two rows, from left to right.
    pub(super) halves: Vec<Half>,
    /// The runs that touch pixels of their region beyond, from left to right; only for saddles.
    pub(super) runs: Vec<RimRun<V>>,
}

/// One of the two pixels that touch at an open saddle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Half {
    /// Its 4-connected component, or [`ENDED`].
    pub(super) component: u32,
    /// The fragment that ends at the saddle along this pixel, and the one that begins there.
    pub(super) end: Name,
    pub(super) begin: Name,
}

/// An open saddle: its upper pixel and its lower one.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenSaddle(pub(super) [Half; 2]);

impl<G: Gpu> DeviceTracer<G> {
    /// Traces a band on a GPU; the part is the same as that of
    /// [`ContourPart::trace`].
    ///
    /// Kernels find the borders of the band's rows and the two beside it. The host cuts them where
    /// they leave the band, and turns points into steps, on all threads of the current rayon pool.
    /// If there is a row below the band, kernels take a multiple of 32 of its rows, and the
    /// processor traces the others. The processor traces the whole band along
    /// [edges](Geometry::Edges), where rings depend on components that continue beyond the band.
    ///
    /// ```
    /// use trazar::emulator::Emulator;
    /// use trazar::trace::{Band, ContourOptions, ContourPart};
    /// use trazar::{DeviceTracer, Engine, generate};
    ///
    /// // On an NVIDIA GPU: `DeviceTracer::new(&trazar::cuda::Device::open(0)?)?`.
    /// let tracer = DeviceTracer::on(Emulator::new(0));
    /// let [upper, lower] = [generate::noise(70, 32, 0.5, 1)?, generate::noise(70, 9, 0.5, 2)?];
    /// let options = ContourOptions::default();
    /// let upper_band = Band::new(&upper, 0).with_below(lower.row(0));
    /// let lower_band = Band::new(&lower, 32).with_above(upper.row(31));
    /// let upper_part = tracer.trace_part(upper_band, &options)?;
    /// let lower_part = ContourPart::trace(lower_band, &options)?;
    /// let contours = ContourPart::join(upper_part, lower_part)?.finish()?;
    /// # let rows = |x, y| if y < 32 { upper.get(x, y) } else { lower.get(x, y - 32) };
    /// # let whole = trazar::BinaryImage::from_fn(70, 41, rows)?;
    /// assert_eq!(contours, Engine::cpu().trace(&whole, &options.into())?);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`ContourPart::trace`] and of [`trace`](Self::trace).
    pub fn trace_part(&self, band: Band<'_>, options: &ContourOptions) -> Result<ContourPart> {
        options.validate()?;
        band.check()?;
        if options.geometry == Geometry::Edges {
            return ContourPart::trace(band, options);
        }
        crate::threads::ensure();
        let height = band.height();
        let rows = match band.row_below(height - 1) {
            Some(_) => height / BAND_ROWS * BAND_ROWS,
            None => height,
        };
        let [upper, lower] = band.split_at(rows);
        let upper = upper.map(|band| {
            let found = trace_band_on(self, band, options)?;
            ContourPart::of_band(band, *options, found)
        });
        let lower = lower.map(|band| {
            let found = rayon::scope(|_| trace_band(band, options))?;
            ContourPart::of_band(band, *options, found)
        });
        match (upper, lower) {
            (Some(upper), Some(lower)) => ContourPart::join(upper?, lower?),
            (Some(part), None) | (None, Some(part)) => part,
            (None, None) => unreachable!("a band has a row"),
        }
    }
}

impl ContourPart {
    /// Traces a band, on all threads of the current rayon pool.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] or [`Error::InvalidOption`] for a neighbouring row that does not
    /// fit the band, and for a band that has no row above it although it is not at the image's
    /// upper frame; [`Error::InvalidOption`] for options that contradict each other;
    /// [`Error::ImageTooLarge`] for rows beyond [`MAX_SIDE`](crate::MAX_SIDE); [`Error::TooMany`];
    /// [`Error::OutOfMemory`].
    pub fn trace(band: Band<'_>, options: &ContourOptions) -> Result<Self> {
        options.validate()?;
        band.check()?;
        crate::threads::ensure();
        let found = rayon::scope(|_| trace_band(band, options))?;
        Self::of_band(band, *options, found)
    }

    pub(super) fn of_band(
        band: Band<'_>,
        options: ContourOptions,
        found: BandBorders,
    ) -> Result<Self> {
        let connectivity = connectivity_of(&options);
        let extent = Extent {
            width: band.width(),
            rows: band.rows(),
            rows_hashes: [walk::Rim::Above, walk::Rim::Below]
                .map(|rim| band.rim_rows(rim).map(hash)),
        };
        Ok(Self(Part::new(extent, options, connectivity, found)?))
    }

    /// The width of the image.
    pub fn width(&self) -> u32 {
        self.0.width
    }

    /// The part's rows of the image.
    pub fn rows(&self) -> Range<u32> {
        self.0.rows.clone()
    }

    /// The number of borders that lie in the part.
    pub fn closed_count(&self) -> usize {
        self.0.pool.borders.len()
    }

    /// The number of fragments of borders that leave the part.
    pub fn open_count(&self) -> usize {
        self.0.pool.open()
    }

    /// The approximate number of bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        self.0.memory()
    }

    /// Whether it has all rows of the image.
    pub fn is_whole(&self) -> bool {
        self.0.is_whole()
    }

    /// Joins the parts of adjacent rows, `upper` above `lower`.
    ///
    /// Time: linear in what crosses the seam, in the borders and fragments of the smaller part, and
    /// in the open saddles of both ([`Geometry::Edges`](crate::Geometry::Edges) only).
    ///
    /// # Errors
    /// [`Error::PartsNotAdjacent`]; [`Error::PartsDiffer`] for parts of images of different widths,
    /// for different options, and if a neighbouring row given to one part is not the row of the
    /// other part; [`Error::TooMany`]; [`Error::OutOfMemory`].
    pub fn join(upper: Self, lower: Self) -> Result<Self> {
        Ok(Self(Part::join(upper.0, lower.0)?))
    }

    /// The contours of the image; this must be the part of all its rows.
    ///
    /// # Errors
    /// [`Error::PartNotWhole`] if there are rows above or below the part; [`Error::TooMany`];
    /// [`Error::OutOfMemory`].
    pub fn finish(self) -> Result<Contours> {
        self.finish_stored()?.into_contours()
    }

    /// The contours, with points made on demand.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn finish_stored(self) -> Result<StoredContours> {
        self.0.finish_contours()
    }
}

/// Which neighbours the borders of a binary image join.
pub(super) fn connectivity_of(options: &ContourOptions) -> Connectivity {
    match options.geometry {
        Geometry::Centers => Connectivity::Eight,
        Geometry::Edges => Connectivity::Four,
    }
}

/// Where a part is, and the hashes of the two rows at each of its rims.
pub(super) struct Extent {
    pub(super) width: u32,
    pub(super) rows: Range<u32>,
    pub(super) rows_hashes: [Option<u64>; 2],
}

impl<V: RegionValue> Part<V> {
    /// The part of a band in which `found` was found.
    pub(super) fn new(
        extent: Extent,
        options: ContourOptions,
        connectivity: Connectivity,
        found: BandBorders<V>,
    ) -> Result<Self> {
        let BandBorders {
            pool,
            crossings,
            saddles: found_saddles,
            begins,
            ends,
        } = found;
        let [above, below] = [0, extent.rows.len() as u32].map(|corner| {
            let rows = &found_saddles.saddles;
            let first = rows.partition_point(|saddle| saddle.y < corner);
            first..rows.partition_point(|saddle| saddle.y <= corner)
        });
        let halves = |i: usize| {
            let saddle = &found_saddles.saddles[i];
            [0, 1].map(|half| Half {
                component: saddle.components[half],
                end: ends[i][half],
                begin: begins[i][half],
            })
        };
        let own_halves = |range: Range<usize>, half: usize| -> Result<Vec<Half>> {
            let mut own = Vec::new();
            reserve(&mut own, range.len(), SADDLES)?;
            own.extend(range.map(|i| halves(i)[half]));
            Ok(own)
        };
        let mut saddles = Vec::new();
        let inner = above.end..below.start;
        reserve(&mut saddles, inner.len(), SADDLES)?;
        saddles.extend(inner.map(|i| OpenSaddle(halves(i))));
        let halves = [own_halves(above, 1)?, own_halves(below, 0)?];

        let mut found = crossings.into_iter().zip(halves).zip(found_saddles.runs);
        let rims = extent.rows_hashes.map(|rows_hash| {
            let ((crossings, halves), runs) = found.next()?;
            Some(Rim {
                rows_hash: rows_hash?,
                crossings,
                halves,
                runs,
            })
        });
        Ok(Self {
            width: extent.width,
            rows: extent.rows,
            options,
            connectivity,
            pool,
            outline: Outline { rims, saddles },
            components: found_saddles.components,
            is_foreign: false,
        })
    }

    pub(super) fn memory(&self) -> usize {
        let (pool, rims) = (&self.pool, self.outline.rims.iter().flatten());
        let runs: usize = rims.map(|rim| rim.runs.len()).sum();
        size_of_val(&pool.borders[..])
            + size_of_val(&pool.fragments[..])
            + size_of_val(&pool.fates[..])
            + size_of_val(&pool.pieces[..])
            + size_of_val(&self.outline.saddles[..])
            + runs * size_of::<RimRun<V>>()
            + pool.store.end() as usize
    }

    pub(super) fn is_whole(&self) -> bool {
        self.outline.rims.iter().all(Option::is_none)
    }

    pub(super) fn join(upper: Self, lower: Self) -> Result<Self> {
        check(&upper, &lower)?;
        let (width, options) = (upper.width, upper.options);
        let connectivity = upper.connectivity;
        let is_foreign = upper.is_foreign || lower.is_foreign;
        let rows = upper.rows.start..lower.rows.end;

        // The smaller pool is moved into the larger one, which changes its names. The lower part's
        // components are renumbered too.
        let upper_stays = !upper.pool.store.is_memory()
            || lower.pool.store.is_memory() && upper.pool.size() >= lower.pool.size();
        let component_count = upper.components + lower.components;
        let first_component = upper.components;
        let (pool, upper, lower) = if upper_stays {
            let (mut pool, upper) = upper.split();
            let (smaller, lower) = lower.split();
            let first_name = pool.absorb(smaller)?;
            (pool, upper, lower.renamed(first_name, first_component))
        } else {
            let (mut pool, lower) = lower.split();
            let (smaller, upper) = upper.split();
            let first_name = pool.absorb(smaller)?;
            (
                pool,
                upper.renamed(first_name, 0),
                lower.renamed(0, first_component),
            )
        };
        let Outline {
            rims: [above, upper_rim],
            mut saddles,
        } = upper;
        let Outline {
            rims: [lower_rim, below],
            saddles: lower_saddles,
        } = lower;
        let (Some(upper_rim), Some(lower_rim)) = (upper_rim, lower_rim) else {
            unreachable!("parts without a seam are refused");
        };

        let mut pool = pool;
        for (from, to) in [(&upper_rim, &lower_rim), (&lower_rim, &upper_rim)] {
            let entries = &to.crossings.entries;
            for (&end, &begin) in from.crossings.exits.iter().zip(entries) {
                pool.link(end, begin)?;
            }
        }

        let crossed = upper_rim.halves.iter().zip(&lower_rim.halves);
        reserve(&mut saddles, lower_saddles.len() + crossed.len(), SADDLES)?;
        saddles.extend(lower_saddles);
        saddles.extend(crossed.map(|(&upper, &lower)| OpenSaddle([upper, lower])));
        let mut components = Components::new(component_count)?;
        components.join(&upper_rim.runs, &lower_rim.runs);
        let mut rims = [above, below];
        components.name(rims.iter().flatten().flat_map(|rim| &rim.runs));
        for rim in rims.iter_mut().flatten() {
            for run in &mut rim.runs {
                run.component = components.named(run.component);
            }
            for half in &mut rim.halves {
                half.component = components.named(half.component);
            }
        }
        let mut linked = Ok(());
        saddles.retain_mut(|saddle| {
            let halves = &mut saddle.0;
            let Some(is_joined) = components.decide(halves.map(|half| half.component)) else {
                for half in halves {
                    half.component = components.named(half.component);
                }
                return true;
            };
            for (half, other) in [(0, 1), (1, 0)] {
                let begin = halves[if is_joined { other } else { half }].begin;
                if linked.is_ok() {
                    linked = pool.link(halves[half].end, begin);
                }
            }
            false
        });
        linked?;
        Ok(Self {
            width,
            rows,
            options,
            connectivity,
            pool,
            outline: Outline { rims, saddles },
            components: components.count(),
            is_foreign,
        })
    }

    /// Refuses a part that has not all rows of the image, and one with invalid borders.
    pub(super) fn check_whole(&mut self) -> Result<()> {
        if !self.is_whole() {
            return Err(Error::PartNotWhole {
                first_row: self.rows.start,
                last_row: self.rows.end - 1,
            });
        }
        if self.is_foreign {
            self.check_borders()?;
        }
        Ok(())
    }

    /// Moves the steps to another store.
    pub(super) fn with_store(self, store: Store) -> Result<Self> {
        let mut pool = Pool::new(store);
        pool.absorb(self.pool)?;
        Ok(Self { pool, ..self })
    }

    fn split(self) -> (Pool<V>, Outline<V>) {
        (self.pool, self.outline)
    }
}

impl Part {
    fn finish_contours(mut self) -> Result<StoredContours> {
        self.check_whole()?;
        StoredContours::new(self.pool, (self.width, self.rows.end), self.options)
    }
}

impl<V> Outline<V> {
    /// The same outline, with numbers added to the names of fragments and of components.
    fn renamed(mut self, first_name: Name, first_component: u32) -> Self {
        let component = |component: &mut u32| {
            if *component != ENDED {
                *component += first_component;
            }
        };
        let half = |half: &mut Half| {
            component(&mut half.component);
            half.end += first_name;
            half.begin += first_name;
        };
        for rim in self.rims.iter_mut().flatten() {
            let crossings = &mut rim.crossings;
            for names in [&mut crossings.entries, &mut crossings.exits] {
                names.iter_mut().for_each(|name| *name += first_name);
            }
            rim.halves.iter_mut().for_each(half);
            rim.runs
                .iter_mut()
                .for_each(|run| component(&mut run.component));
        }
        for OpenSaddle(halves) in &mut self.saddles {
            halves.iter_mut().for_each(half);
        }
        self
    }
}

/// Refuses parts that cannot be joined.
fn check<V>(upper: &Part<V>, lower: &Part<V>) -> Result<()> {
    let differ = |what, upper, lower| Err(Error::PartsDiffer { what, upper, lower });
    if upper.width != lower.width {
        let [upper, lower] = [upper, lower].map(|part| format!("{} pixels", part.width));
        return differ("width", upper, lower);
    }
    if upper.options != lower.options {
        let [upper, lower] = [upper, lower].map(|part| format!("{:?}", part.options));
        return differ("options", upper, lower);
    }
    if upper.connectivity != lower.connectivity {
        let [upper, lower] = [upper, lower].map(|part| format!("{:?}", part.connectivity));
        return differ("connectivity", upper, lower);
    }
    let [above, below] = [&upper.outline.rims[1], &lower.outline.rims[0]];
    if upper.rows.end != lower.rows.start || below.is_none() {
        return Err(Error::PartsNotAdjacent {
            upper_end: upper.rows.end,
            lower_start: lower.rows.start,
        });
    }
    let hashes = [above, below].map(|rim| rim.as_ref().map(|rim| rim.rows_hash));
    if hashes[0] != hashes[1] {
        let [upper, lower] = hashes.map(|hash| match hash {
            Some(hash) => format!("their hash is {hash:016x}"),
            None => "there is no row below".into(),
        });
        return differ("the rows at their seam", upper, lower);
    }
    // The rows imply it, unless somebody has forged a part.
    if let (Some(above), Some(below)) = (above, below) {
        let counts = |from: &Rim<V>, to: &Rim<V>| {
            let crossings = (from.crossings.exits.len(), to.crossings.entries.len());
            (crossings.0 == crossings.1, crossings)
        };
        let (down, up) = (counts(above, below), counts(below, above));
        if !down.0 || !up.0 || above.halves.len() != below.halves.len() {
            let [upper, lower] = [(down.1.0, up.1.1), (down.1.1, up.1.0)]
                .map(|(down, up)| format!("{down} borders down and {up} up"));
            return differ("what crosses their seam", upper, lower);
        }
    }
    Ok(())
}

/// The hash of two rows, one above the other.
fn hash(rows: [&[u64]; 2]) -> u64 {
    hash_words(rows.into_iter().flatten().copied())
}

pub(in crate::trace) fn hash_words(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0, add_to_hash)
}
