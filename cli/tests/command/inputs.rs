//! What the command reads, and what it says of files that it cannot read.

use std::fs;
use std::path::Path;

use trazar::formats::{ReadOptions, read_image};
use trazar_test_seeds::skipped;

use crate::common::{self, Folder, HEIGHT, RING, WIDTH, header, pixels, ring_contours, run};

#[track_caller]
fn reads_ring(path: &Path, options: &[&str]) {
    let mut arguments = vec![
        "trace",
        path.to_str().unwrap(),
        "-o",
        "-",
        "--format",
        "json",
    ];
    arguments.extend(options);
    let found = run(arguments).succeeded().json();
    assert_eq!(found["contours"], ring_contours(), "{}", path.display());
    assert_eq!(found["width"], WIDTH);
    assert_eq!(found["height"], HEIGHT);
}

#[test]
fn pictures_of_every_format_and_depth() {
    let folder = Folder::new();
    for name in ["a.png", "a.pgm", "a.bmp", "a.tiff", "a.tif"] {
        reads_ring(&folder.ring(name), &[]);
    }
    let wide: Vec<u16> = pixels()
        .iter()
        .map(|&p| if p { 40000 } else { 9 })
        .collect();
    let wide = image::ImageBuffer::<image::Luma<u16>, _>::from_raw(WIDTH, HEIGHT, wide).unwrap();
    for name in ["b.png", "b.pgm", "b.tiff"] {
        wide.save(folder.at(name)).unwrap();
        reads_ring(&folder.at(name), &[]);
        reads_ring(&folder.at(name), &["--threshold", "39999.5"]);
    }
    // (0, 220, 0) has the luminance 129, (220, 0, 255) has 95.
    let color = |&p: &bool| {
        if p {
            [0, 220, 0, 7]
        } else {
            [220, 0, 255, 255]
        }
    };
    let color: Vec<u8> = pixels().iter().flat_map(color).collect();
    let color = image::RgbaImage::from_raw(WIDTH, HEIGHT, color).unwrap();
    color.save(folder.at("c.png")).unwrap();
    reads_ring(&folder.at("c.png"), &[]);
    let rgb = image::DynamicImage::from(color).to_rgb8();
    for name in ["d.png", "d.ppm", "d.bmp", "d.tiff"] {
        rgb.save(folder.at(name)).unwrap();
        reads_ring(&folder.at(name), &["--threshold", "128"]);
    }
    // Content, not the extension.
    fs::copy(folder.at("a.tiff"), folder.at("e.png")).unwrap();
    reads_ring(&folder.at("e.png"), &[]);
    fs::copy(folder.at("a.png"), folder.at("no extension")).unwrap();
    reads_ring(&folder.at("no extension"), &[]);
}

#[test]
fn one_bit_pictures() {
    let folder = Folder::new();
    // A PBM's 1 is black, so it is background.
    let rows: Vec<String> = RING
        .iter()
        .map(|row| row.replace('#', "0 ").replace('.', "1 "))
        .collect();
    let pbm = folder.put(
        "a.pbm",
        format!("P1\n{WIDTH} {HEIGHT}\n{}\n", rows.join("\n")),
    );
    reads_ring(&pbm, &[]);
    let packed = |black: u8| -> Vec<u8> {
        let bits = RING.iter().map(|row| {
            row.bytes()
                .fold(0u8, |bits, c| bits << 1 | u8::from(c == b'#'))
        });
        bits.map(|bits| bits ^ black).collect()
    };
    let mut binary = format!("P4\n{WIDTH} {HEIGHT}\n").into_bytes();
    binary.extend(packed(0xff));
    reads_ring(&folder.put("b.pbm", binary), &["--threshold", "0.9"]);
    let mut inverse = format!("P4\n{WIDTH} {HEIGHT}\n").into_bytes();
    inverse.extend(packed(0));
    reads_ring(&folder.put("c.pbm", inverse), &["--invert"]);
    let mut tiff =
        tiff::encoder::TiffEncoder::new(fs::File::create(folder.at("d.tiff")).unwrap()).unwrap();
    let samples: Vec<u8> = pixels().iter().map(|&p| u8::from(p) * 255).collect();
    tiff.write_image::<tiff::encoder::colortype::Gray8>(WIDTH, HEIGHT, &samples)
        .unwrap();
    drop(tiff);
    reads_ring(&folder.at("d.tiff"), &[]);
}

