//! Run lengths against plain ones, pixel by pixel. `python/tests/test_rle.py` compares them with
//! pycocotools.

use super::*;
use crate::Samples;
use crate::seeds::{Random, seed_or};

/// The counts by their definition.
fn plain(image: &BinaryImage) -> Vec<u32> {
    let mut counts = vec![0];
    let mut is = false;
    for x in 0..image.width() {
        for y in 0..image.height() {
            if image.get(x, y) != is {
                counts.push(0);
                is = !is;
            }
            *counts.last_mut().unwrap() += 1;
        }
    }
    counts
}

fn image(random: &mut Random) -> BinaryImage {
    let sides = [1, 2, 7, 63, 64, 65, 128, 150];
    let [width, height] = [0; 2].map(|_| sides[random.below(8) as usize]);
    let (share, side) = (random.below(101), 1 + random.below(9));
    let noise: Vec<bool> = (0..150 * 150).map(|_| random.below(100) < share).collect();
    BinaryImage::from_fn(width, height, |x, y| {
        noise[(y / side * 150 + x / side) as usize]
    })
    .unwrap()
}

#[test]
fn random_masks_have_the_counts_of_the_definition() {
    let mut random = Random::new(seed_or(40));
    for _ in 0..300 {
        let mask = image(&mut random);
        let rle = Rle::from_image(&mask).unwrap();
        assert_eq!(rle.counts(), plain(&mask), "{mask}");
        let (width, height) = (mask.width(), mask.height());
        let columns = (0..width).flat_map(|x| (0..height).map(move |y| (x, y)));
        let columns: Vec<u8> = columns.map(|(x, y)| 5 + u8::from(mask.get(x, y))).collect();
        let samples = Samples::with_strides(width, height, 1, height as usize, &columns).unwrap();
        assert_eq!(Rle::from_samples(samples, 5).unwrap(), rle);
        let bits: Vec<u8> = columns.iter().map(|value| value - 5).collect();
        assert_eq!(
            decode(&[rle.clone(), rle.clone()]).unwrap(),
            [&bits[..], &bits].concat()
        );
        assert_eq!(rle.to_image().unwrap(), mask);
        assert_eq!(rle.area(), mask.count_foreground());
        let text = rle.to_text().unwrap();
        assert_eq!(
            Rle::from_text(rle.height(), rle.width(), &text).unwrap(),
            rle
        );
        let values: Vec<u8> = (0..mask.height())
            .flat_map(|y| (0..mask.width()).map(move |x| (x, y)))
            .map(|(x, y)| 9 * u8::from(mask.get(x, y)))
            .collect();
        let labels = Samples::new(mask.width(), mask.height(), &values).unwrap();
        assert_eq!(Rle::from_samples(labels, 0).unwrap(), rle);
        let masks = encode_labels(labels).unwrap();
        assert_eq!(masks.len(), usize::from(rle.area() > 0));
        assert!(
            masks
                .iter()
                .all(|(label, found)| *label == 9 && *found == rle)
        );
    }
}

/// Columns of more words than are scanned together, with noise, stripes and whole columns.
#[test]
fn tall_masks_have_the_counts_of_the_definition() {
    let mut random = Random::new(seed_or(43));
    for height in [1023, 1024, 1025, 2048, 2111] {
        for share in [0, 1, 50, 99, 100] {
            let width = 1 + random.below(5);
            let columns: Vec<f32> = (0..width * height)
                .map(|at| match at / height % 3 {
                    2 => (at / 1000 % 2) as f32,
                    _ => f32::from(random.below(100) < share),
                })
                .collect();
            let at = |x, y| (x * height + y) as usize;
            let mask = BinaryImage::from_fn(width, height, |x, y| columns[at(x, y)] > 0.5).unwrap();
            let samples = Samples::with_strides(width, height, 1, height as usize, &columns);
            let rle = Rle::from_samples(samples.unwrap(), 0.5).unwrap();
            assert_eq!(
                rle.counts(),
                plain(&mask),
                "{width} columns of {height}, {share} %"
            );
            assert_eq!(Rle::from_image(&mask).unwrap(), rle);
        }
    }
    let columns = [0.0, 1.0, 0.0, f32::NAN, f32::NAN, 0.0];
    let samples = Samples::with_strides(2, 3, 1, 3, &columns).unwrap();
    let refused = Rle::from_samples(samples, 0.5).unwrap_err();
    // In raster order, not in that of the columns.
    assert!(
        matches!(refused, crate::Error::NotANumber { x: 1, y: 0 }),
        "{refused}"
    );
}

