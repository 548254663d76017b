//! All schedules of a small kernel, up to a bound of preemptions.
//!
//! A run makes a choice wherever several threads could go on, and wherever a load may return
//! several values. Its [`Choices`] determine the run completely, so schedules are the paths of a
//! tree. The tree is searched depth first: each run repeats the previous run up to its last choice
//! with an untried option, takes that option, and then takes the first option of every later
//! choice. The first option lets the running thread go on, or returns the last value.
//!
//! Most mistakes need few preemptions, and far fewer schedules have few preemptions. So schedules
//! without a preemption are tried first, then those with one, and so on (iterative context
//! bounding, as in CHESS).

use core::fmt;
use core::str::FromStr;

/// How far [`Emulator::explore`](super::Emulator::explore) goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bounds {
    /// How often a run may preempt a thread that could go on. Other switches do not count: at a
    /// thread's end, at a barrier, or while a thread waits in a loop.
    pub preemptions: u32,
    /// How many loads of a run may return an overwritten value.
    pub stale_loads: u32,
    /// Runs after which the search ends, complete or not.
    pub runs: u64,
}

impl Bounds {
    /// Up to `preemptions` preemptions and one stale load per run, and 100,000 runs.
    #[must_use]
    pub const fn preemptions(preemptions: u32) -> Self {
        Self {
            preemptions,
            stale_loads: 1,
            runs: 100_000,
        }
    }

    /// Sets the number of stale loads per run.
    #[must_use]
    pub const fn stale_loads(mut self, stale_loads: u32) -> Self {
        self.stale_loads = stale_loads;
        self
    }

    /// Sets the number of runs after which the search ends.
    #[must_use]
    pub const fn runs(mut self, runs: u64) -> Self {
        self.runs = runs;
        self
    }
}

/// The extent of an exploration without a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explored {
    /// Different schedules.
    pub schedules: u64,
    /// Whether these are all schedules within the bounds. If not, the search has reached
    /// [`Bounds::runs`].
    pub is_complete: bool,
}

/// Why an exploration ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExploreError<E> {
    /// A run failed.
    Failed {
        /// Its choices, for [`Emulator::repeat`](super::Emulator::repeat).
        choices: Choices,
        /// The number of the schedule, from 1 on.
        schedule: u64,
        /// What the run returned.
        error: E,
    },
    /// A run that began like an earlier one continued differently: its code depends on something
    /// outside the emulator, such as the time or a random number.
    NotRepeatable {
        /// The choices of the earlier run up to that point.
        choices: Choices,
    },
}

impl<E: fmt::Display> fmt::Display for ExploreError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed {
                choices,
                schedule,
                error,
            } => write!(f, "{error} (schedule {schedule}, choices \"{choices}\")"),
            Self::NotRepeatable { choices } => write!(
                f,
                "after the choices \"{choices}\", the emulator had other options than the time \
                 before: what is explored must do the same each time"
            ),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for ExploreError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed { error, .. } => Some(error),
            Self::NotRepeatable { .. } => None,
        }
    }
}

/// The choices of a run, which determine its schedule. The text form lists each choice other than
/// the first option, as the choice's index in the run and the option, such as `3:1 17:2`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Indices and options, in order.
    taken: Vec<(u32, u32)>,
}

impl fmt::Display for Choices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (place, option)) in self.taken.iter().enumerate() {
            let space = if i == 0 { "" } else { " " };
            write!(f, "{space}{place}:{option}")?;
        }
        Ok(())
    }
}

/// A text that is not the text form of any [`Choices`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotChoices {
    /// The part that is wrong.
    part: String,
}

impl fmt::Display for NotChoices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a place and an option, such as `3:1`, after those before it",
            self.part
        )
    }
}

impl std::error::Error for NotChoices {}

impl FromStr for Choices {
    type Err = NotChoices;

    fn from_str(text: &str) -> Result<Self, NotChoices> {
        let mut taken: Vec<(u32, u32)> = Vec::new();
        for part in text.split_whitespace() {
            let pair = part
                .split_once(':')
                .and_then(|(place, option)| Some((place.parse().ok()?, option.parse().ok()?)))
                .filter(|(place, _)| taken.last().is_none_or(|(last, _)| last < place));
            match pair {
                Some(pair) => taken.push(pair),
                None => return Err(NotChoices { part: part.into() }),
            }
        }
        Ok(Self { taken })
    }
}

/// A choice that was made.
#[derive(Clone, Copy, Debug)]
struct Choice {
    option: u32,
    /// The number of options.
    options: u32,
}