#[test]
fn float_tiffs() {
    use tiff::encoder::{TiffEncoder, colortype};
    let folder = Folder::new();
    let single: Vec<f32> = pixels()
        .iter()
        .map(|&p| if p { 0.51 } else { -3.0 })
        .collect();
    let double: Vec<f64> = single.iter().map(|&v| v.into()).collect();
    let file = |name: &str| TiffEncoder::new(fs::File::create(folder.at(name)).unwrap()).unwrap();
    file("a.tiff")
        .write_image::<colortype::Gray32Float>(WIDTH, HEIGHT, &single)
        .unwrap();
    file("b.tiff")
        .write_image::<colortype::Gray64Float>(WIDTH, HEIGHT, &double)
        .unwrap();
    for name in ["a.tiff", "b.tiff"] {
        reads_ring(&folder.at(name), &[]);
        reads_ring(&folder.at(name), &["--threshold", "-2.5"]);
    }
    let mut nan = single;
    nan[9] = f32::NAN;
    file("nan.tiff")
        .write_image::<colortype::Gray32Float>(WIDTH, HEIGHT, &nan)
        .unwrap();
    run(["trace".as_ref(), folder.at("nan.tiff").as_os_str()])
        .failed(1, &["nan.tiff", "x = 1, y = 1", "NaN"]);
    let ints: Vec<u32> = pixels().iter().map(|&p| u32::from(p)).collect();
    file("u32.tiff")
        .write_image::<colortype::Gray32>(WIDTH, HEIGHT, &ints)
        .unwrap();
    run(["trace".as_ref(), folder.at("u32.tiff").as_os_str()])
        .failed(1, &["u32.tiff", "32 bits", "floats"]);
}

#[test]
fn arrays_of_every_type_order_and_endianness() {
    let folder = Folder::new();
    let (w, h) = (WIDTH as usize, HEIGHT as usize);
    let rows = pixels();
    let columns: Vec<bool> = (0..w * h).map(|i| rows[i % h * w + i / h]).collect();
    let shape = format!("({h}, {w})");
    for (fortran, pixels) in [(false, rows), (true, columns)] {
        let bytes = |encode: &dyn Fn(bool) -> Vec<u8>| -> Vec<u8> {
            pixels.iter().flat_map(|&p| encode(p)).collect()
        };
        let f32s = |p| if p { 0.75f32 } else { f32::NEG_INFINITY };
        let f64s = |p| if p { f64::INFINITY } else { 0.5 };
        let u16s = |p| if p { 32768u16 } else { 32767 };
        let i16s = |p| if p { 1i16 } else { -300 };
        let i32s = |p| if p { 70_000i32 } else { 0 };
        let arrays: [(&str, Vec<u8>); 13] = [
            ("<i2", bytes(&|p| i16s(p).to_le_bytes().to_vec())),
            (">i2", bytes(&|p| i16s(p).to_be_bytes().to_vec())),
            ("<i4", bytes(&|p| i32s(p).to_le_bytes().to_vec())),
            (">i4", bytes(&|p| i32s(p).to_be_bytes().to_vec())),
            ("|b1", bytes(&|p| vec![u8::from(p)])),
            ("|u1", bytes(&|p| vec![if p { 128 } else { 127 }])),
            ("<u2", bytes(&|p| u16s(p).to_le_bytes().to_vec())),
            (">u2", bytes(&|p| u16s(p).to_be_bytes().to_vec())),
            ("<f4", bytes(&|p| f32s(p).to_le_bytes().to_vec())),
            (">f4", bytes(&|p| f32s(p).to_be_bytes().to_vec())),
            ("<f8", bytes(&|p| f64s(p).to_le_bytes().to_vec())),
            (">f8", bytes(&|p| f64s(p).to_be_bytes().to_vec())),
            ("|u1", bytes(&|p| vec![if p { 255 } else { 0 }])),
        ];
        for (descr, data) in arrays {
            let path = folder.npy("a.npy", &header(descr, fortran, &shape), &data);
            reads_ring(&path, &[]);
        }
    }
}

