//! Memory accesses: which element they touch, and whether they are allowed.

use super::accessed::{Accessed, DynamicArray};
use super::arguments::ViewArgument;
use super::event::{Event, Place, Source, Touch};
use super::fault::Fault;
use super::history::{Element, Stale};
use super::machine::{Block, Machine, SharedRegion};
use super::memory::Owner;
use super::shadow::{self, Before, Conflict, Kind, NoMemory};
use crate::atomic::ScopeKind;
use crate::backend::Access;

/// Static shared memory that a block can have, in bytes.
const STATIC_SHARED: usize = 48 << 10;

/// The region that an access lies in.
struct FoundRegion {
    number: usize,
    /// Offset of the access from the region's start, in bytes.
    offset: usize,
    /// Number of the launch, or of the block's life, that the region's records belong to.
    generation: u32,
    /// Whether the region lives as long as its block.
    is_short_lived: bool,
}

impl Machine {
    /// Records that the running thread has `array` in dynamic shared memory.
    pub(super) fn note_dynamic(&mut self, array: DynamicArray) {
        let slot = self.current / self.block_threads();
        let arrays = &mut self.blocks[slot].dynamic_arrays;
        // Equal arrays have equal names in reports: one of them is enough.
        let known =
            |other: &DynamicArray| (other.bytes(), other.size) == (array.bytes(), array.size);
        if !arrays.iter().any(known) {
            arrays.push(array);
        }
    }

    /// If the element at `address` lies in several arrays of the running block's dynamic shared
    /// memory, their names, that of the view at `start` first. `memory` is the address of that
    /// memory.
    fn overlapping(&self, memory: usize, start: usize, address: usize, size: usize) -> String {
        let arrays = &self.block(self.current).dynamic_arrays;
        let Some(first) = address.checked_sub(memory) else {
            return String::new();
        };
        let element = first..first.saturating_add(size);
        let mut there: Vec<&DynamicArray> = arrays
            .iter()
            .filter(|array| {
                let bytes = array.bytes();
                bytes.start < element.end && element.start < bytes.end
            })
            .collect();
        if there.len() < 2 {
            return String::new();
        }
        there.sort_by_key(|array| (array.offset != start - memory, array.size != size));
        let names: Vec<String> = there.iter().map(ToString::to_string).collect();
        format!(", where arrays overlap: {}", names.join(", and "))
    }

    /// Checks and records an access by the running thread.
    pub(super) fn access(&mut self, accessed: Accessed) -> Result<(), Fault> {
        let Accessed { access, source, .. } = accessed;
        let mut event = Event {
            thread: self.thread_id(self.current),
            touch: touch_of(access),
            source,
        };
        let Some(element) = self.element_of(&accessed, event)? else {
            return Ok(());
        };
        let found = self.region_of(&accessed, element, event)?;
        if let Access::CompareAndSwap { current } = access
            && value(element.address, element.bytes) != current
        {
            event.touch = Touch::FailedSwap;
        }
        let written = self.record(&accessed, element, &found, event)?;
        let stale = written.and_then(|written| self.weak(element, event.touch, written));
        self.stale = stale.as_ref().map(|stale| stale.value);
        if let Some(stale) = &stale {
            if !stale.initialised {
                let place = self.place(accessed.start, accessed.index, accessed.size);
                return Err(Fault::Uninitialised { event, place });
            }
            self.memory().note_stale_load(source);
        }
        self.order(access, event.touch, element.address, stale.as_ref());
        self.note_progress(accessed, element.address, element.bytes)
    }

    /// The memory to be accessed, `None` if it is empty. A fault unless the view contains it and it
    /// is aligned.
    #[inline]
    fn element_of(&mut self, accessed: &Accessed, event: Event) -> Result<Option<Element>, Fault> {
        let Accessed {
            start,
            index,
            count,
            len,
            size,
            alignment,
            ..
        } = *accessed;
        // A view may claim more bytes than there are addresses.
        let end = index
            .checked_add(count)
            .filter(|&end| end <= len)
            .and_then(|end| start.checked_add(end.checked_mul(size)?));
        if end.is_none() {
            return Err(Fault::OutOfBounds {
                event,
                place: self.place(start, index, size),
                count,
                len,
            });
        }
        let address = start + index * size;
        let bytes = count * size;
        if bytes == 0 {
            return Ok(None);
        }
        if !address.is_multiple_of(alignment) {
            return Err(Fault::Misaligned {
                event,
                place: self.place(start, index, size),
                address,
                alignment,
            });
        }
        Ok(Some(Element { address, bytes }))
    }

