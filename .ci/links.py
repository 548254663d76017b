#!/usr/bin/env python3
"""Checks the links of all Markdown pages in the repository: files, images, and headings.

    .ci/links.py            # prints each link that leads nowhere; exit status 1 if there is one

Links to other sites are not followed. A heading's anchor is GitHub's: lower case, without
punctuation, with a hyphen for each space. Of links by reference, `[text][name]` and `[name][]`,
the definition `[name]: target` must be on the page, and lead somewhere.
"""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|(?:src|href)=\"([^\"]+)\"")
# `[name]: target`, and what refers to it.
DEFINITION = re.compile(r"^ {0,3}\[([^\]\n]+)\]:\s*<?([^\s>]+)>?", re.MULTILINE)
REFERENCE = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\[([^\[\]]*)\]")
FENCE = re.compile(r"^\s*```.*?^\s*```\s*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")


def pages() -> list[Path]:
    """The Markdown files that git knows, or would."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return [path for name in sorted(listed.stdout.splitlines()) if (path := ROOT / name).exists()]


@functools.cache
def anchors(path: Path) -> set[str]:
    """Those of a page's headings."""
    found: dict[str, int] = {}
    for line in FENCE.sub("", path.read_text()).splitlines():
        if heading := re.match(r"#{1,6}\s+(.*?)\s*#*$", line):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "").lower()
            name = re.sub(r"[^\w\- ]|[²³¹]", "", text).replace(" ", "-")
            count = found.get(name, 0)
            found[name] = count + 1
            if count:
                found[f"{name}-{count}"] = 1
    return set(found)


def wrong(page: Path, link: str) -> str | None:
    """What is wrong with a link, or nothing."""
    if re.match(r"[a-z][a-z+.-]*:", link):
        return None
    name, _, anchor = unquote(link).partition("#")
    if name.startswith("api/"):
        return None  # The crates' reference, which docs/build makes.
    target = (page.parent / name).resolve() if name else page
    if not target.exists():
        return "there is no such file"
    if not target.is_relative_to(ROOT):
        return "leads out of the repository"
    if anchor and target.suffix == ".md" and anchor not in anchors(target):
        return "there is no such heading"
    return None


def links(text: str) -> Iterator[tuple[str, str | None]]:
    """Each link of a page's text, and what is wrong with it apart from its target."""
    for found in LINK.finditer(text):
        yield found[1] or found[2], None
    defined = set()
    for name, target in DEFINITION.findall(text):
        defined.add(name_of(name))
        yield target, None
    for shown, name in REFERENCE.findall(text):
        if name_of(name or shown) not in defined:
            yield f"[{shown}][{name}]", "the page defines no such reference"


def name_of(reference: str) -> str:
    """Of references, neither case nor the number of spaces matters."""
    return " ".join(reference.lower().split())


def main() -> int:
    count = 0
    said = []
    for page in pages():
        text = FENCE.sub("", page.read_text())
        for link, fault in links(CODE.sub("", text)):
            count += 1
            if fault := fault or wrong(page, link):
                said.append(f"{page.relative_to(ROOT)}: {link}: {fault}")
    for line in said:
        print(line)
    print(f"{count} links, {len(said)} lead nowhere")
    return int(bool(said) or not count)


if __name__ == "__main__":
    sys.exit(main())
