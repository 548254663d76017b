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
        let turned =
            BinaryImage::from_fn(mask.height(), mask.width(), |x, y| mask.get(y, x)).unwrap();
        assert_eq!(Rle::from_columns(&turned).unwrap(), rle);
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
        let masks = encode_labels(labels).unwrap();
        assert_eq!(masks.len(), usize::from(rle.area() > 0));
        assert!(
            masks
                .iter()
                .all(|(label, found)| *label == 9 && *found == rle)
        );
    }
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
        assert_eq!(masks[0].iou(&masks[1], false), Some(overlap));
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
            mask.iou(&mask, true);
        }
    }
}
