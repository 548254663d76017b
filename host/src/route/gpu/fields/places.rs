//! Tables by which the kernel that joins the pins of a large net finds the pins around a path
//! without looking at every pin.

use trazar_kernels::route::fields::{Field, FieldBox, FieldNet, GRAIN, MOST_UNPLACED, NetPlaces};

use crate::Result;
use crate::memory::{extend, push, reserve};
use crate::route::net_by_net::PINS;

/// A box is in a bucket if its longer side is at most this many times the median of all boxes. The
/// largest of these boxes determines how far around a path the kernel looks for them. All other
/// boxes are in no bucket: the kernel looks at each of them for every path.
const LARGER: u32 = 2;

/// The pins of a batch's nets by place, as in a
/// [`PinPlaces`](trazar_kernels::route::fields::PinPlaces).
#[derive(Default)]
pub(super) struct Places {
    pub(super) nets: Vec<NetPlaces>,
    pub(super) buckets: Vec<u32>,
    pub(super) boxes: Vec<FieldBox>,
    pub(super) pins: Vec<u32>,
}

impl Places {
    /// Makes the tables of each net that has more than [`MOST_UNPLACED`] pins. If no net has more,
    /// all vectors are empty.
    pub(super) fn of(nets: &[FieldNet], fields: &[Field]) -> Result<Self> {
        let mut places = Self::default();
        let pins = |net: &FieldNet| net.end_pin - net.first_pin;
        if nets.iter().all(|net| pins(net) <= MOST_UNPLACED) {
            return Ok(places);
        }
        reserve(&mut places.nets, nets.len(), PINS)?;
        for net in nets {
            let of_net = match pins(net) {
                0..=MOST_UNPLACED => NetPlaces::default(),
                _ => places.add(net, fields)?,
            };
            places.nets.push(of_net);
        }
        Ok(places)
    }

    /// Sorts a net's pins by bucket.
    fn add(&mut self, net: &FieldNet, fields: &[Field]) -> Result<NetPlaces> {
        let (left, top) = (net.left / GRAIN * GRAIN, net.top / GRAIN * GRAIN);
        let (width, height) = (net.right - left, net.bottom - top);
        let fields = &fields[net.first_pin as usize..net.end_pin as usize];
        let spread = (f64::from(width) * f64::from(height) / fields.len() as f64).sqrt();
        let log_side = (spread.ceil() as u32).next_power_of_two().trailing_zeros();
        let buckets = |len: u32| ((len - 1) >> log_side) + 1;
        let (columns, rows) = (buckets(width), buckets(height));

        // A joined pin may have a box, but a net's first one has none.
        let with_box = || {
            (0u32..)
                .zip(fields)
                .filter(|(_, field)| field.extent.size != 0)
        };
        let mut sides = Vec::new();
        let longer = |field: &Field| field.columns().max(field.rows());
        extend(&mut sides, with_box().map(|(_, field)| longer(field)), PINS)?;
        sides.sort_unstable();
        let median = sides.get(sides.len() / 2).copied().unwrap_or(0);
        // The bucket of each pin; larger boxes come after all buckets.
        let count = columns * rows;
        let mut by_bucket = Vec::new();
        let (mut box_columns, mut box_rows) = (1, 1);
        for (pin, field) in with_box() {
            let mut bucket = count;
            if longer(field) <= LARGER * median {
                box_columns = box_columns.max(field.columns());
                box_rows = box_rows.max(field.rows());
                let column = (field.extent.left - left) >> log_side;
                let row = (field.extent.top - top) >> log_side;
                bucket = row * columns + column;
            }
            push(&mut by_bucket, (bucket, pin), PINS)?;
        }
        by_bucket.sort_unstable();

        let (first_bucket, first) = (self.buckets.len() as u32, self.pins.len() as u32);
        let before = |bucket| by_bucket.partition_point(|&(other, _)| other < bucket) as u32;
        let starts = (0..=count).map(|bucket| first + before(bucket));
        extend(&mut self.buckets, starts, PINS)?;
        extend(&mut self.pins, by_bucket.iter().map(|&(_, pin)| pin), PINS)?;
        let boxes = by_bucket
            .iter()
            .map(|&(_, pin)| fields[pin as usize].extent);
        extend(&mut self.boxes, boxes, PINS)?;
        Ok(NetPlaces {
            log_side,
            columns,
            rows,
            first_bucket,
            box_columns,
            box_rows,
            end: self.pins.len() as u32,
        })
    }
}
