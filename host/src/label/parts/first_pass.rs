//! The first pass over an image in bands: finds which components of the bands belong together.

use std::collections::VecDeque;

use super::workers::{Task, Workers};
use super::{BandPixels, BandSource, LabelPart};
use crate::error::{Error, Result};
use crate::label::ComponentOptions;
use crate::memory::{advise_large_pages, zeroed_vec};
use crate::progress::{Progress, ProgressFn, go_on};

/// The first pass over an image.
pub(super) struct FirstPass<'a, S, B> {
    pub(super) source: S,
    /// The number of rows of a band.
    pub(super) rows: u32,
    /// The joined part of the bands so far.
    pub(super) joined: Option<LabelPart>,
    pub(super) foreground: u64,
    /// The first row of the next band.
    pub(super) first_row: u32,
    pub(super) held: Option<VecDeque<B>>,
    pub(super) report: Option<&'a ProgressFn>,
}

impl<S: BandSource<B>, B: BandPixels> FirstPass<'_, S, B> {
    /// Labels all bands on the processor. Returns the memory for a band's labels.
    pub(super) fn on_processor(&mut self, options: &ComponentOptions) -> Result<Vec<u32>> {
        let (width, height) = (self.source.width(), self.source.height());
        let mut labels = zeroed_vec(self.rows as usize * width as usize, "labels")?;
        advise_large_pages(&mut labels);
        while let Some(band) = self.source.next_band(self.rows)? {
            check_size(&band, width, self.rows)?;
            let first_row = self.first_row;
            let work = |progress: &Progress<'_>| {
                let pixels = band.height() as usize * width as usize;
                band.part(first_row, options, &mut labels[..pixels], progress.0)
            };
            let rows = band.height();
            let part = share(self.report, 0, first_row, rows, height, work)?;
            self.first_row += rows;
            self.add(band, part)?;
        }
        Ok(labels)
    }

    /// Labels all bands by workers.
    pub(super) fn on_workers(&mut self, workers: &mut Workers<B>) -> Result<()> {
        let (width, height) = (self.source.width(), self.source.height());
        let mut is_read = false;
        loop {
            while !is_read && !workers.is_full() {
                let Some(band) = self.source.next_band(self.rows)? else {
                    is_read = true;
                    break;
                };
                check_size(&band, width, self.rows)?;
                let first_row = self.first_row;
                self.first_row = first_row.saturating_add(band.height());
                workers.start(Task {
                    band,
                    first_row,
                    labels: None,
                });
            }
            let Some(found) = workers.finish() else {
                return Ok(());
            };
            let found = found?;
            let end = found.part.rows().end;
            self.add(found.band, found.part)?;
            if let Some(report) = self.report {
                go_on(report(f64::from(end) / (2.0 * f64::from(height))))?;
            }
        }
    }

    /// Joins the next band's part to those before.
    fn add(&mut self, band: B, part: LabelPart) -> Result<()> {
        self.joined = Some(match self.joined.take() {
            Some(upper) => LabelPart::join(upper, part)?,
            None => part,
        });
        self.foreground += band.count_foreground();
        if let Some(held) = &mut self.held {
            held.push_back(band);
        }
        Ok(())
    }
}

/// Refuses a band that is not of the image's width, or has more than the requested `rows` rows.
pub(super) fn check_size(band: &impl BandPixels, width: u32, rows: u32) -> Result<()> {
    for (unit, needed, given, fits) in [
        ("columns", width, band.width(), band.width() == width),
        ("rows", rows, band.height(), band.height() <= rows),
    ] {
        if !fits {
            return Err(Error::SizeMismatch {
                width,
                height: rows,
                needed: needed.into(),
                given: given.into(),
                unit,
            });
        }
    }
    Ok(())
}

/// Runs `work` on the band of `rows` rows from `first_row` on, in pass `pass` of two over an image
/// of `height` rows, and reports the band's progress as a share of the whole.
pub(super) fn share<T>(
    report: Option<&ProgressFn>,
    pass: u32,
    first_row: u32,
    rows: u32,
    height: u32,
    work: impl FnOnce(&Progress<'_>) -> Result<T>,
) -> Result<T> {
    let before = u64::from(pass) * u64::from(height) + u64::from(first_row);
    let (end, total) = (before + u64::from(rows), 2 * u64::from(height));
    let progress = Progress(report);
    let result = progress.part(before..end, total, work)?;
    progress.report(end, total)?;
    Ok(result)
}
