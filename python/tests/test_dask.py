"""Dask arrays against the whole image: any chunks, bands and schedulers."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import IMAGES, SEED, random_image

import trazar
from trazar import _trazar

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
import trazar.dask  # noqa: E402
from trazar.dask._dataset import Dataset  # noqa: E402

#: Each image is labelled and traced in several ways.
DASK_IMAGES = max(1, IMAGES // 6)
ALL = np.ones((3, 3))
OPTIONS = [
    {},
    {"geometry": "edges"},
    {"approximation": "none", "retrieval": "ccomp"},
    {"approximation": "tc89-l1", "retrieval": "list"},
    {"approximation": "tc89-kcos", "retrieval": "external"},
    {"geometry": "edges", "retrieval": "external"},
]


def random_parts(rng: np.random.Generator, side: int) -> tuple[int, ...]:
    """A side divided into random lengths."""
    cuts = rng.integers(1, side, rng.integers(0, 5)) if side > 1 else []
    ends = sorted({*map(int, cuts), side})
    return tuple(end - begin for begin, end in zip([0, *ends], ends))


def in_chunks(rng: np.random.Generator, image: np.ndarray) -> da.Array:
    return da.from_array(image, chunks=tuple(random_parts(rng, side) for side in image.shape))


def random_rows(rng: np.random.Generator) -> int | str | None:
    return [None, "auto", int(rng.integers(1, 20))][rng.integers(3)]


def assert_same(found: trazar.Contours, expected: trazar.Contours) -> None:
    assert (found.width, found.height) == (expected.width, expected.height)
    assert found.geometry == expected.geometry
    for name in ("points", "offsets", "hierarchy", "kinds"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


def features(paths: list[str]) -> list[dict]:
    """The features of files of GeoJSON lines."""
    return [json.loads(line) for path in paths for line in Path(path).read_text().splitlines()]


@pytest.fixture(params=["sync", "threads"])
def scheduler(request):
    with dask.config.set(scheduler=request.param):
        yield


@pytest.mark.parametrize("structure", [None, ALL])
def test_labels_are_those_of_the_whole(rng, scheduler, structure):
    for _ in range(DASK_IMAGES // 2):
        image = random_image(rng, 90)
        array, rows, keep = in_chunks(rng, image), random_rows(rng), bool(rng.integers(2))
        labels, count = trazar.dask.label(array, structure, rows=rows, keep=keep)
        assert labels.shape == image.shape and labels.dtype == np.int32
        found, found_count = dask.compute(labels, count)
        expected, expected_count = trazar.label(image, structure)
        assert found.dtype == expected.dtype and np.array_equal(found, expected)
        assert found_count == expected_count and isinstance(found_count, int)


@pytest.mark.parametrize("connectivity", [4, 8])
def test_columns_are_those_of_the_whole(rng, scheduler, connectivity):
    for _ in range(DASK_IMAGES // 4):
        image = random_image(rng, 60)
        array, rows, keep = in_chunks(rng, image), random_rows(rng), bool(rng.integers(2))
        options = {"connectivity": connectivity}
        labels, columns = trazar.dask.label_stats(array, **options, rows=rows, keep=keep)
        found, found_columns = dask.compute(labels, columns)
        expected, expected_columns = trazar.label_stats(image, **options)
        assert np.array_equal(found, expected)
        assert list(found_columns) == list(expected_columns)
        for name, column in expected_columns.items():
            assert columns[name].dtype == found_columns[name].dtype == column.dtype, name
            assert np.array_equal(found_columns[name], column), name


def test_contours_are_those_of_the_whole(rng, scheduler):
    for number in range(DASK_IMAGES // 2):
        image = random_image(rng, 60)
        options = OPTIONS[number % len(OPTIONS)]
        lazy = trazar.dask.trace(in_chunks(rng, image), **options, rows=random_rows(rng))
        assert_same(lazy.compute(), trazar.trace(image, **options))


@pytest.mark.parametrize("device", ["cpu", "emulator"])
def test_devices_give_the_same(rng, device):
    """The emulator runs the kernels that a worker with a GPU does."""
    for number in range(4):
        image = random_image(rng, 70)
        array, rows, keep = in_chunks(rng, image), 32, number % 2 == 0
        labels, columns = trazar.dask.label_stats(array, ALL, rows=rows, keep=keep, device=device)
        wide, count = trazar.dask.label(array, ALL, rows=rows, dtype=np.int64, device=device)
        labels, columns, wide, count = dask.compute(labels, columns, wide, count)
        expected, expected_columns = trazar.label_stats(image, ALL)
        assert np.array_equal(labels, expected) and np.array_equal(wide, expected)
        assert wide.dtype == np.int64 and count == len(columns["area"])
        for name, column in expected_columns.items():
            assert np.array_equal(columns[name], column), name
        for options in OPTIONS[:3]:
            lazy = trazar.dask.trace(array, **options, rows=rows, device=device)
            assert_same(lazy.compute(), trazar.trace(image, **options))
        found, hierarchy = trazar.dask.find_contours(array, rows=rows, device=device).compute()
        expected = trazar.find_contours(image)
        assert all(map(np.array_equal, found, expected[0])) and len(found) == len(expected[0])
        assert np.array_equal(hierarchy, expected[1])


def test_devices_that_are_not_there_are_errors(rng):
    array = da.from_array(rng.random((40, 50)) < 0.5, chunks=20)
    for function in (trazar.dask.label, trazar.dask.label_stats, trazar.dask.trace):
        with pytest.raises(trazar.InputError, match="'auto', 'cpu', 'cuda' or 'emulator'"):
            function(array, device="gpu")
    if trazar.info()["gpus"]:
        pytest.skip("there is a GPU")
    for lazy in (
        trazar.dask.label(array, device="cuda")[0],
        trazar.dask.trace(array, device="cuda"),
    ):
        with pytest.raises(trazar.DeviceError):
            lazy.compute()


def test_find_contours_is_that_of_the_whole(rng):
    for mode in (0, 1, 2, 3):
        for method in (1, 2, 3, 4):
            image = random_image(rng, 50)
            lazy = trazar.dask.find_contours(
                in_chunks(rng, image), mode, method, offset=(-3, 8), rows=random_rows(rng)
            )
            found, hierarchy = dask.compute(*lazy, scheduler="sync")
            expected = trazar.find_contours(image, mode, method, offset=(-3, 8))
            assert isinstance(found, tuple) and len(found) == len(expected[0])
            for ours, whole in zip(found, expected[0]):
                assert ours.dtype == whole.dtype and ours.shape == whole.shape
                assert ours.flags.writeable and np.array_equal(ours, whole)
            assert (hierarchy is None) == (expected[1] is None)
            assert hierarchy is None or np.array_equal(hierarchy, expected[1])


def test_processes(rng, tmp_path, two_processes):
    """On dask.distributed's workers, each a process: parts, masks and numbers are pickled."""
    image = rng.random((230, 170)) < 0.55
    array = da.from_array(image, chunks=(40, 60))
    expected, expected_columns = trazar.label_stats(image)
    for keep in (True, False):
        labels, columns = trazar.dask.label_stats(array, rows=23, keep=keep)
        found, columns = dask.compute(labels, columns)
        assert np.array_equal(found, expected)
        for name, column in expected_columns.items():
            assert np.array_equal(columns[name], column), name
    lazy = trazar.dask.trace(array, rows=23, geometry="edges")
    whole = trazar.trace(image, geometry="edges")
    persisted = lazy.persist()
    assert isinstance(persisted, trazar.dask.LazyContours)
    assert_same(persisted.compute(), whole)
    assert_same(two_processes.compute(persisted).result(), whole)
    for overwrite in (False, True):
        paths = persisted.to_geojson_lines(tmp_path / "lines", overwrite=overwrite)
        assert features(paths) == json.loads(whole.to_geojson())["features"]


