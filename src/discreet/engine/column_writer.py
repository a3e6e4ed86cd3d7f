"""Records to a folder of narrow columns, piece by piece, in the order of their areas."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from discreet.engine.column_folder import (
    FORMAT,
    MANIFEST,
    AreasPart,
    CodesPart,
    FilePart,
    Kind,
    Manifest,
    MaskPart,
    digest,
    hierarchy_part,
)
from discreet.engine.column_numbers import contributor_part, keys_part, numbers_part, staged_numbers
from discreet.engine.column_staging import PIECE, Staging
from discreet.engine.encode import encode_codes
from discreet.engine.protocol import engine_of, refuse_left_out
from discreet.engine.record_keys import MADE_KEY, MadeKeys
from discreet.errors import InputError, OutputError, ParameterError
from discreet.files.frames import condition_mask
from discreet.model.condition import Condition
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Microdata
from discreet.progress import checkpoint
from discreet.stopping import uninterrupted, written

if TYPE_CHECKING:
    import pyarrow as pa

MOST_RECORDS = 2**32 - 1


def write_columns(
    data: Microdata,
    folder: str | Path,
    *,
    variables: Mapping[str, Hierarchy],
    numbers: Sequence[str] = (),
    weight: str | None = None,
    geography: str | None = None,
    keys: MadeKeys | None = None,
    universes: Mapping[str, Sequence[Condition]] | None = None,
) -> Manifest:
    """Write records as a folder of columns, which never changes afterwards.

    The folder appears as a whole or not at all. Columns with roles in ``data`` (contributor, waiver, request, record
    key) are written too. Records are in the order of their areas, those of one area in the order of the source.

    Parameters
    ----------
    data
        The records.
    folder
        Where to; it must not exist.
    variables
        Hierarchies of the variables that tables may be spanned by.
    numbers
        Columns that tables may sum up.
    weight
        Column of weights.
    geography
        The variable whose areas are asked for alone.
    keys
        How record keys are made of identifiers, where the records bring none.
    universes
        Conditions of the universes that will be asked for: their records are marked.

    Returns
    -------
    Manifest

    Raises
    ------
    InputError
        When records are not as they should be.
    OutputError
        When the folder exists, or cannot be written.
    """
    refuse_left_out(data)
    path = Path(folder)
    if os.path.lexists(path):
        raise OutputError(f"{path.name!r} exists, and columns never change.", hint="Choose another folder.")
    if geography is not None and geography not in variables:
        raise ParameterError(f"geography={geography!r} is not among the variables.", hint="Name one of them.")
    if not variables:
        raise ParameterError("Columns need at least one variable.", hint="Give variables={'age': hierarchy}.")
    if keys is not None and data.record_key is not None:
        raise ParameterError("The records bring record keys, and others are to be made.", hint="Leave one of them out.")
    try:
        with uninterrupted():
            part = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent))
        try:
            manifest = _written(data, part, variables, numbers, weight, geography, keys, universes or {})
            with uninterrupted():
                part.chmod(0o750)
                _put(part, path)
                written(path)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
    except OSError as error:
        raise OutputError(
            f"Cannot write {path.name!r}: {error.strerror or type(error).__name__}.",
            hint="Free space, or choose another folder.",
        ) from None
    return manifest


def _put(part: Path, path: Path) -> None:
    """Give the folder its name; one that somebody made meanwhile stays as it is."""
    if os.path.lexists(path):
        raise OutputError(f"{path.name!r} exists, and columns never change.", hint="Choose another folder.")
    part.rename(path)
    handle = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _written(
    data: Microdata,
    part: Path,
    variables: Mapping[str, Hierarchy],
    numbers: Sequence[str],
    weight: str | None,
    geography: str | None,
    keys: MadeKeys | None,
    universes: Mapping[str, Sequence[Condition]],
) -> Manifest:
    staging = Staging(part)
    sources = _stage_codes(data, staging, variables)
    records = staging.records
    if records > MOST_RECORDS:
        raise InputError(f"Columns hold at most {MOST_RECORDS:,} records.", hint="Divide the records.")
    wanted = list(dict.fromkeys(n for n in [*numbers, weight, data.waiver, data.request] if n))
    found = staged_numbers(data, staging, wanted, keys)
    masks = _stage_masks(data, staging, universes)
    if staging.lengths() != {records}:
        raise InputError("The records changed while they were read.", hint="Write them when nobody changes them.")
    numeric = {name: numbers_part(staging, number, name, found.kinds[name]) for number, name in enumerate(wanted)}
    if weight is not None:
        _refuse_weights(staging, weight, numeric)
    contributor = None if data.contributor is None else contributor_part(staging, data.contributor, found.contributors)
    key_name = MADE_KEY if keys is not None else data.record_key
    record_keys = None if key_name is None else keys_part(staging, key_name, found.key_modulus, keys)
    codes = _codes_parts(data, staging, variables, sources)
    places, areas = None, None
    if geography is not None:
        own = codes[geography].column.file
        starts, moved = staging.sort_by(own, int(variables[geography].base.sum()))
        areas = AreasPart(variable=geography, starts=starts)
        places = moved
    for mask in masks:
        staging.pack(mask.file)
    staging.finish()
    manifest = Manifest(
        format=FORMAT,
        records=records,
        codes=codes,
        numbers=numeric,
        weight=weight,
        contributor=contributor,
        keys=record_keys,
        geography=areas,
        places=places,
        masks=masks,
        files={
            file: FilePart(bytes=(part / file).stat().st_size, sha256=digest(part / file)) for file in staging.names
        },
    )
    _write_manifest(part, manifest)
    return manifest


def _codes_parts(
    data: Microdata, staging: Staging, variables: Mapping[str, Hierarchy], sources: Mapping[str, Any]
) -> dict[str, CodesPart]:
    return {
        name: CodesPart(
            column=staging.part(_code_file(number)),
            hierarchy=hierarchy_part(hierarchy),
            source=sources[name],
            changed=bool(data.recode.get(name)) or data.missing.get(name) is not None,
        )
        for number, (name, hierarchy) in enumerate(variables.items())
    }


def _refuse_weights(staging: Staging, weight: str, numeric: Mapping[str, Any]) -> None:
    from discreet.engine.checks import not_positive
    from discreet.engine.encode import WEIGHT_DECIMALS

    part = numeric[weight]
    least = 0.5 / 10**WEIGHT_DECIMALS if part.column.kind == "f8" else 0
    wrong, first, at = 0, -1, 0
    for block in staging.blocks(part.column.file):
        # Half a unit is rounded to none, the even one.
        bad = np.flatnonzero(block <= least)
        if len(bad) and first < 0:
            first = at + int(bad[0])
        wrong += len(bad)
        at += len(block)
    if wrong:
        raise not_positive(weight, wrong, first, WEIGHT_DECIMALS)


def _code_file(number: int) -> str:
    return f"code-{number}.bin"


def _stage_codes(data: Microdata, staging: Staging, variables: Mapping[str, Hierarchy]) -> dict[str, Any]:
    """Write the numbers of base codes; gives what the codes of each variable are in the records."""
    number_of = {name: _numbers_of_positions(hierarchy) for name, hierarchy in variables.items()}
    sources: dict[str, Any] = {}
    for piece in pieces_of(data, list(variables), list(variables)):
        staging.records += piece.num_rows
        for number, (name, hierarchy) in enumerate(variables.items()):
            chunks = piece[name].chunks
            sources.setdefault(name, _source_kind(piece[name].type))
            encoded = encode_codes(chunks, name, hierarchy, data.missing.get(name), data.recode.get(name, {}))
            for column in encoded:
                # Entries of a dictionary that no record has may not be known: their number is never looked at.
                numbered = number_of[name][column.positions]
                staging.append(_code_file(number), numbered[column.indices])
    return sources


def _numbers_of_positions(hierarchy: Hierarchy) -> Any:
    kind = narrowest(int(hierarchy.base.sum()))
    found = np.zeros(len(hierarchy), f"<{kind}")
    found[hierarchy.base] = np.arange(int(hierarchy.base.sum()))
    return found


def narrowest(count: int) -> Kind:
    """The narrowest type for numbers below some."""
    return "u1" if count <= 2**8 else "u2" if count <= 2**16 else "u4"


def _source_kind(kind: Any) -> str:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    if pa.types.is_integer(kind):
        return "whole"
    if pa.types.is_floating(kind):
        return "number"
    return "flag" if pa.types.is_boolean(kind) else "other"


def pieces_of(data: Microdata, names: list[str], text: list[str]) -> Iterator[pa.Table]:
    """Columns of all records in pieces of a moderate size."""
    done = 0
    for piece in engine_of(data).pieces(data, names, text):
        for at in range(0, piece.num_rows, PIECE):
            checkpoint("columns", done, done + piece.num_rows)
            yield piece.slice(at, PIECE)
        done += piece.num_rows


def _stage_masks(data: Microdata, staging: Staging, universes: Mapping[str, Sequence[Condition]]) -> list[MaskPart]:
    """Write which records meet each condition, a byte for each."""
    known: dict[str, Condition] = {}
    for where in universes.values():
        for condition in where:
            known.setdefault(condition.canonical(), condition)
    if not known:
        return []
    found = {f"mask-{number}.bin": condition for number, condition in enumerate(known.values())}
    for words in (True, False):
        # Text and numbers of one column are two ways to read it.
        mine = {file: c for file, c in found.items() if any(isinstance(v, str) for v in c.values) == words}
        names = list(dict.fromkeys(condition.column for condition in mine.values()))
        for piece in pieces_of(data, names, names if words else []) if mine else ():
            for file, condition in mine.items():
                mask = condition_mask(piece, condition)
                staging.append(file, np.asarray(mask.to_numpy(zero_copy_only=False), np.uint8))
    return [
        MaskPart(column=c.column, operator=c.operator, values=list(c.values), file=file) for file, c in found.items()
    ]


def _write_manifest(part: Path, manifest: Manifest) -> None:
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    with os.fdopen(os.open(part / MANIFEST, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o440), "wb") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
