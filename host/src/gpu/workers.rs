//! The scheduler of bands: threads that each have a queue of a GPU, or another means to work, and
//! take the next task when they are free.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Builder, JoinHandle, Scope};

use crate::error::{Error, Result};

/// Workers on tasks `T` with results `R`. Any free worker takes the next task; results come in the
/// order of the tasks.
///
/// Dropping it leaves out tasks that no worker has begun, and waits for the others.
pub(crate) struct Workers<T, R> {
    /// `None` once there are no more tasks.
    tasks: Option<Sender<(u64, T)>>,
    results: Receiver<(u64, thread::Result<R>)>,
    /// Results that are not the next one in order.
    waiting: BTreeMap<u64, R>,
    /// The number of workers.
    len: u64,
    started: u64,
    /// The number of results that have come, and of those that were handed on.
    received: u64,
    finished: u64,
    /// The threads, unless a scope has them.
    threads: Vec<JoinHandle<()>>,
}

impl<T: Send, R: Send> Workers<T, R> {
    /// One worker for each function of `works`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the system provides no thread.
    pub(crate) fn new<W>(works: impl IntoIterator<Item = W>) -> Result<Self>
    where
        T: 'static,
        R: 'static,
        W: FnMut(T) -> R + Send + 'static,
    {
        let mut threads = Vec::new();
        let mut workers = Self::spawn(works, |builder, serve| {
            threads.push(builder.spawn(serve)?);
            Ok(())
        })?;
        workers.threads = threads;
        Ok(workers)
    }

    /// One worker for each function of `works`, whose threads `scope` waits for.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the system provides no thread.
    pub(crate) fn in_scope<'scope, W>(
        scope: &'scope Scope<'scope, '_>,
        works: impl IntoIterator<Item = W>,
    ) -> Result<Self>
    where
        T: 'scope,
        R: 'scope,
        W: FnMut(T) -> R + Send + 'scope,
    {
        Self::spawn(works, |builder, serve| {
            builder.spawn_scoped(scope, serve).map(drop)
        })
    }

    fn spawn<'a, W>(
        works: impl IntoIterator<Item = W>,
        mut spawn: impl FnMut(Builder, Box<dyn FnOnce() + Send + 'a>) -> std::io::Result<()>,
    ) -> Result<Self>
    where
        T: 'a,
        R: 'a,
        W: FnMut(T) -> R + Send + 'a,
    {
        const STACK: usize = 2 << 20;

        let (tasks, received) = channel();
        let received = Arc::new(Mutex::new(received));
        let (sender, results) = channel();
        let mut len = 0;
        for work in works {
            let (received, sender) = (Arc::clone(&received), sender.clone());
            let builder = Builder::new().name("bands".into()).stack_size(STACK);
            let serve = Box::new(move || serve(&received, &sender, work));
            spawn(builder, serve).map_err(|_| Error::OutOfMemory {
                what: "a thread for a GPU",
                bytes: STACK as u64,
            })?;
            len += 1;
        }
        Ok(Self {
            tasks: Some(tasks),
            results,
            waiting: BTreeMap::new(),
            len,
            started: 0,
            received: 0,
            finished: 0,
            threads: Vec::new(),
        })
    }

    /// The number of workers.
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are as many tasks as workers whose results have not been handed on.
    pub(crate) fn is_full(&self) -> bool {
        self.started - self.finished >= self.len
    }

    /// Waits until a worker has no task.
    pub(crate) fn wait_for_free(&mut self) {
        while self.started - self.received >= self.len {
            self.receive(true);
        }
    }

    /// Hands over a task.
    pub(crate) fn start(&mut self, task: T) {
        // Sending fails only once all workers have ended, which the next result tells.
        let _ = self
            .tasks
            .as_ref()
            .map(|tasks| tasks.send((self.started, task)));
        self.started += 1;
    }

    /// Waits for the result of the oldest task; `None` if there is none.
    pub(crate) fn finish(&mut self) -> Option<R> {
        if self.finished == self.started {
            return None;
        }
        loop {
            if let Some(result) = self.next_waiting() {
                return Some(result);
            }
            self.receive(true);
        }
    }

    /// The result of the oldest task, if it is done.
    pub(crate) fn try_finish(&mut self) -> Option<R> {
        while self.received < self.started && self.receive(false) {}
        self.next_waiting()
    }

    fn next_waiting(&mut self) -> Option<R> {
        let result = self.waiting.remove(&self.finished)?;
        self.finished += 1;
        Some(result)
    }

    /// Takes a result from the workers, for which it may wait. Passes on a worker's panic.
    fn receive(&mut self, waits: bool) -> bool {
        let result = if waits {
            self.results.recv().ok()
        } else {
            match self.results.try_recv() {
                Ok(result) => Some(result),
                Err(std::sync::mpsc::TryRecvError::Empty) => return false,
                Err(std::sync::mpsc::TryRecvError::Disconnected) => None,
            }
        };
        match result {
            Some((number, Ok(result))) => {
                self.waiting.insert(number, result);
                self.received += 1;
                true
            }
            Some((_, Err(panic))) => resume_unwind(panic),
            None => panic!("all threads for GPUs have ended before their tasks"),
        }
    }
}

