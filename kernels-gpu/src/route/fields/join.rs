//! Joining the pins of a net: again and again the nearest one, by looking up fields.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::offer::{FEW, Mine};
use super::while_walking::Destination;
use super::{
    Boxes, CellXy, DistanceBound, Field, FieldNet, GrowingTrees, JoinOutput, NetResult, PinPlaces,
    PinState, Start, column_and_row, ties,
};
use crate::route::tiles::JoinedPin;

/// Threads of a block.
pub(super) const BLOCK: u32 = 512;
pub(super) const WARPS: u32 = BLOCK / WARP_SIZE;
/// Cells of a path, or of a pin, that are offered to fields at a time.
pub(super) const CHUNK: u32 = BLOCK;
/// Steps along a path between two checks whether it has ended.
pub(super) const STRETCH: u32 = 8;
const _: () = assert!(CHUNK.is_multiple_of(STRETCH));
/// The most cells of the part of a box at hand, and of one for which there is more memory.
pub const PART_CELLS: u32 = 128 * 128;
pub(super) const WIDE_PART_CELLS: u32 = 192 * 256;

/// Pins of a group, for which a bound of its own is kept: the lanes of a warp.
const GROUP: u32 = WARP_SIZE;

/// The dynamic shared memory of [`join_pins`](fn@join_pins) for nets of up to `pins` pins, with a
/// capacity of `capacity` cells, in bytes.
#[must_use]
pub const fn join_bytes(pins: u32, capacity: u32) -> u32 {
    2 * part_cells(capacity) + 2 * capacity + pin_bytes(pins)
}

/// What [`join_bytes`] has for the pins: three words for each, and one for each group.
const fn pin_bytes(pins: u32) -> u32 {
    3 * 4 * pins + 4 * pins.div_ceil(GROUP)
}

/// The most pins of a net all of whose boxes are looked at: that takes less time than to look up
/// where boxes are.
pub const MOST_UNPLACED: u32 = 8 * BLOCK;

/// The largest capacity for which [`join_bytes`] gives no more than `bytes`.
#[must_use]
pub const fn join_capacity(bytes: u32, pins: u32) -> u32 {
    let left = bytes.saturating_sub(pin_bytes(pins));
    // The cases differ in what a part takes: twice the cells, the maximum, or the cells.
    if left >= 4 * PART_CELLS {
        left / 4
    } else if left >= 3 * PART_CELLS {
        (left - 2 * PART_CELLS) / 2
    } else {
        left / 6
    }
}

/// The memory, in half words, for parts of boxes and for rectangles of up to `cells` cells. The
/// distance between a part's rows is less than twice their length.
#[inline(always)]
const fn part_cells(cells: u32) -> u32 {
    if 2 * cells < PART_CELLS {
        2 * cells
    } else if cells < PART_CELLS {
        PART_CELLS
    } else {
        cells
    }
}

/// Words of a block.
pub(super) mod word {
    /// Cells of the chunk.
    pub(in super::super) const COUNT: u32 = 0;
    /// The next cell of the path after the chunk, as an index in the box; [`END`](super::END) if
    /// there is none.
    pub(in super::super) const NEXT: u32 = 1;
    /// Whether the path, as far as it was followed, has ties.
    pub(in super::super) const TIE: u32 = 2;
    /// The rectangle around the chunk: first and last column, first and last row.
    pub(in super::super) const AROUND: u32 = 3;
    /// Pins on the list.
    pub(in super::super) const LISTED: u32 = 7;
    /// While a tie is decided: the number of cells at which shortest paths begin.
    pub(in super::super) const QUEUED: u32 = 8;
    /// The rectangle around the cells at which they begin: first and last column, first and last
    /// row. Once the path is known, of the rectangle in which it lies: first column, number of
    /// columns, first row.
    pub(in super::super) const BOUNDS: u32 = 9;
    /// Whether a tie stays open.
    pub(in super::super) const OPEN_TIE: u32 = 13;
    /// How many cells of the path at hand are queued: see `while_walking.rs`.
    pub(in super::super) const PROGRESS: u32 = 14;
    /// Whether the pin of that path is marked as joined.
    pub(in super::super) const IS_JOINED: u32 = 15;
    /// Pins on the list of the fields to which its cells are offered: two words, which take turns,
    /// so that one of them can be made ready while the other is in use.
    pub(in super::super) const NEAR: u32 = 16;
    pub(in super::super) const WORDS: u32 = 18;
}

