//! Runs a kernel under many schedules, and compares the reports with the mistakes.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::io::Write;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Instant;

use cuda_std::emulator::{
    Emulator, EmulatorError, Event, Fault, Place, Schedule, Source, ThreadId, Touch, Waiting,
};

/// All ways to pick the next thread.
pub(crate) const SCHEDULES: [Schedule; 5] = [
    Schedule::Random,
    Schedule::Priorities,
    Schedule::Stalls,
    Schedule::Mixed,
    Schedule::InOrder,
];
/// Seeds per schedule.
const SEEDS: u64 = 4;
/// Seeds for a mistake that only some schedules show.
const MANY_SEEDS: u64 = 32;

static BROKEN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
/// The places of the tests' calls.
static TWINS: Mutex<BTreeSet<Source>> = Mutex::new(BTreeSet::new());
/// Runs of broken kernels and of twins; a schedule that is replayed counts once.
static RUNS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> core::ffi::c_int;
}

extern "C" fn summary() {
    let broken = BROKEN.lock().unwrap_or_else(PoisonError::into_inner).len();
    let [broken_runs, twin_runs] = RUNS.each_ref().map(|runs| runs.load(Ordering::Relaxed));
    let twins = TWINS.lock().unwrap_or_else(PoisonError::into_inner).len();
    let _ = writeln!(
        std::io::stdout(),
        "{broken} kernels, broken or launched wrongly, under {broken_runs} schedules; \
         {twins} checks of repaired twins under {twin_runs}"
    );
}

/// Has the numbers of kernels and schedules printed when the tests end.
fn count(broken: bool) {
    static ONCE: Once = Once::new();
    // SAFETY: the function lives as long as the process and may be called at its end.
    ONCE.call_once(|| assert_eq!(unsafe { atexit(summary) }, 0));
    RUNS[usize::from(!broken)].fetch_add(1, Ordering::Relaxed);
}

/// The error without what depends on where the host's memory lies.
pub(crate) fn without_addresses(mut error: EmulatorError) -> EmulatorError {
    if let EmulatorError::Launch(report) = &mut error
        && let Fault::Misaligned { address, .. } = &mut report.fault
    {
        *address %= 256;
    }
    error
}

/// The error that `run` ends with on a new emulator, or none.
fn error_of(
    run: impl Fn(&Emulator) -> Result<(), EmulatorError>,
    schedule: Schedule,
    seed: u64,
) -> Option<EmulatorError> {
    let gpu = Emulator::new(seed).with_schedule(schedule);
    run(&gpu).err().map(without_addresses)
}

/// Prints what a user sees first who tries seeds from 0 on, each with the schedule that it draws,
/// and after what time; benches/evidence/emulator.py reads it.
fn print_first(found: impl Fn(&Emulator) -> Option<String>) {
    let start = Instant::now();
    for seed in 0..MANY_SEEDS {
        if let Some(what) = found(&Emulator::new(seed)) {
            let seconds = start.elapsed().as_secs_f64();
            println!("first report: seed {seed}, {seconds:.6} s: {what}");
            return;
        }
    }
}

fn check_report(
    kernel: &'static str,
    error: EmulatorError,
    seed: u64,
    check: &impl Fn(&Fault),
) -> EmulatorError {
    // Shown if the check fails.
    println!("{error}");
    let EmulatorError::Launch(report) = &error else {
        panic!("not from a launch");
    };
    assert_eq!(
        (report.kernel, report.seed, report.launch),
        (kernel, seed, 0)
    );
    assert!(error.to_string().contains(report.fault.kind()));
    check(&report.fault);
    error
}

/// `run`, which launches `kernel`, fails under every schedule, as `check` wants it, and once more
/// in the same way.
pub(crate) fn always(
    kernel: &'static str,
    run: impl Fn(&Emulator) -> Result<(), EmulatorError>,
    check: impl Fn(&Fault),
) {
    BROKEN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(kernel);
    print_first(|gpu| run(gpu).err().map(|error| error.to_string()));
    for schedule in SCHEDULES {
        for seed in 0..SEEDS {
            count(true);
            println!("{schedule:?}, seed {seed}:");
            let error = error_of(&run, schedule, seed).expect("a fault");
            let error = check_report(kernel, error, seed, &check);
            assert_eq!(error_of(&run, schedule, seed), Some(error));
        }
    }
}

