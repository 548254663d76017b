"""A folder of files, one per partition, that appears whole."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from trazar._errors import InputError


@dataclass(frozen=True)
class Dataset:
    """What a call writes, and where: ``part.0.SUFFIX`` and so on in a folder.

    The parts are written into a hidden folder beside it, which becomes the folder when all are
    there. Any of the steps may be run again, by a scheduler that has lost a worker.

    Attributes
    ----------
    folder : Path
        Absolute, and no symbolic link.
    suffix : str
        Of the parts' names.
    count : int
        The number of parts.
    overwrite : bool
        Whether the folder may have the parts of an earlier call.
    token : str
        No other call has it.
    """

    folder: Path
    suffix: str
    count: int
    overwrite: bool
    token: str

    def check(self) -> None:
        """Refuse a folder that the new one can't replace."""
        folder = self.folder
        if not folder.exists():
            return
        if not folder.is_dir():
            raise InputError(f"{folder} is a file: a folder is needed")
        if folder == Path.cwd() or folder.is_mount():
            raise InputError(
                f"{folder} can't be replaced, as the working directory or a mount point: name a "
                "folder in it"
            )
        part = re.compile(rf"part\.\d+\.{self.suffix}")
        for entry in folder.iterdir():
            if not self.overwrite:
                raise InputError(
                    f"{folder} is not empty: name a new folder, or replace the dataset in it with "
                    "overwrite=True"
                )
            if not part.fullmatch(entry.name):
                raise InputError(
                    f"{folder} has {entry.name!r}, which is no part.N.{self.suffix}, and "
                    "overwrite=True would delete it: move it away or name another folder"
                )

    def begin(self) -> None:
        """Make the hidden folder."""
        self.check()
        self._staging.mkdir(parents=True, exist_ok=True)

    def staged(self, index: int) -> Path:
        """Return the path at which a part is written."""
        return self._staging / self._name(index)

    def commit(self) -> list[str]:
        """Replace the folder by the hidden one, and return the parts' paths."""
        names = [self._name(index) for index in range(self.count)]
        paths = [str(self.folder / name) for name in names]
        if not self._staging.exists() and set(names) == set(os.listdir(self.folder)):
            # The scheduler runs this again, since it has lost the result.
            return paths
        self.check()
        for entry in set(os.listdir(self._staging)).difference(names):
            # Of a writer that was killed.
            (self._staging / entry).unlink()
        replaced = self._beside("replaced")
        if self.folder.exists():
            shutil.copymode(self.folder, self._staging)
            self.folder.rename(replaced)
        try:
            self._staging.rename(self.folder)
        except BaseException:
            if replaced.exists():
                replaced.rename(self.folder)
            raise
        shutil.rmtree(replaced, ignore_errors=True)
        return paths

    def discard(self) -> None:
        """Remove the hidden folder."""
        shutil.rmtree(self._staging, ignore_errors=True)

    @property
    def _staging(self) -> Path:
        return self._beside("partial")

    def _beside(self, what: str) -> Path:
        """Return a hidden path beside the folder: readers ignore names that begin with a dot."""
        return self.folder.with_name(f".{self.folder.name}.{self.token}.{what}")

    def _name(self, index: int) -> str:
        return f"part.{index}.{self.suffix}"
