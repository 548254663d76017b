use ::image::ImageFormat;
use trazar_test_seeds::{Random, seed_or};

use super::super::oracle;
use super::super::{ReadOptions, read_image};
use crate::formats::test_file::file;

/// The contents of a BMP, part by part.
#[derive(Clone)]
struct Parts {
    header: u32,
    width: i32,
    height: i32,
    depth: u16,
    compression: u32,
    masks: [u32; 4],
    /// The number of entries according to the header.
    colors: u32,
    palette: Vec<[u8; 3]>,
    pixels: Vec<u8>,
}

impl Parts {
    fn row_bytes(&self) -> usize {
        (self.width as usize * usize::from(self.depth)).div_ceil(32) * 4
    }

    fn bytes(&self) -> Vec<u8> {
        let mut info = self.header.to_le_bytes().to_vec();
        if self.header == 12 {
            let words = [self.width as u16, self.height as u16, 1, self.depth];
            info.extend(words.map(u16::to_le_bytes).concat());
        } else {
            info.extend([self.width, self.height].map(i32::to_le_bytes).concat());
            info.extend([1, self.depth].map(u16::to_le_bytes).concat());
            let size = self.pixels.len() as u32;
            let rest = [self.compression, size, 2835, 2835, self.colors, 0];
            info.extend(rest.map(u32::to_le_bytes).concat());
            // After the first kind of this header, or within the later ones.
            if self.compression == 3 || self.header > 40 {
                info.extend(self.masks.map(u32::to_le_bytes).concat());
            }
            info.resize(info.len().max(self.header as usize), 0);
        }
        for [b, g, r] in &self.palette {
            info.extend([*b, *g, *r]);
            if self.header != 12 {
                info.push(0);
            }
        }
        let start = 14 + info.len() as u32;
        let mut bytes = b"BM".to_vec();
        bytes.extend(
            [start + self.pixels.len() as u32, 0, start]
                .map(u32::to_le_bytes)
                .concat(),
        );
        bytes.extend(info);
        bytes.extend(&self.pixels);
        bytes
    }
}

fn random_bytes(random: &mut Random, len: usize) -> Vec<u8> {
    (0..len).map(|_| random.below(256) as u8).collect()
}

/// A mask of up to 10 bits below `depth`.
fn random_mask(random: &mut Random, depth: u16) -> u32 {
    let bits = 1 + random.below(10);
    let shift = random.below(u32::from(depth) - bits + 1);
    ((1 << bits) - 1) << shift
}

fn random_parts(random: &mut Random) -> Parts {
    let header = [12, 40, 52, 56, 108, 124][random.below(6) as usize];
    let (depth, compression) = if header == 12 {
        ([1, 4, 8, 24][random.below(4) as usize], 0)
    } else {
        let all = [
            (1, 0),
            (2, 0),
            (4, 0),
            (8, 0),
            (16, 0),
            (24, 0),
            (32, 0),
            (16, 3),
            (32, 3),
            (8, 1),
            (4, 2),
        ];
        all[random.below(11) as usize]
    };
    let runs = matches!(compression, 1 | 2);
    let (width, height) = (1 + random.below(70) as i32, 1 + random.below(9) as i32);
    let top_down = header != 12 && !runs && random.below(3) == 0;
    let most = if depth <= 8 { 1 << depth } else { 0 };
    // Fewer entries than there are indices: the others are black.
    let colors = if header == 12 || most == 0 || random.below(2) == 0 {
        0
    } else {
        1 + random.below(most)
    };
    let entries = if colors == 0 { most } else { colors };
    let two = random.below(2) == 0;
    let palette = (0..entries)
        .map(|_| match random_bytes(random, 3)[..] {
            [shade, _, _] if two => [if shade > 127 { 255 } else { 0 }; 3],
            [b, g, r] => [b, g, r],
            _ => unreachable!(),
        })
        .collect();
    let mut parts = Parts {
        header,
        width,
        height: if top_down { -height } else { height },
        depth,
        compression,
        masks: std::array::from_fn(|_| random_mask(random, depth.max(16))),
        colors,
        palette,
        pixels: Vec::new(),
    };
    if runs {
        parts.pixels = random_runs(random, &parts);
    } else {
        let bytes = parts.row_bytes() * height as usize;
        parts.pixels = random_bytes(random, bytes);
    }
    parts
}

