//! Progress reports.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::error::{Error, Result};

/// Called from time to time, on a working thread, with the share of the work that is done, from 0
/// to 1. [`ControlFlow::Break`] ends the work.
pub type ProgressFn = dyn Fn(f64) -> ControlFlow<()> + Send + Sync;

/// Who is told, if anyone.
pub(crate) type Receiver<'a> = Option<&'a (dyn Fn(f64) -> ControlFlow<()> + Send + Sync + 'a)>;

/// Passes on the share of the work that is done.
pub(crate) struct Progress<'a>(pub(crate) Receiver<'a>);

impl Progress<'_> {
    /// Reports to nobody.
    pub(crate) const SILENT: Self = Self(None);

    /// Does the steps `part` of `total`, and passes the progress of `work` on as a share of all
    /// steps.
    ///
    /// # Errors
    /// Those of `work`.
    pub(crate) fn part<T>(
        &self,
        part: Range<u64>,
        total: u64,
        work: impl FnOnce(&Progress<'_>) -> Result<T>,
    ) -> Result<T> {
        let Some(report) = self.0 else {
            return work(&Progress::SILENT);
        };
        let (start, len) = (part.start as f64, (part.end - part.start) as f64);
        let of_part = |share: f64| report((start + share * len) / total as f64);
        work(&Progress(Some(&of_part)))
    }

    /// Calls `first` and `second` at the same time if several threads are `worth_waking`, otherwise
    /// one after the other. Each makes up half of the progress.
    ///
    /// # Errors
    /// Those of `first`, or else of `second`.
    pub(crate) fn both<A: Send, B: Send>(
        &self,
        worth_waking: bool,
        first: impl FnOnce(&Progress<'_>) -> Result<A> + Send,
        second: impl FnOnce(&Progress<'_>) -> Result<B> + Send,
    ) -> Result<(A, B)> {
        // The share of each, as the bits of a number.
        let done = [0.0f64, 0.0].map(|share| AtomicU64::new(share.to_bits()));
        let report = |i: usize, share: f64| {
            done[i].store(share.to_bits(), Relaxed);
            let shares = done.iter().map(|done| f64::from_bits(done.load(Relaxed)));
            self.flow_share(shares.sum::<f64>() / 2.0)
        };
        let of_first = |share: f64| report(0, share);
        let of_second = |share: f64| report(1, share);
        let first = || {
            let result = first(&Progress(Some(&of_first)));
            done[0].store(1f64.to_bits(), Relaxed);
            result
        };
        let second = || second(&Progress(Some(&of_second)));
        if worth_waking {
            let (first, second) = rayon::join(first, second);
            Ok((first?, second?))
        } else {
            Ok((first()?, second()?))
        }
    }

    /// Reports, every 64 rows, that the borders up to row `y` of `height` are followed; following
    /// is four fifths of tracing.
    ///
    /// # Errors
    /// Those of [`report`](Self::report).
    pub(crate) fn report_followed(&self, y: u32, height: u32) -> Result<()> {
        if y.is_multiple_of(64) {
            self.report(u64::from(y) * 4, u64::from(height) * 5)?;
        }
        Ok(())
    }

    /// Reports that `done` of `total` steps are done.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if the work is to end.
    pub(crate) fn report(&self, done: u64, total: u64) -> Result<()> {
        go_on(self.flow(done, total))
    }

    /// As [`report`](Self::report), of a share from 0 to 1.
    ///
    /// # Errors
    /// Those of [`report`](Self::report).
    pub(crate) fn report_share(&self, share: f64) -> Result<()> {
        go_on(self.flow_share(share))
    }

    /// As [`report`](Self::report), with the receiver's answer.
    pub(crate) fn flow(&self, done: u64, total: u64) -> ControlFlow<()> {
        self.flow_share(done as f64 / total.max(1) as f64)
    }

    /// Calls `work` with a progress for each of `total` parts that are done at the same time, and
    /// with the number of parts that are done. A part's own share is of no interest, but the part
    /// must learn that the work is to end.
    pub(crate) fn of_many<R>(
        &self,
        total: u64,
        work: impl FnOnce(&Progress<'_>, &AtomicU64) -> R,
    ) -> R {
        let done = AtomicU64::new(0);
        let report = |_| self.flow(done.load(Relaxed), total);
        work(&Progress(self.0.is_some().then_some(&report)), &done)
    }

    fn flow_share(&self, share: f64) -> ControlFlow<()> {
        match self.0 {
            Some(report) => report(share),
            None => ControlFlow::Continue(()),
        }
    }
}

/// A receiver's answer as a result.
///
/// # Errors
/// [`Error::Cancelled`] if the work is to end.
pub(crate) fn go_on(flow: ControlFlow<()>) -> Result<()> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Cancelled),
    }
}
