//! [`RoutingCase`]: a grid with nets on it.

use super::grid::RoutingGrid;
use super::net::Net;

/// A grid with the nets to route on it, as in a file of
/// [the text format](crate::formats::read_case).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoutingCase {
    /// The grid.
    pub grid: RoutingGrid,
    /// The nets; each is routed independently of the others.
    pub nets: Vec<Net>,
}

impl RoutingCase {
    /// `nets` to route on `grid`.
    pub fn new(grid: RoutingGrid, nets: impl IntoIterator<Item = Net>) -> Self {
        let nets = nets.into_iter().collect();
        Self { grid, nets }
    }
}
