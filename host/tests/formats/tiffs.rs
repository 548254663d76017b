//! A plain writer of TIFF files of every layout, for tests of the reader and seeds of fuzzing.

#![allow(unreachable_pub)]

use std::io::Write;

use weezl::BitOrder;

/// How an image is stored.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    pub width: usize,
    pub height: usize,
    /// Samples per pixel.
    pub samples: usize,
    /// The samples that make up a pixel's colour: 1 or 3.
    pub channels: usize,
    /// Bits per sample: 1, 8, 16, 32 or 64.
    pub bits: usize,
    /// 1 unsigned, 2 signed, 3 float.
    pub format: u16,
    /// Width and height of tiles; `None` for strips.
    pub tile: Option<(usize, usize)>,
    /// The height of strips, unless there are tiles.
    pub rows_per_strip: usize,
    /// Whether each channel is in a plane of its own.
    pub separate: bool,
    /// 1 none, 5 LZW, 8 deflate, 32773 PackBits, 7 JPEG.
    pub compression: u16,
    /// 1 none, 2 differences, 3 differences of the bytes of floats.
    pub predictor: u16,
    pub big_endian: bool,
    pub lowest_bit_first: bool,
    /// Whether the last strip or tile comes first in the file.
    pub backwards: bool,
    /// Whether LZW data end with the end code.
    pub lzw_end: bool,
}

impl Form {
    /// One strip of uncompressed grey bytes.
    pub fn plain(width: usize, height: usize) -> Self {
        Self {
            width,
            height,
            samples: 1,
            channels: 1,
            bits: 8,
            format: 1,
            tile: None,
            rows_per_strip: height,
            separate: false,
            compression: 1,
            predictor: 1,
            big_endian: false,
            lowest_bit_first: false,
            backwards: false,
            lzw_end: true,
        }
    }

    /// A field's value in the file's byte order.
    fn number(self, value: u64, size: usize) -> Vec<u8> {
        match self.big_endian {
            true => value.to_be_bytes()[8 - size..].to_vec(),
            false => value.to_le_bytes()[..size].to_vec(),
        }
    }

    /// A file whose sample `c` of pixel `(x, y)` is `sample(x, y, c)`; pixels beyond the image
    /// fill its last tiles.
    pub fn file(self, sample: &dyn Fn(usize, usize, usize) -> u64) -> Vec<u8> {
        self.file_with(&[], sample)
    }

    /// The same with additional fields: tag, type (2 text, 3 short, 4 long, 12 double), data.
    pub fn file_with(
        self,
        more: &[(u16, u16, Vec<u8>)],
        sample: &dyn Fn(usize, usize, usize) -> u64,
    ) -> Vec<u8> {
        let chunks = self.chunks(sample);
        self.file_of(&chunks, more)
    }

