#!/usr/bin/env python3
"""Plant errors in the kernels, one by one, and see the emulator's tests report them.

    planted_errors.py [--only NAME]... [--list] [--write TABLE.md] [--target FOLDER]

Each error is a change of a few characters in the kernels that are shipped, or in the host's code that launches
them: a barrier taken out, a plain store for an atomic one, a bit that is not carried to the next word. The sources
are copied to a folder beside the build's, the error is planted there, and a test that runs the kernels under the
emulator must fail, with the fault that belongs to the error, or since the result is not the CPU's. Without any
error, all those tests must pass.

Exit status 1 if an error is not noticed, or no longer fits the sources.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What a test may take. An error that stops a kernel for good is to be reported, not waited for.
SECONDS = 120

WRONG = "wrong result"
RACE = "data race"
UNWRITTEN = "uninitialised read"
BOUNDS = "out of bounds"
PANIC = "panic"
# What a wrong number leads to is not the error's to say.
ANY = {WRONG, RACE, UNWRITTEN, BOUNDS, PANIC, "deadlock"}


@dataclasses.dataclass(frozen=True)
class Error:
    name: str
    # What was done, for the table.
    what: str
    # Below the repository's root.
    file: str
    # (old, new), or (old, new, n) for the n-th of several occurrences, from 1.
    edits: list
    # A test binary, and a filter of its tests.
    test: str
    # What may be reported.
    expected: set


TILES = "kernels-gpu/src/label/tiles.rs"
DIRECT = "kernels-gpu/src/label/direct.rs"
NUMBER = "kernels-gpu/src/label/number.rs"
STATISTICS = "kernels-gpu/src/label/statistics.rs"
BITS = "kernels-gpu/src/primitives/bits.rs"
PACK = "kernels-gpu/src/primitives/pack.rs"
SCAN = "kernels-gpu/src/primitives/scan.rs"
SORT = "kernels-gpu/src/primitives/sort.rs"
UNION_FIND = "kernels-gpu/src/primitives/union_find.rs"
ARRANGE = "kernels-gpu/src/contour/arrange.rs"
COMPONENTS = "kernels-gpu/src/contour/components.rs"
NODES = "kernels-gpu/src/contour/nodes.rs"
PIXELS = "kernels-gpu/src/contour/pixels.rs"
SEARCH = "kernels-gpu/src/contour/search.rs"
RECTANGLES = "kernels-gpu/src/contour/tiles.rs"
SWEEP = "kernels-gpu/src/route/sweep.rs"
NEAREST = "kernels-gpu/src/route/nearest.rs"
RETRACE = "kernels-gpu/src/route/retrace.rs"
ROUTE_TILES = "kernels-gpu/src/route/tiles/mod.rs"
ROUTE_LAYOUT = "kernels-gpu/src/route/tiles/layout.rs"
ROUTE_LABEL = "kernels-gpu/src/route/tiles/label.rs"
ROUTE_PATCH = "kernels-gpu/src/route/tiles/patch.rs"
ROUTE_QUEUE = "kernels-gpu/src/route/tiles/queue.rs"
ROUTE_LEAD = "kernels-gpu/src/route/tiles/lead.rs"
GROW = "kernels-gpu/src/route/fields/grow.rs"
JOIN = "kernels-gpu/src/route/fields/join.rs"
TIES = "kernels-gpu/src/route/fields/ties.rs"
HOST_SCAN = "host/src/gpu/scan.rs"
HOST_LABEL = "host/src/label/device.rs"
HOST_ARRANGE = "host/src/trace/device/arrange.rs"
HOST_COMPONENTS = "host/src/trace/device/components.rs"
HOST_SEARCH = "host/src/trace/device/search.rs"
HOST_RECTANGLES = "host/src/trace/device/tiles.rs"
HOST_SWEEPS = "host/src/route/device/sweeps.rs"
HOST_ROUTE_TILES = "host/src/route/device/tiles.rs"
HOST_FIELDS = "host/src/route/device/fields.rs"

LABELS = "emulator_label labels_of_random_images"
PATTERNS = "emulator_label labels_of_every_pattern"
ORDERS = "emulator_label labels_in_many_orders"
BORDERS = "emulator_label labels_where_tiles_meet"
BYTES = "emulator_label labels_and_images_from_bytes"
SUMS = "emulator_label prefix_sums"
CONTOURS = "emulator_trace contours_of_random_images"
IN_TILES = "emulator_trace contours_of_random_images_in_any_number_of_tiles"
ACROSS = "emulator_trace contours_within_holes_across_words"
KEYS = "emulator_trace contours_where_the_keys_take_another_digit"
ROUTES = "emulator_route routes_on_small_grids"
LONG = "emulator_route routes_from_chunk_to_chunk"
GROUPS = "emulator_route routes_across_groups_of_lines"
FREE = "emulator_route routes_over_free_edges_alone"
NETS = "emulator_route routes_of_several_nets"
LAUNCH = "emulator_route_tiles routes_of_several_nets_in_one_launch"
WINDOWS = "emulator_route_tiles routes_within_windows_that_cut_tiles"
LAYERS = "emulator_route_tiles routes_in_every_number_of_layers"
PINS = "emulator_route_tiles routes_of_unusual_pins"
DISTANCES = "emulator_route_tiles distances_to_all_cells"
COSTS = "emulator_route_tiles costs_that_no_label_holds"
PAST_31 = "emulator_route_tiles routes_past_two_to_the_31"
WAITING = "emulator_route_tiles routes_into_tiles_that_wait"
LATE = "emulator_route_tiles routes_while_blocks_are_late"
CLOSE = "emulator_route_fields routes_of_random_nets"
CORNERS = "emulator_route_fields routes_between_corners"
COMB = "emulator_route_fields routes_along_long_paths"
REACH = "emulator_route_fields routes_to_what_boxes_do_not_reach"
EVEN = "emulator_route_fields routes_where_all_paths_tie"

BARRIER = "thread::sync_threads();"
SYNC_WARP = "warp::sync_warp(FULL_MASK);"
RIGHTS = """beyond_or(J == 3 && is_east, EAST, place + J as u32 + 1);
            offer(J, rights[J], right_edges[J], next);"""
UPS = """beyond_or(is_north, NORTH, (place + J as u32).wrapping_sub(columns));
            offer(J, up[J], up_edges[J], next);"""


def without(old, part):
    """An edit that takes `part` out of `old`."""
    assert old.count(part) == 1
    return old, old.replace(part, "")


ERRORS = [
    # Labelling in tiles.
    Error("tile-load-barrier", "no barrier between a tile's load and its use", TILES,
          [without("words.st(place.at(), here);\n    " + BARRIER, BARRIER)],
          ORDERS, {RACE, UNWRITTEN}),
    Error("tile-count-barrier", "no barrier before the warps' counts are added", TILES,
          [without("warp_counts.st(warp, through);\n    }\n    " + BARRIER, BARRIER)],
          ORDERS, {RACE, UNWRITTEN}),
    Error("tile-offset-barrier", "no barrier before the row above's first runs are read", TILES,
          [without("found.offsets.st(tile * BLOCK + t, offset as u16);\n    " + BARRIER, BARRIER)],
          ORDERS, {RACE, UNWRITTEN}),
    Error("tile-hook-barrier", "no barrier between hooking runs and following them", TILES,
          [without("runs.st(run, target);\n        run += 1;\n    }\n    " + BARRIER, BARRIER)],
          ORDERS, {RACE, UNWRITTEN}),
    Error("tile-position-barrier", "no barrier between a tile's roots and those who read them", TILES,
          [without("found.locals.st(place.word, roots);\n    }\n    " + BARRIER, BARRIER)],
          ORDERS, {RACE}),
    Error("tile-max-runs", "room for one run less than a tile can have", TILES,
          [("MAX_RUNS: u32 = ROWS * WIDTH / 2;", "MAX_RUNS: u32 = ROWS * WIDTH / 2 - 1;")],
          PATTERNS, {BOUNDS}),
    Error("tile-stride", "rows of words in shared memory without the zero between them", TILES,
          [("STRIDE: u32 = COLUMNS + 1;", "STRIDE: u32 = COLUMNS;")],
          PATTERNS, ANY),
    Error("tile-inside", "a tile's words right of the image count as inside", TILES,
          [("inside: y < grid.height && word_x < grid.row_words,", "inside: y < grid.height,")],
          ORDERS, {RACE, BOUNDS}),
    Error("tile-bytes-inside", "bytes are loaded past the row's end", TILES,
          [("if y < grid.height && x < grid.width {", "if y < grid.height {")],
          BYTES, ANY),
    Error("tile-above-right", "the run above right of a word's last pixel: one too small", TILES,
          [("up_offset + up_starts.count_ones()", "up_offset + up_starts.count_ones() - 1")],
          LABELS, ANY),
    Error("merge-side-run", "a run's number in its tile counted as if runs crossed tiles' sides", TILES,
          [("let left = if word_x.is_multiple_of(COLUMNS) {", "let left = if word_x == 0 {")],
          PATTERNS, ANY),
    Error("merge-rising", "no rising pairs along the tiles' sides", TILES,
          [("rising = left & (right << 1) & !right & !(left << 1);", "rising = 0;")],
          BORDERS, {WRONG}),
    Error("merge-part", "each part of a border without its last pixel", TILES,
          [("(u64::MAX >> (64 - 64 / PARTS))", "(u64::MAX >> (65 - 64 / PARTS))")],
          LABELS, {WRONG}),
    Error("merge-grid", "the grid that merges tiles rounded down", HOST_LABEL,
          [("grid.merge_threads().div_ceil(128) as u32", "(grid.merge_threads() / 128) as u32")],
          PATTERNS, {WRONG}),
    Error("flatten-plain-store", "a plain store of the root while others look theirs up", TILES,
          [("parents.st_relaxed(pixel, root, Device);", "parents.st(pixel, root);")],
          LABELS, {RACE}),
    Error("write-first-barrier", "no barrier between the first runs' labels and the others'", TILES,
          [without(BARRIER + "\n\n        // Those of the other runs.", BARRIER)],
          ORDERS, {RACE, UNWRITTEN}),
    Error("write-label-barrier", "no barrier between the runs' labels and the pixels'", TILES,
          [without(BARRIER + "\n\n        // Every pixel's.", BARRIER)],
          ORDERS, {RACE, UNWRITTEN}),
    Error("write-band-barrier", "no barrier between bands", TILES,
          [without("reads labels written here.\n        " + BARRIER, BARRIER)],
          PATTERNS, {RACE}),
    Error("write-band-edge", "a band's first row counts as of the band above", TILES,
          [("if first_row < top {", "if first_row <= top {")],
          PATTERNS, ANY),
    Error("write-last-rows", "rows below the image are written", TILES,
          [("let mut end = grid.height - tile_y * ROWS;", "let mut end = ROWS;")],
          LABELS, {BOUNDS, RACE}),
    Error("write-vector", "four pixels in one store where rows are not aligned to them", TILES,
          [("if grid.width.is_multiple_of(4) {", "if grid.width.is_multiple_of(2) {")],
          LABELS, {"misaligned access"}),
    Error("write-read-only", "labels that the kernel writes are read through the read-only cache", TILES,
          [("labels.ld(y * grid.width", "labels.as_view().ldg(y * grid.width")],
          LABELS, {"read-only memory written"}),
    Error("write-return", "threads without a word return before the barriers", TILES,
          [("let here = if inside {", "if !inside {\n        return;\n    }\n    let here = if inside {")],
          LABELS, {"divergent barrier", UNWRITTEN}),
    # Labelling pixel by pixel, and numbering.
    Error("direct-plain-store", "a plain store of the root while others look theirs up", DIRECT,
          [("parents.st_relaxed(pixel.number, root, Device);", "parents.st(pixel.number, root);")],
          LABELS, {RACE}),
    Error("direct-neighbour", "one of the eight neighbours is not joined", DIRECT,
          [("union(parents, number, above + 1);", "")],
          LABELS, {WRONG}),
    Error("direct-inside", "the bits past a row's end count as pixels", DIRECT,
          [("inside: x < width && y < height,", "inside: y < height,")],
          LABELS, {RACE, BOUNDS}),
    Error("direct-ballot-mask", "a ballot whose mask lacks a lane", DIRECT,
          [("warp::warp_vote_ballot(FULL_MASK, is_root)",
            "warp::warp_vote_ballot(FULL_MASK >> 1, is_root)")],
          LABELS, {"lane not in its mask"}),
    Error("direct-last-rows", "roots are written for words past the last one", DIRECT,
          [("pixel.bit.is_multiple_of(WARP_SIZE) && pixel.y < height", "pixel.bit.is_multiple_of(WARP_SIZE)")],
          LABELS, {BOUNDS}),
    Error("direct-status", "the scan's status is not made ready", DIRECT,
          [("make_ready(status, ticket, thread::index_1d());", "let _ = (status, ticket);")],
          LABELS, {UNWRITTEN}),
    Error("count-barrier", "no barrier before the warps' sums are added", NUMBER,
          [without("warp_sums.st(warp, through);\n    }\n    " + BARRIER, BARRIER)],
          LABELS, {RACE, UNWRITTEN}),
    Error("count-branch", "the barrier only for threads with a word", NUMBER,
          [(BARRIER, "if word < words {\n        " + BARRIER + "\n    }")],
          LABELS, {"divergent barrier", RACE, UNWRITTEN}),
    Error("count-return", "threads without a word return before the warp's sum", NUMBER,
          [("let own = if word < words {", "if word >= words {\n        return;\n    }\n    let own = if word < words {")],
          LABELS, {"exited lane in mask"}),
    Error("number-itself", "a root counts itself among those before it", NUMBER,
          [("((1 << (x % 64)) - 1)", "(u64::MAX >> (63 - x % 64))")],
          LABELS, ANY),
    # Measures.
    Error("area-plain-add", "the area by a load and a store", STATISTICS,
          [("area.atomic_add(i, tally.area);", "area.st(i, area.ld(i) + tally.area);")],
          LABELS, {RACE}),
    Error("measure-strip", "a thread past the last strip goes on", STATISTICS,
          [("if strip >= height.div_ceil(STRIP) {", "if strip > height.div_ceil(STRIP) {")],
          LABELS, {PANIC, BOUNDS}),
    Error("measure-zero", "the largest columns start with garbage", HOST_LABEL,
          [("let mut max_x = gpu.alloc_zeroed::<u32>(count)?;",
            "let mut max_x = gpu.alloc::<u32>(count)?;")],
          LABELS, {UNWRITTEN}),
    # Bits and bytes.
    Error("starts-carry", "a run's start without the bit of the word to the left", BITS,
          [("word & !(word << 1 | left >> 63)", "{\n        let _ = left;\n        word & !(word << 1)\n    }")],
          LABELS, ANY),
    Error("right-carry", "a pixel's right neighbour without the bit of the word to the right", BITS,
          [("self.here >> 1 | self.right << 63", "self.here >> 1")],
          LABELS, {WRONG}),
    Error("pack-half", "a word's second quarter taken from its upper half", PACK,
          [("if lane < 2 { low } else { high }", "if lane < 1 { low } else { high }")],
          BYTES, {WRONG}),
    Error("pack-width", "bytes of the next row packed past a row's end", PACK,
          [("x < width && u32::from(", "u32::from(")],
          BYTES, ANY),
    # Prefix sums.
    Error("scan-early", "a tile's status published with the first warp's sum", SCAN,
          [("1 << 32 | u64::from(next_sum)", "1 << 32 | u64::from(sum)")],
          SUMS, {WRONG}),
    Error("scan-unknown", "a sum of zero is the same as no sum yet", SCAN,
          [("1 << 32 | u64::from(next_sum)", "u64::from(next_sum)")],
          SUMS, {"deadlock"}),
    Error("scan-plain-status", "a tile's status by a plain store", SCAN,
          [("status.st_relaxed(next, 1 << 32 | u64::from(next_sum), Device);",
            "status.st(next, 1 << 32 | u64::from(next_sum));")],
          SUMS, {RACE}),
    Error("scan-sum-barrier", "no barrier before the warps' sums are added", SCAN,
          [without("warp_sums.st(warp, sum);\n        }\n        " + BARRIER, BARRIER)],
          SUMS, {RACE, UNWRITTEN}),
    Error("scan-prefix-barrier", "no barrier before the tile's prefix is used", SCAN,
          [without("scan_rows(&mut current_rows, warp_prefix, lane);\n        " + BARRIER, BARRIER)],
          SUMS, {RACE, UNWRITTEN}),
    Error("scan-lane", "a row's sum taken from the last lane but one", SCAN,
          [("inclusive, WARP_SIZE - 1, WARP_SIZE", "inclusive, WARP_SIZE - 2, WARP_SIZE")],
          SUMS, {WRONG}),
    Error("scan-end", "one element past the array's end", SCAN,
          [("if offset + r * ROW + e < left {", "if offset + r * ROW + e <= left {", 1)],
          SUMS, {BOUNDS, RACE}),
    Error("scan-window", "after 288 tiles' sums, those of the next tile are left out", SCAN,
          [("at += WINDOW * WARP_SIZE;", "at += WINDOW * WARP_SIZE + 1;")],
          SUMS, {WRONG}),
    Error("scan-nothing", "the sum of no elements is not written", HOST_SCAN,
          [("gpu.alloc_zeroed(1)?", "gpu.alloc(1)?")],
          SUMS, {UNWRITTEN}),
    # Sorting.
    Error("sort-read-sync", "no `sync_warp` between a round's reads and its update", SORT,
          [without(SYNC_WARP + "\n        if i < n && before == 0 {", SYNC_WARP)],
          CONTOURS, {RACE}),
    Error("sort-round-sync", "no `sync_warp` between rounds", SORT,
          [without(SYNC_WARP + "\n        round += 1;", SYNC_WARP)],
          CONTOURS, {RACE}),
    Error("sort-zero-barrier", "no barrier after the counts are set to zero", SORT,
          [without("sums.st(t, 0);\n    " + BARRIER, BARRIER)],
          CONTOURS, {RACE, UNWRITTEN}),
    Error("sort-plain-count", "a digit counted by a load and a store", SORT,
          [("sums.atomic_add(digit(keys.ldg(i), shift), 1);",
            "sums.st(digit(keys.ldg(i), shift), sums.ld(digit(keys.ldg(i), shift)) + 1);")],
          CONTOURS, {RACE}),
    Error("sort-order", "pairs of a digit in reverse order", SORT,
          [("warp::lanemask_lt()", "warp::lanemask_gt()")],
          CONTOURS, {WRONG}),
    Error("sort-passes", "keys sorted up to the largest but two", HOST_ARRANGE,
          [("arrange::largest_key(count)", "arrange::largest_key(count) - 2")],
          KEYS, ANY),
    # Union-find.
    Error("union-retry", "a join that lost its race is not tried again", UNION_FIND,
          [("(a, b) = (old, low);", "return;")],
          "emulator_label labels_", {WRONG}),
    Error("union-plain-min", "the minimum by a load and a store", UNION_FIND,
          [("self.atomic_min(i, to)",
            "{\n            let old = self.ld(i);\n            self.st(i, to.min(old));\n            old\n        }", 1)],
          LABELS, {RACE}),
    Error("union-shorten-store", "paths shortened by a plain store", UNION_FIND,
          [("fn lower(self, i: u32, to: u32) -> u32;",
            "fn lower(self, i: u32, to: u32) -> u32;\n    /// Sets it.\n    #[allow(unused_must_use)]\n    fn set(self, i: u32, to: u32) {\n        self.lower(i, to);\n    }"),
           ("self.ld_relaxed(i, Device)\n    }",
            "self.ld_relaxed(i, Device)\n    }\n    fn set(self, i: u32, to: u32) {\n        self.st(i, to)\n    }"),
           ("self.ld_relaxed(i, Block)\n    }",
            "self.ld_relaxed(i, Block)\n    }\n    fn set(self, i: u32, to: u32) {\n        self.st(i, to)\n    }"),
           ("parents.lower(at, grandparent);", "parents.set(at, grandparent);")],
          LABELS, {RACE}),
    Error("union-scope", "parents of all blocks read at the scope of one", UNION_FIND,
          [("self.ld_relaxed(i, Device)", "self.ld_relaxed(i, Block)")],
          LABELS, {"scope too narrow"}),
    Error("union-direction", "the smaller root is hooked to the larger one", UNION_FIND,
          [("if a < b { (a, b) }", "if a > b { (a, b) }")],
          LABELS, ANY),
    # Nodes of borders.
    Error("around-west-carry", "a pixel's west neighbour without the bit of the word to the left", PIXELS,
          [("here << 1 | self.word(word_x.wrapping_sub(1), y) >> 63", "here << 1")],
          CONTOURS, ANY),
    Error("around-height", "rows above and below the image are looked up", PIXELS,
          [("if word_x < self.raster.row_words && y < self.raster.height {",
            "if word_x < self.raster.row_words {")],
          CONTOURS, {BOUNDS, PANIC}),
    Error("neighbour-forgotten", "one of the eight neighbours is forgotten where nodes are found", PIXELS,
          [("n: here & !n & (nw | w) & (ne | e),", "n: here & !n & (nw | w) & e,")],
          CONTOURS, ANY),
    Error("gap-name", "a gap that holds W and E is named E", PIXELS,
          [("if (4 + 7 - back) & 7 < gap {\n        Kind::W\n    } else if (7 - back) & 7 < gap {\n        Kind::E",
            "if (7 - back) & 7 < gap {\n        Kind::E\n    } else if (4 + 7 - back) & 7 < gap {\n        Kind::W")],
          CONTOURS, ANY),
    Error("hole-start", "a hole's border starts at a pixel's first node also where that is no E", NODES,
          [("let own = if second { (a >> bit & 1) as u32 } else { 0 };",
            "let own = if second { 0 } else { (b >> bit & 1) as u32 };")],
          CONTOURS, ANY),
    Error("saddle", "sides part where pixels of one component touch, and go on where they are of two", NODES,
          [("self.labels.ldg(y * width + x) == self.labels", "self.labels.ldg(y * width + x) != self.labels")],
          CONTOURS, {WRONG}),
    Error("run-end-word", "a side's end sought in part of the next word", NODES,
          [("word_x += 1;\n            from = u64::MAX;", "word_x += 1;")],
          CONTOURS, ANY),
    Error("last-before-word", "the pixel before sought in part of the word to the left", NODES,
          [("word_x -= 1;\n            below = u64::MAX;", "word_x -= 1;")],
          ACROSS, {WRONG}),
    # Borders.
    Error("nodes-plain-store", "a plain store of the root while others look theirs up", COMPONENTS,
          [("parents.st_relaxed(i, root, Device);", "parents.st(i, root);")],
          CONTOURS, {RACE}),
    Error("points-plain-add", "a border's points added by a load and a store", COMPONENTS,
          [("points.atomic_add(root, sum);", "points.st(root, points.ld(root) + sum);")],
          CONTOURS, {RACE}),
    Error("roots-branch", "a vote in a branch that some lanes do not take", COMPONENTS,
          [("warp::warp_vote_ballot(FULL_MASK, i < n && root == i);",
            "if i < n { warp::warp_vote_ballot(FULL_MASK, root == i) } else { 0 };")],
          CONTOURS, {"warp operations differ", "exited lane in mask", "deadlock"}),
    Error("points-zero", "the borders' points start with garbage", HOST_COMPONENTS,
          [("let mut points = gpu.alloc_zeroed(n as usize)?;",
            "let mut points = gpu.alloc(n as usize)?;")],
          CONTOURS, {UNWRITTEN}),
    Error("join-grid", "the grid that joins nodes is one block short", HOST_COMPONENTS,
          [("components::join_nodes::launch(\n            on,\n            blocks(n),",
            "components::join_nodes::launch(\n            on,\n            (blocks(n) - 1).max(1),")],
          CONTOURS, ANY),
    # Order and hierarchy.
    Error("siblings-parents", "siblings are taken for parents, and parents for siblings", ARRANGE,
          [("if kinds.ldg(before) == kinds.ldg(i) {", "if kinds.ldg(before) != kinds.ldg(i) {")],
          CONTOURS, ANY),
    Error("ccomp-parents", "outer borders get their parents, holes none, where it is to be the other way round", ARRANGE,
          [("levels == Levels::Ccomp as u32 && kinds.ldg(border) != 0",
            "levels == Levels::Ccomp as u32 && kinds.ldg(border) == 0")],
          CONTOURS, {WRONG}),
    Error("first-sibling", "the first border looks for a sibling before it", ARRANGE,
          [("if i > 0 && keys.ldg(i - 1) == key {", "if keys.ldg(i - 1) == key {")],
          CONTOURS, {PANIC, BOUNDS}),
    Error("links-plain-store", "a plain store of the link while others follow it", ARRANGE,
          [("links.st_relaxed(i, link, Device);", "links.st(i, link);")],
          CONTOURS, {RACE}),
    Error("row-order", "next and previous siblings swapped in the hierarchy's rows", ARRANGE,
          [("link(next.ldg(i)),\n        link(previous.ldg(i)),",
            "link(previous.ldg(i)),\n        link(next.ldg(i)),")],
          CONTOURS, {WRONG}),
    Error("first-child-fill", "no fill of the first children", HOST_ARRANGE,
          [("first_children.fill(NO_BORDER)?;", "")],
          CONTOURS, {UNWRITTEN}),
    Error("offsets-zero", "the end of the points is not set to zero before the scan", HOST_ARRANGE,
          [("let mut offsets = gpu.alloc_zeroed(kept + 1)?;",
            "let mut offsets = gpu.alloc(kept + 1)?;")],
          CONTOURS, {UNWRITTEN}),
    Error("tour-grid", "half of the blocks that make the tour", HOST_ARRANGE,
          [("blocks(2 * count)", "blocks(count)")],
          CONTOURS, {UNWRITTEN}),
    Error("jump-count", "half of the jumps that a tour takes", HOST_ARRANGE,
          [("let rounds = u32::BITS - n.leading_zeros();",
            "let rounds = (u32::BITS - n.leading_zeros()) / 2;")],
          CONTOURS, ANY),
    Error("tour-barrier", "no barrier between the jumps of a short tour", ARRANGE,
          [without("thread::sync_threads();\n        (from, to) = (to, from);",
                   "thread::sync_threads();\n        ")],
          CONTOURS, {RACE, UNWRITTEN}),
    # Search.
    Error("mark-end", "nodes past the last one are marked", SEARCH,
          [("i < n && is_marked(nodes.ldg(i))", "is_marked(nodes.ldg(i))")],
          CONTOURS, {BOUNDS}),
    Error("cut-forgotten", "the last stretch of a border still leads to its first", SEARCH,
          [("if is_first.ldg(step as u32) != 0 {", "if is_first.ldg(step as u32) > 1 {")],
          CONTOURS, ANY),
    Error("points-turned", "a ring's first corner stands at its end", SEARCH,
          [("u32::from(borders.edges && start_kind == Kind::W)",
            "u32::from(borders.edges && start_kind == Kind::E)")],
          CONTOURS, {WRONG}),
    Error("range-end", "a border's points run on past its range", SEARCH,
          [("if self.at == self.length {", "if self.at > self.length {")],
          CONTOURS, ANY),
    Error("lead-length", "stretches are placed as if there were no lead before them", SEARCH,
          [("at += leads.ldg(border) + length - left", "at += length - left")],
          CONTOURS, ANY),
    Error("lead-twice", "leads are written where a stretch goes on through them", SEARCH,
          [without("border as usize >= starts.len() || leads.ldg(border) != ALL_LEAD",
                   " || leads.ldg(border) != ALL_LEAD")],
          CONTOURS, {RACE}),
    Error("is-first-zero", "whether a stretch is a border's first starts as garbage", HOST_SEARCH,
          [("gpu.alloc_zeroed(stretch_count as usize)?", "gpu.alloc(stretch_count as usize)?")],
          CONTOURS, {UNWRITTEN}),
    # Tracing in rectangles.
    Error("rectangle-edge", "a rectangle has the column right of it too", RECTANGLES,
          [("self.left <= x && x < self.right", "self.left <= x && x <= self.right")],
          IN_TILES, ANY),
    Error("rectangle-marks", "the pixels' marks start as garbage", HOST_RECTANGLES,
          [("marks.fill(1)?;", "")],
          IN_TILES, {UNWRITTEN}),
    Error("rectangle-discovered", "the marks of discoveries start as garbage", HOST_RECTANGLES,
          [("gpu.alloc_zeroed(passed_by.len())?", "gpu.alloc(passed_by.len())?")],
          IN_TILES, {UNWRITTEN}),
    Error("rectangle-stages", "a stage of connection reads what the one before it read", HOST_RECTANGLES,
          [("swap(open, &mut joined);", "")],
          IN_TILES, ANY),
    Error("rectangle-key", "joined borders keep the later of their discoveries", RECTANGLES,
          [("if next.key < border.key {", "if next.key > border.key {")],
          IN_TILES, ANY),
    Error("rectangle-hole-start", "along edges, a hole's ring starts a step early", RECTANGLES,
          [("\n        .wrapping_add(hole & edges)", "\n        .wrapping_add(0 & edges)")],
          IN_TILES, {WRONG}),
    Error("rectangle-row", "what is before a row's first side is in the row above", RECTANGLES,
          [("let found = if key > first_in_row {", "let found = if key >= first_in_row {")],
          IN_TILES, ANY),
    Error("rectangle-turn", "the first step of each fragment counts as a turn", RECTANGLES,
          [("let turn = u32::from(code != before);", "let turn = u32::from(code != before || i == 0);")],
          IN_TILES, ANY),
    # Routing by sweeps.
    Error("sweep-stored-barrier", "no barrier between what a chunk stores and what the next one loads", SWEEP,
          [without("// What the other threads have stored.\n            " + BARRIER, BARRIER)],
          ROUTES, {RACE}),
    Error("sweep-staged-barrier", "no barrier between a chunk's load and its use", SWEEP,
          [without(BARRIER + "\n            if group * LINES + warp < count {", BARRIER)],
          ROUTES, {RACE, UNWRITTEN}),
    Error("sweep-carry", "no distance is carried from a chunk to the next", SWEEP,
          [("distance: carried,", "distance: UNREACHED,")],
          LONG, {WRONG}),
    Error("sweep-restart", "the prefix minimum goes on across blocked edges", SWEEP,
          [("self.least = NO_EXCESS;", "")],
          ROUTES, ANY),
    Error("sweep-lane-restart", "the prefix minimum goes on across lanes with blocked edges", SWEEP,
          [("if lane >= start + delta && before < least {", "if lane >= delta && before < least {")],
          LONG, ANY),
    Error("sweep-mark", "the lines that cross a lowered cell are not swept again", SWEEP,
          [("self.crossing_marks.st_relaxed(crossing / LINES, 1, Device);", "let _ = crossing;")],
          ROUTES, {WRONG}),
    Error("sweep-via-mark", "the lines of a cell that a via has lowered are not swept again", SWEEP,
          [("            mark(to, rows, columns, grid);\n", "")],
          ROUTES, {WRONG}),
    Error("sweep-halves", "the right half relaxes from the left half's first lane", SWEEP,
          [("(lane & !(2 * half - 1)) + half - 1)", "lane & !(2 * half - 1))")],
          GROUPS, {WRONG}),
    Error("nearest-tie", "of pins at the same distance, the last one", NEAREST,
          [("other.index < self.index", "other.index > self.index")],
          ROUTES, ANY),
    Error("retrace-order", "paths prefer up to left", RETRACE,
          [("            before(self.right, 1),\n            before(self.down, width),\n",
            "            before(self.down, width),\n            before(self.right, 1),\n")],
          ROUTES, ANY),
    Error("retrace-barrier", "no barrier between a patch's directions and the walk through it", RETRACE,
          [without(BARRIER + "\n        if t == 0 {\n            // In the patch", BARRIER)],
          ROUTES, {RACE, UNWRITTEN}),
    Error("join-atomic", "the tree's bits are set without atomics", RETRACE,
          [("tree.atomic_or(cell / 32, 1 << (cell % 32));",
            "tree.st(cell / 32, tree.ld(cell / 32) | 1 << (cell % 32));")],
          NETS, {RACE}),
    Error("steps-marks", "no line is marked before steps are counted", HOST_SWEEPS,
          [("self.sweeper.rows.fill(1)?;", ""), ("self.sweeper.columns.fill(1)?;", "")],
          FREE, ANY),
    Error("sweep-last", "sweeps end when the last but one changed nothing new", HOST_SWEEPS,
          [("if changed[0] < number {", "if changed[0] <= number {")],
          GROUPS, ANY),
    # Routing in tiles.
    Error("route-mark-fence", "no fence between what a block publishes and the mark that says so", ROUTE_QUEUE,
          [without("            self.hold(net);\n        }\n        thread::device_fence();",
                   "\n        thread::device_fence();")],
          LAUNCH, {RACE, WRONG}),
    Error("route-take-fence", "no fence between taking a slot and reading what came into it", ROUTE_QUEUE,
          [without("atomic_exch(slot, 1) != 0;\n        thread::device_fence();", "\n        thread::device_fence();")],
          LAUNCH, {RACE, UNWRITTEN}),
    Error("route-release-fence", "no fence before a slot is let go of", ROUTE_QUEUE,
          [without("pub(super) fn let_go(&self, net: u32, slot: u32) -> bool {\n        thread::device_fence();",
                   "\n        thread::device_fence();")],
          LAUNCH, {RACE}),
    Error("route-wake-hold", "who becomes active again while another block has the slot keeps two holds", ROUTE_QUEUE,
          [without("            // The slot itself is held.\n            self.drop_hold(net);", "self.drop_hold(net);")],
          LATE, ANY),
    Error("route-lock", "a slot is relaxed by two blocks at once", ROUTE_QUEUE,
          [("if taken && !locked {", "if taken {")],
          LATE, {RACE, WRONG}),
    Error("route-more", "what comes into a slot while it is relaxed is taken and forgotten", ROUTE_QUEUE,
          [("self.drop_hold(net);\n            return true;", "self.drop_hold(net);\n            return false;")],
          LATE, {WRONG}),
    Error("route-deferred", "slots that wait are never woken", ROUTE_QUEUE,
          [("if word == NOTHING || word & !DEFERRED > bound {", "if word >= DEFERRED || word > bound {")],
          WAITING, ANY),
    Error("route-opposite", "a side reads the rim of the neighbour's side that is next to its own", ROUTE_PATCH,
          [("tiling.side((side + 2) % 4)", "tiling.side((side + 2) % 4 ^ 2)")],
          LAUNCH, ANY),
    Error("route-window", "a window lacks its last column", ROUTE_PATCH,
          [("(x + j).wrapping_sub(bounds.left) < bounds.right - bounds.left;",
            "(x + j).wrapping_sub(bounds.left) < bounds.right - bounds.left - 1;")],
          WINDOWS, {WRONG}),
    Error("route-window-top", "the edges up from a window's second row are blocked", ROUTE_PATCH,
          [("row(0) && before(y, bounds.top)", "row(0) && before(y, bounds.top + 1)")],
          WINDOWS, {WRONG}),
    Error("route-left-edge", "the edge over a tile's west side is that of the row's first cell", ROUTE_PATCH,
          [("right.ld(at + (tiling.columns() - 1));", "right.ld(at);")],
          LATE, {WRONG}),
    Error("route-order", "paths prefer right to up", ROUTE_PATCH,
          [(RIGHTS, UPS), (UPS, RIGHTS, 2)],
          LAUNCH, {WRONG}),
    Error("route-layer-stride", "the layer above is looked for a patch too far", ROUTE_PATCH,
          [("(t + patches < BLOCK, t + patches, edges.via)", "(t + patches < BLOCK, (t + patches + 1) % BLOCK, edges.via)")],
          LAYERS, {WRONG}),
    Error("route-layers-barrier", "no barrier before labels are shown in the same place", ROUTE_TILES,
          [("// What is shown next stands in the same place.\n            thread::sync_threads();", "")],
          LAYERS, {RACE}),
    Error("route-turn", "labels are shown where the last ones may still be read", ROUTE_TILES,
          [("turn ^= 1;", "turn ^= 0;")],
          LAUNCH, {RACE}),
    Error("route-tie", "of pins at the same distance, the last one", ROUTE_LEAD,
          [("label.cost() << CELL_BITS | u64::from(rank)",
            "label.cost() << CELL_BITS | u64::from(MAX_PIN_CELLS - 1 - rank)"),
           ("(best as u32 & (MAX_PIN_CELLS - 1));", "(MAX_PIN_CELLS - 1 - (best as u32 & (MAX_PIN_CELLS - 1)));")],
          PINS, {WRONG}),
    Error("route-joined", "the cells of a pin that is joined go on to be looked at", ROUTE_LEAD,
          [("problem.pin_labels.st_relaxed(place, L::UNREACHED, Device);", "")],
          PINS, ANY),
    Error("route-tree-store", "two threads set a cell to the tree by plain stores", ROUTE_LEAD,
          [("problem.labels.st_relaxed(label, L::TREE, Device);\n        problem", "problem.labels.st(label, L::TREE);\n        problem")],
          PINS, {RACE}),
    Error("route-steps", "steps over free edges are not counted", ROUTE_LABEL,
          [("0 => self.wrapping_add(1),", "0 => self,")],
          LAUNCH, ANY),
    Error("route-retry", "costs past labels of 32 bits count as unreached", HOST_ROUTE_TILES,
          [("        if state.is_complete(gpu, grid, plan, &routes)? {\n            return Ok(routes);\n        }\n    }",
            "        return Ok(routes);\n    }")],
          PAST_31, {WRONG}),
    Error("route-too-far", "a pin that is too far counts as unreached", HOST_ROUTE_TILES,
          [("        && state.is_complete(gpu, &steps, plan, &reached)?", "        || state.is_complete(gpu, &steps, plan, &reached)?")],
          COSTS, {WRONG}),
    Error("route-too-far-elsewhere", "a cell that is too far stands for a pin", HOST_ROUTE_TILES,
          [("if both.all(|(route, reached)| route.unreached() == reached.unreached())", "if both.next().is_none()")],
          COSTS, {WRONG}),
    # Routing by fields.
    Error("field-round", "no barrier between rounds of patches", GROW,
          [("            thread::sync_threads();\n            round += 1;", "            round += 1;")],
          CLOSE, {RACE, UNWRITTEN}),
    Error("field-stamp", "a patch is put on a list twice", GROW,
          [("if stamps.atomic_exch(patch, round) != round {", "if stamps.atomic_exch(patch, round) != round + 2 {")],
          CLOSE, ANY),
    Error("field-reach", "where a box ends on the right, the grid counts as ending", GROW,
          [("!has_right && field.left + field.columns() < window.right", "!has_right && field.left + field.columns() < 1")],
          REACH, {WRONG}),
    Error("field-edges", "the edges from a patch's first row up are those down from it", GROW,
          [("up[J].step(edges.up[J])", "up[J].step(edges.down[0][J])")],
          CLOSE, {WRONG}),
    Error("join-list", "no barrier between listing pins and reading the list", JOIN,
          [("        thread::sync_threads();\n        let listed", "        let listed")],
          CLOSE, {RACE, UNWRITTEN}),
    Error("join-show", "no barrier after the rectangle around a chunk is known", JOIN,
          [("            }\n        }\n        thread::sync_threads();\n    }\n\n    /// Adds a chunk", "            }\n        }\n    }\n\n    /// Adds a chunk")],
          CLOSE, {RACE, UNWRITTEN}),
    Error("join-tie", "a walk passes by the cells that have several ways", JOIN,
          [("if ways & (ways - 1) != 0 { PART_TIE }", "if ways & (ways - 1) != 0 { 0 }")],
          EVEN, {WRONG}),
    Error("join-many", "of several cells where a path may begin, the first is taken", JOIN,
          [("(mut is_looking, mut is_short) = (start & MANY == 0, true);",
            "(mut is_looking, mut is_short) = (true, true);")],
          EVEN, {WRONG}),
    Error("join-cells", "only the cell where its path ends becomes the tree's, of a pin that has several", JOIN,
          [("end if end - first_cell == 1 => first_cell,", "end if end > first_cell => first_cell,")],
          CLOSE, {WRONG}),
    Error("join-outside", "a walk ends where what is at hand does", JOIN,
          [("if is_in { next | tie } else { OUTSIDE | tie }", "if is_in { next | tie } else { here | tie }")],
          COMB, ANY),
    Error("tie-order", "climbing prefers the last direction", TIES,
          [("leads_here).trailing_zeros();", "leads_here & (lane < 4)).checked_ilog2().unwrap_or(4);")],
          EVEN, {WRONG}),
    Error("tie-mark", "two lanes mark cells of one word by plain stores", TIES,
          [("join.part.atomic_or(number / 2, bits << shift) >> shift & 0xffff",
            "let before = join.part.ld(number / 2); join.part.st(number / 2, before | bits << shift); before >> shift & 0xffff")],
          EVEN, {RACE, WRONG}),
    Error("field-search", "a search starts from the paths alone, without the cells of pins", HOST_FIELDS,
          [("let tree = self.cells.iter().chain(joined);", "let tree = self.cells.iter().chain(joined.take(0));")],
          CORNERS, ANY),
    Error("field-added", "of what a search joined, only the first cell becomes the fields' tree", HOST_FIELDS,
          [("self.added.extend(cells.map(place));", "self.added.extend(cells.take(1).map(place));")],
          CORNERS, ANY),
]

HEADER = """# Planted errors

