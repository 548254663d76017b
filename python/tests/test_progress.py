"""Reports of progress, and what ends work that is reported."""

from __future__ import annotations

import numpy as np
import pytest
import trazar

#: Small ones are worked on by the caller's thread, large ones by another.
SIDES = [200, 1600]

MEASURED = ("label", "area", "area_convex", "perimeter")

JOBS = {
    "trace": lambda image, report: trazar.trace(image, progress=report),
    "find_contours": lambda image, report: trazar.find_contours(image, progress=report)[1].tolist(),
    "label": lambda image, report: trazar.label(image, progress=report)[0].tolist(),
    "label into": lambda image, report: trazar.label(
        image, output=np.empty(image.shape, np.int32), progress=report
    ),
    "label_stats": lambda image, report: trazar.label_stats(image, progress=report)[0].tolist(),
    "polygonize": lambda image, report: trazar.polygonize(image, progress=report).points.tolist(),
    "label_values": lambda image, report: trazar.label_values(image, progress=report)[0].tolist(),
    "measure": lambda image, report: trazar.measure(image, properties=MEASURED, progress=report)[
        "area_convex"
    ].tolist(),
    "measure channels": lambda image, report: trazar.measure(
        image, np.dstack([image] * 3), ("intensity_mean",), progress=report
    )["intensity_mean-2"].tolist(),
    "by label": lambda image, report: [
        hierarchy.tolist()
        for _, hierarchy in trazar.find_contours_by_label(image, progress=report).values()
    ],
}


@pytest.fixture(params=SIDES)
def image(request, rng) -> np.ndarray:
    blocks = rng.integers(0, 3, (request.param // 20, request.param // 20), np.uint8)
    return np.kron(blocks, np.ones((20, 20), np.uint8))


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_shares_ascend_and_results_are_the_same(image, job) -> None:
    shares: list[float] = []
    found = job(image, shares.append)
    assert found == job(image, None)
    assert shares == sorted(set(shares))
    assert shares[0] >= 0
    assert shares[-1] == 1


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_an_exception_ends_the_work_and_is_raised(image, job) -> None:
    calls = []

    def enough(share: float) -> None:
        calls.append(share)
        raise StopIteration("enough")

    with pytest.raises(StopIteration, match="enough"):
        job(image, enough)
    assert len(calls) == 1
    # It is not reported to any more.
    job(image, None)
    assert len(calls) == 1


def test_reports_within_reports() -> None:
    image = np.eye(64, dtype=np.uint8)
    outer: list[float] = []
    inner: list[float] = []

    def report(share: float) -> None:
        outer.append(share)
        trazar.label(image, progress=inner.append)

    trazar.trace(image, progress=report)
    assert outer[-1] == inner[-1] == 1


def test_what_is_refused() -> None:
    with pytest.raises(trazar.InputError, match="progress=3"):
        trazar.trace([[1]], progress=3)
