//! Files that appear complete or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::{Error, Result};

/// A file being written.
///
/// What is written goes to a temporary file in the same folder, which takes the target's place
/// at [`commit`](Self::commit). Dropped before that, it leaves no trace, and a file that was
/// there before is untouched. A symbolic link stays one: the file that it leads to is replaced.
///
/// A target that is no regular file (a device, a pipe, a socket, `/dev/stdout`) is written in
/// place.
///
/// ```
/// use std::io::Write;
/// use trazar::formats::Output;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("out.txt");
/// let mut output = Output::create(&path)?;
/// output.write_all(b"all of it")?;
/// assert!(!path.exists());
/// output.commit()?;
/// assert!(path.exists());
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    InPlace(File),
    Beside {
        file: NamedTempFile,
        target: PathBuf,
    },
}

impl Output {
    /// Starts to write the file at `path`.
    ///
    /// Opening a named pipe waits for its reader.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder does not exist or takes no new file, and if the target is
    /// there and cannot be written to.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let error = |source| Error::Io {
            path: path.into(),
            source,
        };
        let sink = match Target::of(path).map_err(error)? {
            Target::InPlace => {
                // Appending, so that `/dev/stdout` of `>> file` keeps what the file holds.
                let file = OpenOptions::new().append(true).open(path).map_err(error)?;
                Sink::InPlace(file)
            }
            Target::Replace(target) => Sink::Beside {
                file: temporary_beside(&target)?,
                target,
            },
        };
        Ok(Self {
            path: path.into(),
            sink,
        })
    }

    /// Runs `write`, which writes to the output, and names the file in its errors.
    ///
    /// # Errors
    /// Those of `write`, [`Error::Write`] turned into [`Error::Io`].
    pub fn fill(&mut self, write: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        write(self).map_err(|error| match error {
            Error::Write(source) => Error::Io {
                path: self.path.clone(),
                source,
            },
            other => other,
        })
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// [`Error::Io`]; the target is untouched then.
    pub fn commit(self) -> Result<()> {
        match self.sink {
            Sink::InPlace(_) => Ok(()),
            Sink::Beside { file, target } => match file.persist(target) {
                Ok(_) => Ok(()),
                Err(error) => Err(Error::Io {
                    path: self.path,
                    source: error.error,
                }),
            },
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::InPlace(file) => file.write(bytes),
            Sink::Beside { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::InPlace(file) => file.flush(),
            Sink::Beside { file, .. } => file.flush(),
        }
    }
}

/// What there is at a path.
enum Target {
    InPlace,
    /// Nothing, or a regular file: its path once links are followed.
    Replace(PathBuf),
}

impl Target {
    fn of(path: &Path) -> io::Result<Self> {
        // `/dev/stdout` and the like lead to whatever file is open there; replacing that file
        // would take it away from the shell that opened it.
        if path.starts_with("/dev") || path.starts_with("/proc") {
            return Ok(Self::InPlace);
        }
        let mut target = path.to_path_buf();
        // As many links as Linux follows.
        for _ in 0..40 {
            let metadata = match fs::symlink_metadata(&target) {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Self::Replace(target));
                }
                Err(error) => return Err(error),
            };
            if metadata.is_symlink() {
                let link = fs::read_link(&target)?;
                target = folder_of(&target).join(link);
            } else if metadata.is_dir() {
                return Err(io::ErrorKind::IsADirectory.into());
            } else if metadata.is_file() {
                // Its permissions count although it will be replaced.
                OpenOptions::new().write(true).open(&target)?;
                return Ok(Self::Replace(target));
            } else {
                return Ok(Self::InPlace);
            }
            if target.starts_with("/dev") || target.starts_with("/proc") {
                return Ok(Self::InPlace);
            }
        }
        Err(io::Error::other("too many levels of symbolic links"))
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn temporary_beside(target: &Path) -> Result<NamedTempFile> {
    let folder = folder_of(target);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".trazar-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As for any new file: the system takes the umask off.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder).map_err(|error| {
        // The crate puts the temporary's path before the system's reason.
        let reason = error.get_ref().and_then(|with_path| with_path.source());
        let reason = reason.map_or_else(|| error.to_string(), ToString::to_string);
        Error::Io {
            path: folder.into(),
            source: io::Error::new(error.kind(), format!("no file can be made here: {reason}")),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) -> Result<()> {
        let mut output = Output::create(path)?;
        output.write_all(text.as_bytes())?;
        output.commit()
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn replaces_at_the_end_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, "old").unwrap();
        let mut output = Output::create(&path).unwrap();
        output.write_all(b"new").unwrap();
        drop(output);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(folder.path()), ["a"]);
        write(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn errors_name_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("missing").join("a");
        let error = Output::create(&inside).unwrap_err().to_string();
        assert!(
            error.contains("missing") && error.contains("No such file"),
            "{error}"
        );
        let error = Output::create(folder.path()).unwrap_err().to_string();
        assert!(error.contains("directory"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn keeps_links_and_permissions() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink("b", at("a")).unwrap();
        symlink("c", at("b")).unwrap();
        write(&at("a"), "dangling").unwrap();
        assert_eq!(fs::read_to_string(at("c")).unwrap(), "dangling");
        write(&at("a"), "there").unwrap();
        assert_eq!(fs::read_to_string(at("c")).unwrap(), "there");
        assert!(fs::symlink_metadata(at("a")).unwrap().is_symlink());
        File::create(at("plain")).unwrap();
        let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode();
        assert_eq!(mode("c"), mode("plain"));
        symlink("loop", at("loop")).unwrap();
        assert!(write(&at("loop"), "").is_err());
        assert_eq!(names(folder.path()), ["a", "b", "c", "loop", "plain"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn writes_devices_in_place() {
        write(Path::new("/dev/null"), "gone").unwrap();
        assert!(write(Path::new("/dev/full"), "too much").is_err());
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        write(&link, "gone").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
