//! Bytes that come back, and damage that is found.

use proptest::prelude::*;

use super::*;
use crate::bytes::with_hash;
use crate::generate::Pattern;
use crate::label::ComponentOptions;
use crate::seeds::Random;
use crate::{BinaryImage, Engine, Samples, ValueImage};

fn noise(width: u32, height: u32, seed: u64) -> BinaryImage {
    let mut numbers = Random::new(seed);
    BinaryImage::from_fn(width, height, |_, _| numbers.below(5) < 2).unwrap()
}

fn options(seed: u64) -> ComponentOptions {
    let connectivity = match seed & 1 {
        0 => Connectivity::Four,
        _ => Connectivity::Eight,
    };
    ComponentOptions::default()
        .connectivity(connectivity)
        .statistics(seed & 2 == 0)
}

/// The part of a band of values.
fn of_values(width: u32, height: u32, first_row: u32, seed: u64) -> LabelPart {
    let mut numbers = Random::new(seed);
    let values: Vec<u16> = (0..width * height)
        .map(|_| numbers.below(3) as u16)
        .collect();
    let image = ValueImage::new(Samples::new(width, height, &values).unwrap()).unwrap();
    let connectivity = options(seed).connectivity;
    LabelPart::label_values(&image.background(0).unwrap(), first_row, connectivity).unwrap()
}

fn again(part: &LabelPart) -> LabelPart {
    LabelPart::from_bytes(&part.to_bytes().unwrap()).unwrap()
}

/// Labels in bands of `rows` rows that go through bytes at each step.
fn labelled(image: &BinaryImage, rows: u32, options: &ComponentOptions, take: bool) -> Vec<u64> {
    let bands: Vec<BinaryImage> = (0..image.height())
        .step_by(rows as usize)
        .map(|y| {
            let end = image.height().min(y + rows);
            let words = (y..end).flat_map(|y| image.row(y).to_vec()).collect();
            BinaryImage::from_words(image.width(), end - y, words).unwrap()
        })
        .collect();
    let mut insides = Vec::new();
    let mut joined: Option<LabelPart> = None;
    for (band, y) in bands.iter().zip((0..).step_by(rows as usize)) {
        let mut part = again(&LabelPart::label(band, y, options).unwrap());
        if take {
            let inside = components_to_bytes(&part.take_inside()).unwrap();
            insides.push(components_from_bytes(&inside).unwrap());
        }
        let part = again(&part);
        joined = Some(match joined {
            None => part,
            Some(upper) => again(&LabelPart::join(upper, part).unwrap()),
        });
    }
    let table = joined.unwrap().finish().unwrap();
    let whole = Engine::cpu().label(image, &(*options).into()).unwrap();
    assert_eq!(table.count(), u64::from(whole.count()));
    if !take {
        assert_eq!(table.components(), whole.components());
    }
    let mut labels = Vec::new();
    let mut components = Vec::new();
    for (i, (numbers, band)) in table.into_bands().into_iter().zip(&bands).enumerate() {
        let read = BandNumbers::from_bytes(&numbers.to_bytes().unwrap()).unwrap();
        assert_eq!(read, numbers);
        let of = numbers.numbers::<u64>().unwrap();
        let own = Engine::cpu()
            .label(band, &options.statistics(false).into())
            .unwrap();
        labels.extend(own.as_slice().iter().map(|&label| of[label as usize]));
        if take && options.statistics {
            assert_eq!(numbers.first_component(), components.len() as u64 + 1);
            components.extend(numbers.components(&insides[i]).unwrap().unwrap());
        }
    }
    if take && options.statistics {
        assert_eq!(components, whole.components().unwrap());
    }
    assert!(
        labels
            .iter()
            .zip(whole.as_slice())
            .all(|(&a, &b)| a == u64::from(b))
    );
    labels
}

#[test]
fn parts_come_back() {
    for seed in 0..24 {
        let image = noise(1 + seed as u32 * 7, 40, seed);
        for rows in [1, 3, 40] {
            labelled(&image, rows, &options(seed), seed & 4 == 0);
        }
    }
    for pattern in Pattern::ALL {
        let image = pattern.generate(129, 50, 7).unwrap();
        labelled(&image, 7, &options(1), true);
    }
}

#[test]
fn damage_is_found() {
    let part = LabelPart::label(&noise(70, 5, 1), 3, &options(0)).unwrap();
    for part in [part, of_values(20, 5, 3, 1)] {
        let bytes = part.to_bytes().unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(LabelPart::from_bytes(&damaged).is_err(), "byte {at}");
            assert!(LabelPart::from_bytes(&bytes[..at]).is_err(), "{at} bytes");
        }
    }
}

/// Forged bytes with the right hash: errors, but no panic, now or later.
#[test]
fn forged_bytes_do_no_harm() {
    let mut numbers = Random::new(5);
    let mut read = 0;
    for seed in 0..4000u64 {
        let part = |height, first_row, of| match seed & 8 {
            0 => LabelPart::label(&noise(70, height, of), first_row, &options(seed)).unwrap(),
            _ => of_values(70, height, first_row, of),
        };
        let (upper, lower) = (part(3, 0, seed), part(2, 3, seed + 2));
        let mut bytes = upper.to_bytes().unwrap();
        for _ in 0..=numbers.below(3) {
            let at = numbers.below(bytes.len() as u32) as usize;
            bytes[at] = match numbers.below(3) {
                0 => bytes[at].wrapping_add(1),
                1 => bytes[at] ^ 1 << numbers.below(8),
                _ => numbers.below(256) as u8,
            };
        }
        let Ok(part) = LabelPart::from_bytes(&with_hash(bytes)) else {
            continue;
        };
        read += 1;
        let Ok(merged) = LabelPart::join(part, lower) else {
            continue;
        };
        for band in merged.finish().unwrap().into_bands() {
            let _ = band.numbers::<u32>();
            let _ = band.components(&[]);
            let mut bytes = band.to_bytes().unwrap();
            let at = numbers.below(bytes.len() as u32) as usize;
            bytes[at] ^= 1 << numbers.below(8);
            if let Ok(band) = BandNumbers::from_bytes(&with_hash(bytes)) {
                // A band that claims to have 2³² components has their numbers too.
                if band.own_count() < 1 << 16 {
                    let _ = band.numbers::<u64>();
                }
            }
        }
    }
    assert!(read > 100, "{read}");
}

proptest! {
    #[test]
    fn any_bytes_are_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(LabelPart::from_bytes(&bytes).is_err());
        if bytes.len() > 13 {
            bytes[..5].copy_from_slice(b"TZLP\x02");
            prop_assert!(LabelPart::from_bytes(&with_hash(bytes)).is_err());
        }
    }
}
