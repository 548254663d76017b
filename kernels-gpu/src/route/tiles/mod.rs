//! Routing in tiles: distances, and whole trees, in one launch.
//!
//! A grid is cut into tiles of 4096 cells ([`Tiling`]). A block relaxes a tile in registers and shared memory until none of its
//! labels changes, publishes the labels along its sides, and marks the tiles beside it to which these give something. Labels only
//! ever fall, so that they end at the exact distances, in whatever order tiles are relaxed. When none of a net's tiles is left,
//! its labels are final: the block that finds that out joins the nearest pin, sets the labels on its path to 0, marks the tiles
//! there, and so on until all pins are joined. Labels are never reset, and nothing comes back to the host in between.
//!
//! | kernel | does | launch |
//! |---|---|---|
//! | [`lay_out_weights`](fn@lay_out_weights) | weights from rows to tiles | a thread for each 4 cells of the tiles |
//! | [`route_start`](fn@route_start) | everything as if nothing were reached | a thread for each 4 labels, at least |
//! | [`route_tiles`](fn@route_tiles), [`route_tiles_wide`](fn@route_tiles_wide), [`route_layers`](fn@route_layers), [`route_layers_wide`](fn@route_layers_wide) | all nets | [`blocks`] blocks of 256 threads |
//! | [`gather_paths`](fn@gather_paths) | the paths of all nets without gaps | a thread for each cell |
//! | [`find_too_far`](fn@find_too_far), [`find_too_far_wide`](fn@find_too_far_wide) | whether a cell was left out because its cost is too large for a label | a thread for each label |
//! | [`gather_distances`](fn@gather_distances), [`gather_distances_wide`](fn@gather_distances_wide) | labels from tiles to costs in rows | a thread for each cell |
//!
//! # The blocks
//!
//! Blocks stay. Each slot (a net's tile) has a word that says what comes into it; a block looks for work in the words of the slots
//! that are its own, the nearest labels first, and, while there is none, in those of others. No block waits for one that has not
//! started: any number of blocks, one included, does all the work.
//!
//! Only labels up to the net's **bound** are wanted, those of the nearest pin that is not joined: slots into which larger ones come,
//! and patches all of whose labels are larger, wait until the bound has grown. So a new path is followed as far as the next pin,
//! not through the whole grid.
//!
//! | a thread of 256 has | |
//! |---|---|
//! | in registers | 4 × 4 labels of one layer and the weights of all their edges |
//! | from the lanes beside it | the labels left and right |
//! | through shared memory | those above and below, and in the layers above and below |
//!
//! A round relaxes the 24 inner edges of each patch forwards and backwards, then trades the outer labels: a label travels at least
//! four cells a round, and a barrier is all that a round waits for.
//!
//! # Bytes
//! For each time that a tile is relaxed: 12 bytes a cell read (weights and labels; 16 with layers) and 4 written, nearly all of it
//! in the L2 cache; 8 bytes more with labels of 64 bits.

mod label;
pub(super) mod layout;
mod lead;
pub(super) mod patch;
mod queue;

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

pub use label::{Label, MAX_WIDE_CELLS};
pub use layout::{Area, BLOCK, JoinedPin, PinCell, Slot, Span, TILE, Tiling};
pub use lead::MAX_PIN_CELLS;
pub use queue::{COUNTERS, NET_JOINED, NET_PATH_LEN, NET_WORDS};

use crate::primitives::quotient;
use layout::{EAST, SOUTH};
use patch::{Beyond, Edges, Exchange, Seat, each};
use queue::Item;

/// Warps of a block.
const WARPS: u32 = BLOCK / WARP_SIZE;
/// Blocks that a multiprocessor holds.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 1;

/// The blocks to launch for so many slots. Any other number gives the same result, later.
#[must_use]
pub const fn blocks(slots: u32, multiprocessors: u32) -> u32 {
    let resident = multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
    if slots < resident { slots } else { resident }
}