    /// A file of strips or tiles that are already compressed.
    pub fn file_of(self, chunks: &[Vec<u8>], more: &[(u16, u16, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = match self.big_endian {
            true => b"MM\0\x2a\0\0\0\0".to_vec(),
            false => b"II\x2a\0\0\0\0\0".to_vec(),
        };
        let mut offsets = vec![0; chunks.len()];
        for i in 0..chunks.len() {
            let i = match self.backwards {
                true => chunks.len() - 1 - i,
                false => i,
            };
            offsets[i] = bytes.len() as u64;
            bytes.extend(&chunks[i]);
            bytes.resize(bytes.len().next_multiple_of(2), 0);
        }
        let list = |values: &mut dyn Iterator<Item = u64>, size| -> Vec<u8> {
            values.flat_map(|value| self.number(value, size)).collect()
        };
        let short = |value: u16| (3, self.number(value.into(), 2));
        let long = |value: usize| (4, self.number(value as u64, 4));
        let counts = chunks.iter().map(|chunk| chunk.len() as u64);
        let photometric = if self.channels == 3 { 2 } else { 1 };
        let mut fields: Vec<(u16, (u16, Vec<u8>))> = vec![
            (256, long(self.width)),
            (257, long(self.height)),
            (
                258,
                (
                    3,
                    list(&mut vec![self.bits as u64; self.samples].into_iter(), 2),
                ),
            ),
            (259, short(self.compression)),
            (262, short(photometric)),
            (266, short(1 + u16::from(self.lowest_bit_first))),
            (277, short(self.samples as u16)),
            (284, short(1 + u16::from(self.separate))),
            (317, short(self.predictor)),
            (
                339,
                (
                    3,
                    list(&mut vec![self.format.into(); self.samples].into_iter(), 2),
                ),
            ),
        ];
        if self.samples > self.channels {
            let extra = vec![0u64; self.samples - self.channels];
            fields.push((338, (3, list(&mut extra.into_iter(), 2))));
        }
        let offsets = (4, list(&mut offsets.into_iter(), 4));
        let counts = (4, list(&mut counts.into_iter(), 4));
        match self.tile {
            Some((width, height)) => fields.extend([
                (322, long(width)),
                (323, long(height)),
                (324, offsets),
                (325, counts),
            ]),
            None => fields.extend([
                (273, offsets),
                (278, long(self.rows_per_strip)),
                (279, counts),
            ]),
        }
        fields.extend(
            more.iter()
                .map(|(tag, kind, data)| (*tag, (*kind, data.clone()))),
        );
        fields.sort_by_key(|field| field.0);

        let directory = bytes.len();
        bytes.splice(4..8, self.number(directory as u64, 4));
        let mut after = directory + 2 + 12 * fields.len() + 4;
        let mut long_values = Vec::new();
        bytes.extend(self.number(fields.len() as u64, 2));
        for (tag, (kind, data)) in fields {
            let size = [1, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8][usize::from(kind)];
            bytes.extend(self.number(tag.into(), 2));
            bytes.extend(self.number(kind.into(), 2));
            bytes.extend(self.number((data.len() / size) as u64, 4));
            if data.len() <= 4 {
                let mut data = data;
                data.resize(4, 0);
                bytes.extend(data);
            } else {
                bytes.extend(self.number(after as u64, 4));
                after += data.len();
                long_values.extend(data);
            }
        }
        bytes.extend([0; 4]);
        bytes.extend(long_values);
        bytes
    }

    /// The compressed strips or tiles, plane after plane.
    pub fn chunks(self, sample: &dyn Fn(usize, usize, usize) -> u64) -> Vec<Vec<u8>> {
        let (wide, high) = self.tile.unwrap_or((self.width, self.rows_per_strip));
        let planes = if self.separate { self.samples } else { 1 };
        let mut chunks = Vec::new();
        for plane in 0..planes {
            for top in (0..self.height).step_by(high) {
                for left in (0..self.width).step_by(wide) {
                    // Tiles are padded, the last strip is not.
                    let rows = match self.tile {
                        Some(_) => high,
                        None => high.min(self.height - top),
                    };
                    let mut data = Vec::new();
                    for y in top..top + rows {
                        let pixels = (left..left + wide).flat_map(|x| {
                            let all = if self.separate {
                                plane..plane + 1
                            } else {
                                0..self.samples
                            };
                            all.map(move |c| sample(x, y, c))
                        });
                        let next = if self.separate { 1 } else { self.samples };
                        data.extend(self.row(&pixels.collect::<Vec<_>>(), next));
                    }
                    let mut data = self.pack(&data);
                    if self.lowest_bit_first {
                        data.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
                    }
                    chunks.push(data);
                }
            }
        }
        chunks
    }

    /// The bytes of a row before compression; a pixel has `next` samples.
    fn row(self, samples: &[u64], next: usize) -> Vec<u8> {
        if self.bits == 1 {
            let bytes = samples.chunks(8).map(|eight| {
                let bits = eight.iter().enumerate();
                bits.fold(0, |byte, (i, &bit)| byte | (bit as u8 & 1) << (7 - i))
            });
            return bytes.collect();
        }
        let size = self.bits / 8;
        if self.predictor == 3 {
            // The highest bytes of all samples, then the next ones, as differences.
            let mut bytes: Vec<u8> = (0..size)
                .flat_map(|at| samples.iter().map(move |&s| s.to_be_bytes()[8 - size + at]))
                .collect();
            for i in (next..bytes.len()).rev() {
                bytes[i] = bytes[i].wrapping_sub(bytes[i - next]);
            }
            return bytes;
        }
        let mut samples = samples.to_vec();
        if self.predictor == 2 {
            for i in (next..samples.len()).rev() {
                samples[i] = samples[i].wrapping_sub(samples[i - next]);
            }
        }
        samples.iter().flat_map(|&s| self.number(s, size)).collect()
    }

    fn pack(self, data: &[u8]) -> Vec<u8> {
        match self.compression {
            5 => {
                let mut encoder = weezl::encode::Encoder::with_tiff_size_switch(BitOrder::Msb, 8);
                let mut packed = encoder.encode(data).unwrap();
                if !self.lzw_end {
                    // The end code has at least nine bits, so the last byte holds no pixels.
                    packed.pop();
                }
                packed
            }
            8 => {
                let level = flate2::Compression::default();
                let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
                encoder.write_all(data).unwrap();
                encoder.finish().unwrap()
            }
            32773 => {
                let runs = data.chunk_by(|a, b| a == b).flat_map(|run| run.chunks(128));
                // A single byte as it is, or a run that repeats one byte.
                let head = |run: &[u8]| {
                    if run.len() == 1 {
                        0
                    } else {
                        (257 - run.len()) as u8
                    }
                };
                runs.flat_map(|run| [head(run), run[0]]).collect()
            }
            _ => data.to_vec(),
        }
    }
}
