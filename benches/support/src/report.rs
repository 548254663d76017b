//! The cases of 王領崧, "Parallized Maze Routing" (sic), undated project report, and its times.

/// A case on a square grid, with the seconds that the report gives.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Cells in a row, and in a column.
    pub side: u32,
    /// Pins.
    pub pins: u32,
    /// Seconds by its programs `bfs` and `sweep` (one core), `omp` (many cores) and `cuda` (GPU);
    /// `None` where it stopped them after 10 minutes.
    pub seconds: [Option<f64>; 4],
}

const fn case(side: u32, pins: u32, bfs: f64, sweep: f64, omp: f64, cuda: f64) -> Case {
    Case {
        side,
        pins,
        seconds: [Some(bfs), Some(sweep), Some(omp), Some(cuda)],
    }
}

/// The cases with 4 to 16 pins.
pub const FEW_PINS: [Case; 9] = [
    case(256, 4, 0.0945, 0.3579, 0.1331, 0.0289),
    case(256, 8, 0.2104, 0.6984, 0.2658, 0.057),
    case(256, 16, 0.3708, 1.4031, 0.5179, 0.1176),
    case(512, 4, 0.5953, 6.0169, 1.5856, 0.2339),
    case(512, 8, 1.3021, 11.2363, 2.9808, 0.3885),
    case(512, 16, 2.6955, 24.3993, 6.4435, 0.8476),
    case(1024, 4, 6.629, 70.5602, 20.0804, 1.9302),
    case(1024, 8, 11.0103, 135.697, 37.5864, 3.7695),
    case(1024, 16, 22.2053, 292.951, 79.7602, 8.0401),
];

/// The cases whose number of pins grows with the grid.
pub const MANY_PINS: [Case; 10] = [
    case(64, 4, 0.003, 0.0075, 0.0049, 0.0024),
    case(100, 10, 0.023, 0.0538, 0.0236, 0.0116),
    case(200, 40, 0.4144, 1.1289, 0.4281, 0.1875),
    case(256, 65, 1.0675, 4.2704, 1.5903, 0.3318),
    case(350, 120, 3.8009, 24.6705, 8.2991, 1.4413),
    case(500, 250, 20.949, 264.568, 65.1752, 6.5087),
    case(512, 260, 23.8469, 271.663, 72.8673, 6.2595),
    Case {
        side: 750,
        pins: 560,
        seconds: [Some(117.231), None, Some(533.454), Some(29.2559)],
    },
    Case {
        side: 1024,
        pins: 700,
        seconds: [Some(442.846), None, None, Some(109.943)],
    },
    Case {
        side: 1024,
        pins: 450,
        seconds: [Some(278.178), None, None, Some(84.3711)],
    },
];