#[test]
fn columns_past_a_word() {
    // 150 columns: two words and a part, in both orders.
    let folder = Folder::new();
    let (w, h) = (150usize, 5usize);
    let foreground = |x: usize, y: usize| (x * 7 + y * 13) % 5 < 2;
    let c: Vec<u8> = (0..w * h)
        .map(|i| u8::from(foreground(i % w, i / w)))
        .collect();
    let f: Vec<u8> = (0..w * h)
        .map(|i| u8::from(foreground(i / h, i % h)))
        .collect();
    let c = folder.npy("c.npy", &header("|b1", false, "(5, 150)"), &c);
    let f = folder.npy("f.npy", &header("|b1", true, "(5, 150)"), &f);
    let json = |path: &Path| {
        let path = path.to_str().unwrap();
        run(["trace", path, "-o", "-", "--format", "json"])
            .succeeded()
            .json()
    };
    assert_eq!(json(&c), json(&f));
    assert!(json(&c)["contours"].as_array().unwrap().len() > 10);
}

#[test]
fn a_threshold_that_finds_nothing_is_pointed_out() {
    let folder = Folder::new();
    let ring = folder.ring("a.png");
    let ring = ring.to_str().unwrap();
    let nothing = run(["trace", ring, "--threshold", "200", "--json"]).succeeded();
    assert_eq!(nothing.json()["contours"], 0);
    assert!(
        nothing.stderr.starts_with("warning: "),
        "{}",
        nothing.stderr
    );
    assert!(nothing.stderr.contains("--threshold"));
    let quiet = run(["label", ring, "--threshold", "200", "-q"]).succeeded();
    assert_eq!(quiet.stderr, "");
    // All pixels are 0: there is nothing to point out.
    let black = folder.npy("black.npy", &header("|u1", false, "(1, 3)"), &[0; 3]);
    let black = run(["label", black.to_str().unwrap(), "--json"]).succeeded();
    assert_eq!(black.stderr, "");
    assert_eq!(black.json()["components"], 0);
}

#[test]
fn thresholds_out_of_range() {
    let folder = Folder::new();
    let ring = folder.ring("a.png");
    let ring = ring.to_str().unwrap();
    run(["trace", ring, "--threshold", "256"]).failed(2, &["256", "0 to 255"]);
    run(["trace", ring, "--threshold", "-1"]).failed(2, &["-1", "0 to 255"]);
    run(["trace", ring, "--threshold", "nan"]).refused(&["--threshold", "finite"]);
    run(["trace", ring, "--threshold", "much"]).refused(&["--threshold", "finite"]);
    let bits = folder.npy("b.npy", &header("|b1", false, "(1, 1)"), &[1]);
    run(["trace", bits.to_str().unwrap(), "--threshold", "7"]).failed(2, &["0 to 1"]);
}

#[track_caller]
fn unreadable(path: &Path, words: &[&str]) {
    let name = path.file_name().unwrap().to_str().unwrap();
    for work in ["trace", "label"] {
        let words: Vec<&str> = [name].iter().chain(words).copied().collect();
        run([work, path.to_str().unwrap()]).failed(1, &words);
    }
}