#[test]
fn labels_of_many_strips_have_the_masks_of_their_pixels() {
    // Two threads take eight strips of 2¹⁹ pixels at a time. Label 300 is in the last ones.
    let (width, height) = (2600u32, 2000);
    let label = |x: u32, y: u32| match (x, y) {
        (2500.., _) => 300,
        _ if (x / 7).is_multiple_of(3) => 9,
        _ => (x / 100 + y / 150) as i32 % 5 - 1,
    };
    let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let labels: Vec<i32> = pixels.map(|(x, y)| label(x, y)).collect();
    let samples = Samples::new(width, height, &labels).unwrap();
    let expected: Vec<(i64, Rle)> = [1, 2, 3, 9, 300]
        .into_iter()
        .map(|own| {
            let mask = BinaryImage::from_fn(width, height, |x, y| label(x, y) == own).unwrap();
            (own.into(), Rle::from_image(&mask).unwrap())
        })
        .collect();
    for threads in [1, 2, 70] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let found = pool.build().unwrap().install(|| encode_labels(samples));
        assert!(found.unwrap() == expected, "{threads} threads");
    }
}

#[test]
fn texts_known_from_pycocotools() {
    let known = [
        ([3, 4], vec![4, 1, 2, 1, 4], "41202"),
        ([3, 4], vec![0, 4, 1, 2, 1, 4], "041N02"),
        ([3, 5], vec![15], "?"),
        ([4, 4], vec![16], "`0"),
        ([3, 5], vec![0, 15], "0?"),
        ([4, 4], vec![0, 16], "0`0"),
        ([3, 341], vec![1023], "oo0"),
        ([32, 32], vec![1024], "PP1"),
        // Differences of -16 and -17, and of more than 31 bits.
        ([5, 6], vec![1, 20, 3, 4, 2], "1d03@O"),
        ([29, 1], vec![1, 20, 3, 3, 2], "1d03_OO"),
        (
            [2, 2_000_000_009],
            vec![5, 1, 3, 4_000_000_000, 2, 7],
            "513ooYfVg3OWPfYiXL",
        ),
    ];
    for ([height, width], counts, text) in known {
        let mask = Rle::new(height, width, counts).unwrap();
        assert_eq!(mask.to_text().unwrap(), text.as_bytes(), "{mask:?}");
        assert_eq!(
            Rle::from_text(height, width, text.as_bytes()).unwrap(),
            mask
        );
    }
}

/// So many that they are shared out among threads.
#[test]
fn overlaps_of_many_masks_are_those_of_the_pixels() {
    let mut random = Random::new(seed_or(44));
    let sizes = [(90, 70), (90, 70), (90, 70), (70, 90)];
    let mut masks = |count: usize| -> Vec<BinaryImage> {
        let mut mask = |i: usize| {
            let (width, height) = sizes[i % 4];
            let (share, side) = (random.below(101), 1 + random.below(20) as u32);
            let noise: Vec<bool> = (0..90 * 90).map(|_| random.below(100) < share).collect();
            let at = |x: u32, y: u32| noise[(y / side * 90 + x / side) as usize];
            // In some, background around.
            let [left, top] = [0; 2].map(|_| random.below(30) as u32 * (i as u32 % 2));
            BinaryImage::from_fn(width, height, |x, y| x >= left && y >= top && at(x, y)).unwrap()
        };
        (0..count).map(&mut mask).collect()
    };
    let (found, truth) = (masks(41), masks(23));
    let encoded = |masks: &[BinaryImage]| -> Vec<Rle> {
        masks
            .iter()
            .map(|mask| Rle::from_image(mask).unwrap())
            .collect()
    };
    let is_crowd: Vec<bool> = (0..truth.len()).map(|i| i % 3 == 0).collect();
    let (found_rles, truth_rles) = (encoded(&found), encoded(&truth));
    let all = iou_of_all(&found_rles, &truth_rles, &is_crowd).unwrap();
    assert_eq!(all.len(), found.len() * truth.len());
    for (i, overlap) in all.into_iter().enumerate() {
        let (of_found, of_truth) = (i % found.len(), i / found.len());
        let (a, b) = (&found[of_found], &truth[of_truth]);
        if (a.width(), a.height()) != (b.width(), b.height()) {
            assert!(overlap.is_none_or(|overlap| overlap == 0.0));
            continue;
        }
        let count = |is: fn(bool, bool) -> bool| -> f64 {
            let rows = (0..a.height()).flat_map(|y| (0..a.width()).map(move |x| (x, y)));
            rows.filter(|&(x, y)| is(a.get(x, y), b.get(x, y))).count() as f64
        };
        let any = match is_crowd[of_truth] {
            true => count(|a, _| a),
            false => count(|a, b| a || b),
        };
        let both = count(|a, b| a && b);
        let expected = if both > 0.0 { both / any } else { 0.0 };
        assert_eq!(overlap, Some(expected), "{of_found} and {of_truth}");
    }
    assert!(iou_of_all(&[], &truth_rles, &is_crowd).unwrap().is_empty());
    assert!(iou_of_all(&found_rles, &[], &[]).unwrap().is_empty());
    assert!(iou_of_all(&found_rles, &truth_rles, &[]).is_err());
}