    /// The region that contains the element, if the running thread may access all of the element.
    #[inline]
    fn region_of(
        &mut self,
        accessed: &Accessed,
        element: Element,
        event: Event,
    ) -> Result<FoundRegion, Fault> {
        let Accessed {
            start, index, size, ..
        } = *accessed;
        let Some(number) = self.find(start) else {
            let place = self.place(start, index, size);
            return Err(Fault::NotDeviceMemory { event, place });
        };

        let block = self.block(self.current).index;
        // SAFETY: as in `memory`, spelt out so that other fields can be borrowed beside it.
        let region = unsafe { &mut *self.memory }.region(number);
        let (is_short_lived, generation) = match &region.owner {
            Owner::Device => (false, self.generation),
            Owner::Block { block: owner, .. } => {
                if *owner != block {
                    let owner = *owner;
                    let place = self.place(start, index, size);
                    return Err(Fault::ForeignSharedMemory {
                        event,
                        place,
                        owner,
                    });
                }
                (true, region.generation)
            }
        };
        let end = region.start + region.bytes;
        if element.address + element.bytes > end {
            return Err(Fault::OutOfBounds {
                event,
                place: self.place(start, index, size),
                count: accessed.count,
                len: (end - start) / size,
            });
        }
        Ok(FoundRegion {
            number,
            offset: element.address - region.start,
            generation,
            is_short_lived,
        })
    }

    /// Records the access in the region's shadow memory, which tells whether it conflicts with
    /// earlier ones. With weak memory, returns the result of
    /// [`Shadow::is_written`](super::shadow::Shadow::is_written) before the access.
    #[inline]
    fn record(
        &mut self,
        accessed: &Accessed,
        element: Element,
        found: &FoundRegion,
        event: Event,
    ) -> Result<Option<(bool, bool)>, Fault> {
        let block_scope = match accessed.access {
            Access::AtomicLoad { scope, .. } | Access::AtomicStore { scope, .. } => {
                !found.is_short_lived && scope == ScopeKind::Block
            }
            _ => false,
        };
        let access = shadow::Access {
            kind: Kind {
                touch: event.touch,
                block_scope,
            },
            bytes: element.bytes,
            source: accessed.source,
            slot: self.current,
            clocks: &self.clocks,
        };
        let (offset, generation) = (found.offset, found.generation);
        // SAFETY: as in `memory`, spelt out so that other fields can be borrowed beside it.
        let shadow = &mut unsafe { &mut *self.memory }.region(found.number).shadow;
        let is_weak = self.histories.is_some();
        let written = is_weak.then(|| shadow.is_written(offset, element.bytes, generation));
        let is_short_lived = found.is_short_lived;
        let noted = shadow.access(offset, access, generation, is_short_lived, &mut self.crowds);
        let what = "the notes on an array";
        let noted = noted.map_err(|NoMemory| Fault::OutOfMemory { what })?;
        if let Some(conflict) = noted {
            let place = self.place(accessed.start, accessed.index, accessed.size);
            return Err(self.conflict(conflict, event, place, element.bytes));
        }
        Ok(written)
    }

    /// Orders an atomic access after the release that it read, and later readers after it.
    #[inline]
    fn order(&mut self, access: Access, touch: Touch, address: usize, stale: Option<&Stale>) {
        let slot = self.current;
        let released = || match stale {
            Some(stale) => stale.released.clone(),
            None => self.clocks.released(address),
        };
        match access {
            Access::AtomicLoad { acquire, .. } => {
                let released = released();
                self.clocks.atomic_load(slot, released.as_ref(), acquire);
            }
            Access::AtomicStore { scope, release } => {
                let release = release.then_some(scope);
                self.clocks.atomic_store(slot, address, release, false);
            }
            Access::AtomicUpdate | Access::CompareAndSwap { .. } => {
                let released = released();
                self.clocks.atomic_load(slot, released.as_ref(), false);
                // A failed compare-and-swap only loads: it releases nothing.
                // planted: failed-swap-releases
                if touch == Touch::AtomicUpdate {
                    self.clocks.atomic_store(slot, address, None, true);
                }
            }
            Access::Load | Access::ReadOnlyLoad | Access::Store => {}
        }
    }

