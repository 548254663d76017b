//! [`BandPlanes`]: the planes of a band, for the saddles that depend on the rows beside it.

use super::{StripPlanes, ValuePlanes};
use crate::image::{PixelValue, WORD_BITS};
use crate::trace::ValueBand;
use crate::trace::cpu::pixels::SPARE_ROWS;
use crate::trace::cpu::saddles::{BandRows, Overlap, RunRows, any_within, for_each_run};
use crate::trace::cpu::walk::Rim;

/// The planes of a band, with its values.
pub(in super::super) struct BandPlanes<'a, 'p, T> {
    pub(in super::super) planes: &'a ValuePlanes,
    pub(in super::super) band: &'a ValueBand<'a, 'p, T>,
}

impl<T> Clone for BandPlanes<'_, '_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for BandPlanes<'_, '_, T> {}

impl<'a, T: PixelValue> RunRows for BandPlanes<'a, '_, T> {
    type Pixels = StripPlanes<'a>;

    fn width(&self) -> u32 {
        self.planes.width
    }

    fn height(&self) -> u32 {
        self.planes.height
    }

    fn count_runs(&self, y: u32) -> u32 {
        self.planes.count_runs(y)
    }

    #[inline(always)]
    fn for_each_overlap(&self, y: u32, first_runs: [u32; 2], visit: impl FnMut(usize, &Overlap)) {
        self.planes.for_each_overlap(y, first_runs, visit);
    }
}

impl<T: PixelValue> BandRows for BandPlanes<'_, '_, T> {
    type Value = T;

    fn rims(&self) -> [bool; 2] {
        self.planes.rims
    }

    fn for_each_rim_run(&self, rim: Rim, mut visit: impl FnMut([u32; 2], bool, T)) {
        let planes = self.planes;
        // The row, and the upper one of the two at the rim.
        let (y, upper) = match rim {
            Rim::Above => (0, SPARE_ROWS - 1),
            Rim::Below => (planes.height - 1, SPARE_ROWS + planes.height as usize - 1),
        };
        if !planes.rims[rim as usize] {
            return;
        }
        let row = planes.row_range(SPARE_ROWS + y as usize);
        let south = &planes.links[planes.row_range(upper)];
        let mut carry = 0;
        let ends = row.map(|at| {
            let (here, east) = (planes.here[at], planes.links[at].east);
            let west = east << 1 | carry;
            carry = east >> (WORD_BITS - 1);
            [here & !west, here & !east]
        });
        for_each_run(ends, |columns| {
            let goes_on = any_within(|i| south[i].south, columns);
            visit(columns, goes_on, self.band.image().value(columns[0], y));
        });
    }

    fn for_each_rim_overlap(
        &self,
        rim: Rim,
        first_runs: [u32; 2],
        visit: impl FnMut(usize, &Overlap),
    ) {
        let planes = self.planes;
        let row = match rim {
            Rim::Above => SPARE_ROWS,
            Rim::Below => SPARE_ROWS + planes.height as usize,
        };
        if planes.rims[rim as usize] {
            planes.for_each_overlap_at(row, first_runs, visit);
        }
    }
}
