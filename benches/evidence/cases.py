"""Launches and data of the kernels, for the tools whose host is Python, and what is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Fresh:
    """Memory of so many elements that the host leaves as it is."""

    len: int


@dataclass(frozen=True)
class Case:
    blocks: int
    threads: int
    # A list of elements, memory that nobody has written, or a scalar.
    arguments: list[list[int] | list[float] | Fresh | int]
    # Of the arguments after the launch.
    is_right: Callable[..., bool]
    # Arguments of the twin, where they differ.
    mended: list[list[int] | list[float] | Fresh | int] | None = None


def stack_is_right(head: list[int], next: list[int], taken: list[int]) -> bool:
    nodes = list(taken)
    node = head[0] & 0xFFFF
    while node and len(nodes) < 6:
        nodes.append(node)
        node = next[node]
    return sorted(nodes) == [1, 2, 3]


CASES = {
    "fill_one_more": Case(2, 64, [Fresh(100), 100], lambda out, n: out == list(range(100))),
    "neighbours_without_halo": Case(
        1,
        64,
        [list(range(65)), Fresh(64)],
        lambda x, out: out == [2 * t + 1 for t in range(64)],
    ),
    "table_of_four": Case(
        1,
        32,
        [[4 if i == 7 else i % 4 for i in range(32)], 1],
        lambda x, last: x == [3 if i == 7 else [3, 1, 4, 1][i % 4] for i in range(32)],
    ),
    "pairs_at_odd_places": Case(
        1,
        32,
        [list(range(64)), Fresh(32)],
        lambda x, out: out in ([2 * t + 1 for t in range(32)], [4 * t + 1 for t in range(32)]),
    ),
    "copy_numbers": Case(1, 32, [[1] * 32, Fresh(32)], lambda x, out: out == [1] * 32),
    "accumulate": Case(
        2,
        32,
        [[1.5] * 64, Fresh(64)],
        lambda x, sums: sums == [1.5] * 64,
        mended=[[1.5] * 64, [0.0] * 64],
    ),
    "sum_of_some": Case(1, 64, [[1] * 40, Fresh(1), 40], lambda x, out, n: out == [40]),
    "double_and_reverse_at_once": Case(
        1, 64, [list(range(64))], lambda x: x == [2 * (63 - t) for t in range(64)]
    ),
    "sum_in_lockstep": Case(1, 32, [list(range(64)), Fresh(1)], lambda x, out: out == [2016]),
    "histogram_without_atomics": Case(
        2,
        32,
        [[(5 * i + 3) % 32 for i in range(64)], [0] * 32],
        lambda x, bins: bins == [2] * 32,
    ),
    "last_block_without_fences": Case(
        4,
        32,
        [[0] * 128, [0], Fresh(1)],
        lambda parts, arrived, total: total == [128 * 127 // 2],
    ),
    "release_to_the_block": Case(
        2, 1, [[0], [0], Fresh(1)], lambda data, flag, out: out == [42]
    ),
    "look_back": Case(
        6,
        1,
        [[0], [0] * 6, [0] * 6, Fresh(6)],
        lambda ticket, state, sums, before: before == [0, 1, 3, 6, 10, 15],
    ),
    "lock_without_fences": Case(3, 1, [[0], [0]], lambda lock, total: total == [3]),
    "grid_barrier": Case(
        4, 32, [Fresh(4), [0]], lambda values, arrived: arrived == [4 + 1 + 2 + 3 + 4]
    ),
    "barrier_in_branch": Case(
        1, 64, [[1] * 64], lambda x: x == [2 if t < 32 else 1 for t in range(64)]
    ),
    "reads_its_writes_read_only": Case(
        1, 64, [list(range(64)), Fresh(64)], lambda x, scratch: x == list(range(63, -1, -1))
    ),
    "stack": Case(1, 2, [[1], [0, 2, 3, 0], [0, 0]], stack_is_right),
    "add_one": Case(1, 32, [[1] * 32], lambda values: values == [2] * 32),
}