def test_kinds_of_arrays(rng):
    values = rng.normal(size=(40, 50))
    for dtype in (bool, np.uint8, np.int16, np.float32, ">f8", np.uint64):
        image = (values * 3).astype(dtype)
        array = da.from_array(image, chunks=(13, 21))
        for threshold in (None, 1) if dtype is not bool else (None,):
            labels, _ = trazar.dask.label(array, threshold=threshold)
            expected, _ = trazar.label(image, threshold=threshold)
            assert np.array_equal(labels.compute(), expected)
            contours = trazar.dask.trace(array, threshold=threshold).compute()
            assert_same(contours, trazar.trace(image, threshold=threshold))
    labels, count = trazar.dask.label([[1, 0, 1]])
    assert labels.compute().tolist() == [[1, 0, 2]] and count.compute() == 2
    assert labels.compute().flags.writeable


def test_empty_arrays():
    for shape in ((0, 5), (5, 0), (0, 0)):
        labels, count = trazar.dask.label(da.zeros(shape))
        assert labels.compute().shape == shape and labels.dtype == np.int32
        assert count.compute() == 0
        _, columns = trazar.dask.label_stats(da.zeros(shape))
        expected = trazar.label_stats(np.zeros(shape))[1]
        for name, column in expected.items():
            assert columns[name].compute().shape == (0,) and columns[name].dtype == column.dtype
        with pytest.raises(trazar.InputError, match="at least 1"):
            trazar.dask.trace(da.zeros(shape))
    labels, columns = trazar.dask.label_stats(da.zeros((7, 5), chunks=2), rows=2)
    assert labels.compute().max() == 0 and columns["area"].compute().shape == (0,)
    assert len(trazar.dask.trace(da.zeros((7, 5), chunks=2), rows=2).compute()) == 0


