//! The search for a cheapest path from a tree to a pin, by one block.
//!
//! The block relaxes the cells of an area from all cells of the tree, but none through which a path
//! costs more than the best one so far, judged by an **estimate** of what is missing to the pin:
//! A\* (Hart, Nilsson and Raphael, 1968) in rounds instead of cell by cell. Once no cell is left,
//! every cell that is on a cheapest path has its exact label, and the path goes back from the pin
//! by labels alone.
//!
//! In each round, the block relaxes the cells on one list and puts those whose labels fall on the
//! next. A cell whose label and estimate exceed a bound waits on a list apart. The bound is the
//! least estimate at first, and rises when no other cell is left, by twice as much each time. So
//! cells near the best paths come first, and there are few rounds even where edges cost very
//! different amounts.
//!
//! A cell's [`Word`] has its label and where it is listed. Labels fall by atomic minima, so that
//! one access both lowers a label and tells whether the cell is listed already.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::{
    Area, BLOCK, CompetingNet, CompetingNets, CompetingPin, EdgeCosts, KINDS, LAYERS, NEEDS, NONE,
    SearchScratch, step_order,
};
use crate::primitives::quotient;

/// The lanes of a warp that take a cell.
const LANES: u32 = 4;

/// What is known about a cell: its label times 4, plus where it is listed. Of equal labels, the one
/// of a listed cell is the greater, so that it stays.
#[derive(Clone, Copy)]
struct Word(u64);

impl Word {
    /// No path is known yet.
    const UNREACHED: u64 = u64::MAX;
    /// On a list of the next rounds.
    const LISTED: u64 = 3;
    /// On the list of cells beyond the bound.
    const WAITS: u64 = 1;
    /// The bits of the state; 0 if the cell is on no list.
    const STATE: u64 = 3;

    #[inline(always)]
    const fn label(self) -> u64 {
        self.0 >> 2
    }
}

/// Words of a block: counts by round modulo 3, and by phase modulo 2.
pub(super) mod count {
    /// The cells on the list of a round.
    pub(in super::super) const LISTED: u32 = 0;
    /// The cells that wait beyond the bound.
    pub(in super::super) const WAITING: u32 = 3;
    /// The cells of the path.
    pub(in super::super) const PATH: u32 = 5;
    /// The pin that is next.
    pub(in super::super) const PIN: u32 = 6;
    /// The place of the tree's new cells among those of all trees.
    pub(in super::super) const PLACE: u32 = 7;
    pub(in super::super) const ALL: u32 = 8;
}

/// Costs of a block.
pub(super) mod cost {
    /// Of the best path so far.
    pub(in super::super) const BEST: u32 = 0;
    /// By phase modulo 2: the least of the cells that wait, estimate included.
    pub(in super::super) const LEAST: u32 = 1;
    pub(in super::super) const ALL: u32 = 3;
}

/// A cell of the area: its index there, its column, row and layer in the grid.
#[derive(Clone, Copy)]
struct Place {
    local: u32,
    x: u32,
    y: u32,
    layer: u32,
}

/// Where cells are put whose labels fall.
#[derive(Clone, Copy)]
struct Lists {
    /// The list of the round, the one that is filled, and the one of cells beyond the bound.
    current: u32,
    next: u32,
    waiting: u32,
    /// Which of the counts in shared memory is that of the list that is filled.
    counter: u32,
    phase: u32,
    /// Cells up to here are relaxed, estimate included.
    bound: u64,
}

/// The shared memory of a block.
#[derive(Clone, Copy)]
pub(super) struct Shared {
    pub(super) counts: SharedView<u32>,
    pub(super) costs: SharedView<u64>,
    /// By layer and needs: what the vias from there to the pin cost at least.
    pub(super) vias: SharedView<u64>,
}

#[derive(Clone, Copy)]
pub(super) struct Searching<'a> {
    pub(super) edges: EdgeCosts<'a>,
    pub(super) nets: CompetingNets<'a>,
    pub(super) scratch: SearchScratch<'a>,
    pub(super) net: CompetingNet,
    pub(super) pin: CompetingPin,
    pub(super) area: Area,
    pub(super) near: [u32; 3],
    pub(super) shared: Shared,
}

/// How far a column or row is from those of a pin.
#[inline(always)]
const fn apart(at: u32, low: u32, high: u32) -> u32 {
    low.saturating_sub(at) + at.saturating_sub(high)
}

