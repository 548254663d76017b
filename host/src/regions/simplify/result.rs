//! [`SimplifiedRegions`].

use super::SimplifyOptions;
use crate::error::Result;
use crate::regions::Regions;
use crate::trace::Contours;

/// [`Regions`] with simplified rings: those of [`Regions::simplify`].
///
/// ```
/// use trazar::regions::SimplifyOptions;
/// use trazar::{Engine, RegionOptions, Samples, ValueImage};
///
/// // A diagonal border of steps.
/// let classes = [1u8, 2, 2, 1, 1, 2, 1, 1, 1];
/// let image = ValueImage::new(Samples::new(3, 3, &classes)?)?;
/// let regions = Engine::cpu().trace_regions(&image, &RegionOptions::default())?;
/// assert_eq!(regions.contours().points().len(), 8 + 6);
/// let simplified = regions.simplify(&SimplifyOptions::default())?;
/// // One line from (1, 0) to (3, 2) for both.
/// assert_eq!(simplified.contours().points().len(), 5 + 3);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SimplifiedRegions<T> {
    regions: Regions<T>,
    contours: Contours,
}

impl<T> Regions<T> {
    /// Removes corners of the rings; neighbours keep the same points along their common border.
    /// What is guaranteed, and the cost: [`Contours::simplify`].
    ///
    /// # Errors
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) for a tolerance that is negative or
    /// not finite; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn simplify(self, options: &SimplifyOptions) -> Result<SimplifiedRegions<T>> {
        let contours = self.contours.simplify(options)?;
        Ok(SimplifiedRegions {
            regions: self,
            contours,
        })
    }
}

impl<T> SimplifiedRegions<T> {
    /// The simplified rings: as many, of the same kinds and in the same order as those of
    /// [`regions`](Self::regions), which has their values.
    pub fn contours(&self) -> &Contours {
        &self.contours
    }

    /// The regions as they were.
    pub fn regions(&self) -> &Regions<T> {
        &self.regions
    }

    /// Takes the simplified rings and the regions.
    pub fn into_parts(self) -> (Contours, Regions<T>) {
        (self.contours, self.regions)
    }

    /// The simplified polygons, as [`Regions::polygons`].
    #[cfg(feature = "formats")]
    pub fn polygons(&self) -> impl Iterator<Item = (T, u32, geo_types::Polygon<f64>)> + '_
    where
        T: Copy,
    {
        self.regions.polygons_of(&self.contours)
    }
}
