use std::path::Path;

use super::*;
use crate::formats::test_file::file;

/// The contents of a header: dtype, Fortran order, shape.
type Said = (String, bool, Vec<usize>);

/// The contents of a file's header, and the number of bytes after it.
fn header_of(path: &Path) -> Result<(Said, usize)> {
    let mut source = Source::open(path)?;
    let header = ArrayHeader::read(&mut source)?;
    let mut data = Vec::new();
    source.bytes.read_to_end(&mut data).unwrap();
    Ok(((header.dtype, header.fortran, header.shape), data.len()))
}

#[test]
fn headers_that_numpy_wrote() {
    let names = "[('höhe', '<f4')]";
    let fields = r#"[('x', '<f4'), ("y'}", '<i2', (2,))]"#;
    let golden: [(&str, &str, bool, &[usize], usize); 11] = [
        ("c_u2", "<u2", false, &[2, 3], 12),
        ("fortran_f4", "<f4", true, &[2, 3], 24),
        ("big_endian_i4", ">i4", false, &[2, 3], 24),
        ("bool", "|b1", false, &[2, 3], 6),
        ("three_f8", "<f8", false, &[2, 2, 2], 64),
        ("scalar_f8", "<f8", false, &[], 8),
        ("line_u1", "|u1", false, &[5], 5),
        ("v2_u1", "|u1", false, &[2, 3], 6),
        ("v3_u1", "|u1", false, &[2, 3], 6),
        ("structured", fields, false, &[2], 16),
        ("v3_names", names, false, &[2], 8),
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/formats/npy/golden");
    for (name, dtype, fortran, shape, bytes) in golden {
        let found = header_of(&folder.join(name).with_extension("npy")).unwrap();
        let expected = ((dtype.to_owned(), fortran, shape.to_vec()), bytes);
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn own_headers_are_numpys() {
    let golden = include_bytes!("golden/c_u2.npy");
    // NumPy leaves space for the first side to grow; it ends the header at the same multiple of 64.
    assert_eq!(npy_header("<u2", 3, 2), golden[..golden.len() - 12]);
    for width in 0..70 {
        // Sides of all lengths, so that some text ends just at a multiple.
        let width = 10_u32.pow(width % 10);
        let header = npy_header("|b1", width, u32::MAX);
        assert_eq!(header.len() % 64, 0);
        let (found, data) = header_of(file(&header).path()).unwrap();
        assert_eq!(found.2, [u32::MAX as usize, width as usize]);
        assert_eq!(data, 0);
    }
}

fn bytes(version: [u8; 2], text: &str) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(version);
    match version {
        [1, _] => bytes.extend((text.len() as u16).to_le_bytes()),
        _ => bytes.extend((text.len() as u32).to_le_bytes()),
    }
    bytes.extend(text.as_bytes());
    bytes
}

#[test]
fn other_ways_to_write_the_same() {
    let texts = [
        "{'shape':(2,3),'descr':'<u2','fortran_order':True}\n",
        " { \"fortran_order\" : True , 'shape' : ( 2 , 3 , ) , 'descr' : \"<u2\" , } \t\n",
        "{'descr': '<u2',\n'fortran_order': True, 'shape': (2, 3,)}\n",
    ];
    for text in texts {
        let (found, _) = header_of(file(&bytes([1, 0], text)).path()).unwrap();
        assert_eq!(found, ("<u2".to_owned(), true, vec![2, 3]), "{text}");
    }
}

#[test]
fn damaged_headers() {
    let good = "{'descr': '<u2', 'fortran_order': True, 'shape': (2, 3)}\n";
    header_of(file(&bytes([1, 0], good)).path()).unwrap();
    let replaced = |from: &str, to: &str| good.replace(from, to);
    let cases = [
        (replaced("\n", ""), "end of line"),
        (replaced("{", ""), "no dictionary"),
        (replaced("}", ""), "bracket"),
        (replaced("}", "} x"), "goes on"),
        (replaced("True", "1"), "neither True nor False"),
        (replaced("(2, 3)", "6"), "no tuple"),
        (replaced("(2, 3)", "(6)"), "no tuple"),
        (replaced("(2, 3)", "(2, -3)"), "no tuple"),
        (replaced("(2, 3)", "(2,, 3)"), "no tuple"),
        (replaced("(2, 3)", "(2, 3"), "no tuple"),
        (replaced("(2, 3)", "(2, 99999999999999999999)"), "no tuple"),
        (replaced("'<u2'", "'<u2"), "lacks a comma"),
        (replaced("'<u2'", r"'\x3cu2'"), "escapes"),
        (replaced("'<u2'", "2"), "a string is missing"),
        (replaced("'<u2'", "[('a', '<u2')"), "lacks a comma"),
        (replaced("'<u2'", &"[".repeat(9000)), "does not end"),
        (replaced("'descr'", "'order'"), "unknown key"),
        (replaced("'descr': '<u2',", ""), "lacks descr"),
        (replaced("'descr':", "'descr'"), "no value"),
    ];
    for (text, words) in cases {
        let error = header_of(file(&bytes([3, 0], &text)).path()).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("damaged") && error.contains(words),
            "{words}: {error}"
        );
    }
    for version in [[0, 0], [1, 1], [4, 0], [2, 1]] {
        let error = header_of(file(&bytes(version, good)).path()).unwrap_err();
        assert!(error.to_string().contains("version"), "{error}");
    }
    let whole = bytes([1, 0], good);
    for len in 0..whole.len() {
        let error = header_of(file(&whole[..len]).path()).unwrap_err();
        assert!(error.to_string().contains("truncated"), "{len}: {error}");
    }
    // Each byte changed: an error, or another header; no panic.
    for at in 0..whole.len() {
        for change in [1, 0x20, 0x55, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= change;
            let _ = header_of(file(&bytes).path());
        }
    }
}