/// No cell of a box.
pub(super) const END: u32 = u32::MAX;

/// A net and its state.
#[derive(Clone, Copy)]
pub(super) struct Join<'a> {
    pub(super) boxes: Boxes<'a>,
    pub(super) net_index: u32,
    first_pin: u32,
    pub(super) pins: u32,
    pub(super) tree: ViewMut<'a, u32>,
    pub(super) entries: View<'a, u32>,
    pub(super) paths: ViewMut<'a, u32>,
    /// By pin of the net: its part of the bounds of [`join_pins`](fn@join_pins).
    pub(super) distance_bounds: SharedView<DistanceBound>,
    /// By group of [`GROUP`] pins, one after the other: the least of their bounds.
    group_bounds: SharedView<u32>,
    pub(super) places: PinPlaces<'a>,
    /// By pin: where its path begins.
    pub(super) starts: SharedView<Start>,
    /// The pins near a path.
    pub(super) list: SharedView<u32>,
    /// By cell of the part or rectangle at hand, as half words: the next cell on the way, or the
    /// cell itself if the way does not continue.
    pub(super) part: SharedView<u32>,
    /// The path at hand, as cells of a part or rectangle. Behind a chunk of it lie the entries of
    /// the part at hand. While a tie is decided, the memory has the planes and starts of `ties.rs`.
    pub(super) queue: SharedView<u16>,
    /// The most cells of a rectangle in which ties are resolved.
    pub(super) capacity: u32,
    /// Columns and rows of a chunk of cells.
    pub(super) xs: SharedView<u32>,
    pub(super) ys: SharedView<u32>,
    /// See [`word`].
    pub(super) words: SharedView<u32>,
}

