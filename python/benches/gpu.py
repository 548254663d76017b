"""Times on a GPU: this library from Python, the same calls from Rust, and what others offer.

    python benches/gpu.py [--rust FILE] [--size SIDE] [--batch N] [--json FILE]

Images lie in the GPU's memory, one byte per pixel, except where a row says otherwise. A time is
the median of many consecutive calls after some that do not count, by the host's clock: from the
call until the GPU is done and the result is freed. Results are compared before they are timed.
``--json`` writes what ``benches/render`` reads. ``--rust`` names the bench ``gpu_calls`` of the
folder ``benches`` (``cargo bench -p trazar-benches --bench gpu_calls --no-run`` prints where it
is), which makes the same calls on the same images; it runs twice, before and after the others.
Programs that are not installed are left out; PyTorch
and CuPy are needed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cupy
import cv2
import numpy as np
import torch

import trazar

#: Of the images in a batch.
SIDE = 1024


def blobs(width: int, height: int) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "blobs.npy"
        command = ["generate", "mask", "blobs", "--size", f"{width}x{height}", "--seed", "1"]
        command = [sys.executable, "-m", "trazar", *command, "-o", str(path), "--quiet"]
        subprocess.run(command, check=True)
        return np.load(path).view(np.uint8)


def median_ms(call: Callable[[], Any], longest: float = 0.5) -> float:
    """The median time of calls that take ``longest`` seconds together, up to 200."""
    synchronize = torch.cuda.current_stream().synchronize
    clock = time.perf_counter
    begun = clock()
    for _ in range(10):
        result = call()
        synchronize()
        del result
        if clock() - begun > longest:
            break
    times = []
    begun = clock()
    while len(times) < 3 or (len(times) < 200 and clock() - begun < longest):
        started = clock()
        result = call()
        synchronize()
        del result
        times.append((clock() - started) * 1000)
    return statistics.median(times)


class Table:
    """Jobs, programs and times in milliseconds."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def time(
        self,
        job: str,
        program: str,
        call: Callable[[], Any],
        check: Callable[[Any], object] | None = None,
    ) -> None:
        """``check`` says of a result what is wrong with it, or nothing."""
        try:
            wrong = check(call()) if check else None
            row = {"job": job, "program": program, "ms": median_ms(call)}
        except Exception as error:  # What another program raises says why it has no time.
            print(f"{job:28} {program:44} {type(error).__name__}: {str(error)[:200]}", flush=True)
            return
        if wrong:
            row["note"] = str(wrong)
        self.add(row)

    def add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        note = f"  ({row['note']})" if "note" in row else ""
        print(f"{row['job']:28} {row['program']:44} {row['ms']:10.4f} ms{note}", flush=True)


def run_rust(table: Table, path: Path, size: int, batch: int, when: str) -> None:
    settings = {"TRAZAR_BENCH_SIDES": str(size), "TRAZAR_BENCH_BATCH": f"{batch}x{SIDE}"}
    run = subprocess.run(
        [path, "--bench"], env={**os.environ, **settings}, text=True, capture_output=True
    )
    if run.returncode:
        print(f"{path}: {run.stderr.strip()[-500:]}", flush=True)
    for line in run.stdout.splitlines():
        job, _, ms = line.rpartition(": ")
        try:
            table.add({"job": job, "program": f"Rust, {when}", "ms": float(ms)})
        except ValueError:
            print(line, flush=True)


def optional(name: str) -> Any:
    """The module, or None where it is not there or can't be used."""
    try:
        return __import__(name, fromlist=["_"])
    except Exception as error:  # CUDA libraries raise anything when they are imported.
        print(f"{name}: {type(error).__name__}: {str(error)[:200]}", flush=True)
        return None


def bench_contours(table: Table, image: np.ndarray) -> None:
    job = f"contours {len(image)}"
    tensor = torch.from_numpy(image).cuda()
    array = cupy.asarray(image)
    expected, _ = cv2.findContours(image, cv2.RETR_TREE, cv2.CHAIN_APPROX_SIMPLE)

    def points(found: trazar.Contours) -> str | None:
        same = np.array_equal(found.points.get(), np.concatenate(expected)[:, 0])
        return None if same else "other contours"

    def lists(found: Any) -> str | None:
        contours = found[0]
        same = len(contours) == len(expected) and all(map(np.array_equal, contours, expected))
        return None if same else "other contours"

    table.time(job, "trazar.trace, torch", lambda: trazar.trace(tensor), points)
    table.time(job, "trazar.trace, cupy", lambda: trazar.trace(array), points)
    table.time(
        job,
        "trazar.find_contours, torch, list",
        lambda: trazar.find_contours(tensor),
        lambda found: lists(([each.get() for each in found[0]], None)),
    )
    host = f"{job}, NumPy"
    for device in ("cpu", "cuda", "auto"):
        table.time(
            host,
            f"trazar.find_contours, {device}",
            lambda device=device: trazar.find_contours(image, device=device),
            lists,
        )
    table.time(
        host,
        "cv2.findContours",
        lambda: cv2.findContours(image, cv2.RETR_TREE, cv2.CHAIN_APPROX_SIMPLE),
    )


