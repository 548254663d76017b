//! What all ways to find borders share: the borders found, and where their points go.

use cuda_std::prelude::*;

use crate::primitives::quotient;

/// Counts that kernels make: each constant is an index into an array of counters.
pub mod count {
    /// Borders.
    pub const BORDERS: u32 = 0;
    /// Borders that are kept.
    pub const KEPT: u32 = 1;
    /// Their points.
    pub const POINTS: u32 = 2;
    /// Borders that have children.
    pub const PARENTS: u32 = 3;
    /// Borders that are sorted before those with the most common parent.
    pub const BEFORE_COMMON: u32 = 4;
    /// The first of [`COUNT_OF_ROUNDS`] counters, one per round over the levels of nesting: whether
    /// the round had work to do.
    pub const ROUNDS: u32 = 5;
    /// The number of these counters.
    pub const COUNT_OF_ROUNDS: u32 = 64;
    /// The number of counters.
    pub const COUNT: u32 = ROUNDS + COUNT_OF_ROUNDS;
}

/// Images of one size, stacked in one image, with a row of background after each. A single image
/// needs no such row.
///
/// Or the values of one image, whose borders are arranged as if each value were an image.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Stack<'a> {
    /// The number of images, or of values.
    pub images: u32,
    /// Rows from the start of one image to the start of the next.
    pub pitch: u32,
    /// Words per row.
    pub row_words: u32,
    /// For more than one image: for each word, the number of borders that start in earlier words,
    /// once borders are found. For values: the number of borders of smaller values.
    #[len(self.words())]
    pub starts_before: View<'a, u32>,
    /// For values: the number of each border's value, in ascending order of values. Otherwise
    /// empty.
    pub groups: View<'a, u32>,
    /// For more than one image: the number of borders of the result before each image, and the
    /// total.
    #[len(self.bounds())]
    pub offsets: ViewMut<'a, u32>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl Stack<'_> {
    /// The words up to the first one of the last image, if there are several images.
    fn words(&self) -> u64 {
        match self.images {
            1 => 0,
            values if !self.groups.is_empty() => values.into(),
            several => {
                let before_last = u64::from(several - 1) * u64::from(self.pitch);
                before_last * u64::from(self.row_words) + 1
            }
        }
    }

    /// One element per image and one for their end, if there are several images.
    fn bounds(&self) -> u32 {
        match self.images {
            1 => 0,
            several => several.saturating_add(1),
        }
    }
}

impl Stack<'_> {
    /// The number of borders found in the images before `image`.
    #[inline(always)]
    pub(super) fn borders_before(&self, image: u32) -> u32 {
        if image == 0 {
            return 0;
        }
        if self.has_values() {
            return self.starts_before.ld(image);
        }
        self.starts_before.ld(image * self.pitch * self.row_words)
    }

    /// Whether borders are grouped by value, not by image.
    #[inline(always)]
    pub(super) fn has_values(&self) -> bool {
        !self.groups.is_empty()
    }

    /// The image that a border is in.
    #[inline(always)]
    pub(super) fn image_of(&self, border: u32) -> u32 {
        if self.has_values() {
            return self.groups.ld(border);
        }
        // The last image that has at most `border` borders before it.
        let (mut image, mut end) = (0, self.images);
        while end - image > 1 {
            let middle = image + (end - image) / 2;
            // planted: batch-image
            if self.borders_before(middle) <= border {
                image = middle;
            } else {
                end = middle;
            }
        }
        image
    }

    /// The number of rows before the image that row `y` belongs to.
    #[inline(always)]
    pub(super) fn rows_before(&self, y: u32) -> u32 {
        if self.images == 1 {
            return 0;
        }
        quotient(y, self.pitch) * self.pitch
    }
}

/// No border.
pub const NO_BORDER: u32 = u32::MAX;

/// Borders in order of discovery: in the order in which a raster scan meets them. The sizes are the
/// number of borders.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32, buffers = BorderBuffers)]
pub struct FoundBorders<'a> {
    /// 0 for an outer border, 1 for a hole's.
    #[len(*sizes)]
    pub kinds: ViewMut<'a, u8>,
    /// The number of points.
    #[len(*sizes)]
    pub lengths: ViewMut<'a, u32>,
    /// The border that passes the last vertical side before the border's start in its row, or
    /// [`NO_BORDER`]. If the two are of one kind, they are siblings; otherwise the previous one is
    /// the border's parent.
    #[len(*sizes)]
    pub previous_in_row: ViewMut<'a, u32>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl FoundBorders<'_> {
    /// The number of borders for which there is room.
    pub(super) fn room(&self) -> u32 {
        self.kinds.len().try_into().unwrap_or(u32::MAX)
    }
}

/// Where the points of the borders that are kept go.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Destination<'a> {
    /// Each border's place in the result, or [`NO_BORDER`] if it is left out.
    pub places: View<'a, u32>,
    /// For each place, the number of points before it, and the number of all points.
    #[len(1)]
    pub offsets: View<'a, u32>,
    /// x and y of each point. Their number is known on the device only.
    #[len(0, align = 8)]
    pub points: ViewMut<'a, i32>,
}

impl Destination<'_> {
    /// Writes a point to index `index` among all points.
    #[inline(always)]
    pub(super) fn write(&self, index: u32, x: u32, y: u32) {
        // Indices of coordinates may pass 2³².
        let at = index as usize * 2;
        self.points
            .st_vector(at, [x.cast_signed(), y.cast_signed()]);
    }
}