/// All nets and their state. Nets, slots and pins are numbered through.
#[derive(Clone, Copy)]
struct Problem<'a, L> {
    tiling: Tiling,
    nets: u32,
    slots: u32,
    /// By tile and place: the edges to the right, down, and to the next layer.
    right: View<'a, u32>,
    down: View<'a, u32>,
    via: View<'a, u32>,
    areas: View<'a, Area>,
    /// By slot, and one more.
    slot_records: View<'a, Slot>,
    pin_cells: View<'a, PinCell>,
    /// By pin, and one more: where its cells begin in `cell_places`, which has their places in `pin_cells`.
    pin_starts: View<'a, u32>,
    cell_places: View<'a, u32>,
    /// By slot and place.
    labels: ViewMut<'a, L>,
    /// By slot: the labels along its sides, as its neighbours may see them.
    rims: ViewMut<'a, L>,
    /// By slot's word: what comes into the slot; by slot: whether a block has it.
    pending: ViewMut<'a, u32>,
    locks: ViewMut<'a, u32>,
    counters: ViewMut<'a, u32>,
    /// By net: `NET_WORDS` words.
    net_words: ViewMut<'a, u32>,
    /// As `pin_cells`: their labels when their slots were relaxed last, unless their pins are joined.
    pin_labels: ViewMut<'a, L>,
    /// By pin: whether it is joined.
    is_joined: ViewMut<'a, u32>,
    /// By net's first pin and the order of joining.
    joined: ViewMut<'a, JoinedPin>,
    /// Labels' numbers.
    paths: ViewMut<'a, u32>,
}

/// A block's shared memory.
struct Shared<L> {
    exchange: Exchange<L>,
    beyond: Beyond<L>,
    /// By warp: the nearest pin, and the next.
    best: SharedView<u64>,
    /// What one thread tells all, and, from 8 on, what each warp tells.
    words: SharedView<u32>,
}

/// Relaxes slots and leads nets until all nets are done.
#[inline(always)]
fn work<L: Label, const LAYERED: bool>(problem: &Problem<'_, L>, shared: &Shared<L>) {
    let t = thread::thread_idx_x();
    let seat = Seat::mine(problem.tiling);
    loop {
        let (net, start) = match problem.next(shared) {
            Item::Finished => return,
            Item::Start(net) => {
                thread::sync_threads();
                (net, true)
            }
            Item::Slot(slot) => {
                let (net, leads) = settle::<L, LAYERED>(problem, shared, seat, slot);
                if !leads {
                    continue;
                }
                if t == 0 {
                    problem.hold(net);
                }
                (net, false)
            }
        };
        lead::lead::<L, LAYERED>(problem, shared, net, start);
    }
}

/// Relaxes a slot until nothing changes in it, if it is active. Its net, and whether that is to be led now.
#[inline(always)]
fn settle<L: Label, const LAYERED: bool>(
    problem: &Problem<'_, L>,
    shared: &Shared<L>,
    seat: Seat,
    slot: u32,
) -> (u32, bool) {
    let t = thread::thread_idx_x();
    // The usual case is one net: then nothing has to be waited for.
    let net = if problem.nets == 1 {
        0
    } else {
        problem.slot_records.ld(slot).net
    };
    let area = problem.areas.ld(net);
    let tile = area.tile_of(slot);
    let edges = Edges::load::<L>(
        problem.right,
        problem.down,
        problem.tiling,
        area.bounds(),
        tile,
        seat,
    );
    if t == 0 {
        let taken = problem.take(net, slot, shared.words.ld(queue::PRIORITY));
        shared.words.st(1u32, u32::from(taken));
    }
    thread::sync_threads();
    if shared.words.ld(1u32) == 0 {
        return (net, false);
    }
    let mut labels = patch::load(problem, slot, seat);
    // Whoever leads the net may have set labels in the tile itself.
    let mut fell = shared.words.ld(queue::PRIORITY) == 0;
    let mut rest = u32::MAX;
    loop {
        // Read again where it is needed: registers are scarce.
        let area = problem.areas.ld(net);
        shared
            .beyond
            .read(problem, area, slot, area.tile_of(slot), seat);
        let before = labels;
        shared.beyond.take_in(&mut labels, &edges, seat);
        patch::relax(&mut labels, &edges);
        // With layers or wide labels there are no registers to keep them: what did not change is stored again.
        let unknown = LAYERED || size_of::<L>() > 4;
        fell |= unknown || patch::differ(&labels, &before);
        // It only falls while the slot is taken.
        let bound = problem.bound(net);
        let left = relax_tile::<L, LAYERED>(problem, shared, seat, &mut labels, &edges, bound);
        fell |= left.fell;
        rest = rest.min(left.rest);
        // What has come meanwhile costs least now.
        if t == 0 {
            shared
                .words
                .st(1u32, u32::from(problem.take_more(net, slot)));
        }
        thread::sync_threads();
        if shared.words.ld(1u32) == 0 {
            break;
        }
    }
    if thread::sync_threads_or(fell) {
        if fell {
            patch::store(problem, slot, seat, &labels);
        }
        let gives = patch::publish(problem, slot, seat, &labels, &edges, &shared.beyond);
        let least = |of: u32, value: u32| {
            let least = warp::warp_reduce_min(FULL_MASK, value);
            if t.is_multiple_of(WARP_SIZE) {
                shared.words.st(8 + of * WARPS + t / WARP_SIZE, least);
            }
        };
        each!(I, least(I as u32, gives[I]));
        least(4, rest);
        thread::sync_threads();
        if t < 5 {
            let mut least = u32::MAX;
            for warp in 0..WARPS {
                least = least.min(shared.words.ld(8 + t * WARPS + warp));
            }
            if least < u32::MAX {
                let area = problem.areas.ld(net);
                // The fifth is itself, for when the bound has grown.
                let to = area.beside(slot, area.tile_of(slot), t);
                problem.mark(net, to, least, problem.bound(net));
            }
        }
        note_pins(problem, net, slot);
        thread::sync_threads();
    }
    if t == 0 {
        shared.words.st(1u32, u32::from(problem.let_go(net, slot)));
    }
    thread::sync_threads();
    (net, shared.words.ld(1u32) == 1)
}

