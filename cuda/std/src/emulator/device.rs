//! The emulated GPU's resources, drawn from the seed: kernels and their hosts run on different
//! GPUs.

use fastrand::Rng;

use crate::launch::{Dim3, KernelSpec, LaunchConfig};

/// A GPU's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) multiprocessors: u32,
    /// Maximum shared memory per block in bytes, static and dynamic together.
    pub(super) shared_per_block: u32,
    /// Maximum threads per multiprocessor.
    threads: u32,
}

/// Shared memory per block in bytes, and threads per multiprocessor: first without opting in to
/// more than 48 KiB, then of compute capabilities 7.5, 8.6 and 8.9, 8.0, and 9.0.
const KINDS: [(u32, u32); 5] = [
    (48 << 10, 2048),
    (64 << 10, 1024),
    (99 << 10, 1536),
    (163 << 10, 2048),
    (227 << 10, 2048),
];
/// Numbers of multiprocessors, each with its weight in the draw: more take longer to emulate.
const MULTIPROCESSORS: [(u32, u32); 6] = [(1, 8), (2, 8), (3, 8), (4, 12), (16, 3), (60, 1)];
/// Bytes of each block's shared memory that the driver reserves.
const RESERVED: u32 = 1 << 10;
/// Threads in flight at once, at most, where there is more than one block per multiprocessor.
const THREADS: u32 = 2048;
/// Threads in flight at once, at most.
const MOST_THREADS: u32 = 16384;

impl Limits {
    pub(super) fn draw(seed: u64) -> Self {
        // A different sequence from the schedules'.
        let mut rng = Rng::with_seed(seed ^ 0x6465_7669_6365_7321);
        let (shared_per_block, threads) = KINDS[rng.usize(..KINDS.len())];
        let weights: u32 = MULTIPROCESSORS.iter().map(|&(_, weight)| weight).sum();
        let mut left = rng.u32(..weights);
        let mut multiprocessors = 1;
        for (count, weight) in MULTIPROCESSORS {
            if left < weight {
                multiprocessors = count;
                break;
            }
            left -= weight;
        }
        Self {
            multiprocessors,
            shared_per_block,
            threads,
        }
    }

    /// The number of blocks in flight at once, at least 1 and at most as many as the GPU holds.
    /// Where it holds many: one block per multiprocessor, or as many as have [`THREADS`] threads
    /// together.
    pub(super) fn resident_blocks(&self, block_threads: u32, dynamic_shared: u32) -> u32 {
        let each = |has: u32, needs: u32| (has / needs.max(1)).max(1);
        let per_multiprocessor = each(self.threads, block_threads).min(each(
            self.shared_per_block + RESERVED,
            dynamic_shared + RESERVED,
        ));
        let held = self.multiprocessors.saturating_mul(per_multiprocessor);
        let wanted = (THREADS / block_threads).clamp(2, 16);
        held.min(wanted.max(self.multiprocessors))
            .min(each(MOST_THREADS, block_threads))
    }

    /// Refuses a launch that a GPU would refuse, and says why.
    pub(super) fn check(
        &self,
        spec: &KernelSpec,
        config: &LaunchConfig,
        args: usize,
    ) -> Result<(), String> {
        let LaunchConfig {
            grid,
            block,
            dynamic_shared,
        } = config;
        if args != spec.params.len() {
            let needed = spec.params.len();
            return Err(format!(
                "it takes {needed} arguments, and {args} were given"
            ));
        }
        for (what, Dim3 { x, y, z }) in [("grid", grid), ("block", block)] {
            if [x, y, z].contains(&&0) {
                return Err(format!(
                    "its {what} is {x} × {y} × {z}, and no side may be 0"
                ));
            }
        }
        if spec.entry.is_none() {
            return Err("it was not compiled for the host".into());
        }
        if *block != spec.block {
            let Dim3 { x, y, z } = spec.block;
            return Err(format!("its blocks have {x} × {y} × {z} threads"));
        }
        for (what, side, most) in [
            ("grid", grid.x, 0x7fff_ffff),
            ("grid", grid.y.max(grid.z), 65535),
            ("block", block.z, 64),
        ] {
            if side > most {
                return Err(format!(
                    "a side of its {what} is {side}, and may be {most} at most"
                ));
            }
        }
        if grid.count().saturating_mul(block.count()) >= u64::from(u32::MAX) {
            return Err("the emulator counts threads with 32 bits".into());
        }
        let most = self.shared_per_block;
        if *dynamic_shared > most {
            return Err(format!(
                "it asks for {dynamic_shared} bytes of dynamic shared memory, and a block of this \
                 device has at most {most}"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_give_every_device() {
        let drawn: Vec<Limits> = (0..600).map(Limits::draw).collect();
        for (multiprocessors, _) in MULTIPROCESSORS {
            for (shared_per_block, threads) in KINDS {
                let wanted = Limits {
                    multiprocessors,
                    shared_per_block,
                    threads,
                };
                let few = multiprocessors <= 16;
                assert!(!few || drawn.contains(&wanted), "{wanted:?}");
            }
            let has = |limits: &Limits| limits.multiprocessors == multiprocessors;
            assert!(drawn.iter().any(has), "{multiprocessors}");
        }
        // Most emulated devices are small.
        let small = drawn.iter().filter(|limits| limits.multiprocessors <= 4);
        assert!(small.count() > 500);
    }

    #[test]
    fn blocks_that_a_gpu_holds() {
        let limits = |multiprocessors, (shared_per_block, threads)| Limits {
            multiprocessors,
            shared_per_block,
            threads,
        };
        let blocks = |limits: Limits, threads| limits.resident_blocks(threads, 0);
        // A multiprocessor of compute capability 7.5 holds one block of 1024 threads, others two.
        assert_eq!(blocks(limits(1, KINDS[1]), 1024), 1);
        assert_eq!(blocks(limits(1, KINDS[4]), 1024), 2);
        // At least one block per multiprocessor, unless there are too many threads.
        assert_eq!(blocks(limits(60, KINDS[4]), 256), 60);
        assert_eq!(blocks(limits(60, KINDS[4]), 1024), 16);
        assert_eq!(blocks(limits(4, KINDS[4]), 256), 8);
        assert_eq!(blocks(limits(4, KINDS[4]), 1), 16);
        // Blocks with all of the shared memory are alone.
        assert_eq!(limits(3, KINDS[2]).resident_blocks(128, 99 << 10), 3);
        assert_eq!(limits(3, KINDS[2]).resident_blocks(128, 40 << 10), 6);
    }
}
