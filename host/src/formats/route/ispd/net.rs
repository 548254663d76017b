//! Nets: `.net`.

use std::path::Path;

use crate::formats::route::lines::{Line, Lines};
use crate::memory::push;
use crate::route::{Cell, Net, Pin, RoutingGrid};
use crate::{Error, Result};

/// Names used in out-of-memory errors.
const NETS: &str = "the nets";
const PINS: &str = "the cells of pins";

/// The nets and their names.
pub(super) fn read(path: &Path, grid: &RoutingGrid) -> Result<(Vec<Net>, Vec<String>)> {
    let mut lines = Lines::open(path)?;
    let (mut nets, mut names) = (Vec::new(), Vec::new());
    while let Some(mut line) = lines.next()? {
        if line.is_done() {
            // Only blank lines may follow.
            lines.finish()?;
            break;
        }
        push(&mut names, read_name(&mut line)?, NETS)?;
        let name = names.last().map_or("", String::as_str);
        let mut line = lines.expect(format_args!("the ( of net {name:?}"))?;
        take(&mut line, b'(', "the line after a net's name")?;
        line.finish("the ( of a net")?;
        let mut net = Net::default();
        loop {
            let mut line = lines.expect(format_args!("the ) of net {name:?}"))?;
            if line.takes_byte(b')') {
                line.finish("the ) of a net")?;
                break;
            }
            push(&mut net.pins, read_pin(line, grid)?, NETS)?;
        }
        push(&mut nets, net, NETS)?;
    }
    Ok((nets, names))
}

fn read_name(line: &mut Line<'_>) -> Result<String> {
    let place = line.error("the net's name is not text in UTF-8");
    let rest = line.rest();
    let mut bytes = Vec::new();
    for &byte in rest {
        push(&mut bytes, byte, NETS)?;
    }
    if matches!(bytes[..], [b'(' | b')' | b'[', ..]) {
        return Err(line.error(format_args!(
            "{:?} where a net's name should be",
            char::from(bytes[0])
        )));
    }
    String::from_utf8(bytes).map_err(|_| place)
}

/// Reads a line `[(layer, x, y), …]`.
fn read_pin(mut line: Line<'_>, grid: &RoutingGrid) -> Result<Pin> {
    let mut cells = Vec::new();
    line.set_separators(b",()[]");
    take(&mut line, b'[', "a pin, or the ) after a net's last pin,")?;
    loop {
        take(&mut line, b'(', "a cell of a pin")?;
        let layer = line.number("pin's layer", 0..=grid.layers() - 1)?;
        take(&mut line, b',', "what follows a pin's layer")?;
        let x = line.number("pin's column", 0..=grid.width() - 1)?;
        take(&mut line, b',', "what follows a pin's column")?;
        let y = line.number("pin's row", 0..=grid.height() - 1)?;
        take(&mut line, b')', "what follows a pin's row")?;
        push(&mut cells, Cell { x, y, layer }, PINS)?;
        if line.takes_byte(b']') {
            line.finish("the ] of a pin")?;
            return Ok(Pin { cells });
        }
        take(
            &mut line,
            b',',
            "what follows a cell of a pin, unless it is ],",
        )?;
    }
}

/// Takes the byte with which `what` begins.
fn take(line: &mut Line<'_>, byte: u8, what: &str) -> Result<()> {
    if line.takes_byte(byte) {
        return Ok(());
    }
    Err(unexpected(line, byte, what))
}

fn unexpected(line: &Line<'_>, byte: u8, what: &str) -> Error {
    line.error(format_args!(
        "{} where {what} should begin with {:?}",
        line.quoted_word(),
        char::from(byte)
    ))
}
