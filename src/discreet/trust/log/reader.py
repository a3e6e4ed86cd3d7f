"""Proofs about a log, made from its files: that an entry is in it, and that one head continues another.

What is read grows with the log and is read once: 64 bytes of memory an entry. Reading trusts the files;
``discreet.trust.log_verify`` is what judges them, and every proof is judged by whoever gets it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from pathlib import Path

import msgspec
from msgspec import Struct

from discreet.errors import ParameterError, counted
from discreet.trust.log.entries import Count, Digest
from discreet.trust.log.lines import EntryLine, SignedHead, canonical, segment_path
from discreet.trust.log.recovery import ENTRY_START, HEAD_START, damaged, read_identity
from discreet.trust.log.tree import Tree, leaf_hash

_entry = msgspec.json.Decoder(EntryLine)
_head = msgspec.json.Decoder(SignedHead)


class LogInclusion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The proof that an entry is in the log that a head signs."""

    seq: Count
    leaf: Digest
    path: list[Digest]
    head: SignedHead

    def to_json(self) -> bytes:
        """The proof as ``discreet log verify`` reads it."""
        return canonical({"inclusion": self}) + b"\n"


class LogConsistency(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The proof that what one head signs begins with all that an earlier one signs."""

    first: SignedHead
    second: SignedHead
    path: list[Digest]

    def to_json(self) -> bytes:
        """The proof as ``discreet log verify`` reads it."""
        return canonical({"consistency": self}) + b"\n"


class LogReader:
    """Reads a log while it is written, and goes on where it stopped.

    Parameters
    ----------
    folder
        The folder of the log.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.identity = read_identity(self.folder)
        self._tree = Tree()
        self._sizes, self._places = array("Q"), array("Q")
        self._number, self._at = 1, 0

    def head(self, size: int | None = None) -> SignedHead:
        """The last signed head, or the one of so many entries.

        Raises
        ------
        ParameterError
            When no head of that size was signed.
        """
        self.read_on()
        if not self._sizes:
            raise damaged("the first segment", "has no signed head")
        which = len(self._sizes) - 1 if size is None else bisect_left(self._sizes, size)
        if size is not None and (which == len(self._sizes) or self._sizes[which] != size):
            raise ParameterError(
                f"The log has no signed head of {counted(size, 'entry')}.",
                hint=f"The last one has {self._sizes[-1]:,}; heads end groups of entries.",
            )
        number, at = divmod(self._places[which], 2**40)
        with segment_path(self.folder, number).open("rb") as stream:
            stream.seek(at)
            return _head.decode(stream.readline())

    def root(self, size: int) -> str:
        """The root of the tree when it had so many entries."""
        self._reach(size)
        return self._tree.root(size).hex()

    def leaf(self, seq: int) -> str:
        """The leaf of an entry, counted from 1."""
        self._reach(max(seq, 1))
        return self._tree.leaf(seq - 1).hex()

    def inclusion(self, seq: int, size: int | None = None) -> LogInclusion:
        """The proof that an entry is in the log, against the last head or the one of so many entries."""
        head = self.head(size)
        if not 1 <= seq <= head.head.size:
            raise ParameterError(
                f"The head has no entry {seq:,}.", hint=f"It covers {counted(head.head.size, 'entry')}, from 1 on."
            )
        path = [node.hex() for node in self._tree.inclusion(seq - 1, head.head.size)]
        return LogInclusion(seq=seq, leaf=self._tree.leaf(seq - 1).hex(), path=path, head=head)

    def consistency(self, first: int, second: int | None = None) -> LogConsistency:
        """The proof that a head continues an earlier one; sizes that heads were signed for."""
        later, earlier = self.head(second), self.head(first)
        if first > later.head.size:
            raise ParameterError("The first head is the later one.", hint="Give the smaller size first.")
        return LogConsistency(first=earlier, second=later, path=self.path_between(first, later.head.size))

    def path_between(self, first: int, second: int) -> list[str]:
        """The nodes that show that a tree of one size continues one of another."""
        self._reach(max(first, second))
        return [node.hex() for node in self._tree.consistency(first, second)]

    def read_on(self) -> None:
        """Read the groups that were written since; what no signed head ends is not there yet."""
        while (path := segment_path(self.folder, self._number)).exists():
            more = segment_path(self.folder, self._number + 1).exists()  # then this one has its end
            with path.open("rb") as stream:
                stream.seek(self._at)
                self._take(stream.read())
            if not more:
                return
            self._number, self._at = self._number + 1, 0

    def _take(self, data: bytes) -> None:
        waiting: list[bytes] = []
        place = self._at
        for line in data.split(b"\n")[:-1]:
            if line.startswith(ENTRY_START):
                entry = _entry.decode(line)
                end = b',"seq":%d,"time":"%s"}' % (entry.seq, entry.time.encode())
                waiting.append(leaf_hash(ENTRY_START + bytes(entry.body) + end))
            elif line.startswith(HEAD_START):
                for leaf in waiting:
                    self._tree.append(leaf)
                waiting = []
                self._sizes.append(_head.decode(line).head.size)
                self._places.append(self._number * 2**40 + place)
                self._at = place + len(line) + 1
            place += len(line) + 1

    def _reach(self, size: int) -> None:
        if size > self._tree.size:
            self.read_on()
        if size > self._tree.size or size < 0:
            raise ParameterError(
                f"The log has no {counted(size, 'entry')}.", hint=f"It has {counted(self._tree.size, 'entry')}."
            )
