//! `trazar measure`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::common::{Folder, Run, header, run};

/// A ring of 7 around a 2, and 300.
const LABELS: [u16; 20] = [
    7, 7, 7, 0, 300, //
    7, 2, 7, 0, 300, //
    7, 7, 7, 0, 0, //
    0, 0, 0, 0, 0,
];

fn labels(folder: &Folder) -> PathBuf {
    let bytes: Vec<u8> = LABELS
        .iter()
        .flat_map(|label| label.to_le_bytes())
        .collect();
    folder.npy("labels.npy", &header("<u2", false, "(4, 5)"), &bytes)
}

fn intensities(folder: &Folder) -> PathBuf {
    let bytes: Vec<u8> = (0..20)
        .flat_map(|value| (value as f32 / 2.0).to_le_bytes())
        .collect();
    folder.npy("intensities.npy", &header("<f4", false, "(4, 5)"), &bytes)
}

fn measure(labels: &Path, options: &[&str]) -> Run {
    run([&["measure", labels.to_str().unwrap()], options].concat())
}

#[test]
fn tables_are_those_of_the_labels() {
    let folder = Folder::new();
    let (labels, intensities) = (labels(&folder), intensities(&folder));
    let said = measure(&labels, &[]).succeeded();
    assert!(said.stderr.contains("5 × 4 pixels"), "{}", said.stderr);
    assert!(
        said.stderr.contains("3 labels, 8 columns"),
        "{}",
        said.stderr
    );
    let json = measure(&labels, &["--json", "--properties", "label,area"]).succeeded();
    assert_eq!(json.json()["labels"], 3);
    assert_eq!(json.json()["columns"], json!(["label", "area"]));

    let csv = folder.at("table.csv");
    let write = ["-o", csv.to_str().unwrap()];
    let which = ["--properties", "label,area,bbox,euler_number,area_filled"];
    measure(&labels, &[&write[..], &which].concat()).succeeded();
    let table = "label,area,bbox-0,bbox-1,bbox-2,bbox-3,euler_number,area_filled\n\
                 2,1,1,1,2,2,1,1\n\
                 7,8,0,0,3,3,0,9\n\
                 300,2,0,4,2,5,1,2\n";
    assert_eq!(fs::read_to_string(&csv).unwrap(), table);
    let printed = measure(&labels, &[&["-o", "-", "--quiet"], &which[..]].concat()).succeeded();
    assert_eq!(printed.stdout, table.as_bytes());

    let with = [
        "--intensity",
        intensities.to_str().unwrap(),
        "--properties",
        "label,intensity_mean,centroid",
        "--spacing",
        "2,0.5",
    ];
    let printed = measure(&labels, &[&["-o", "-", "--quiet"], &with[..]].concat()).succeeded();
    let table = "label,intensity_mean,centroid-0,centroid-1\n\
                 2,3,2,0.5\n\
                 7,3,2,0.5\n\
                 300,3.25,1,2\n";
    assert_eq!(printed.stdout, table.as_bytes());
    let all = [
        "--properties",
        "all",
        "--intensity",
        intensities.to_str().unwrap(),
    ];
    measure(&labels, &all).succeeded();
    measure(&labels, &["--properties", "all"]).succeeded();
    let table = |device: &str| {
        let printed = measure(&labels, &["-o", "-", "--quiet", "--device", device]);
        String::from_utf8(printed.succeeded().stdout).unwrap()
    };
    assert_eq!(table("emulator"), table("cpu"));
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let folder = Folder::new();
    let (labels, intensities) = (labels(&folder), intensities(&folder));
    measure(&labels, &["--properties", "label,size"]).refused(&["size", "area"]);
    measure(&labels, &["--properties", "intensity_mean"]).failed(2, &["--intensity"]);
    measure(&labels, &["--spacing", "0"]).failed(2, &["spacing"]);
    measure(&labels, &["--spacing", "1,2,3"]).failed(2, &["--spacing"]);
    measure(&labels, &["--spacing", "1,2", "--properties", "perimeter"]).failed(2, &["perimeter"]);
    measure(&labels, &["-o", "table.xls"]).failed(2, &["table.xls", ".csv"]);
    let over = ["--format", "csv", "-o", labels.to_str().unwrap()];
    measure(&labels, &over).failed(2, &["same file"]);
    measure(&intensities, &[]).failed(1, &["float32", "integers"]);
    let other = folder.npy("other.npy", &header("|u1", false, "(1, 2)"), &[1, 2]);
    let size = ["--intensity", other.to_str().unwrap()];
    measure(&labels, &size).failed(2, &["2 × 1", "5 × 4"]);
    run(["measure", "-", "--intensity", "-"]).failed(2, &["standard input"]);
    measure(&folder.at("missing.npy"), &[]).failed(1, &["missing.npy"]);
}
