//! Parts of a label image, cut anywhere and joined in any order, against the whole image.

use super::*;
use crate::Engine;
use crate::error::Error;
use crate::measure::sums::Base;
use crate::seeds::{Random, seed_or};

/// Labels in rectangles and single pixels, with intensities.
fn random_image(random: &mut Random) -> (u32, Vec<i32>, Vec<u8>) {
    let (width, height) = (1 + random.below(90), 1 + random.below(40));
    let mut labels = vec![0; (width * height) as usize];
    for _ in 0..1 + random.below(25) {
        let (x, y) = (random.below(width), random.below(height));
        let (right, bottom) = (x + 1 + random.below(20), y + 1 + random.below(12));
        let label = random.below(12) as i32 * 7 - 7;
        for y in y..bottom.min(height) {
            for x in x..right.min(width) {
                labels[(y * width + x) as usize] = label;
            }
        }
    }
    for _ in 0..random.below(60) {
        let at = random.below(width * height) as usize;
        labels[at] = random.below(12) as i32 * 7 - 7;
    }
    let intensities = labels.iter().map(|_| random.below(256) as u8).collect();
    (width, labels, intensities)
}

/// The part of some rows, from arrays that have at most `MARGIN` rows beside them.
fn part(
    width: u32,
    labels: &[i32],
    intensities: &[u8],
    rows: Range<u32>,
    options: &MeasureOptions,
) -> MeasurePart {
    let height = labels.len() as u32 / width;
    let all = rows.start.saturating_sub(MARGIN)..height.min(rows.end + MARGIN);
    let pixels = (all.start * width) as usize..(all.end * width) as usize;
    let count = all.end - all.start;
    let own = rows.start - all.start..rows.end - all.start;
    let labels = Samples::new(width, count, &labels[pixels.clone()]).unwrap();
    let intensities = Samples::new(width, count, &intensities[pixels]).unwrap();
    MeasurePart::of_intensities(labels, intensities, own, rows.start, options).unwrap()
}

#[test]
fn parts_give_the_measures_of_the_whole() {
    let random = &mut Random::new(seed_or(1));
    for round in 0..120 {
        // Some need only one kind of sums of the intensities, or none.
        let properties = match round % 6 {
            0 => Properties::from([Property::IntensityMean]),
            1 => Properties::from([Property::CentroidWeighted]),
            2 => Properties::from([Property::IntensityStd, Property::Area]),
            3 => Properties::all(false),
            _ => Properties::all(true),
        };
        let options = MeasureOptions::default().properties(properties);
        let (width, labels, intensities) = random_image(random);
        let height = labels.len() as u32 / width;
        let whole = Engine::cpu()
            .measure_intensities(
                Samples::new(width, height, &labels).unwrap(),
                Samples::new(width, height, &intensities).unwrap(),
                &options,
            )
            .unwrap();
        let mut parts = Vec::new();
        let mut first = 0;
        while first < height {
            let end = height.min(first + 1 + random.below(9));
            parts.push(part(width, &labels, &intensities, first..end, &options));
            first = end;
        }
        while parts.len() > 1 {
            let at = random.below(parts.len() as u32 - 1) as usize;
            let lower = parts.remove(at + 1);
            let mut upper = parts.remove(at);
            if random.below(3) == 0 {
                upper = MeasurePart::from_bytes(&upper.to_bytes().unwrap()).unwrap();
            }
            parts.insert(at, MeasurePart::join(upper, &lower).unwrap());
        }
        let found = parts.pop().unwrap().finish().unwrap();
        assert_eq!(found.len(), whole.len());
        for (found, whole) in found.columns().iter().zip(whole.columns()) {
            assert_eq!(found.name(), whole.name());
            // All sums are integers below 2⁵³, so that their order makes no difference.
            match (found.values(), whole.values()) {
                (Values::Integers(found), Values::Integers(whole)) => assert_eq!(found, whole),
                (Values::Floats(values), Values::Floats(others)) => {
                    let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
                    let all = values.iter().zip(others).all(same);
                    assert!(all, "{}: {values:?}, {others:?}", found.name());
                }
                _ => panic!("columns of different types"),
            }
        }
    }
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let (labels, intensities) = (vec![1; 200], vec![9; 200]);
    let options = MeasureOptions::default().properties(Properties::all(true));
    let few = MeasureOptions::default().properties([Property::Perimeter]);
    let of =
        |width, rows, options: &MeasureOptions| part(width, &labels, &intensities, rows, options);
    let upper = || of(10, 0..8, &options);
    assert!(matches!(
        MeasurePart::join(upper(), &of(10, 9..20, &options)),
        Err(Error::PartsNotAdjacent { .. })
    ));
    for other in [of(5, 8..20, &options), of(10, 8..20, &few)] {
        assert!(matches!(
            MeasurePart::join(upper(), &other),
            Err(Error::PartsDiffer { .. })
        ));
    }
    let all = || Samples::new(10, 20, &labels).unwrap();
    for own in [3..3, 5..21, 1..5] {
        assert!(matches!(
            MeasurePart::of(all(), own, 9, &few),
            Err(Error::InvalidOption { .. })
        ));
    }
}

