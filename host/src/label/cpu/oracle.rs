//! The oracle of the labelling tests: a flood fill, pixel by pixel, and images for the tests.

use glam::{DVec2, IVec2};
use proptest::prelude::*;

use crate::BinaryImage;
use crate::generate::{self, Pattern};
use crate::geometry::BoundingBox;
use crate::label::{Component, Connectivity, Labels};

/// The labels of `image`, with statistics.
pub(super) fn label(image: &BinaryImage, connectivity: Connectivity) -> Labels {
    let (width, height) = (image.width(), image.height());
    let neighbours: &[(i64, i64)] = match connectivity {
        Connectivity::Four => &[(1, 0), (-1, 0), (0, 1), (0, -1)],
        Connectivity::Eight => &[
            (1, 0),
            (-1, 0),
            (0, 1),
            (0, -1),
            (1, 1),
            (1, -1),
            (-1, 1),
            (-1, -1),
        ],
    };
    let at = |x: u32, y: u32| y as usize * width as usize + x as usize;
    let mut labels = vec![0; at(0, height)];
    let mut components = Vec::new();
    for y in 0..height {
        for x in 0..width {
            if !image.get(x, y) || labels[at(x, y)] != 0 {
                continue;
            }
            let label = components.len() as u32 + 1;
            labels[at(x, y)] = label;
            let mut pixels = vec![(x, y)];
            let mut visited = 0;
            while let Some(&(x, y)) = pixels.get(visited) {
                visited += 1;
                for (dx, dy) in neighbours {
                    let (nx, ny) = (i64::from(x) + dx, i64::from(y) + dy);
                    let (Ok(nx), Ok(ny)) = (u32::try_from(nx), u32::try_from(ny)) else {
                        continue;
                    };
                    if image.get(nx, ny) && labels[at(nx, ny)] == 0 {
                        labels[at(nx, ny)] = label;
                        pixels.push((nx, ny));
                    }
                }
            }
            components.push(measure(&pixels));
        }
    }
    Labels {
        width,
        height,
        labels,
        count: components.len() as u32,
        components: Some(components),
    }
}

fn measure(pixels: &[(u32, u32)]) -> Component {
    let points: Vec<IVec2> = pixels
        .iter()
        .map(|&(x, y)| IVec2::new(x as i32, y as i32))
        .collect();
    let area = pixels.len() as u64;
    let mean = |coordinate: fn(&(u32, u32)) -> u32| {
        let sum: u64 = pixels.iter().map(|p| u64::from(coordinate(p))).sum();
        sum as f64 / area as f64
    };
    Component {
        area,
        bounding_box: BoundingBox::of(&points).unwrap(),
        centroid: DVec2::new(mean(|p| p.0), mean(|p| p.1)),
    }
}

/// Random images: noise of any density, unchanged or with columns and rows repeated.
pub(super) fn images() -> impl Strategy<Value = BinaryImage> {
    let width = prop_oneof![
        2 => 1u32..12,
        1 => Just(63u32),
        1 => Just(64),
        1 => Just(65),
        1 => 126u32..131,
        1 => 1u32..200,
    ];
    let height = prop_oneof![4 => 1u32..20, 1 => 20u32..70];
    let scale = prop_oneof![3 => Just(1u32), 1 => 1u32..5];
    (width, height, 0.0..=1.0, scale.clone(), scale, any::<u64>()).prop_map(
        |(width, height, density, sx, sy, seed)| {
            let noise = generate::noise(width, height, density, seed).unwrap();
            BinaryImage::from_fn(width, height, |x, y| noise.get(x / sx, y / sy)).unwrap()
        },
    )
}

/// Every pattern at sizes around multiples of a word, and in single rows and columns.
pub(super) fn patterns() -> Vec<(BinaryImage, String)> {
    let mut images = Vec::new();
    let sizes = [
        (1, 1),
        (1, 90),
        (90, 1),
        (2, 2),
        (5, 5),
        (31, 33),
        (63, 40),
        (64, 64),
        (65, 63),
        (127, 20),
        (128, 128),
        (200, 70),
    ];
    for (width, height) in sizes {
        let mut add = |image, name: &str| {
            images.push((image, format!("{name} {width} × {height}")));
        };
        for pattern in Pattern::ALL {
            let mut image = pattern.generate(width, height, 9).unwrap();
            add(image.clone(), pattern.name());
            image.invert();
            add(image, &format!("inverted {pattern}"));
        }
        let empty = BinaryImage::new(width, height).unwrap();
        let mut full = empty.clone();
        full.invert();
        add(empty, "empty");
        add(full, "full");
    }
    images
}
