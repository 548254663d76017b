//! The borders of all values of an image.

use crate::error::Result;
use crate::image::{BinaryImage, PixelValue, ValueImage};
use crate::label::Connectivity;
use crate::memory::collect;
use crate::progress::Progress;
use crate::regions::{RegionOptions, Regions, ValueContours};
use crate::trace::contours::{BorderKind, Contours};
use crate::trace::{Geometry, Retrieval, TraceAlgorithm, TraceOptions};

/// Traces value by value. To be replaced by one pass.
fn by_value<T: PixelValue>(
    image: &ValueImage<'_, T>,
    options: &TraceOptions,
    progress: &Progress<'_>,
) -> Result<Vec<(T, Contours)>> {
    let (width, height) = (image.width(), image.height());
    let pixels = || (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let mut values: Vec<T> = collect(pixels().filter_map(|(x, y)| image.get(x, y)), "values")?;
    values.sort_unstable_by_key(|value| value.key());
    values.dedup_by_key(|value| value.key());
    let mut result = Vec::new();
    for value in values {
        let bits = BinaryImage::from_fn(width, height, |x, y| image.get(x, y) == Some(value))?;
        let contours = super::trace(&bits, options, TraceAlgorithm::Fragments, progress)?;
        result.push((value, contours));
    }
    Ok(result)
}

pub(crate) fn trace_regions<T: PixelValue>(
    image: &ValueImage<'_, T>,
    _options: &RegionOptions,
    progress: &Progress<'_>,
) -> Result<Regions<T>> {
    let options = TraceOptions::default()
        .geometry(Geometry::Edges)
        .retrieval(Retrieval::Ccomp);
    let all = by_value(image, &options, progress)?;
    let labels = crate::label::cpu::values::label(image, Connectivity::Four, progress)?;
    let mut rings = Vec::new();
    for (value, contours) in &all {
        for contour in contours.iter() {
            let start = contour.points()[0];
            let x = start.x - i32::from(contour.kind() == BorderKind::Hole);
            let region = labels.get(x as u32, start.y as u32);
            rings.push((region, contour.kind() as u8, start.y, x, *value, contour));
        }
    }
    rings.sort_by_key(|ring| (ring.0, ring.1, ring.2, ring.3));
    let mut regions = Regions {
        contours: Contours {
            width: image.width(),
            height: image.height(),
            geometry: Geometry::Edges,
            points: Vec::new(),
            offsets: vec![0],
            kinds: Vec::new(),
            hierarchy: Vec::new(),
        },
        values: Vec::new(),
        regions: Vec::new(),
        count: labels.count(),
    };
    let mut parents = Vec::new();
    let mut outer = -1;
    for (region, _, _, _, value, contour) in rings {
        let contours = &mut regions.contours;
        let is_outer = contour.kind() == BorderKind::Outer;
        if is_outer {
            outer = contours.kinds.len() as i32;
        }
        parents.push(if is_outer { -1 } else { outer });
        contours.points.extend_from_slice(contour.points());
        contours.offsets.push(contours.points.len());
        contours.kinds.push(contour.kind());
        regions.values.push(value);
        regions.regions.push(region);
    }
    regions.contours.hierarchy = super::hierarchy::link(&parents)?;
    Ok(regions)
}

pub(crate) fn trace_values<T: PixelValue>(
    image: &ValueImage<'_, T>,
    options: &TraceOptions,
    progress: &Progress<'_>,
) -> Result<ValueContours<T>> {
    let mut result = ValueContours {
        contours: Contours {
            width: image.width(),
            height: image.height(),
            geometry: options.geometry,
            points: Vec::new(),
            offsets: vec![0],
            kinds: Vec::new(),
            hierarchy: Vec::new(),
        },
        values: Vec::new(),
        groups: vec![0],
    };
    for (value, contours) in by_value(image, options, progress)? {
        let all = &mut result.contours;
        let (first, points) = (all.len() as i32, all.points.len());
        all.points.extend(contours.points);
        all.offsets
            .extend(contours.offsets[1..].iter().map(|offset| offset + points));
        all.kinds.extend(contours.kinds);
        let shift = |link: i32| if link < 0 { link } else { link + first };
        all.hierarchy
            .extend(contours.hierarchy.iter().map(|row| row.map(shift)));
        result.values.push(value);
        result.groups.push(all.len());
    }
    Ok(result)
}
