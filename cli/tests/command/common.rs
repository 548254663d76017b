//! What the tests of the command share: a folder, images in it, and running the binary.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

pub(crate) struct Folder(tempfile::TempDir);

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

pub(crate) fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_trazar"))
}

pub(crate) fn run<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Run {
    Run::of(command().args(arguments).output().unwrap())
}

/// Checks that each tag of an SVG document is closed, in order; returns the tags' names.
#[track_caller]
pub(crate) fn svg_tags(svg: &str) -> Vec<&str> {
    let (mut names, mut open) = (Vec::new(), Vec::new());
    let text = svg.split('<').skip(1);
    for tag in text.map(|text| text.split_once('>').expect(svg).0) {
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.split([' ', '\n', '/']).next().unwrap();
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "{svg}"),
            None => {
                names.push(name);
                if !tag.ends_with('/') {
                    open.push(name);
                }
            }
        }
    }
    assert!(open.is_empty(), "{open:?} are open: {svg}");
    names
}

/// Traces `image` to `out`.
#[track_caller]
pub(crate) fn trace(image: &Path, out: &Path, options: &[&str]) -> Run {
    let mut arguments = vec![
        "trace",
        image.to_str().unwrap(),
        "-o",
        out.to_str().unwrap(),
    ];
    arguments.extend(options);
    run(arguments)
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!stderr.contains("panicked"), "{stderr}");
        Self {
            status: output.status.code(),
            stdout: output.stdout,
            stderr,
        }
    }

    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.status, Some(0), "{}", self.stderr);
        self
    }

    /// Ended with `status` after exactly one line of error that contains all of `words`.
    #[track_caller]
    pub(crate) fn failed(self, status: i32, words: &[&str]) {
        assert_eq!(self.status, Some(status), "{}", self.stderr);
        assert!(self.stdout.is_empty(), "{:?}", self.stdout);
        assert!(self.stderr.starts_with("error: "), "{}", self.stderr);
        assert_eq!(self.stderr.trim_end().lines().count(), 1, "{}", self.stderr);
        self.says(words);
    }

    /// Refused by the parser of the command line: what is wrong, perhaps a tip, where help is.
    #[track_caller]
    pub(crate) fn refused(self, words: &[&str]) {
        assert_eq!(self.status, Some(2), "{}", self.stderr);
        assert!(self.stdout.is_empty());
        assert!(self.stderr.starts_with("error: "), "{}", self.stderr);
        let lines = self.stderr.lines().count();
        assert!((2..=3).contains(&lines), "{}", self.stderr);
        let help = self.stderr.lines().last().unwrap();
        assert!(help.starts_with("For more information, try '"), "{help}");
        self.says(words);
    }

    #[track_caller]
    fn says(&self, words: &[&str]) {
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in {}", self.stderr);
        }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap()
    }
}

/// The drawing that most tests use: a ring with a dot in it, and a dot outside.
pub(crate) const RING: [&str; 7] = [
    "........", ".#####..", ".#...#..", ".#.#.#.#", ".#...#..", ".#####..", "........",
];

/// Its contours by the rules of `cv2.findContours` (tree, simple).
pub(crate) fn ring_contours() -> Value {
    serde_json::json!([
        [[7, 3]],
        [[1, 1], [1, 5], [5, 5], [5, 1]],
        [
            [1, 2],
            [2, 1],
            [4, 1],
            [5, 2],
            [5, 4],
            [4, 5],
            [2, 5],
            [1, 4]
        ],
        [[3, 3]]
    ])
}

pub(crate) fn pixels() -> Vec<bool> {
    RING.iter()
        .flat_map(|row| row.bytes().map(|c| c == b'#'))
        .collect()
}

pub(crate) const WIDTH: u32 = 8;
pub(crate) const HEIGHT: u32 = 7;

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.at(name), bytes).unwrap();
        self.at(name)
    }

    /// The ring as an 8-bit grey image, in the format of the name's extension.
    pub(crate) fn ring(&self, name: &str) -> PathBuf {
        let samples: Vec<u8> = pixels().iter().map(|&p| if p { 200 } else { 50 }).collect();
        let image = image::GrayImage::from_raw(WIDTH, HEIGHT, samples).unwrap();
        image.save(self.at(name)).unwrap();
        self.at(name)
    }

    /// An `.npy` file.
    pub(crate) fn npy(&self, name: &str, header: &str, data: &[u8]) -> PathBuf {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        let header = format!("{header}\n");
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        self.put(name, bytes)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// An array's header.
pub(crate) fn header(descr: &str, fortran: bool, shape: &str) -> String {
    let fortran = if fortran { "True" } else { "False" };
    format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}")
}

/// A GeoTIFF of bytes: pixels of 30 × 20, the corner at (500000, 4000000), EPSG 32633, no-data 7.
pub(crate) fn geotiff(width: u32, height: u32, pixels: &[u8], with_place: bool) -> Vec<u8> {
    let doubles = |values: &[f64]| {
        values
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<_>>()
    };
    let shorts = |values: &[u16]| {
        values
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<_>>()
    };
    let mut entries: Vec<(u16, u16, u32, Vec<u8>)> = vec![
        (256, 4, 1, width.to_le_bytes().into()),
        (257, 4, 1, height.to_le_bytes().into()),
        (258, 3, 1, shorts(&[8, 0])),
        (259, 3, 1, shorts(&[1, 0])),
        (262, 3, 1, shorts(&[1, 0])),
        (273, 4, 1, vec![0; 4]),
        (277, 3, 1, shorts(&[1, 0])),
        (278, 4, 1, height.to_le_bytes().into()),
        (279, 4, 1, (pixels.len() as u32).to_le_bytes().into()),
    ];
    if with_place {
        entries.push((33550, 12, 3, doubles(&[30.0, 20.0, 0.0])));
        entries.push((33922, 12, 6, doubles(&[0.0, 0.0, 0.0, 5e5, 4e6, 0.0])));
        let keys = [1, 1, 0, 2, 1024, 0, 1, 1, 3072, 0, 1, 32633];
        entries.push((34735, 3, 12, shorts(&keys)));
        entries.push((42113, 2, 2, b"7\0\0\0".into()));
    }
    let table = 8 + 2 + 12 * entries.len() + 4;
    let outside = |bytes: &Vec<u8>| if bytes.len() > 4 { bytes.len() } else { 0 };
    let start = table + entries.iter().map(|entry| outside(&entry.3)).sum::<usize>();
    entries[5].3 = (start as u32).to_le_bytes().into();
    let mut out = b"II*\0\x08\0\0\0".to_vec();
    out.extend((entries.len() as u16).to_le_bytes());
    let mut at = table as u32;
    for (tag, kind, count, bytes) in &entries {
        out.extend(tag.to_le_bytes());
        out.extend(kind.to_le_bytes());
        out.extend(count.to_le_bytes());
        match bytes.len() > 4 {
            true => {
                out.extend(at.to_le_bytes());
                at += bytes.len() as u32;
            }
            false => out.extend(bytes),
        }
    }
    out.extend([0; 4]);
    for entry in entries.iter().filter(|entry| entry.3.len() > 4) {
        out.extend(&entry.3);
    }
    out.extend(pixels);
    out
}