@pytest.mark.parametrize("rows", [None, "auto", 3])
def test_chunks_without_rows_or_columns(rng, rows):
    image = rng.random((8, 9)) < 0.5
    labels, columns = trazar.label_stats(image)
    contours, (borders, hierarchy) = trazar.trace(image), trazar.find_contours(image)
    heights = [(0, 8), (8, 0), (3, 0, 5), (0, 3, 0, 0, 5, 0)]
    widths = [(9,), (9, 0), (0, 9), (0, 4, 0, 5)]
    for chunks in zip(heights, widths):
        array = da.from_array(image, chunks=chunks)
        # Bands of a chunk's rows, with "auto" too: small ones would be joined.
        with dask.config.set({"array.chunk-size": "300 B", "scheduler": "sync"}):
            found, count = dask.compute(*trazar.dask.label(array, rows=rows))
            assert np.array_equal(found, labels) and count == labels.max()
            for keep in (True, False):
                found, measures = trazar.dask.label_stats(array, rows=rows, keep=keep)
                assert 0 not in found.chunks[0]
                found, measures = dask.compute(found, measures)
                assert np.array_equal(found, labels)
                for name, column in columns.items():
                    assert np.array_equal(measures[name], column), name
            assert_same(trazar.dask.trace(array, rows=rows, threshold=0.5).compute(), contours)
            found, links = trazar.dask.find_contours(array, rows=rows).compute()
            assert all(map(np.array_equal, found, borders)) and len(found) == len(borders)
            assert np.array_equal(links, hierarchy)
    for chunks in [((0, 0), (2, 3)), ((5,), (0, 0)), ((2, 0, 3), (0, 0))]:
        shape = tuple(map(sum, chunks))
        array = da.zeros(shape, chunks=chunks)
        for threshold in (None, 0.5):
            lazy, count = trazar.dask.label(array, rows=rows, threshold=threshold)
            assert lazy.compute().shape == shape and count.compute() == 0
        for function in ("trace", "find_contours"):
            with pytest.raises(trazar.InputError) as whole:
                getattr(trazar, function)(np.zeros(shape))
            with pytest.raises(trazar.InputError) as refused:
                getattr(trazar.dask, function)(array, rows=rows)
            assert str(refused.value) == str(whole.value)


