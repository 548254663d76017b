//! Routing in tiles: whole nets in one launch of the kernels of [`trazar_kernels::route::tiles`].

use cuda_std::{Pod, View, ViewMut};
use trazar_kernels::route::tiles::{
    self, Area, JoinedPin, Label, NET_JOINED, NET_PATH_LEN, NET_WORDS, PinCell, Slot, Span, TILE,
    Tiling,
};

use crate::error::{Error, Result};
use crate::geometry::{Cell, Window};
use crate::gpu::{Gpu, GpuBuffer, Lent};
use crate::route::RouteAlgorithm;
use crate::route::grid::{BLOCKED, RoutingGrid};
use crate::route::net::Net;
use crate::route::tree::Route;

/// The most slots of a call of the kernels: their labels are numbered by 32 bits, and so are the cells of their paths.
const MAX_SLOTS: u64 = (1 << 20) - (1 << 10);
/// Nets are put together until they have this many slots: 1 GiB of labels.
const SLOTS_AT_ONCE: u64 = 1 << 16;
/// Threads of the kernels that have one for each element.
const THREADS: u32 = 256;

/// A routing grid in a GPU's memory, laid out in tiles.
#[derive(Debug)]
pub struct DeviceGrid<G: Gpu> {
    tiling: Tiling,
    right: G::Buffer<u32>,
    down: G::Buffer<u32>,
    via: G::Buffer<u32>,
    /// Whether some edge costs nothing.
    has_free_edges: bool,
}

impl<G: Gpu> DeviceGrid<G> {
    /// Copies `grid` to the memory of `gpu`, and waits for it. It takes 8 bytes a cell there, 12 with several layers, and the same
    /// again meanwhile.
    ///
    /// # Errors
    /// [`Error::GridTooLarge`] past 2³² - 2²² cells with those that fill up tiles; `Error::Cuda`, [`Error::Emulator`].
    pub fn upload(gpu: &G, grid: &RoutingGrid) -> Result<Self> {
        let tiling = Tiling::new(grid.width(), grid.height(), grid.layers());
        if tiling.tiles() > MAX_SLOTS {
            return Err(too_large(grid));
        }
        let len = tiling.tiles() as usize * TILE as usize;
        let mut has_free = gpu.alloc_zeroed(1)?;
        let mut lay_out = |rows: &[u32]| {
            let mut tiles = gpu.alloc(if rows.is_empty() { 0 } else { len })?;
            if !rows.is_empty() {
                let rows = gpu.upload(rows)?;
                // SAFETY: a weight for each cell, room for each cell of a tile, and a thread for four of them.
                unsafe {
                    tiles::lay_out_weights::launch(
                        &gpu.launcher(),
                        (len as u32 / 4).div_ceil(THREADS),
                        rows.view(),
                        tiles.view_mut(),
                        has_free.view_mut(),
                        tiling,
                    )
                }?;
            }
            Ok::<_, Error>(tiles)
        };
        let (right, down, via) = (
            lay_out(grid.rights())?,
            lay_out(grid.downs())?,
            lay_out(grid.vias())?,
        );
        Ok(Self {
            tiling,
            right,
            down,
            via,
            has_free_edges: has_free.to_vec()? != [0],
        })
    }

    /// Width in cells.
    pub fn width(&self) -> u32 {
        self.tiling.width
    }

    /// Height in cells.
    pub fn height(&self) -> u32 {
        self.tiling.height
    }

    /// The number of layers.
    pub fn layers(&self) -> u32 {
        self.tiling.layers
    }

    /// The same grid with all edges of weight 1 that are not blocked.
    fn with_steps(&self, gpu: &G) -> Result<Self> {
        let steps = |weights: &G::Buffer<u32>| {
            let weights = weights.to_vec()?;
            let steps = weights.into_iter().map(|weight| match weight {
                BLOCKED => BLOCKED,
                _ => 1,
            });
            gpu.upload(&steps.collect::<Vec<_>>())
        };
        Ok(Self {
            tiling: self.tiling,
            right: steps(&self.right)?,
            down: steps(&self.down)?,
            via: steps(&self.via)?,
            has_free_edges: false,
        })
    }

