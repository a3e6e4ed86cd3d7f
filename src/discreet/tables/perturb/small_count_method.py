"""The method ``SmallCount``: no small count is published, and all tables add up and agree."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from discreet.engine.draws import Draws, draws
from discreet.errors import InputError, NeedsError, ParameterError
from discreet.keys import Key
from discreet.methods.base import Keyed, TableMethod
from discreet.methods.outcome import NotAudited, Reading, TableOutcome
from discreet.model.arrays import Codes, Ints
from discreet.model.claims.noise import noise_claim, small_count_statement
from discreet.model.evidence import Evidence, Parts
from discreet.model.inner import inner_codes
from discreet.model.table import Table
from discreet.model.tableset import TableSet
from discreet.parameters import Natural, Number
from discreet.progress import checkpoint, onwards
from discreet.relations import System
from discreet.tables.perturb.cover import Cover, cover_of_tables
from discreet.tables.perturb.families import two_kinds
from discreet.tables.perturb.inner_counts import codes_in, inner_counts
from discreet.tables.perturb.small_count_reading import read_small_counts
from discreet.tables.perturb.small_counts import AT_ONCE, EXCHANGES, LARGEST_BASE, rounded_small_counts


@dataclass(frozen=True)
class SmallCount(Keyed, TableMethod):
    """Round a few small inner cells to zero or to a base, so that no published count lies between.

    Parameters
    ----------
    base
        The rounding base.
    derivable
        Also round small inner cells that follow from the published ones.
    every_small
        Round all small inner cells, not only those below a small published one.
    pre_rounded
        What earlier publications fixed: base codes of an inner cell, in the order in which the tables bring their
        variables, to its value (0, the base, or more).
    differences
        Original less published count of earlier publications, to make up for: name of the table and codes of the
        cell, to the difference.
    at_once, exchanges
        How many candidates share one greedy search, and how often every candidate is then offered an exchange that
        brings published counts nearer to the originals.
    key_file
        File of the secret key that settles ties; the variable ``DISCREET_KEY`` or a new key otherwise.
    insecure_seed
        A number in place of a key, for tests and simulations; such a release cannot be saved.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"area": ["N"] * 7 + ["S"], "sex": ["m", "f"] * 4})
    >>> by = {"area": ds.Hierarchy.flat(["N", "S"]), "sex": ds.Hierarchy.flat(["m", "f"])}
    >>> release = ds.protect(ds.tabulate(people, by=by).assess(), ds.SmallCount(base=3, insecure_seed=1))
    >>> release.verify().holds, [n for n in release.public.tables[0].value.tolist() if n in (1, 2)]
    (True, [])
    """

    kind: ClassVar[str] = "small_count"
    alters: ClassVar[bool] = True
    relates: ClassVar[bool] = False
    secret: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("counts",)
    base: Annotated[int, Number(least=2, most=LARGEST_BASE)] = 3
    derivable: bool = True
    every_small: bool = False
    pre_rounded: Any = ()
    differences: Any = ()
    at_once: Annotated[int, Number(least=2)] = AT_ONCE
    exchanges: Natural = EXCHANGES

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("pre_rounded", "differences"):
            object.__setattr__(self, name, _plain_rows(name, getattr(self, name)))

    def record(self) -> dict[str, Any]:
        """The method as plain data."""
        return super().record() | {name: [list(row) for row in getattr(self, name)] for name in ROWS}

    def supply(self, tables: TableSet, key: Key | None) -> Parts:
        """Inner cells: those of a table with all variables, or counted from the records."""
        codes, count = inner_counts(tables, inner_codes(tables), type(self).__name__)
        columns = {f"code{k}": np.ascontiguousarray(codes[:, k], np.int64) for k in range(codes.shape[1])}
        return {"inner": {**columns, "count": count}}

    def run(self, system: System, key: Key | None = None) -> TableOutcome:
        """Round the cells of a system."""
        assert key is not None
        listing = inner_codes(system.tables)
        inner = system.parts["inner"]
        codes = np.column_stack([inner[f"code{k}"] for k in range(len(listing))]).astype(np.int32)
        checkpoint("small counts", 0, 1)
        cover = cover_of_tables([codes_in(codes, listing, table) for table in system.tables])
        place = [_rows_of(table, cells) for table, cells in zip(system.tables, cover.cells, strict=True)]
        marks = _marks(listing, codes)
        with onwards():
            found = rounded_small_counts(
                inner["count"],
                cover,
                draws(key.secret, "small_counts", 1, *marks, inner["count"]),
                base=self.base,
                derivable=self.derivable,
                every_small=self.every_small,
                pre_rounded=self._fixed(listing, codes),
                difference=self._differences(system.tables, cover, place),
                at_once=self.at_once,
                exchanges=self.exchanges,
                groups=two_kinds(marks),
            )
        checkpoint("small counts", 1, 1)
        published = np.zeros(len(system), np.int64)
        for cells, rows, cell in zip(system.of, place, cover.place, strict=True):
            published[cells[rows]] = found.published[cell]
        return self._outcome(system, key, published, inner, found.inner)

    def _outcome(self, system: System, key: Key, published: Ints, inner: Mapping[str, Ints], now: Ints) -> TableOutcome:
        changed = int((now != inner["count"]).sum())
        off = np.abs(published - system.value)
        facts: dict[str, Any] = {
            "changed": changed,
            "largest_deviation": int(off.max(initial=0)),
            "total_change": int(now.sum() - inner["count"].sum()),
            "insecure": key.insecure,
        }
        statement = small_count_statement(self.base, fixed=bool(self.pre_rounded), facts=facts)
        claim = noise_claim(self.kind, statement, additive=True, universes=False, insecure=key.insecure)
        mean = float(off.mean()) if len(off) else 0.0
        evidence = Evidence(
            self.record(),
            claim,
            system.decimals,
            facts=facts,
            findings=(f"counts changed by {mean:.4g} on average",),
            parts={"inner": {**inner, "rounded": now}},
        )
        return TableOutcome(np.zeros(len(system), np.bool_), evidence, published)

    def reading(self, system: System, published: Ints, evidence: Evidence) -> Reading | NotAudited:
        """What rounded counts tell of each cell."""
        return read_small_counts(system, published, self.base, self.pre_rounded)

    def _fixed(self, listing: Mapping[str, tuple[str, ...]], codes: Codes) -> Ints | None:
        """Values of inner cells that are fixed, -1 elsewhere."""
        if not self.pre_rounded:
            return None
        where = {tuple(row): i for i, row in enumerate(codes.tolist())}
        fixed = np.full(len(codes), -1, np.int64)
        for *words, value in self.pre_rounded:
            try:
                place = tuple(known.index(word) for known, word in zip(listing.values(), words, strict=True))
            except ValueError:
                raise InputError(
                    f"There is no inner cell {', '.join(map(str, words))} to be fixed.",
                    hint=f"Give base codes of {', '.join(listing)}.",
                ) from None
            if place in where:
                fixed[where[place]] = value
            elif value:
                raise InputError(
                    f"The inner cell {', '.join(words)} is empty and cannot be fixed at {value}.", hint="Leave it out."
                )
        return fixed

    def _differences(self, tables: TableSet, cover: Cover, place: Sequence[Ints]) -> Ints | None:
        """Differences to make up for, by published cell."""
        if not self.differences:
            return None
        result = np.zeros(cover.size, np.int64)
        names = [table.name for table in tables]
        for name, *words, difference in self.differences:
            if name not in names:
                raise InputError(f"There is no table {name!r} to make up for.", hint=f"Tables: {', '.join(names)}.")
            number = names.index(name)
            table = tables.tables[number]
            if len(words) != len(table.variables):
                raise InputError(
                    f"A difference of table {name!r} names {len(words)} codes: {', '.join(words)}.",
                    hint=f"Give one code for each of {', '.join(table.variables)}.",
                )
            row = table.row(**dict(zip(table.variables, words, strict=True)))
            at = np.flatnonzero(place[number] == row)
            result[cover.place[number][at]] = difference
        return result


ROWS = ("pre_rounded", "differences")


def _plain_rows(name: str, given: Any) -> tuple[tuple[Any, ...], ...]:
    """Rows of codes and a number, from a mapping or as they are."""
    rows = [(*key, value) for key, value in given.items()] if isinstance(given, Mapping) else [tuple(r) for r in given]
    for row in rows:
        good = len(row) > 1 and all(isinstance(word, str) for word in row[:-1])
        if not good or isinstance(row[-1], bool) or not isinstance(row[-1], int | np.integer):
            raise ParameterError(
                f"There is no {name} {row!r}: it has codes and a whole number.", hint="For example {('N', 'm'): 3}."
            )
    return tuple((*row[:-1], int(row[-1])) for row in rows)


def _rows_of(table: Table, cells: Ints) -> Ints:
    """Rows of a table for the cells above inner ones; a table without one of them is refused."""
    rows = np.minimum(np.searchsorted(table.keys, cells), max(len(table) - 1, 0))
    if len(cells) and (not len(table) or np.any(table.keys[rows] != cells)):
        raise NeedsError(
            f"Table {table.name!r} does not have all cells that its records lie in.",
            hint="Give complete tables, down to their base codes.",
        )
    return rows


def _marks(listing: Mapping[str, tuple[str, ...]], codes: Codes) -> list[Draws]:
    """What each inner cell is, one column per variable; the order of variables and codes is nothing."""
    columns = []
    for k, (variable, words) in sorted(enumerate(listing.items()), key=lambda item: item[1][0]):
        marks = [hashlib.blake2b(repr((variable, w)).encode(), digest_size=8).digest() for w in words]
        columns.append(np.frombuffer(b"".join(marks), "<u8")[codes[:, k]] if len(codes) else np.zeros(0, np.uint64))
    return columns
