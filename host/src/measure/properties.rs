//! [`Property`]: what can be measured, and what it needs.

use super::strip::Needs;
use crate::error::{Error, OptionProblem, Result};
use crate::options::names;

/// A measure of a label's pixels, named and defined as in scikit-image's `regionprops_table`.
///
/// Coordinates are those of pixel centers, row before column; those of the image's first pixel are
/// 0. Lengths and areas are in the units of the [spacing](super::MeasureOptions::spacing).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Property {
    /// The label's value.
    Label,
    /// The number of pixels.
    NumPixels,
    /// The number of pixels times a pixel's area.
    Area,
    /// The box: first row, first column, and the row and the column after the last.
    Bbox,
    /// The area of the box.
    AreaBbox,
    /// The mean of the pixels' coordinates.
    Centroid,
    /// The same, counted from the box's first pixel.
    CentroidLocal,
    /// Sums of rowⁱ · columnʲ for i and j from 0 to 3, counted from the box's first pixel.
    Moments,
    /// The same, counted from the centroid.
    MomentsCentral,
    /// Central moments, independent of scale; NaN where i + j < 2.
    MomentsNormalized,
    /// Hu's seven moments, independent of scale and rotation.
    MomentsHu,
    /// The inertia tensor for rotation around the centroid, per pixel.
    InertiaTensor,
    /// Its eigenvalues, the greater one first.
    InertiaTensorEigvals,
    /// The length of the longer axis of the ellipse with the same second moments.
    AxisMajorLength,
    /// That of the shorter axis.
    AxisMinorLength,
    /// The eccentricity of that ellipse: 0 for a circle, 1 for a line.
    Eccentricity,
    /// The angle from the rows' axis to the ellipse's longer axis, from -π/2 to π/2,
    /// counter-clockwise.
    Orientation,
    /// The diameter of the circle of the same area.
    EquivalentDiameterArea,
    /// The area divided by that of the box.
    Extent,
    /// The length of the line through the centers of the border pixels (Benkrid and Crookes).
    Perimeter,
    /// The length of the outline by Crofton's formula in four directions.
    PerimeterCrofton,
    /// Objects less holes, if pixels are connected at sides and corners.
    EulerNumber,
    /// The same if they are connected at sides only. scikit-image has no such column.
    EulerNumber4,
    /// The area of the pixels in the convex hull of the middles of the pixels' sides.
    AreaConvex,
    /// The area divided by the area of the convex hull.
    Solidity,
    /// The longest distance between two points of the outline of the pixels in the convex hull.
    FeretDiameterMax,
    /// The area with holes filled. A hole is a set of other pixels, connected at sides and corners,
    /// from which no path leads out of the box.
    AreaFilled,
    /// The least intensity.
    IntensityMin,
    /// The greatest intensity.
    IntensityMax,
    /// The mean intensity.
    IntensityMean,
    /// The standard deviation of the intensities, that of the population.
    IntensityStd,
    /// The mean of the pixels' coordinates, weighted by intensity.
    CentroidWeighted,
    /// The same, counted from the box's first pixel.
    CentroidWeightedLocal,
    /// As [`Moments`](Self::Moments), weighted by intensity.
    MomentsWeighted,
    /// As [`MomentsCentral`](Self::MomentsCentral), weighted, from the weighted centroid.
    MomentsWeightedCentral,
    /// As [`MomentsNormalized`](Self::MomentsNormalized), weighted.
    MomentsWeightedNormalized,
    /// As [`MomentsHu`](Self::MomentsHu), weighted.
    MomentsWeightedHu,
}

names! { Property, "properties" {
    Label => "label",
    NumPixels => "num_pixels",
    Area => "area",
    Bbox => "bbox",
    AreaBbox => "area_bbox",
    Centroid => "centroid",
    CentroidLocal => "centroid_local",
    Moments => "moments",
    MomentsCentral => "moments_central",
    MomentsNormalized => "moments_normalized",
    MomentsHu => "moments_hu",
    InertiaTensor => "inertia_tensor",
    InertiaTensorEigvals => "inertia_tensor_eigvals",
    AxisMajorLength => "axis_major_length",
    AxisMinorLength => "axis_minor_length",
    Eccentricity => "eccentricity",
    Orientation => "orientation",
    EquivalentDiameterArea => "equivalent_diameter_area",
    Extent => "extent",
    Perimeter => "perimeter",
    PerimeterCrofton => "perimeter_crofton",
    EulerNumber => "euler_number",
    EulerNumber4 => "euler_number_4",
    AreaConvex => "area_convex",
    Solidity => "solidity",
    FeretDiameterMax => "feret_diameter_max",
    AreaFilled => "area_filled",
    IntensityMin => "intensity_min",
    IntensityMax => "intensity_max",
    IntensityMean => "intensity_mean",
    IntensityStd => "intensity_std",
    CentroidWeighted => "centroid_weighted",
    CentroidWeightedLocal => "centroid_weighted_local",
    MomentsWeighted => "moments_weighted",
    MomentsWeightedCentral => "moments_weighted_central",
    MomentsWeightedNormalized => "moments_weighted_normalized",
    MomentsWeightedHu => "moments_weighted_hu",
}}

