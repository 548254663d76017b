//! The common start of SVG pictures.

use std::io::Write;

use super::scale::display_scale;
use super::text::Text;

/// Writes the root element's start tag and the title. The picture has one unit per pixel or cell,
/// and is shown enlarged by [`display_scale`].
pub(super) fn put_start(text: &mut Text<impl Write>, width: u32, height: u32, title: &str) {
    let scale = u64::from(display_scale(width, height));
    text.put("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"");
    text.integer(u64::from(width) * scale).put("\" height=\"");
    text.integer(u64::from(height) * scale);
    text.put("\" viewBox=\"0 0 ").integer(width).put(" ");
    text.integer(height).put("\">\n<title>");
    text.put(title).put("</title>\n");
}