    /// The windows of nets on it; refuses nets that are not.
    pub(super) fn windows(&self, nets: &[Net]) -> Result<Vec<Window>> {
        Net::check_all(nets, self.width(), self.height(), self.layers())
    }

    /// Lets launches that follow on `gpu` use it.
    pub(super) fn using<'a>(&'a self, gpu: &'a G) -> Result<[Lent<'a, G, u32>; 3]> {
        Ok([
            gpu.using(&self.right)?,
            gpu.using(&self.down)?,
            gpu.using(&self.via)?,
        ])
    }

    /// How it is laid out.
    pub(super) fn tiling(&self) -> Tiling {
        self.tiling
    }

    /// Whether some edge costs nothing.
    pub(super) fn has_free_edges(&self) -> bool {
        self.has_free_edges
    }

    /// The views that all kernels take: right, down, via.
    pub(super) fn weights(&self) -> [View<'_, u32>; 3] {
        [self.right.view(), self.down.view(), self.via.view()]
    }
}

fn too_large(grid: &RoutingGrid) -> Error {
    Error::GridTooLarge {
        width: grid.width().into(),
        height: grid.height().into(),
        layers: grid.layers(),
        limit: "the GPU numbers 2³² - 2²² cells in tiles at most; route on the CPU, or give each net a window",
    }
}

/// Routes nets, whose windows are given, on `grid`.
pub(super) fn route<G: Gpu>(
    gpu: &G,
    grid: &DeviceGrid<G>,
    nets: &[Net],
    windows: &[Window],
) -> Result<Vec<Route>> {
    let in_use = grid.using(gpu)?;
    let mut routes = Vec::with_capacity(nets.len());
    let mut start = 0;
    while start < nets.len() {
        let mut plan = Plan::new(grid.tiling);
        let mut end = start;
        while end < nets.len() && plan.add(&nets[end], windows[end], end == start)? {
            end += 1;
        }
        plan.arrange();
        routes.extend(route_plan(gpu, grid, &nets[start..end], &plan)?);
        start = end;
    }
    in_use.into_iter().try_for_each(Lent::finish)?;
    Ok(routes)
}

/// Routes the nets of a plan with the smallest labels that will do.
fn route_plan<G: Gpu>(
    gpu: &G,
    grid: &DeviceGrid<G>,
    nets: &[Net],
    plan: &Plan,
) -> Result<Vec<Route>> {
    if !grid.has_free_edges {
        let state = State::<G, u32>::run(gpu, grid, plan)?;
        let routes = state.routes(gpu, nets, plan)?;
        // planted: route-retry
        if state.is_complete(gpu, grid, plan, &routes)? {
            return Ok(routes);
        }
    }
    plan.check_wide()?;
    let state = State::<G, u64>::run(gpu, grid, plan)?;
    let routes = state.routes(gpu, nets, plan)?;
    if state.is_complete(gpu, grid, plan, &routes)? {
        return Ok(routes);
    }
    drop(state);
    // Some cell is too far. No pin is, if nothing leads to those that are not reached.
    let steps = grid.with_steps(gpu)?;
    let state = State::<G, u32>::run(gpu, &steps, plan)?;
    let reached = state.routes(gpu, nets, plan)?;
    let mut both = routes.iter().zip(&reached);
    // planted: route-too-far, route-too-far-elsewhere
    if both.all(|(route, reached)| route.unreached() == reached.unreached())
        && state.is_complete(gpu, &steps, plan, &reached)?
    {
        return Ok(routes);
    }
    Err(too_far())
}

