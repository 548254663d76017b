//! FlatBuffers of a few tables, written from front to back.
//!
//! The crates `flatgeobuf` and `flatbuffers` are not used. The first one copies all features to a
//! temporary file before it writes them, and brings a dozen crates; the second one is for code
//! that is generated from schemas. Few tables are needed here, and their layout is simple:
//! <https://flatbuffers.dev/internals/>.

/// A buffer with its length before it, in bytes that are aligned for all fields if its start is a
/// multiple of 8.
pub(super) struct Buffer {
    bytes: Vec<u8>,
}

/// The value of a table's field.
#[derive(Clone, Copy)]
pub(super) enum Field {
    /// The field is not there: it has its default.
    None,
    U8(u8),
    U16(u16),
    I32(i32),
    U64(u64),
    /// The place of what comes later, which [`Buffer::refer`] gives.
    Reference,
}

impl Field {
    fn size(self) -> usize {
        match self {
            Self::None => 0,
            Self::U8(_) => 1,
            Self::U16(_) => 2,
            Self::I32(_) | Self::Reference => 4,
            Self::U64(_) => 8,
        }
    }
}

impl Buffer {
    /// A buffer with room for its length and for the reference to its root, at byte 4.
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; 8] }
    }

    /// Where the reference to the root table is.
    pub(super) const ROOT: usize = 4;

    /// Adds zeros until the buffer's length is `rest` more than a multiple of `unit`.
    fn pad(&mut self, unit: usize, rest: usize) {
        while self.bytes.len() % unit != rest {
            self.bytes.push(0);
        }
    }

    /// Adds a table, to which the reference at `from` leads, and returns the places of its fields,
    /// in the order of the schema.
    pub(super) fn table<const N: usize>(&mut self, from: usize, fields: [Field; N]) -> [usize; N] {
        // Offsets within the table, after the offset to the list of fields; large fields first.
        let mut offsets = [0; N];
        let mut size = 4;
        for wanted in [8, 4, 2, 1] {
            for (offset, field) in offsets.iter_mut().zip(&fields) {
                if field.size() == wanted {
                    *offset = size;
                    size += wanted;
                }
            }
        }
        self.pad(2, 0);
        let list = self.bytes.len();
        self.bytes.extend((4 + 2 * N as u16).to_le_bytes());
        self.bytes.extend((size as u16).to_le_bytes());
        for offset in offsets {
            self.bytes.extend((offset as u16).to_le_bytes());
        }
        // The first field is at a multiple of 8.
        self.pad(8, 4);
        self.refer(from);
        let table = self.bytes.len();
        self.bytes.extend(((table - list) as i32).to_le_bytes());
        self.bytes.resize(table + size, 0);
        let places = offsets.map(|offset| table + offset);
        for (place, field) in places.into_iter().zip(fields) {
            match field {
                Field::None | Field::Reference => {}
                Field::U8(value) => self.set(place, &value.to_le_bytes()),
                Field::U16(value) => self.set(place, &value.to_le_bytes()),
                Field::I32(value) => self.set(place, &value.to_le_bytes()),
                Field::U64(value) => self.set(place, &value.to_le_bytes()),
            }
        }
        places
    }

    /// Lets the reference at `from` lead to the buffer's end, where the next thing is added.
    fn refer(&mut self, from: usize) {
        let distance = (self.bytes.len() - from) as u32;
        self.set(from, &distance.to_le_bytes());
    }

    fn set(&mut self, place: usize, value: &[u8]) {
        self.bytes[place..][..value.len()].copy_from_slice(value);
    }

    /// Adds a string, to which the reference at `from` leads.
    pub(super) fn string(&mut self, from: usize, text: &str) {
        self.pad(4, 0);
        self.refer(from);
        self.bytes.extend((text.len() as u32).to_le_bytes());
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
    }

    /// Adds a list of `count` references, to which the reference at `from` leads, and returns
    /// their places.
    pub(super) fn references(&mut self, from: usize, count: usize) -> Vec<usize> {
        self.pad(4, 0);
        self.refer(from);
        self.bytes.extend((count as u32).to_le_bytes());
        let first = self.bytes.len();
        self.bytes.resize(first + 4 * count, 0);
        (0..count).map(|i| first + 4 * i).collect()
    }

    /// The bytes, the length first.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.pad(8, 0);
        let len = (self.bytes.len() - 4) as u32;
        self.set(0, &len.to_le_bytes());
        self.bytes
    }
}