def test_types_of_labels():
    labels, count = trazar.dask.label(da.eye(6, chunks=2), dtype=np.int64, rows=2)
    assert labels.dtype == labels.compute().dtype == np.int64
    assert labels.compute().max() == count.compute() == 6
    _, columns = trazar.dask.label_stats(da.eye(6, chunks=2), dtype="int64", rows=1)
    assert columns["label"].dtype == columns["label"].compute().dtype == np.int64
    # Nothing is computed.
    large = da.zeros((1 << 17, 1 << 17), dtype=np.uint8, chunks=(1 << 12, 1 << 12))
    assert trazar.dask.label(large)[0].dtype == np.int64
    assert trazar.dask.label(large[:1000])[0].dtype == np.int32
    with pytest.raises(trazar.InputError, match="int32 or int64"):
        trazar.dask.label(large, dtype=np.uint8)


def test_bands_have_the_rows_that_are_asked_for():
    array = da.zeros((1000, 300), dtype=bool, chunks=(70, 100))
    heights = trazar.dask.label(array, rows=None)[0].chunks[0]
    assert heights == array.chunks[0]
    assert trazar.dask.label(array, rows=400)[0].chunks == ((400, 400, 200), (300,))
    # Bands are the chunks' rows, but divided if they are large, and joined if they are small.
    for size, most, bands in [("1 MB", 70, 15), ("60 kB", 50, 20), ("64 MB", 1000, 1)]:
        with dask.config.set({"array.chunk-size": size}):
            labels = trazar.dask.label(array)[0]
        assert labels.chunks[1] == (300,) and max(labels.chunks[0]) <= most
        assert bands <= len(labels.chunks[0]) <= 2 * bands
    for rows in (0, -1, "all", 1.5):
        with pytest.raises(trazar.InputError, match="rows="):
            trazar.dask.label(array, rows=rows)


def test_what_is_no_image_is_refused():
    unknown = da.zeros((5, 5))[da.zeros(5) == 0]
    for array, message in [
        (da.zeros(5), "no image"),
        (da.zeros((2, 5, 5)), "no image"),
        (unknown, "compute_chunk_sizes"),
        (da.zeros((5, 5), dtype=complex), "complex128"),
    ]:
        for function in (trazar.dask.label, trazar.dask.label_stats, trazar.dask.trace):
            with pytest.raises(trazar.InputError, match=message):
                function(array)
    array = da.zeros((5, 5))
    for connectivity in (1, 2, 6):
        with pytest.raises(trazar.InputError, match="neighbours, 4 or 8"):
            trazar.dask.label(array, connectivity=connectivity)
    for offset in ((2**31 - 4, 0), (0.5, 0), (1,), None):
        with pytest.raises(trazar.InputError, match=r"offset=.*2147483647"):
            trazar.dask.find_contours(array, offset=offset)
    for options in (
        {"retrieval": "all"},
        {"geometry": "edges", "approximation": "tc89-l1"},
    ):
        with pytest.raises(trazar.InputError):
            trazar.dask.trace(array, **options)
    with pytest.raises(trazar.InputError, match="mode=9"):
        trazar.dask.find_contours(array, 9)
    with pytest.raises(trazar.InputError, match="npartitions=0"):
        trazar.dask.trace(array).to_geojson_lines("nowhere", npartitions=0)
    assert not os.path.exists("nowhere")
    values = np.zeros((30, 40))
    values[17, 23] = np.nan
    array = da.from_array(values, chunks=(10, 15))
    with pytest.raises(trazar.InputError, match="x = 23, y = 17 is not a number"):
        trazar.dask.label(array, threshold=0.5)[0].compute(scheduler="sync")
    masked = da.ma.masked_equal(da.zeros((5, 5), chunks=3), 1)
    with pytest.raises(trazar.InputError, match="masked"):
        trazar.dask.label(masked)[0].compute(scheduler="sync")


