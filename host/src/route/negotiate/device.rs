//! Trees by a GPU: for all nets of a batch at the same time, each by one block.

use rayon::prelude::*;
use trazar_kernels::route::GridSize;
use trazar_kernels::route::negotiate::{
    self as kernels, Area, CompetingNet, CompetingNets, CompetingPin, CompetingTrees, EdgeCosts,
    GRAIN, GrownTree, JoinedPath, LISTS, MAX_CELLS, SearchScratch, SpecialCost,
};

use super::edges::{Edges, KINDS};
use super::estimate::Estimates;
use super::growing::{Found, Task};
use super::rounds::Searcher;
use crate::error::{Error, OptionProblem, Result};
use crate::gpu::{Gpu, GpuBuffer};
use crate::memory::{extend, filled_vec, par_try_collect, push, with_room, zeroed_vec};
use crate::route::grid::RoutingGrid;
use crate::route::net_by_net::{Joined, PATHS, PINS};

/// The most cells of windows that are searched at the same time; a single one may have more. A cell
/// takes 28 bytes.
const CELLS_AT_ONCE: u64 = 1 << 27;
/// The most cells that a tree may get: kernels number those of a launch in 32 bits.
const MAX_TREE_CELLS: usize = 1 << 31;
/// Name used in out-of-memory errors.
const LAUNCH: &str = "the nets of a launch";

/// A grid's edges on a GPU, and the memory of searches.
pub(super) struct OnDevice<'a, G: Gpu> {
    gpu: &'a G,
    grid: &'a RoutingGrid,
    steps: [u64; 2],
    /// See [`EdgeCosts`], as those below.
    serves: u32,
    vias: G::Buffer<u64>,
    costs: G::Buffer<u32>,
    scratch: Option<Scratch<G>>,
}

/// See [`SearchScratch`] and [`CompetingTrees`].
struct Scratch<G: Gpu> {
    words: G::Buffer<u64>,
    marks: G::Buffer<u32>,
    lists: G::Buffer<u32>,
    trees: G::Buffer<u32>,
    new_cells: G::Buffer<u32>,
}

impl<G: Gpu> Scratch<G> {
    fn new(gpu: &G, cells: usize, tree_cells: usize) -> Result<Self> {
        Ok(Self {
            words: gpu.alloc(cells)?,
            marks: gpu.alloc(cells.div_ceil(32))?,
            lists: gpu.alloc(LISTS as usize * cells)?,
            trees: gpu.alloc(tree_cells)?,
            new_cells: gpu.alloc(tree_cells)?,
        })
    }
}

/// A task as the kernel takes it. Indices count from its own first.
struct Prepared {
    net: CompetingNet,
    /// The cells of its tree.
    tree: Vec<u32>,
    pins: Vec<CompetingPin>,
    pin_cells: Vec<u32>,
    special: Vec<SpecialCost>,
    /// The net's numbers of these pins.
    numbers: Vec<usize>,
    /// The cells of its window on all layers, rounded up.
    cells: u32,
}

impl Prepared {
    fn new(edges: &Edges<'_>, estimates: &Estimates, task: &Task<'_>) -> Result<Self> {
        let (grid, window) = (edges.grid, task.window);
        let plane = u64::from(window.width) * u64::from(window.height);
        let cells = plane * u64::from(grid.layers());
        if cells >= MAX_CELLS.into() {
            return Err(Error::GridTooLarge {
                width: window.width.into(),
                height: window.height.into(),
                layers: grid.layers(),
                limit: "on a GPU, the window of a net that competes has less than 2²⁹ cells",
            });
        }
        let given = &task.net.pins;
        let mut this = Self {
            net: CompetingNet {
                window: Area {
                    left: window.x,
                    top: window.y,
                    width: window.width,
                    height: window.height,
                },
                margin: task.margin,
                ..CompetingNet::default()
            },
            tree: Vec::new(),
            pins: with_room(given.len(), PINS)?,
            pin_cells: Vec::new(),
            special: with_room(task.given_up.len(), LAUNCH)?,
            numbers: with_room(given.len(), PINS)?,
            cells: cells.next_multiple_of(GRAIN.into()) as u32,
        };
        let mut joins = filled_vec(true, given.len(), PINS)?;
        let mut add = |pin: usize, path: &[u32]| {
            joins[pin] = false;
            extend(&mut this.tree, path.iter().copied(), PATHS)?;
            let cells = given[pin].cells.iter().map(|&cell| grid.index(cell));
            extend(&mut this.tree, cells, PINS)
        };
        if !given.is_empty() {
            add(0, &[])?;
        }
        for (pin, _, path) in task.kept.paths() {
            add(pin, path)?;
        }
        let joining = given.iter().enumerate();
        for (number, pin) in joining.filter(|&(number, _)| joins[number]) {
            let target = estimates.towards(pin);
            let first_cell = this.pin_cells.len() as u32;
            let cells = pin.cells.iter().map(|&cell| grid.index(cell));
            extend(&mut this.pin_cells, cells, PINS)?;
            this.numbers.push(number);
            this.pins.push(CompetingPin {
                low: [target.low.x, target.low.y, target.low.layer],
                high: [target.high.x, target.high.y, target.high.layer],
                first_cell,
                end_cell: this.pin_cells.len() as u32,
            });
        }
        let special = task.given_up.iter().map(|&edge| SpecialCost {
            cell: (edge / KINDS) as u32,
            kind: (edge % KINDS) as u32,
            cost: edges.cost_without_one(edge),
        });
        this.special.extend(special);
        this.special.sort_unstable();
        if this.tree_room() > MAX_TREE_CELLS {
            return Err(Error::option(
                "nets",
                OptionProblem::OutOfRange,
                format!(
                    "the pins of a net that competes have {} cells: on a GPU, they and its window \
                     have {MAX_TREE_CELLS} at most",
                    this.tree.len() + this.pin_cells.len()
                ),
            ));
        }
        Ok(this)
    }