/// What became of a patch.
struct Left {
    /// Whether its labels have fallen.
    fell: bool,
    /// The least priority of its labels, if they are all beyond the bound and were not passed on since they fell; or `u32::MAX`.
    rest: u32,
}

/// Relaxes the patches of a tile until none changes within the bound.
///
/// A warp has two whole rows of patches of a tile of one layer: its labels come from itself and from the warps before and after.
/// While none of these changes it only waits.
#[inline(always)]
fn relax_tile<L: Label, const LAYERED: bool>(
    problem: &Problem<'_, L>,
    shared: &Shared<L>,
    seat: Seat,
    labels: &mut patch::Block4<L>,
    edges: &Edges,
    bound: u32,
) -> Left {
    let t = thread::thread_idx_x();
    let warp = t / WARP_SIZE;
    let mut left = Left {
        fell: false,
        rest: u32::MAX,
    };
    // In the first round, all show what they have.
    let mut changed = true;
    // What was shown two rounds ago is what is shown now if neither of the last two rounds changed it.
    let mut shown = 0u32;
    let mut turn = 0;
    loop {
        let warp_changed = warp::warp_vote_any(FULL_MASK, changed);
        if warp_changed || shown < 2 {
            shared.exchange.show::<LAYERED>(labels, turn);
            shown = if warp_changed { 1 } else { shown + 1 };
        }
        if t.is_multiple_of(WARP_SIZE) {
            shared
                .words
                .st(8 + turn * 8 + warp, u32::from(warp_changed));
        }
        if !thread::sync_threads_or(changed) {
            return left;
        }
        let changes = |warp: u32| shared.words.ld(8 + turn * 8 + warp);
        let (before, after) = (changes(warp.max(1) - 1), changes((warp + 1).min(WARPS - 1)));
        changed = false;
        if LAYERED || warp_changed || before | after != 0 {
            let before = *labels;
            let exchange = &shared.exchange;
            exchange.take_in::<LAYERED>(problem, labels, edges, seat, turn);
            patch::relax(labels, edges);
            let differs = if LAYERED {
                exchange.differs(labels)
            } else {
                patch::differ(labels, &before)
            };
            if differs {
                left.fell = true;
                let least = patch::least(labels).priority();
                changed = least <= bound;
                left.rest = if changed { u32::MAX } else { least };
            }
        }
        if LAYERED {
            // What is shown next stands in the same place.
            // planted: route-layers-barrier
            thread::sync_threads();
        }
        // planted: route-turn
        turn ^= 1;
    }
}

