//! The size at which pictures are shown.

/// Pictures with both sides below this are enlarged.
const ENLARGE_BELOW: u32 = 800;
/// The largest factor by which a picture is enlarged.
const MAX_SCALE: u32 = 16;

/// The factor by which a picture of this size is enlarged, so that its pixels can be seen: a
/// whole number, 1 for large pictures.
pub(super) fn display_scale(width: u32, height: u32) -> u32 {
    (ENLARGE_BELOW / width.max(height)).clamp(1, MAX_SCALE)
}

#[cfg(test)]
mod tests {
    use super::display_scale;

    #[test]
    fn small_pictures_are_enlarged_and_large_ones_are_not() {
        let sizes = [
            (1, 1),
            (49, 50),
            (3, 51),
            (400, 1),
            (401, 1),
            (800, 800),
            (9, 99_999),
        ];
        let scales = sizes.map(|(width, height)| display_scale(width, height));
        assert_eq!(scales, [16, 16, 15, 2, 1, 1, 1]);
    }
}
