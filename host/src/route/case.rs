//! [`RoutingCase`]: a grid with nets on it.

use super::grid::RoutingGrid;
use super::negotiate::EdgeCounts;
use super::net::Net;

/// A grid with the nets to route on it, as in a file of
/// [the text format](crate::formats::read_case).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoutingCase {
    /// The grid.
    pub grid: RoutingGrid,
    /// The nets. Without capacities, each is routed independently of the others.
    pub nets: Vec<Net>,
    /// How many nets may use each edge; `None` is any number.
    pub capacities: Option<EdgeCounts>,
    /// The nets' names; empty if they have none.
    pub names: Vec<String>,
}

impl RoutingCase {
    /// `nets` to route on `grid`.
    pub fn new(grid: RoutingGrid, nets: impl IntoIterator<Item = Net>) -> Self {
        let nets = nets.into_iter().collect();
        Self {
            grid,
            nets,
            capacities: None,
            names: Vec::new(),
        }
    }

    /// The same nets, competing for edges of these capacities.
    #[must_use]
    pub fn with_capacities(mut self, capacities: impl Into<Option<EdgeCounts>>) -> Self {
        self.capacities = capacities.into();
        self
    }
}
