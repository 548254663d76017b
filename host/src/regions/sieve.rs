//! Small regions replaced by their largest neighbours.

use crate::error::Result;
use crate::image::{PixelValue, ValueImage};
use crate::label::Connectivity;
use crate::memory::{filled_vec, reserve, zeroed_vec};
use crate::progress::Progress;

/// No region.
const NONE: u32 = 0;

/// The values of the image, row by row, in which regions of fewer than `size` pixels have the value
/// of their largest neighbour.
///
/// This is GDAL's rule: of neighbours of one size, the one found first counts, row by row, above
/// before the left. If it is also too small, its own largest neighbour is taken, and so on; a chain
/// that comes back to itself, or ends, leaves the region as it is. Sizes are those before any
/// change.
pub(crate) fn sieve<T: PixelValue>(
    image: &ValueImage<'_, T>,
    size: u64,
    connectivity: Connectivity,
    progress: &Progress<'_>,
) -> Result<Vec<T>> {
    const WHAT: &str = "the sizes and neighbours of regions";
    let labels = crate::label::cpu::values::label(image, connectivity, progress)?;
    let regions = labels.as_slice();
    let width = image.width() as usize;
    let count = labels.count() as usize + 1;

    let mut sizes: Vec<u64> = zeroed_vec(count, WHAT)?;
    // The region's first pixel, which has its value.
    let mut firsts: Vec<usize> = filled_vec(usize::MAX, count, WHAT)?;
    for (at, &region) in regions.iter().enumerate() {
        let region = region as usize;
        sizes[region] += 1;
        firsts[region] = firsts[region].min(at);
    }

    let mut largest = Largest {
        sizes: &sizes,
        neighbours: filled_vec(NONE, count, WHAT)?,
    };
    find_neighbours(regions, width, connectivity, &mut largest);
    let mut into = largest.neighbours;
    for region in 1..count {
        if sizes[region] >= size {
            into[region] = NONE;
        }
    }
    follow_chains(&sizes, size, &mut into)?;

    let mut values = Vec::new();
    reserve(&mut values, regions.len(), "the sieved image")?;
    for (at, &region) in regions.iter().enumerate() {
        let from = match into[region as usize] {
            NONE => at,
            other => firsts[other as usize],
        };
        values.push(image.value((from % width) as u32, (from / width) as u32));
    }
    Ok(values)
}

/// The largest neighbour of each region so far.
struct Largest<'a> {
    sizes: &'a [u64],
    neighbours: Vec<u32>,
}

impl Largest<'_> {
    /// Says that two pixels' regions are neighbours, if they differ.
    #[inline(always)]
    fn meet(&mut self, a: u32, b: u32) {
        if a != b && a != NONE && b != NONE {
            self.offer(a, b);
            self.offer(b, a);
        }
    }

    fn offer(&mut self, to: u32, other: u32) {
        let so_far = &mut self.neighbours[to as usize];
        if *so_far == NONE || self.sizes[*so_far as usize] < self.sizes[other as usize] {
            *so_far = other;
        }
    }
}

/// Meets all pairs of neighbouring pixels, in GDAL's order.
fn find_neighbours(
    regions: &[u32],
    width: usize,
    connectivity: Connectivity,
    largest: &mut Largest<'_>,
) {
    let mut above: &[u32] = &[];
    for row in regions.chunks_exact(width) {
        for (x, &region) in row.iter().enumerate() {
            if let Some(&other) = above.get(x) {
                largest.meet(region, other);
                if connectivity == Connectivity::Eight {
                    if x > 0 {
                        largest.meet(region, above[x - 1]);
                    }
                    if let Some(&other) = above.get(x + 1) {
                        largest.meet(region, other);
                    }
                }
            }
            if x > 0 {
                largest.meet(region, row[x - 1]);
            }
        }
        above = row;
    }
}

/// Turns the neighbours of small regions into the regions that they become part of.
fn follow_chains(sizes: &[u64], size: u64, into: &mut [u32]) -> Result<()> {
    // The last region whose chain came by.
    let mut seen: Vec<u32> = zeroed_vec(into.len(), "the chains of regions")?;
    for region in 1..into.len() {
        if sizes[region] >= size {
            continue;
        }
        // Regions have numbers of 32 bits.
        let number = region as u32;
        let mut end = number;
        let found = loop {
            end = into[end as usize];
            if end == NONE {
                break false;
            }
            if sizes[end as usize] >= size {
                break true;
            }
            if std::mem::replace(&mut seen[end as usize], number) == number {
                break false;
            }
        };
        if !found {
            into[region] = NONE;
            continue;
        }
        let mut current = region;
        while into[current] != end {
            let next = std::mem::replace(&mut into[current], end);
            current = next as usize;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BinaryImage, Engine, Samples};

    /// Neighbours of one size, chains, a region that stays; the results are those of
    /// `rasterio.features.sieve` of rasterio 1.4. `python/tests/test_sieve.py` draws others.
    #[test]
    fn small_regions_become_what_gdal_makes_of_them() {
        use Connectivity::{Eight, Four};
        let ties: &[u8] = &[1, 1, 2, 2, 3, 3, 5, 2, 3, 4, 4, 4];
        let chain: &[u8] = &[9, 9, 9, 9, 1, 9, 9, 9, 2, 3, 7, 7, 9, 9, 3];
        let corners: &[u8] = &[1, 2, 3, 1];
        // The image, its width, the size, and the result.
        type Case<'a> = (&'a [u8], u32, u64, Connectivity, &'a [u8]);
        let cases: [Case<'_>; 8] = [
            (ties, 4, 2, Four, &[1, 1, 2, 2, 3, 3, 2, 2, 3, 4, 4, 4]),
            (ties, 4, 3, Four, &[2, 2, 2, 2, 3, 3, 2, 2, 3, 4, 4, 4]),
            (ties, 4, 4, Eight, ties),
            (
                chain,
                5,
                2,
                Four,
                &[9, 9, 9, 9, 9, 9, 9, 9, 9, 3, 7, 7, 9, 9, 3],
            ),
            (chain, 5, 3, Four, &[9; 15]),
            (corners, 2, 2, Four, corners),
            (corners, 2, 2, Eight, &[1; 4]),
            (corners, 2, 0, Eight, corners),
        ];
        for (values, width, size, connectivity, expected) in cases {
            let height = values.len() as u32 / width;
            let image = ValueImage::new(Samples::new(width, height, values).unwrap()).unwrap();
            let sieved = Engine::cpu().sieve(&image, size, connectivity).unwrap();
            assert_eq!(sieved, expected, "{values:?}, {size}, {connectivity:?}");
        }
    }

    #[test]
    fn pixels_that_do_not_count_stay_and_are_no_neighbours() {
        let values = [4u8, 4, 0, 7, 5, 5, 0, 5];
        let image = ValueImage::new(Samples::new(4, 2, &values).unwrap()).unwrap();
        let image = image.background(0).unwrap();
        let mask = BinaryImage::from_art("####\n###.").unwrap();
        let image = image.mask(&mask).unwrap();
        // The 7 has no neighbours, and both others are too small.
        let sieved = Engine::cpu().sieve(&image, 3, Connectivity::Four).unwrap();
        assert_eq!(sieved, values);
        let sieved = Engine::cpu().sieve(&image, 2, Connectivity::Eight).unwrap();
        assert_eq!(sieved, values);
    }
}
