"""Numbers, record keys and contributors of records as narrow columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engine.checks import bad_record_keys, empty_contributors
from discreet.engine.column_folder import ContributorPart, KeysPart, Number, NumbersPart
from discreet.engine.column_staging import PIECE, Staging
from discreet.engine.encode import KEY_MODULUS, refuse_alike
from discreet.engine.identities import doubles, identities_of
from discreet.engine.protocol import engine_of
from discreet.engine.record_keys import MadeKeys, no_identifier, same_identifier
from discreet.errors import InputError
from discreet.files.frames import numbers
from discreet.keys import Key
from discreet.model.arrays import LARGEST, Ints
from discreet.model.microdata import Microdata
from discreet.model.units import MOST_DECIMALS, SURE_DIGITS, choose_decimals_of, to_units, written_exactly

if TYPE_CHECKING:
    import pyarrow as pa

IDENTITIES, CONTRIBUTORS, KEYS = "identifiers.bin", "contributors.bin", "keys.bin"
TOGETHER = 2**23
"""Identifiers that are compared with each other at a time."""


@dataclass
class Staged:
    """What was found out while numbers were staged."""

    kinds: dict[str, tuple[Number, int]] = field(default_factory=dict)
    """What each column of numbers is in the records, and the decimals of its type."""
    contributors: Any = None
    """Distinct contributors, an Arrow array."""
    key_modulus: int = 0


def _file(number: int) -> str:
    return f"number-{number}.bin"


def staged_numbers(data: Microdata, staging: Staging, wanted: Sequence[str], keys: MadeKeys | None) -> Staged:
    """Write numbers as the records have them, identities of contributors, and record keys."""
    found = Staged()
    identifier = [] if keys is None else [keys.identifier]
    roles = [name for name in (data.contributor, data.record_key) if name]
    names = list(dict.fromkeys([*wanted, *roles, *identifier]))
    for whole in engine_of(data).pieces(data, names) if names else ():
        for at in range(0, whole.num_rows, PIECE):
            piece = whole.slice(at, PIECE)
            for number, name in enumerate(wanted):
                column, kind = _as_numbers(piece, name)
                found.kinds.setdefault(name, kind)
                staging.append(_file(number), column)
            if data.contributor is not None:
                _stage_contributors(staging, piece[data.contributor], data.contributor, found)
            if data.record_key is not None:
                _stage_keys(staging, piece, data.record_key, found)
            if keys is not None:
                _stage_made(staging, piece[keys.identifier], keys, found)
    if keys is not None:
        _refuse_doubles(staging)
        staging.drop(IDENTITIES)
    return found


def _as_numbers(piece: pa.Table, name: str) -> tuple[Any, tuple[Number, int]]:
    """A column as 64-bit numbers: whole ones, floating-point ones, or whole units of a decimal type."""
    import pyarrow as pa

    kind = piece[name].type
    if pa.types.is_decimal(kind) and not piece[name].null_count:
        return _decimal_units(piece[name], kind.scale, name), ("number", kind.scale)
    raw = numbers(piece, name)
    if raw.dtype.kind == "f":
        return raw.astype(np.float64), ("number", -1)
    return to_units(raw, 0, name), ("flag" if raw.dtype.kind == "b" else "whole", 0)


def _decimal_units(column: Any, scale: int, name: str) -> Ints:
    """Unscaled numbers of a decimal column: the lower half of the 128 bits that each has."""
    import pyarrow as pa

    parts = []
    for chunk in column.cast(pa.decimal128(38, scale)).chunks:
        halves = np.frombuffer(chunk.buffers()[1], "<i8").reshape(-1, 2)[chunk.offset : chunk.offset + len(chunk)]
        if np.any(halves[:, 1] != halves[:, 0] >> 63) or np.any(np.abs(halves[:, 0]) > LARGEST):
            raise InputError(
                f"Column {name!r} is too large for exact 64-bit sums.",
                hint="Express the column in a larger unit (thousands), or round it.",
            )
        parts.append(halves[:, 0].copy())
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def numbers_part(staging: Staging, number: int, name: str, kind: tuple[Number, int]) -> NumbersPart:
    """A column of numbers in its final form: whole numbers of units, wherever decimals write all of it."""
    file, (source, scale) = _file(number), kind
    blocks = partial(staging.blocks, file)
    if scale == 0:
        return NumbersPart(column=staging.part(file), decimals=0, source=source)
    if scale > 0:
        needed = fewest_decimals(blocks(), scale)
        step = 10 ** (scale - needed)
        if needed > MOST_DECIMALS or max(int(np.abs(b).max(initial=0)) for b in blocks()) // step >= 10**SURE_DIGITS:
            return NumbersPart(column=staging.part(file), decimals=scale, source="decimal")
        part = staging.part(file) if step == 1 else staging.replace(file, (b // step for b in blocks()))
        return NumbersPart(column=part, decimals=needed, source="number")
    decimals = choose_decimals_of(blocks, name)
    largest = max(float(np.abs(block).max(initial=0.0)) for block in blocks())
    exact = all(_written(block, decimals) for block in blocks())
    if decimals > MOST_DECIMALS or largest * 10.0**decimals >= 10.0**SURE_DIGITS or not exact:
        return NumbersPart(column=staging.part(file), decimals=0, source="number")
    part = staging.replace(file, (to_units(block, decimals, name) for block in blocks()))
    return NumbersPart(column=part, decimals=decimals, source="number")


def _written(block: Any, decimals: int) -> bool:
    """Whether units give back every number to the last bit."""
    scale = 10.0**decimals
    return written_exactly([block], decimals) and bool(np.array_equal(np.rint(block * scale) / scale, block))


def fewest_decimals(blocks: Iterator[Ints], decimals: int) -> int:
    """How many decimals whole numbers of units need, that have some: zeros at the end need none."""
    needed = 0
    for block in blocks:
        while needed < decimals and np.any(block % 10 ** (decimals - needed)):
            needed += 1
    return needed


# ---- contributors -----------------------------------------------------------------------------------------


def _stage_contributors(staging: Staging, column: Any, name: str, found: Staged) -> None:
    import pyarrow as pa

    if column.null_count:
        raise empty_contributors(name, column.null_count)
    whole = _in_one(column)
    staging.append(CONTRIBUTORS, identities_of(whole))
    distinct = whole.unique()
    distinct = distinct.dictionary_decode() if pa.types.is_dictionary(distinct.type) else distinct
    found.contributors = (
        distinct if found.contributors is None else pa.concat_arrays([found.contributors, distinct]).unique()
    )


def _in_one(column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    whole = column.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole


def contributor_part(staging: Staging, name: str, values: Any) -> ContributorPart:
    """Numbers of contributors in place of their identities."""
    refuse_alike(name, values)
    distinct = np.unique(np.concatenate([np.unique(block) for block in staging.blocks(CONTRIBUTORS)]))
    if len(distinct) != len(values):
        raise InputError(
            f"Two contributors of column {name!r} cannot be told apart by 62-bit numbers.",
            hint="Use shorter identifiers: whole numbers of at most 18 digits are never mixed up.",
        )
    width = "<u2" if len(distinct) <= 2**16 else "<u4"
    part = staging.replace(
        CONTRIBUTORS, (np.searchsorted(distinct, block).astype(width) for block in staging.blocks(CONTRIBUTORS))
    )
    identities = staging.add("identities.bin", distinct)
    return ContributorPart(name=name, column=part, identities=identities, number=len(distinct))


# ---- record keys ------------------------------------------------------------------------------------------


def _stage_keys(staging: Staging, piece: pa.Table, name: str, found: Staged) -> None:
    import pyarrow as pa

    from discreet.engine.kernels import fractions_to_units

    raw = numbers(piece, name)
    if pa.types.is_integer(piece[name].type):
        if len(raw) and (raw.min() < 0 or raw.max() >= 2**31):
            raise bad_record_keys(name, whole=True)
        staging.append(KEYS, raw.astype(np.int64))
        return
    found.key_modulus = KEY_MODULUS
    units = np.empty(len(raw), np.int64)
    if raw.dtype.kind != "f" or not fractions_to_units(raw.astype(np.float64), KEY_MODULUS, units):
        raise bad_record_keys(name, whole=False)
    staging.append(KEYS, units)


def _stage_made(staging: Staging, column: Any, keys: MadeKeys, found: Staged) -> None:
    from discreet.engine.kernels import fractions_to_units

    if column.null_count:
        raise no_identifier(column.null_count)
    identity = identities_of(_in_one(column))
    staging.append(IDENTITIES, identity)
    made = keys.of_identities(identity)
    if keys.modulus is None:
        found.key_modulus = KEY_MODULUS
        units = np.empty(len(made), np.int64)
        fractions_to_units(np.asarray(made, np.float64), KEY_MODULUS, units)
        made = units
    staging.append(KEYS, np.asarray(made, np.int64))


def _refuse_doubles(staging: Staging) -> None:
    """Refuse records with the identifier of another one; a part of the identifiers is in memory at a time."""
    whole = staging.read(IDENTITIES)
    parts = -(-len(whole) // TOGETHER)
    again = 0
    for part in range(parts):
        mine = [block[_spread(block) % np.uint64(parts) == part] for block in staging.blocks(IDENTITIES)]
        again += doubles(np.concatenate(mine))
    if again:
        raise same_identifier(again, again)


def _spread(block: Ints) -> Any:
    """Numbers by which equal identifiers come together, and others are spread."""
    return (block.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)


def keys_part(staging: Staging, name: str, modulus: int, keys: MadeKeys | None) -> KeysPart:
    """Record keys in their final form: whole ones as narrow as they are."""
    reach = max(int(block.max(initial=0)) for block in staging.blocks(KEYS)) + 1
    part = staging.part(KEYS)
    if not modulus:
        width = "<u1" if reach <= 2**8 else "<u2" if reach <= 2**16 else "<u4"
        part = staging.replace(KEYS, (block.astype(width) for block in staging.blocks(KEYS)))
    return KeysPart(
        name=name,
        column=part,
        modulus=modulus,
        reach=reach,
        identifier=None if keys is None else keys.identifier,
        version=1 if keys is None else keys.version,
        made_modulus=None if keys is None else keys.modulus,
        fingerprint="" if keys is None else Key(keys.secret).fingerprint,
    )