    /// The tree, with the paths found.
    fn found(
        &self,
        edges: &Edges<'_>,
        task: &Task<'_>,
        paths: &[JoinedPath],
        mut cells: &[u32],
    ) -> Result<Found> {
        let mut tree = Joined::default();
        let mut costs = with_room(task.net.pins.len(), PATHS)?;
        for (pin, cost, path) in task.kept.paths() {
            tree.push(pin, cost, path)?;
            costs.push(0);
        }
        for path in paths {
            let pin = self.numbers[path.pin as usize];
            let (of_path, rest) = cells.split_at(path.cells as usize);
            cells = &rest[task.net.pins[pin].cells.len()..];
            tree.push(pin, edges.weight_along(of_path), of_path)?;
            costs.push(path.cost);
        }
        Ok(Found {
            tree,
            costs,
            has_all: paths.len() == self.pins.len(),
        })
    }

    /// The most cells that its tree may get: a path has as many new ones, and one of the tree.
    fn tree_room(&self) -> usize {
        self.tree.len() + self.cells as usize + self.pins.len() + self.pin_cells.len()
    }
}

/// What one launch takes.
#[derive(Default)]
struct Launch {
    nets: Vec<CompetingNet>,
    sources: Vec<u32>,
    pins: Vec<CompetingPin>,
    pin_cells: Vec<u32>,
    special: Vec<SpecialCost>,
    cells: u64,
    tree_cells: u64,
}

impl Launch {
    fn add(&mut self, prepared: &Prepared) -> Result<()> {
        let mut net = prepared.net;
        net.first_cell = self.cells as u32;
        net.first_tree = self.tree_cells as u32;
        net.first_source = self.sources.len() as u32;
        net.sources = prepared.tree.len() as u32;
        net.first_pin = self.pins.len() as u32;
        net.first_special = self.special.len() as u32;
        let first_cell = self.pin_cells.len() as u32;
        let pins = prepared.pins.iter().map(|pin| CompetingPin {
            first_cell: first_cell + pin.first_cell,
            end_cell: first_cell + pin.end_cell,
            ..*pin
        });
        extend(&mut self.sources, prepared.tree.iter().copied(), PATHS)?;
        extend(&mut self.pins, pins, PINS)?;
        extend(
            &mut self.pin_cells,
            prepared.pin_cells.iter().copied(),
            PINS,
        )?;
        extend(&mut self.special, prepared.special.iter().copied(), LAUNCH)?;
        net.end_pin = self.pins.len() as u32;
        // planted: grow-specials
        net.end_special = self.special.len() as u32;
        self.cells += u64::from(prepared.cells);
        self.tree_cells += prepared.tree_room() as u64;
        push(&mut self.nets, net, LAUNCH)
    }
}

impl<'a, G: Gpu> OnDevice<'a, G> {
    pub(super) fn new(gpu: &'a G, grid: &'a RoutingGrid, estimates: &Estimates) -> Result<Self> {
        let serves = estimates.serves.iter();
        Ok(Self {
            gpu,
            grid,
            steps: estimates.steps,
            serves: serves.rfold(0, |all, &serves| all << 2 | serves as u32),
            vias: gpu.upload(&estimates.via_costs()?)?,
            costs: gpu.alloc(KINDS * grid.cell_count() as usize)?,
            scratch: None,
        })
    }