def bench_labels(table: Table, image: np.ndarray) -> None:
    side = len(image)
    job = f"labels {side}"
    tensor = torch.from_numpy(image).cuda()
    array = cupy.asarray(image)
    expected, count = trazar.label(image, connectivity=8, device="cpu")
    reference = torch.from_numpy(expected).cuda().long()

    def of_same_components(labels: Any) -> str | None:
        """Whether labels differ in their numbers only."""
        taken = labels if isinstance(labels, torch.Tensor) else torch.from_dlpack(labels)
        pairs = torch.unique(reference * 2**32 + taken.reshape(side, side).long())
        theirs = int(torch.unique(pairs % 2**32).numel()) - 1
        if len(pairs) == count + 1 and theirs == count:
            return None
        return f"wrong: {theirs} labels in the place of {count}, {len(pairs) - 1} pairs"

    def equal(labels: Any) -> str | None:
        return None if torch.equal(torch.from_dlpack(labels).long(), reference) else "wrong"

    table.time(
        job,
        "trazar.label, torch",
        lambda: trazar.label(tensor, connectivity=8),
        lambda found: equal(found[0]),
    )
    table.time(
        job,
        "trazar.label, cupy",
        lambda: trazar.label(array, connectivity=8),
        lambda found: equal(found[0]),
    )

    import cupyx.scipy.ndimage

    eight = np.ones((3, 3))
    table.time(
        job,
        "cupyx.scipy.ndimage.label",
        lambda: cupyx.scipy.ndimage.label(array, eight),
        lambda found: of_same_components(found[0]),
    )
    if measure := optional("cucim.skimage.measure"):
        table.time(
            job,
            "cucim.skimage.measure.label",
            lambda: measure.label(array, connectivity=2),
            of_same_components,
        )
    if bkeccl := optional("bkeccl"):
        table.time(
            job, "bkeccl.ccl", lambda: bkeccl.ccl(array), lambda found: of_same_components(found[0])
        )
        table.time(
            job,
            'bkeccl.ccl, "raw": numbers with gaps',
            lambda: bkeccl.ccl(array, output_mode="raw"),
            of_same_components,
        )
    if kornia := optional("kornia.contrib"):
        mask = tensor.bool()[None, None]
        table.time(
            job,
            "kornia, 100 iterations",
            lambda: kornia.connected_components(mask.float()),
            of_same_components,
        )
        table.time(
            job,
            "kornia, union-find",
            lambda: kornia.connected_components_union_find(mask),
            of_same_components,
        )
    if kornia_rs := optional("kornia_rs"):
        resident = optional("kornia_rs.image").Image.from_dlpack(tensor[..., None])
        table.time(
            job,
            f"kornia-rs, {resident.device}",
            lambda: kornia_rs.imgproc.connected_components(resident),
            lambda found: of_same_components(found[1]),
        )
    bench_host_labels(table, image, expected)


def bench_host_labels(table: Table, image: np.ndarray, expected: np.ndarray) -> None:
    job = f"labels {len(image)}, NumPy"
    most = int(expected.max())
    for device in ("cpu", "cuda"):
        table.time(
            job,
            f"trazar.label, {device}",
            lambda device=device: trazar.label(image, connectivity=8, device=device),
            lambda found: None if np.array_equal(found[0], expected) else "wrong",
        )
    table.time(job, "cv2.connectedComponents", lambda: cv2.connectedComponents(image))
    if scipy := optional("scipy.ndimage"):
        table.time(job, "scipy.ndimage.label", lambda: scipy.label(image, np.ones((3, 3))))
    if skimage := optional("skimage.measure"):
        table.time(job, "skimage.measure.label", lambda: skimage.label(image, connectivity=2))
    if kornia_rs := optional("kornia_rs"):
        table.time(
            job,
            "kornia-rs, cpu",
            lambda: kornia_rs.imgproc.connected_components(image[..., None]),
            lambda found: None if found[0] == most + 1 else "other components",
        )
    if cc3d := optional("cc3d"):
        table.time(job, "cc3d", lambda: cc3d.connected_components(image, connectivity=8))