#[test]
fn files_that_are_no_images() {
    let folder = Folder::new();
    unreadable(&folder.at("missing.png"), &["No such file"]);
    unreadable(folder.path(), &["directory"]);
    unreadable(&folder.put("empty.png", ""), &["empty"]);
    unreadable(&folder.put("text.txt", "hello"), &["not an image", "PNG"]);
    unreadable(&folder.put("text.png", "hello"), &["not an image"]);
    unreadable(&folder.put("text.pgm", "hello"), &["not an image"]);
    unreadable(
        &folder.put("a.gif", "GIF89a\x01\0\x01\0\0\0\0;"),
        &["GIF", "PNG"],
    );
    unreadable(&folder.put("text.npy", "hello"), &["not an image"]);
    unreadable(
        &folder
            .put("line\nbreak.txt", "hello")
            .with_file_name("missing"),
        &[],
    );
    run(["trace", folder.at("line\nbreak.txt").to_str().unwrap()]).failed(1, &["line"]);
    #[cfg(target_os = "linux")]
    unreadable(Path::new("/dev/zero"), &["device"]);
}

/// Whether the library reads a file. If not, it says why in one line; and so does the command,
/// which is run for one in eight files.
fn is_read(path: &Path, number: usize) -> bool {
    let read = read_image(path, &ReadOptions::default());
    let reason = read.as_ref().err().map(ToString::to_string);
    assert!(reason.as_ref().is_none_or(|reason| !reason.contains('\n')));
    if number.is_multiple_of(8) {
        let run = run(["trace", path.to_str().unwrap(), "--json"]);
        match &reason {
            None => {
                run.succeeded();
            }
            Some(reason) => run.failed(1, &[reason]),
        }
    }
    read.is_ok()
}

#[test]
fn truncated_files() {
    let folder = Folder::new();
    for name in ["a.png", "a.pgm", "a.bmp", "a.tiff"] {
        let whole = fs::read(folder.ring(name)).unwrap();
        for len in 1..whole.len() {
            let path = folder.put(name, &whole[..len]);
            // Bytes after the pixels are not needed.
            if is_read(&path, len) {
                let end = match name {
                    "a.png" => whole.len() - 16,
                    "a.tiff" => whole.len() - 64,
                    _ => whole.len(),
                };
                assert!(
                    len >= end,
                    "{name} was read from {len} of {} bytes",
                    whole.len()
                );
            }
        }
    }
    let whole = header("<f8", false, "(2, 3)");
    unreadable(&folder.npy("a.npy", &whole, &[0; 47]), &["truncated"]);
    unreadable(&folder.put("b.npy", b"\x93NUMPY\x01\x00"), &["truncated"]);
    unreadable(
        &folder.put("c.npy", b"\x93NUMPY\x01\x00\x40\x00{'descr'"),
        &["truncated"],
    );
}

#[test]
fn damaged_files() {
    let folder = Folder::new();
    for name in ["a.png", "a.pgm", "a.bmp", "a.tiff"] {
        let whole = fs::read(folder.ring(name)).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            is_read(&folder.put(name, &damaged), at);
        }
    }
}

#[test]
fn arrays_that_are_no_images() {
    let folder = Folder::new();
    let npy = |header: &str, data: &[u8]| folder.npy("a.npy", header, data);
    unreadable(
        &npy(&header("|u1", false, "(2, 2, 2)"), &[0; 8]),
        &["(2, 2, 2)", "two dim"],
    );
    unreadable(
        &npy(&header("|u1", false, "(8,)"), &[0; 8]),
        &["(8)", "two dim"],
    );
    unreadable(
        &npy(&header("|u1", false, "()"), &[0; 8]),
        &["()", "two dim"],
    );
    unreadable(
        &npy(&header("<i8", false, "(1, 1)"), &[0; 8]),
        &["'<i8'", "int32"],
    );
    unreadable(&npy(&header("<c8", false, "(1, 1)"), &[0; 8]), &["<c8"]);
    unreadable(&npy(&header("|O", false, "(1, 1)"), &[0; 8]), &["|O"]);
    unreadable(
        &npy(&header("|u1", false, "(0, 5)"), &[]),
        &["0", "at least 1"],
    );
    unreadable(&npy(&header("|u1", false, "(5, 0)"), &[]), &["at least 1"]);
    let nan = [0.0, f64::NAN].map(f64::to_le_bytes).concat();
    unreadable(
        &npy(&header("<f8", false, "(1, 2)"), &nan),
        &["x = 1, y = 0", "NaN"],
    );
    unreadable(
        &npy(&header("<f8", true, "(2, 1)"), &nan),
        &["x = 0, y = 1", "NaN"],
    );
    unreadable(&npy("not a dict", &[]), &["damaged"]);
    unreadable(&npy(&"(".repeat(9000), &[]), &["damaged"]);
    unreadable(&npy(&" ".repeat(20_000), &[]), &["20001"]);
    unreadable(
        &folder.put("b.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff"),
        &["4294967295"],
    );
    unreadable(
        &folder.put("c.npy", b"\x93NUMPY\x09\x00\x02\x00{\n"),
        &["damaged"],
    );
}

