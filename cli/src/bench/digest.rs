//! What a job's result is, in few words, to compare it with that of another device.

use std::hash::{DefaultHasher, Hash, Hasher};

use trazar::distance::CostDistance;
use trazar::measure::{Measures, Values};
use trazar::route::Route;
use trazar::{Contours, Labels, Regions};

use crate::facts::count;

/// A result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    /// As in "12 contours".
    pub(super) text: String,
    /// The size of its arrays.
    pub(super) bytes: u64,
    /// A hash of all of it.
    pub(super) digest: u64,
}

/// Hashes arrays, and counts their bytes.
#[derive(Default)]
struct Digest {
    hasher: DefaultHasher,
    bytes: u64,
}

impl Digest {
    fn add<T: Hash>(&mut self, array: &[T]) {
        array.hash(&mut self.hasher);
        self.bytes += size_of_val(array) as u64;
    }

    fn add_floats<T>(&mut self, array: &[T], bits: impl Fn(&T) -> u64) {
        array
            .iter()
            .for_each(|value| bits(value).hash(&mut self.hasher));
        self.bytes += size_of_val(array) as u64;
    }

    fn add_contours(&mut self, contours: &Contours) {
        let points = contours.points();
        points
            .iter()
            .for_each(|point| point.to_array().hash(&mut self.hasher));
        self.bytes += size_of_val(points) as u64;
        self.add(contours.offsets());
        self.add(contours.kinds());
        self.add(contours.hierarchy());
    }

    fn found(self, text: String) -> Found {
        Found {
            text,
            bytes: self.bytes,
            digest: self.hasher.finish(),
        }
    }
}

impl From<&Labels> for Found {
    fn from(labels: &Labels) -> Self {
        let mut digest = Digest::default();
        digest.add(labels.as_slice());
        digest.found(count(labels.count().into(), "component", "components"))
    }
}

impl From<&Contours> for Found {
    fn from(contours: &Contours) -> Self {
        let mut digest = Digest::default();
        digest.add_contours(contours);
        digest.found(count(contours.len() as u64, "contour", "contours"))
    }
}

impl<T> From<&Regions<T>> for Found {
    fn from(regions: &Regions<T>) -> Self {
        let mut digest = Digest::default();
        digest.add_contours(regions.contours());
        digest.add(regions.regions());
        digest.found(count(regions.count().into(), "polygon", "polygons"))
    }
}

impl From<&Measures> for Found {
    fn from(measures: &Measures) -> Self {
        let mut digest = Digest::default();
        for column in measures.columns() {
            match column.values() {
                Values::Integers(values) => digest.add(values),
                Values::Floats(values) => digest.add_floats(values, |value| value.to_bits()),
                _ => {}
            }
        }
        digest.found(count(measures.len() as u64, "label", "labels"))
    }
}

impl From<&CostDistance> for Found {
    fn from(distance: &CostDistance) -> Self {
        let mut digest = Digest::default();
        let costs = distance.costs();
        // All NaNs are one.
        let bits = |value: f64| {
            if value.is_nan() {
                u64::MAX
            } else {
                value.to_bits()
            }
        };
        if let Some(costs) = costs.as_f32() {
            digest.add_floats(costs, |&value| bits(value.into()));
        }
        if let Some(costs) = costs.as_f64() {
            digest.add_floats(costs, |&value| bits(value));
        }
        let cells = u64::from(distance.width()) * u64::from(distance.height());
        digest.found(count(cells, "cell", "cells"))
    }
}

impl From<&Vec<Route>> for Found {
    fn from(routes: &Vec<Route>) -> Self {
        let mut digest = Digest::default();
        let mut cost = 0u64;
        for route in routes {
            cost = cost.saturating_add(route.cost());
            digest.add(&route.cells());
        }
        digest.found(format!("cost {cost}"))
    }
}
