//! Parts that go through bytes at each step, and bytes that are damaged or forged.

use proptest::prelude::*;

use super::tests::{main_options, part};
use super::*;
use crate::bytes::with_hash;
use crate::generate::Pattern;
use crate::image::BinaryImage;
use crate::progress::Progress;
use crate::seeds::Random;
use crate::trace::cpu::test_cases::{all_options, images};
use crate::trace::cpu::trace;
use crate::trace::{ContourOptions, Contours, TraceAlgorithm};

fn again(part: &ContourPart) -> ContourPart {
    let bytes = part.to_bytes().unwrap();
    let read = ContourPart::from_bytes(&bytes).unwrap();
    assert_eq!(read.to_bytes().unwrap(), bytes);
    assert_eq!(
        (read.closed_count(), read.open_count()),
        (part.closed_count(), part.open_count())
    );
    read
}

fn parts(image: &BinaryImage, rows: u32, options: &ContourOptions) -> Vec<ContourPart> {
    let bands = (0..image.height()).step_by(rows as usize);
    let bands = bands.map(|y| y..image.height().min(y + rows));
    bands.map(|rows| part(image, rows, 16, options)).collect()
}

/// Joins parts of bands pairwise, as a tree, and passes them through bytes before each join.
fn check(image: &BinaryImage, rows: u32, options: &ContourOptions) {
    let mut level = parts(image, rows, options);
    while level.len() > 1 {
        let mut next = Vec::new();
        let mut rest = level.iter();
        while let Some(upper) = rest.next() {
            next.push(match rest.next() {
                Some(lower) => ContourPart::join(again(upper), again(lower)).unwrap(),
                None => again(upper),
            });
        }
        level = next;
    }
    let whole = trace(image, options, TraceAlgorithm::Suzuki, &Progress::SILENT);
    let found = again(&level[0]).finish().unwrap();
    assert!(
        found == whole.unwrap(),
        "bands of {rows} rows, {options:?} of {image:?}"
    );
}

proptest! {
    #![proptest_config(crate::seeds::config(150, 8))]

    #[test]
    fn random_images_match(image in images(), rows in 1u32..24) {
        for options in main_options() {
            check(&image, rows, &options);
        }
    }
}

#[test]
fn patterns_match() {
    for pattern in Pattern::ALL {
        for (width, height) in [(1, 1), (1, 40), (64, 64)] {
            let image = pattern.generate(width, height, 7).unwrap();
            for options in main_options() {
                check(&image, 5, &options);
            }
        }
        let image = pattern.generate(131, 97, 3).unwrap();
        for options in all_options() {
            check(&image, 13, &options);
        }
    }
}

#[test]
fn joined_parts_leave_nothing_behind() {
    let image = Pattern::Blobs.generate(200, 200, 1).unwrap();
    for options in main_options() {
        let whole = part(&image, 0..200, 200, &options);
        let joined = parts(&image, 20, &options).into_iter();
        let joined = joined.reduce(|upper, lower| ContourPart::join(upper, lower).unwrap());
        let (whole, joined) = (
            whole.to_bytes().unwrap(),
            joined.unwrap().to_bytes().unwrap(),
        );
        // Steps are divided into other runs.
        assert!(
            joined.len() < whole.len() * 5 / 4,
            "{} {}",
            joined.len(),
            whole.len()
        );
    }
}

#[test]
fn damage_is_found() {
    let image = Pattern::Noise { density: 0.5 }.generate(30, 12, 1).unwrap();
    let bytes = part(&image, 4..9, 16, &main_options()[2])
        .to_bytes()
        .unwrap();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(ContourPart::from_bytes(&damaged).is_err(), "byte {at}");
        assert!(ContourPart::from_bytes(&bytes[..at]).is_err(), "{at} bytes");
    }
}

/// Forged bytes with the right hash give errors or contours, but no panic.
#[test]
fn forged_bytes_do_no_harm() {
    let mut numbers = Random::new(11);
    let (mut read, mut joined, mut finished) = (0, 0, 0);
    for round in 0..6000 {
        let options = main_options()[round % 3];
        let image = BinaryImage::from_fn(21, 9, |_, _| numbers.below(2) == 0).unwrap();
        let mut bytes: Vec<Vec<u8>> = parts(&image, 3, &options)
            .iter()
            .map(|part| part.to_bytes().unwrap())
            .collect();
        let forged = &mut bytes[numbers.below(3) as usize];
        for _ in 0..=numbers.below(2) {
            // Mostly beyond the letters, sides and options.
            let at = numbers.below(forged.len() as u32).max(numbers.below(20)) as usize;
            forged[at] = match numbers.below(3) {
                0 => forged[at].wrapping_add(1),
                1 => forged[at] ^ 1 << numbers.below(8),
                _ => numbers.below(4) as u8,
            };
        }
        let parts: Result<Vec<ContourPart>, _> = bytes
            .into_iter()
            .map(|bytes| ContourPart::from_bytes(&with_hash(bytes)))
            .collect();
        let Ok(mut parts) = parts else { continue };
        read += 1;
        let last = parts.pop().unwrap();
        let middle = parts.pop().unwrap();
        let Ok(lower) = ContourPart::join(middle, last) else {
            continue;
        };
        let Ok(whole) = ContourPart::join(parts.pop().unwrap(), lower) else {
            continue;
        };
        joined += 1;
        let Ok(contours) = whole.finish() else {
            continue;
        };
        finished += 1;
        for contour in contours.iter() {
            let _ = (contour.area(), contour.bounding_box());
        }
    }
    // Mistakes of each kind get as far as each stage.
    assert!(
        read > 300 && joined > 100 && finished > 20,
        "{read} {joined} {finished}"
    );
}

#[test]
fn contours_come_back() {
    for pattern in Pattern::ALL {
        let image = pattern.generate(131, 97, 3).unwrap();
        for options in all_options() {
            let found = trace(&image, &options, TraceAlgorithm::Suzuki, &Progress::SILENT).unwrap();
            let bytes = found.to_bytes().unwrap();
            assert_eq!(Contours::from_bytes(&bytes).unwrap(), found);
        }
    }
}

#[test]
fn forged_contours_are_within_their_image() {
    let mut numbers = Random::new(3);
    let image = Pattern::Noise { density: 0.5 }.generate(20, 9, 1).unwrap();
    let found = trace(
        &image,
        &main_options()[2],
        TraceAlgorithm::Suzuki,
        &Progress::SILENT,
    );
    let bytes = found.unwrap().to_bytes().unwrap();
    let mut read = 0;
    for _ in 0..4000 {
        let mut forged = bytes.clone();
        let at = numbers.below(bytes.len() as u32) as usize;
        forged[at] ^= 1 << numbers.below(8);
        assert!(Contours::from_bytes(&forged).is_err());
        let Ok(contours) = Contours::from_bytes(&with_hash(forged)) else {
            continue;
        };
        read += 1;
        for contour in contours.iter() {
            let _ = (contour.area(), contour.children().count());
        }
    }
    assert!(read > 100, "{read}");
}

proptest! {
    #[test]
    fn any_bytes_are_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(ContourPart::from_bytes(&bytes).is_err());
        if bytes.len() > 13 {
            bytes[..5].copy_from_slice(b"TZCP\x01");
            prop_assert!(ContourPart::from_bytes(&with_hash(bytes)).is_err());
        }
    }
}
