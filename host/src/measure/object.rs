//! The measures of one label, from its sums.

use std::f64::consts::PI;

use trazar_kernels::measure::ellipse::{CenteredSums, Ellipse, Spread};
use trazar_kernels::measure::intensities::variance;
use trazar_kernels::measure::moments::{self, ExactSums, Moments};
use trazar_kernels::measure::powers::weighted_centroid;

use super::intensities::Kind;
use super::properties::Property;
use super::strip::Sums;
use super::sums::{Base, IntensitySums, Powers, Second};

/// What is found from the runs of an object as a whole.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    /// The number of pixels of the convex hull.
    pub(super) convex: u64,
    pub(super) diameter: f64,
    /// The number of pixels in holes.
    pub(super) holes: u64,
}

/// A label with its sums.
pub(super) struct Object<'a> {
    pub(super) sums: &'a Sums,
    pub(super) slot: usize,
    pub(super) shape: Shape,
    pub(super) spacing: [f64; 2],
    pub(super) kind: Kind,
}

impl Object<'_> {
    fn base(&self) -> &Base {
        &self.sums.bases[self.slot]
    }

    fn area(&self) -> f64 {
        self.of_pixels(self.base().area)
    }

    /// The area of this number of pixels.
    fn of_pixels(&self, pixels: u64) -> f64 {
        pixels as f64 * (self.spacing[0] * self.spacing[1])
    }

    fn area_bbox(&self) -> f64 {
        let base = self.base();
        self.of_pixels(base.height() * base.width())
    }

    /// The column of a label's origin within its box. The row is the box's first.
    fn origin(&self) -> i64 {
        i64::from(self.base().column) - i64::from(self.base().min_column)
    }

    /// An integer property.
    pub(super) fn integers(&self, property: Property, values: &mut [i64]) {
        let base = self.base();
        match property {
            Property::Label => values[0] = base.label,
            Property::NumPixels => values[0] = base.area as i64,
            Property::EulerNumber => values[0] = self.sums.pairs[self.slot].euler_8(),
            Property::EulerNumber4 => values[0] = self.sums.pairs[self.slot].euler_4(),
            _ => values.copy_from_slice(&[
                base.row.into(),
                base.min_column.into(),
                i64::from(base.last_row) + 1,
                i64::from(base.max_column) + 1,
            ]),
        }
    }

    /// A property of floating-point numbers.
    pub(super) fn floats(&self, property: Property, values: &mut [f64]) {
        match property {
            Property::Centroid => {
                let [row, column] = self.centroid();
                let base = self.base();
                values[0] = (f64::from(base.row) + row) * self.spacing[0];
                values[1] = (f64::from(base.min_column) + column) * self.spacing[1];
            }
            Property::CentroidLocal => {
                let centroid = self.centroid();
                values[0] = centroid[0] * self.spacing[0];
                values[1] = centroid[1] * self.spacing[1];
            }
            Property::Moments => self.fill(self.in_box(self.powers()), values),
            Property::MomentsCentral => self.fill(self.central(), values),
            Property::MomentsNormalized => {
                values.copy_from_slice(self.normalized(self.central()).as_flattened());
            }
            Property::MomentsHu => {
                values.copy_from_slice(&moments::hu(&self.normalized(self.central())));
            }
            Property::InertiaTensor => {
                let Ellipse { a, b, c, .. } = self.ellipse();
                values.copy_from_slice(&[a, b, b, c]);
            }
            Property::InertiaTensorEigvals => {
                let Ellipse { major, minor, .. } = self.ellipse();
                values.copy_from_slice(&[major, minor]);
            }
            Property::CentroidWeighted | Property::CentroidWeightedLocal => {
                let base = self.base();
                let centroid = weighted_centroid(&self.in_box(self.weighted()));
                let corner = match property {
                    Property::CentroidWeighted => [base.row, base.min_column],
                    _ => [0; 2],
                };
                for (axis, value) in values.iter_mut().enumerate() {
                    *value = (centroid[axis] + f64::from(corner[axis])) * self.spacing[axis];
                }
            }
            Property::MomentsWeighted => self.fill(self.in_box(self.weighted()), values),
            Property::MomentsWeightedCentral => self.fill(self.weighted_central(), values),
            Property::MomentsWeightedNormalized => {
                let normalized = self.normalized(self.weighted_central());
                values.copy_from_slice(normalized.as_flattened());
            }
            Property::MomentsWeightedHu => {
                let normalized = self.normalized(self.weighted_central());
                values.copy_from_slice(&moments::hu(&normalized));
            }
            _ => values[0] = self.number(property),
        }
    }

    /// A property that is one number.
    fn number(&self, property: Property) -> f64 {
        match property {
            Property::Area => self.area(),
            Property::AreaBbox => self.area_bbox(),
            Property::AxisMajorLength => self.ellipse().axis_major_length(),
            Property::AxisMinorLength => self.ellipse().axis_minor_length(),
            Property::Eccentricity => self.ellipse().eccentricity(),
            Property::Orientation => self.ellipse().orientation(),
            Property::EquivalentDiameterArea => (4.0 * self.area() / PI).sqrt(),
            Property::Extent => self.area() / self.area_bbox(),
            Property::Perimeter => self.sums.outlines[self.slot].length() * self.spacing[0],
            Property::PerimeterCrofton => {
                let pairs = &self.sums.pairs[self.slot];
                pairs.crofton(self.base().area) * self.spacing[0]
            }
            Property::AreaConvex => self.of_pixels(self.shape.convex),
            Property::Solidity => self.area() / self.of_pixels(self.shape.convex),
            Property::FeretDiameterMax => self.shape.diameter,
            Property::AreaFilled => self.of_pixels(self.base().area + self.shape.holes),
            // 0 has no sign: which of two zeros is found depends on the order.
            Property::IntensityMin => self.intensities().min + 0.0,
            Property::IntensityMax => self.intensities().max + 0.0,
            Property::IntensityMean => self.mean(),
            Property::IntensityStd => self.variance().sqrt(),
            // The others are integers, or have several numbers.
            _ => f64::NAN,
        }
    }

    /// The centroid in pixels, counted from the box's first one.
    fn centroid(&self) -> [f64; 2] {
        let area = self.base().area;
        let sums = self.sums.second[self.slot].shifted(area, 0, self.origin());
        [sums.r as f64 / area as f64, sums.c as f64 / area as f64]
    }

    fn spread(&self) -> Spread {
        let area = self.base().area;
        let n = i128::from(area);
        let second = &self.sums.second[self.slot];
        let center = |sum: i128| -(sum.div_euclid(n) as i64);
        let Second { r, c, rr, rc, cc } = second.shifted(area, center(second.r), center(second.c));
        Spread::of(&CenteredSums {
            pixels: area,
            r,
            c,
            rr,
            rc,
            cc,
        })
    }

    fn ellipse(&self) -> Ellipse {
        self.spread().ellipse(self.spacing)
    }

    /// The sums of powers from the label's origin on.
    fn powers(&self) -> &Powers {
        &self.sums.powers[self.slot]
    }

    /// The same, weighted by intensities.
    fn weighted(&self) -> &Powers {
        &self.sums.weighted[self.slot]
    }

    /// Moments from the box's first pixel on, made of sums from the label's origin on.
    fn in_box(&self, sums: &Powers) -> Moments {
        moments::from_point(sums.0, [0.0, -(self.origin() as f64)])
    }

    /// Moments from the centroid on.
    fn central(&self) -> Moments {
        let second = &self.sums.second[self.slot];
        let exact = ExactSums {
            pixels: self.base().area as f64,
            first: [second.r as f64, second.c as f64],
            second: self.spread().moments,
        };
        exact.refined(moments::from_point(self.powers().0, exact.centroid()))
    }

    /// Moments from the weighted centroid on.
    fn weighted_central(&self) -> Moments {
        let sums = &self.weighted().0;
        moments::from_point(*sums, weighted_centroid(sums))
    }

    /// Fills in moments in pixels for the spacing.
    fn fill(&self, in_pixels: Moments, values: &mut [f64]) {
        let scaled = moments::scaled(in_pixels, self.spacing);
        values.copy_from_slice(scaled.as_flattened());
    }

    /// Central moments in pixels, made independent of scale.
    fn normalized(&self, central: Moments) -> Moments {
        let scaled = moments::scaled(central, self.spacing);
        moments::normalized(&scaled, self.spacing)
    }

    fn intensities(&self) -> &IntensitySums {
        &self.sums.intensities[self.slot]
    }

    fn mean(&self) -> f64 {
        let (intensities, n) = (self.intensities(), self.base().area as f64);
        if self.kind.is_whole {
            intensities.whole_sum as f64 / n
        } else {
            intensities.sum / n
        }
    }

    fn variance(&self) -> f64 {
        let (intensities, area) = (self.intensities(), self.base().area);
        if !self.kind.has_squares {
            return intensities.deviations / area as f64;
        }
        let (n, sum) = (i128::from(area), intensities.whole_sum);
        // Of at most 2⁶² pixels, squares of 32-bit numbers sum up to less than 2¹²⁶.
        variance(n, sum, intensities.squares as i128, sum.div_euclid(n))
    }
}