fn too_far() -> Error {
    Error::CostTooLarge {
        algorithm: RouteAlgorithm::Tiles.name(),
        limit: u64::COSTS.end,
        instead: "route with `dijkstra` on the CPU",
    }
}

/// The paths of nets, `sum` cells in all, without the gaps between them. Waits for them.
pub(super) fn gather_paths<G: Gpu>(
    gpu: &G,
    spans: &[Span],
    sum: u32,
    paths: &G::Buffer<u32>,
) -> Result<Vec<u32>> {
    if sum == 0 {
        return Ok(Vec::new());
    }
    let spans = gpu.upload(spans)?;
    let mut gathered = gpu.alloc(sum as usize)?;
    // SAFETY: spans are one after the other, as long as the buffer together.
    unsafe {
        tiles::gather_paths::launch(
            &gpu.launcher(),
            sum.div_ceil(THREADS),
            spans.view(),
            paths.view(),
            gathered.view_mut(),
        )
    }?;
    gathered.to_vec()
}

/// The cost of the cheapest paths from the cells `sources` to each cell, by its number; `u64::MAX` where there is none.
pub(super) fn distances<G: Gpu>(
    gpu: &G,
    grid: &DeviceGrid<G>,
    source: &Net,
) -> Result<G::Buffer<u64>> {
    let tiling = grid.tiling;
    let window = Window {
        x: 0,
        y: 0,
        width: tiling.width,
        height: tiling.height,
    };
    let mut plan = Plan::new(tiling);
    plan.add(source, window, true)?;
    plan.arrange();
    let _in_use = grid.using(gpu)?;
    if !grid.has_free_edges {
        let state = State::<G, u32>::run(gpu, grid, &plan)?;
        if !state.left_out(gpu, grid, &plan)?.contains(&1) {
            return state.distances(gpu, tiling);
        }
    }
    plan.check_wide()?;
    let state = State::<G, u64>::run(gpu, grid, &plan)?;
    if state.left_out(gpu, grid, &plan)?.contains(&1) {
        return Err(too_far());
    }
    state.distances(gpu, tiling)
}

/// Nets to route in one launch, as the kernels take them.
struct Plan {
    tiling: Tiling,
    areas: Vec<Area>,
    slots: Vec<Slot>,
    /// By pin, and one more.
    pin_starts: Vec<u32>,
    /// Pin by pin, until they are [arranged](Self::arrange).
    pin_cells: Vec<PinCell>,
    cell_places: Vec<u32>,
    /// The cells that all paths have at most.
    path_cells: u32,
}

impl Plan {
    fn new(tiling: Tiling) -> Self {
        Self {
            tiling,
            areas: Vec::new(),
            slots: Vec::new(),
            pin_starts: vec![0],
            pin_cells: Vec::new(),
            cell_places: Vec::new(),
            path_cells: 0,
        }
    }

