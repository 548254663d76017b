"""The plots, by matplotlib."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .results import Results, Row, ratio

COLORS = {
    "trazar": "#d55e00",
    "trazar.trace": "#f0a46c",
    "OpenCV": "#0072b2",
    "OpenCV C++": "#004a75",
    "SciPy": "#009e73",
    "scikit-image": "#7b3fa0",
    "cc3d": "#8c6d31",
    "rasterio": "#009e73",
    "xarray-spatial": "#56a3d9",
    "shapely": "#8c6d31",
    "pycocotools": "#0072b2",
    "kornia-rs": "#56a3d9",
    "CuPy": "#5a9e00",
    "cuCIM": "#003b00",
    "NPP": "#c2185b",
    "copy": "#888888",
}
STYLES = {"core": "-", "cores": "--", "gpu": ":"}
PLACES = {"core": "1 core", "cores": "{} cores", "gpu": "GPU"}
Figure = Any


def label(row: Row, results: Results) -> str:
    if row.library == "copy":
        return "copy of the same bytes"
    place = PLACES[row.on].format(results.machine["cores"])
    return f"{row.library}, {place}"


def new(width: float, height: float, columns: int = 1) -> tuple[Figure, Any]:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({
        "svg.fonttype": "none", "svg.hashsalt": "trazar", "font.size": 9.5,
        "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 10.5,
        "axes.grid": True, "grid.color": "#e4e4e4", "axes.axisbelow": True,
        "legend.frameon": False, "legend.fontsize": 8.5, "font.family": "DejaVu Sans",
    })  # fmt: skip
    figure, axes = plt.subplots(
        1, columns, figsize=(width, height), squeeze=False, layout="constrained", sharey=True
    )
    return figure, axes[0]


def three(number: float) -> str:
    """Three digits, or all before the point."""
    return f"{number:,.0f}" if number >= 999.5 else f"{number:.3g}"


def plain_ticks(axis: Any, values: list[float] | None = None) -> None:
    """Numbers instead of powers of ten; at these values alone, if given."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    if values:
        axis.set_major_locator(FixedLocator(values))
        axis.set_minor_locator(NullLocator())


def line(axes: Any, rows: list[Row], results: Results, x: Callable[[Row], float], **style) -> None:
    rows = sorted(rows, key=x)
    first = rows[0]
    shown = {
        "color": COLORS.get(first.library, "#444444"),
        "linestyle": STYLES[first.on],
        "label": label(first, results),
        "marker": "o",
        "markersize": 3.5,
        "linewidth": 2.2 if first.library == "trazar" else 1.4,
        **({"linestyle": "-", "marker": "", "linewidth": 4, "alpha": 0.45}
           if first.library == "copy" else {}),
        **style,
    }  # fmt: skip
    axes.plot([x(row) for row in rows], [1e3 * row.seconds for row in rows], **shown)


def by_size(results: Results, figure: str, task: str, flat: str | None = None) -> Figure | None:
    """Time over the side of blobs and noise, both logarithmic."""
    rows = results.where(figure=figure, task=task, input=("blobs", "noise"))
    if not rows:
        return None
    drawn, both = new(8.4, 4.3, 2)
    for axes, name in zip(both, ("blobs", "noise"), strict=True):
        here = [row for row in rows if row.input == name]
        for key in dict.fromkeys((row.library, row.on) for row in here):
            of = [row for row in here if (row.library, row.on) == key]
            if key[0] != "copy" or key[1] == "core":
                line(axes, of, results, lambda row: row.shape[-1])
        if flat:
            wanted = {"task": flat, "input": name, "library": "OpenCV", "on": "core"}
            if peers := results.where(figure=figure, **wanted):
                shown = {"linestyle": ":", "label": "OpenCV, 1 core, list without nesting"}
                line(axes, peers, results, lambda row: row.shape[-1], **shown)
        axes.set(xscale="log", yscale="log", title=name, xlabel="side of the image, pixels")
        plain_ticks(axes.xaxis, sorted({row.shape[-1] for row in here}))
        plain_ticks(axes.yaxis)
    both[0].set_ylabel("milliseconds")
    handles, names = both[0].get_legend_handles_labels()
    drawn.legend(handles, names, loc="outside lower center", ncols=3)
    return drawn


def contours(results: Results) -> Figure | None:
    return by_size(results, "contours", "contours, tree", "contours, list")


def labels(results: Results) -> Figure | None:
    return by_size(results, "labels", "labels, 8-connected")


def ratios(results: Results) -> Figure | None:
    """How many times as long peers take, on one core."""
    pairs = results.pairs(figure=("regions", "measures", "distances"), on="core")
    if not pairs:
        return None
    drawn, [axes] = new(8.4, 0.6 + 0.205 * len(pairs))
    names = []
    for place, (ours, theirs) in enumerate(pairs):
        value = ratio(ours, theirs)
        color = COLORS.get(theirs.library, "#444444")
        slower = {"hatch": "////", "edgecolor": "white"} if value < 1 else {}
        axes.barh(place, value - 1, left=1, color=color, height=0.72, **slower)
        said = f"{three(value)} × {theirs.library}"
        axes.text(max(value, 1) * 1.05, place, said, va="center", fontsize=8)
        names.append(f"{ours.task}: {ours.input}")
    axes.axvline(1, color="black", linewidth=1)
    axes.set(xscale="log")
    axes.set_xlabel("the peer's time over ours, one core each; right of 1 ours is faster")
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(right=4 * max(ratio(*pair) for pair in pairs))
    axes.grid(visible=False, axis="y")
    plain_ticks(axes.xaxis)
    return drawn