/// The choices of a run: those that it repeats, and those that it has made.
#[derive(Debug)]
pub(super) struct Trail {
    choices: Vec<Choice>,
    /// How many of them the run has made.
    made: usize,
    /// Preemptions left to the run.
    preemptions: u32,
    stale_loads: u32,
    /// Index of the first choice whose options differ from those of the repeated run.
    differs_at: Option<usize>,
    /// Whether the numbers of options are unknown: the choices come from a text.
    is_given: bool,
}

impl Trail {
    fn new(bounds: Bounds, preemptions: u32, choices: Vec<Choice>) -> Self {
        Self {
            choices,
            made: 0,
            preemptions,
            stale_loads: bounds.stale_loads,
            differs_at: None,
            is_given: false,
        }
    }

    /// The trail of a run that makes `choices`.
    pub(super) fn given(choices: &Choices) -> Self {
        let first = Choice {
            option: 0,
            options: 1,
        };
        let mut all = Vec::new();
        for &(place, option) in &choices.taken {
            all.resize(place as usize, first);
            all.push(Choice { option, options: 1 });
        }
        Self {
            choices: all,
            made: 0,
            preemptions: u32::MAX,
            stale_loads: u32::MAX,
            differs_at: None,
            is_given: true,
        }
    }

    /// Chooses one of `options` options; the first one if `is_bound`.
    fn choose(&mut self, options: usize, is_bound: bool) -> usize {
        if options < 2 {
            return 0;
        }
        // Counted even where the bound leaves no choice, so that indices do not depend on it.
        let options = if is_bound { 1 } else { options as u32 };
        if self.made == self.choices.len() {
            self.choices.push(Choice { option: 0, options });
        }
        let choice = &mut self.choices[self.made];
        if self.is_given {
            choice.options = options;
        } else if choice.options != options {
            self.differs_at.get_or_insert(self.made);
        }
        self.made += 1;
        choice.option.min(options - 1) as usize
    }

    /// Chooses one of `options` threads; if `preempts`, all but the first preempt the running
    /// thread.
    pub(super) fn choose_thread(&mut self, options: usize, preempts: bool) -> usize {
        let option = self.choose(options, preempts && self.preemptions == 0);
        self.preemptions -= u32::from(preempts && option > 0);
        option
    }

    /// Chooses one of `options` values of an element; 0 is the last one.
    pub(super) fn choose_value(&mut self, options: usize) -> usize {
        let option = self.choose(options, self.stale_loads == 0);
        self.stale_loads -= u32::from(option > 0);
        option
    }

    /// The first `count` choices.
    fn first(&self, count: usize) -> Choices {
        let taken = (0..)
            .zip(&self.choices[..count])
            .filter(|(_, choice)| choice.option > 0)
            .map(|(place, choice)| (place, choice.option))
            .collect();
        Choices { taken }
    }

    /// The choices that the run has made.
    pub(super) fn choices(&self) -> Choices {
        self.first(self.made)
    }

    /// The choices of the next run; `None` if all have been tried.
    fn next(mut self) -> Option<Vec<Choice>> {
        while let Some(last) = self.choices.last_mut() {
            if last.option + 1 < last.options {
                last.option += 1;
                return Some(self.choices);
            }
            self.choices.pop();
        }
        None
    }
}

/// Calls `run` until all schedules have been tried. `run` makes the choices of the trail it
/// is given, and returns the trail.
pub(super) fn explore<E>(
    bounds: Bounds,
    mut run: impl FnMut(Trail) -> (Trail, Result<(), E>),
) -> Result<Explored, ExploreError<E>> {
    let (mut runs, mut schedules) = (0, 0);
    for preemptions in 0..=bounds.preemptions {
        let mut choices = Some(Vec::new());
        let mut more = false;
        while let Some(begin) = choices {
            if runs == bounds.runs {
                return Ok(Explored {
                    schedules,
                    is_complete: false,
                });
            }
            runs += 1;
            let (trail, result) = run(Trail::new(bounds, preemptions, begin));
            // Schedules with fewer preemptions were tried before.
            let is_new = trail.preemptions == 0;
            schedules += u64::from(is_new);
            more |= is_new;
            if let Err(error) = result {
                return Err(ExploreError::Failed {
                    choices: trail.choices(),
                    schedule: schedules,
                    error,
                });
            }
            if trail.differs_at.is_some() || trail.made < trail.choices.len() {
                let count = trail.differs_at.unwrap_or(trail.made);
                return Err(ExploreError::NotRepeatable {
                    choices: trail.first(count),
                });
            }
            choices = trail.next();
        }
        if !more {
            // No run has as many preemptions.
            break;
        }
    }
    Ok(Explored {
        schedules,
        is_complete: true,
    })
}
