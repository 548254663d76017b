//! Progress reports.

/// Called from time to time, on a working thread, with the share of the work that is done, from 0
/// to 1.
pub type ProgressFn = dyn Fn(f64) + Send + Sync;

/// Passes on the share of the work that is done.
pub(crate) struct Progress<'a>(pub(crate) Option<&'a (dyn Fn(f64) + Send + Sync + 'a)>);

impl Progress<'_> {
    /// Reports to nobody.
    pub(crate) const SILENT: Self = Self(None);

    /// Reports, every 64 rows, that the borders up to row `y` of `height` are followed; following
    /// is four fifths of tracing.
    pub(crate) fn report_followed(&self, y: u32, height: u32) {
        if y.is_multiple_of(64) {
            self.report(u64::from(y) * 4, u64::from(height) * 5);
        }
    }

    /// Reports that `done` of `total` steps are done.
    pub(crate) fn report(&self, done: u64, total: u64) {
        if let Some(report) = self.0 {
            report(done as f64 / total.max(1) as f64);
        }
    }
}
