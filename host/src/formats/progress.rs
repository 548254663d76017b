//! Progress of reading.

use std::cell::RefCell;
use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;

/// Called with the number of bytes of a file read so far, and with its size; `None` for a pipe.
type Report = dyn Fn(u64, Option<u64>);

/// The most bytes read between two reports.
const PORTION: usize = 1 << 18;

thread_local! {
    /// The function that this thread's readers report to.
    static REPORT: RefCell<Option<Rc<Report>>> = const { RefCell::new(None) };
}

/// Runs `read`, and reports the progress of the readers that it calls on this thread:
/// [`read_image`](super::read_image), [`read_case`](super::read_case),
/// [`read_weights`](super::read_weights) and [`read_pins`](super::read_pins). `report` is called
/// with the number of bytes of a file read so far and the file's size, `None` for a pipe.
///
/// It is called per portion of at most 256 KiB, and must be quick. The number restarts at 0 for
/// each file.
///
/// ```
/// use trazar::formats::{ReadOptions, read_image, report_reading};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("a.pbm");
/// std::fs::write(&path, "P1\n3 1\n0 1 0\n").unwrap();
/// let report = |bytes, size: Option<u64>| println!("{bytes} of {size:?} bytes");
/// let read = report_reading(report, || read_image(&path, &ReadOptions::default()))?;
/// assert_eq!(read.image.count_foreground(), 2);
/// # Ok::<(), trazar::Error>(())
/// ```
pub fn report_reading<T>(
    report: impl Fn(u64, Option<u64>) + 'static,
    read: impl FnOnce() -> T,
) -> T {
    /// Restores the previous function when dropped, also when `read` panics.
    struct Before(Option<Rc<Report>>);
    impl Drop for Before {
        fn drop(&mut self) {
            REPORT.set(self.0.take());
        }
    }
    let _before = Before(REPORT.replace(Some(Rc::new(report))));
    read()
}

/// Reports that `read` bytes of a file of `size` bytes are read, if this thread requested reports.
/// A decoder may read bytes twice; the reported number does not exceed the size.
pub(super) fn report(read: u64, size: Option<u64>) {
    if let Some(report) = REPORT.with_borrow(Clone::clone) {
        report(size.map_or(read, |size| read.min(size)), size);
    }
}

/// A file whose reading is reported, if the reading thread requested reports.
pub(super) struct Reported<R> {
    inner: R,
    size: Option<u64>,
    read: u64,
}

impl<R> Reported<R> {
    pub(super) fn new(inner: R, size: Option<u64>) -> Self {
        Self {
            inner,
            size,
            read: 0,
        }
    }
}

impl<R: Read> Read for Reported<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A decoder may ask for the whole file at once.
        let portion = buffer.len().min(PORTION);
        let read = self.inner.read(&mut buffer[..portion])?;
        self.read += read as u64;
        report(self.read, self.size);
        Ok(read)
    }
}

impl<R: Seek> Seek for Reported<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::Write;

    use super::super::{ReadOptions, read_case, read_image};
    use super::*;
    use crate::formats::test_file::file;

    #[test]
    fn reports_rise_to_the_files_size() {
        let pixels = 1000 * 1000;
        let mut pgm = b"P5\n1000 1000\n255\n".to_vec();
        pgm.resize(pgm.len() + pixels, 200);
        let file = file(&pgm);
        let (calls, sizes) = (Rc::new(RefCell::new(Vec::new())), Rc::new(Cell::new(None)));
        let heard = (Rc::clone(&calls), Rc::clone(&sizes));
        let read = report_reading(
            move |bytes, size| {
                heard.0.borrow_mut().push(bytes);
                heard.1.set(size);
            },
            || read_image(file.path(), &ReadOptions::default()),
        );
        assert_eq!(read.unwrap().image.count_foreground(), pixels as u64);
        let calls = calls.take();
        assert!(calls.len() > 3 && calls.is_sorted(), "{calls:?}");
        let size = pgm.len() as u64;
        assert_eq!(sizes.get(), Some(size));
        assert_eq!(calls.last(), Some(&size));
    }

    #[test]
    fn only_while_it_runs_and_pipes_have_no_size() {
        let calls = Rc::new(Cell::new(0));
        let heard = Rc::clone(&calls);
        let text = "1 1\n0\nVertical\n";
        report_reading(
            move |_, size| {
                assert_eq!(size, None);
                heard.set(heard.get() + 1);
            },
            || {
                let (reader, mut writer) = io::pipe().unwrap();
                writer.write_all(text.as_bytes()).unwrap();
                drop(writer);
                let mut bytes = Vec::new();
                Reported::new(reader, None).read_to_end(&mut bytes).unwrap();
                assert_eq!(bytes, text.as_bytes());
            },
        );
        assert!(calls.get() > 0);
        let before = calls.get();
        read_case(file(text.as_bytes()).path()).unwrap();
        assert_eq!(calls.get(), before);
    }
}
