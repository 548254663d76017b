//! Contours as SVG.
//!
//! The crate `svg` is not used: it builds the whole document as a tree of strings, which for
//! millions of points takes several times the memory of the contours. The document has only a few
//! fixed elements, so it is written directly.

use std::io::Write;

use glam::IVec2;

use crate::formats::scale::display_scale;
use crate::formats::shares::{
    Share, ShareText, family_shares, single_shares, visit_near, write_shares,
};
use crate::formats::svg_start::put_start;
use crate::formats::text::Text;
use crate::trace::{ContourSource, PointRoom, RangePoints};
use crate::{BorderKind, Geometry, Result};

/// Writes an SVG picture with one unit per pixel. Each outer border forms one path together with
/// the holes directly inside it, filled by the even-odd rule and stroked.
///
/// Images with both sides below 800 pixels are shown enlarged, up to 16 times. At that size the
/// line is one pixel of the screen wide, but at most a quarter of the image's pixel, so that holes
/// of one pixel stay open. The line grows when the picture is zoomed.
///
/// Holes are found through the hierarchy. Without one ([`Retrieval::List`](crate::Retrieval::List))
/// all contours form one path, which looks the same. With [`Geometry::Centers`] points are drawn at
/// the centers of their pixels.
///
/// # Errors
/// [`Error::Write`](crate::Error::Write).
pub fn write_contours_svg(contours: &impl ContourSource, mut out: impl Write) -> Result<()> {
    let mut text = Text::new(&mut out)?;
    let (width, height) = (contours.width(), contours.height());
    let holes = contours
        .kinds()
        .iter()
        .filter(|&&kind| kind == BorderKind::Hole)
        .count();
    put_start(&mut text, width, height, "Contours");
    text.put("<desc>");
    text.integer(contours.len() - holes).put(" outer borders, ");
    text.integer(holes).put(" holes, ");
    text.integer(contours.point_count()?);
    text.put(" points, of a binary image of ").integer(width);
    text.put(" x ").integer(height).put(" pixels, along the ");
    text.put(match contours.geometry() {
        Geometry::Centers => "pixels' centers",
        Geometry::Edges => "pixels' edges",
    });
    text.put("; by trazar</desc>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    text.put("<g fill=\"#9ecae9\" fill-rule=\"evenodd\" stroke=\"#08519c\" stroke-width=\"");
    // Renderers such as librsvg ignore `vector-effect`, so it is not used.
    let scale = display_scale(width, height);
    text.put(&(1.0 / f64::from(scale)).min(0.25).to_string());
    text.put("\" stroke-linecap=\"round\" stroke-linejoin=\"round\"");
    if contours.geometry() == Geometry::Centers {
        text.put(" transform=\"translate(.5 .5)\"");
    }
    text.put(">\n");

    text.finish()?;
    let all = 0..contours.len();
    let is_outer = |index: usize| contours.kinds()[index] == BorderKind::Outer;
    if all
        .clone()
        .all(|index| is_outer(index) || contours.links(index).parent.is_some())
    {
        let put = |share: &Share, room: &mut PointRoom, text: &mut ShareText<'_>| {
            let near = share.read(contours, room)?;
            for outer in share.contours.clone().filter(|&index| is_outer(index)) {
                text.put(PATH_START);
                for index in std::iter::once(outer).chain(contours.children(outer)) {
                    put_contour(text, contours, near, index)?;
                }
                text.put(PATH_END).write_full()?;
            }
            Ok(())
        };
        let shares = family_shares(contours, all, is_outer);
        write_shares(shares, put, "", &mut out)?;
    } else {
        let put = |share: &Share, room: &mut PointRoom, text: &mut ShareText<'_>| {
            let near = share.read(contours, room)?;
            let mut indices = share.contours.clone();
            indices.try_for_each(|index| put_contour(text, contours, near, index))
        };
        out.write_all(PATH_START.as_bytes())?;
        write_shares(single_shares(contours, all), put, "", &mut out)?;
        out.write_all(PATH_END.as_bytes())?;
    }
    out.write_all(b"</g>\n</svg>\n")?;
    Ok(out.flush()?)
}

/// What comes before and after the contours of a path.
const PATH_START: &str = "<path d=\"";
const PATH_END: &str = "\"/>\n";

/// Puts a contour of a path in relative coordinates.
fn put_contour(
    text: &mut ShareText<'_>,
    contours: &impl ContourSource,
    near: Option<RangePoints<'_>>,
    index: usize,
) -> Result<()> {
    let mut last = None;
    let mut command = ' ';
    visit_near(contours, near, index, &mut |points| {
        for &point in points {
            let Some(at) = last.replace(point) else {
                text.put("M").integer(point.x).put(" ").integer(point.y);
                continue;
            };
            let IVec2 { x, y } = point.wrapping_sub(at);
            let (next, values) = match (x, y) {
                (_, 0) => ('h', [Some(x), None]),
                (0, _) => ('v', [None, Some(y)]),
                _ => ('l', [Some(x), Some(y)]),
            };
            let mut separate = next == command;
            if !separate {
                text.put(next.encode_utf8(&mut [0; 4]));
            }
            for value in values.into_iter().flatten() {
                if separate && value >= 0 {
                    text.put(" ");
                }
                text.integer(value);
                separate = true;
            }
            command = next;
            text.write_full()?;
        }
        Ok(())
    })?;
    if last.is_some() {
        text.put("z");
    }
    text.write_full()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BinaryImage, Engine, TraceOptions};

    #[test]
    fn lines_leave_holes_of_one_pixel_open() {
        for (side, width) in [
            (18, "0.0625"),
            (100, "0.125"),
            (300, "0.25"),
            (1000, "0.25"),
        ] {
            let image = BinaryImage::from_fn(side, 5, |x, y| (x, y) != (3, 2)).unwrap();
            let contours = Engine::cpu().trace(&image, &TraceOptions::default());
            let mut out = Vec::new();
            write_contours_svg(&contours.unwrap(), &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(
                text.contains(&format!("stroke-width=\"{width}\"")),
                "{text}"
            );
        }
    }
}
