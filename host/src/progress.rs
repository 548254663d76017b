//! How far the work is.

/// Called now and then, from the thread that works, with the share of the work that is done
/// (0 to 1).
pub type ProgressFn = dyn Fn(f64) + Send + Sync;

/// Where the work says how far it is.
pub(crate) struct Progress<'a>(pub(crate) Option<&'a ProgressFn>);

impl Progress<'_> {
    /// Nobody listens.
    pub(crate) const SILENT: Self = Self(None);

    /// The borders that begin in row `y` of an image are followed, which is most of the work;
    /// passed on for some rows.
    pub(crate) fn report_followed(&self, y: u32, height: u32) {
        if y.is_multiple_of(64) {
            self.report(u64::from(y) * 4, u64::from(height) * 5);
        }
    }

    /// `done` of `total` steps are done.
    pub(crate) fn report(&self, done: u64, total: u64) {
        if let Some(report) = self.0 {
            report(done as f64 / total.max(1) as f64);
        }
    }
}
