//! Routing.

use super::Engine;
use crate::backend::Backend;
use crate::device_choice::Job;
use crate::error::Result;
use crate::geometry::Cell;
use crate::progress::Progress;
use crate::route::{
    self, DistanceAlgorithm, DistanceOptions, Distances, EdgeCounts, Negotiated,
    NegotiationOptions, Net, Route, RouteAlgorithm, RouteOptions, RoutingGrid, TreeKind,
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
        let plain = |progress: &Progress<'_>| match &self.device {
            None => route::cpu::route(grid, nets, algorithm, progress),
            Some(device) => device.route(grid, nets, algorithm, progress),
        };
        let progress = self.progress();
        self.done(match options.tree {
            TreeKind::Nearest => plain(&progress)?,
            TreeKind::Improved => {
                let routes = progress.part(0..1, 10, plain)?;
                progress.part(1..10, 10, |progress| {
                    route::cpu::improve::improve(grid, nets, routes, options.effort, progress)
                })?
            }
        })
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

    /// Joins the pins of each net by paths with the fewest edges, each the cheapest of those, by
    /// breadth-first search on the processor. The trees are **not** those of
    /// [`route`](Self::route), and cost more: a path with more edges is never taken, however much
    /// cheaper it is.
    ///
    /// ```
    /// use trazar::{Cell, Engine, Net, RouteOptions, RoutingGrid};
    ///
    /// // One expensive edge, or three of weight 1 around it.
    /// let mut grid = RoutingGrid::uniform(2, 2, 1)?;
    /// grid.set_right(Cell::at(0, 0), 90)?;
    /// let nets = [Net::from_cells([Cell::at(0, 0), Cell::at(1, 0)])];
    /// let engine = Engine::cpu();
    /// assert_eq!(engine.route_fewest_edges(&grid, &nets)?[0].cost(), 90);
    /// assert_eq!(engine.route(&grid, &nets, &RouteOptions::default())?[0].cost(), 3);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable) on a GPU or an emulator; otherwise those
    /// of [`route`](Self::route).
    pub fn route_fewest_edges(&self, grid: &RoutingGrid, nets: &[Net]) -> Result<Vec<Route>> {
        const RUNS_ON: &[Backend] = &[Backend::Cpu];
        if let Some(engine) = self.chosen(|| Job::route(grid, nets), Some(RUNS_ON)) {
            return engine.route_fewest_edges(grid, nets);
        }
        let backend = self.backend();
        let others = RouteAlgorithm::on(backend).iter().map(|other| other.name());
        backend.check_runs("routing", "breadth-first", RUNS_ON, others)?;
        self.done(route::cpu::route_fewest_edges(
            grid,
            nets,
            &self.progress(),
        )?)
    }

    /// Joins the pins of each net by a tree, such that no more nets use an edge than `capacities`
    /// permits, where the negotiation finds such trees; [`Negotiated::overfull`] says where it did
    /// not. The result is the same on every device and any number of threads.
    ///
    /// Capacities of 0 block an edge. A net counts once on each edge of its tree. The trees are not
    /// those of [`route`](Self::route), even where there is room for these: a pin is joined to the
    /// tree by a cheapest path, but the pins come in the order of their distance as the crow flies.
    ///
    /// ```
    /// use trazar::Engine;
    /// use trazar::route::{Cell, EdgeCounts, NegotiationOptions, Net, RoutingGrid};
    ///
    /// // Two nets along the same row, whose edges have room for one: the other net goes around.
    /// let grid = RoutingGrid::uniform(4, 3, 1)?;
    /// let capacities = EdgeCounts::uniform(&grid, 1, 0)?;
    /// let net = Net::from_cells([Cell::at(0, 1), Cell::at(3, 1)]);
    /// let nets = [net.clone(), net];
    /// let options = NegotiationOptions::default();
    /// let found = Engine::cpu().negotiate(&grid, &capacities, &nets, &options)?;
    /// assert_eq!(found.overflow(), 0);
    /// assert_eq!(found.wire_length(), 3 + 5);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Cost
    /// 72 bytes per cell of the grid, and 16 per cell of a window and thread. A round routes the
    /// nets that use overfull edges, at first all, each by one search per pin. For each cell that
    /// becomes part of a tree, the distances from all pins that are left are estimated. A GPU
    /// searches, and the processor does the rest: it takes 12 bytes per cell of the grid more
    /// there, and 28 per cell of a window, of 2²⁷ such cells or one window at a time.
    ///
    /// # Errors
    /// - [`Error::InvalidOption`](crate::Error::InvalidOption) for capacities of a grid of another
    ///   size;
    /// - [`Error::CostTooLarge`](crate::Error::CostTooLarge) for weights of 2²⁴ or more;
    /// - those of [`route`](Self::route) for nets that are not on the grid;
    /// - on a GPU, [`Error::GridTooLarge`](crate::Error::GridTooLarge) for a window of 2²⁹ cells or
    ///   more on all layers, and `Error::Cuda`;
    /// - [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn negotiate(
        &self,
        grid: &RoutingGrid,
        capacities: &EdgeCounts,
        nets: &[Net],
        options: &NegotiationOptions,
    ) -> Result<Negotiated> {
        if let Some(engine) = self.chosen(|| Job::negotiate(nets), None) {
            return engine.negotiate(grid, capacities, nets, options);
        }
        let progress = &self.progress();
        match &self.device {
            None => route::negotiate::negotiate(grid, capacities, nets, options, progress),
            Some(device) => device.negotiate(grid, capacities, nets, options, progress),
        }
    }

    /// The cost of the cheapest path to each cell of the grid from any of the cells `sources`.
    ///
    /// On the processor, large grids are searched on all threads
    /// ([`DistanceAlgorithm::on`]); this takes 4 to 9 bytes per cell beside the result.
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
    /// - [`Error::Unavailable`](crate::Error::Unavailable) for an algorithm of another backend;
    /// - otherwise those of [`route`](Self::route).
    pub fn distances(
        &self,
        grid: &RoutingGrid,
        sources: &[Cell],
        options: &DistanceOptions,
    ) -> Result<Distances> {
        let job = || Job::Distances {
            cells: grid.cell_count().into(),
        };
        let backends = options.algorithm.map(DistanceAlgorithm::backends);
        if let Some(engine) = self.chosen(job, backends) {
            return engine.distances(grid, sources, options);
        }
        let distances = match &self.device {
            None => route::cpu::distances(grid, sources, options, &self.progress())?,
            Some(device) => {
                options.algorithm_on(self.backend())?;
                device.distances(grid, sources)?
            }
        };
        self.done(distances)
    }
}
