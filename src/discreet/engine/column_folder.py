"""What a folder of columns says of itself: its manifest, which is plain data and is believed in nothing.

Columns are little-endian arrays, one file each. Codes are numbers into the base codes of their hierarchy; amounts are
whole numbers of their smallest unit, or floating-point numbers where no decimals write them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from discreet.errors import InputError
from discreet.model.condition import Condition, Operator
from discreet.model.hierarchy import Grouping, Hierarchy

FORMAT = "discreet columns 1"
MANIFEST = "manifest.json"
LARGEST = 2**30
"""Bytes of a manifest."""
FILE = re.compile(r"[a-z]{1,16}(-[0-9]{1,6})?\.bin")
WIDTHS = {"u1": 1, "u2": 2, "u4": 4, "i8": 8, "f8": 8}
"""Types of columns, and the bytes that a record has of each."""
Kind = Literal["u1", "u2", "u4", "i8", "f8"]


class FilePart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A file of the folder."""

    bytes: int
    sha256: str


class ArrayPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A column: its file, and the type of its numbers."""

    file: str
    kind: Kind


class StoredHierarchy(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A hierarchy as data."""

    codes: list[str]
    groupings: list[tuple[str, list[tuple[str, int]]]]
    total: str | None
    labels: dict[str, str]
    missing: list[str]


class CodesPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A variable: numbers of base codes, in the order of its hierarchy."""

    column: ArrayPart
    hierarchy: StoredHierarchy
    source: Literal["text", "whole", "number", "flag", "other"]
    """What the codes were in the records."""
    changed: bool
    """Whether codes were changed or gaps filled on the way: filters then compare with what is not there any more."""


Number = Literal["whole", "number", "flag", "decimal"]
"""What a column of numbers is in the records; ``"decimal"`` where floating-point numbers cannot hold it."""


class NumbersPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A column of numbers: whole numbers of units, or floating-point numbers."""

    column: ArrayPart
    decimals: int
    source: Number


class KeysPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Record keys; where they were made of identifiers, what says which keys they are."""

    name: str
    column: ArrayPart
    modulus: int
    """What sums of them are taken to: 0 for whole numbers."""
    reach: int
    """Whole keys lie below it."""
    identifier: str | None
    version: int
    made_modulus: int | None
    fingerprint: str


class ContributorPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Numbers of contributors, and the identity of each."""

    name: str
    column: ArrayPart
    identities: ArrayPart
    number: int


class AreasPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The variable that records are sorted by, and where each of its base codes begins."""

    variable: str
    starts: ArrayPart


class MaskPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which records meet a condition: one bit for each, the lowest first."""

    column: str
    operator: str
    values: list[str | int | float]
    file: str

    @property
    def condition(self) -> Condition:
        """The condition."""
        operator: Operator = self.operator  # type: ignore[assignment]
        return Condition(self.column, operator, tuple(self.values))


class Manifest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """All that is known of a folder of columns besides the columns."""

    format: str
    records: int
    codes: dict[str, CodesPart]
    numbers: dict[str, NumbersPart]
    weight: str | None
    contributor: ContributorPart | None
    keys: KeysPart | None
    geography: AreasPart | None
    places: ArrayPart | None
    """Where each record stood in the source, where their order has changed."""
    masks: list[MaskPart]
    files: dict[str, FilePart]

    @property
    def names(self) -> list[str]:
        """Names of all columns."""
        roles = [part.name for part in (self.contributor, self.keys) if part is not None]
        return list(dict.fromkeys([*self.codes, *self.numbers, *roles]))


def hierarchy_part(hierarchy: Hierarchy) -> StoredHierarchy:
    """A hierarchy as data."""
    return StoredHierarchy(
        codes=list(hierarchy.codes),
        groupings=[(g.parent, [(code, int(sign)) for code, sign in g.parts]) for g in hierarchy.groupings],
        total=hierarchy.total,
        labels=dict(hierarchy.labels),
        missing=sorted(hierarchy.missing),
    )


def hierarchy_of(part: StoredHierarchy) -> Hierarchy:
    """A hierarchy from data.

    Examples
    --------
    >>> flat = Hierarchy.flat(["N", "S"])
    >>> hierarchy_of(hierarchy_part(flat)).codes == flat.codes
    True
    """
    groupings = tuple(Grouping(parent, tuple((code, sign) for code, sign in parts)) for parent, parts in part.groupings)
    return Hierarchy(groupings, part.total, tuple(part.codes), dict(part.labels), frozenset(part.missing))


def arrays_of(manifest: Manifest) -> Iterator[tuple[ArrayPart, int]]:
    """All arrays that a manifest names, and how many numbers each has."""
    records = manifest.records
    for codes in manifest.codes.values():
        yield codes.column, records
    for numbers in manifest.numbers.values():
        yield numbers.column, records
    if manifest.keys is not None:
        yield manifest.keys.column, records
    if manifest.places is not None:
        yield manifest.places, records
    if manifest.contributor is not None:
        yield manifest.contributor.column, records
        yield manifest.contributor.identities, manifest.contributor.number
    if manifest.geography is not None:
        areas = manifest.codes[manifest.geography.variable].hierarchy
        yield manifest.geography.starts, _base_codes(areas) + 1


def _base_codes(part: StoredHierarchy) -> int:
    return len(set(part.codes) - {parent for parent, _ in part.groupings})


def read_manifest(folder: Path) -> Manifest:
    """Read and check a manifest, and the sizes of all files that it names.

    Raises
    ------
    InputError
        When there is none, it is not one of ours, or a file is missing or has another size.
    """
    path = folder / MANIFEST
    try:
        if path.stat().st_size > LARGEST:
            raise _damaged(folder)
        found = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        raise InputError(
            f"{folder.name!r} is not a folder of columns.", hint="Make one of records: discreet dataset build."
        ) from None
    if found.format != FORMAT:
        raise InputError(f"{folder.name!r} was made by another version of discreet.", hint="Make it again.")
    _check(folder, found)
    return found


def _check(folder: Path, manifest: Manifest) -> None:
    geography = manifest.geography
    if manifest.records < 1 or (geography is not None and geography.variable not in manifest.codes):
        raise _damaged(folder)
    if manifest.weight is not None and manifest.weight not in manifest.numbers:
        raise _damaged(folder)
    wanted: dict[str, int] = {}
    for part, count in arrays_of(manifest):
        wanted[part.file] = WIDTHS[part.kind] * count
    for mask in manifest.masks:
        wanted[mask.file] = -(-manifest.records // 8)
    if set(wanted) != set(manifest.files):
        raise _damaged(folder)
    for name, size in wanted.items():
        if not FILE.fullmatch(name) or manifest.files[name].bytes != size:
            raise _damaged(folder)
        try:
            there = (folder / name).lstat().st_size
        except OSError:
            there = -1
        if there != size:
            raise InputError(
                f"The file {name!r} of the columns {folder.name!r} is missing or incomplete.", hint="Make them again."
            )


def check_hashes(folder: Path, manifest: Manifest) -> None:
    """Refuse a folder in which a file is not the one that the manifest was written for."""
    for name, part in manifest.files.items():
        if digest(folder / name) != part.sha256:
            raise InputError(
                f"The file {name!r} of the columns {folder.name!r} has been changed.", hint="Make them again."
            )


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _damaged(folder: Path) -> InputError:
    return InputError(f"The manifest of the columns {folder.name!r} is damaged.", hint="Make them again.")
