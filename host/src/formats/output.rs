//! Files that appear complete or not at all.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::temporaries::Registered;
use crate::{Error, Result};

/// A file being written.
///
/// Writing goes to a temporary file in the same folder, which replaces the target at
/// [`commit`](Self::commit). An `Output` that is dropped before that leaves no trace, and an
/// existing file is untouched. On Linux and most of its file systems the temporary file has no
/// name: a new file gets its own in one system call, so a killed process never leaves another file
/// behind. Replacing a file takes two calls, between which the temporary file has a name. In that
/// case, and on other systems, [`remove_temporaries`](super::remove_temporaries) removes the
/// temporary files when a signal ends the process.
///
/// A symbolic link stays a link: the file that it points to is replaced. The new file keeps the
/// owner and the permissions of the replaced file.
///
/// Targets that are not regular files (devices, pipes) and targets that name an open file
/// (`/dev/stdout`, `/proc/self/fd/3`) are written in place.
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
    Replacing { file: Temporary, target: PathBuf },
}

/// A temporary file.
#[derive(Debug)]
enum Temporary {
    /// It gets a name when it is complete.
    #[cfg(target_os = "linux")]
    Unnamed(File),
    Named(Named<File>),
}

/// A temporary file with a name.
#[derive(Debug)]
struct Named<T> {
    // Dropped first: the file is removed before its name is unregistered.
    file: NamedTempFile<T>,
    _registered: Option<Registered>,
}

impl Output {
    /// Starts writing the file at `path`.
    ///
    /// Opening a named pipe waits for its reader.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder does not exist or no file can be made in it, and if the target
    /// exists and cannot be written.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let error = |source| Error::Io {
            path: path.into(),
            source,
        };
        let sink = match Target::of(path).map_err(error)? {
            Target::InPlace { append } => {
                let file = OpenOptions::new().write(true).append(append).open(path);
                Sink::InPlace(file.map_err(error)?)
            }
            Target::Replace { path, old } => Sink::Replacing {
                file: Temporary::create(folder_of(&path), old.as_ref())?,
                target: path,
            },
        };
        Ok(Self {
            path: path.into(),
            sink,
        })
    }

    /// The file that writing to `path` makes or replaces, with links followed; `None` if the target
    /// is written in place or cannot be written.
    pub fn resolve(path: impl AsRef<Path>) -> Option<PathBuf> {
        match Target::of(path.as_ref()) {
            Ok(Target::Replace { path, .. }) => {
                let folder = fs::canonicalize(folder_of(&path)).ok()?;
                Some(folder.join(path.file_name()?))
            }
            _ => None,
        }
    }

    /// Runs `write`, which writes to the output, and adds the file's path to its errors.
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
            Sink::Replacing { file, target } => file.name(&target).map_err(|source| Error::Io {
                path: self.path,
                source,
            }),
        }
    }

    fn file(&mut self) -> &mut File {
        match &mut self.sink {
            Sink::InPlace(file) => file,
            #[cfg(target_os = "linux")]
            Sink::Replacing {
                file: Temporary::Unnamed(file),
                ..
            } => file,
            // The file itself, because errors of `NamedTempFile` name the temporary path.
            Sink::Replacing {
                file: Temporary::Named(file),
                ..
            } => file.file.as_file_mut(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

impl Temporary {
    /// A new file in `folder`, with the owner and the permissions of `old`.
    fn create(folder: &Path, old: Option<&Metadata>) -> Result<Self> {
        let file = Self::open(folder, old).and_then(|file| {
            #[cfg(unix)]
            if let Some(old) = old {
                match &file {
                    #[cfg(target_os = "linux")]
                    Self::Unnamed(file) => keep_permissions(file, old)?,
                    Self::Named(named) => keep_permissions(named.file.as_file(), old)?,
                }
            }
            Ok(file)
        });
        file.map_err(|error| Error::Io {
            path: folder.into(),
            source: io::Error::new(error.kind(), format!("no file can be made here: {error}")),
        })
    }

    fn open(folder: &Path, old: Option<&Metadata>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
            // For a new file, the system applies the umask.
            options.mode(old.map_or(0o666, |old| old.mode() & 0o777));
        }
        #[cfg(not(unix))]
        let _ = old;
        #[cfg(target_os = "linux")]
        if Path::new(OPEN_FILES).exists() {
            use std::os::unix::fs::OpenOptionsExt;
            // On any error, a file with a name is opened instead, whose error is reported.
            if let Ok(file) = options.clone().custom_flags(libc::O_TMPFILE).open(folder) {
                return Ok(Self::Unnamed(file));
            }
        }
        options.create_new(true);
        Ok(Self::Named(named(folder, |path| options.open(path))?))
    }

    /// Gives the file the name `target`.
    fn name(self, target: &Path) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => match link(&file, target) {
                // Only a rename replaces a file, so the file needs another name first.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    named(folder_of(target), |path| link(&file, path))?.persist(target)
                }
                result => result,
            },
            Self::Named(named) => named.persist(target),
        }
    }
}

impl<T> Named<T> {
    /// Gives the file the name `target`.
    fn persist(self, target: &Path) -> io::Result<()> {
        match self.file.persist(target) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.error),
        }
    }
}

