"""Every public name has a docstring with an example, and all examples hold."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
from pathlib import Path

import numpy as np
import pytest

import trazar

REPOSITORY = Path(__file__).parents[2]
PAGES = ["docs/python.md", "docs/gallery.md", "docs/install.md", "python/README.md", "README.md"]
PAGES += [f"docs/guides/{user}.md" for user in ("vision", "cells", "maps", "routing")]


if importlib.util.find_spec("dask"):
    import trazar.dask

    MODULES = [trazar, trazar.dask]
else:
    MODULES = [trazar]


def documented():
    """Names and docstrings of all that is public."""
    for module in MODULES:
        yield module.__name__, module.__doc__
        yield from documented_in(module)


def documented_in(module):
    for name in module.__all__:
        value = getattr(module, name)
        if name == "DeviceArray" or not (inspect.isclass(value) or inspect.isroutine(value)):
            continue
        name = f"{module.__name__}.{name}".removeprefix("trazar.")
        yield name, value.__doc__
        if inspect.isclass(value) and not issubclass(value, Exception):
            for attribute, member in vars(value).items():
                if attribute.startswith("_"):
                    continue
                if isinstance(member, (staticmethod, classmethod)):
                    member = member.__func__
                if inspect.isroutine(member) or isinstance(member, property):
                    yield f"{name}.{attribute}", member.__doc__


def run(name: str, text: str) -> int:
    parser = doctest.DocTestParser()
    test = parser.get_doctest(text, {}, name, name, 0)
    runner = doctest.DocTestRunner(
        optionflags=doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE
    )
    with np.printoptions(legacy=False):
        result = runner.run(test)
    assert result.failed == 0, name
    return result.attempted


@pytest.mark.parametrize(("name", "text"), list(documented()), ids=lambda value: str(value)[:40])
def test_examples_hold(name, text, tmp_path, monkeypatch):
    assert text, f"{name} has no docstring"
    # Some write files.
    monkeypatch.chdir(tmp_path)
    attempted = run(name, text)
    assert attempted or name in ("trazar", "trazar.dask"), f"{name} has no example"


@pytest.mark.parametrize("page", PAGES)
def test_pages_hold(page, tmp_path, monkeypatch):
    path = REPOSITORY / page
    if not path.exists():
        pytest.skip("only in the repository")
    monkeypatch.chdir(tmp_path)
    assert run(page, path.read_text()) > 0 or page == "README.md"


@pytest.mark.parametrize(
    "value",
    [*MODULES, *(getattr(module, name) for module in MODULES for name in module.__all__)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_lines_are_short(value):
    for line in (value.__doc__ or "").splitlines() if not isinstance(value, int) else ():
        assert len(line) <= 100, line


def test_the_gallery_is_what_its_script_makes():
    script = REPOSITORY / "python/examples/gallery.py"
    if not script.exists():
        pytest.skip("only in the repository")
    spec = importlib.util.spec_from_file_location("gallery", script)
    gallery = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gallery)
    text, pictures = gallery.page()
    docs = REPOSITORY / "docs"
    assert text == (docs / "gallery.md").read_text()
    drawn = (docs / "images/gallery-contours.svg").read_text()
    assert pictures["gallery-contours.svg"] == drawn
    for name in pictures:
        assert (docs / "images" / name).exists()