    /// Adds a net if there is room, which the `first` finds unless it is too large by itself.
    fn add(&mut self, net: &Net, window: Window, first: bool) -> Result<bool> {
        let tiling = self.tiling;
        let (tile_x, tile_y) = (window.x / tiling.columns(), window.y / tiling.rows());
        let (right, bottom) = (window.x + window.width, window.y + window.height);
        let (tiles_x, tiles_y) = (
            right.div_ceil(tiling.columns()) - tile_x,
            bottom.div_ceil(tiling.rows()) - tile_y,
        );
        let slots = u64::from(tiles_x) * u64::from(tiles_y);
        let first_slot = self.slots.len() as u64;
        let cells: u64 = net.pins.iter().map(|pin| pin.cells.len() as u64).sum();
        // A path has the cells that it adds to the tree, and the one where it joins it.
        let path_cells = slots * u64::from(TILE) + net.pins.len() as u64;
        let pin_cells = self.pin_cells.len() as u64 + cells;
        let all_path_cells = u64::from(self.path_cells) + path_cells;
        if !first && first_slot + slots > SLOTS_AT_ONCE
            || pin_cells > tiles::MAX_PIN_CELLS.into()
            || all_path_cells > u32::MAX.into()
        {
            if first {
                return Err(Error::TooMany {
                    what: "cells of one net's pins",
                    limit: tiles::MAX_PIN_CELLS.into(),
                });
            }
            return Ok(false);
        }
        let first_pin = self.pin_starts.len() as u32 - 1;
        let first_cell = self.pin_cells.len() as u32;
        let area = Area {
            first_slot: first_slot as u32,
            tile_x,
            tile_y,
            tiles_x,
            tiles_y,
            left: window.x,
            top: window.y,
            right,
            bottom,
            first_pin,
            end_pin: first_pin + net.pins.len() as u32,
            first_cell,
            end_cell: pin_cells as u32,
            first_path: self.path_cells,
        };
        for (pin, number) in net.pins.iter().zip(first_pin..) {
            for cell in &pin.cells {
                let tile = (cell.y / tiling.rows() - tile_y) * tiles_x
                    + (cell.x / tiling.columns() - tile_x);
                let place = tiling.place(cell.x, cell.y, cell.layer);
                self.pin_cells.push(PinCell {
                    label: (area.first_slot + tile) * TILE + place,
                    pin: number,
                    rank: self.pin_cells.len() as u32 - first_cell,
                });
            }
            self.pin_starts.push(self.pin_cells.len() as u32);
        }
        let number = self.areas.len() as u32;
        let slot = Slot {
            net: number,
            first_cell: 0,
        };
        self.slots.extend((0..slots).map(|_| slot));
        self.areas.push(area);
        self.path_cells = all_path_cells as u32;
        Ok(true)
    }

    /// Refuses windows with more cells than labels of 64 bits can count steps over free edges through.
    fn check_wide(&self) -> Result<()> {
        let cells = |area: &Area| {
            let cells = u64::from(area.right - area.left) * u64::from(area.bottom - area.top);
            cells * u64::from(self.tiling.layers)
        };
        if self
            .areas
            .iter()
            .all(|area| cells(area) <= tiles::MAX_WIDE_CELLS)
        {
            return Ok(());
        }
        Err(Error::GridTooLarge {
            width: self.tiling.width.into(),
            height: self.tiling.height.into(),
            layers: self.tiling.layers,
            limit: "where edges are free, or costs pass 2³¹, a net in tiles has a window of 2²⁸ cells at most; route on the CPU, \
                    or give it a window",
        })
    }

    /// Puts the pins' cells in the order of their slots, once all nets are there. A net's stay together, as its slots are.
    fn arrange(&mut self) {
        let mut order: Vec<u32> = (0..self.pin_cells.len() as u32).collect();
        order.sort_by_key(|&cell| self.pin_cells[cell as usize].label / TILE);
        self.cell_places = vec![0; order.len()];
        for (&cell, place) in order.iter().zip(0..) {
            self.cell_places[cell as usize] = place;
        }
        let cells = order.iter().map(|&cell| self.pin_cells[cell as usize]);
        self.pin_cells = cells.collect();
        // One slot more, for the end of the last.
        self.slots.push(Slot {
            net: 0,
            first_cell: 0,
        });
        let mut cell = 0;
        for (slot, number) in self.slots.iter_mut().zip(0u64..) {
            let before = |cell: &PinCell| u64::from(cell.label / TILE) < number;
            while self.pin_cells.get(cell).is_some_and(before) {
                cell += 1;
            }
            slot.first_cell = cell as u32;
        }
    }

    /// The cell of a label.
    fn cell(&self, area: &Area, label: u32) -> Cell {
        let tile = label / TILE - area.first_slot;
        let (column, row, layer) = self.tiling.at_place(label % TILE);
        Cell {
            x: (area.tile_x + tile % area.tiles_x) * self.tiling.columns() + column,
            y: (area.tile_y + tile / area.tiles_x) * self.tiling.rows() + row,
            layer,
        }
    }