/// A file that `make` makes under a new name in `folder`; errors are those of `make`.
fn named<T>(folder: &Path, mut make: impl FnMut(&Path) -> io::Result<T>) -> io::Result<Named<T>> {
    let mut registered = None;
    let file = tempfile::Builder::new()
        .prefix(".trazar-")
        .suffix(".tmp")
        .make_in(folder, |path| {
            registered = Some(Registered::new(path)?);
            make(path)
        })?;
    Ok(Named {
        file,
        _registered: registered,
    })
}

#[cfg(target_os = "linux")]
const OPEN_FILES: &str = "/proc/self/fd";

/// Gives an open file without a name the name `path`, which must not exist.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use std::ffi::CString;
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;

    let open = CString::new(format!("{OPEN_FILES}/{}", file.as_raw_fd()))?;
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: both are C strings that live until the call returns.
    let result = unsafe {
        libc::linkat(
            libc::AT_FDCWD,
            open.as_ptr(),
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_SYMLINK_FOLLOW,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Gives `file` the mode of `old`, and its owner if this user may do so.
#[cfg(unix)]
fn keep_permissions(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Usually only root may do this; other users' files stay their own.
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    }
    file.set_permissions(fs::Permissions::from_mode(old.mode() & 0o777))
}

/// How to write to a path.
enum Target {
    /// A file to write in place; with `append` at its end, so that a file opened elsewhere keeps
    /// its content, as in `>> file`.
    InPlace { append: bool },
    /// A regular file or nothing: the path with links followed, and the file's metadata.
    Replace {
        path: PathBuf,
        old: Option<Metadata>,
    },
}

impl Target {
    fn of(path: &Path) -> io::Result<Self> {
        let mut target = path.to_path_buf();
        // Linux follows at most 40 links.
        for _ in 0..40 {
            let metadata = match fs::symlink_metadata(&target) {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Self::Replace {
                        path: target,
                        old: None,
                    });
                }
                Err(error) => return Err(error),
            };
            // `/dev/stdout` and the like lead to an open file. If it were replaced, the shell that
            // opened it would keep the old one.
            if names_open_files(folder_of(&target)) {
                return Ok(Self::InPlace { append: true });
            }
            if metadata.is_symlink() {
                let link = fs::read_link(&target)?;
                target = folder_of(&target).join(link);
            } else if metadata.is_dir() {
                return Err(io::ErrorKind::IsADirectory.into());
            } else if metadata.is_file() {
                // It must be writable, although it is replaced.
                OpenOptions::new().write(true).open(&target)?;
                return Ok(Self::Replace {
                    path: target,
                    old: Some(metadata),
                });
            } else {
                return Ok(Self::InPlace { append: false });
            }
        }
        Err(io::Error::other("too many levels of symbolic links"))
    }
}

/// Whether the files in `folder` stand for open files, as in `/proc/self/fd` and `/dev/fd`.
fn names_open_files(folder: &Path) -> bool {
    cfg!(unix)
        && fs::canonicalize(folder)
            .is_ok_and(|folder| folder.starts_with("/proc") || folder == Path::new("/dev/fd"))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
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
        let private = |mode| fs::Permissions::from_mode(mode);
        for wanted in [0o600, 0o666, 0o640, 0o755] {
            fs::set_permissions(at("c"), private(wanted)).unwrap();
            write(&at("a"), "again").unwrap();
            assert_eq!(mode("c") & 0o7777, wanted);
        }
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

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_in_memory_is_a_file() {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
            println!("skipped: no /dev/shm");
            return;
        };
        let path = folder.path().join("a");
        write(&path, "a longer first").unwrap();
        write(&path, "second").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn open_files_are_written_in_place() {
        use std::os::fd::AsRawFd;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = File::create(&path).unwrap();
        log.write_all(b"before ").unwrap();
        for folder in ["/proc/self/fd", "/dev/fd"] {
            let open = Path::new(folder).join(log.as_raw_fd().to_string());
            write(&open, folder).unwrap();
        }
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, "before /proc/self/fd/dev/fd");
        assert_eq!(names(folder.path()), ["log"]);
    }

    #[test]
    fn named_temporaries_do_as_unnamed_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for text in ["old", "new"] {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            let file = named(folder.path(), |path| options.open(path)).unwrap();
            let mut output = Output {
                path: path.clone(),
                sink: Sink::Replacing {
                    file: Temporary::Named(file),
                    target: path.clone(),
                },
            };
            assert!(names(folder.path())[0].starts_with(".trazar-"));
            output.write_all(text.as_bytes()).unwrap();
            output.commit().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(names(folder.path()), ["a"]);
        }
    }

    /// Checks the kind of the temporary file: only a killed process would show its effect.
    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_has_a_name_before_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let output = Output::create(folder.path().join("a")).unwrap();
        let unnamed = matches!(
            output.sink,
            Sink::Replacing {
                file: Temporary::Unnamed(_),
                ..
            }
        );
        if unnamed {
            assert!(names(folder.path()).is_empty());
        } else {
            println!("skipped: this file system has only files with names");
        }
    }
}
