//! Costs as a picture.

use std::io::Write;

use crate::Result;
use crate::distance::Costs;
use crate::formats::png_writer::{Pixels, write_png};

/// Writes a PNG of the costs: from dark blue for the least to yellow for the greatest, grey where
/// nothing reaches.
///
/// # Errors
/// [`Error::LengthMismatch`](crate::Error::LengthMismatch),
/// [`Error::Write`](crate::Error::Write).
pub fn write_costs_png(costs: &Costs, width: u32, height: u32, out: impl Write) -> Result<()> {
    super::Values::from(costs).check(width, height)?;
    let all = || (0..width as usize * height as usize).map(|index| costs.at(index));
    let most = all().fold(0.0, f64::max);
    let least = all().fold(f64::INFINITY, f64::min);
    let scale = if most > least {
        254.0 / (most - least)
    } else {
        0.0
    };
    write_png(out, width, height, Pixels::Indexed(palette()), |out| {
        let mut line = vec![0; width as usize];
        for y in 0..height as usize {
            for (x, entry) in line.iter_mut().enumerate() {
                let cost = costs.at(y * width as usize + x);
                *entry = match cost.is_nan() {
                    true => 0,
                    false => 1 + ((cost - least) * scale).round() as u8,
                };
            }
            out.write_all(&line)?;
        }
        Ok(())
    })
}

/// Entry 0 is grey; the others run through five colours, each lighter than the one before.
fn palette() -> Vec<u8> {
    const COLOURS: [[f64; 3]; 5] = [
        [20.0, 18.0, 70.0],
        [45.0, 85.0, 150.0],
        [30.0, 150.0, 140.0],
        [130.0, 205.0, 85.0],
        [253.0, 231.0, 40.0],
    ];
    let mut palette = vec![128; 3];
    for entry in 0..255 {
        let place = f64::from(entry) / 254.0 * 4.0;
        let from = (place as usize).min(3);
        let share = place - from as f64;
        let ends = COLOURS[from].iter().zip(COLOURS[from + 1]);
        palette.extend(ends.map(|(a, b)| (a + (b - a) * share).round() as u8));
    }
    palette
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The picture is read by another crate.
    #[test]
    fn costs_get_lighter_and_unreached_cells_are_grey() {
        let costs = Costs::F32(vec![0.0, 1.0, 2.0, f32::NAN, 3.0, 4.0]);
        let mut png = Vec::new();
        write_costs_png(&costs, 3, 2, &mut png).expect("written");
        let picture = image::load_from_memory(&png).expect("a picture").to_rgb8();
        let light = |x, y| {
            picture
                .get_pixel(x, y)
                .0
                .iter()
                .map(|&c| u32::from(c))
                .sum::<u32>()
        };
        assert_eq!(picture.get_pixel(0, 1).0, [128; 3]);
        let rising = [
            light(0, 0),
            light(1, 0),
            light(2, 0),
            light(1, 1),
            light(2, 1),
        ];
        assert!(rising.is_sorted() && rising[0] < rising[4], "{rising:?}");
        assert_eq!(picture.get_pixel(2, 1).0, [253, 231, 40]);
    }

    #[test]
    fn one_cost_and_none_are_drawn() {
        for costs in [vec![0.0, 0.0], vec![f32::NAN, f32::NAN]] {
            let mut png = Vec::new();
            write_costs_png(&Costs::F32(costs), 2, 1, &mut png).expect("written");
            assert!(image::load_from_memory(&png).is_ok());
        }
    }
}