impl<T, R> Drop for Workers<T, R> {
    fn drop(&mut self) {
        self.tasks = None;
        for thread in self.threads.drain(..) {
            // A panic was passed on where its result was awaited, or concerns nobody.
            let _ = thread.join();
        }
    }
}

/// Does tasks until no more can come, nobody waits for results, or one panics.
fn serve<T, R>(
    tasks: &Mutex<Receiver<(u64, T)>>,
    results: &Sender<(u64, thread::Result<R>)>,
    mut work: impl FnMut(T) -> R,
) {
    loop {
        // Nobody panics while holding it.
        let next = tasks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((number, task)) = next else {
            return;
        };
        let result = catch_unwind(AssertUnwindSafe(|| work(task)));
        let has_panicked = result.is_err();
        if results.send((number, result)).is_err() || has_panicked {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::time::Duration;

    use super::*;

    /// The slower the earlier: results come in order all the same.
    #[test]
    fn results_come_in_the_order_of_tasks() {
        let work = |n: u64| {
            thread::sleep(Duration::from_millis((n * 7) % 5));
            n * n
        };
        let mut workers = Workers::new(vec![work; 3]).expect("threads");
        let (mut started, mut found) = (0, Vec::new());
        while found.len() < 50 {
            while started < 50 && !workers.is_full() {
                workers.start(started);
                started += 1;
            }
            found.extend(workers.finish());
        }
        assert_eq!(workers.finish(), None);
        assert_eq!(found, (0..50).map(|n| n * n).collect::<Vec<_>>());
    }

    #[test]
    fn a_free_worker_takes_the_next_task() {
        let done = AtomicUsize::new(0);
        thread::scope(|scope| {
            // The first task takes as long as all others.
            let work = |n: usize| {
                while n == 0 && done.load(Relaxed) < 20 {
                    thread::yield_now();
                }
                done.fetch_add(1, Relaxed);
                n
            };
            let mut workers = Workers::in_scope(scope, [work, work]).expect("threads");
            for n in 0..21 {
                workers.wait_for_free();
                workers.start(n);
            }
            let mut found = Vec::new();
            while let Some(n) = workers.finish() {
                found.push(n);
                found.extend(workers.try_finish());
            }
            assert_eq!(found, (0..21).collect::<Vec<_>>());
        });
    }

    #[test]
    fn panics_reach_whoever_waits() {
        let work = |n: u32| assert_ne!(n, 2, "the third task");
        let mut workers = Workers::new([work, work]).expect("threads");
        let all = catch_unwind(AssertUnwindSafe(|| {
            for n in 0..4 {
                workers.start(n);
            }
            while workers.finish().is_some() {}
        }));
        let panic = all.expect_err("a panic");
        let said = panic.downcast_ref::<String>().expect("a message");
        assert!(said.contains("the third task"), "{said}");
    }

    #[test]
    fn tasks_that_nobody_waits_for_are_left_out() {
        let begun = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&begun);
        let work = move |()| {
            count.fetch_add(1, Relaxed);
        };
        let mut workers = Workers::new([work]).expect("a thread");
        workers.start(());
        assert_eq!(workers.finish(), Some(()));
        drop(workers);
        assert_eq!(begun.load(Relaxed), 1);
    }
}
