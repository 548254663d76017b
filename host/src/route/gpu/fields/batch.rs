//! Nets routed at the same time: fields grow, pins are joined, and unfinished nets continue.

use trazar_kernels::route::fields::{
    self, Boxes, CellXy, DistanceBound, Field, FieldNet, GRAIN, Growing, GrowingTrees, JoinOutput,
    Nearness, NetResult, PinPlaces, PinState, Seed, Start,
};
use trazar_kernels::route::tiles::{JoinedPin, Span};

use super::boxes::{Limits, PinBox, Plan};
use super::member::{Member, State};
use super::places::Places;
use super::{CELLS_AT_ONCE, InFields};
use crate::Result;
use crate::geometry::Cell;
use crate::gpu::{Gpu, GpuBuffer, Lent, View, ViewMut};
use crate::memory::{collect, extend, filled_vec, push, reserve};
use crate::route::gpu::grid::DeviceGrid;
use crate::route::gpu::tiles;
use crate::route::net::Net;
use crate::route::net_by_net::{PATHS, PINS};
use crate::route::tree::{Fallback, FieldUse, Route};

/// The factor by which the height and width of a box grow when it is too small.
const GROWTH: f64 = 1.5;
/// Boxes grow for the pins whose fields reach at most this many times the required distance.
const AHEAD: f64 = 1.25;
/// The most cells of boxes that grow at the same time: more take longer than a search.
const GROWN_CELLS: u64 = 1 << 24;
/// A net that needs more searches leaves its remaining pins to tiles.
const MAX_SEARCHES: usize = 16;
/// If no more pins than this remain, they are left to tiles as well, which keep their labels from
/// one pin to the next.
const FEW_PINS: usize = 4;
/// Growing boxes move: there is memory for up to this many cells more, at most twice as many.
const SPARE_CELLS: u64 = 1 << 26;

/// Nets that are routed at the same time.
#[derive(Default)]
pub(super) struct Batch {
    members: Vec<Member>,
    /// The nets, as the kernels take them.
    nets: Vec<FieldNet>,
    fields: Vec<Field>,
    pin_cells: Vec<CellXy>,
    /// The pins whose fields are to grow.
    grown: Vec<Seed>,
    /// The cells that become part of trees.
    added: Vec<CellXy>,
    /// The cells of all fields, including replaced ones.
    entries: u64,
    tree_words: u64,
    path_cells: u64,
    /// The cells of all fields if all boxes are full.
    full_cells: u64,
    /// The most pins of a net, and the most cells of a full box.
    most_pins: usize,
    most_cells: u64,
}

/// The device memory of a batch's kernels.
struct DeviceState<G: Gpu> {
    pin_cells: G::Buffer<CellXy>,
    tree: G::Buffer<u32>,
    entries: G::Buffer<u32>,
    distance_bounds: G::Buffer<DistanceBound>,
    starts: G::Buffer<Start>,
    results: G::Buffer<NetResult>,
    joined: G::Buffer<JoinedPin>,
    paths: G::Buffer<u32>,
}

impl Batch {
    /// Whether the plan's net can be added; always if the batch is empty.
    pub(super) fn has_room_for(&self, plan: &Plan, limits: &Limits) -> bool {
        let area = u64::from(plan.window.width) * u64::from(plan.window.height);
        let most_pins = self.most_pins.max(plan.boxes.len() + 1);
        let most_cells = self.most_cells.max(plan.most_cells);
        self.members.is_empty()
            || self.full_cells + plan.full_cells <= CELLS_AT_ONCE
                && self.path_cells + area <= CELLS_AT_ONCE
                && most_cells <= limits.cells(most_pins)
    }