#[test]
fn sizes_that_nothing_can_hold() {
    let folder = Folder::new();
    let shape = "(2147483647, 2147483647)";
    unreadable(
        &folder.npy("a.npy", &header("|u1", false, shape), &[0; 64]),
        &["too large"],
    );
    unreadable(
        &folder.npy(
            "a.npy",
            &header("<f8", true, "(2147483646, 2147483646)"),
            &[0; 64],
        ),
        &["truncated"],
    );
    let wide = "(99999999999999999999, 99999999999999999999)";
    unreadable(
        &folder.npy("a.npy", &header("|u1", false, wide), &[0]),
        &["damaged"],
    );
    unreadable(
        &folder.put("a.pgm", "P5\n2147483646 2147483646\n255\n"),
        &["a.pgm"],
    );
    unreadable(
        &folder.put("a.pbm", "P4\n4000000000 4000000000\n"),
        &["truncated"],
    );
    unreadable(&folder.put("b.pgm", "P5\n0 3\n255\n"), &["at least 1"]);
    let mut empty = fs::read(folder.ring("b.bmp")).unwrap();
    empty[18..22].fill(0);
    unreadable(&folder.put("b.bmp", empty), &["0 × 7", "at least 1"]);
    // A PNG and a BMP whose headers claim 2^31 - 2 pixels each way.
    for name in ["a.png", "a.bmp"] {
        let mut bytes = fs::read(folder.ring(name)).unwrap();
        if name == "a.png" {
            bytes[16..20].copy_from_slice(&0x7fff_fffeu32.to_be_bytes());
            bytes[20..24].copy_from_slice(&0x7fff_fffeu32.to_be_bytes());
            let crc = crc32(&bytes[12..29]).to_be_bytes();
            bytes[29..33].copy_from_slice(&crc);
        } else {
            bytes[18..22].copy_from_slice(&0x7fff_fffeu32.to_le_bytes());
            bytes[22..26].copy_from_slice(&0x7fff_fffeu32.to_le_bytes());
        }
        unreadable(&folder.put(name, bytes), &[]);
    }
}

/// PNG's checksum.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            crc >> 1 ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

#[cfg(unix)]
#[test]
fn no_permission_to_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let path = folder.ring("a.png");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&path).is_ok() {
        skipped(
            "no_permission_to_read",
            "this user (root?) may read everything",
        );
        return;
    }
    unreadable(&path, &["Permission denied"]);
}

#[cfg(unix)]
#[test]
fn images_from_a_pipe() {
    let folder = Folder::new();
    let whole = fs::read(folder.ring("a.png")).unwrap();
    let pipe = folder.at("pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    assert!(made.success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, whole).unwrap()
    });
    reads_ring(&pipe, &[]);
    writer.join().unwrap();
}

#[cfg(unix)]
#[test]
fn images_from_standard_input() {
    let folder = Folder::new();
    let ring = fs::File::open(folder.ring("a.png")).unwrap();
    let output = common::command()
        .args(["trace", "-", "-o", "-", "--format", "json"])
        .stdin(ring)
        .output()
        .unwrap();
    let run = common::Run::of(output).succeeded();
    assert_eq!(run.json()["contours"], ring_contours());
}