/// What the vias of a path from a layer to a pin cost at least.
#[inline(always)]
fn via_cost(edges: EdgeCosts<'_>, pin: CompetingPin, layer: u32, needs: u32) -> u64 {
    let mut least = u64::MAX;
    let mut to = pin.low[2];
    while to <= pin.high[2] {
        least = least.min(edges.vias.ldg((layer * LAYERS + to) * NEEDS + needs));
        to += 1;
    }
    least
}

/// What a path from a cell to a pin costs at least.
#[inline(always)]
pub(super) fn estimate(edges: EdgeCosts<'_>, pin: CompetingPin, cell: [u32; 3]) -> u64 {
    let x = apart(cell[0], pin.low[0], pin.high[0]);
    let y = apart(cell[1], pin.low[1], pin.high[1]);
    let needs = u32::from(x > 0) + 2 * u32::from(y > 0);
    u64::from(x) * edges.step_x + u64::from(y) * edges.step_y + via_cost(edges, pin, cell[2], needs)
}

impl Searching<'_> {
    /// The cells of a layer of the area.
    #[inline(always)]
    fn plane(&self) -> u32 {
        self.area.width * self.area.height
    }

    #[inline(always)]
    fn cells(&self) -> u32 {
        self.plane() * self.edges.size.layers
    }

    #[inline(always)]
    fn place(&self, local: u32) -> Place {
        let area = self.area;
        let line = quotient(local, area.width);
        let layer = quotient(line, area.height);
        Place {
            local,
            x: area.left + (local - line * area.width),
            y: area.top + (line - layer * area.height),
            layer,
        }
    }

    /// A cell of the grid, if it is in the area.
    #[inline(always)]
    fn inside(&self, cell: u32) -> Option<Place> {
        let (x, y, layer) = self.edges.size.place(cell);
        let area = self.area;
        let (column, row) = (x.wrapping_sub(area.left), y.wrapping_sub(area.top));
        if column >= area.width || row >= area.height {
            return None;
        }
        let local = (layer * area.height + row) * area.width + column;
        Some(Place { local, x, y, layer })
    }

    /// The index of a cell in the grid.
    #[inline(always)]
    fn index(&self, at: Place) -> u32 {
        let size = self.edges.size;
        (at.layer * size.height + at.y) * size.width + at.x
    }

    /// What a path from a cell to the pin costs at least: [`estimate`], faster.
    #[inline(always)]
    fn estimate(&self, at: Place) -> u64 {
        let pin = self.pin;
        let x = apart(at.x, pin.low[0], pin.high[0]);
        let y = apart(at.y, pin.low[1], pin.high[1]);
        let needs = u32::from(x > 0) + 2 * u32::from(y > 0);
        u64::from(x) * self.edges.step_x
            + u64::from(y) * self.edges.step_y
            + self.shared.vias.ld(at.layer * NEEDS + needs)
    }

    #[inline(always)]
    fn word(&self, local: u32) -> Word {
        let words = self.scratch.words;
        Word(words.ld_relaxed(self.net.first_cell + local, Block))
    }

    /// The index of an element of a list.
    #[inline(always)]
    fn element(&self, list: u32, i: u32) -> usize {
        let first = super::LISTS as usize * self.net.first_cell as usize;
        first + list as usize * self.cells() as usize + i as usize
    }

    #[inline(always)]
    fn is_pin(&self, at: Place) -> bool {
        let pin = self.pin;
        if apart(at.x, pin.low[0], pin.high[0]) + apart(at.y, pin.low[1], pin.high[1]) > 0 {
            return false;
        }
        let cell = self.index(at);
        let mut i = pin.first_cell;
        while i < pin.end_cell {
            if self.nets.pin_cells.ld(i) == cell {
                return true;
            }
            i += 1;
        }
        false
    }

    /// The steps that stay in the area, as bits, without those along which the layer has no edges.
    #[inline(always)]
    fn steps(&self, from: Place) -> u32 {
        let area = self.area;
        let (x, y) = (from.x - area.left, from.y - area.top);
        let serves = self.edges.serves >> (2 * from.layer);
        let along =
            if serves & 1 != 0 { 0b101 } else { 0 } | if serves & 2 != 0 { 0b1010 } else { 0 };
        let inside = u32::from(x + 1 < area.width)
            | u32::from(y + 1 < area.height) << 1
            | u32::from(x > 0) << 2
            | u32::from(y > 0) << 3
            | u32::from(from.layer + 1 < self.edges.size.layers) << 4
            | u32::from(from.layer > 0) << 5;
        inside & (along | 0b11_0000)
    }

    /// The cell at the other end of a step that stays in the area.
    #[inline(always)]
    fn neighbour(&self, from: Place, step: u32) -> Place {
        let is_back = matches!(step, 2 | 3 | 5);
        let (is_via, is_y) = (step >= 4, step % 2 == 1);
        let one = if is_back { u32::MAX } else { 1 };
        let stride = if is_via {
            self.plane()
        } else if is_y {
            self.area.width
        } else {
            1
        };
        Place {
            local: from.local.wrapping_add(stride.wrapping_mul(one)),
            x: from.x.wrapping_add(if is_via || is_y { 0 } else { one }),
            y: from.y.wrapping_add(if is_via || !is_y { 0 } else { one }),
            layer: from.layer.wrapping_add(if is_via { one } else { 0 }),
        }
    }

    /// What the step from one cell to another costs, [`NONE`] if it is not to be taken.
    #[inline(always)]
    fn cost(&self, from: Place, to: Place, step: u32, is_marked: bool) -> u32 {
        let low = self.index(if from.local < to.local { from } else { to });
        let kind = if step >= 4 { 2 } else { step % 2 };
        if is_marked && let Some(cost) = self.special_cost(low, kind) {
            return cost;
        }
        let edge = low as usize * KINDS as usize + kind as usize;
        self.edges.costs.ldg(edge)
    }

    /// The cost of an edge if it is another one for this net.
    #[inline(always)]
    fn special_cost(&self, cell: u32, kind: u32) -> Option<u32> {
        let (mut low, mut high) = (self.net.first_special, self.net.end_special);
        while low < high {
            let middle = low + (high - low) / 2;
            let special = self.nets.special.ld(middle);
            if special.cell == cell && special.kind == kind {
                return Some(special.cost);
            }
            if special.cell < cell || special.cell == cell && special.kind < kind {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        None
    }

    #[inline(always)]
    fn is_marked(&self, local: u32) -> bool {
        let at = self.net.first_cell + local;
        self.net.first_special < self.net.end_special
            && self.scratch.marks.ld_relaxed(at / 32, Block) >> (at % 32) & 1 != 0
    }

    /// Offers a label to a cell.
    #[inline(always)]
    fn offer(&self, to: Place, label: u64, lists: Lists) {
        let whole = label + self.estimate(to);
        // planted: grow-best
        if whole > self.shared.costs.ld_relaxed(cost::BEST, Block) {
            return;
        }
        let state = if whole <= lists.bound {
            Word::LISTED
        } else {
            Word::WAITS
        };
        let at = self.net.first_cell + to.local;
        let before = self.scratch.words.atomic_min(at, label << 2 | state);
        if Word(before).label() <= label {
            return;
        }
        if self.is_pin(to) {
            self.shared.costs.atomic_min(cost::BEST, label);
        }
        let was = match before {
            Word::UNREACHED => 0,
            _ => before & Word::STATE,
        };
        if state == Word::LISTED {
            // planted: grow-listed
            if was != Word::LISTED {
                let place = self.shared.counts.atomic_add(lists.counter, 1);
                let element = self.element(lists.next, place);
                self.scratch.lists.st(element, to.local);
            }
        } else {
            if was == 0 {
                self.wait(to.local, lists);
            }
            self.shared
                .costs
                .atomic_min(cost::LEAST + lists.phase % 2, whole);
        }
    }

    /// Puts a cell on the list of those beyond the bound.
    #[inline(always)]
    fn wait(&self, local: u32, lists: Lists) {
        let place = self
            .shared
            .counts
            .atomic_add(count::WAITING + lists.phase % 2, 1);
        let element = self.element(lists.waiting, place);
        self.scratch.lists.st(element, local);
    }

    /// Makes the block's memory ready, and offers the label 0 to the tree's cells.
    #[inline(always)]
    fn start(&self, tree: (ViewMut<'_, u32>, u32, u32)) -> Lists {
        let (t, net) = (thread::thread_idx_x(), self.net);
        let (counts, costs) = (self.shared.counts, self.shared.costs);
        let mut i = t;
        while i < self.cells() {
            self.scratch.words.st(net.first_cell + i, Word::UNREACHED);
            i += BLOCK;
        }
        if net.first_special < net.end_special {
            let mut i = t;
            while i < self.cells().div_ceil(32) {
                self.scratch.marks.st(net.first_cell / 32 + i, 0);
                i += BLOCK;
            }
        }
        if t < count::PIN {
            counts.st(t, 0);
        }
        if t < cost::ALL {
            costs.st(t, u64::MAX);
        }
        if t < self.edges.size.layers * NEEDS {
            let cost = via_cost(self.edges, self.pin, t / NEEDS, t % NEEDS);
            self.shared.vias.st(t, cost);
        }
        // planted: grow-ready
        thread::sync_threads();
        let mark = |local: u32| {
            let at = net.first_cell + local;
            self.scratch.marks.atomic_or(at / 32, 1 << (at % 32));
        };
        let mut i = net.first_special + t;
        while i < net.end_special {
            let special = self.nets.special.ld(i);
            if let Some(from) = self.inside(special.cell) {
                let step = if special.kind == 2 { 4 } else { special.kind };
                if self.steps(from) >> step & 1 != 0 {
                    mark(from.local);
                    // planted: grow-special
                    mark(self.neighbour(from, step).local);
                }
            }
            i += BLOCK;
        }
        let (cells, first, end) = tree;
        let mut i = first + t;
        while i < end {
            if let Some(source) = self.inside(cells.ld(i)) {
                costs.atomic_min(cost::LEAST + 1, self.estimate(source));
            }
            i += BLOCK;
        }
        thread::sync_threads();
        let lists = Lists {
            current: 1,
            next: 0,
            waiting: 2,
            counter: count::LISTED,
            phase: 0,
            bound: costs.ld(cost::LEAST + 1),
        };
        let mut i = first + t;
        while i < end {
            if let Some(source) = self.inside(cells.ld(i)) {
                self.offer(source, 0, lists);
            }
            i += BLOCK;
        }
        thread::sync_threads();
        lists
    }

    /// Relaxes until all labels on cheapest paths from the tree's cells are exact. Returns what the
    /// paths cost, or `u64::MAX` if there are none.
    #[inline(always)]
    pub(super) fn run(&self, tree: (ViewMut<'_, u32>, u32, u32)) -> u64 {
        let t = thread::thread_idx_x();
        let mut lists = self.start(tree);
        let (mut round, mut ahead) = (0, 0);
        loop {
            let listed = self.shared.counts.ld(count::LISTED + round % 3);
            if listed == 0 {
                let waiting = self.shared.counts.ld(count::WAITING + lists.phase % 2);
                let least = self.shared.costs.ld(cost::LEAST + lists.phase % 2);
                let best = self.shared.costs.ld(cost::BEST);
                // planted: grow-end
                if waiting == 0 || least > best {
                    return best;
                }
                ahead = self.next_ahead(ahead);
                lists.bound = least.saturating_add(ahead);
                lists.phase += 1;
                thread::sync_threads();
                if t == 0 {
                    self.shared.counts.st(count::WAITING + lists.phase % 2, 0);
                    self.shared
                        .costs
                        .st(cost::LEAST + lists.phase % 2, u64::MAX);
                }
                thread::sync_threads();
                lists = self.raise_bound(waiting, lists);
                thread::sync_threads();
                continue;
            }
            (lists.current, lists.next) = (lists.next, lists.current);
            lists.counter = count::LISTED + (round + 1) % 3;
            if t == 0 {
                self.shared.counts.st(count::LISTED + (round + 2) % 3, 0);
            }
            self.relax_listed(listed, lists);
            // planted: grow-round
            thread::sync_threads();
            round += 1;
        }
    }

    /// By how much the bound exceeds the least cell that waits: first by two steps, then by twice
    /// as much as before.
    #[inline(always)]
    fn next_ahead(&self, ahead: u64) -> u64 {
        let step = self.edges.step_x.max(self.edges.step_y);
        ahead.max(step).saturating_mul(2)
    }

    /// Lists the cells that waited and are not beyond the new bound. The others wait on.
    #[inline(always)]
    fn raise_bound(&self, waiting: u32, mut lists: Lists) -> Lists {
        let from = lists.waiting;
        lists.waiting = lists.current;
        let mut i = thread::thread_idx_x();
        while i < waiting {
            let local = self.scratch.lists.ld(self.element(from, i));
            let word = self.word(local);
            // A cell that was listed since is here still.
            if word.0 & Word::STATE == Word::WAITS {
                let whole = word.label() + self.estimate(self.place(local));
                if whole <= lists.bound {
                    let at = self.net.first_cell + local;
                    self.scratch.words.atomic_or(at, Word::LISTED);
                    let place = self.shared.counts.atomic_add(lists.counter, 1);
                    let element = self.element(lists.next, place);
                    self.scratch.lists.st(element, local);
                } else {
                    self.wait(local, lists);
                    self.shared
                        .costs
                        .atomic_min(cost::LEAST + lists.phase % 2, whole);
                }
            }
            i += BLOCK;
        }
        lists.current = from;
        lists
    }

    /// Offers labels to the neighbours of listed cells. Four lanes take a cell, each one of its
    /// steps; few cells have more than four.
    #[inline(always)]
    fn relax_listed(&self, listed: u32, lists: Lists) {
        let t = thread::thread_idx_x();
        let (lane, place) = (t % WARP_SIZE, t % LANES);
        let group = lane / LANES * LANES;
        // All lanes of a warp go around equally often.
        let mut first = t / WARP_SIZE * (WARP_SIZE / LANES);
        while first < listed {
            let i = first + lane / LANES;
            let is_listed = i < listed;
            let mut local = 0;
            let mut word = Word(0);
            if is_listed {
                local = self.scratch.lists.ld(self.element(lists.current, i));
                if place == 0 {
                    let at = self.net.first_cell + local;
                    word.0 = self.scratch.words.atomic_and(at, !Word::STATE);
                }
            }
            let from = self.place(local);
            let is_marked = is_listed && self.is_marked(local);
            let mut steps = 0;
            if is_listed {
                steps = self.steps(from);
            }
            let mut passed = 0;
            while passed < place {
                steps &= steps.wrapping_sub(1);
                passed += 1;
            }
            let mut next = self.look(from, steps, is_marked);
            word.0 = warp::warp_shuffle_idx(FULL_MASK, word.0, group, WARP_SIZE).0;
            loop {
                let (to, cost, before) = next;
                let label = word.label() + u64::from(cost);
                if cost != NONE && label < before.label() {
                    self.offer(to, label, lists);
                }
                // The step after four others.
                steps &= steps.wrapping_sub(1);
                steps &= steps.wrapping_sub(1);
                steps &= steps.wrapping_sub(1);
                steps &= steps.wrapping_sub(1);
                if steps == 0 {
                    break;
                }
                next = self.look(from, steps, is_marked);
            }
            first += BLOCK / LANES;
        }
    }

    /// Where the first of `steps` leads, what it costs, and what is known about that cell.
    #[inline(always)]
    fn look(&self, from: Place, steps: u32, is_marked: bool) -> (Place, u32, Word) {
        if steps == 0 {
            return (from, NONE, Word(0));
        }
        let step = steps.trailing_zeros();
        let to = self.neighbour(from, step);
        (
            to,
            self.cost(from, to, step, is_marked),
            self.word(to.local),
        )
    }

    /// Goes back from the pin by labels, and writes the path's cells to `path` from `first` on.
    /// Returns their number.
    #[inline(always)]
    pub(super) fn retrace(&self, best: u64, path: ViewMut<'_, u32>, first: u32) -> u32 {
        if thread::thread_idx_x() < WARP_SIZE {
            let cells = self.walk(best, path, first);
            if thread::thread_idx_x() == 0 {
                self.shared.counts.st(count::PATH, cells);
            }
        }
        thread::sync_threads();
        self.shared.counts.ld(count::PATH)
    }

    /// See [`retrace`](Self::retrace); by one warp.
    #[inline(always)]
    fn walk(&self, best: u64, path: ViewMut<'_, u32>, first: u32) -> u32 {
        let lane = thread::thread_idx_x() % WARP_SIZE;
        let mut i = self.pin.first_cell;
        let mut at = None;
        while i < self.pin.end_cell {
            let cell = self.inside(self.nets.pin_cells.ld(i));
            if at.is_none()
                && let Some(cell) = cell
                && self.word(cell.local).label() == best
            {
                at = Some(cell);
            }
            i += 1;
        }
        let Some(mut at) = at else {
            return 0;
        };
        let (mut label, mut came, mut cells) = (best, 0, 0);
        loop {
            if lane == 0 {
                path.st(first + cells, self.index(at));
            }
            cells += 1;
            if label == 0 {
                return cells;
            }
            let is_marked = self.is_marked(at.local);
            let mut leads = false;
            let mut before = 0;
            if self.steps(at) >> lane & 1 != 0 {
                let to = self.neighbour(at, lane);
                let cost = u64::from(self.cost(at, to, lane, is_marked));
                before = label.wrapping_sub(cost);
                leads = cost <= label
                    && cost != u64::from(NONE)
                    && self.word(to.local).label() == before;
            }
            let ways = warp::warp_vote_ballot(FULL_MASK, leads);
            if ways == 0 {
                return 0;
            }
            let mut order = step_order([at.x, at.y, at.layer], self.near, came);
            // planted: grow-tie
            while ways >> (order & 7) & 1 == 0 {
                order >>= 4;
            }
            came = order & 7;
            label = warp::warp_shuffle_idx(FULL_MASK, before, came, WARP_SIZE).0;
            at = self.neighbour(at, came);
        }
    }
}