Does the emulator notice errors in these kernels? `.ci/planted_errors.py` plants them in the sources, one at a time, and
runs a test; this table is what it wrote. A fault is the emulator's report, with the kernel, the element's array and the
lines of the two accesses; a wrong result is one that differs from the CPU's.

{count} errors, all noticed. {by_kind}.

| error | in | reported |
| --- | --- | --- |
"""

FAULT = re.compile(r"kernel `(\w+)`: ([a-z -]+): (.*?) \(emulator seed ", re.DOTALL)
HOST_READ = re.compile(r"the host reads element \d+ of an emulated buffer of \d+, which nothing")
VIEW = re.compile(r"element -?\d+ of (shared_array!\[[^\]]*\]|.+?)(?=[:,]| of | lies | at | belongs | is to )")
SOURCE = re.compile(r"\bat (?:[\w.-]+/src/)?([\w/.-]+\.rs:\d+):\d+")
HOST_PANIC = re.compile(r"panicked at ((?:host|cuda_std|kernels-gpu)/[\w/.-]+\.rs:\d+)")


def shorten(output):
    """What a failed test says: the fault's kind, and all of it in a line."""
    if match := FAULT.search(output):
        kernel, kind, rest = match.groups()
        said = f"{kind}: `{kernel}`"
        if match := VIEW.search(rest):
            said += f", `{match[1].strip('`')}`"
        # Where an array was declared comes before the accesses to it.
        rest = re.sub(r" of \S+?\.rs:\d+:\d+", "", rest)
        if sources := list(dict.fromkeys(SOURCE.findall(rest)))[:2]:
            said += f", {' and '.join(sources)}"
        return kind, said
    if HOST_READ.search(output):
        return UNWRITTEN, f"{UNWRITTEN}: by the host"
    if match := HOST_PANIC.search(output):
        return PANIC, f"{PANIC}: on the host, {match[1]}"
    return WRONG, WRONG


