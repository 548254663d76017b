//! Times up to which threads, or blocks, are known: a map that is mostly merged with others.

/// A time for each of some numbers, which increase. Merging two takes one pass over both, copying
/// one a single allocation.
#[derive(Clone, Debug, Default)]
pub(super) struct Times(Vec<(u32, u32)>);

impl Times {
    /// Whether the time for `number` is `time` or later.
    pub(super) fn knows(&self, number: u32, time: u32) -> bool {
        self.place(number)
            .is_ok_and(|place| time <= self.0[place].1)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().copied()
    }

    /// Makes the time for `number` at least `time`.
    pub(super) fn raise(&mut self, number: u32, time: u32) {
        match self.place(number) {
            Ok(place) => self.0[place].1 = time.max(self.0[place].1),
            Err(place) => self.0.insert(place, (number, time)),
        }
    }

    /// Makes each time at least that of `other`.
    pub(super) fn add(&mut self, other: &Self) {
        self.add_all(other.0.iter().copied());
    }

    /// Makes each time at least that of `others`, whose numbers increase.
    pub(super) fn add_all(&mut self, others: impl DoubleEndedIterator<Item = (u32, u32)> + Clone) {
        let mut missing = 0;
        let mut place = 0;
        for (number, time) in others.clone() {
            while self.0.get(place).is_some_and(|&(known, _)| known < number) {
                place += 1;
            }
            match self.0.get_mut(place) {
                Some((known, least)) if *known == number => *least = time.max(*least),
                _ => missing += 1,
            }
        }
        if missing == 0 {
            return;
        }
        // The missing ones are merged in from the back.
        let mut from = self.0.len();
        let mut to = from + missing;
        self.0.resize(to, (0, 0));
        for (number, time) in others.rev() {
            while from > 0 && self.0[from - 1].0 > number {
                (from, to) = (from - 1, to - 1);
                self.0[to] = self.0[from];
            }
            if from == 0 || self.0[from - 1].0 != number {
                to -= 1;
                self.0[to] = (number, time);
            }
        }
    }

    /// The place of `number`, or the one where it would be.
    fn place(&self, number: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&number, |&(known, _)| known)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn times_are_those_of_a_map() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..2000 {
            let mut map = BTreeMap::new();
            let mut times = Times::default();
            for _ in 0..random.u32(..6) {
                let most = [3, 20, 300][random.usize(..3)];
                let mut other = Times::default();
                for _ in 0..random.u32(..40) {
                    let (number, time) = (random.u32(..most), random.u32(1..9));
                    other.raise(number, time);
                    let least: &mut u32 = map.entry(number).or_default();
                    *least = time.max(*least);
                }
                times.add(&other);
                if random.bool() {
                    let (number, time) = (random.u32(..most), random.u32(1..9));
                    times.raise(number, time);
                    let least = map.entry(number).or_default();
                    *least = time.max(*least);
                }
                assert!(times.iter().eq(map.iter().map(|(&a, &b)| (a, b))));
            }
            for number in 0..301 {
                let time = map.get(&number).copied().unwrap_or(0);
                assert!(time == 0 || times.knows(number, time));
                assert!(!times.knows(number, time + 1));
            }
        }
    }
}
