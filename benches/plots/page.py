"""docs/results.md."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from .results import PLACES, Results, Row, digits, ratio, spread, time

HEAD = """\
# Results

What takes how long, beside the programs that people would use otherwise: the same images, in the
same run, on the same machine; results compared before anything is timed. Every number and plot here
is made from the JSON that its section names, to which the plots lead
([`benches/render`](../benches/README.md)); nothing is typed by hand. `benches/run` repeats all of
it on your machine, and [`trazar bench`](cli/bench.md) says in a minute how fast this library is
there. A time is the median of some runs, each after one that is not timed, from an array of one
byte per pixel to the result as a user has it, Python's lists included. OpenCV in C++ has none to
make, nor has `trazar.trace`, which gives arrays. What bounds the kernels, and what was tried, is in
[engineering](engineering/README.md).
"""

CAPTIONS = {
    "contours": "contours with nesting",
    "labels": "labels",
    "ratios": "polygons, measures and distances",
    "routes": "routes, by pins",
    "scaling": "by cores",
    "batches": "many small images",
}


def render(runs: Iterable[Results], plots: dict[str, list[str]]) -> str:
    """The page; ``plots`` has the names of each run's plots."""
    parts = [HEAD]
    for results in runs:
        parts.append(section(results, plots[results.name]))
    return "\n".join(parts).rstrip() + "\n"


def section(results: Results, plots: list[str]) -> str:
    date = datetime.fromisoformat(results.date.replace("Z", "+00:00"))
    loads = [results.machine.get(name) for name in ("load", "load_after")]
    load = " and ".join(f"{each:.1f}" for each in loads if each is not None)
    about = [
        f"## {results.title}",
        "",
        f"{date.day} {date:%B %Y}"
        + (f"; {results.note}" if results.note else "")
        + (f"; load before {'and after ' * (None not in loads)}it: {load}" if results.rows else "")
        + f". [The results as JSON](results/{results.path.name}), with all versions.",
        "",
    ]
    if results.rows:
        about += [*summary(results), ""]
    if plots:
        about += pictures(results, plots)
    if results.rows:
        about += slower(results)
        about += times(results)
    if results.resident:
        about += resident(results)
    return "\n".join(about)


def summary(results: Results) -> list[str]:
    """How many times as long the peers take."""
    lines = ["| | the peer's time over ours, on the same cores |", "|---|---|"]
    for name, wanted in [
        ("contours with nesting", {"task": "contours, tree"}),
        ("contours, list", {"task": "contours, list"}),
        ("labels", {"figure": "labels"}),
        ("polygons, regions", {"figure": "regions"}),
        ("measures", {"figure": "measures"}),
        ("distances", {"figure": "distances"}),
        ("routes", {"figure": "routes"}),
        ("batches", {"figure": "batches"}),
    ]:
        by_peer: dict[tuple[str, str], list[tuple[Row, Row]]] = {}
        for pair in results.pairs(**wanted):
            by_peer.setdefault((pair[1].library, pair[1].on), []).append(pair)
        said = [
            f"{library}{'' if on == 'core' else ', ' + PLACES[on]}: {spread(pairs)}"
            for (library, on), pairs in by_peer.items()
        ]
        if said:
            lines.append(f"| {name} | {'; '.join(said)} |")
    return lines


def pictures(results: Results, plots: list[str]) -> list[str]:
    """Wide ones alone, the others two in a line; each leads to the JSON."""
    lines, data = [], f"results/{results.path.name}"
    for name in plots:
        source = f"images/results-{results.name}-{name}.svg"
        if name in WIDE:
            lines.append(f"[![{CAPTIONS[name]}]({source})]({data})")
            lines.append("")
        else:
            image = f'<img src="{source}" alt="{CAPTIONS[name]}" width="49%">'
            lines.append(f'<a href="{data}">{image}</a>')
    return [*lines, ""]


WIDE = ("contours", "labels", "ratios")


def name(row: Row) -> str:
    amount = f", {row.amount} pins" if row.figure == "routes" and row.amount else ""
    return f"{row.task}: {row.input} {row.size}{amount}"


def slower(results: Results) -> list[str]:
    """All cases in which a peer is faster, and what failed or differs."""
    lines = ["### Where others are faster", ""]
    worse = [pair for pair in results.pairs() if ratio(*pair) < 1]
    if worse:
        lines.append("| | on | peer | its time | ours | ours over its |")
        lines.append("|---" * 6 + "|")
    for ours, theirs in sorted(worse, key=lambda pair: ratio(*pair)):
        assert ours.seconds and theirs.seconds
        lines.append(
            f"| {name(ours)} | {PLACES[ours.on]} | {theirs.library} | {time(theirs.seconds)} "
            f"| {time(ours.seconds)} | {digits(1 / ratio(ours, theirs))} × |"
        )
    if not worse:
        lines.append("In none of the cases measured here.")
    lost = [row for row in results.rows if not row.seconds or not row.verified]
    lines += ["", *(f"- {name(row)}, {row.library}: {row.note}" for row in lost)]
    return [*lines, ""] if lost else lines


def times(results: Results) -> list[str]:
    """All times, in tables of one figure each."""
    lines = ["", "### All times", "", "<details>", "<summary>Tables of all of them</summary>", ""]
    for figure in dict.fromkeys(row.figure for row in results.rows):
        rows = results.where(figure=figure)
        columns = list(dict.fromkeys((row.library, row.on) for row in rows))
        # Ours first, then by name; the copy last.
        columns.sort(key=lambda key: (key[0] == "copy", key[0] != "trazar"))
        columns = [key for key in columns if key != ("copy", "cores") and key != ("copy", "gpu")]
        heads = [f"{library}, {PLACES[on]}" for library, on in columns]
        lines += [f"| {figure} | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
        for case in dict.fromkeys(row.case for row in rows):
            of = {(row.library, row.on): row for row in rows if row.case == case}
            cells = [time(of[key].seconds or 0) if key in of else "" for key in columns]
            first = next(iter(of.values()))
            lines.append(f"| {name(first)} | " + " | ".join(cells) + " |")
        lines.append("")
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    return [*lines, f"Versions: {versions}.", "", "</details>", ""]


def resident(results: Results) -> list[str]:
    """Images in the GPU's memory, and NumPy's, by `python/benches/gpu.py`."""
    lines = ["### On the GPU, from Python", "", "| job | program | time | : the first |"]
    lines.append("|---|---|---|---|")
    first: dict[str, float] = {}
    for row in results.resident:
        base = first.setdefault(row["job"], row["ms"])
        note = f" ({row['note']})" if row.get("note") else ""
        lines.append(
            f"| {row['job']} | {row['program']}{note} | {time(row['ms'] / 1e3)} "
            f"| {row['ms'] / base:.2f} |"
        )
    return lines
