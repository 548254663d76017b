//! The source of a reader: a file or a pipe, and errors that name it.

use std::error::Error as StdError;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use super::panics;
use super::progress::Reported;
use crate::error::{Error, ReadProblem, Result};

/// A file or pipe that a reader reads.
pub(super) struct Source<'a> {
    pub(super) origin: Origin<'a>,
    pub(super) bytes: Bytes,
    pub(super) store: Store,
}

/// The bytes of a source, from its start to its end.
pub(super) type Bytes = Box<dyn BufReadSeek>;

/// The path and size of a source, for errors.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    pub(super) path: &'a Path,
    /// The file's size in bytes.
    pub(super) len: u64,
}

pub(super) trait BufReadSeek: BufRead + Seek + Send {}
impl<T: BufRead + Seek + Send> BufReadSeek for T {}

/// The bytes of a source, for reads at any place by any thread.
#[derive(Clone)]
pub(super) enum Store {
    File(Arc<File>),
    /// The content of a pipe.
    Memory(Arc<[u8]>),
}

impl Store {
    /// Fills `out` with the bytes from `at` on.
    pub(super) fn read_exact_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        match self {
            #[cfg(unix)]
            Self::File(file) => std::os::unix::fs::FileExt::read_exact_at(&**file, out, at),
            #[cfg(windows)]
            Self::File(file) => {
                use std::os::windows::fs::FileExt;
                let mut done = 0;
                while done < out.len() {
                    done += match file.seek_read(&mut out[done..], at + done as u64)? {
                        0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                        more => more,
                    };
                }
                Ok(())
            }
            Self::Memory(bytes) => {
                let start = usize::try_from(at).unwrap_or(usize::MAX);
                let from = bytes.get(start..).and_then(|rest| rest.get(..out.len()));
                out.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }

    /// The file's size in bytes; `None` for the content of a pipe.
    pub(super) fn file_len(&self, origin: Origin<'_>) -> Option<u64> {
        matches!(self, Self::File(_)).then_some(origin.len)
    }
}

impl<'a> Source<'a> {
    pub(super) fn open(path: &'a Path) -> Result<Self> {
        let io = |source| Error::Io {
            path: path.into(),
            source,
        };
        let mut file = File::open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        if metadata.is_dir() {
            return Err(io(std::io::ErrorKind::IsADirectory.into()));
        }
        if metadata.is_file() {
            let origin = Origin {
                path,
                len: metadata.len(),
            };
            return Self::at_start(origin, Store::File(Arc::new(file)));
        }
        #[cfg(unix)]
        if std::os::unix::fs::FileTypeExt::is_char_device(&metadata.file_type()) {
            // A device may never end.
            let origin = Origin { path, len: 0 };
            return Err(origin.refused(
                ReadProblem::NotAFile,
                "this is a device: give a file or a pipe",
            ));
        }
        // Decoders seek, so the content of a pipe is read into memory.
        let mut bytes = Vec::new();
        let read = Reported::new(&mut file, None).read_to_end(&mut bytes);
        read.map_err(io)?;
        let origin = Origin {
            path,
            len: bytes.len() as u64,
        };
        Self::at_start(origin, Store::Memory(bytes.into()))
    }

    /// The source of the bytes of `store`, from their start.
    pub(super) fn at_start(origin: Origin<'a>, store: Store) -> Result<Self> {
        let bytes: Bytes = match &store {
            Store::File(file) => {
                let mut file = Arc::clone(file);
                file.rewind().map_err(|error| origin.io(error))?;
                let reported = Reported::new(file, Some(origin.len));
                Box::new(BufReader::with_capacity(1 << 18, reported))
            }
            Store::Memory(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
        };
        Ok(Self {
            origin,
            bytes,
            store,
        })
    }

    /// Whether the source starts with these bytes. It is at its start before and after.
    pub(super) fn starts_with(&mut self, bytes: &[u8]) -> Result<bool> {
        let mut start = Vec::new();
        let read = (&mut self.bytes)
            .take(bytes.len() as u64)
            .read_to_end(&mut start);
        read.map_err(|error| self.origin.io(error))?;
        self.rewind()?;
        Ok(start == bytes)
    }

    /// Fills `bytes` from a header.
    pub(super) fn read_header(&mut self, bytes: &mut [u8]) -> Result<()> {
        let read = self.bytes.read_exact(bytes);
        read.map_err(|error| self.origin.header_io(error))
    }

    pub(super) fn rewind(&mut self) -> Result<()> {
        match self.bytes.seek(SeekFrom::Start(0)) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.origin.io(error)),
        }
    }
}

impl Origin<'_> {
    pub(super) fn io(&self, source: std::io::Error) -> Error {
        if source.kind() == std::io::ErrorKind::UnexpectedEof {
            let reason = "the file is truncated: it ends before the last value";
            return self.refused(ReadProblem::Truncated, reason);
        }
        Error::Io {
            path: self.path.into(),
            source,
        }
    }

    /// As [`io`](Self::io), for a header.
    pub(super) fn header_io(&self, source: std::io::Error) -> Error {
        match source.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                self.truncated("the file is truncated: it ends within its header")
            }
            _ => self.io(source),
        }
    }

    /// Refuses a file that is too small for the `bytes` of samples that it claims, even if they are
    /// compressed by `ratio` to 1.
    pub(super) fn holds(&self, bytes: u64, ratio: u64, width: u32, height: u32) -> Result<()> {
        if bytes <= self.len.saturating_mul(ratio) {
            return Ok(());
        }
        Err(self.refused(
            ReadProblem::Truncated,
            format_args!(
                "the file is truncated: {} bytes cannot hold the {width} × {height} pixels it \
                 claims",
                self.len
            ),
        ))
    }

    /// The error for a damaged file.
    pub(super) fn unreadable(&self, reason: impl Display) -> Error {
        self.refused(ReadProblem::Damaged, reason)
    }

    /// The error for unsupported contents.
    pub(super) fn unsupported(&self, reason: impl Display) -> Error {
        self.refused(ReadProblem::Unsupported, reason)
    }

    /// The error for a file that ends too early.
    pub(super) fn truncated(&self, reason: impl Display) -> Error {
        self.refused(ReadProblem::Truncated, reason)
    }

    /// An [`Error::Unreadable`] with `reason` on one line, as messages of decoders may have
    /// several.
    pub(super) fn refused(&self, problem: ReadProblem, reason: impl Display) -> Error {
        let words = reason.to_string();
        Error::Unreadable {
            path: self.path.into(),
            problem,
            reason: words.split_whitespace().collect::<Vec<_>>().join(" "),
            source: None,
        }
    }

    /// The error for a file that another library's decoder refuses with `error`.
    pub(super) fn undecodable(
        &self,
        problem: ReadProblem,
        reason: impl Display,
        error: impl StdError + Send + Sync + 'static,
    ) -> Error {
        let mut refused = self.refused(problem, reason);
        if let Error::Unreadable { source, .. } = &mut refused {
            *source = Some(Box::new(error));
        }
        refused
    }
}

/// Runs a decoder; its panic becomes an error of the file.
pub(super) fn contain<T>(origin: Origin<'_>, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    panics::contain(decode).unwrap_or_else(|panic| {
        Err(origin.refused(
            ReadProblem::DecoderPanic,
            format_args!(
                "the decoder gave up on this file, which is a bug in it ({panic}): save it in \
                 another format"
            ),
        ))
    })
}
