//! Contours as JSON, with the layout of `cv2.findContours`'s result.

use std::io::Write;

use crate::formats::text::Text;
use crate::{Contours, Result};

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
/// formats::write_json(&contours, &mut json)?;
/// assert_eq!(
///     json,
///     b"{\"width\":3,\"height\":1,\"contours\":[[[2,0]]],\"hierarchy\":[[-1,-1,-1,-1]]}\n"
/// );
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// [`Error::Write`](crate::Error::Write).
pub fn write_json(contours: &Contours, out: impl Write) -> Result<()> {
    let mut text = Text::new(out);
    text.put("{\"width\":").integer(contours.width());
    text.put(",\"height\":").integer(contours.height());
    text.put(",\"contours\":[");
    for contour in contours.iter() {
        text.put(if contour.index() == 0 { "[" } else { ",[" });
        let mut between = "[";
        for point in contour.points() {
            text.put(between).integer(point.x);
            text.put(",").integer(point.y).put("]");
            text.write_full()?;
            between = ",[";
        }
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