/// `run`, which launches `kernel`, fails under some schedules, as `check` wants it, and once more
/// in the same way.
pub(crate) fn sometimes(
    kernel: &'static str,
    run: impl Fn(&Emulator) -> Result<(), EmulatorError>,
    check: impl Fn(&Fault),
) {
    BROKEN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(kernel);
    let mut found = 0;
    for schedule in SCHEDULES {
        for seed in 0..MANY_SEEDS {
            count(true);
            println!("{schedule:?}, seed {seed}:");
            if let Some(error) = error_of(&run, schedule, seed) {
                found += 1;
                let error = check_report(kernel, error, seed, &check);
                assert_eq!(error_of(&run, schedule, seed), Some(error));
            }
        }
    }
    assert!(found > 0, "no schedule shows it");
}

/// `run`, which launches `kernel`, gives another result than `right` under some schedules, and the
/// same when repeated.
pub(crate) fn sometimes_wrong<T: PartialEq + Debug>(
    kernel: &'static str,
    run: impl Fn(&Emulator) -> Result<Vec<T>, EmulatorError>,
    right: &[T],
) {
    BROKEN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(kernel);
    let output = |schedule, seed| {
        let gpu = Emulator::new(seed).with_schedule(schedule);
        run(&gpu).expect("no fault")
    };
    let mut wrong = 0;
    for schedule in SCHEDULES {
        for seed in 0..MANY_SEEDS {
            count(true);
            let found = output(schedule, seed);
            if found != right {
                wrong += 1;
                assert_eq!(output(schedule, seed), found);
            }
        }
    }
    assert!(wrong > 0, "no schedule shows it");
}

/// `run`, which launches a repaired kernel and checks its output, succeeds under every schedule.
#[track_caller]
pub(crate) fn never(run: impl Fn(&Emulator) -> Result<(), EmulatorError>) {
    TWINS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(Location::caller());
    for schedule in SCHEDULES {
        for seed in 0..2 * SEEDS {
            count(false);
            println!("{schedule:?}, seed {seed}:");
            let gpu = Emulator::new(seed).with_schedule(schedule);
            if let Err(error) = run(&gpu) {
                panic!("a false alarm: {error}");
            }
        }
    }
}

/// What `run` gives on a new emulator whose memory is weak or is not.
fn result_of<T>(
    run: impl Fn(&Emulator) -> Result<T, EmulatorError>,
    schedule: Schedule,
    seed: u64,
    weak: bool,
) -> T {
    println!("{schedule:?}, seed {seed}, weak: {weak}:");
    let gpu = Emulator::new(seed)
        .with_schedule(schedule)
        .with_weak_memory(weak);
    match run(&gpu) {
        Ok(result) => result,
        Err(error) => panic!("a false alarm: {error}"),
    }
}

/// `run`, which launches `kernel`, gives a result that is not `right` for some seeds if memory is
/// weak, and the same when repeated; never if memory is not weak, nor by default in order. Returns
/// how often it is wrong if the seeds decide whether memory is weak.
pub(crate) fn wrong_when_weak<T: PartialEq + Debug>(
    kernel: &'static str,
    run: impl Fn(&Emulator) -> Result<T, EmulatorError>,
    right: impl Fn(&T) -> bool,
) -> u32 {
    BROKEN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(kernel);
    print_first(|gpu| match run(gpu) {
        Ok(result) => (!right(&result)).then(|| format!("wrong result: {result:?}")),
        Err(error) => Some(error.to_string()),
    });
    let (mut wrong, mut by_default) = (0, 0);
    for schedule in [Schedule::Random, Schedule::Priorities, Schedule::Mixed] {
        for seed in 0..MANY_SEEDS {
            count(true);
            let result = result_of(&run, schedule, seed, true);
            if !right(&result) {
                wrong += 1;
                assert_eq!(result_of(&run, schedule, seed, true), result);
            }
            let result = run(&Emulator::new(seed).with_schedule(schedule));
            by_default += u32::from(!right(&result.expect("no fault")));
        }
    }
    println!(
        "wrong for {wrong} of {} seeds, by default for {by_default}",
        3 * MANY_SEEDS
    );
    assert!(wrong > 0, "weak memory does not show it");
    for seed in 0..SEEDS {
        let in_order = run(&Emulator::new(seed).with_schedule(Schedule::InOrder));
        assert!(right(&in_order.expect("no fault")));
        for schedule in SCHEDULES {
            let result = result_of(&run, schedule, seed, false);
            assert!(right(&result), "{result:?}: wrong anyway");
        }
    }
    by_default
}