    fn slots(&self) -> u32 {
        self.slots.len() as u32 - 1
    }

    fn nets(&self) -> u32 {
        self.areas.len() as u32
    }
}

/// What the kernels have found.
struct State<G: Gpu, L: Pod> {
    areas: G::Buffer<Area>,
    slots: G::Buffer<Slot>,
    labels: G::Buffer<L>,
    net_words: G::Buffer<u32>,
    joined: G::Buffer<JoinedPin>,
    paths: G::Buffer<u32>,
}

impl<G: Gpu, L: Labelled> State<G, L> {
    /// Routes the nets.
    fn run(gpu: &G, grid: &DeviceGrid<G>, plan: &Plan) -> Result<Self> {
        let tiling = grid.tiling;
        let slots = plan.slots();
        let blocks = tiles::blocks(slots, gpu.multiprocessors());
        let pins = plan.pin_starts.len() - 1;
        let pin_cells = gpu.upload(&plan.pin_cells)?;
        let pin_starts = gpu.upload(&plan.pin_starts)?;
        let cell_places = gpu.upload(&plan.cell_places)?;
        let mut rims = gpu.alloc::<L>(slots as usize * tiling.rim() as usize)?;
        let mut pin_labels = gpu.alloc::<L>(plan.pin_cells.len())?;
        let mut pending = gpu.alloc(slots as usize + blocks as usize)?;
        let mut locks = gpu.alloc(slots as usize)?;
        let mut counters = gpu.alloc(tiles::COUNTERS as usize)?;
        let mut is_joined = gpu.alloc(pins)?;
        let mut state = Self {
            areas: gpu.upload(&plan.areas)?,
            slots: gpu.upload(&plan.slots)?,
            labels: gpu.alloc(slots as usize * TILE as usize)?,
            net_words: gpu.alloc(plan.nets() as usize * NET_WORDS as usize)?,
            joined: gpu.alloc_zeroed(pins)?,
            paths: gpu.alloc(plan.path_cells as usize)?,
        };
        let quarters = state.labels.view_mut_as::<u32>().len() / 4;
        let threads = [
            pin_labels.view_mut_as::<u32>().len(),
            pending.len(),
            counters.len(),
            state.net_words.len(),
            pins,
        ]
        .into_iter()
        .fold(quarters, usize::max);
        // SAFETY: the lengths that the kernel asks for, and a thread for each element.
        unsafe {
            tiles::route_start::launch(
                &gpu.launcher(),
                threads.div_ceil(THREADS as usize) as u32,
                state.labels.view_mut_as(),
                rims.view_mut_as(),
                pin_labels.view_mut_as(),
                pending.view_mut(),
                locks.view_mut(),
                counters.view_mut(),
                state.net_words.view_mut(),
                is_joined.view_mut(),
                L::UNREACHED_WORDS,
            )?;
        }
        // SAFETY: as for the start, which has run; the plan's pins are in their nets' windows.
        unsafe {
            L::launch_route(
                gpu,
                blocks,
                grid,
                (state.areas.view(), state.slots.view()),
                (pin_cells.view(), pin_starts.view(), cell_places.view()),
                [
                    state.labels.view_mut(),
                    rims.view_mut(),
                    pin_labels.view_mut(),
                ],
                [
                    pending.view_mut(),
                    locks.view_mut(),
                    counters.view_mut(),
                    state.net_words.view_mut(),
                    is_joined.view_mut(),
                ],
                (state.joined.view_mut(), state.paths.view_mut()),
            )?;
        }
        Ok(state)
    }

