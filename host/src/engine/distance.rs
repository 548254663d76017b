//! Cost distances.

use super::Engine;
use crate::distance::cpu;
use crate::distance::real::Real;
use crate::distance::search::Search;
use crate::distance::{
    CostDistance, CostDistanceOptions, CostSurface, Costs, DistanceAlgorithm, Friction, Precision,
    Sources, StepCost,
};
use crate::error::{Error, OptionProblem, Result};

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

    /// Adds sources to those of an earlier search, and lowers its costs accordingly. The result is
    /// that of one search from all sources, bit for bit. The search visits only the cells whose
    /// costs the new sources lower; a few more passes go over the whole raster.
    ///
    /// `before` are costs of the same surface by the same options, for other sources: with any
    /// other costs, those of the result are not least ones. An allocation names those of `sources`
    /// that are tight, and 0 where only earlier sources are.
    ///
    /// ```
    /// use trazar::distance::{CostDistanceOptions, CostSurface, Sources};
    /// use trazar::{Engine, Samples};
    ///
    /// let friction = [1.0f32; 7];
    /// let surface = CostSurface::new(Samples::new(7, 1, &friction)?);
    /// let (engine, options) = (Engine::cpu(), CostDistanceOptions::default());
    /// let first = Sources::from_cells([(0, 0)]);
    /// let first = engine.cost_distance(&surface, &first, &options)?;
    /// let further = Sources::from_cells([(6, 0)]);
    /// let both = engine.lower_cost_distance(&surface, first.costs(), &further, &options)?;
    /// assert_eq!(both.costs().as_f32(), Some(&[0.0, 1.0, 2.0, 3.0, 2.0, 1.0, 0.0][..]));
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`cost_distance`](Self::cost_distance);
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) and
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) for costs of another raster or
    /// precision, for negative and infinite ones, and if the options ask for directions, which
    /// depend on all sources; [`Error::Unavailable`](crate::Error::Unavailable) by kernels.
    pub fn lower_cost_distance<T: Friction>(
        &self,
        surface: &CostSurface<'_, T>,
        before: &Costs,
        sources: &Sources,
        options: &CostDistanceOptions,
    ) -> Result<CostDistance> {
        self.check_on_processor("cost distances from earlier ones")?;
        if options.direction {
            let why = "directions depend on all sources: compute them by `cost_distance`";
            return Err(Error::option("direction", OptionProblem::Conflict, why));
        }
        match options.precision {
            Precision::F32 => self.search::<f32, T>(surface, Some(before), sources, options),
            Precision::F64 => self.search::<f64, T>(surface, Some(before), sources, options),
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
        let Some(device) = &self.device else {
            return self.search::<P, T>(surface, None, sources, options);
        };
        self.progress().report(0, 1)?;
        let parts = device.cost_distance(T::any(surface), sources, options)?;
        let (width, height) = (surface.width() as u32, surface.height() as u32);
        self.done(CostDistance::of_parts(width, height, parts, options))
    }

    /// Does the search on the processor, from costs that were found before, if there are any.
    fn search<P: Real, T: Friction>(
        &self,
        surface: &CostSurface<'_, T>,
        before: Option<&Costs>,
        sources: &Sources,
        options: &CostDistanceOptions,
    ) -> Result<CostDistance> {
        let search = Search::<P>::new(surface, sources, options)?;
        let algorithm = self.algorithm(options, search.frame.cells())?;
        let before = before.map(|costs| search.costs_before(costs)).transpose()?;
        let costs = cpu::costs(&search, before, algorithm, &self.progress())?;
        self.done(CostDistance::new(search, costs, options)?)
    }
}