/// Notes the labels of a slot's pins that are not joined, and lowers the net's bound to them: theirs will be no larger.
#[inline(always)]
fn note_pins<L: Label>(problem: &Problem<'_, L>, net: u32, slot: u32) {
    let end = problem.slot_records.ld(slot + 1).first_cell;
    let mut i = problem.slot_records.ld(slot).first_cell + thread::thread_idx_x();
    while i < end {
        let cell = problem.pin_cells.ld(i);
        if problem.is_joined.ld(cell.pin) == 0 {
            let label = problem.labels.ld(cell.label);
            if label < L::UNREACHED {
                problem.pin_labels.st_relaxed(i, label, Device);
                problem
                    .net_words
                    .atomic_min(net * queue::NET_WORDS + queue::BOUND, label.priority());
            }
        }
        i += BLOCK;
    }
}

/// The kernels that route, by type of label and whether there are several layers.
macro_rules! route_kernels {
    ($($(#[$doc:meta])* $name:ident: $label:ty, $layered:literal, $blocks:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// The lengths are those that [`route_start`](fn@route_start) asks for, which has run on the same memory and with labels of the same size; the
        /// weights are laid out for `tiling`; each label of `pin_cells` is that of a cell in its net's window; nothing else uses what is
        /// written meanwhile.
        #[kernel(block = 256, min_blocks = $blocks, zero_at_exit(locks))]
        pub unsafe fn $name(
            right: View<'_, u32>,
            down: View<'_, u32>,
            via: View<'_, u32>,
            areas: View<'_, Area>,
            slot_records: View<'_, Slot>,
            pin_cells: View<'_, PinCell>,
            pin_starts: View<'_, u32>,
            cell_places: View<'_, u32>,
            labels: ViewMut<'_, $label>,
            rims: ViewMut<'_, $label>,
            pending: ViewMut<'_, u32>,
            locks: ViewMut<'_, u32>,
            counters: ViewMut<'_, u32>,
            net_words: ViewMut<'_, u32>,
            pin_labels: ViewMut<'_, $label>,
            is_joined: ViewMut<'_, u32>,
            joined: ViewMut<'_, JoinedPin>,
            paths: ViewMut<'_, u32>,
            tiling: Tiling,
        ) {
            let problem = Problem {
                tiling,
                nets: areas.len() as u32,
                slots: locks.len() as u32,
                right, down, via, areas, slot_records, pin_cells, pin_starts, cell_places, labels, rims, pending, locks,
                counters, net_words, pin_labels, is_joined, joined, paths,
            };
            let shared = Shared {
                exchange: Exchange { rows: shared_array![$label; TILE as usize], tiling },
                beyond: Beyond { rims: shared_array![$label; 1024], tiling },
                best: shared_array![u64; 16],
                words: shared_array![u32; 48],
            };
            work::<$label, $layered>(&problem, &shared);
        }
    )*};
}
route_kernels! {
    /// Routes nets on a grid of one layer, with labels of 32 bits.
    route_tiles: u32, false, 1;
    /// Routes nets on a grid of one layer, with labels of 64 bits.
    route_tiles_wide: u64, false, 1;
    /// Routes nets on a grid of several layers, with labels of 32 bits.
    route_layers: u32, true, 1;
    /// Routes nets on a grid of several layers, with labels of 64 bits.
    route_layers_wide: u64, true, 1;
}

/// Lays out weights that stand row by row, layer by layer, tile by tile; what lies past the grid's end is blocked, `u32::MAX`.
/// Sets `has_free[0]` to 1 if one of them is 0.
///
/// # Safety
///
/// `rows` has a weight for each cell of the grid, `tiles` 4096 for each tile, `has_free` an element; nothing else uses `tiles` and
/// `has_free` meanwhile.
#[kernel(block = 256)]
pub unsafe fn lay_out_weights(
    rows: View<'_, u32>,
    tiles: ViewMut<'_, u32>,
    has_free: ViewMut<'_, u32>,
    tiling: Tiling,
) {
    let first = thread::index_1d() * 4;
    if first as usize >= tiles.len() {
        return;
    }
    let tile = first / TILE;
    let tile_y = quotient(tile, tiling.tiles_x);
    let tile_x = tile - tile_y * tiling.tiles_x;
    let (column, row, layer) = tiling.at_place(first % TILE);
    let (x, y) = (
        tile_x * tiling.columns() + column,
        tile_y * tiling.rows() + row,
    );
    let mut weights = [u32::MAX; 4];
    if y < tiling.height && layer < tiling.layers {
        let at = (layer * tiling.height + y) * tiling.width + x;
        for (weight, i) in weights.iter_mut().zip(0..) {
            if x + i < tiling.width {
                *weight = rows.ld(at + i);
            }
        }
    }
    if weights[0].min(weights[1]).min(weights[2]).min(weights[3]) == 0 {
        has_free.atomic_or(0u32, 1);
    }
    tiles.st_vector(first, weights);
}

/// Makes everything ready for nets that have not started. Labels, rims and pins' labels are given as 32-bit words, all of which
/// become `unreached`, the lower half of a label of 64 bits first.
///
/// # Safety
///
/// With S slots, N nets and P pins of C cells: `labels` has 4096 labels for each slot, `rims` [`rim`](Tiling::rim), `pin_labels` C;
/// `pending` has S and an element for each block of the launch that routes, `locks` S elements; `counters` [`COUNTERS`], `net_words`
/// [`NET_WORDS`] for each net; `is_joined` P. Nothing else uses any of them meanwhile. There is a thread for each 4 words of labels
/// and rims, and for each element of the others.
#[kernel(block = 256)]
pub unsafe fn route_start(
    labels: ViewMut<'_, u32>,
    rims: ViewMut<'_, u32>,
    pin_labels: ViewMut<'_, u32>,
    pending: ViewMut<'_, u32>,
    locks: ViewMut<'_, u32>,
    counters: ViewMut<'_, u32>,
    net_words: ViewMut<'_, u32>,
    is_joined: ViewMut<'_, u32>,
    unreached: [u32; 2],
) {
    let i = thread::index_1d();
    let words = [unreached[0], unreached[1], unreached[0], unreached[1]];
    for view in [labels, rims] {
        if (i as usize) < view.len() / 4 {
            // With labels of 64 bits there may be more words than 32 bits count.
            view.st_vector(4 * i as usize, words);
        }
    }
    let set = |view: ViewMut<'_, u32>, value: u32| {
        if (i as usize) < view.len() {
            view.st(i, value);
        }
    };
    set(
        pin_labels,
        if i.is_multiple_of(2) {
            unreached[0]
        } else {
            unreached[1]
        },
    );
    set(pending, queue::NOTHING);
    set(locks, 0);
    set(is_joined, 0);
    let nets = net_words.len() as u32 / NET_WORDS;
    set(counters, if i == queue::OPEN { nets } else { 0 });
    let word = match i % NET_WORDS {
        queue::BUSY => 1,
        queue::BOUND => u32::MAX >> 1,
        _ => 0,
    };
    set(net_words, word);
}

