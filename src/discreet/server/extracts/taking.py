"""Taking an extract from a file by streaming: choose, stir, number anew, and look at all of it before it leaves.

Memory is bounded by a group of rows and a bucket. Rows go to buckets by a draw for their household and are sorted
there, which puts them in an order by chance that no other extract has: two extracts cannot be laid side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engine.draws import draws, siphash
from discreet.errors import ProtectionError
from discreet.files.frames import condition_mask
from discreet.keys import Key
from discreet.model.arrays import Bools, Ints
from discreet.model.condition import Condition
from discreet.server.denied import Denied
from discreet.server.extracts.codebook import CodebookVariable
from discreet.server.extracts.definition import Definition
from discreet.server.extracts.file import HIDDEN, ExtractFile
from discreet.server.extracts.serials import LARGEST, left_out, serials

if TYPE_CHECKING:
    import pyarrow as pa

BUCKET = 200_000
"""Rows that are sorted at once, about."""
MOST_BUCKETS = 256
Progress = Callable[[float], None]


@dataclass(frozen=True)
class ExtractOrder:
    """Whose extract it is, and under which number."""

    number: int
    principal: int
    definition: Definition


@dataclass
class SizeEstimate:
    """How large an extract would be, and how many records would be alone with their keys."""

    rows: int = 0
    households: int = 0
    looked_at: int = 0
    """Records among which those that are alone were counted: the first ones, which are there by chance."""
    alone: int = 0
    bytes: int = 0
    keys: list[str] = field(default_factory=list)

    @property
    def unique(self) -> float:
        """Share of records that are alone with their keys."""
        return self.alone / self.looked_at if self.looked_at else 0.0

    @property
    def about(self) -> int:
        """Rows as users are told them, to two digits: exact ones would tell whom their extracts lack."""
        return max(100, int(float(f"{self.rows:.1e}")))


def estimate(file: ExtractFile, wanted: Definition, most: int = 1_000_000) -> SizeEstimate:
    """Rows of an extract, exactly, before households are left out as marks; and how many records are alone.

    Parameters
    ----------
    file, wanted
        The file, and a definition that fits it.
    most
        Records that are looked at for their keys.
    """
    found = SizeEstimate(keys=[name for name in wanted.variables if file.variables[name].key])
    names = list(dict.fromkeys([*(one.column for one in wanted.conditions), *found.keys]))
    prints: list[Any] = []
    for group in file.groups(names):
        chosen = chosen_rows(file, wanted, group)
        found.rows += int(chosen.sum())
        found.households += len(np.unique(np.asarray(group["_household"])[chosen]))
        if found.keys and found.looked_at < most:
            prints.append(_fingerprints(group, found.keys)[chosen])
            found.looked_at += len(prints[-1])
    found.alone = alone_in(prints)
    width = sum(_width(file.variables[name]) for name in wanted.variables)
    found.bytes = found.rows * (30 + width)
    return found


def _width(about: CodebookVariable) -> int:
    """Characters of a field, about."""
    texts = [str(value) for value in (about.values or [about.highest])][:1_000]
    return 1 + sum(map(len, texts)) // max(1, len(texts))


def alone_in(prints: list[Any]) -> int:
    """How many rows have a fingerprint that no other has."""
    if not prints:
        return 0
    _, counts = np.unique(np.concatenate(prints), return_counts=True)
    return int((counts == 1).sum())


def _fingerprints(group: pa.Table, keys: list[str]) -> Any:
    """A number for every row that depends on its keys."""
    words = np.stack([_bits(group[name]) for name in keys], axis=1)
    return siphash(np.ascontiguousarray(words), np.uint64(1), np.uint64(2))


def _bits(column: pa.ChunkedArray) -> Any:
    import pyarrow as pa

    values = column.combine_chunks()
    if pa.types.is_floating(values.type):
        return np.nan_to_num(np.asarray(values.fill_null(np.nan)), nan=-1e300).view(np.uint64)
    return np.asarray(values.fill_null(-1), np.int64).view(np.uint64)


def chosen_rows(file: ExtractFile, wanted: Definition, group: pa.Table) -> Bools:
    """Which rows of a group belong to an extract; a part of the households are the first ones, which are any."""
    household = np.asarray(group["_household"])
    chosen = household <= int(np.floor(wanted.share * file.codebook.households))
    meets = np.ones(len(household), np.bool_)
    for condition in wanted.conditions:
        meets &= _meets(file.variables[condition.column], group[condition.column], condition)
    if wanted.households and wanted.conditions:
        _, number = np.unique(household, return_inverse=True)
        meets = (np.bincount(number, meets) > 0)[number]
    return chosen & meets


def _meets(about: CodebookVariable, column: pa.ChunkedArray, condition: Condition) -> Bools:
    import pyarrow as pa

    if about.values is None:
        mask = condition_mask(pa.table({about.name: column}), condition)
        return np.asarray(mask.fill_null(False), np.bool_)
    kind = {"text": pa.string(), "whole": pa.int64(), "number": pa.float64()}[about.kind]
    table = pa.table({about.name: pa.array([*about.values, None], kind)})
    listing = np.asarray(condition_mask(table, condition).fill_null(False), np.bool_)
    found: Bools = listing[np.asarray(column)]  # -1, a gap, is the last of the list
    return found


# ---- taking ------------------------------------------------------------------------------------------------


def taken(file: ExtractFile, order: ExtractOrder, key: Key, work: Path, progress: Progress) -> Iterator[pa.Table]:
    """The rows of an extract in their new order, group by group, as they may leave.

    Parameters
    ----------
    file
        The file.
    order
        What is taken, for whom.
    key
        The secret of the edition.
    work
        A folder of mode 0700 for buckets; whoever calls removes it.
    progress
        Told the share that is done; it may raise to stop.

    Raises
    ------
    Denied
        When there are more rows than the licence allows, too many are alone with their keys, or there are none.
    ProtectionError
        When something would leave that the codebook does not know; nothing of the group leaves then.
    """
    if key.fingerprint != file.manifest.key:
        raise ProtectionError("This is not the key of the edition.", hint="Give the key that it was built with.")
    file.require_unchanged()
    buckets, rows = _into_buckets(file, order, key, work, progress)
    done = 0
    for path in buckets:
        for table in _sorted(file, order, key, path):
            require_leaving(file, order.definition, table)
            done += len(table)
            yield table
        path.unlink()
        progress(0.5 + 0.5 * done / rows)
    if done != rows:
        raise ProtectionError("Rows were lost on the way.", hint="Let the job run again.")


def _into_buckets(
    file: ExtractFile, order: ExtractOrder, key: Key, work: Path, progress: Progress
) -> tuple[list[Path], int]:
    """Rows of an extract in files by chance; how many there are."""
    import pyarrow as pa

    wanted = order.definition
    names = list(dict.fromkeys([*wanted.variables, *(one.column for one in wanted.conditions)]))
    keys = [name for name in wanted.variables if file.variables[name].key]
    count = min(MOST_BUCKETS, -(-file.codebook.rows // BUCKET))
    paths = [work / f"bucket-{number}" for number in range(count)]
    writers: dict[int, Any] = {}
    prints: list[Any] = []
    rows = seen = 0
    try:
        for group in file.groups(names):
            household = np.asarray(group["_household"])
            chosen = chosen_rows(file, wanted, group)
            chosen &= ~left_out(key, file.name, order.principal, household, file.limits.mark)
            rows, seen = rows + int(chosen.sum()), seen + len(household)
            if rows > file.limits.most_rows:
                raise too_many(file)
            if file.limits.most_unique is not None and keys:
                prints.append(_fingerprints(group, keys)[chosen])
            chance = draws(key.secret, f"order/{file.name}/{file.edition}/{order.number}", 1, household)
            kept = group.select([*HIDDEN, *wanted.variables]).append_column("_chance", pa.array(chance))
            bucket = (chance >> np.uint64(32)) * np.uint64(count) >> np.uint64(32)
            for number in np.unique(bucket[chosen]).tolist():
                part = kept.filter(pa.array(chosen & (bucket == number)))
                if number not in writers:
                    writers[number] = pa.ipc.new_file(str(paths[number]), part.schema)
                writers[number].write_table(part)
            progress(0.5 * seen / file.codebook.rows)
    finally:
        for writer in writers.values():
            writer.close()
    require_few_alone(file, alone_in(prints), rows)
    return [paths[number] for number in sorted(writers)], rows


def too_many(file: ExtractFile) -> Denied:
    """The refusal of an extract that is larger than the licence."""
    return Denied(
        "too-many-rows",
        f"The extract is larger than the licence: more than {file.limits.most_rows:,} rows.",
        hint="Ask for a smaller share of the households, or for fewer cases.",
        status=413,
    )


def require_few_alone(file: ExtractFile, alone: int, rows: int) -> None:
    """Refuse an extract of which too many records are alone with their keys, or that has none.

    Raises
    ------
    Denied
        When it is so.
    """
    if not rows:
        raise Denied("empty", "No record meets the conditions.", hint="Look at them again.", status=400)
    most = file.limits.most_unique
    if most is not None and alone > most * rows:
        raise Denied(
            "too-unique",
            f"More than {most:.1%} of the records would be alone with their keys.",
            hint="Take identifying variables out of the cart.",
        )


def _sorted(file: ExtractFile, order: ExtractOrder, key: Key, path: Path) -> Iterator[pa.Table]:
    """The rows of a bucket in their order, with serial number and weight instead of what they had."""
    import pyarrow as pa

    with pa.memory_map(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
        table = table.take(pa.array(np.lexsort((np.asarray(table["_person"]), np.asarray(table["_chance"])))))
        place = f"{file.name}/{file.edition}/{order.number}"
        numbers = serials(key, place, np.asarray(table["_household"], np.int64))
        own = [pa.array(numbers), table["_person"], pa.array(np.full(len(table), weight_of(file, order)))]
        if order.definition.strata:
            own.append(pa.array(_new_strata(file, place, key, np.asarray(table["_stratum"]))))
        variables = order.definition.variables
        yield pa.table([*own, *(table[name] for name in variables)], names=order.definition.columns)


def _new_strata(file: ExtractFile, place: str, key: Key, strata: Ints) -> Ints:
    """Other numbers for strata in every extract, so that they join nothing."""
    chance = draws(key.secret, f"strata/{place}", 1, np.arange(file.codebook.strata))
    found: Ints = np.argsort(np.argsort(chance, kind="stable"), kind="stable")[strata - 1] + 1
    return found


def weight_of(file: ExtractFile, order: ExtractOrder) -> float:
    """How many persons a record stands for."""
    households = file.codebook.households
    share = np.floor(order.definition.share * households) / households
    return float(1 / (file.codebook.density * share * (1 - file.limits.mark)))


def require_leaving(file: ExtractFile, wanted: Definition, table: pa.Table) -> None:
    """Look at rows once more before they leave: the columns that were asked for, and values that the codebook knows.

    Raises
    ------
    ProtectionError
        When something else is in them.
    """
    wrong = ProtectionError("Something would leave that the codebook does not know.", hint="Build the edition again.")
    if table.column_names != wanted.columns:
        raise wrong
    serial = np.asarray(table["serial"])
    if len(serial) and not 0 <= serial.min() <= serial.max() < LARGEST:
        raise wrong
    for name in wanted.variables:
        about = file.variables.get(name)
        if about is None:
            raise wrong
        values = _numbers(table[name])
        if about.values is not None:
            inside = len(values) == 0 or (values.min() >= -1 and values.max() < len(about.values))
        else:
            known = values[~np.isnan(values)]
            inside = len(known) == 0 or (known.min() >= (about.lowest or 0) and known.max() <= (about.highest or 0))
        if not inside:
            raise wrong


def _numbers(column: pa.ChunkedArray) -> Any:
    import pyarrow as pa

    values = column.combine_chunks()
    return np.asarray(values.cast(pa.float64()).fill_null(np.nan) if values.null_count else values)
