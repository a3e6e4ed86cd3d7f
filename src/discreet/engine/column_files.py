"""Folders of narrow columns: opened without being read, and checked column by column when one is first used.

A folder is written once and never changes, see :mod:`discreet.engine.column_writer`. All processes that map it share
the pages that the system has read of it.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any, Literal

import numpy as np

from discreet.engine.column_folder import (
    MANIFEST,
    ArrayPart,
    CodesPart,
    Manifest,
    NumbersPart,
    check_hashes,
    hierarchy_of,
    read_manifest,
)
from discreet.engine.column_writer import write_columns
from discreet.errors import InputError, ParameterError, unknown_column
from discreet.model.arrays import Ints
from discreet.model.condition import Condition
from discreet.model.hierarchy import Hierarchy

CHECKED = 2**20
"""Numbers that are looked at together."""
MOST_OPEN = 64
"""Folders that stay open."""
_open: dict[Path, Columns] = {}
_lock = RLock()


class Columns:
    """An opened folder of columns."""

    def __init__(self, folder: Path, manifest: Manifest, stamp: tuple[int, ...]) -> None:
        self.folder = folder
        self.file = folder / MANIFEST
        self.manifest = manifest
        self.stamp = stamp
        self.kept: dict[str, Any] = {}
        """What others work out of these columns once, by who they are."""
        self._maps: dict[str, Any] = {}
        self._lock = RLock()

    def __len__(self) -> int:
        return self.manifest.records

    # ---- columns ------------------------------------------------------------------------------------------

    def codes(self, name: str) -> Any:
        """Numbers of the base codes of a variable."""
        part = self.codes_part(name)
        return self._mapped(part.column, len(self.base_codes(name)))

    def codes_part(self, name: str) -> CodesPart:
        """What is known of a variable."""
        found = self.manifest.codes.get(name)
        if found is None:
            raise self.unknown(name, self.manifest.codes)
        return found

    def base_codes(self, name: str) -> tuple[str, ...]:
        """Base codes of a variable, in the order of their numbers."""
        return self._base[name] if name in self._base else self._base.setdefault(name, self.hierarchy(name).base_codes)

    @cached_property
    def _base(self) -> dict[str, tuple[str, ...]]:
        return {}

    def hierarchy(self, name: str) -> Hierarchy:
        """The hierarchy that a variable was written with; one with many codes takes its time, and is made once."""
        if name not in self._hierarchies:
            self._hierarchies[name] = hierarchy_of(self.codes_part(name).hierarchy)
        return self._hierarchies[name]

    @cached_property
    def _hierarchies(self) -> dict[str, Hierarchy]:
        return {}

    def numbers(self, name: str) -> Any:
        """A column of numbers, in units where it has some."""
        return self._mapped(self.numbers_part(name).column, None)

    def numbers_part(self, name: str) -> NumbersPart:
        """What is known of a column of numbers."""
        found = self.manifest.numbers.get(name)
        if found is None:
            raise self.unknown(name, self.manifest.numbers)
        return found

    @property
    def keys(self) -> Any:
        """Record keys."""
        assert self.manifest.keys is not None
        return self._mapped(self.manifest.keys.column, self.manifest.keys.reach)

    @property
    def contributor(self) -> Any:
        """Number of each record's contributor."""
        assert self.manifest.contributor is not None
        return self._mapped(self.manifest.contributor.column, self.manifest.contributor.number)

    @property
    def identities(self) -> Any:
        """Identity of each contributor."""
        assert self.manifest.contributor is not None
        return self._mapped(self.manifest.contributor.identities, None, self.manifest.contributor.number)

    @cached_property
    def places(self) -> Any:
        """Where each record stood in the source; ``None`` where they stand as they did."""
        part = self.manifest.places
        if part is None:
            return None
        found = self._mapped(part, len(self))
        seen = np.zeros(len(self), np.bool_)
        seen[found] = True
        if not seen.all():
            raise self._changed(part.file)
        return found

    @cached_property
    def starts(self) -> Ints:
        """Where the records of each area begin, and the end of all."""
        part = self.manifest.geography
        assert part is not None
        areas = self.codes(part.variable)
        found: Ints = np.array(self._mapped(part.starts, None, len(self.base_codes(part.variable)) + 1), np.int64)
        count = np.zeros(len(found) - 1, np.int64)
        for at in range(0, len(areas), CHECKED):
            block = areas[max(at - 1, 0) : at + CHECKED]
            if np.any(block[1:] < block[:-1]):
                raise self._changed(part.starts.file)
            count += np.bincount(areas[at : at + CHECKED], minlength=len(count))
        if found[0] != 0 or not np.array_equal(np.diff(found), count):
            raise self._changed(part.starts.file)
        return found

    @cached_property
    def masks(self) -> dict[str, str]:
        """Files of the conditions whose records are known."""
        return {part.condition.canonical(): part.file for part in self.manifest.masks}

    def mask(self, condition: Condition) -> Any:
        """Bits of the records that meet a condition; ``None`` where that is not known beforehand."""
        file = self.masks.get(condition.canonical())
        return None if file is None else self._mapped(ArrayPart(file=file, kind="u1"), None, -(-len(self) // 8))

    def _mapped(self, part: ArrayPart, below: int | None, size: int | None = None) -> Any:
        """A file as an array; its numbers are looked at once: a wrong one would be counted outside of all cells."""
        with self._lock:
            if part.file not in self._maps:
                path = self.folder / part.file
                try:
                    found = np.memmap(path, f"<{part.kind}", "r", shape=(len(self) if size is None else size,))
                except (OSError, ValueError):
                    raise InputError(
                        f"The file {part.file!r} of the columns {self.folder.name!r} cannot be read.",
                        hint="Make them again.",
                    ) from None
                plain = np.asarray(found)
                if below is not None and part.kind.startswith("u"):
                    for at in range(0, len(plain), CHECKED):
                        if int(plain[at : at + CHECKED].max()) >= below:
                            raise self._changed(part.file)
                self._maps[part.file] = plain
            return self._maps[part.file]

    def unknown(self, name: str, known: Any) -> InputError:
        """Error for a column that is not there."""
        return unknown_column(name, known, f"the columns {self.folder.name!r}")

    def _changed(self, file: str) -> InputError:
        return InputError(
            f"The file {file!r} of the columns {self.folder.name!r} does not fit its manifest.", hint="Make them again."
        )


def open_columns(folder: str | Path, check: Literal["sizes", "hashes"] = "sizes") -> Columns:
    """Open a folder of columns.

    Parameters
    ----------
    folder
        What :func:`write_columns` made.
    check
        ``"sizes"`` of all files, or ``"hashes"``: all of them are read and compared with the manifest.

    Raises
    ------
    InputError
        When the folder is not one of columns, or a file is missing, incomplete or, where hashes are checked, changed.
    """
    if check not in ("sizes", "hashes"):
        raise ParameterError(f"check={check!r} is not known.", hint="Use 'sizes' or 'hashes'.")
    path = folder if isinstance(folder, Path) else Path(folder)
    with _lock:
        found = _open.get(path)
    stamp = _stamp(path / MANIFEST if found is None else found.file)
    if found is None or stamp is None or found.stamp != stamp:
        found = Columns(path, read_manifest(path), stamp or ())
        with _lock:
            _open[path] = found
            while len(_open) > MOST_OPEN:
                del _open[next(iter(_open))]
    if check == "hashes":
        check_hashes(path, found.manifest)
    return found


def _stamp(manifest: Path) -> tuple[int, ...] | None:
    """Which file the manifest is; another folder may have been put in its place."""
    try:
        about = manifest.stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino, about.st_mtime_ns, about.st_size


__all__ = ["Columns", "open_columns", "write_columns"]