def routes(results: Results) -> Figure | None:
    rows = results.where(figure="routes", task="a net's tree")
    if not rows:
        return None
    drawn, [axes] = new(5.2, 4.6)
    for key in dict.fromkeys((row.library, row.on) for row in rows):
        of = [row for row in rows if (row.library, row.on) == key]
        line(axes, of, results, lambda row: row.amount or 1)
    axes.set(xscale="log", yscale="log", xlabel="pins", ylabel="milliseconds")
    axes.set_title(f"one net on {rows[0].size} cells")
    plain_ticks(axes.xaxis, sorted({row.amount or 1 for row in rows}))
    plain_ticks(axes.yaxis)
    axes.legend()
    return drawn


def scaling(results: Results) -> Figure | None:
    """Speed over the number of cores, of all that `trazar bench` measures."""
    by_case: dict[tuple[str, str], dict[int | str, float]] = {}
    for run in results.bench:
        for row in run["results"]:
            cores = "GPU" if row["device"] == "cuda" else run["cores"]
            case = by_case.setdefault((row["job"], row["input"]), {})
            case[cores] = row["seconds"]["median"]
    by_case = {key: of for key, of in by_case.items() if 1 in of}
    if not by_case:
        return None
    drawn, [axes] = new(5.2, 4.6)
    counts = sorted({n for of in by_case.values() for n in of if isinstance(n, int)})
    axes.plot(counts, counts, color="#888888", linestyle=":", label="ideal")
    jobs = list(dict.fromkeys(job for job, _ in by_case))
    palette = ["#d55e00", "#0072b2", "#009e73", "#7b3fa0", "#8c6d31", "#56a3d9"]
    dashes = {job: iter(["-", "--", ":"]) for job in jobs}
    for (job, given), of in by_case.items():
        x = [n for n in counts if n in of]
        on_gpu = f" (GPU: {of[1] / of['GPU']:.3g} ×)" if "GPU" in of else ""
        name = re.sub(r"(\d+) × \1", r"\1²", given)
        axes.plot(x, [of[1] / of[n] for n in x], marker="o", markersize=3.5,
                  color=palette[jobs.index(job) % len(palette)], linestyle=next(dashes[job], "-."),
                  label=f"{job}, {name}{on_gpu}")  # fmt: skip
    axes.set(xlabel="cores", ylabel="times as fast as on one core")
    if len(counts) > 3:
        axes.set(xscale="log", yscale="log")
        plain_ticks(axes.yaxis, counts)
    plain_ticks(axes.xaxis, counts)
    drawn.legend(loc="outside lower center", ncols=2, fontsize=7.5)
    return drawn


def batches(results: Results) -> Figure | None:
    """Time per image."""
    on = "cores" if results.where(figure="batches", on="cores") else "core"
    rows = results.where(figure="batches", on={on, "gpu"})
    if not rows:
        return None
    cases = list(dict.fromkeys(row.case for row in rows))
    drawn, [axes] = new(5.2, 4.6)
    names, ticks, place, seen = [], [], 0.0, set()
    for case in cases:
        here = [row for row in rows if row.case == case]
        ticks.append(place + (len(here) - 1) / 2)
        names.append(f"{here[0].task.split()[0]}\n{here[0].size}")
        for row in here:
            value = 1e6 * (row.seconds or 0) / (row.amount or 1)
            shown = label(row, results)
            axes.barh(place, value, color=COLORS.get(row.library, "#444444"), height=0.85,
                      alpha=0.5 if row.on == "gpu" else 1,
                      label=None if shown in seen else shown)  # fmt: skip
            axes.text(value * 1.05, place, three(value), va="center", fontsize=8)
            seen.add(shown)
            place += 1
        place += 0.8
    axes.set(xscale="log", xlabel="microseconds per image")
    axes.set_yticks(ticks, names, fontsize=8)
    axes.invert_yaxis()
    left, right = axes.get_xlim()
    axes.set_xlim(left, right * 2)
    axes.grid(visible=False, axis="y")
    plain_ticks(axes.xaxis)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return drawn


#: What a plot says above itself.
TITLES = {
    "contours": "Contours with nesting",
    "labels": "Labels of connected components",
    "ratios": "Polygons, measures and distances",
    "routes": "Routes",
    "scaling": "This library, by cores",
    "batches": "Many images of one size in one call",
}

PLOTS = {
    "contours": contours,
    "labels": labels,
    "ratios": ratios,
    "routes": routes,
    "scaling": scaling,
    "batches": batches,
}


def digest(results: Results) -> str:
    """Of what is plotted; a plot names it, so that one of other results is noticed."""
    given = json.dumps([[vars(row) for row in results.rows], results.bench, results.machine],
                       sort_keys=True)  # fmt: skip
    return hashlib.sha256(given.encode()).hexdigest()[:16]


def draw(results: Results, folder: Path) -> list[str]:
    """Writes the plots for which there are results. Returns their names."""
    found = []
    for name, plot in PLOTS.items():
        figure = plot(results)
        if figure is None:
            continue
        figure.suptitle(TITLES[name], fontsize=11.5, fontweight="bold")
        path = folder / f"results-{results.name}-{name}.svg"
        figure.savefig(path, metadata={"Date": None, "Description": digest(results)})
        text = path.read_text()
        path.write_text(re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE))
        found.append(name)
    return found
