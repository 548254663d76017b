//! [`Sources`]: where paths start.

use crate::error::{Error, OptionProblem, Result};
use crate::image::Samples;
use crate::memory::{extend, push};

/// A cell where paths start.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Source {
    /// The cell's column.
    pub x: u32,
    /// The cell's row.
    pub y: u32,
    /// What allocation calls it: 1 or more. Several cells may share an id.
    pub id: u32,
    /// What every path from it costs at its start: 0 or more.
    pub start_cost: f64,
}

impl Source {
    /// A source that starts at cost 0.
    pub fn new(x: u32, y: u32, id: u32) -> Self {
        Self {
            x,
            y,
            id,
            start_cost: 0.0,
        }
    }

    /// The same source with a cost at its start.
    #[must_use]
    pub fn start_cost(self, start_cost: f64) -> Self {
        Self { start_cost, ..self }
    }
}

/// The cells where paths start. A cell may have several sources.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sources(Vec<Source>);

const WHAT: &str = "the sources";

impl Sources {
    /// Sources at cells (column, row), with the ids 1, 2, 3 and so on. Aborts if there is no memory
    /// for them, as collecting does; [`push`](Self::push) says so instead.
    pub fn from_cells(cells: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let numbered = cells.into_iter().zip(1..);
        numbered.map(|((x, y), id)| Source::new(x, y, id)).collect()
    }

    /// The cells of a raster whose value is not 0; the value is the source's id.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn from_raster(ids: &Samples<'_, u32>) -> Result<Self> {
        let mut sources = Vec::new();
        for y in 0..ids.height() {
            for x in 0..ids.width() {
                match ids.get(x, y) {
                    0 => {}
                    id => push(&mut sources, Source::new(x as u32, y as u32, id), WHAT)?,
                }
            }
        }
        Ok(Self(sources))
    }

    /// Adds a source.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn push(&mut self, source: Source) -> Result<()> {
        push(&mut self.0, source, WHAT)
    }

    /// The sources in the order in which they were added.
    pub fn as_slice(&self) -> &[Source] {
        &self.0
    }

    /// Refuses no sources, ids of 0 and start costs that are not costs.
    pub(crate) fn check(&self) -> Result<()> {
        let refuse = |problem, why: String| Err(Error::option("sources", problem, why));
        if self.0.is_empty() {
            let why = "there are no sources: give at least one cell".to_owned();
            return refuse(OptionProblem::Missing, why);
        }
        for source in &self.0 {
            let Source {
                x,
                y,
                id,
                start_cost,
            } = *source;
            if id == 0 {
                let why = format!(
                    "the source at row {y}, column {x} has the id 0, which marks cells that \
                     nothing reaches: ids start at 1"
                );
                return refuse(OptionProblem::OutOfRange, why);
            }
            if !(start_cost >= 0.0 && start_cost.is_finite()) {
                let why = format!(
                    "the source with id {id} at row {y}, column {x} starts at a cost of {}: it \
                     must be 0 or more, and finite",
                    crate::error::short(start_cost)
                );
                return refuse(OptionProblem::OutOfRange, why);
            }
        }
        Ok(())
    }

    /// Copies the sources of another list to the end of this one.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn append(&mut self, others: &Self) -> Result<()> {
        extend(&mut self.0, others.0.iter().copied(), WHAT)
    }
}

/// Aborts if there is no memory for the sources; [`Sources::push`] says so instead.
impl FromIterator<Source> for Sources {
    fn from_iter<I: IntoIterator<Item = Source>>(sources: I) -> Self {
        Self(sources.into_iter().collect())
    }
}
