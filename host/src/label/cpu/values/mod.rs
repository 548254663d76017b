//! Labelling regions of equal value on the CPU.

use super::forest::Forest;
use crate::error::Result;
use crate::image::{PixelValue, ValueImage};
use crate::label::{Connectivity, Labels};
use crate::memory::zeroed_vec;
use crate::progress::Progress;

/// Labels the regions of `image`.
pub(crate) fn label<T: PixelValue>(
    image: &ValueImage<'_, T>,
    connectivity: Connectivity,
    progress: &Progress<'_>,
) -> Result<Labels> {
    let (width, height) = (image.width(), image.height());
    let mut labels: Vec<u32> = zeroed_vec(width as usize * height as usize, "labels")?;
    let mut forest = Forest::new(u32::MAX)?;
    for y in 0..height {
        for x in 0..width {
            let Some(value) = image.get(x, y) else {
                continue;
            };
            let mut label = 0;
            let before: &[(u32, u32)] = match connectivity {
                Connectivity::Four => &[(1, 0), (0, 1)],
                Connectivity::Eight => &[(1, 0), (0, 1), (1, 1), (u32::MAX, 1)],
            };
            for &(dx, dy) in before {
                let (nx, ny) = (x.wrapping_sub(dx), y.wrapping_sub(dy));
                if nx < width && ny < height && image.get(nx, ny) == Some(value) {
                    let other = labels[ny as usize * width as usize + nx as usize];
                    label = match label {
                        0 => other,
                        label => forest.join(label, other),
                    };
                }
            }
            if label == 0 {
                forest.reserve(1)?;
                label = forest.plant()?;
            }
            labels[y as usize * width as usize + x as usize] = label;
        }
    }
    let (numbers, count) = forest.number(0, |_| None);
    for label in &mut labels {
        *label = numbers[*label as usize];
    }
    progress.report(1, 1)?;
    Ok(Labels {
        width,
        height,
        labels,
        count,
        components: None,
    })
}
