//! Occupancy: the number of blocks of a kernel that are resident on a multiprocessor at once, from
//! the kernel's resources.
//!
//! The limits and the granularities are those of NVIDIA's occupancy calculator, the header
//! `cuda_occupancy.h` of the CUDA Toolkit 13. It assumes, as the driver does by default, that
//! shared memory may take as much of the L1 cache as the blocks need.

use std::fmt;

use crate::Arch;

/// Threads per warp.
const WARP: u32 = 32;
/// Registers of a multiprocessor, which four partitions have in equal parts. A warp belongs to one
/// partition.
const REGISTERS: u32 = 64 << 10;
const PARTITIONS: u32 = 4;
/// A warp's registers are allocated in multiples of this number.
const REGISTER_UNIT: u32 = 256;

/// The occupancy of a multiprocessor by the blocks of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Blocks that are resident at once; 0 if the multiprocessor has not enough for one.
    pub blocks: u32,
    /// Their warps.
    pub warps: u32,
    /// The most resident warps of any kernel.
    pub most_warps: u32,
    /// The resource that limits the number of blocks.
    pub limits: Vec<Limit>,
}

/// The limiting resource of a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Registers.
    Registers,
    /// Shared memory.
    Shared,
    /// Threads.
    Threads,
    /// Blocks, of however few threads.
    Blocks,
}

/// The resources of a multiprocessor.
struct Multiprocessor {
    threads: u32,
    blocks: u32,
    /// Bytes of shared memory.
    shared: u32,
    /// Bytes of each block's shared memory that the driver keeps for itself.
    reserved: u32,
    /// A block's shared memory is allocated in multiples of this number of bytes.
    shared_unit: u32,
}

impl Multiprocessor {
    /// Those of an architecture, if they are known here.
    fn of(arch: Arch) -> Option<Self> {
        let (threads, blocks, shared) = match arch.0 {
            75 => (1024, 16, 64),
            80 => (2048, 32, 164),
            86 => (1536, 16, 100),
            87 => (1536, 16, 164),
            89 => (1536, 24, 100),
            90 | 100 | 103 => (2048, 32, 228),
            120 | 121 => (1536, 24, 100),
            _ => return None,
        };
        let (reserved, shared_unit) = if arch.0 < 80 { (0, 256) } else { (1024, 128) };
        Some(Self {
            threads,
            blocks,
            shared: shared << 10,
            reserved,
            shared_unit,
        })
    }
}

impl Occupancy {
    /// That of a kernel with `threads` threads per block, `registers` per thread, and `shared`
    /// bytes of shared memory per block. `None` for an architecture whose limits are not known
    /// here, and for a block without threads.
    #[must_use]
    pub fn new(arch: Arch, threads: u32, registers: u32, shared: u32) -> Option<Self> {
        let has = Multiprocessor::of(arch)?;
        let warps = threads.div_ceil(WARP);
        let shared = shared.saturating_add(has.reserved);
        let by_shared = shared
            .checked_next_multiple_of(has.shared_unit)
            .map_or(0, |bytes| has.shared.checked_div(bytes).unwrap_or(u32::MAX));
        let bounds = [
            (Limit::Registers, by_registers(warps, registers)),
            (Limit::Shared, by_shared),
            (Limit::Threads, (has.threads / WARP).checked_div(warps)?),
            (Limit::Blocks, has.blocks),
        ];
        let blocks = bounds.iter().map(|&(_, blocks)| blocks).min()?;
        let limits = bounds.into_iter().filter(|&(_, bound)| bound == blocks);
        Some(Self {
            blocks,
            warps: blocks * warps,
            most_warps: has.threads / WARP,
            limits: limits.map(|(limit, _)| limit).collect(),
        })
    }

    /// The resident warps in hundredths of those that can be resident, rounded to the nearest.
    #[must_use]
    pub fn percent(&self) -> u32 {
        (200 * self.warps + self.most_warps) / (2 * self.most_warps)
    }
}

