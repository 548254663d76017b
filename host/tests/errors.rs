//! Errors as programs match them.

use std::error::Error as StdError;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use trazar::error::{OptionError, OptionProblem, ReadProblem, Unavailable, WriteProblem};
use trazar::formats::{
    GdsOptions, GreyImage, ReadOptions, read_image, write_contours_gds, write_image_png,
    write_overlay_png, write_statistics_csv,
};
use trazar::trace::TileCounts;
use trazar::{
    Backend, BinaryImage, Cell, Engine, Error, Geometry, LabelAlgorithm, LabelOptions, Net,
    RouteAlgorithm, RouteOptions, RoutingGrid, Samples, TraceAlgorithm, TraceOptions, generate,
};

/// The problem that reading `bytes` meets, and whether a decoder's error is its source.
fn problem(bytes: &[u8]) -> (ReadProblem, bool) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    match read_image(file.path(), &ReadOptions::default()).unwrap_err() {
        error @ Error::Unreadable { problem, .. } => (problem, error.source().is_some()),
        other => panic!("{other:?}"),
    }
}

/// Why `bytes` can't be read.
fn reason(bytes: &[u8]) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    match read_image(file.path(), &ReadOptions::default()).unwrap_err() {
        Error::Unreadable { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn problems_of_files_are_told_apart() {
    assert_eq!(problem(b""), (ReadProblem::Truncated, false));
    assert_eq!(problem(b"no image"), (ReadProblem::UnknownFormat, false));
    assert_eq!(
        problem(b"GIF89a, and so on"),
        (ReadProblem::Unsupported, false)
    );
    assert_eq!(
        reason(b"\0\0\0\x20ftypavif\0\0\0\0"),
        reason(b"GIF89a").replace("GIF", "AVIF")
    );
    assert_eq!(
        problem(b"\x93NUMPY\x01\0\x76\0{"),
        (ReadProblem::Truncated, false)
    );

    let mut png = Vec::new();
    write_image_png(&generate::blobs(64, 64, 1).unwrap(), &mut png).unwrap();
    assert_eq!(problem(&png[..png.len() / 2]).0, ReadProblem::Truncated);
    // A byte of the header, which its checksum does not fit any more.
    png[20] ^= 1;
    assert_eq!(problem(&png), (ReadProblem::Damaged, true));

    let missing = read_image(Path::new("/no/such/file.png"), &ReadOptions::default());
    let missing = missing.unwrap_err();
    assert!(matches!(missing, Error::Io { .. }));
    let source = missing.source().unwrap();
    let source = source.downcast_ref::<std::io::Error>().unwrap();
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn options_and_their_problems_are_named() {
    let refused = TileCounts::new(3, 1).unwrap_err();
    assert!(matches!(
        &refused,
        Error::InvalidOption(OptionError {
            option: "tiles",
            problem: OptionProblem::Malformed,
            ..
        })
    ));
    assert_eq!(
        refused.to_string(),
        "3 × 1 tiles: both numbers must be powers of two"
    );
    assert!(refused.source().is_none());

    assert_eq!("edges".parse::<Geometry>().unwrap(), Geometry::Edges);
    assert_eq!(Geometry::Edges.to_string(), "edges");
    let refused = "edge".parse::<Geometry>().unwrap_err();
    assert!(matches!(
        &refused,
        Error::InvalidOption(OptionError {
            option: "geometry",
            problem: OptionProblem::Malformed,
            ..
        })
    ));
    assert_eq!(refused.to_string(), "`edge`: it is one of centers, edges");

    let image = BinaryImage::from_art("##.#").unwrap();
    let labels = Engine::cpu().label(&image, &LabelOptions::default());
    let refused = write_statistics_csv(&labels.unwrap(), Vec::new());
    assert!(matches!(
        refused,
        Err(Error::InvalidOption(OptionError {
            option: "statistics",
            problem: OptionProblem::Missing,
            ..
        }))
    ));
}

#[test]
fn values_that_are_no_image_are_refused() {
    let few = GreyImage::new(3, 2, vec![0; 5]).unwrap_err();
    assert!(matches!(
        few,
        Error::SizeMismatch {
            width: 3,
            height: 2,
            needed: 6,
            given: 5,
            ..
        }
    ));
    assert!(GreyImage::new(3, 2, vec![0; 6]).is_ok());
    for (width, height) in [(0, 0), (0, 4), (4, 0)] {
        let empty = GreyImage::new(width, height, Vec::new()).unwrap_err();
        assert!(matches!(empty, Error::EmptyImage { .. }), "{empty}");
        let empty = Samples::<u8>::with_strides(width, height, 4, 1, &[]).unwrap_err();
        assert!(matches!(empty, Error::EmptyImage { .. }), "{empty}");
    }
    let traced = BinaryImage::from_art("##.#").unwrap();
    let contours = Engine::cpu().trace(&traced, &TraceOptions::default());
    let contours = contours.unwrap();
    let picture = GreyImage::new(4, 2, vec![0; 8]).unwrap();
    let other_size = write_overlay_png(&contours, picture, Vec::new()).unwrap_err();
    assert!(matches!(other_size, Error::SizeMismatch { .. }));
}

#[test]
fn indices_past_the_end_have_no_value() {
    let image = BinaryImage::from_art("#.#").unwrap();
    let engine = Engine::cpu();
    let contours = engine.trace(&image, &TraceOptions::default()).unwrap();
    assert!(contours.get(1).is_some() && contours.get(2).is_none());
    let labels = engine.label(&image, &LabelOptions::default()).unwrap();
    assert_eq!([0, 2, 3].map(|x| labels.get(x, 0)), [1, 2, 0]);
    assert_eq!([0, 3].map(|x| labels.get(x, 1)), [0, 0]);
}

#[test]
fn what_is_not_available_says_what_is() {
    let image = BinaryImage::from_art("##.#").unwrap();
    let options = LabelOptions::default().algorithm(LabelAlgorithm::Direct);
    match Engine::cpu().label(&image, &options) {
        Err(Error::Unavailable(Unavailable::Algorithm {
            algorithm: "direct",
            backend: Backend::Cpu,
            runs_on,
            instead,
            ..
        })) => {
            assert_eq!(runs_on, [Backend::Cuda, Backend::Emulator]);
            assert_eq!(instead, ["parallel", "sequential"]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn formats_say_why_they_cannot_hold_a_result() {
    let image = BinaryImage::from_art("##.#").unwrap();
    let centers = Engine::cpu().trace(&image, &TraceOptions::default());
    let refused = write_contours_gds(&centers.unwrap(), &GdsOptions::default(), Vec::new());
    assert!(matches!(
        refused,
        Err(Error::Unwritable {
            format: "gds",
            problem: WriteProblem::WrongOptions,
            ..
        })
    ));
}

/// Every job of every algorithm ends at each of its reports, whichever the program wants, and the
/// engine stays usable.
#[test]
fn jobs_end_where_the_program_wants() {
    let image = generate::noise(300, 400, 0.5, 1).unwrap();
    let grid = RoutingGrid::uniform(20, 20, 1).unwrap();
    let pins = [(0, 0), (19, 3), (5, 18), (12, 12)];
    let net = Net::from_cells(pins.map(|(x, y)| Cell::at(x, y)));
    type Work<'a> = Box<dyn Fn(&Engine) -> trazar::Result<()> + 'a>;
    let mut jobs: Vec<(String, Work<'_>)> = Vec::new();
    for &algorithm in LabelAlgorithm::on(Backend::Cpu) {
        let options = LabelOptions::default().algorithm(algorithm);
        let image = &image;
        let work = move |engine: &Engine| engine.label(image, &options).map(drop);
        jobs.push((format!("{algorithm:?}"), Box::new(work)));
    }
    for &algorithm in TraceAlgorithm::on(Backend::Cpu) {
        for geometry in [Geometry::Centers, Geometry::Edges] {
            let options = TraceOptions::default()
                .algorithm(algorithm)
                .geometry(geometry);
            let image = &image;
            let work = move |engine: &Engine| engine.trace(image, &options).map(drop);
            jobs.push((format!("{algorithm:?}, {geometry:?}"), Box::new(work)));
        }
    }
    let options = TraceOptions::default();
    let images = vec![image.clone(); 3];
    jobs.push((
        "a batch".into(),
        Box::new(move |engine| engine.trace_batch(&images, &options).map(drop)),
    ));
    for &algorithm in RouteAlgorithm::on(Backend::Cpu) {
        let options = RouteOptions::default().algorithm(algorithm);
        let (grid, net) = (&grid, &net);
        let work = move |engine: &Engine| engine.route_net(grid, net, &options).map(drop);
        jobs.push((format!("{algorithm:?}"), Box::new(work)));
    }
    for (name, work) in &jobs {
        for last in 1.. {
            let reports = Arc::new(AtomicU32::new(0));
            let count = Arc::clone(&reports);
            let engine = Engine::cpu().with_progress(move |_| {
                match count.fetch_add(1, Ordering::Relaxed) + 1 < last {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            });
            match work(&engine) {
                Err(Error::Cancelled) => assert!(reports.load(Ordering::Relaxed) >= last),
                Ok(()) => {
                    let reports = reports.load(Ordering::Relaxed);
                    assert!(
                        last > 1 && reports < last,
                        "{name}: {reports} reports, {last}"
                    );
                    break;
                }
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}
