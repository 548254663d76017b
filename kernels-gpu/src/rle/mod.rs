//! Run lengths of masks along columns, as COCO's annotations have them.
//!
//! | file | stage |
//! |---|---|
//! | [`columns`] | columns in stripes of rows, a thread per stripe |
//! | [`masks`] | counts of masks of bits |
//! | [`labels`] | counts of the mask of each label of an image, from its runs along columns |
//! | [`text`] | counts as compressed text |

pub mod columns;
pub mod labels;
pub mod masks;
pub mod text;
