"""Columns on their way to a folder: appended in pieces, then put in the order of areas."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from discreet.engine.column_folder import WIDTHS, ArrayPart, Kind
from discreet.progress import checkpoint

PIECE = 2**20
"""So many records are worked on together."""


class Staging:
    """Columns that are being written in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records = 0
        self._streams: dict[str, BinaryIO] = {}
        self._kinds: dict[str, Kind] = {}
        self._single: set[str] = set()

    @property
    def names(self) -> list[str]:
        """Files of the folder."""
        return list(self._kinds)

    def append(self, file: str, numbers: Any) -> None:
        """Add numbers of further records to a column."""
        if file not in self._streams:
            self._kinds[file] = _kind_of(numbers.dtype)
            handle = os.open(self.folder / file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640)
            self._streams[file] = os.fdopen(handle, "wb")
        np.ascontiguousarray(numbers, f"<{self._kinds[file]}").tofile(self._streams[file])

    def add(self, file: str, numbers: Any) -> ArrayPart:
        """Write a column that is not one of records."""
        self.append(file, numbers)
        self._single.add(file)
        return self.part(file)

    def part(self, file: str) -> ArrayPart:
        """What the manifest says of a column."""
        return ArrayPart(file=file, kind=self._kinds[file])

    def drop(self, file: str) -> None:
        """Forget a column that was needed on the way."""
        self._close(file)
        del self._kinds[file]
        (self.folder / file).unlink()

    def lengths(self) -> set[int]:
        """How many records the columns have: one number, where all is well."""
        self._flush()
        found = {f: (self.folder / f).stat().st_size // WIDTHS[kind] for f, kind in self._kinds.items()}
        return {length for file, length in found.items() if file not in self._single}

    def read(self, file: str) -> Any:
        """A column as it is so far."""
        self._flush()
        return np.memmap(self.folder / file, f"<{self._kinds[file]}", "r")

    def blocks(self, file: str) -> Iterator[Any]:
        """A column in pieces."""
        whole = self.read(file)
        for at in range(0, len(whole), PIECE):
            yield np.asarray(whole[at : at + PIECE])

    def replace(self, file: str, blocks: Iterator[Any]) -> ArrayPart:
        """Write a column anew, from pieces that may be made of the old one."""
        self._close(file)
        old = self.folder / f"{file}.old"
        changed = f"new{file}"
        for block in blocks:
            self.append(changed, block)
        self._close(changed)
        (self.folder / file).rename(old)
        (self.folder / changed).rename(self.folder / file)
        old.unlink()
        self._kinds[file] = self._kinds.pop(changed)
        return self.part(file)

    def sort_by(self, file: str, areas: int) -> tuple[ArrayPart, ArrayPart | None]:
        """Put all records in the order of one column, equal ones in the order that they have.

        Gives where each area begins, and where each record stood before, if any has moved.
        """
        from discreet.engine.column_kernels import places_by_area

        count, sorted_already, last = np.zeros(areas, np.int64), True, 0
        for block in self.blocks(file):
            count += np.bincount(block, minlength=areas)
            sorted_already &= int(block[0]) >= last and not np.any(block[1:] < block[:-1])
            last = int(block[-1])
        starts = np.concatenate(([0], np.cumsum(count)))
        moved = None
        if not sorted_already:
            path = self.folder / "order.tmp"
            order = np.memmap(path, "<u4", "w+", shape=(self.records,))
            following, at = starts[:-1].copy(), 0
            for block in self.blocks(file):
                places = np.empty(len(block), np.uint32)
                places_by_area(block.astype(np.uint32), following, places)
                order[at : at + len(block)] = places
                at += len(block)
            columns = [name for name in self.names if name not in self._single]
            for number, name in enumerate(columns):
                checkpoint("sort", number, len(columns))
                self._scatter(name, order)
            moved = self._inverse(order)
            path.unlink()
        return self.add("areas.bin", starts.astype(np.int64)), moved

    def _scatter(self, file: str, order: Any) -> None:
        old = self.read(file)
        self._close(file)
        changed = self.folder / f"{file}.new"
        new = np.memmap(changed, old.dtype, "w+", shape=old.shape)
        for at in range(0, len(old), PIECE):
            new[order[at : at + PIECE]] = old[at : at + PIECE]
        new.flush()
        changed.rename(self.folder / file)

    def _inverse(self, order: Any) -> ArrayPart:
        self._kinds["places.bin"] = "u4"
        new = np.memmap(self.folder / "places.bin", "<u4", "w+", shape=order.shape)
        for at in range(0, len(order), PIECE):
            part = order[at : at + PIECE]
            new[part] = np.arange(at, at + len(part), dtype=np.uint32)
        new.flush()
        return self.part("places.bin")

    def pack(self, file: str) -> None:
        """Turn a column of 0 and 1 into bits."""
        whole = self.read(file)
        self._single.add(file)
        self.replace(
            file, (np.packbits(whole[at : at + PIECE], bitorder="little") for at in range(0, len(whole), PIECE))
        )

    def finish(self) -> None:
        """Let the disk have everything, closed to writing."""
        for file in self.names:
            self._close(file)
            handle = os.open(self.folder / file, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
            (self.folder / file).chmod(0o440)

    def _flush(self) -> None:
        for stream in self._streams.values():
            if not stream.closed:
                stream.flush()

    def _close(self, file: str) -> None:
        stream = self._streams.pop(file, None)
        if stream is not None:
            stream.close()


def _kind_of(kind: Any) -> Kind:
    found: Kind = np.dtype(kind).str[1:].replace("i1", "u1")
    assert found in WIDTHS
    return found