def test_an_array_that_changes_between_the_passes_is_refused():
    calls = []

    def block() -> np.ndarray:
        calls.append(None)
        return np.eye(8) if len(calls) % 2 else np.ones((8, 8))

    array = da.from_delayed(dask.delayed(block, pure=False)(), (8, 8), float)
    labels, _ = trazar.dask.label(array, keep=False)
    with pytest.raises(trazar.InputError, match="changed between two passes"):
        labels.compute(scheduler="sync")
    calls.clear()
    labels, _ = trazar.dask.label(array)
    assert labels.compute(scheduler="sync").max() == 8 and len(calls) == 1


def tasks(collection: object) -> int:
    return len(dict(collection.__dask_graph__()))


def test_graphs_are_linear_in_the_chunks():
    """Twice the chunks have twice the tasks, and how many there are for a chunk is known."""
    sizes = []
    for count in (64, 128, 256):
        array = da.zeros((4 * count, 8), dtype=np.uint8, chunks=(4, 4))
        labels, columns = trazar.dask.label_stats(array, rows=4)
        sizes.append(
            [
                tasks(array.rechunk((4, -1))),
                tasks(labels),
                tasks(trazar.dask.label(array, rows=4, keep=False)[0]),
                tasks(columns["area"]),
                tasks(trazar.dask.trace(array, rows=4)),
            ]
        )
        source = sizes[-1][0]
        # Packing, part, rims, numbers, labels; edges, tracing; and a join less than there are.
        assert sizes[-1][1] - source <= 6 * count + 2
        assert sizes[-1][2] - source <= 2 * count + 2
        assert sizes[-1][3] - source <= 7 * count + 2
        assert sizes[-1][4] - source <= 4 * count
    for before, after in itertools.pairwise(sizes):
        for small, large in zip(before, after):
            assert 1.9 < large / small < 2.1


def test_parts_are_joined_as_a_tree():
    """The longest chain of joins grows by one with twice the bands."""
    array = da.zeros((256, 8), dtype=np.uint8, chunks=(1, 8))
    for lazy in (trazar.dask.trace(array, rows=None), trazar.dask.label(array, rows=None)[1]):
        joins = [key for key in dict(lazy.__dask_graph__()) if "trazar-join" in str(key)]
        assert len(joins) == 255
        assert {key[1] for key in joins} == set(range(8))


def test_equal_calls_have_equal_keys():
    array = da.zeros((8, 8), chunks=4)
    assert trazar.dask.label(array)[0].name == trazar.dask.label(array)[0].name
    assert trazar.dask.label(array)[0].name != trazar.dask.label(array, ALL)[0].name
    keys = [trazar.dask.trace(array, geometry=g).__dask_keys__() for g in ("edges", "centers")]
    assert keys[0] != keys[1]


def parts(rng: np.random.Generator) -> list[object]:
    """An object of each class that workers exchange."""
    mask = _trazar.pack(rng.random((9, 70)) < 0.5, None)
    above, below = mask.edges()
    part, measures = _trazar.label_part(mask, 5, 8, True, "cpu")
    whole, _ = _trazar.label_part(mask, 0, 4, True, "cpu")
    contours = _trazar.trace_part(mask, 5, above, below, "tree", "simple", "edges", "cpu")
    traced = trazar.trace(rng.random((9, 70)) < 0.5)
    return [mask, part, measures, whole.finish()[0], contours, traced._raw]


def test_parts_are_pickled(rng):
    for part in parts(rng):
        for protocol in (2, pickle.HIGHEST_PROTOCOL):
            pickled = pickle.dumps(part, protocol)
            again = pickle.loads(pickled)
            assert type(again) is type(part) and pickle.dumps(again, protocol) == pickled
        # So that Dask knows what workers hold.
        assert sys.getsizeof(part) > 0
    contours = trazar.trace(np.eye(5), geometry="edges")
    assert_same(pickle.loads(pickle.dumps(contours)), contours)