/// Samples of 1 bit are read as such in a PNG, grey or with a palette of black and white, and in a
/// BMP.
#[test]
fn one_bit_is_one_bit() {
    let folder = Folder::new();
    let line: Vec<u8> = RING
        .iter()
        .map(|row| {
            row.bytes()
                .fold(0, |bits, c| bits << 1 | u8::from(c == b'#'))
        })
        .collect();
    let palettes: [(&str, Option<[u8; 6]>); 3] = [
        ("grey.png", None),
        ("palette.png", Some([0, 0, 0, 255, 255, 255])),
        ("colours.png", Some([0, 0, 0, 255, 255, 0])),
    ];
    for (name, palette) in palettes {
        let file = fs::File::create(folder.at(name)).unwrap();
        let mut encoder = png::Encoder::new(file, WIDTH, HEIGHT);
        encoder.set_depth(png::BitDepth::One);
        if let Some(palette) = palette {
            encoder.set_color(png::ColorType::Indexed);
            encoder.set_palette(palette.to_vec());
        }
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&line).unwrap();
    }
    let bmp = |palette: [[u8; 4]; 2]| {
        let mut bytes = b"BM".to_vec();
        let words = [
            62 + 28,
            0,
            62,
            40,
            WIDTH,
            HEIGHT,
            1 | 1 << 16,
            0,
            28,
            0,
            0,
            2,
            0,
        ];
        bytes.extend(words.map(u32::to_le_bytes).concat());
        bytes.extend(palette.concat());
        bytes.extend(line.iter().rev().flat_map(|&bits| [bits, 0, 0, 0]));
        bytes
    };
    folder.put("a.bmp", bmp([[0; 4], [255, 255, 255, 0]]));
    folder.put("colours.bmp", bmp([[0; 4], [0, 255, 255, 0]]));
    for name in ["grey.png", "palette.png", "a.bmp"] {
        reads_ring(&folder.at(name), &[]);
        reads_ring(&folder.at(name), &["--threshold", "0"]);
        let path = folder.at(name);
        let path = path.to_str().unwrap();
        let json = run(["label", path, "--json"]).succeeded().json();
        assert_eq!(json["samples"], "1-bit", "{name}");
        run(["label", path, "--threshold", "2"]).failed(2, &["0 to 1"]);
        let none = run(["label", path, "--threshold", "1", "--json"]).succeeded();
        assert_eq!(none.json()["components"], 0);
    }
    for name in ["colours.png", "colours.bmp"] {
        reads_ring(&folder.at(name), &["--threshold", "225"]);
    }
}

#[test]
fn big_tiffs_by_content() {
    let folder = Folder::new();
    let samples: Vec<u8> = pixels().iter().map(|&p| u8::from(p) * 255).collect();
    let file = fs::File::create(folder.at("no extension")).unwrap();
    tiff::encoder::TiffEncoder::new_big(file)
        .unwrap()
        .write_image::<tiff::encoder::colortype::Gray8>(WIDTH, HEIGHT, &samples)
        .unwrap();
    reads_ring(&folder.at("no extension"), &[]);
}

/// A TIFF of one strip, with one channel or three.
fn tiff_of(width: u32, height: u32, channels: u16, compression: u32, data: &[u8]) -> Vec<u8> {
    let photometric = if channels == 3 { 2 } else { 1 };
    let entries: [(u16, u32); 9] = [
        (256, width),
        (257, height),
        (258, 8),
        (259, compression),
        (262, photometric),
        (273, 8),
        (277, channels.into()),
        (278, height),
        (279, data.len() as u32),
    ];
    let directory = 8 + data.len() as u32;
    let mut bytes = [b"II*\0", directory.to_le_bytes().as_slice(), data].concat();
    bytes.extend((entries.len() as u16).to_le_bytes());
    for (tag, value) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(4u16.to_le_bytes());
        if tag == 258 && channels == 3 {
            // Three values, after the directory.
            bytes.extend(3u32.to_le_bytes());
            bytes.extend((directory + 2 + 9 * 12 + 4).to_le_bytes());
        } else {
            bytes.extend(1u32.to_le_bytes());
            bytes.extend(value.to_le_bytes());
        }
    }
    bytes.extend([0; 4]);
    bytes.extend([8u32; 3].map(u32::to_le_bytes).concat());
    bytes
}

