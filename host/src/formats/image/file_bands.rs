//! [`FileBands`]: a file whose rows are read in bands.

use std::path::{Path, PathBuf};

use super::opened::Opened;
use super::options::ReadOptions;
use super::read;
use super::sink::Sink;
use crate::error::{ReadProblem, Result};
use crate::formats::source::{Origin, Source, Store, contain};

/// An open file, and the next row to read.
pub(super) struct FileBands<S> {
    pub(super) path: PathBuf,
    len: u64,
    store: Store,
    pub(super) options: ReadOptions,
    pub(super) opened: Opened<S>,
    pub(super) next_row: u32,
    /// Whether a band could not be read.
    failed: bool,
}

impl<S: Sink> FileBands<S> {
    pub(super) fn open(path: &Path, options: &ReadOptions) -> Result<Self> {
        let source = Source::open(path)?;
        let (origin, store) = (source.origin, source.store.clone());
        let opened = contain(origin, || read::open::<S>(source, options))?;
        if let Some(reason) = opened.whole_only {
            return Err(origin.unsupported(format_args!(
                "this file cannot be read in bands, because {reason}: save it without that, or \
                 as TIFF, PNG, PBM/PGM or .npy, or read it as a whole"
            )));
        }
        Ok(Self {
            len: origin.len,
            path: path.into(),
            store,
            options: *options,
            opened,
            next_row: 0,
            failed: false,
        })
    }

    /// Reads the next `rows` rows, fewer at the end, into the sink that `room` makes from the first
    /// row and the number of rows; `None` after the last one, and for no rows. After an error there
    /// are no more bands.
    pub(super) fn next_band(
        &mut self,
        rows: u32,
        room: impl FnOnce(&Opened<S>, u32, u32) -> Result<S>,
    ) -> Result<Option<S>> {
        let rows = rows.min(self.opened.height - self.next_row);
        if rows == 0 {
            return Ok(None);
        }
        let origin = Origin {
            path: &self.path,
            len: self.len,
        };
        if self.failed {
            return Err(origin.refused(
                ReadProblem::Damaged,
                "a band of it could not be read, so the next ones are not read either",
            ));
        }
        self.failed = true;
        let mut band = room(&self.opened, self.next_row, rows)?;
        contain(origin, || self.opened.rows.read(origin, &mut band))?;
        self.failed = false;
        self.next_row += rows;
        Ok(Some(band))
    }

    /// Goes back to the first row, for another pass over the same file.
    pub(super) fn rewind(&mut self) -> Result<()> {
        let origin = Origin {
            path: &self.path,
            len: self.len,
        };
        let source = Source::at_start(origin, self.store.clone())?;
        self.opened = contain(origin, || read::open::<S>(source, &self.options))?;
        self.next_row = 0;
        self.failed = false;
        Ok(())
    }
}