def test_bytes_that_are_damaged_or_forged_are_refused(rng):
    numbers = random.Random(SEED)
    for part in parts(rng):
        from_bytes, (sent,) = part.__reduce__()
        for other in (b"", b"TZLP", b"\0" * 40, sent[:-1], sent + b"\0", numbers.randbytes(99)):
            with pytest.raises(trazar.InputError):
                from_bytes(other)
        if isinstance(part, _trazar.Mask):
            # Any bits are an image.
            continue
        for _ in range(300):
            damaged = bytearray(sent)
            damaged[numbers.randrange(len(sent))] ^= 1 << numbers.randrange(8)
            with pytest.raises(trazar.InputError, match="bytes are not those of"):
                from_bytes(bytes(damaged))


def test_parts_of_other_images_are_refused(rng):
    first, second = (_trazar.pack(rng.random((4, 9)) < 0.5, None) for _ in range(2))
    above, below = first.edges()
    upper = _trazar.trace_part(first, 0, None, below, "tree", "simple", "centers", "cpu")
    lower = _trazar.trace_part(second, 4, above, None, "tree", "simple", "centers", "cpu")
    with pytest.raises(trazar.InputError, match="seam"):
        upper.join(lower)
    with pytest.raises(trazar.InputError, match="not all of the image"):
        upper.finish()
    labels = [_trazar.label_part(first, row, 4, False, "cpu")[0] for row in (0, 5)]
    with pytest.raises(trazar.InputError, match="lie one below the other"):
        labels[0].join(labels[1])
    assert labels[0].rows == (0, 4) and upper.rows == (0, 4)


def test_labels_go_to_zarr(rng, tmp_path):
    zarr = pytest.importorskip("zarr")
    image = rng.random((60, 50)) < 0.5
    labels, _ = trazar.dask.label(da.from_array(image, chunks=(16, 25)), rows=16)
    labels.to_zarr(str(tmp_path / "labels.zarr"))
    stored = zarr.open_array(str(tmp_path / "labels.zarr"))
    assert np.array_equal(stored[:], trazar.label(image)[0])


@pytest.mark.parametrize("options", [{}, {"geometry": "edges"}, {"retrieval": "list"}])
def test_contours_go_to_files(rng, tmp_path, options):
    image = rng.random((60, 50)) < 0.6
    whole = trazar.trace(image, **options)
    lazy = trazar.dask.trace(da.from_array(image, chunks=(16, 25)), rows=13, **options)
    assert lazy.count().compute() == len(whole)
    assert_same(lazy.to_delayed().compute(), whole)
    expected = json.loads(whole.to_geojson())["features"]
    for count in (None, 1, 200):
        folder = tmp_path / str(count)
        paths = lazy.to_geojson_lines(folder, npartitions=count)
        assert len(paths) == (count or 5) == len(os.listdir(folder))
        assert features(paths) == expected
    later = lazy.to_geojson_lines(tmp_path / "later", compute=False)
    assert not (tmp_path / "later").exists()
    assert len(later.compute()) == 5 == len(os.listdir(tmp_path / "later"))
    assert sorted(os.listdir(tmp_path)) == ["1", "200", "None", "later"]


def test_contours_go_to_geoparquet(rng, tmp_path):
    geopandas = pytest.importorskip("geopandas")
    pytest.importorskip("pyarrow")
    image = rng.random((60, 50)) < 0.6
    lazy = trazar.dask.trace(da.from_array(image, chunks=16), rows=13, geometry="edges")
    paths = lazy.to_geoparquet(tmp_path / "polygons")
    assert len(paths) == 5 == len(os.listdir(tmp_path / "polygons"))
    whole = trazar.trace(image, geometry="edges")
    frame = geopandas.read_parquet(tmp_path / "polygons").sort_values("contour")
    assert frame["contour"].tolist() == np.flatnonzero(whole.kinds == 0).tolist()
    assert list(frame.geometry) == list(whole.polygons())
    assert frame["area"].sum() == image.sum() and frame.crs is None


