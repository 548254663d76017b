//! Routing.

use super::Engine;
use crate::device_choice::Job;
use crate::error::Result;
use crate::geometry::Cell;
use crate::route::{
    self, DistanceOptions, Distances, Net, Route, RouteAlgorithm, RouteOptions, RoutingGrid,
    TreeKind,
};

impl Engine {
    /// The algorithm that [`route`](Self::route) uses for these options.
    pub fn route_algorithm(&self, options: &RouteOptions) -> RouteAlgorithm {
        options.algorithm_on(self.backend())
    }

    /// Joins the pins of each net by a tree. Nets do not influence each other.
    ///
    /// A net with fewer than two pins has a tree without edges.
    ///
    /// # Errors
    /// - [`Error::Unavailable`](crate::Error::Unavailable) for an algorithm of another backend;
    /// - [`Error::PinOutside`](crate::Error::PinOutside),
    ///   [`Error::PinWithoutCells`](crate::Error::PinWithoutCells),
    ///   [`Error::WindowOutside`](crate::Error::WindowOutside) for nets that are not on the grid;
    /// - [`Error::InvalidOption`](crate::Error::InvalidOption) for a cost of turns on several
    ///   layers, or one of 2³² - 1;
    /// - [`Error::OutOfMemory`](crate::Error::OutOfMemory);
    /// - by kernels, [`Error::CostTooLarge`](crate::Error::CostTooLarge),
    ///   [`Error::GridTooLarge`](crate::Error::GridTooLarge), and `Error::Cuda` or
    ///   [`Error::Emulator`](crate::Error::Emulator).
    pub fn route(
        &self,
        grid: &RoutingGrid,
        nets: &[Net],
        options: &RouteOptions,
    ) -> Result<Vec<Route>> {
        if options.turn_cost > 0 {
            return route::turns::route(grid, nets, options, |grid, nets, options| {
                self.route(grid, nets, options)
            });
        }
        if let Some(engine) = self.chosen(
            || Job::route(grid, nets),
            options.algorithm.map(RouteAlgorithm::backends),
        ) {
            return engine.route(grid, nets, options);
        }
        let algorithm = self.route_algorithm(options);
        algorithm.check_runs_on(self.backend())?;
        let routes = match &self.device {
            None => route::cpu::route(grid, nets, algorithm, &self.progress())?,
            Some(device) => device.route(grid, nets, algorithm, &self.progress())?,
        };
        let routes = match options.tree {
            TreeKind::Nearest => routes,
            TreeKind::Improved => route::cpu::improve::improve(grid, nets, routes)?,
        };
        self.progress().report(1, 1)?;
        Ok(routes)
    }

    /// [`route`](Self::route) for one net.
    ///
    /// # Errors
    /// Those of [`route`](Self::route).
    pub fn route_net(
        &self,
        grid: &RoutingGrid,
        net: &Net,
        options: &RouteOptions,
    ) -> Result<Route> {
        let routes = self.route(grid, std::slice::from_ref(net), options)?;
        Ok(routes.into_iter().next().unwrap_or_default())
    }

    /// The cost of the cheapest path to each cell of the grid from any of the cells `sources`.
    ///
    /// ```
    /// use trazar::Engine;
    /// use trazar::route::{Cell, DistanceOptions, RoutingGrid};
    ///
    /// let grid = RoutingGrid::uniform(4, 2, 5)?;
    /// let options = DistanceOptions::default();
    /// let distances = Engine::cpu().distances(&grid, &[Cell::at(0, 0)], &options)?;
    /// assert_eq!(distances.as_slice(), [0, 5, 10, 15, 5, 10, 15, 20]);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::PinOutside`](crate::Error::PinOutside) for a source that is not on the grid,
    ///   [`Error::PinWithoutCells`](crate::Error::PinWithoutCells) for no sources;
    /// - [`Error::Unavailable`](crate::Error::Unavailable) for an algorithm of another backend, and
    ///   [`Error::InvalidOption`](crate::Error::InvalidOption) for one that gives no distances;
    /// - otherwise those of [`route`](Self::route).
    pub fn distances(
        &self,
        grid: &RoutingGrid,
        sources: &[Cell],
        options: &DistanceOptions,
    ) -> Result<Distances> {
        let job = || Job::Route {
            cells: grid.cell_count().into(),
            layers: grid.layers(),
            nets: 1,
            searched: grid.cell_count().into(),
            pins: 1,
        };
        if let Some(engine) = self.chosen(job, None) {
            return engine.distances(grid, sources, options);
        }
        match &self.device {
            None => route::cpu::distances(grid, sources, options),
            Some(device) => device.distances(grid, sources, options),
        }
    }
}