#[test]
fn a_whole_tiff_is_not_called_truncated() {
    let folder = Folder::new();
    // LZW: clear, end.
    let short = tiff_of(WIDTH, HEIGHT, 1, 5, &[0x80, 0x40, 0x40, 0]);
    unreadable(&folder.put("a.tif", short), &["whole", "compression"]);
    let plain = tiff_of(WIDTH, HEIGHT, 1, 1, &[0; 56]);
    let path = folder.put("b.tif", plain);
    run(["label".as_ref(), path.as_os_str()]).succeeded();
}

#[cfg(target_os = "linux")]
#[test]
fn memory_that_cannot_be_had_is_an_error() {
    let folder = Folder::new();
    // A sparse file holds all that it claims, but takes no space on the disk.
    let mut huge = tiff_of(60_000, 60_000, 1, 1, &[]);
    let directory = huge.len() as u64;
    huge[8 + 2 + 5 * 12 + 8..][..4].copy_from_slice(&(directory as u32).to_le_bytes());
    let huge = folder.put("a.tif", huge);
    let file = fs::OpenOptions::new().write(true).open(&huge).unwrap();
    file.set_len(directory + 60_000 * 60_000).unwrap();
    drop(file);
    let limited = std::process::Command::new("sh")
        .args(["-c", "ulimit -v 3000000; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_trazar"))
        .arg("label")
        .arg(huge)
        .output()
        .unwrap();
    common::Run::of(limited).failed(1, &["out of memory"]);
}

/// A colour profile of 100 MB, compressed to a few kilobytes, is not unpacked: it is not needed.
#[test]
fn profiles_are_not_unpacked() {
    let folder = Folder::new();
    let mut info = png::Info::with_size(WIDTH, HEIGHT);
    info.bit_depth = png::BitDepth::Eight;
    info.icc_profile = Some(vec![0; 100 << 20].into());
    let file = fs::File::create(folder.at("a.png")).unwrap();
    let encoder = png::Encoder::with_info(file, info).unwrap();
    let mut writer = encoder.write_header().unwrap();
    let samples: Vec<u8> = pixels().iter().map(|&p| u8::from(p) * 255).collect();
    writer.write_image_data(&samples).unwrap();
    drop(writer);
    reads_ring(&folder.at("a.png"), &[]);
}

#[test]
fn colours_of_tiffs() {
    use tiff::encoder::{TiffEncoder, colortype};
    let folder = Folder::new();
    let file = |name: &str| TiffEncoder::new(fs::File::create(folder.at(name)).unwrap()).unwrap();
    // Cyan without black, and black; the luminance of cyan is 179.
    let ink = |&p: &bool| if p { [255, 0, 0, 0] } else { [0, 0, 0, 255] };
    let ink: Vec<u8> = pixels().iter().flat_map(ink).collect();
    file("ink.tif")
        .write_image::<colortype::CMYK8>(WIDTH, HEIGHT, &ink)
        .unwrap();
    reads_ring(&folder.at("ink.tif"), &["--threshold", "178"]);
    let none = run([
        "label".as_ref(),
        folder.at("ink.tif").as_os_str(),
        "--threshold".as_ref(),
        "179".as_ref(),
        "--json".as_ref(),
    ]);
    assert_eq!(none.succeeded().json()["components"], 0);
    let wide = |&p: &bool| {
        if p {
            [0, 56_000u16, 0]
        } else {
            [56_000, 0, 65_535]
        }
    };
    let wide: Vec<u16> = pixels().iter().flat_map(wide).collect();
    file("rgb.tif")
        .write_image::<colortype::RGB16>(WIDTH, HEIGHT, &wide)
        .unwrap();
    reads_ring(&folder.at("rgb.tif"), &[]);
}