def files(folder: Path) -> dict[str, bytes]:
    """What is in a folder, hidden files too."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


WRITERS = ["to_geojson_lines", "to_geoparquet"]


def lazy_contours(density: float) -> tuple[trazar.Contours, trazar.dask.LazyContours]:
    image = np.random.default_rng(SEED).random((60, 50)) < density
    lazy = trazar.dask.trace(da.from_array(image, chunks=16), rows=13, geometry="edges")
    return trazar.trace(image, geometry="edges"), lazy


@pytest.mark.parametrize("writer", WRITERS)
def test_a_folder_is_replaced_whole(tmp_path, writer):
    """No file of an earlier call stays: readers would count its contours as well."""
    if writer == "to_geoparquet":
        pytest.importorskip("geopandas")
    folder, alone = tmp_path / "polygons", tmp_path / "alone"
    folder.mkdir(mode=0o750)
    getattr(lazy_contours(0.6)[1], writer)(folder)
    before = files(folder)
    assert len(before) == 5 and folder.stat().st_mode & 0o777 == 0o750
    write = getattr(lazy_contours(0.3)[1], writer)
    for compute in (True, False):
        with pytest.raises(trazar.InputError, match=r"not empty.*overwrite=True"):
            write(folder, npartitions=2, compute=compute)
    assert files(folder) == before
    write(alone, npartitions=2)
    (tmp_path / "link").symlink_to("polygons")
    for path in (folder, tmp_path / "link"):
        paths = write(path, npartitions=2, overwrite=True)
        assert paths == [str(folder / name) for name in sorted(os.listdir(folder))]
        assert files(folder) == files(alone) and folder.stat().st_mode & 0o777 == 0o750
    # What is not known to be of an earlier call stays.
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(trazar.InputError, match=r"'notes\.txt'"):
        write(folder, overwrite=True)
    assert files(folder) == {**files(alone), "notes.txt": b"mine"}
    with pytest.raises(trazar.InputError, match="is a file"):
        write(folder / "notes.txt", overwrite=True)
    with pytest.raises(trazar.InputError, match="working directory"):
        write(os.getcwd(), overwrite=True)
    assert sorted(os.listdir(tmp_path)) == ["alone", "link", "polygons"]


def test_a_folder_that_fills_before_the_contours_are_written_is_refused(tmp_path):
    later = lazy_contours(0.6)[1].to_geojson_lines(tmp_path / "lines", compute=False)
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "notes.txt").write_text("mine")
    with pytest.raises(trazar.InputError, match="not empty"):
        later.compute()
    assert files(tmp_path / "lines") == {"notes.txt": b"mine"}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_task_that_fails_leaves_the_folder_as_it_was(tmp_path, monkeypatch, scheduler, writer):
    if writer == "to_geoparquet":
        pytest.importorskip("geopandas")
    folder = tmp_path / "polygons"
    lazy = lazy_contours(0.6)[1]
    getattr(lazy, writer)(folder)
    before = files(folder)
    function = {"to_geojson_lines": "_write_lines", "to_geoparquet": "_write_parquet"}[writer]
    write = getattr(trazar.dask._contours, function)

    def fails(part: object, index: int, *more: object) -> None:
        write(part, index, *more)
        if index == 2:
            raise OSError("the disk is full")

    monkeypatch.setattr(trazar.dask._contours, function, fails)
    for to in (folder, tmp_path / "new"):
        with pytest.raises(OSError, match="the disk is full"):
            getattr(lazy, writer)(to, overwrite=True)
    assert files(folder) == before and not (tmp_path / "new").exists()
    if dask.config.get("scheduler") == "sync":
        # Threads may still be writing.
        assert os.listdir(tmp_path) == ["polygons"]


def test_a_commit_that_is_run_again_changes_nothing(tmp_path):
    """A scheduler runs a task again whose result went with its worker."""
    for overwrite in (False, True):
        dataset = Dataset(tmp_path / "lines", "geojsonl", 2, overwrite, "0")
        for _ in range(2):
            dataset.begin()
            for index in range(2):
                dataset.staged(index).write_text(str(index))
        # Of a writer that was killed.
        dataset.staged(0).with_name(".part.0.geojsonl.partial").write_text("0")
        paths = dataset.commit()
        assert paths == [str(tmp_path / f"lines/part.{i}.geojsonl") for i in (0, 1)]
        assert dataset.commit() == paths
        assert files(tmp_path / "lines") == {"part.0.geojsonl": b"0", "part.1.geojsonl": b"1"}
    assert os.listdir(tmp_path) == ["lines"]


#: For each folder, a process that writes five files, and is killed when half of the second is on
#: the disk.
KILLED = """
import os, signal, sys
import dask.array as da, geopandas, numpy as np
import trazar.dask