/// Copies the paths of all nets, so that they stand without gaps.
///
/// # Safety
///
/// `spans` has an element for each net, in ascending order of `to`, the first 0; what they say lies in `from`, and `to` is as long
/// as all of them; nothing else uses `to` meanwhile.
#[kernel(block = 256)]
pub unsafe fn gather_paths(spans: View<'_, Span>, from: View<'_, u32>, to: ViewMut<'_, u32>) {
    let i = thread::index_1d();
    if i as usize >= to.len() {
        return;
    }
    // The last net that starts here or before.
    let (mut net, mut end) = (0, spans.len() as u32);
    while end - net > 1 {
        let middle = net + (end - net) / 2;
        if spans.ld(middle).to <= i {
            net = middle;
        } else {
            end = middle;
        }
    }
    let span = spans.ld(net);
    to.st(i, from.ld(span.from + (i - span.to)));
}

/// Sets `found[net]` to 1 if a cell has a label, and its neighbour over an edge that is not blocked has none.
#[inline(always)]
fn too_far<L: Label>(
    [right, down, via]: [View<'_, u32>; 3],
    areas: View<'_, Area>,
    slot_records: View<'_, Slot>,
    labels: View<'_, L>,
    found: ViewMut<'_, u32>,
    tiling: Tiling,
) {
    let i = thread::index_1d();
    if i as usize >= labels.len() {
        return;
    }
    let (slot, place) = (i / TILE, i % TILE);
    let net = slot_records.ld(slot).net;
    let area = areas.ld(net);
    let tile = area.tile_of(slot);
    let (column, row, layer) = tiling.at_place(place);
    let (x, y) = (
        tile.0 * tiling.columns() + column,
        tile.1 * tiling.rows() + row,
    );
    let within =
        |x: u32, y: u32| x >= area.left && x < area.right && y >= area.top && y < area.bottom;
    if !within(x, y) {
        return;
    }
    let weight_at = (tile.1 * tiling.tiles_x + tile.0) * TILE + place;
    let reached = labels.ld(i) < L::UNREACHED;
    let differs = |weight: u32, other: u32| {
        if weight != u32::MAX && (labels.ld(other) < L::UNREACHED) != reached {
            found.atomic_or(net, 1);
        }
    };
    if within(x + 1, y) {
        let slot = if column + 1 == tiling.columns() {
            area.beside(slot, tile, EAST)
        } else {
            slot
        };
        differs(
            right.ld(weight_at),
            slot * TILE + tiling.place(x + 1, y, layer),
        );
    }
    if within(x, y + 1) {
        let slot = if row + 1 == tiling.rows() {
            area.beside(slot, tile, SOUTH)
        } else {
            slot
        };
        differs(
            down.ld(weight_at),
            slot * TILE + tiling.place(x, y + 1, layer),
        );
    }
    // planted: distance-vias
    if layer + 1 < tiling.layers {
        differs(
            via.ld(weight_at),
            slot * TILE + tiling.place(x, y, layer + 1),
        );
    }
}

/// By cell of the window of area 0, row by row and layer by layer: the cost of its label; `u64::MAX` if it has none.
#[inline(always)]
fn costs<L: Label>(
    areas: View<'_, Area>,
    labels: View<'_, L>,
    distances: ViewMut<'_, u64>,
    tiling: Tiling,
) {
    let i = thread::index_1d();
    if i as usize >= distances.len() {
        return;
    }
    let area = areas.ld(0u32);
    let line = quotient(i, tiling.width);
    let x = i - line * tiling.width;
    let layer = quotient(line, tiling.height);
    let y = line - layer * tiling.height;
    let tile = quotient(y, tiling.rows()) * area.tiles_x + quotient(x, tiling.columns());
    let label = labels.ld((area.first_slot + tile) * TILE + tiling.place(x, y, layer));
    distances.st(
        i,
        if label < L::UNREACHED {
            label.cost()
        } else {
            u64::MAX
        },
    );
}

/// The kernels that read labels, by their type.
macro_rules! label_kernels {
    ($($label:ty: $too_far:ident, $gather:ident;)*) => {$(
        /// Sets `found[net]` to 1 for each net with a cell that its labels reach next to one that they do not, over an edge that
        /// is not blocked: its cost is too large for a label.
        ///
        /// # Safety
        ///
        /// As for the kernels that route, which have run; `found` has an element for each net; nothing else uses it meanwhile.
        #[kernel(block = 256)]
        pub unsafe fn $too_far(
            right: View<'_, u32>,
            down: View<'_, u32>,
            via: View<'_, u32>,
            areas: View<'_, Area>,
            slot_records: View<'_, Slot>,
            labels: View<'_, $label>,
            found: ViewMut<'_, u32>,
            tiling: Tiling,
        ) {
            too_far([right, down, via], areas, slot_records, labels, found, tiling);
        }

        /// The costs of the labels of net 0, whose window is the whole grid, row by row and layer by layer; `u64::MAX` for cells
        /// that it does not reach.
        ///
        /// # Safety
        ///
        /// As for the kernels that route, which have run; `distances` has an element for each cell of the grid; nothing else uses
        /// it meanwhile.
        #[kernel(block = 256)]
        pub unsafe fn $gather(
            areas: View<'_, Area>,
            labels: View<'_, $label>,
            distances: ViewMut<'_, u64>,
            tiling: Tiling,
        ) {
            costs(areas, labels, distances, tiling);
        }
    )*};
}
label_kernels! {
    u32: find_too_far, gather_distances;
    u64: find_too_far_wide, gather_distances_wide;
}
