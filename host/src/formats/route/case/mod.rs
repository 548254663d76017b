//! Grids and nets as text: [`read_case`], [`write_case_text`].

mod read;
#[cfg(test)]
mod tests;
mod write;

pub use self::read::read_case;
pub(super) use self::read::read_pin;
pub(super) use self::write::put_cell;
pub use self::write::write_case_text;
