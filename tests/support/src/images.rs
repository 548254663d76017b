//! Random images, and all small ones.

use std::ops::Range;

use proptest::prelude::*;
use proptest::sample::select;
use trazar::BinaryImage;
use trazar::generate::Pattern;
use trazar::label::BandSource;

/// Sides up to `largest`, often near those of words, warps and tiles.
pub fn side(largest: u32) -> impl Strategy<Value = u32> {
    let edges = [
        1, 2, 16, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257,
    ];
    let edges: Vec<u32> = edges.into_iter().filter(|&edge| edge <= largest).collect();
    prop_oneof![select(edges), 1..=largest]
}

/// Noise of every density, and every pattern.
pub fn noise_or_pattern() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        (0..=100u32).prop_map(|percent| Pattern::Noise {
            density: f64::from(percent) / 100.0
        }),
        select(Pattern::ALL),
    ]
}

/// Noise of every density, and every pattern, also inverted.
pub fn image() -> impl Strategy<Value = BinaryImage> {
    (
        noise_or_pattern(),
        side(300),
        side(200),
        any::<u64>(),
        any::<bool>(),
    )
        .prop_map(|(pattern, width, height, seed, inverted)| {
            let mut image = pattern.generate(width, height, seed).unwrap();
            if inverted {
                image.invert();
            }
            image
        })
}

/// Random noise of any density, or random rectangles over each other: where they overlap, pixels of
/// an even number of rectangles are background. Each kind has its own range of widths and heights.
pub fn noise_or_rectangles(
    [noise_width, noise_height]: [Range<u32>; 2],
    [rectangles_width, rectangles_height]: [Range<u32>; 2],
) -> impl Strategy<Value = BinaryImage> {
    let noise =
        (noise_width, noise_height, 0.0..1.0f64).prop_flat_map(|(width, height, density)| {
            let pixels =
                prop::collection::vec(prop::bool::weighted(density), (width * height) as usize);
            pixels.prop_map(move |pixels| {
                BinaryImage::from_values(width, height, &pixels, false).unwrap()
            })
        });
    let rectangles = (rectangles_width, rectangles_height).prop_flat_map(|(width, height)| {
        let rectangle = (0..width, 0..height, 1..=width, 1..=height);
        prop::collection::vec(rectangle, 1..12).prop_map(move |rectangles| {
            BinaryImage::from_fn(width, height, |x, y| {
                let covers = |&&(left, top, w, h): &&(u32, u32, u32, u32)| {
                    (left..left + w).contains(&x) && (top..top + h).contains(&y)
                };
                rectangles.iter().filter(covers).count() % 2 == 1
            })
            .unwrap()
        })
    });
    prop_oneof![noise, rectangles]
}

/// All images of `width × height` pixels; of images with more than 12 pixels, every sixteenth in a
/// scattered order. Bit `y * width + x` of an image's number is its pixel (x, y).
pub fn tiny_images(width: u32, height: u32) -> impl Iterator<Item = BinaryImage> {
    let all = 0..1u64 << (width * height);
    let some = all.filter(move |bits| {
        width * height <= 12 || bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60 == 0
    });
    some.map(move |bits| {
        BinaryImage::from_fn(width, height, |x, y| bits >> (y * width + x) & 1 == 1).unwrap()
    })
}

/// A square image with lines, one pixel wide, at `columns` and `rows`.
pub fn lines(size: u32, columns: &[u32], rows: &[u32]) -> BinaryImage {
    BinaryImage::from_fn(size, size, |x, y| columns.contains(&x) || rows.contains(&y)).unwrap()
}

/// An image in memory, which is given in bands.
#[derive(Clone, Copy, Debug)]
pub struct InMemory<'a> {
    image: &'a BinaryImage,
    /// The first row of the next band.
    next: u32,
}

impl<'a> InMemory<'a> {
    /// From the first row on.
    pub fn new(image: &'a BinaryImage) -> Self {
        Self { image, next: 0 }
    }
}

impl BandSource for InMemory<'_> {
    fn width(&self) -> u32 {
        self.image.width()
    }
    fn height(&self) -> u32 {
        self.image.height()
    }
    fn next_band(&mut self, rows: u32) -> trazar::Result<Option<BinaryImage>> {
        let end = self.image.height().min(self.next + rows);
        let words = (self.next..end).flat_map(|y| self.image.row(y).to_vec());
        let rows = end - self.next;
        self.next = end;
        match rows {
            0 => Ok(None),
            rows => BinaryImage::from_words(self.image.width(), rows, words.collect()).map(Some),
        }
    }
    fn rewind(&mut self) -> trazar::Result<()> {
        self.next = 0;
        Ok(())
    }
}