def bench_batch(table: Table, images: np.ndarray) -> None:
    job = f"contours {len(images)} x {SIDE}"
    tensor = torch.from_numpy(images).cuda()
    array = cupy.asarray(images)

    def opencv(image: np.ndarray) -> Any:
        return cv2.findContours(image, cv2.RETR_TREE, cv2.CHAIN_APPROX_SIMPLE)

    expected = [opencv(image)[0] for image in images]
    counts = np.cumsum([0, *map(len, expected)])
    points = np.concatenate([contour[:, 0] for each in expected for contour in each])

    def resident(found: trazar.Contours) -> str | None:
        same = np.array_equal(found.points.get(), points)
        return None if same and np.array_equal(found.image_offsets, counts) else "other contours"

    def lists(found: Any) -> str | None:
        same = all(
            len(ours) == len(theirs) and all(map(np.array_equal, ours, theirs))
            for (ours, _), theirs in zip(found, expected, strict=True)
        )
        return None if same else "other contours"

    def traced(found: list[trazar.Contours]) -> str | None:
        ours = np.concatenate([each.points for each in found])
        return None if np.array_equal(ours, points) else "other contours"

    table.time(job, "trazar.trace_batch, torch", lambda: trazar.trace_batch(tensor), resident)
    table.time(job, "trazar.trace_batch, cupy", lambda: trazar.trace_batch(array), resident)
    host = f"{job}, NumPy"
    for device in ("cpu", "cuda", "auto"):
        table.time(
            host,
            f"trazar.trace_batch, {device}",
            lambda device=device: trazar.trace_batch(images, device=device),
            traced,
        )
        table.time(
            host,
            f"trazar.find_contours_batch, {device}",
            lambda device=device: trazar.find_contours_batch(images, device=device),
            lists,
        )
    threads = len(os.sched_getaffinity(0))
    table.time(host, "loop of cv2.findContours", lambda: [opencv(image) for image in images])
    with ThreadPoolExecutor(threads) as pool:
        table.time(
            host,
            f"cv2.findContours in {threads} threads",
            lambda: list(pool.map(opencv, images)),
        )
    cv2.setNumThreads(1)
    with ThreadPoolExecutor(threads) as pool:
        table.time(
            host,
            "the same, cv2.setNumThreads(1)",
            lambda: list(pool.map(opencv, images)),
        )
    cv2.setNumThreads(-1)

    job = f"labels {len(images)} x {SIDE}"
    of_images = [trazar.label(image, connectivity=8, device="cpu")[0] for image in images]

    def labels(found: Any) -> str | None:
        return None if np.array_equal(found[0].get(), np.stack(of_images)) else "wrong"

    table.time(
        job, "trazar.label_batch, torch", lambda: trazar.label_batch(tensor, connectivity=8), labels
    )
    table.time(
        f"{job}, NumPy",
        "trazar.label_batch, auto",
        lambda: trazar.label_batch(images, connectivity=8),
    )
    with ThreadPoolExecutor(threads) as pool:
        table.time(
            f"{job}, NumPy",
            f"cv2.connectedComponents in {threads} threads",
            lambda: list(pool.map(cv2.connectedComponents, images)),
        )


def about() -> dict[str, Any]:
    """The machine and its versions, as ``benches/run`` writes them; the folder must be there."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))
    from peers import machine

    return {"date": machine.now(), "machine": machine.about(), "versions": machine.versions()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rust", type=Path, help="the bench gpu_calls, compiled")
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--batch", type=int, default=256, help="images in a batch")
    parser.add_argument("--json", type=Path, help="writes the times here too")
    args = parser.parse_args()
    print(
        f"{torch.cuda.get_device_name()}, {len(os.sched_getaffinity(0))} threads; Python "
        f"{platform.python_version()}, trazar {trazar.__version__}, PyTorch {torch.__version__}, "
        f"CuPy {cupy.__version__}, OpenCV {cv2.__version__}, NumPy {np.__version__}",
        flush=True,
    )
    table = Table()
    if args.rust:
        run_rust(table, args.rust, args.size, args.batch, "before")
    image = blobs(args.size, args.size)
    bench_contours(table, image)
    bench_labels(table, image)
    bench_batch(table, blobs(SIDE, SIDE * args.batch).reshape(args.batch, SIDE, SIDE))
    if args.rust:
        run_rust(table, args.rust, args.size, args.batch, "after")
    if args.json:
        args.json.write_text(json.dumps({**about(), "resident": table.rows}, indent=1))


if __name__ == "__main__":
    main()
