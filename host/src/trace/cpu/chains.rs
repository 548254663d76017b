//! [`Chains`]: borders as they are followed, before they become points.
//!
//! A border is kept as a start and a chain code: one byte per step, the direction of the step.
//! That is an eighth of the points' size, and all approximations are made from it.

use trazar_kernels::trace::neighbours::step;

use crate::error::{Error, Result};
use crate::memory::reserve;
use crate::trace::contours::BorderKind;

/// A step to a neighbour: 0 = E, 1 = NE, 2 = N, 3 = NW, 4 = W, 5 = SW, 6 = S, 7 = SE.
///
/// Counter-clockwise on the screen, where y points down.
pub(in crate::trace) type Direction = u8;

/// The change of (x, y) by a step.
pub(in crate::trace) const STEPS: [(i32, i32); 8] = {
    let mut steps = [(0, 0); 8];
    let mut direction = 0;
    while direction < 8 {
        let (x, y) = step(direction as u32);
        steps[direction] = (x.cast_signed(), y.cast_signed());
        direction += 1;
    }
    steps
};

/// The direction back.
pub(in crate::trace) fn opposite(direction: Direction) -> Direction {
    direction ^ 4
}

/// The index of a border among its [`Chains`].
pub(in crate::trace) type BorderId = u32;

/// No border: what lies outside the image.
pub(in crate::trace) const NO_BORDER: BorderId = BorderId::MAX;

/// Where a border is.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace) struct Border {
    /// Where the chain starts.
    pub(in crate::trace) start: (u32, u32),
    /// Where its steps end in [`Chains::steps`]; they begin where the previous border's end.
    pub(in crate::trace) steps_end: usize,
}

/// The borders of an image, in raster order of discovery, so that a border stands after the one
/// around it.
#[derive(Debug, Default)]
pub(in crate::trace) struct Chains {
    pub(in crate::trace) borders: Vec<Border>,
    pub(in crate::trace) steps: Vec<Direction>,
    /// The number of points at which a border turns; the point of one without steps counts.
    pub(in crate::trace) turns: usize,
    /// How the borders are nested. Separate, so that it can be dropped early.
    pub(in crate::trace) nesting: Nesting,
}

/// How the borders lie in each other.
#[derive(Debug, Default)]
pub(in crate::trace) struct Nesting {
    pub(in crate::trace) kinds: Vec<BorderKind>,
    /// The border directly around each, or [`NO_BORDER`]; empty until they are found.
    pub(in crate::trace) parents: Vec<BorderId>,
}

/// Whether an image may have `borders` borders.
///
/// # Errors
/// [`Error::TooMany`] where a hierarchy row could not hold their ids.
pub(in crate::trace) fn check_count(borders: usize) -> Result<()> {
    const LIMIT: usize = i32::MAX as usize;
    if borders > LIMIT {
        return Err(Error::TooMany {
            what: "borders",
            limit: LIMIT as u64,
        });
    }
    Ok(())
}

impl Chains {
    /// Adds a border whose steps are the last ones of `steps`, from where the last border's end.
    pub(in crate::trace) fn add(&mut self, start: (u32, u32), kind: BorderKind) -> Result<()> {
        reserve(&mut self.borders, 1, "the borders")?;
        reserve(&mut self.nesting.kinds, 1, "the borders")?;
        self.borders.push(Border {
            start,
            steps_end: self.steps.len(),
        });
        self.nesting.kinds.push(kind);
        Ok(())
    }

    /// The id of the next border.
    ///
    /// # Errors
    /// [`Error::TooMany`] where a hierarchy row could not hold it.
    pub(in crate::trace) fn next_id(&self) -> Result<BorderId> {
        check_count(self.borders.len() + 1)?;
        Ok(self.borders.len() as BorderId)
    }

    /// The steps of border `id`: a closed walk; none for a single point.
    pub(in crate::trace) fn steps(&self, id: BorderId) -> &[Direction] {
        let id = id as usize;
        let begin = match id {
            0 => 0,
            _ => self.borders[id - 1].steps_end,
        };
        &self.steps[begin..self.borders[id].steps_end]
    }

    /// [`Nesting::find_parents`], by the borders' starts.
    pub(in crate::trace) fn find_parents(
        &mut self,
        before: impl Fn(BorderKind, (u32, u32)) -> BorderId,
    ) -> Result<()> {
        let Self {
            borders, nesting, ..
        } = self;
        nesting.find_parents(|id, kind| before(kind, borders[id].start))
    }
}

impl Nesting {
    /// Finds all borders' parents. `before(index, kind)` is the border of the last side before the
    /// side at which border `index` begins. The two are siblings if they have the same kind; else
    /// the border lies inside the one before.
    ///
    /// Borders must be in raster order of their starts.
    pub(in crate::trace) fn find_parents(
        &mut self,
        mut before: impl FnMut(usize, BorderKind) -> BorderId,
    ) -> Result<()> {
        let Self { kinds, parents } = self;
        parents.clear();
        reserve(parents, kinds.len(), "the borders' parents")?;
        for (id, &kind) in kinds.iter().enumerate() {
            let before = before(id, kind);
            let siblings = kinds.get(before as usize) == Some(&kind);
            parents.push(if siblings {
                parents[before as usize]
            } else {
                before
            });
        }
        Ok(())
    }
}