impl Property {
    /// Whether it needs an intensity image.
    pub fn needs_intensities(self) -> bool {
        matches!(
            self,
            Self::IntensityMin
                | Self::IntensityMax
                | Self::IntensityMean
                | Self::IntensityStd
                | Self::CentroidWeighted
                | Self::CentroidWeightedLocal
                | Self::MomentsWeighted
                | Self::MomentsWeightedCentral
                | Self::MomentsWeightedNormalized
                | Self::MomentsWeightedHu
        )
    }

    /// Whether its values are integers.
    pub fn is_integer(self) -> bool {
        matches!(
            self,
            Self::Label | Self::NumPixels | Self::Bbox | Self::EulerNumber | Self::EulerNumber4
        )
    }

    /// The extents of its value; none for a single number.
    pub fn shape(self) -> &'static [usize] {
        match self {
            Self::Bbox => &[4],
            Self::Centroid
            | Self::CentroidLocal
            | Self::CentroidWeighted
            | Self::CentroidWeightedLocal
            | Self::InertiaTensorEigvals => &[2],
            Self::InertiaTensor => &[2, 2],
            Self::Moments
            | Self::MomentsCentral
            | Self::MomentsNormalized
            | Self::MomentsWeighted
            | Self::MomentsWeightedCentral
            | Self::MomentsWeightedNormalized => &[4, 4],
            Self::MomentsHu | Self::MomentsWeightedHu => &[7],
            _ => &[],
        }
    }

    /// The names of its columns, such as `bbox-0`: the property's name and the value's indices.
    pub fn columns(self) -> Vec<String> {
        match *self.shape() {
            [] => vec![self.name().to_owned()],
            [n] => (0..n).map(|i| format!("{self}-{i}")).collect(),
            [n, m, ..] => (0..n * m)
                .map(|i| format!("{self}-{}-{}", i / m, i % m))
                .collect(),
        }
    }

    /// Adds what it needs.
    pub(super) fn add_needs(self, needs: &mut Needs) {
        match self {
            Self::Centroid
            | Self::CentroidLocal
            | Self::InertiaTensor
            | Self::InertiaTensorEigvals
            | Self::AxisMajorLength
            | Self::AxisMinorLength
            | Self::Eccentricity
            | Self::Orientation => needs.second = true,
            Self::Moments => needs.powers = true,
            Self::MomentsCentral | Self::MomentsNormalized | Self::MomentsHu => {
                needs.second = true;
                needs.powers = true;
            }
            Self::Perimeter => needs.outline = true,
            Self::PerimeterCrofton | Self::EulerNumber | Self::EulerNumber4 => needs.pairs = true,
            Self::AreaConvex | Self::Solidity | Self::FeretDiameterMax | Self::AreaFilled => {
                needs.spans = true;
            }
            Self::IntensityMin | Self::IntensityMax | Self::IntensityMean => {
                needs.intensities = true;
            }
            Self::IntensityStd => {
                needs.intensities = true;
                needs.deviations = true;
            }
            Self::CentroidWeighted
            | Self::CentroidWeightedLocal
            | Self::MomentsWeighted
            | Self::MomentsWeightedCentral
            | Self::MomentsWeightedNormalized
            | Self::MomentsWeightedHu => needs.weighted = true,
            Self::Label
            | Self::NumPixels
            | Self::Area
            | Self::Bbox
            | Self::AreaBbox
            | Self::EquivalentDiameterArea
            | Self::Extent => {}
        }
    }

    /// Refuses a spacing for which the property is not defined.
    pub(super) fn check_spacing(self, spacing: [f64; 2]) -> Result<()> {
        let wrong = match self {
            Self::Perimeter | Self::PerimeterCrofton if spacing[0] != spacing[1] => {
                "the same spacing of rows and columns"
            }
            Self::MomentsHu | Self::MomentsWeightedHu if spacing != [1.0; 2] => "a spacing of 1",
            _ => return Ok(()),
        };
        let [rows, columns] = spacing;
        Err(Error::option(
            "spacing",
            OptionProblem::Conflict,
            format!("{self} is for {wrong}, not for {rows} and {columns}"),
        ))
    }
}
