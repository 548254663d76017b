//! Cost distances.

use super::Engine;
use crate::distance::cpu;
use crate::distance::real::Real;
use crate::distance::search::Search;
use crate::distance::{
    CostDistance, CostDistanceOptions, CostSurface, DistanceAlgorithm, Friction, Precision,
    Sources, StepCost,
};
use crate::error::Result;

impl Engine {
    /// The least cost of travel from any of the sources to each cell of the surface, and, as the
    /// options say, the source that it is least from and the way back.
    /// [The module `distance`](crate::distance) says what is computed, to the last bit.
    ///
    /// On a device, kernels compute all of it, with the same bits.
    ///
    /// # Errors
    /// - [`Error::InvalidOption`](crate::Error::InvalidOption) for options and sources that are not
    ///   valid, such as no sources;
    /// - [`Error::Friction`](crate::Error::Friction) for negative friction,
    ///   [`Error::OutsideRaster`](crate::Error::OutsideRaster) and
    ///   [`Error::SourceOnBarrier`](crate::Error::SourceOnBarrier) for sources;
    /// - [`Error::CostOverflow`](crate::Error::CostOverflow) for costs that exceed the largest
    ///   number of the precision, without a `max_cost`;
    /// - [`Error::Unavailable`](crate::Error::Unavailable) for an algorithm of another backend, and
    ///   by kernels for [`StepCost::Entered`];
    /// - [`Error::EmptyImage`](crate::Error::EmptyImage) and
    ///   [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) for rasters without cells or with
    ///   2³² or more, [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn cost_distance<T: Friction>(
        &self,
        surface: &CostSurface<'_, T>,
        sources: &Sources,
        options: &CostDistanceOptions,
    ) -> Result<CostDistance> {
        if options.step_cost == StepCost::Entered {
            self.check_on_processor("cost distances with the step cost `entered`")?;
        }
        if self.device.is_some() && options.algorithm.is_some() {
            // The algorithms to choose from are the processor's.
            self.algorithm(options, 0)?;
        }
        match options.precision {
            Precision::F32 => self.find::<f32, T>(surface, sources, options),
            Precision::F64 => self.find::<f64, T>(surface, sources, options),
        }
    }

    /// The algorithm that [`cost_distance`](Self::cost_distance) uses on the processor for these
    /// options and a raster of that many cells.
    pub fn distance_algorithm(
        &self,
        options: &CostDistanceOptions,
        cells: u64,
    ) -> DistanceAlgorithm {
        options.algorithm.unwrap_or_else(|| cpu::usual(cells))
    }

    fn algorithm(&self, options: &CostDistanceOptions, cells: u64) -> Result<DistanceAlgorithm> {
        let algorithm = self.distance_algorithm(options, cells);
        let others = DistanceAlgorithm::on(self.backend()).iter();
        self.backend().check_runs(
            "distance",
            algorithm.name(),
            algorithm.backends(),
            others.map(|other| other.name()),
        )?;
        Ok(algorithm)
    }

    /// Does the search on the processor or on the engine's device.
    fn find<P: Real, T: Friction>(
        &self,
        surface: &CostSurface<'_, T>,
        sources: &Sources,
        options: &CostDistanceOptions,
    ) -> Result<CostDistance> {
        let distance = match &self.device {
            None => {
                let search = Search::<P>::new(surface, sources, options)?;
                let algorithm = self.algorithm(options, search.frame.cells())?;
                let costs = cpu::costs(&search, algorithm, &self.progress())?;
                CostDistance::new(search, costs, options)?
            }
            Some(device) => {
                self.progress().report(0, 1)?;
                let parts = device.cost_distance(T::any(surface), sources, options)?;
                let (width, height) = (surface.width() as u32, surface.height() as u32);
                CostDistance::of_parts(width, height, parts, options)
            }
        };
        self.progress().report(1, 1)?;
        Ok(distance)
    }
}
