#!/usr/bin/env python3
"""Checks what the workspace depends on against deny.toml: declared licences, sources, wildcards.

These are the checks of `cargo deny` that need no download. `cargo deny` itself, which also reads
the texts of licences and knows advisories, takes minutes to build: `.ci/release` runs it.

Exit status 1, with a line per package, if one is not allowed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import boolean
import license_expression

ROOT = Path(__file__).resolve().parent.parent
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"


def main() -> int:
    rules = tomllib.loads((ROOT / "deny.toml").read_text())
    allowed = set(rules["licenses"]["allow"])
    packages: dict[str, dict[str, Any]] = {}
    for target in rules["graph"]["targets"]:
        command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
        run = subprocess.run(
            [*command, "--filter-platform", target],
            cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True,
        )
        metadata = json.loads(run.stdout)
        used = {node["id"] for node in metadata["resolve"]["nodes"]}
        packages |= {each["id"]: each for each in metadata["packages"] if each["id"] in used}
    problems = [
        f"{package['name']} {package['version']}: {problem}"
        for package in packages.values()
        for problem in problems_of(package, allowed)
    ]
    print("\n".join(problems) or f"{len(packages)} packages: licences and sources are allowed")
    return 1 if problems else 0


def problems_of(package: dict[str, Any], allowed: set[str]) -> list[str]:
    """What deny.toml does not allow of a package."""
    problems = []
    if not package["license"]:
        problems.append("declares no licence")
    else:
        # Of old, a slash meant "or".
        expression = package["license"].replace("/", " OR ")
        parsed = license_expression.get_spdx_licensing().parse(expression, validate=True)
        if not is_allowed(parsed, allowed):
            problems.append(f"licence {package['license']} is not allowed")
    if package["source"] is None:
        # A crate of this workspace.
        for dependency in package["dependencies"]:
            if dependency["req"] == "*" and not dependency.get("path"):
                problems.append(f"depends on any version of {dependency['name']}")
    elif package["source"] != REGISTRY:
        problems.append(f"comes from {package['source']}")
    return problems


def is_allowed(licence: boolean.Expression, allowed: set[str]) -> bool:
    """Whether the licences are allowed: one of those joined by OR, all of those joined by AND."""
    if isinstance(licence, boolean.OR):
        return any(is_allowed(each, allowed) for each in licence.args)
    if isinstance(licence, boolean.AND):
        return all(is_allowed(each, allowed) for each in licence.args)
    return str(licence) in allowed


if __name__ == "__main__":
    sys.exit(main())
