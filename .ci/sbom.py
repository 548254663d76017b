#!/usr/bin/env python3
"""Prints what is in the command and the wheels, as CycloneDX 1.5.

Crates, versions, licences and hashes come from `Cargo.lock`, by `cargo metadata`: those that
`trazar-cli` and `trazar-python` depend on, without those that only tests and builds need. The same
lock file gives the same bytes.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
#: The packages that are given away as programs.
PROGRAMS = ("trazar-cli", "trazar-python")


def main() -> int:
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    run = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    metadata = json.loads(run.stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    roots = [key for key, package in packages.items() if package["name"] in PROGRAMS]
    if len(roots) != len(PROGRAMS):
        sys.exit(f"not all of {', '.join(PROGRAMS)} are in the workspace")
    found, left = set(), list(roots)
    while left:
        key = left.pop()
        if key in found:
            continue
        found.add(key)
        for dependency in nodes[key]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                left.append(dependency["pkg"])
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    hashes = {
        (package["name"], package["version"]): package.get("checksum")
        for package in lock["package"]
    }
    components = [component(packages[key], hashes) for key in found]
    components.sort(key=lambda each: (each["name"], each["version"]))
    version = packages[roots[0]]["version"]
    json.dump(
        {
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": {
                "component": {"type": "application", "name": "trazar", "version": version}
            },
            "components": components,
        },
        sys.stdout,
        indent=1,
    )
    print()
    return 0


def component(package: dict[str, Any], hashes: dict[tuple[str, str], str | None]) -> dict:
    name, version = package["name"], package["version"]
    found: dict[str, Any] = {
        "type": "library",
        "name": name,
        "version": version,
        "purl": f"pkg:cargo/{name}@{version}",
    }
    if package["license"]:
        # "MIT/Apache-2.0" is what "OR" was before SPDX.
        found["licenses"] = [{"expression": re.sub(r"\s*/\s*", " OR ", package["license"])}]
    if checksum := hashes.get((name, version)):
        found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return found


if __name__ == "__main__":
    sys.exit(main())