    /// Applies weak memory to a checked access of the running thread, just before it happens.
    /// Returns the stale value that a load gets, if any. `initialised` says whether the element had
    /// a value, `atomically` whether it was written atomically since its last plain write.
    fn weak(
        &mut self,
        element: Element,
        touch: Touch,
        (initialised, atomically): (bool, bool),
    ) -> Option<Stale> {
        let slot = self.current;
        let histories = self.histories.as_mut()?;
        match touch {
            Touch::AtomicLoad | Touch::FailedSwap if atomically => {
                let last = touch == Touch::FailedSwap;
                // SAFETY: as in `memory`.
                let trail = unsafe { &mut *self.memory }.trail.as_mut();
                histories.load(element, last, slot, &self.clocks, trail)
            }
            Touch::AtomicStore | Touch::AtomicUpdate => {
                // SAFETY: the access was checked.
                unsafe {
                    histories.write(element, !atomically, initialised, slot, &self.clocks);
                }
                None
            }
            _ => None,
        }
    }

    fn conflict(&self, conflict: Conflict, event: Event, place: Place, bytes: usize) -> Fault {
        let other = |before: Before| Event {
            thread: self.thread_of(before.thread),
            touch: before.touch,
            source: before.source,
        };
        match conflict {
            Conflict::Uninitialised => Fault::Uninitialised { event, place },
            Conflict::Race(before) => Fault::DataRace {
                place,
                first: other(before),
                second: event,
            },
            Conflict::Widths(before, earlier) => Fault::MixedWidths {
                place,
                first: other(before),
                second: event,
                bytes: (earlier as u32, bytes as u32),
            },
            Conflict::Narrow(before) => Fault::ScopeTooNarrow {
                place,
                first: other(before),
                second: event,
            },
            Conflict::ReadOnly(before) => {
                let before = other(before);
                let (load, store) = if event.touch == Touch::ReadOnlyLoad {
                    (event, before)
                } else {
                    (before, event)
                };
                Fault::ReadOnlyWritten { place, load, store }
            }
        }
    }

    /// The region that contains a view which starts at `start`.
    pub(super) fn find(&mut self, start: usize) -> Option<usize> {
        let hash = (start >> 4 ^ start >> 12) % self.found.len();
        let (key, region) = self.found[hash];
        if key == start && self.memory().holds(region, start) {
            return Some(region);
        }
        let region = self.memory().find(start)?;
        self.found[hash] = (start, region);
        Some(region)
    }

    /// Name, in messages, of element `index` of the view that starts at `start`.
    pub(super) fn place(&mut self, start: usize, index: usize, size: usize) -> Place {
        let index = index.cast_signed();
        let named = |empty: bool| {
            let named: Vec<_> = self
                .views
                .iter()
                .filter(|view| view.start == start && (view.bytes() == 0) == empty)
                .map(|view| format!("`{}`", view.name))
                .collect();
            (!named.is_empty()).then(|| named.join(" or "))
        };
        if let Some(view) = named(false) {
            return Place { view, index };
        }
        let within = self
            .views
            .iter()
            .find(|view| start >= view.start && start - view.start < view.bytes());
        if let Some(view) = within {
            let view = format!("`{}` from byte {} on", view.name, start - view.start);
            return Place { view, index };
        }
        if let Some(view) = named(true) {
            return Place { view, index };
        }
        let view = match self.find(start) {
            Some(number) => {
                let is_dynamic = self
                    .shared
                    .iter()
                    .any(|shared| shared.region == number && shared.site == 0);
                // SAFETY: as in `memory`.
                let region = unsafe { &mut *self.memory }.region(number);
                match &region.owner {
                    Owner::Block { label, .. } => {
                        let mut name = label.clone();
                        if start != region.start {
                            name += &format!(" from byte {} on", start - region.start);
                        }
                        if is_dynamic {
                            let address =
                                start.saturating_add_signed(index.wrapping_mul(size.cast_signed()));
                            name += &self.overlapping(region.start, start, address, size);
                        }
                        name
                    }
                    Owner::Device => format!(
                        "an array of {} bytes that is no argument, from byte {} on",
                        region.bytes,
                        start - region.start
                    ),
                }
            }
            None => format!("a view of {size} bytes per element at the address {start:#x}"),
        };
        Place { view, index }
    }