#[test]
fn masks_of_different_sizes_are_not_decoded_together() {
    let [a, b] = [(3, 4), (4, 3)].map(|(h, w)| Rle::new(h, w, vec![12]).unwrap());
    let refused = decode(&[a.clone(), b]).unwrap_err().to_string();
    assert!(refused.contains("[3, 4] and [4, 3]"), "{refused}");
    assert_eq!(decode(&[a]).unwrap(), [0; 12]);
    assert!(decode(&[]).unwrap().is_empty());
    assert!(
        decode(&[Rle::new(0, 5, vec![0]).unwrap()])
            .unwrap()
            .is_empty()
    );
}

#[test]
fn merged_masks_and_overlaps_are_those_of_the_pixels() {
    let mut random = Random::new(seed_or(41));
    for _ in 0..200 {
        let a = image(&mut random);
        let b = BinaryImage::from_fn(a.width(), a.height(), |_, _| random.below(3) == 0).unwrap();
        let both = BinaryImage::from_fn(a.width(), a.height(), |x, y| a.get(x, y) && b.get(x, y));
        let any = BinaryImage::from_fn(a.width(), a.height(), |x, y| a.get(x, y) || b.get(x, y));
        let [both, any] = [both.unwrap(), any.unwrap()];
        let masks = [&a, &b].map(|mask| Rle::from_image(mask).unwrap());
        let merged = |how| merge(&masks, how).unwrap().to_image().unwrap();
        assert_eq!(merged(Merge::Union), any);
        assert_eq!(merged(Merge::Intersection), both);
        let [both, any] = [both, any].map(|mask| mask.count_foreground() as f64);
        let overlap = if both > 0.0 { both / any } else { 0.0 };
        assert_eq!(masks[0].iou(&masks[1], false).unwrap(), Some(overlap));
    }
}

#[test]
fn texts_that_lie_are_refused() {
    let refused = |height, width, text: &[u8], words: &str| {
        let error = Rle::from_text(height, width, text).unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains('\n'), "{error}");
    };
    refused(3, 4, b"4", "add up to 4");
    refused(3, 4, b"", "add up to 0");
    refused(3, 4, b"o0", "add up to 31");
    refused(3, 4, b"4 1", "byte 1");
    refused(3, 4, b"4\xff", "byte 1");
    refused(3, 4, b"P", "within a number");
    refused(3, 4, b"oooooooooo0", "continues");
    refused(3, 4, b"O", "count of -1");
    refused(3, 4, b"111N", "count of -1");
    refused(1 << 16, 1 << 16, b"0", "fewer than 2³² pixels");
    assert!(Rle::new(3, 4, vec![u32::MAX; 1000]).is_err());
    // Any bytes.
    let mut random = Random::new(seed_or(42));
    for _ in 0..20_000 {
        let text: Vec<u8> = (0..random.below(12))
            .map(|_| 40 + random.below(80) as u8)
            .collect();
        if let Ok(mask) = Rle::from_text(3, 4, &text) {
            assert_eq!(mask.to_image().unwrap().count_foreground(), mask.area());
            mask.bounding_box();
            merge(&[mask.clone(), mask.clone()], Merge::Union).unwrap();
            mask.iou(&mask, true).unwrap();
        }
    }
}