calls = []
to_parquet = geopandas.GeoDataFrame.to_parquet

def half(frame, path, **options):
    to_parquet(frame, path, **options)
    calls.append(path)
    if len(calls) == 2:
        os.truncate(path, os.path.getsize(path) // 2)
        os.kill(os.getpid(), signal.SIGKILL)

geopandas.GeoDataFrame.to_parquet = half
image = np.random.default_rng(1).random((60, 50)) < 0.5
lazy = trazar.dask.trace(da.from_array(image, chunks=16), rows=13)
for folder in sys.argv[1:]:
    child = os.fork()
    if not child:
        lazy.to_geoparquet(folder, overwrite=True)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_writer_that_is_killed_leaves_what_readers_understand(tmp_path):
    geopandas = pytest.importorskip("geopandas")
    folder, new = tmp_path / "polygons", tmp_path / "new"
    whole, lazy = lazy_contours(0.6)
    lazy.to_geoparquet(folder)
    before = files(folder)
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, folder, new],
        env={**os.environ, "DASK_SCHEDULER": "sync"},
        capture_output=True,
        text=True,
    )
    assert ended.stdout.split() == 2 * [str(-signal.SIGKILL)], ended.stderr
    left = [path for path in tmp_path.iterdir() if path.name.endswith(".partial")]
    assert len(left) == 2 and all(path.name.startswith(".") and files(path) for path in left)
    assert files(folder) == before and not new.exists()
    # Neither of the folder nor of what it is in.
    for read in (folder, tmp_path):
        found = geopandas.read_parquet(read)
        assert sorted(found["contour"]) == np.flatnonzero(whole.kinds == 0).tolist()
    whole, lazy = lazy_contours(0.3)
    for to in (folder, new):
        lazy.to_geoparquet(to, npartitions=2, overwrite=True)
        found = geopandas.read_parquet(to)
        assert sorted(found["contour"]) == np.flatnonzero(whole.kinds == 0).tolist()


def test_persisted_and_computed_together(rng):
    image = rng.random((60, 50)) < 0.6
    array = da.from_array(image, chunks=16)
    lazy = trazar.dask.trace(array, rows=13)
    labels, count = trazar.dask.label(array, rows=13)
    persisted, labels, count = dask.persist(lazy, labels, count)
    assert tasks(persisted) == 1
    contours, labels, count = dask.compute(persisted, labels, count)
    assert_same(contours, trazar.trace(image))
    assert np.array_equal(labels, trazar.label(image)[0]) and count == labels.max()


def test_without_dask_there_is_a_clear_error():
    program = """
import sys
import trazar
assert "dask" not in sys.modules
sys.modules["dask"] = None
try:
    import trazar.dask
except ImportError as error:
    print(error)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ended.stdout == "trazar.dask needs Dask with arrays: pip install 'dask[array]'\n"
