use trazar::Engine;
use trazar::emulator::Emulator;
use trazar::route::*;

fn rnd(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn small() {
    for seed in 1..40u64 {
        let mut s = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let w = 1 + (rnd(&mut s) % 150) as u32;
        let h = 1 + (rnd(&mut s) % 100) as u32;
        let layers = if seed % 3 == 0 {
            1 + (rnd(&mut s) % 5) as u32
        } else {
            1
        };
        let low = if seed % 2 == 0 { 0 } else { 1 };
        let max = [3u64, 90, 255][(seed % 3) as usize];
        let block = seed % 5 == 0;
        let weight = |s: &mut u64| {
            if block && rnd(s) % 8 == 0 {
                BLOCKED
            } else {
                (low + rnd(s) % max) as u32
            }
        };
        let grids: Vec<_> = (0..layers)
            .map(|_| {
                let mut s2 = rnd(&mut s);
                let mut s3 = rnd(&mut s);
                RoutingGrid::from_fn(w, h, |_, _| weight(&mut s2), |_, _| weight(&mut s3)).unwrap()
            })
            .collect();
        let vias: Vec<u32> = (0..w * h * (layers - 1)).map(|_| weight(&mut s)).collect();
        let grid = RoutingGrid::stack(&grids, &vias).unwrap();
        let k = 1 + rnd(&mut s) % 6;
        let net = Net::from_cells((0..k).map(|_| Cell {
            x: (rnd(&mut s) % w as u64) as u32,
            y: (rnd(&mut s) % h as u64) as u32,
            layer: (rnd(&mut s) % layers as u64) as u32,
        }));
        let options = RouteOptions::default();
        let expected = Engine::cpu().route_net(&grid, &net, &options).unwrap();
        expected.verify(&grid, &net).unwrap();
        let start = std::time::Instant::now();
        let emulator = Emulator::new(seed);
        let emulator = if seed % 2 == 0 {
            emulator.with_resident_blocks(1 + (seed % 4) as u32)
        } else {
            emulator
        };
        let route = Engine::from(emulator).route_net(&grid, &net, &options);
        println!("{seed}: {w}x{h}x{layers} {k} pins {:?}", start.elapsed());
        let route = route.unwrap();
        assert_eq!(route, expected, "seed {seed}");
    }
}