    /// Start of the running block's memory for the array declared at `site`.
    pub(super) fn shared(
        &mut self,
        site: usize,
        bytes: usize,
        source: Source,
        label: impl FnOnce() -> String,
    ) -> Result<usize, Fault> {
        let slot = self.current / self.block_threads();
        let &Block { number, index, .. } = &self.blocks[slot];
        let known = self
            .shared
            .iter()
            .position(|shared| shared.slot == slot && shared.site == site);
        let place = match known {
            Some(place) => place,
            None => {
                let owner = Owner::Block {
                    block: index,
                    label: label(),
                };
                let what = "shared memory";
                let region = self.memory().add(bytes, owner);
                let region = region.map_err(|_| Fault::OutOfMemory { what })?;
                self.shared.push(SharedRegion {
                    slot,
                    site,
                    region,
                    block: None,
                });
                self.shared.len() - 1
            }
        };
        let region = self.shared[place].region;
        if self.shared[place].block != Some(number) {
            self.shared[place].block = Some(number);
            self.memory().renew(region, index);
            let start = self.memory().region(region).start;
            self.clocks.forget(start, bytes);
            if site != 0 {
                let total = self.blocks[slot].shared_bytes + bytes;
                // Static and dynamic arrays share one memory.
                let dynamic = self.config.dynamic_shared as usize;
                let per_block = self.settings.limits.shared_per_block as usize;
                let limit = STATIC_SHARED.min(per_block - dynamic);
                if total > limit {
                    return Err(Fault::TooMuchShared {
                        thread: self.thread_id(self.current),
                        source,
                        bytes: total,
                        limit,
                    });
                }
                self.blocks[slot].shared_bytes = total;
            }
        }
        Ok(self.memory().region(region).start)
    }

    /// A fault for the first nonzero element that should be zero when the kernel ends.
    pub(super) fn not_zero(&mut self) -> Option<Fault> {
        for view in 0..self.views.len() {
            let ViewArgument {
                start,
                element,
                zero_at_exit,
                ..
            } = self.views[view];
            if !zero_at_exit {
                continue;
            }
            let Some(region) = self.find(start) else {
                continue;
            };
            // SAFETY: as in `memory`.
            let region = unsafe { &mut *self.memory }.region(region);
            let bytes = self.views[view]
                .bytes()
                .min(region.start + region.bytes - start);
            let now = region.bytes_from(start, bytes);
            let Some(byte) = now.iter().position(|&byte| byte != 0) else {
                continue;
            };
            let last = region.shadow.last_writer(
                start - region.start + byte,
                self.generation,
                &self.crowds,
            );
            return Some(Fault::NotZeroAtExit {
                place: Place {
                    view: format!("`{}`", self.views[view].name),
                    index: (byte / element).cast_signed(),
                },
                last: last.map(|before| Event {
                    thread: self.thread_of(before.thread),
                    touch: before.touch,
                    source: before.source,
                }),
            });
        }
        None
    }
}

fn touch_of(access: Access) -> Touch {
    match access {
        Access::Load => Touch::Load,
        Access::ReadOnlyLoad => Touch::ReadOnlyLoad,
        Access::Store => Touch::Store,
        Access::AtomicLoad { .. } => Touch::AtomicLoad,
        Access::AtomicStore { .. } => Touch::AtomicStore,
        // Of a compare-and-swap: unless it fails.
        Access::AtomicUpdate | Access::CompareAndSwap { .. } => Touch::AtomicUpdate,
    }
}

/// The bits of the element of 4 or 8 bytes at `address`, an address in the device's memory (already
/// checked).
fn value(address: usize, bytes: usize) -> u64 {
    // SAFETY: the caller has checked the address, and that it is a multiple of the element's size.
    unsafe {
        if bytes == 4 {
            (address as *const u32).read().into()
        } else {
            (address as *const u64).read()
        }
    }
}