    pub(super) fn add(&mut self, index: usize, net: &Net, plan: Plan) -> Result<()> {
        let window = plan.window;
        let first_pin = self.fields.len() as u32;
        let boxes = std::iter::once(PinBox::default()).chain(plan.boxes.iter().copied());
        for (pin, pin_box) in net.pins.iter().zip(boxes) {
            let first_cell = self.pin_cells.len() as u32;
            let places = pin.cells.iter().map(|cell| CellXy {
                x: cell.x,
                y: cell.y,
            });
            extend(&mut self.pin_cells, places, PINS)?;
            let field = Field {
                extent: pin_box.extent(self.entries),
                cell: self.pin_cells[first_cell as usize],
                first_cell,
                end_cell: self.pin_cells.len() as u32,
            };
            self.entries += pin_box.cells();
            push(&mut self.fields, field, PINS)?;
        }
        self.full_cells += plan.full_cells;
        self.most_cells = self.most_cells.max(plan.most_cells);
        let end_pin = self.fields.len() as u32;
        self.most_pins = self.most_pins.max(net.pins.len());
        let net_number = self.nets.len() as u32;
        let seed = |pin| Seed {
            pin,
            net: net_number,
        };
        extend(&mut self.grown, (first_pin + 1..end_pin).map(seed), PINS)?;
        let root = self.fields[first_pin as usize];
        let first_added = self.added.len() as u32;
        let cells = &self.pin_cells[..root.end_cell as usize][root.first_cell as usize..];
        extend(&mut self.added, cells.iter().copied(), PINS)?;
        let area = FieldNet {
            left: window.x,
            top: window.y,
            right: window.x + window.width,
            bottom: window.y + window.height,
            first_pin,
            end_pin,
            first_word: self.tree_words as u32,
            first_path: self.path_cells as u32,
            first_added,
            end_added: self.added.len() as u32,
        };
        self.tree_words += area.tree_words();
        // A path has the cells that it adds to the tree, and the cell at which it joins the tree.
        let cells = u64::from(window.width) * u64::from(window.height);
        self.path_cells += cells + net.pins.len() as u64;
        push(&mut self.nets, area, PINS)?;
        let is_joined = (0..net.pins.len()).map(|pin| pin == 0);
        let member = Member {
            net: index,
            window,
            rooms: plan.rooms,
            full_room: plan.full_room,
            searches: 0,
            by_searches: 0,
            has_open_tie: false,
            is_joined: collect(is_joined, PINS)?,
            pins: Vec::new(),
            costs: Vec::new(),
            ends: Vec::new(),
            cells: Vec::new(),
            state: State::Open,
        };
        push(&mut self.members, member, PINS)
    }

