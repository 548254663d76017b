use std::time::Instant;
use trazar::Engine;
use trazar::gpu::{Gpu, GpuBuffer};
use trazar::route::*;

fn rnd(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn times() {
    let device = trazar::cuda::Device::open(0).unwrap();
    let tracer = trazar::DeviceTracer::new(&device).unwrap();
    let router = DeviceRouter::on(tracer.gpu().clone());
    for (side, k, max) in [
        (256u32, 16, 90),
        (512, 16, 255),
        (512, 260, 90),
        (1024, 4, 255),
        (1024, 16, 255),
        (1024, 16, 90),
        (1024, 700, 255),
        (1024, 700, 90),
        (4096, 1, 255),
        (4096, 16, 255),
    ] {
        let mut s = 88172645463325252u64 + u64::from(side);
        let mut s2 = 123456789;
        let grid = RoutingGrid::from_fn(
            side,
            side,
            |_, _| 1 + (rnd(&mut s) % max) as u32,
            |_, _| 1 + (rnd(&mut s2) % max) as u32,
        )
        .unwrap();
        let net = Net::from_cells((0..k).map(|i| {
            if i == 0 {
                Cell::at(0, 0)
            } else {
                Cell::at(
                    (rnd(&mut s) % side as u64) as u32,
                    (rnd(&mut s) % side as u64) as u32,
                )
            }
        }));
        let mut whole = f64::MAX;
        let mut resident = f64::MAX;
        let mut up = f64::MAX;
        let mut cost = 0;
        let mut len = 0;
        for _ in 0..5 {
            let t = Instant::now();
            let on_device = DeviceGrid::upload(router.gpu(), &grid).unwrap();
            up = up.min(t.elapsed().as_secs_f64());
            let t2 = Instant::now();
            let route = router
                .route(&on_device, std::slice::from_ref(&net))
                .unwrap();
            resident = resident.min(t2.elapsed().as_secs_f64());
            whole = whole.min(t.elapsed().as_secs_f64());
            cost = route[0].cost();
            len = route[0].cells().len();
        }
        println!(
            "{side} {k} pins weights 1..{max}: {:.3} ms with upload ({:.3}), {:.3} resident; cost {cost}, {len} cells",
            whole * 1e3,
            up * 1e3,
            resident * 1e3
        );
        if side <= 512 && k <= 16 {
            let expected = Engine::cpu()
                .route_net(&grid, &net, &RouteOptions::default())
                .unwrap();
            assert_eq!(expected.cost(), cost);
        }
        if k == 1 {
            let on_device = DeviceGrid::upload(router.gpu(), &grid).unwrap();
            let mut best = f64::MAX;
            for _ in 0..5 {
                let t2 = Instant::now();
                let d = router.distances(&on_device, &[Cell::at(0, 0)]).unwrap();
                tracer.gpu().stream().synchronize().unwrap();
                best = best.min(t2.elapsed().as_secs_f64());
                drop(d);
            }
            println!("   distances {:.3} ms", best * 1e3);
        }
    }
}
