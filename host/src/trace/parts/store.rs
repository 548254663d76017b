//! [`Store`]: bytes that are written once, in memory or in a file.

#[cfg(feature = "formats")]
use std::fs::File;
#[cfg(feature = "formats")]
use std::io::{self, Read, Seek, SeekFrom, Write};
#[cfg(feature = "formats")]
use std::path::{Path, PathBuf};

#[cfg(feature = "formats")]
use crate::error::Error;
use crate::error::Result;
use crate::memory::reserve;

/// A byte store that appends, and reads by offset.
#[derive(Debug)]
pub(in super::super) enum Store {
    Memory(Segments),
    #[cfg(feature = "formats")]
    File(Spill),
}

/// Bytes in memory.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Segments {
    /// Each with the offset of its first byte.
    segments: Vec<(u64, Vec<u8>)>,
    end: u64,
}

/// Bytes in an unnamed temporary file, deleted when it is closed.
#[cfg(feature = "formats")]
#[derive(Debug)]
pub(in super::super) struct Spill {
    file: File,
    /// The folder that it is in, for messages.
    folder: PathBuf,
    end: u64,
}

impl Store {
    pub(in super::super) fn in_memory() -> Self {
        Self::Memory(Segments::default())
    }

    /// In a temporary file in `folder`.
    #[cfg(feature = "formats")]
    pub(super) fn in_folder(folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(|source| in_folder(folder, &source))?;
        Ok(Self::File(Spill {
            file,
            folder: folder.into(),
            end: 0,
        }))
    }

    /// Whether it is in memory.
    pub(super) fn is_memory(&self) -> bool {
        matches!(self, Self::Memory(_))
    }

    /// A copy in memory.
    pub(super) fn try_clone(&self) -> Result<Self> {
        let mut copy = Self::in_memory();
        match self {
            Self::Memory(segments) => {
                let mut all = Vec::new();
                segments.read(0, segments.end as usize, &mut all)?;
                copy.push(all)?;
            }
            #[cfg(feature = "formats")]
            Self::File(spill) => {
                let own = spill.file.try_clone();
                let own = own.map_err(|source| in_folder(&spill.folder, &source))?;
                let mut all = Vec::new();
                Spill {
                    file: own,
                    folder: spill.folder.clone(),
                    end: spill.end,
                }
                .read(0, spill.end as usize, &mut all)?;
                copy.push(all)?;
            }
        }
        Ok(copy)
    }

    /// The bytes, if they are in memory.
    pub(super) fn segments(&self) -> Option<&Segments> {
        match self {
            Self::Memory(segments) => Some(segments),
            #[cfg(feature = "formats")]
            Self::File(_) => None,
        }
    }

    /// The offset of the next byte.
    pub(in super::super) fn end(&self) -> u64 {
        match self {
            Self::Memory(segments) => segments.end,
            #[cfg(feature = "formats")]
            Self::File(spill) => spill.end,
        }
    }

    /// Appends bytes.
    pub(in super::super) fn push(&mut self, bytes: Vec<u8>) -> Result<()> {
        match self {
            Self::Memory(segments) => segments.push(bytes),
            #[cfg(feature = "formats")]
            Self::File(spill) => spill.write(&bytes),
        }
    }

    /// Appends the bytes of another store: their offsets grow by the [end](Self::end) before.
    pub(super) fn append(&mut self, other: Self) -> Result<()> {
        match other {
            Self::Memory(segments) => {
                for (_, bytes) in segments.segments {
                    self.push(bytes)?;
                }
                Ok(())
            }
            #[cfg(feature = "formats")]
            Self::File(mut spill) => {
                let mut from = 0;
                while from < spill.end {
                    let mut bytes = Vec::new();
                    let len = (spill.end - from).min(1 << 20);
                    spill.read(from, len as usize, &mut bytes)?;
                    self.push(bytes)?;
                    from += len;
                }
                Ok(())
            }
        }
    }

    /// Appends `len` bytes from an offset on to `to`.
    pub(super) fn read(&mut self, offset: u64, len: usize, to: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Memory(segments) => segments.read(offset, len, to),
            #[cfg(feature = "formats")]
            Self::File(spill) => spill.read(offset, len, to),
        }
    }
}

impl Segments {
    fn push(&mut self, bytes: Vec<u8>) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        reserve(&mut self.segments, 1, "the chain codes of borders")?;
        let len = bytes.len() as u64;
        self.segments.push((self.end, bytes));
        self.end += len;
        Ok(())
    }

    /// Appends `len` bytes from an offset on to `to`.
    pub(super) fn read(&self, mut offset: u64, len: usize, to: &mut Vec<u8>) -> Result<()> {
        reserve(to, len, "the chain codes of borders")?;
        let mut left = len;
        let mut at = self.segments.partition_point(|&(first, _)| first <= offset);
        while left > 0 {
            let (first, bytes) = &self.segments[at - 1];
            let rest = &bytes[(offset - first) as usize..];
            let taken = &rest[..left.min(rest.len())];
            to.extend_from_slice(taken);
            offset += taken.len() as u64;
            left -= taken.len();
            at += 1;
        }
        Ok(())
    }
}

#[cfg(feature = "formats")]
impl Spill {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file
            .write_all(bytes)
            .map_err(|source| in_folder(&self.folder, &source))?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    fn read(&mut self, offset: u64, len: usize, to: &mut Vec<u8>) -> Result<()> {
        reserve(to, len, "the chain codes of borders")?;
        let begin = to.len();
        to.resize(begin + len, 0);
        self.file
            .seek(SeekFrom::Start(offset))
            .and_then(|_| self.file.read_exact(&mut to[begin..]))
            .map_err(|source| in_folder(&self.folder, &source))
    }
}

/// An error of a temporary file in `folder`.
#[cfg(feature = "formats")]
fn in_folder(folder: &Path, source: &io::Error) -> Error {
    Error::Io {
        path: folder.into(),
        source: io::Error::new(source.kind(), format!("a temporary file here: {source}")),
    }
}
