//! Trees as JSON.

use std::io::Write;

use super::check_routes;
use crate::Result;
use crate::formats::text::Text;
use crate::route::{Cell, Route, RoutingCase};

/// Writes one line of JSON:
///
/// ```text
/// {"width":W,"height":H,"layers":L,"cost":COST,"nets":[{
///   "cost":COST,
///   "pins":[[[x,y,layer],…],…],
///   "connections":[{"pin":PIN,"cost":COST,"length":EDGES},…],
///   "unreached":[PIN,…],
///   "segments":[[[x,y,layer],[x,y,layer]],…],
///   "cells":[[x,y,layer],…]},…]}
/// ```
///
/// A cell is `[x, y, layer]`: column, row, layer. A pin is the list of its cells, and `PIN` an
/// index into `pins`. `connections` are the paths that joined pins to the tree, in the order in
/// which they were found; `segments` are straight wires and vias; `cells` are the tree's cells by
/// layer and row.
///
/// # Errors
/// [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there is one route per net;
/// [`Error::Write`](crate::Error::Write).
pub fn write_routes_json(case: &RoutingCase, routes: &[Route], out: impl Write) -> Result<()> {
    check_routes(case, routes)?;
    let grid = &case.grid;
    let mut text = Text::new(out)?;
    text.put("{\"width\":").integer(grid.width());
    text.put(",\"height\":").integer(grid.height());
    text.put(",\"layers\":").integer(grid.layers());
    // Each cost is below 2⁶⁴; their sum need not be.
    let cost: u128 = routes.iter().map(|route| u128::from(route.cost())).sum();
    text.put(",\"cost\":").integer(cost).put(",\"nets\":");
    let nets = case.nets.iter().zip(routes);
    list(&mut text, nets, |text, (net, route)| {
        text.put("{\"cost\":").integer(route.cost());
        text.put(",\"pins\":");
        list(text, &net.pins, |text, pin| {
            list(text, &pin.cells, put_cell)
        })?;
        text.put(",\"connections\":");
        list(text, route.connections(), |text, path| {
            text.put("{\"pin\":").integer(path.pin);
            text.put(",\"cost\":").integer(path.cost);
            text.put(",\"length\":").integer(path.cells.len() - 1);
            text.put("}");
            Ok(())
        })?;
        text.put(",\"unreached\":");
        list(text, route.unreached(), |text, &pin| {
            text.integer(pin);
            Ok(())
        })?;
        text.put(",\"segments\":");
        list(text, route.segments(), |text, (from, to)| {
            list(text, &[from, to], put_cell)
        })?;
        text.put(",\"cells\":");
        list(text, &route.cells(), put_cell)?;
        text.put("}");
        Ok(())
    })?;
    text.put("}\n");
    text.finish()
}

fn put_cell<W: Write>(text: &mut Text<W>, cell: &Cell) -> Result<()> {
    text.put("[").integer(cell.x).put(",").integer(cell.y);
    text.put(",").integer(cell.layer).put("]");
    Ok(())
}

/// Writes an array; `put` writes each item.
fn list<W: Write, T>(
    text: &mut Text<W>,
    items: impl IntoIterator<Item = T>,
    mut put: impl FnMut(&mut Text<W>, T) -> Result<()>,
) -> Result<()> {
    let mut between = "[";
    for item in items {
        text.put(between);
        put(text, item)?;
        text.write_full()?;
        between = ",";
    }
    text.put(if between == "[" { "[]" } else { "]" });
    Ok(())
}
