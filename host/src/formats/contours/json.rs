//! Contours as JSON, with the layout of `cv2.findContours`'s result.

use std::io::Write;

use crate::Result;
use crate::formats::shares::{Share, ShareText, single_shares, visit_near, write_shares};
use crate::formats::text::Text;
use crate::trace::{ContourSource, PointRoom};

/// Writes
/// `{"width":W,"height":H,"contours":[[[x,y],…],…],"hierarchy":[[next,previous,child,parent],…]}`
/// on one line, in the order of the contours.
///
/// ```
/// use trazar::{BinaryImage, Engine, TraceOptions, formats};
///
/// let dot = BinaryImage::from_art("..#")?;
/// let contours = Engine::cpu().trace(&dot, &TraceOptions::default())?;
/// let mut json = Vec::new();
/// formats::write_contours_json(&contours, &mut json)?;
/// assert_eq!(
///     json,
///     b"{\"width\":3,\"height\":1,\"contours\":[[[2,0]]],\"hierarchy\":[[-1,-1,-1,-1]]}\n"
/// );
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// [`Error::Write`](crate::Error::Write).
pub fn write_contours_json(contours: &impl ContourSource, mut out: impl Write) -> Result<()> {
    let mut text = Text::new(&mut out)?;
    text.put("{\"width\":").integer(contours.width());
    text.put(",\"height\":").integer(contours.height());
    text.put(",\"contours\":[");
    text.finish()?;
    let all = single_shares(contours, 0..contours.len());
    let put = |share: &Share, room: &mut PointRoom, text: &mut ShareText<'_>| {
        put_contours(contours, share, room, text)
    };
    write_shares(all, put, ",", &mut out)?;
    let mut text = Text::new(&mut out)?;
    text.put("],\"hierarchy\":[");
    let mut between = "[";
    for [next, previous, child, parent] in contours.hierarchy() {
        text.put(between).integer(*next).put(",").integer(*previous);
        text.put(",").integer(*child).put(",").integer(*parent);
        text.put("]").write_full()?;
        between = ",[";
    }
    text.put("]}\n");
    text.finish()
}

/// Puts the points of some contours.
fn put_contours(
    contours: &impl ContourSource,
    share: &Share,
    room: &mut PointRoom,
    text: &mut ShareText<'_>,
) -> Result<()> {
    let near = share.read(contours, room)?;
    let mut start = "[";
    for index in share.contours.clone() {
        text.put(start);
        let mut between = "[";
        visit_near(contours, near, index, &mut |points| {
            for point in points {
                text.put(between).integer(point.x);
                text.put(",").integer(point.y).put("]");
                text.write_full()?;
                between = ",[";
            }
            Ok(())
        })?;
        text.put("]");
        start = ",[";
    }
    Ok(())
}