def replace(text, edit):
    """`text` with `edit` made; none if the edit does not fit."""
    old, new, *nth = edit
    parts = text.split(old)
    if not nth:
        return new.join(parts) if len(parts) == 2 else None
    if len(parts) <= nth[0]:
        return None
    return old.join(parts[: nth[0]]) + new + old.join(parts[nth[0] :])


class Planter:
    """A copy of the sources, and a folder that its builds share."""

    def __init__(self, target):
        self.target = target
        self.sources = target / "planted"
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
        names = [name for name in listed.stdout.decode().split("\0") if name]
        for name in names:
            # What is as it was keeps its time, so that it is not built again.
            if (ROOT / name).is_file():
                self.write(name, (ROOT / name).read_bytes())

    def write(self, name, content):
        path = self.sources / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def cargo(self, *arguments):
        """Exit status (none if it took too long) and output."""
        environment = os.environ | {
            "CARGO_TARGET_DIR": str(self.target),
            "CARGO_TERM_COLOR": "never",
            # The first failing image will do.
            "PROPTEST_MAX_SHRINK_ITERS": "0",
        }
        process = subprocess.Popen(
            ["cargo", "test", "--quiet", "--locked", *arguments], cwd=self.sources, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            output, _ = process.communicate(timeout=SECONDS)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            # The test as well as cargo.
            os.killpg(process.pid, 9)
            output, _ = process.communicate()
            return None, output

    def run(self, test):
        """Whether the test could be built; its exit status; its output."""
        binary, *tests = test.split()
        status, output = self.cargo("--no-run", "--test", binary)
        if status != 0:
            return False, status, output
        return True, *self.cargo("--test", binary, *tests)

    def plant(self, error):
        """Whether the error was noticed as it should be, and what was said."""
        original = (ROOT / error.file).read_text()
        text = original
        for edit in error.edits:
            text = replace(text, edit)
            if text is None:
                return False, f"does not fit {error.file}: {edit[0]!r}"
        self.write(error.file, text.encode())
        try:
            built, status, output = self.run(error.test)
        finally:
            self.write(error.file, original.encode())
        if not built:
            return False, "does not compile:\n" + output
        if status is None:
            return False, f"the test was not done after {SECONDS} s"
        if status == 0:
            return False, "NOT NOTICED"
        kind, said = shorten(output)
        if kind not in error.expected:
            return False, f"{said}; expected: {', '.join(sorted(error.expected))}\n{output}"
        return True, said


def table(results):
    kinds = {}
    for _, said in results:
        kind = said.split(":")[0]
        kinds[kind] = kinds.get(kind, 0) + 1
    by_kind = ", ".join(f"{kind} {n}" for kind, n in sorted(kinds.items(), key=lambda k: -k[1]))
    lines = [f"| {e.what} | `{e.file.removeprefix('kernels-gpu/src/')}` | {s} |\n" for e, s in results]
    return HEADER.format(count=len(results), by_kind=by_kind.capitalize()) + "".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", metavar="NAME", help="plant this error alone")
    parser.add_argument("--list", action="store_true", help="name the errors, plant none")
    parser.add_argument("--write", type=pathlib.Path, help="write what was reported as a table")
    parser.add_argument("--target", type=pathlib.Path, help="where to build",
                        default=os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    options = parser.parse_args()
    if unknown := set(options.only or []) - {error.name for error in ERRORS}:
        parser.error(f"no errors called {', '.join(sorted(unknown))}: see --list")
    if options.only and options.write:
        parser.error("a table has all errors: --write goes without --only")
    errors = [error for error in ERRORS if not options.only or error.name in options.only]
    if options.list:
        for error in errors:
            print(f"{error.name:24} {error.file}: {error.what}")
        return 0

    planter = Planter(pathlib.Path(options.target).resolve())
    begin = time.monotonic()
    for test in sorted({error.test if options.only else error.test.split()[0] for error in errors}):
        _, status, output = planter.run(test)
        if status != 0:
            print(f"{output}\n{test} fails without any error")
            return 1
        print(f"{test} passes without an error ({time.monotonic() - begin:.0f} s)", flush=True)

    results = []
    for error in errors:
        start = time.monotonic()
        noticed, said = planter.plant(error)
        seconds = time.monotonic() - start
        print(f"{error.name:24} {error.what}: {said} ({seconds:.0f} s)", flush=True)
        if noticed:
            results.append((error, said))
    wrong = len(errors) - len(results)
    print(f"{len(errors)} errors, {len(results)} noticed, {wrong} not, in {time.monotonic() - begin:.0f} s")
    if options.write and not wrong:
        options.write.write_text(table(results))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