/// Runs that mostly stay in the picture.
fn random_runs(random: &mut Random, parts: &Parts) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..parts.height {
        let mut left = parts.width as u32;
        while left > 0 && random.below(8) > 0 {
            let count = 1 + random.below(left.min(40));
            left -= count;
            match random.below(4) {
                0 if count > 2 => {
                    bytes.extend([0, count as u8]);
                    let stored = if parts.depth == 4 {
                        count.div_ceil(2)
                    } else {
                        count
                    };
                    bytes.extend(random_bytes(random, stored.next_multiple_of(2) as usize));
                }
                1 => bytes.extend([0, 2, count as u8, u8::from(random.below(9) == 0)]),
                _ => bytes.extend([count as u8, random.below(256) as u8]),
            }
        }
        if random.below(20) == 0 {
            // Too far.
            bytes.extend([200, 7]);
        }
        bytes.extend([0, 0]);
    }
    bytes.extend([0, 1]);
    bytes
}

#[test]
fn random_files_of_all_kinds() {
    let mut random = Random::new(seed_or(41));
    let mut read = 0;
    for _ in 0..400 {
        let bytes = random_parts(&mut random).bytes();
        read += usize::from(oracle::check(&bytes, ImageFormat::Bmp));
    }
    // The others have runs that leave the picture, or masks that a header does not allow.
    assert!(read > 300, "{read} of 400");
}

/// Files with one wrong byte, usually in the header, and truncated ones.
#[test]
fn damaged_files() {
    let mut random = Random::new(seed_or(42));
    for _ in 0..60 {
        let whole = random_parts(&mut random).bytes();
        for _ in 0..20 {
            let mut bytes = whole.clone();
            let limit = if random.below(2) == 0 {
                70
            } else {
                bytes.len() as u32
            };
            let at = random.below(limit.min(bytes.len() as u32)) as usize;
            bytes[at] ^= 1 << random.below(8);
            oracle::check(&bytes, ImageFormat::Bmp);
        }
        let len = random.below(whole.len() as u32) as usize;
        if len > 2 {
            oracle::check(&whole[..len], ImageFormat::Bmp);
        }
    }
}

fn refused(parts: &Parts, words: &str) {
    let error = read_image(file(&parts.bytes()).path(), &ReadOptions::default());
    let error = error.unwrap_err().to_string();
    assert!(error.contains(words), "no {words:?} in {error}");
}

#[test]
fn reasons() {
    let good = Parts {
        header: 40,
        width: 4,
        height: 2,
        depth: 8,
        compression: 0,
        masks: [0; 4],
        colors: 2,
        palette: vec![[0; 3], [255; 3]],
        pixels: vec![0; 8],
    };
    assert!(oracle::check(&good.bytes(), ImageFormat::Bmp));
    let change = |change: &dyn Fn(&mut Parts)| {
        let mut parts = good.clone();
        change(&mut parts);
        parts
    };
    refused(&change(&|p| p.header = 64), "64 bytes is unknown");
    refused(&change(&|p| p.width = -4), "width is -4");
    refused(&change(&|p| p.height = 0), "at least 1");
    refused(&change(&|p| p.depth = 7), "7 bits per pixel");
    refused(&change(&|p| p.compression = 2), "8 bits per pixel");
    refused(&change(&|p| p.compression = 4), "JPEG");
    refused(&change(&|p| p.colors = 257), "257 entries");
    refused(&change(&|p| p.pixels.truncate(7)), "truncated");
    refused(&change(&|p| p.height = i32::MIN), "truncated");
    let wide = change(&|p| (p.width, p.height) = (i32::MAX, i32::MAX));
    refused(&wide, "truncated");
    let top_down = change(&|p| (p.height, p.compression) = (-2, 1));
    refused(&top_down, "bottom to top");
    let runs = change(&|p| p.compression = 1);
    let runs = |pixels: &[u8]| Parts {
        pixels: pixels.to_vec(),
        ..runs.clone()
    };
    refused(&runs(&[0, 5, 1, 1, 1, 1, 1, 0, 0, 1]), "leave the picture");
    refused(&runs(&[0, 2, 5, 0, 0, 1]), "leave the picture");
    refused(&runs(&[0, 2, 0, 2, 0, 1]), "leave the picture");
    refused(&runs(&[4, 1, 0]), "truncated");
    let huge = Parts {
        width: 60_000,
        height: 60_000,
        ..runs(&[0, 1])
    };
    refused(&huge, "its runs cannot hold");
    let masked = |masks: [u32; 4]| Parts {
        depth: 16,
        compression: 3,
        masks,
        pixels: vec![0; 16],
        palette: Vec::new(),
        ..good.clone()
    };
    refused(&masked([0xf800, 0x07e0, 0, 0]), "empty");
    refused(&masked([0xf800, 0x05e0, 0x1f, 0]), "0x5e0 is no mask");
    refused(&masked([0x1f800, 0x07e0, 0x1f, 0]), "0x1f800 is no mask");
}