    /// Routes the batch's nets, as far as fields can; `nets` are all nets.
    pub(super) fn route<G: Gpu>(
        mut self,
        gpu: &G,
        grid: &DeviceGrid<G>,
        nets: &[Net],
        limits: &Limits,
        found: &mut [InFields],
    ) -> Result<()> {
        if self.members.is_empty() {
            return Ok(());
        }
        let room = self.entries + (2 * self.entries).min(SPARE_CELLS);
        let room = room.max(self.full_cells);
        let mut state = match self.allocate(gpu, room) {
            Ok(state) => state,
            // Tiles take much less memory.
            Err(error) if error.is_out_of_memory() => {
                for member in &self.members {
                    found[member.net] = InFields::Nothing(Some(Fallback::OutOfMemory));
                }
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let in_use = grid.using(gpu)?;
        while self.is_open() {
            match self.run(gpu, grid, limits, &mut state) {
                Err(error) if error.is_out_of_memory() => {
                    for member in &mut self.members {
                        if member.state == State::Open {
                            member.state = State::GivenUp(Fallback::OutOfMemory);
                        }
                    }
                    break;
                }
                ran => ran?,
            }
            self.collect(gpu, &state)?;
            self.grown.clear();
            self.added.clear();
            if self.is_open() {
                self.go_on(gpu, grid, nets, limits, room, &mut state)?;
            }
        }
        in_use.into_iter().try_for_each(Lent::finish)?;
        for member in self.members {
            let fallback = match member.state {
                State::GivenUp(fallback) => Some(fallback),
                State::Open | State::Whole => None,
            };
            let used = FieldUse {
                by_fields: member.pins.len() - member.by_searches,
                by_searches: member.by_searches,
                in_tiles: 0,
                fallback,
            };
            let mut route = Route::new(
                &nets[member.net],
                member.pins,
                member.costs,
                member.ends,
                member.cells,
            )?;
            route.field_use = Some(used);
            found[member.net] = match fallback {
                None => InFields::Whole(route),
                Some(_) => InFields::Part(route),
            };
        }
        Ok(())
    }

    /// Whether fields go on with some net.
    fn is_open(&self) -> bool {
        let mut members = self.members.iter();
        members.any(|member| member.state == State::Open)
    }

    /// Memory for the kernels, with `room` cells for fields.
    fn allocate<G: Gpu>(&self, gpu: &G, room: u64) -> Result<DeviceState<G>> {
        let pins = self.fields.len();
        Ok(DeviceState {
            pin_cells: gpu.upload(&self.pin_cells)?,
            tree: gpu.alloc_zeroed(self.tree_words as usize)?,
            entries: gpu.alloc(room as usize)?,
            // Those of first pins stay joined.
            distance_bounds: gpu.upload(&filled_vec(DistanceBound::JOINED, pins, PINS)?)?,
            starts: gpu.alloc_zeroed(pins)?,
            results: gpu.alloc(self.nets.len())?,
            joined: gpu.alloc_zeroed(pins)?,
            paths: gpu.alloc(self.path_cells as usize)?,
        })
    }

    /// Grows fields, and joins pins.
    fn run<G: Gpu>(
        &mut self,
        gpu: &G,
        grid: &DeviceGrid<G>,
        limits: &Limits,
        state: &mut DeviceState<G>,
    ) -> Result<()> {
        let on = &gpu.launcher();
        let nets = gpu.upload(&self.nets)?;
        let fields = gpu.upload(&self.fields)?;
        let added = gpu.upload(&self.added)?;
        let boxes = Boxes {
            nets: nets.view(),
            fields: fields.view(),
            pin_cells: state.pin_cells.view(),
        };
        let pin_state = PinState {
            distance_bounds: state.distance_bounds.view_mut(),
            starts: state.starts.view_mut(),
        };
        if !self.grown.is_empty() {
            let views = (state.tree.view(), state.entries.view_mut());
            self.grow(gpu, grid, limits.settings.labels, boxes, pin_state, views)?;
        }
        let pins = self.nets.iter().map(|net| net.end_pin - net.first_pin);
        let pins = pins.max().unwrap_or(0);
        let cells = self.fields.iter().map(|field| field.extent.cells());
        let cells = cells.max().unwrap_or(0);
        let trees = GrowingTrees {
            added: added.view(),
            words: state.tree.view_mut(),
        };
        let places = Places::of(&self.nets, &self.fields)?;
        let (of_nets, buckets) = (gpu.upload(&places.nets)?, gpu.upload(&places.buckets)?);
        let (placed, pins_there) = (gpu.upload(&places.boxes)?, gpu.upload(&places.pins)?);
        let places = PinPlaces {
            nets: of_nets.view(),
            buckets: buckets.view(),
            boxes: placed.view(),
            pins: pins_there.view(),
        };
        let output = JoinOutput {
            nets: state.results.view_mut(),
            joined: state.joined.view_mut(),
            paths: state.paths.view_mut(),
        };
        let capacity = limits.join_capacity(pins as usize, cells);
        // SAFETY: fields have grown, now or before; the places are those of these fields; a batch
        // only has grids without free edges; lengths as the kernel asks.
        unsafe {
            fields::join_pins::launch_with_shared(
                on,
                self.nets.len() as u32,
                fields::join_bytes(pins, capacity),
                boxes,
                state.entries.view(),
                trees,
                pin_state,
                places,
                output,
                capacity,
            )
        }
    }

    /// Grows fields.
    fn grow<G: Gpu>(
        &mut self,
        gpu: &G,
        grid: &DeviceGrid<G>,
        labels: u32,
        boxes: Boxes<'_>,
        pins: PinState<'_>,
        (tree, entries): (View<'_, u32>, ViewMut<'_, u32>),
    ) -> Result<()> {
        let fields = &self.fields;
        let field = |seed: &Seed| &fields[seed.pin as usize];
        let most = self.grown.iter().map(|seed| field(seed).extent.cells());
        let most = most.max().unwrap_or(0);
        let is_wide = most >= fields::WIDE_CELLS;
        if is_wide {
            // Blocks at work at the same time then read the same edges. Sorting many small boxes
            // takes longer than it saves.
            self.grown.sort_unstable_by_key(|seed| {
                let field = field(seed);
                let strip = field.extent.top / field.rows().max(1);
                (seed.net, strip, field.extent.left, seed.pin)
            });
        }
        let grown = gpu.upload(&self.grown)?;
        let spec = if is_wide {
            &fields::grow_wide_fields::SPEC
        } else {
            &fields::grow_fields::SPEC
        };
        let launch = if is_wide {
            fields::grow_wide_fields::launch_with_shared
        } else {
            fields::grow_fields::launch_with_shared
        };
        let shared = fields::grow_bytes(most);
        let resident = gpu.resident_blocks(spec, shared)?;
        // With a block for each field, blocks are spread as they end.
        let blocks = (labels / most.max(1)).max(resident);
        let blocks = blocks.min(self.grown.len() as u32).max(1);
        let mut labels = gpu.alloc(blocks as usize * most as usize)?;
        let growing = Growing {
            grown: grown.view(),
            tree,
            entries,
            labels: labels.view_mut(),
        };
        let on = &gpu.launcher();
        // SAFETY: different pins; their boxes and windows lie in the grid, and their cells in their
        // boxes; lengths as the kernels ask.
        unsafe { launch(on, blocks, shared, grid.tiled(), boxes, growing, pins, most) }
    }

    /// Adds the paths that the kernels have found to the members' trees.
    fn collect<G: Gpu>(&mut self, gpu: &G, state: &DeviceState<G>) -> Result<()> {
        let results = state.results.to_vec()?;
        let mut to = 0;
        let spans = results.iter().zip(&self.nets).map(|(result, net)| {
            let from = net.first_path;
            // The sum fits: it counts elements of a buffer.
            to += result.path_cells;
            Span {
                from,
                to: to - result.path_cells,
            }
        });
        let spans = collect(spans, PATHS)?;
        let cells = tiles::gather_paths(gpu, &spans, to, &state.paths)?;
        let joined = state.joined.to_vec()?;
        for (((member, net), result), span) in self
            .members
            .iter_mut()
            .zip(&self.nets)
            .zip(&results)
            .zip(spans)
        {
            let window = member.window;
            // A multiplication instead of a division per cell: the quotient is at least 0.5 / width
            // away from a whole number, which is more than rounding changes.
            let per_column = 1.0 / f64::from(window.width);
            let cell_at = |index: u32| {
                let row = ((f64::from(index) + 0.5) * per_column) as u32;
                Cell::at(window.x + index - row * window.width, window.y + row)
            };
            let mut start = span.to as usize;
            reserve(&mut member.cells, result.path_cells as usize, PATHS)?;
            member.has_open_tie = result.has_open_tie != 0;
            let records = &joined[net.first_pin as usize..][..result.joined_pins as usize];
            for record in records {
                let end = (span.to + record.end) as usize;
                // The kernel's paths begin at the tree.
                let path = cells[start..end].iter().rev().map(|&index| cell_at(index));
                member.push((record.pin - net.first_pin) as usize, record.cost, path)?;
                start = end;
            }
        }
        Ok(())
    }

    /// Continues the unfinished nets: makes boxes grow, or joins a pin by a search.
    fn go_on<G: Gpu>(
        &mut self,
        gpu: &G,
        grid: &DeviceGrid<G>,
        nets: &[Net],
        limits: &Limits,
        room: u64,
        state: &mut DeviceState<G>,
    ) -> Result<()> {
        let mut distance_bounds = state.distance_bounds.to_vec()?;
        let mut stuck = Vec::new();
        for i in 0..self.members.len() {
            self.nets[i].first_added = 0;
            self.nets[i].end_added = 0;
            if self.members[i].state != State::Open {
                // The kernel has nothing left to do for it, and its fields may be overwritten.
                self.nets[i].end_pin = self.nets[i].first_pin;
                continue;
            }
            let wider = self.wider_boxes(i, &distance_bounds, nets, limits, room)?;
            if !wider.is_empty() {
                for (pin, pin_room, pin_box) in wider {
                    self.grow_again(i, pin, pin_room, pin_box)?;
                }
            } else {
                push(&mut stuck, i, PINS)?;
            }
        }
        let are_short = |&i: &usize| self.members[i].may_have_full_boxes();
        if stuck.iter().any(are_short) && self.use_full_boxes(nets, room)? {
            return Ok(());
        }
        let mut searched = Vec::new();
        for i in stuck {
            let member = &self.members[i];
            let is_worthwhile = member.has_open_tie || member.open().nth(FEW_PINS).is_some();
            if member.searches < MAX_SEARCHES && is_worthwhile {
                push(&mut searched, i, PINS)?;
            } else {
                self.members[i].state = State::GivenUp(Fallback::Searches);
            }
        }
        if searched.is_empty() {
            return Ok(());
        }
        let mut paths = Vec::new();
        reserve(&mut paths, searched.len(), PINS)?;
        for &i in &searched {
            paths.push(self.members[i].next_path(&nets[self.members[i].net])?);
        }
        let windows = searched.iter().map(|&i| self.members[i].window);
        let windows = collect(windows, PINS)?;
        let routes = match tiles::route(gpu, grid, &paths, &windows) {
            // There may be enough memory once fields have freed theirs.
            Err(error) if error.is_out_of_memory() => {
                for i in searched {
                    self.members[i].state = State::GivenUp(Fallback::OutOfMemory);
                }
                return Ok(());
            }
            routes => routes?,
        };
        for (&i, route) in searched.iter().zip(&routes) {
            let member = &mut self.members[i];
            let net = &nets[member.net];
            member.searches += 1;
            let path = route.connections().next();
            // The first pin with that cell was the nearest.
            let nearest = path.and_then(|path| {
                let has_it = |&pin: &usize| net.pins[pin].cells.contains(&path.cells[0]);
                member.open().find(has_it).map(|pin| (pin, path))
            });
            let Some((pin, path)) = nearest else {
                // No path reaches any of them.
                member.state = State::Whole;
                continue;
            };
            let xy = |cell: &Cell| CellXy {
                x: cell.x,
                y: cell.y,
            };
            self.nets[i].first_added = self.added.len() as u32;
            let cells = path.cells.iter().chain(&net.pins[pin].cells);
            // planted: field-added
            extend(&mut self.added, cells.map(xy), PINS)?;
            self.nets[i].end_added = self.added.len() as u32;
            distance_bounds[self.nets[i].first_pin as usize + pin] = DistanceBound::JOINED;
            member.by_searches += 1;
            member.push(pin, path.cost, path.cells.iter().copied())?;
        }
        state.distance_bounds.write(&distance_bounds)
    }

    /// Makes the fields of all remaining pins grow again, in full boxes, which reuse the memory of
    /// earlier fields. Returns whether that memory, `room` cells, suffices; otherwise nothing
    /// changes.
    fn use_full_boxes(&mut self, nets: &[Net], room: u64) -> Result<bool> {
        let mut boxes = Vec::new();
        let mut cells = 0;
        for (i, member) in self.members.iter().enumerate() {
            let net = &nets[member.net];
            for pin in member.open().filter(|_| member.state == State::Open) {
                let pin_room = member.full_room.max(member.rooms[pin]);
                let pin_box = PinBox::around(&net.pins[pin], pin_room, member.window);
                cells += pin_box.cells();
                push(&mut boxes, (i, pin, pin_room, pin_box), PINS)?;
            }
        }
        if cells > room {
            return Ok(false);
        }
        // planted: full-boxes
        self.entries = 0;
        self.grown.clear();
        for (i, pin, pin_room, pin_box) in boxes {
            self.grow_again(i, pin, pin_room, pin_box)?;
        }
        Ok(true)
    }

    /// Makes the field of a net's pin grow again, in a box that extends `room` cells beyond it.
    fn grow_again(&mut self, i: usize, pin: usize, room: u32, pin_box: PinBox) -> Result<()> {
        let index = self.nets[i].first_pin + pin as u32;
        self.fields[index as usize].extent = pin_box.extent(self.entries);
        self.entries += pin_box.cells();
        self.members[i].rooms[pin] = room;
        let seed = Seed {
            pin: index,
            net: i as u32,
        };
        push(&mut self.grown, seed, PINS)
    }

    /// The pins of a net whose boxes are to grow, the new distance from pin to box border, and the
    /// new boxes; none if a search is better.
    fn wider_boxes(
        &self,
        i: usize,
        distance_bounds: &[DistanceBound],
        nets: &[Net],
        limits: &Limits,
        room: u64,
    ) -> Result<Vec<(usize, u32, PinBox)>> {
        let (member, net) = (&self.members[i], &self.nets[i]);
        if member.has_open_tie {
            return Ok(Vec::new());
        }
        let nearness = |pin: usize| distance_bounds[net.first_pin as usize + pin].nearness();
        let known = member.open().filter_map(|pin| match nearness(pin) {
            Nearness::At(distance) => Some(distance),
            _ => None,
        });
        // It may be unknown for every pin how near it is.
        let wanted = known
            .min()
            .map_or(u32::MAX, |nearest| (f64::from(nearest) * AHEAD) as u32);
        let short = member
            .open()
            .filter(|&pin| matches!(nearness(pin), Nearness::AtLeast(reach) if reach <= wanted));
        let limit = limits.cells(self.most_pins);
        let mut cells = self.entries;
        let mut wider = Vec::new();
        for pin in short {
            let before = member.rooms[pin];
            // Boxes are rounded up.
            let pin_room = ((f64::from(before) * GROWTH) as u32).max(before + GRAIN);
            let pin_room = pin_room.min(limits.room(self.most_pins)).max(before);
            let around = |room| PinBox::around(&nets[member.net].pins[pin], room, member.window);
            let pin_box = around(pin_room);
            cells += pin_box.cells();
            let grows = pin_box != around(before);
            let too_many = cells > room || cells - self.entries > GROWN_CELLS;
            if !grows || pin_box.cells() > limit || too_many {
                return Ok(Vec::new());
            }
            push(&mut wider, (pin, pin_room, pin_box), PINS)?;
        }
        Ok(wider)
    }
}
