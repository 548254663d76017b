//! Reports of a job's progress to a callable of Python's.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

thread_local! {
    /// What the jobs that this thread starts report to.
    static RECEIVER: RefCell<Option<Py<PyAny>>> = const { RefCell::new(None) };
}

/// Sets what the jobs that this thread starts report to, and returns what it was.
#[pyfunction]
pub(crate) fn set_progress(receiver: Option<Py<PyAny>>) -> Option<Py<PyAny>> {
    RECEIVER.replace(receiver)
}

/// Reports of one job.
#[derive(Clone)]
pub(crate) struct Reports(Arc<Inner>);

struct Inner {
    receiver: Py<PyAny>,
    state: Mutex<State>,
}

struct State {
    /// The largest share reported.
    share: f64,
    raised: Option<PyErr>,
}

impl Reports {
    /// For the job that this thread starts, if there is a receiver.
    pub(crate) fn of_thread(py: Python<'_>) -> Option<Self> {
        let receiver = RECEIVER.with_borrow(|receiver| Some(receiver.as_ref()?.clone_ref(py)))?;
        let state = Mutex::new(State {
            share: -1.0,
            raised: None,
        });
        Some(Self(Arc::new(Inner { receiver, state })))
    }

    /// Reports that a share of the work is done, on any thread that does not hold the GIL. Shares
    /// ascend: one that is not larger than those before is left out. An exception ends the job.
    pub(crate) fn report(&self, share: f64) -> ControlFlow<()> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.raised.is_some() {
            return ControlFlow::Break(());
        }
        if share <= state.share {
            return ControlFlow::Continue(());
        }
        state.share = share;
        let called = Python::attach(|py| self.0.receiver.call1(py, (share,)).map(drop));
        match called {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                state.raised = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    /// The exception that the receiver has raised.
    pub(crate) fn raised(&self) -> Option<PyErr> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.raised.take()
    }
}
