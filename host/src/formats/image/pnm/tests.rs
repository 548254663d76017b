use ::image::ImageFormat;
use trazar_test_seeds::{Random, seed_or};

use super::super::oracle;
use super::super::{ReadOptions, read_image};
use crate::formats::test_file::file;

/// White space, perhaps with a comment in it.
fn space(random: &mut Random) -> String {
    let spaces = [
        " ",
        "\n",
        "\t",
        "\r\n",
        "  ",
        "\x0b",
        "# a comment\n ",
        " #1\r# 2\n",
    ];
    spaces[random.below(8) as usize].to_owned()
}

fn random_file(random: &mut Random) -> Vec<u8> {
    let (width, height) = (1 + random.below(40), 1 + random.below(9));
    let kind = 1 + random.below(7);
    if kind == 7 {
        return random_pam(random, width, height);
    }
    let channels = if kind.is_multiple_of(3) { 3 } else { 1 };
    let samples = (width * height * channels) as usize;
    let mut header = format!("P{kind}{}{width}{}{height}", space(random), space(random));
    let maximum = [1, 15, 255, 256, 4095, 65535][random.below(6) as usize];
    if kind % 3 != 1 {
        header += &format!("{}{maximum}", space(random));
    }
    let mut bytes = header.into_bytes();
    bytes.push(b'\n');
    match kind {
        1 => {
            for _ in 0..samples {
                bytes.extend(b"01"[random.below(2) as usize..].first());
                bytes.extend(b" \n".iter().take(random.below(3) as usize));
            }
        }
        2 | 3 => {
            for _ in 0..samples {
                // Some samples exceed the maximum, which makes them white.
                let limit = if maximum > 255 { 65535 } else { 255 };
                let below = if random.below(9) == 0 { limit } else { maximum };
                bytes.extend(format!("{}\n", random.below(below + 1)).bytes());
            }
        }
        4 => {
            let stored = width.div_ceil(8) * height;
            bytes.extend((0..stored).map(|_| random.below(256) as u8));
        }
        _ => raster(random, &mut bytes, samples, maximum),
    }
    bytes
}

fn raster(random: &mut Random, bytes: &mut Vec<u8>, samples: usize, maximum: u32) {
    for _ in 0..samples {
        let sample = random.below(maximum + 1) as u16;
        if maximum > 255 {
            bytes.extend(sample.to_be_bytes());
        } else {
            bytes.push(sample as u8);
        }
    }
}

fn random_pam(random: &mut Random, width: u32, height: u32) -> Vec<u8> {
    let tuples = [
        ("BLACKANDWHITE", 1),
        ("BLACKANDWHITE_ALPHA", 2),
        ("GRAYSCALE", 1),
        ("GRAYSCALE_ALPHA", 2),
        ("RGB", 3),
        ("RGB_ALPHA", 4),
    ];
    let (tuple, depth) = tuples[random.below(6) as usize];
    let maximum = match tuple.starts_with('B') {
        true => 1,
        false => [1, 100, 255, 256, 65535][random.below(5) as usize],
    };
    let header = format!(
        "P7\n# a comment\nWIDTH {width}\nMAXVAL {maximum}\nHEIGHT\t{height}\nDEPTH {depth}\n\
         TUPLTYPE {tuple}\nENDHDR\n"
    );
    let mut bytes = header.into_bytes();
    raster(
        random,
        &mut bytes,
        (width * height * depth) as usize,
        maximum,
    );
    bytes
}

#[test]
fn random_files_of_all_kinds() {
    let mut random = Random::new(seed_or(43));
    for _ in 0..400 {
        assert!(oracle::check(&random_file(&mut random), ImageFormat::Pnm));
    }
}

/// Files with one wrong byte, usually in the header, and truncated ones.
#[test]
fn damaged_files() {
    let mut random = Random::new(seed_or(44));
    for _ in 0..60 {
        let whole = random_file(&mut random);
        for _ in 0..20 {
            let mut bytes = whole.clone();
            let limit = if random.below(2) == 0 {
                16
            } else {
                bytes.len() as u32
            };
            let at = 2 + random.below(limit.min(bytes.len() as u32) - 2) as usize;
            bytes[at] ^= 1 << random.below(8);
            // `image` refuses PAMs with comments that are not UTF-8, or with spaces before a key.
            if bytes.starts_with(b"P7") && !oracle::reads(&bytes, ImageFormat::Pnm) {
                let _ = read_image(file(&bytes).path(), &ReadOptions::default());
            } else {
                oracle::check(&bytes, ImageFormat::Pnm);
            }
        }
        let len = random.below(whole.len() as u32) as usize;
        if len > 2 {
            oracle::check(&whole[..len], ImageFormat::Pnm);
        }
    }
}

