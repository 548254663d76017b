//! [`RoutingCase`]: a grid with nets on it.

use super::grid::RoutingGrid;
use super::net::Net;

/// A grid with the nets to route on it: what a file of [the text format](crate::formats::read_case)
/// holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoutingCase {
    /// The grid.
    pub grid: RoutingGrid,
    /// The nets, each of which is routed as if there were no other.
    pub nets: Vec<Net>,
}

impl RoutingCase {
    /// `nets` to route on `grid`.
    pub fn new(grid: RoutingGrid, nets: impl IntoIterator<Item = Net>) -> Self {
        let nets = nets.into_iter().collect();
        Self { grid, nets }
    }
}
