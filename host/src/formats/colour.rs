//! Colours by number.

/// A bright colour for a number; those of consecutive numbers differ much in hue. 0 is black.
///
/// Hues advance in steps of the golden ratio, which spreads any number of consecutive numbers
/// evenly; lightness has five steps.
pub(super) fn colour_of(number: u32) -> [u8; 3] {
    if number == 0 {
        return [0; 3];
    }
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let hue = (f64::from(number) * GOLDEN).fract() * 6.0;
    let value = 1.0 - 0.12 * f64::from(number % 5);
    let saturation = 0.85 - 0.2 * f64::from(number % 3);
    [5.0, 3.0, 1.0].map(|offset: f64| {
        let k = (offset + hue) % 6.0;
        let share = k.min(4.0 - k).clamp(0.0, 1.0);
        (255.0 * value * (1.0 - saturation * share)).round() as u8
    })
}