/// PAMs without a tuple type have the kind that their depth implies. (`image` reads 16-bit ones as
/// 8-bit.)
#[test]
fn pams_without_a_type() {
    let pam = |maximum: u32, samples: &[u8]| {
        let header = format!("P7\nWIDTH 2\nHEIGHT 1\nDEPTH 1\nMAXVAL {maximum}\n\nENDHDR\n");
        [header.as_bytes(), samples].concat()
    };
    assert!(oracle::check(
        &pam(255, &[1, 200]).replace_blank(),
        ImageFormat::Pnm
    ));
    let wide = pam(65535, &[0, 255, 128, 0]);
    let read = read_image(file(&wide).path(), &ReadOptions::default()).unwrap();
    assert_eq!(read.kind, crate::formats::SampleKind::U16);
    assert_eq!([0, 1].map(|x| read.image.get(x, 0)), [false, true]);
}

/// For a reference decoder that refuses the blank lines of a header, which Netpbm skips.
trait ReplaceBlank {
    fn replace_blank(self) -> Self;
}

impl ReplaceBlank for Vec<u8> {
    fn replace_blank(self) -> Self {
        let at = self.windows(2).position(|pair| pair == b"\n\n").unwrap();
        [&self[..at], &self[at + 1..]].concat()
    }
}

fn refused(bytes: impl AsRef<[u8]>, words: &str) {
    let error = read_image(file(bytes.as_ref()).path(), &ReadOptions::default());
    let error = error.unwrap_err().to_string();
    assert!(error.contains(words), "no {words:?} in {error}");
}

#[test]
fn reasons() {
    refused("P5", "within its header");
    refused("P5\n3 3\n", "within its header");
    refused("P5\n3 x\n255\n", "'x' in its header");
    refused("P5\n3 99999999999\n255\n", "too large");
    refused("P5\n3 3\n0\n", "is 0");
    refused("P5\n3 3\n65536\n", "is 65536");
    refused("P5\n0 3\n255\n", "at least 1");
    refused("P5\n3 3\n255\n12345678", "truncated");
    refused("P4\n9 3\n12345", "truncated");
    refused("P6\n4000000000 4000000000\n255\n", "truncated");
    refused("P1\n3 1\n0 2 1", "'2' among its samples");
    refused("P1\n3 1\n01  ", "truncated");
    refused("P2\n3 1\n255\n1 2 #", "'#' among its samples");
    refused("P2\n2 1\n255\n1 256", "larger than 255");
    refused("P2\n2 1\n300\n1 65536", "larger than 65535");
    refused("P2\n3 1\n255\n1 2      ", "truncated");
    let pam = |lines: &str| format!("P7\nWIDTH 1\nHEIGHT 1\n{lines}");
    refused(pam("DEPTH 1\nMAXVAL 255\nENDHDR\n"), "truncated");
    refused(pam("DEPTH 1\nMAXVAL 255\n"), "within its header");
    refused(pam("DEPTH 1\nENDHDR\n\0"), "lacks");
    refused(pam("DEPTH 5\nMAXVAL 255\nENDHDR\n\0"), "5 channels");
    refused(
        pam("DEPTH x\nMAXVAL 255\nENDHDR\n\0"),
        "\"x\" in the line DEPTH",
    );
    refused(pam("WIDTH 1\nMAXVAL 255\nENDHDR\n\0"), "two lines WIDTH");
    refused(pam("COLOUR 1\nENDHDR\n\0"), "\"COLOUR\"");
    let tuples = |kind: &str, rest: &str| pam(&format!("TUPLTYPE {kind}\n{rest}"));
    refused(
        tuples("CMYK", "DEPTH 4\nMAXVAL 255\nENDHDR\n\0"),
        "\"CMYK\"",
    );
    refused(
        tuples("RGB", "DEPTH 1\nMAXVAL 255\nENDHDR\n\0"),
        "1 channels",
    );
    let two = "DEPTH 1\nMAXVAL 1\nENDHDR\n\x02";
    refused(tuples("BLACKANDWHITE", two), "only 0 and 1");
    refused(pam(&format!("# {}", "long".repeat(20_000))), "too long");
}