/// `run`, which launches a repaired kernel, gives what is `right` under every schedule, also if
/// memory is weak.
#[track_caller]
pub(crate) fn never_when_weak<T: Debug>(
    run: impl Fn(&Emulator) -> Result<T, EmulatorError>,
    right: impl Fn(&T) -> bool,
) {
    TWINS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(Location::caller());
    for schedule in SCHEDULES {
        for seed in 0..MANY_SEEDS {
            count(false);
            let result = result_of(&run, schedule, seed, true);
            assert!(right(&result), "{result:?}");
        }
    }
}

/// A file of kernels: its name, and its text with the marks.
pub(crate) struct File(pub(crate) &'static str, pub(crate) &'static str);

/// The two threads of a race, in the order in which the test named their accesses.
pub(crate) struct Race {
    pub(crate) place: Place,
    pub(crate) threads: [ThreadId; 2],
}

impl File {
    /// The line with that mark.
    fn line(&self, mark: &str) -> u32 {
        let mark = format!("// @{mark}");
        let mut lines = (1..)
            .zip(self.1.lines())
            .filter(|(_, line)| line.ends_with(&mark));
        let (line, _) = lines.next().expect("a mark");
        assert_eq!(lines.next(), None, "one mark");
        line
    }

    pub(crate) fn is_at(&self, source: Source, mark: &str) -> bool {
        source.file().ends_with(self.0) && source.line() == self.line(mark)
    }

    #[track_caller]
    pub(crate) fn source(&self, source: Source, mark: &str) {
        assert!(source.file().ends_with(self.0), "{source}");
        assert_eq!(source.line(), self.line(mark));
    }

    #[track_caller]
    pub(crate) fn event(&self, event: &Event, touch: Touch, mark: &str) {
        assert_eq!(event.touch, touch);
        self.source(event.source, mark);
    }

    #[track_caller]
    pub(crate) fn waiting(&self, waiting: &Waiting, what: &str, mark: &str) {
        assert_eq!(waiting.what, what);
        self.source(waiting.source.expect("a place"), mark);
    }

    /// `place`, a file, line and column, is at the mark.
    #[track_caller]
    pub(crate) fn place(&self, place: &str, mark: &str) {
        let wanted = format!("{}:{}:", self.0, self.line(mark));
        assert!(place.contains(&wanted), "{place} is not at {wanted}");
    }

    /// `view` is the array that was declared as `array` at the mark.
    #[track_caller]
    pub(crate) fn array(&self, view: &str, array: &str, mark: &str) {
        assert!(view.starts_with(&format!("{array} of ")), "{view}");
        self.place(view, mark);
    }

    /// The fault is a race of two accesses, in any order.
    #[track_caller]
    pub(crate) fn race(&self, fault: &Fault, accesses: [(Touch, &str); 2]) -> Race {
        let Fault::DataRace {
            place,
            first,
            second,
        } = fault
        else {
            panic!("not a data race");
        };
        self.pair(place, [first, second], accesses)
    }

    /// The two events are those accesses, in any order, of two threads.
    #[track_caller]
    pub(crate) fn pair(
        &self,
        place: &Place,
        [first, second]: [&Event; 2],
        accesses: [(Touch, &str); 2],
    ) -> Race {
        assert_ne!(first.thread, second.thread);
        let is = |event: &Event, (touch, mark): (Touch, &str)| {
            event.touch == touch && self.is_at(event.source, mark)
        };
        let threads = if is(first, accesses[0]) && is(second, accesses[1]) {
            [first.thread, second.thread]
        } else {
            assert!(
                is(first, accesses[1]) && is(second, accesses[0]),
                "other accesses: {first}, {second}"
            );
            [second.thread, first.thread]
        };
        Race {
            place: place.clone(),
            threads,
        }
    }
}

/// The x coordinates of a thread's block and of the thread in it.
#[track_caller]
pub(crate) fn xs(id: ThreadId) -> (u32, u32) {
    assert_eq!((id.block.y, id.block.z), (0, 0));
    assert_eq!((id.thread.y, id.thread.z), (0, 0));
    (id.block.x, id.thread.x)
}

#[track_caller]
pub(crate) fn element(place: &Place, view: &str, index: isize) {
    assert_eq!((place.view.as_str(), place.index), (view, index));
}
