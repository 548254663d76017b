//! Labels the connected components of an image and prints the area, bounding box and centroid of
//! each.
//!
//! ```sh
//! cargo run --release --example label_with_statistics -- docs/images/mask.png
//! ```
//!
//! The labels are those of `scipy.ndimage.label`: 0 is background, and components are numbered from
//! 1 in raster order of their first pixels.

use std::error::Error;

use trazar::formats::{ReadOptions, read_image};
use trazar::{Connectivity, Engine, LabelOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1);
    let path = path.unwrap_or_else(|| "docs/images/mask.png".into());
    let image = read_image(&path, &ReadOptions::default())?.image;

    let options = LabelOptions::default()
        .connectivity(Connectivity::Eight)
        .statistics(true);
    let labels = Engine::cpu().label(&image, &options)?;
    println!("{} components", labels.count());

    let Some(components) = labels.components() else {
        return Err("the options asked for statistics".into());
    };
    let mut by_area: Vec<_> = (1..).zip(components).collect();
    by_area.sort_by_key(|(_, component)| std::cmp::Reverse(component.area));
    for (label, component) in by_area.into_iter().take(5) {
        let (min, max) = (component.bounding_box.min, component.bounding_box.max);
        let centroid = component.centroid;
        println!(
            "{label:>6}: {} pixels, x {} to {}, y {} to {}, centroid ({:.1}, {:.1})",
            component.area, min.x, max.x, min.y, max.y, centroid.x, centroid.y
        );
    }
    Ok(())
}