/// How many blocks of `warps` warps the registers suffice for.
fn by_registers(warps: u32, registers: u32) -> u32 {
    let per_warp = registers
        .saturating_mul(WARP)
        .checked_next_multiple_of(REGISTER_UNIT)
        .unwrap_or(u32::MAX);
    let per_partition = (REGISTERS / PARTITIONS).checked_div(per_warp);
    per_partition.map_or(u32::MAX, |in_each| (in_each * PARTITIONS) / warps.max(1))
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Registers => "registers",
            Self::Shared => "shared memory",
            Self::Threads => "threads",
            Self::Blocks => "blocks",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Limit::{Blocks, Registers, Shared, Threads};

    /// Blocks and limits as NVIDIA's `cuda_occupancy.h` computes them.
    #[test]
    fn blocks_are_those_of_the_occupancy_calculator() {
        // Architecture, threads, registers, bytes of shared memory; blocks, what limits them.
        const KNOWN: &[([u32; 4], u32, &[Limit])] = &[
            ([75, 256, 22, 0], 4, &[Threads]),
            ([90, 256, 24, 0], 8, &[Threads]),
            ([75, 256, 44, 36432], 1, &[Shared]),
            ([90, 256, 40, 36432], 6, &[Registers, Shared]),
            ([75, 256, 128, 64], 2, &[Registers]),
            ([90, 256, 128, 64], 2, &[Registers]),
            ([75, 128, 225, 41280], 1, &[Shared]),
            ([90, 128, 207, 41280], 2, &[Registers]),
            ([75, 1, 16, 0], 16, &[Blocks]),
            ([90, 1, 16, 0], 32, &[Blocks]),
            ([75, 96, 33, 0], 10, &[Threads]),
            ([90, 96, 33, 0], 16, &[Registers]),
            ([75, 1024, 64, 0], 1, &[Registers, Threads]),
            ([75, 1024, 65, 0], 0, &[Registers]),
            ([90, 1024, 64, 0], 1, &[Registers]),
            ([90, 1024, 65, 0], 0, &[Registers]),
            ([90, 1024, 255, 0], 0, &[Registers]),
            ([75, 64, 32, 4097], 15, &[Shared]),
            ([80, 128, 32, 5120], 16, &[Registers, Threads]),
            ([86, 64, 40, 40000], 2, &[Shared]),
            ([89, 64, 168, 16888], 5, &[Shared]),
            ([89, 64, 169, 16888], 4, &[Registers]),
            ([100, 64, 32, 7168], 28, &[Shared]),
            ([120, 1024, 40, 0], 1, &[Registers, Threads]),
        ];
        for &([arch, threads, registers, shared], blocks, limits) in KNOWN {
            let found = Occupancy::new(Arch(arch), threads, registers, shared).expect("known");
            let what = format!("sm_{arch}: {threads} threads, {registers} registers, {shared} B");
            assert_eq!(found.blocks, blocks, "{what}");
            assert_eq!(found.limits, limits, "{what}");
            assert_eq!(found.warps, blocks * threads.div_ceil(32), "{what}");
        }
    }

    #[test]
    fn occupancy_is_a_share_of_the_resident_warps() {
        let percent = |arch, threads, registers| {
            let found = Occupancy::new(Arch(arch), threads, registers, 0);
            found.map(|found| (found.warps, found.most_warps, found.percent()))
        };
        assert_eq!(percent(75, 256, 64), Some((32, 32, 100)));
        assert_eq!(percent(90, 256, 64), Some((32, 64, 50)));
        // 42 of 48 warps are 87.5 %.
        assert_eq!(percent(120, 224, 40), Some((42, 48, 88)));
        assert_eq!(percent(90, 1024, 65), Some((0, 64, 0)));
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        assert_eq!(Occupancy::new(Arch(60), 256, 32, 0), None);
        assert_eq!(Occupancy::new(Arch(90), 0, 32, 0), None);
        // More than any GPU has.
        let found = Occupancy::new(Arch(90), 32, u32::MAX, u32::MAX).expect("known");
        assert_eq!((found.blocks, found.warps), (0, 0));
    }
}