    /// The trees. Waits for them.
    fn routes(&self, gpu: &G, nets: &[Net], plan: &Plan) -> Result<Vec<Route>> {
        let words = self.net_words.to_vec()?;
        let words: Vec<&[u32]> = words.chunks_exact(NET_WORDS as usize).collect();
        let mut sum = 0u32;
        let spans: Vec<Span> = words
            .iter()
            .zip(&plan.areas)
            .map(|(words, area)| {
                let to = sum;
                // At most `plan.path_cells`.
                sum += words[NET_PATH_LEN as usize];
                Span {
                    from: area.first_path,
                    to,
                }
            })
            .collect();
        let cells = gather_paths(gpu, &spans, sum, &self.paths)?;
        let joined = self.joined.to_vec()?;
        let routes = nets.iter().zip(&plan.areas).zip(&words).zip(&spans);
        let routes = routes.map(|(((net, area), words), span)| {
            let joined = joined[area.first_pin as usize..].iter();
            let joined = joined.take(words[NET_JOINED as usize] as usize);
            let labels = cells[span.to as usize..][..words[NET_PATH_LEN as usize] as usize].iter();
            Route::new(
                net,
                joined
                    .clone()
                    .map(|pin| (pin.pin - area.first_pin) as usize)
                    .collect(),
                joined.clone().map(|pin| pin.cost).collect(),
                joined.map(|pin| pin.end as usize).collect(),
                labels.map(|&label| plan.cell(area, label)).collect(),
            )
        });
        Ok(routes.collect())
    }

    /// Whether no pin is left out for its cost alone.
    fn is_complete(
        &self,
        gpu: &G,
        grid: &DeviceGrid<G>,
        plan: &Plan,
        routes: &[Route],
    ) -> Result<bool> {
        if routes.iter().all(|route| route.unreached().is_empty()) {
            return Ok(true);
        }
        let left_out = self.left_out(gpu, grid, plan)?;
        let mut nets = routes.iter().zip(left_out);
        Ok(nets.all(|(route, left_out)| route.unreached().is_empty() || left_out == 0))
    }

    /// By net: whether a cell's cost is too large for a label. Waits for it.
    fn left_out(&self, gpu: &G, grid: &DeviceGrid<G>, plan: &Plan) -> Result<Vec<u32>> {
        let mut found = gpu.alloc_zeroed(plan.nets() as usize)?;
        let blocks = (plan.slots() * (TILE / THREADS)).max(1);
        // SAFETY: an element for each net and a thread for each label, after the kernels that route.
        unsafe {
            L::launch_too_far(
                gpu,
                blocks,
                grid,
                (self.areas.view(), self.slots.view()),
                self.labels.view(),
                found.view_mut(),
            )
        }?;
        found.to_vec()
    }

    /// Each cell's distance from the first net's tree.
    fn distances(&self, gpu: &G, tiling: Tiling) -> Result<G::Buffer<u64>> {
        let cells = tiling.width * tiling.height * tiling.layers;
        let mut distances = gpu.alloc(cells as usize)?;
        // SAFETY: the net's window is the grid, and there is an element and a thread for each of its cells.
        unsafe {
            L::launch_gather(
                gpu,
                cells.div_ceil(THREADS),
                self.areas.view(),
                self.labels.view(),
                distances.view_mut(),
                tiling,
            )
        }?;
        Ok(distances)
    }
}

/// A type of labels, with its kernels.
trait Labelled: Label {
    /// [`Label::UNREACHED`] as words, the lower first; twice if it is one.
    const UNREACHED_WORDS: [u32; 2];

