"""The command ``trazar``."""

from __future__ import annotations

import sys

from trazar import _trazar


def main() -> int:
    """Run the command with the process's arguments and return its exit status."""
    return _trazar.command(["trazar", *sys.argv[1:]])
