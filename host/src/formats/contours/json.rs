//! Contours as JSON, with the layout of `cv2.findContours`'s result.

use std::io::Write;

use crate::Result;
use crate::formats::text::Text;
use crate::trace::ContourSource;

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
pub fn write_contours_json(contours: &impl ContourSource, out: impl Write) -> Result<()> {
    let mut text = Text::new(out)?;
    text.put("{\"width\":").integer(contours.width());
    text.put(",\"height\":").integer(contours.height());
    text.put(",\"contours\":[");
    for index in 0..contours.len() {
        text.put(if index == 0 { "[" } else { ",[" });
        let mut between = "[";
        contours.visit_points(index, &mut |points| {
            for point in points {
                text.put(between).integer(point.x);
                text.put(",").integer(point.y).put("]");
                text.write_full()?;
                between = ",[";
            }
            Ok(())
        })?;
        text.put("]");
    }
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