/// No part of an image has them, but bytes may.
#[test]
fn labels_with_more_pixels_than_there_are_get_refused() {
    const SIDE: u64 = (1 << 31) - 2;
    let options = MeasureOptions::default().properties([Property::Orientation]);
    let mut part = part(1, &[7; 2], &[0; 2], 0..2, &options);
    part.width = SIDE as u32;
    part.rows = 0..SIDE as u32;
    let (base, second) = (part.sums.bases[0], part.sums.second[0]);
    part.sums.bases.clear();
    part.sums.second.clear();
    for _ in 0..3 {
        part.sums.bases.push(Base {
            area: SIDE * SIDE / 2,
            ..base
        });
        part.sums.second.push(second);
    }
    let refused = MeasurePart::from_bytes(&part.to_bytes().unwrap()).unwrap_err();
    assert!(refused.to_string().contains("more pixels"), "{refused}");
    part.sums.bases.pop();
    part.sums.second.pop();
    assert!(MeasurePart::from_bytes(&part.to_bytes().unwrap()).is_ok());
}

/// Forged bytes with the right hash: errors, or measures of something, but no panic.
#[test]
fn forged_bytes_do_no_harm() {
    let random = &mut Random::new(seed_or(2));
    let all = Properties::all(true);
    let [mut read, mut joined] = [0; 2];
    for _ in 0..3000 {
        let (width, labels, intensities) = random_image(random);
        let height = labels.len() as u32 / width;
        let properties = all.as_slice().iter().filter(|_| random.below(4) > 0);
        let options = MeasureOptions::default().properties(properties.copied().collect::<Vec<_>>());
        let cut = random.below(height + 1);
        let of = |rows| part(width, &labels, &intensities, rows, &options);
        let (forged, other) = match random.below(3) {
            _ if cut == 0 || cut == height => (of(0..height), None),
            0 => (of(0..cut), Some(of(cut..height))),
            _ => (of(cut..height), Some(of(0..cut))),
        };
        let mut bytes = forged.to_bytes().unwrap();
        assert!(MeasurePart::from_bytes(&bytes[..bytes.len() - 1]).is_err());
        for _ in 0..=random.below(3) {
            // The hash is at the end.
            let at = random.below(bytes.len() as u32 - 8) as usize;
            let len = [1, 4, 8, 16][random.below(4) as usize].min(bytes.len() - 8 - at);
            let number = match random.below(6) {
                0 => 1,
                1 => u128::MAX,
                2 => u128::MAX >> 1,
                3 => 1 << (8 * len as u32 - 1),
                4 => 0,
                _ => random.below(u32::MAX).into(),
            };
            bytes[at..at + len].copy_from_slice(&number.to_le_bytes()[..len]);
        }
        let Ok(forged) = MeasurePart::from_bytes(&crate::bytes::with_hash(bytes)) else {
            continue;
        };
        // Hulls take memory by the heights of boxes.
        if forged.rows().len() > 1000 {
            continue;
        }
        read += 1;
        let whole = match other {
            None => Ok(forged),
            Some(other) if forged.rows().start == 0 => MeasurePart::join(forged, &other),
            Some(other) => MeasurePart::join(other, &forged),
        };
        if let Ok(whole) = whole {
            joined += 1;
            let _ = whole.finish();
        }
    }
    assert!(read > 300 && joined > 200, "{read} {joined}");
}