impl Join<'_> {
    /// The net. It is read again whenever it is needed: registers are scarce.
    #[inline(always)]
    pub(super) fn net(&self) -> FieldNet {
        self.boxes.nets.ld(self.net_index)
    }

    #[inline(always)]
    pub(super) fn field(&self, pin: u32) -> Field {
        self.boxes.fields.ld(self.first_pin + pin)
    }

    /// The least bound, and the first pin that has it: each warp looks for itself. Called after a
    /// barrier.
    #[inline(always)]
    fn nearest(&self) -> (DistanceBound, u32) {
        let lane = warp::lane_id();
        // Each lane looks at groups one after the other, so that the first lane has the first.
        let groups = self.pins.div_ceil(GROUP);
        let each = self.pins.div_ceil(GROUP * WARP_SIZE);
        let (mut least, mut first) = (u32::MAX, u32::MAX);
        let mut group = lane * each;
        let end = (group + each).min(groups);
        while group < end {
            let bound = self.group_bounds.ld(group);
            if bound < least {
                (least, first) = (bound, group);
            }
            group += 1;
        }
        let bound = warp::warp_reduce_min(FULL_MASK, least);
        let nearest = warp::warp_vote_ballot(FULL_MASK, least == bound).trailing_zeros();
        let group = warp::warp_shuffle_idx(FULL_MASK, first, nearest, WARP_SIZE).0;
        // All pins may be joined.
        let group = group.min(self.pins / GROUP);
        let of_group = self.bounds_of(group);
        // planted: join-first
        let pins = warp::warp_vote_ballot(FULL_MASK, of_group == bound);
        (
            DistanceBound(bound),
            group * GROUP + pins.trailing_zeros().min(GROUP - 1),
        )
    }

    /// The bounds of a group's pins, one for each lane.
    #[inline(always)]
    fn bounds_of(&self, group: u32) -> u32 {
        let pin = group * GROUP + warp::lane_id();
        if pin < self.pins {
            self.distance_bounds.ld(pin).0
        } else {
            DistanceBound::JOINED.0
        }
    }

    /// Lowers the bound of a pin.
    #[inline(always)]
    pub(super) fn lower(&self, pin: u32, bound: DistanceBound) {
        self.distance_bounds.st(pin, bound);
        // planted: join-group
        self.group_bounds.atomic_min(pin / GROUP, bound.0);
    }

    /// Makes a pin one of those that are joined. Called by a whole warp, between barriers.
    #[inline(always)]
    pub(super) fn set_joined(&self, pin: u32) {
        let (lane, group) = (warp::lane_id(), pin / GROUP);
        let is_this = lane == pin % GROUP;
        let mut bound = self.bounds_of(group);
        if is_this {
            self.distance_bounds.st(pin, DistanceBound::JOINED);
            bound = DistanceBound::JOINED.0;
        }
        self.set_group(group, bound);
    }

    /// Sets the bound of a group, from those of its pins, one for each lane.
    #[inline(always)]
    fn set_group(&self, group: u32, bound: u32) {
        let least = warp::warp_reduce_min(FULL_MASK, bound);
        if warp::lane_id() == 0 {
            self.group_bounds.st(group, least);
        }
    }

    /// Joins pins until none is left, none is known to be the nearest, or a tie stays open.
    #[inline(always)]
    fn run(&self, added: View<'_, CellXy>, joined: ViewMut<'_, JoinedPin>) -> (u32, u32) {
        let t = thread::thread_idx_x();
        let (mut count, mut end) = (0, 0);
        // Cells to add to the tree, besides those of paths.
        let mut cells = added;
        let (mut first_cell, mut end_cell) = {
            let net = self.net();
            (net.first_added, net.end_added)
        };
        loop {
            self.add_all(cells, first_cell, end_cell);
            // Loaded in time for listing fields.
            let mine = self.mine();
            let (bound, pin) = self.nearest();
            let Some(cost) = bound.distance() else {
                return (count, end);
            };
            if t == 0 {
                self.forget_walk();
                // planted: join-turns
                self.words.st(word::NEAR + (count + 1) % 2, 0);
            }
            let near = word::NEAR + count % 2;
            let path_end = self.join(pin, cost, end, near, mine);
            if path_end == END {
                return (count, end);
            }
            end = path_end;
            let field = self.field(pin);
            if t == 0 {
                let record = JoinedPin {
                    cost: cost.into(),
                    pin: self.first_pin + pin,
                    end,
                };
                joined.st(self.first_pin + count, record);
            }
            count += 1;
            cells = self.boxes.pin_cells;
            // The only cell of a pin is the last of its path, and already added.
            first_cell = field.first_cell;
            end_cell = match field.end_cell {
                // planted: join-cells
                end if end - first_cell == 1 => first_cell,
                end => end,
            };
        }
    }

    /// Writes a pin's path, from `end` on, and adds it to the tree; returns the path's end, or
    /// [`END`] if it has a tie that stays open, and the pin is not joined. Called by the whole
    /// block; ends with a barrier.
    ///
    /// Most paths are offered to fields while they are followed (`while_walking.rs`). Those of nets
    /// of many pins, and those of several walks, are written to their ends before any of them is
    /// added, since they may turn out to have ties. `near` is one of the words [`word::NEAR`].
    #[inline(always)]
    fn join(&self, pin: u32, cost: u32, end: u32, near: u32, mine: Mine) -> u32 {
        let t = thread::thread_idx_x();
        let field = self.field(pin);
        let start = self.starts.ld(pin);
        // planted: join-many
        let mut has_tie = start.is_tie();
        let mut from = if has_tie { END } else { start.index() };
        // The path's cells so far, and the last one of them that this thread has written.
        let (mut count, mut cell) = (0, CellXy::default());
        let (mut walks, mut walked_layout) = (0, None);
        let are_unplaced = self.pins <= MOST_UNPLACED;
        let destination = |is_from_pin: bool| Destination {
            near,
            first: end,
            is_from_pin,
        };
        while from != END {
            let offers = walks == 0 && are_unplaced;
            let to = offers.then_some(destination(false));
            let layout = self.walk(pin, field, from, to, mine);
            let walked = self.words.ld(word::COUNT);
            from = self.words.ld(word::NEXT);
            has_tie = self.words.ld(word::TIE) != 0;
            if offers && from == END && !has_tie {
                return end + walked;
            }
            walked_layout = Some(layout);
            if t < walked {
                cell = layout.cell(self.queue.ld(t).into());
                // planted: join-walks
                self.write(end + count + t, cell);
            }
            count += walked;
            walks += 1;
        }
        if has_tie {
            let to = are_unplaced.then_some(destination(true));
            count = ties::resolve(self, pin, start, cost, to, walks > 0);
            if count == 0 {
                // A walk before may have made the pin one of the joined.
                if t == 0 {
                    self.lower(pin, DistanceBound::exactly(cost));
                }
                thread::sync_threads();
                return END;
            }
            if are_unplaced {
                return end + count;
            }
            let mut i = t;
            while i < count {
                cell = field.cell_at(ties::path_cell(self, field, count - 1 - i));
                self.write(end + i, cell);
                i += BLOCK;
            }
        }
        let is_walked = walks == 1 && !has_tie && count <= FEW;
        let is_at_hand = walks <= 1 && count <= CHUNK;
        let mut added = 0;
        while added < count {
            let chunk = (count - added).min(CHUNK);
            if !is_walked {
                // Other threads have written the cells, and one has made the words ready.
                // planted: join-chunks
                thread::sync_threads();
                // No thread looks at bounds between this barrier and that in `add`.
                if t < WARP_SIZE {
                    self.set_joined(pin);
                }
            }
            if !is_at_hand && t < chunk {
                // planted: join-written
                cell = self.written(end + added + t);
            }
            self.add(chunk, cell, walked_layout.filter(|_| is_walked));
            added += chunk;
        }
        end + count
    }

    /// Writes cell number `i` of the net's paths.
    #[inline(always)]
    pub(super) fn write(&self, i: u32, cell: CellXy) {
        let net = self.net();
        let index = (cell.y - net.top) * (net.right - net.left) + (cell.x - net.left);
        self.paths.st(net.first_path + i, index);
    }

    /// Cell number `i` of the net's paths.
    #[inline(always)]
    fn written(&self, i: u32) -> CellXy {
        let net = self.net();
        let index = self.paths.ld(net.first_path + i);
        let (x, y) = column_and_row(index, net.right - net.left);
        CellXy {
            x: net.left + x,
            y: net.top + y,
        }
    }
}

