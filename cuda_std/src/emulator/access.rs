//! Accesses to memory: what they touch, and whether they may.

use super::arguments::ViewArgument;
use super::fault::{Event, Fault, Place, Source, Touch};
use super::history::{Element, Stale};
use super::machine::{Block, Machine, SharedRegion};
use super::memory::Owner;
use super::shadow::{Before, Conflict, Kind, NoMemory};
use crate::atomic::ScopeKind;
use crate::backend::Access;

/// Static shared memory that a block can have, in bytes.
const STATIC_SHARED: usize = 48 << 10;

/// An access as the views describe it.
#[derive(Clone, Copy)]
pub(crate) struct Accessed {
    pub(crate) start: usize,
    pub(crate) index: usize,
    pub(crate) count: usize,
    pub(crate) len: usize,
    pub(crate) size: usize,
    pub(crate) alignment: usize,
    pub(crate) access: Access,
    pub(crate) source: Source,
}

impl Machine {
    /// An access, by the running thread.
    pub(super) fn access(&mut self, accessed: Accessed) -> Result<(), Fault> {
        let Accessed {
            start,
            index,
            count,
            len,
            size,
            alignment,
            access,
            source,
        } = accessed;
        let slot = self.current;
        let touch = touch_of(access);
        let mut event = Event {
            thread: self.thread_id(slot),
            touch,
            source,
        };
        // A view may claim more than there are addresses.
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
            return Ok(());
        }
        if !address.is_multiple_of(alignment) {
            return Err(Fault::Misaligned {
                event,
                place: self.place(start, index, size),
                address,
                alignment,
            });
        }
        let Some(region) = self.find(start) else {
            let place = self.place(start, index, size);
            return Err(Fault::NotDeviceMemory { event, place });
        };

        let block = self.block(slot).index;
        // SAFETY: as in `memory`, spelt out so that other fields can be borrowed beside it.
        let memory = unsafe { &mut *self.memory };
        let region = memory.region(region);
        let (short_lived, generation) = match &region.owner {
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
        if address + bytes > end {
            return Err(Fault::OutOfBounds {
                event,
                place: self.place(start, index, size),
                count,
                len: (end - start) / size,
            });
        }
        if let Access::CompareAndSwap { current } = access
            && value(address, bytes) != current
        {
            event.touch = Touch::FailedSwap;
        }
        let kind = Kind {
            touch: event.touch,
            block_scope: match access {
                Access::AtomicLoad { scope, .. } | Access::AtomicStore { scope, .. } => {
                    !short_lived && scope == ScopeKind::Block
                }
                _ => false,
            },
        };
        let offset = address - region.start;
        let before = self
            .histories
            .is_some()
            .then(|| region.shadow.is_written(offset, bytes, generation));
        let conflict = region
            .shadow
            .access(
                offset,
                bytes,
                kind,
                source,
                slot,
                generation,
                short_lived,
                &self.clocks,
                &mut self.crowds,
            )
            .map_err(|NoMemory| Fault::OutOfMemory {
                what: "the notes on an array",
            })?;
        if let Some(conflict) = conflict {
            let place = self.place(start, index, size);
            return Err(self.conflict(conflict, event, place));
        }

        let element = Element { address, bytes };
        let stale = before.and_then(|before| self.weak(element, event.touch, before));
        self.stale = stale.as_ref().map(|stale| stale.value);
        if let Some(stale) = &stale {
            if !stale.initialised {
                let place = self.place(start, index, size);
                return Err(Fault::Uninitialised { event, place });
            }
            self.memory().note_stale_load(source);
        }
        let released = || match &stale {
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
                // A failed exchange is a load alone: it releases nothing.
                // planted: failed-swap-releases
                if event.touch == Touch::AtomicUpdate {
                    self.clocks.atomic_store(slot, address, None, true);
                }
            }
            Access::Load | Access::ReadOnlyLoad | Access::Store => {}
        }
        self.note_progress(accessed, address, bytes)
    }

    /// What weak memory makes of an access of the running thread that was found right, and that is
    /// about to happen: the value that a load returns, if that is not what memory holds. Of the
    /// element: whether it had a value, and whether it was written atomically since it was written
    /// plainly.
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
                histories.load(element, touch == Touch::FailedSwap, slot, &self.clocks)
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

    fn conflict(&self, conflict: Conflict, event: Event, place: Place) -> Fault {
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

    /// The region that a view which starts at `start` lies in.
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

    /// How to call element `index` of the view that starts at `start`.
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
            Some(region) => {
                let region = self.memory().region(region);
                match &region.owner {
                    Owner::Block { label, .. } if start == region.start => label.clone(),
                    Owner::Block { label, .. } => {
                        format!("{label} from byte {} on", start - region.start)
                    }
                    Owner::Device => format!(
                        "an array of {} bytes that is no argument, from byte {} on",
                        region.bytes,
                        start - region.start
                    ),
                }
            }
            None => format!("a view of {size} bytes an element at the address {start:#x}"),
        };
        Place { view, index }
    }

    /// The running block's memory for the array that `site` stands for; where it starts.
    pub(super) fn shared(
        &mut self,
        site: usize,
        bytes: usize,
        source: Source,
        label: impl FnOnce() -> String,
    ) -> Result<usize, Fault> {
        let slot = self.current / self.block_threads();
        let Block { number, index, .. } = self.blocks[slot];
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
                // Both come out of one memory.
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

    /// The first element that should be zero when the kernel ends, and is not.
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
        // A compare-and-swap unless it fails.
        Access::AtomicUpdate | Access::CompareAndSwap { .. } => Touch::AtomicUpdate,
    }
}

/// The bits of the element of 4 or 8 bytes at `address`, which was checked to lie in the device's
/// memory.
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