/// The summary names what a file has that the result leaves out, and only that.
#[test]
fn what_is_left_out_of_a_tiff_is_said() {
    use tiff::encoder::{TiffEncoder, colortype};
    use tiff::tags::Tag;
    let folder = Folder::new();
    let samples: Vec<i16> = pixels()
        .iter()
        .map(|&p| if p { 812 } else { -9999 })
        .collect();
    let file = fs::File::create(folder.at("dem.tif")).unwrap();
    let mut pages = TiffEncoder::new(file).unwrap();
    let mut page = pages
        .new_image::<colortype::GrayI16>(WIDTH, HEIGHT)
        .unwrap();
    let fields = page.encoder();
    fields.write_tag(Tag::GdalNodata, "-9999").unwrap();
    fields
        .write_tag(Tag::ModelPixelScaleTag, &[30.0, 30.0, 0.0][..])
        .unwrap();
    page.write_data(&samples).unwrap();
    for _ in 0..2 {
        pages
            .write_image::<colortype::GrayI16>(WIDTH, HEIGHT, &samples)
            .unwrap();
    }
    drop(pages);
    let dem = folder.at("dem.tif");
    let dem = dem.to_str().unwrap();
    reads_ring(Path::new(dem), &[]);
    reads_ring(Path::new(dem), &["--threshold", "-9999"]);
    let said = run(["label", dem]).succeeded().stderr;
    let notes: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix("note: "))
        .collect();
    assert_eq!(notes.len(), 3, "{said}");
    for (note, word) in
        notes
            .iter()
            .zip(["transform is", "value -9999 are left out", "2 more pages"])
    {
        assert!(note.contains(word), "{note}");
    }
    let json = run(["trace", dem, "--json"]).succeeded().json();
    assert_eq!(json["notes"], serde_json::json!(notes));
    assert_eq!(json["samples"], "int16");
    assert_eq!(json["threshold"], 0.0);
    assert_eq!(run(["label", dem, "--quiet"]).succeeded().stderr, "");
    run(["label", dem, "--threshold", "40000"]).failed(2, &["-32768 to 32767"]);
    let plain = folder.ring("a.tif");
    let plain = plain.to_str().unwrap();
    assert!(!run(["label", plain]).succeeded().stderr.contains("note"));
    let json = run(["label", plain, "--json"]).succeeded().json();
    assert_eq!(json["notes"], serde_json::json!([]));
}

/// A BMP of runs is read; for one with fewer runs than its size needs, nothing is allocated.
#[test]
fn bitmaps_of_runs() {
    let folder = Folder::new();
    let bmp = |width: u32, height: u32, runs: &[u8]| {
        let start = 54 + 4 * 256;
        let len = (start + runs.len()) as u32;
        let words = [len, 0, start as u32, 40, width, height, 1 | 8 << 16, 1];
        let mut bytes = b"BM".to_vec();
        bytes.extend(words.map(u32::to_le_bytes).concat());
        bytes.extend(
            [runs.len() as u32, 0, 0, 256, 0]
                .map(u32::to_le_bytes)
                .concat(),
        );
        bytes.extend((0..=255).flat_map(|shade| [shade, shade, shade, 0]));
        bytes.extend(runs);
        bytes
    };
    // From the lowest row upwards; each row has an end, and the image has one.
    let line = |row: &str| {
        let runs = row
            .bytes()
            .flat_map(|c| [1, if c == b'#' { 200 } else { 50 }]);
        runs.chain([0, 0]).collect::<Vec<u8>>()
    };
    let runs: Vec<u8> = RING
        .iter()
        .rev()
        .flat_map(|row| line(row))
        .chain([0, 1])
        .collect();
    reads_ring(&folder.put("a.bmp", bmp(WIDTH, HEIGHT, &runs)), &[]);
    let short = bmp(20_000, 20_000, &[255, 9, 0, 1]);
    unreadable(&folder.put("b.bmp", short), &["its runs", "20000 × 20000"]);
    let mut plain = bmp(20_000, 20_000, &[0; 64]);
    plain[30] = 0;
    unreadable(&folder.put("c.bmp", plain), &["truncated", "20000 × 20000"]);
}