    /// Grows the trees of the tasks, in as many launches as memory asks for.
    fn grow(
        &mut self,
        edges: &Edges<'_>,
        tasks: &[Task<'_>],
        prepared: &[Prepared],
        trees: &mut Vec<Found>,
    ) -> Result<()> {
        let cells = prepared.iter().map(|prepared| prepared.tree_room() as u64);
        let is_too_large = tasks.len() > 1 && cells.sum::<u64>() > CELLS_AT_ONCE;
        if !is_too_large {
            match self.launch(edges, tasks, prepared, trees) {
                Err(error) if error.is_out_of_memory() && tasks.len() > 1 => {}
                result => return result,
            }
        }
        let (first, second) = tasks.split_at(tasks.len() / 2);
        let (first_prepared, second_prepared) = prepared.split_at(first.len());
        self.grow(edges, first, first_prepared, trees)?;
        self.grow(edges, second, second_prepared, trees)
    }

    /// Grows the trees of the tasks in one launch.
    fn launch(
        &mut self,
        edges: &Edges<'_>,
        tasks: &[Task<'_>],
        prepared: &[Prepared],
        trees: &mut Vec<Found>,
    ) -> Result<()> {
        if tasks.is_empty() {
            return Ok(());
        }
        let mut launch = Launch::default();
        for prepared in prepared {
            launch.add(prepared)?;
        }
        let (gpu, grid) = (self.gpu, self.grid);
        let (cells, tree_cells) = (launch.cells as usize, launch.tree_cells as usize);
        let has_room = |scratch: &Scratch<G>| {
            scratch.words.len() >= cells && scratch.trees.len() >= tree_cells
        };
        if !self.scratch.as_ref().is_some_and(has_room) {
            self.scratch = None;
            self.scratch = Some(Scratch::new(gpu, cells, tree_cells)?);
        }
        let Some(scratch) = &mut self.scratch else {
            return Ok(());
        };
        let on_edges = EdgeCosts {
            costs: self.costs.view(),
            vias: self.vias.view(),
            step_x: self.steps[0],
            step_y: self.steps[1],
            size: GridSize {
                width: grid.width(),
                height: grid.height(),
                layers: grid.layers(),
            },
            serves: self.serves,
        };
        let nets = gpu.upload(&launch.nets)?;
        let sources = gpu.upload(&launch.sources)?;
        let pins = gpu.upload(&launch.pins)?;
        let pin_cells = gpu.upload(&launch.pin_cells)?;
        let special = gpu.upload(&launch.special)?;
        let on_nets = CompetingNets {
            nets: nets.view(),
            sources: sources.view(),
            pins: pins.view(),
            pin_cells: pin_cells.view(),
            special: special.view(),
        };
        let memory = SearchScratch {
            words: scratch.words.view_mut(),
            marks: scratch.marks.view_mut(),
            lists: scratch.lists.view_mut(),
        };
        let mut distances = gpu.alloc(launch.pins.len())?;
        let mut nearest = gpu.alloc(launch.pins.len())?;
        let mut grown = gpu.alloc::<GrownTree>(launch.nets.len())?;
        let mut paths = gpu.alloc_zeroed::<JoinedPath>(launch.pins.len())?;
        let mut count = gpu.alloc_zeroed(1)?;
        let on_trees = CompetingTrees {
            cells: scratch.trees.view_mut(),
            distances: distances.view_mut(),
            nearest: nearest.view_mut(),
            grown: grown.view_mut(),
            paths: paths.view_mut(),
            new_cells: scratch.new_cells.view_mut(),
            count: count.view_mut(),
        };
        // SAFETY: `Prepared` and `Launch` have made the nets, with places one after the other; all
        // cells of nets are in their windows; estimates are those of `Estimates`, by the least
        // costs that edges ever have.
        unsafe {
            kernels::grow_trees::launch(
                &gpu.launcher(),
                launch.nets.len() as u32,
                on_edges,
                on_nets,
                memory,
                on_trees,
            )?;
        }
        let grown = grown.to_vec()?;
        let paths = paths.to_vec()?;
        let cells = grown.iter().map(|tree| tree.cells as usize).sum();
        let mut all = zeroed_vec(cells, PATHS)?;
        scratch.new_cells.read_at(0, &mut all)?;
        let found = grown.par_iter().zip(&launch.nets).zip(tasks).zip(prepared);
        let found = found.map(|(((grown, net), task), prepared)| {
            let paths = &paths[net.first_pin as usize..][..grown.paths as usize];
            let cells = &all[grown.first as usize..][..grown.cells as usize];
            prepared.found(edges, task, paths, cells)
        });
        extend(trees, par_try_collect(found, PATHS)?, PATHS)
    }
}

impl<G: Gpu> Searcher for OnDevice<'_, G> {
    fn set_costs(&mut self, costs: &[u32]) -> Result<()> {
        self.costs.write(costs)
    }

    fn change_costs(&mut self, changed: &[u64], costs: &[u32]) -> Result<()> {
        if changed.is_empty() {
            return Ok(());
        }
        let numbers = self.gpu.upload(changed)?;
        let values = self.gpu.upload(costs)?;
        // SAFETY: edges of the grid.
        unsafe {
            kernels::set_costs::launch_threads(
                &self.gpu.launcher(),
                changed.len() as u32,
                numbers.view(),
                values.view(),
                self.costs.view_mut(),
            )
        }
    }

    fn trees(
        &mut self,
        edges: &Edges<'_>,
        estimates: &Estimates,
        tasks: &[Task<'_>],
    ) -> Result<Vec<Found>> {
        let prepared = tasks.par_iter();
        let prepared = prepared.map(|task| Prepared::new(edges, estimates, task));
        let prepared: Vec<Prepared> = par_try_collect(prepared, LAUNCH)?;
        let mut trees = with_room(tasks.len(), PATHS)?;
        self.grow(edges, tasks, &prepared, &mut trees)?;
        Ok(trees)
    }
}