/// The least of each group of `lanes` lanes of a warp, in all lanes of the group.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub(super) fn warp_least(mut key: u64, lanes: u32) -> u64 {
    let mut distance = lanes / 2;
    while distance > 0 {
        key = key.min(warp::warp_shuffle_xor(FULL_MASK, key, distance, WARP_SIZE).0);
        distance /= 2;
    }
    key
}

/// Joins the pins of each block's net, as far as fields reach, after adding the given cells to the
/// tree.
///
/// ```text
/// add the given cells to the tree, and offer them to the fields around them
/// until no pin is left, or the least bound is not exact, or a tie stays open:
///     take the pin with the least bound
///     walk down its field from the tree to the pin; resolve ties, if there are any
///     add the path's cells and the pin's to the tree, and offer them to fields
/// ```
///
/// `pins` keeps what is known of the remaining pins: the kernel may run again for them.
///
/// # Safety
///
/// - [`grow_fields`](fn@super::grow_fields) has run with these `boxes`, this tree and these
///   `entries` for all pins but the first of each net. The bound of the first is
///   [`DistanceBound::JOINED`].
/// - `places` has the pins of nets of more than [`MOST_UNPLACED`] pins, as they are in `boxes`.
/// - No edge weighs 0.
/// - The launch has [`join_bytes`] of dynamic shared memory for the most pins of a net, one at
///   least, and a `capacity` that is a multiple of 16 and no more than 2¹⁶. No box has more
///   cells, unless the capacity is [`PART_CELLS`] or more.
/// - Nothing else uses what is written meanwhile.
#[kernel(block = BLOCK, min_blocks = 1)]
pub unsafe fn join_pins(
    boxes: Boxes<'_>,
    entries: View<'_, u32>,
    trees: GrowingTrees<'_>,
    pins: PinState<'_>,
    places: PinPlaces<'_>,
    output: JoinOutput<'_>,
    capacity: u32,
) {
    let t = thread::thread_idx_x();
    let index = thread::block_idx_x();
    let net = boxes.nets.ld(index);
    let pin_count = net.end_pin - net.first_pin;
    let (cells, part) = (capacity as usize, part_cells(capacity) as usize);
    // The index of the pins' words, three arrays: bounds, starts, and the list.
    let row = |i: usize| 2 * (part + cells) + 4 * pin_count as usize * i;
    let join = Join {
        boxes,
        net_index: index,
        first_pin: net.first_pin,
        pins: pin_count,
        tree: trees.words,
        entries,
        paths: output.paths,
        // SAFETY: the launch has half words for the part and for the cells, three words for each
        // pin of the most, and a word for each of their groups: `join_bytes`.
        distance_bounds: unsafe { shared::dynamic_shared_mem(row(0), pin_count as usize) },
        // SAFETY: as for the bounds: after the three arrays, a word for each group.
        group_bounds: unsafe {
            shared::dynamic_shared_mem(row(3), pin_count.div_ceil(GROUP) as usize)
        },
        places,
        // SAFETY: as for the bounds.
        starts: unsafe { shared::dynamic_shared_mem(row(1), pin_count as usize) },
        // SAFETY: as for the bounds.
        list: unsafe { shared::dynamic_shared_mem(row(2), pin_count as usize) },
        // SAFETY: as for the bounds.
        part: unsafe { shared::dynamic_shared_mem(0, part / 2) },
        // SAFETY: as for the bounds.
        queue: unsafe { shared::dynamic_shared_mem(2 * part, cells) },
        capacity,
        xs: shared_array![u32; CHUNK as usize],
        ys: shared_array![u32; CHUNK as usize],
        words: shared_array![u32; word::WORDS as usize],
    };
    let mut pin = t;
    while pin < pin_count {
        join.distance_bounds
            .st(pin, pins.distance_bounds.ld(net.first_pin + pin));
        join.starts.st(pin, pins.starts.ld(net.first_pin + pin));
        pin += BLOCK;
    }
    if t == 0 {
        join.words.st(word::OPEN_TIE, 0);
        join.words.st(word::NEAR, 0);
        join.forget_chunk();
    }
    thread::sync_threads();
    let mut group = t / WARP_SIZE;
    while group < pin_count.div_ceil(GROUP) {
        join.set_group(group, join.bounds_of(group));
        group += WARPS;
    }
    thread::sync_threads();
    let (count, end) = join.run(trees.added, output.joined);
    if t == 0 {
        let result = NetResult {
            joined_pins: count,
            path_cells: end,
            has_open_tie: join.words.ld(word::OPEN_TIE),
        };
        output.nets.st(index, result);
    }
    let mut pin = t;
    while pin < pin_count {
        pins.distance_bounds
            .st(net.first_pin + pin, join.distance_bounds.ld(pin));
        pins.starts.st(net.first_pin + pin, join.starts.ld(pin));
        pin += BLOCK;
    }
}
