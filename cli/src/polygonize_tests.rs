use super::*;

/// The device is chosen as by an engine that chooses for each job.
#[test]
fn the_size_of_the_work_is_that_of_the_values() {
    let values: Vec<i16> = (0..35).map(|at| at % 7 / 2).collect();
    let samples = Samples::new(7, 5, &values).unwrap();
    let expected = Job::trace_values(&ValueImage::new(samples).unwrap());
    assert!(matches!(expected, Job::TraceValues { sides: 15, .. }));
    let about = About {
        width: 7,
        height: 5,
        kind: SampleKind::I16,
        placed: None,
        no_data: Some(0.0),
        notes: Vec::new(),
    };
    let input = Input {
        about,
        values: Values::I16(values),
    };
    assert_eq!(input.job().unwrap(), expected);
}