    /// Launches the kernel that routes.
    ///
    /// # Safety
    /// What the kernel asks for.
    #[expect(clippy::too_many_arguments, reason = "the kernel's")]
    unsafe fn launch_route<G: Gpu>(
        gpu: &G,
        blocks: u32,
        grid: &DeviceGrid<G>,
        nets: (View<'_, Area>, View<'_, Slot>),
        pins: (View<'_, PinCell>, View<'_, u32>, View<'_, u32>),
        labels: [ViewMut<'_, Self>; 3],
        state: [ViewMut<'_, u32>; 5],
        results: (ViewMut<'_, JoinedPin>, ViewMut<'_, u32>),
    ) -> Result<()>;

    /// Launches the kernel that looks for costs that are too large.
    ///
    /// # Safety
    /// What the kernel asks for.
    unsafe fn launch_too_far<G: Gpu>(
        gpu: &G,
        blocks: u32,
        grid: &DeviceGrid<G>,
        nets: (View<'_, Area>, View<'_, Slot>),
        labels: View<'_, Self>,
        found: ViewMut<'_, u32>,
    ) -> Result<()>;

    /// Launches the kernel that copies costs.
    ///
    /// # Safety
    /// What the kernel asks for.
    unsafe fn launch_gather<G: Gpu>(
        gpu: &G,
        blocks: u32,
        areas: View<'_, Area>,
        labels: View<'_, Self>,
        distances: ViewMut<'_, u64>,
        tiling: Tiling,
    ) -> Result<()>;
}

macro_rules! labelled {
    ($($label:ty: $words:expr, $tiles:ident, $layers:ident, $too_far:ident, $gather:ident;)*) => {$(
        impl Labelled for $label {
            const UNREACHED_WORDS: [u32; 2] = $words;

            unsafe fn launch_route<G: Gpu>(
                gpu: &G,
                blocks: u32,
                grid: &DeviceGrid<G>,
                (areas, slots): (View<'_, Area>, View<'_, Slot>),
                (pin_cells, pin_starts, cell_places): (View<'_, PinCell>, View<'_, u32>, View<'_, u32>),
                [labels, rims, pin_labels]: [ViewMut<'_, Self>; 3],
                [pending, locks, counters, net_words, is_joined]: [ViewMut<'_, u32>; 5],
                (joined, paths): (ViewMut<'_, JoinedPin>, ViewMut<'_, u32>),
            ) -> Result<()> {
                let [right, down, via] = grid.weights();
                macro_rules! launch {
                    ($kernel:ident) => {
                        // SAFETY: the caller's promise.
                        unsafe {
                            tiles::$kernel::launch(
                                &gpu.launcher(), blocks, right, down, via, areas, slots, pin_cells, pin_starts,
                                cell_places, labels, rims, pending, locks, counters, net_words, pin_labels, is_joined,
                                joined, paths, grid.tiling,
                            )
                        }
                    };
                }
                if grid.layers() > 1 { launch!($layers) } else { launch!($tiles) }
            }

            unsafe fn launch_too_far<G: Gpu>(
                gpu: &G,
                blocks: u32,
                grid: &DeviceGrid<G>,
                (areas, slots): (View<'_, Area>, View<'_, Slot>),
                labels: View<'_, Self>,
                found: ViewMut<'_, u32>,
            ) -> Result<()> {
                let [right, down, via] = grid.weights();
                // SAFETY: the caller's promise.
                unsafe {
                    tiles::$too_far::launch(
                        &gpu.launcher(), blocks, right, down, via, areas, slots, labels, found, grid.tiling,
                    )
                }
            }

            unsafe fn launch_gather<G: Gpu>(
                gpu: &G,
                blocks: u32,
                areas: View<'_, Area>,
                labels: View<'_, Self>,
                distances: ViewMut<'_, u64>,
                tiling: Tiling,
            ) -> Result<()> {
                // SAFETY: the caller's promise.
                unsafe { tiles::$gather::launch(&gpu.launcher(), blocks, areas, labels, distances, tiling) }
            }
        }
    )*};
}
labelled! {
    u32: [u32::UNREACHED; 2], route_tiles, route_layers, find_too_far, gather_distances;
    u64: [u64::UNREACHED as u32, (u64::UNREACHED >> 32) as u32], route_tiles_wide, route_layers_wide, find_too_far_wide,
        gather_distances_wide;
}
