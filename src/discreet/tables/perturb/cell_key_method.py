"""The method ``CellKey``: the same records get the same noise, in any table at any time."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.engine.magnifiers import Magnifiers, magnifiers_of
from discreet.engine.protocol import OpenedRecords
from discreet.engine.record_keys import LEAST_KEYS, MadeKeys
from discreet.engine.rollup import signed
from discreet.engine.sources import open_universe, tested_keys
from discreet.errors import InputError, NeedsError, ParameterError, counted
from discreet.keys import Key
from discreet.methods.base import Keyed, TableMethod
from discreet.methods.outcome import NotAudited, Reading, TableOutcome
from discreet.model.arrays import Ints
from discreet.model.claims.noise import cell_key_left_out, cell_key_statement, noise_claim
from discreet.model.evidence import Evidence, Parts
from discreet.model.microdata import Microdata
from discreet.model.noise_table import NoiseTable
from discreet.model.table import Table
from discreet.model.tableset import TableSet
from discreet.model.units import unit_text
from discreet.parameters import Natural
from discreet.progress import checkpoint
from discreet.relations import System
from discreet.tables.perturb.additive import Additive, by_least_squares, by_whole_units
from discreet.tables.perturb.cell_key import cell_keys, perturbed_counts, perturbed_weighted_counts
from discreet.tables.perturb.cell_key_reading import (
    BOTH_SIGNS,
    CONTRIBUTIONS,
    SAME_KEY,
    Publication,
    fewest_origins,
    read_counts,
    read_magnitudes,
    read_weighted,
)
from discreet.tables.perturb.entropy import maximum_entropy
from discreet.tables.perturb.magnitude_noise import TABLES, MagnitudeNoise, as_columns, from_columns, noise_table

PARTS_OF_FILES = {"odd": ("odd", "all"), "small_noise": ("small_cells", "small", "all")}
"""Which rows of a file of noise tables each table of magnitudes takes: the first kind that the file has."""
NO_CHANCE = 25.0
"""What chance does less than once in e to this power is no chance."""
FEW_ORIGINS = 3
FEW = (
    "Only {} can lie behind some small published values of this noise table: with sums that are published besides, "
    "readers pin counts of 1 and 2 exactly (of D=1 about one in nine). Take D of at least 3, better 5, and look at "
    "ds.audit(release)."
)


@dataclass(frozen=True)
class CellKey(Keyed, TableMethod):
    """Change every value by what a noise table has for the sum of the record keys of its cell.

    Parameters
    ----------
    D, V, js
        Largest change, variance, and how many small results never occur, of a noise table of maximum entropy. With
        ``D`` of 1 or 2 whole-number readers pin some counts exactly, and it warns.
    noise
        Another noise table for counts, or the name of its file.
    cycle
        How many of the last rows of a noise file are used again for larger counts (250 in the tables of the ONS).
    modulus
        Round the noise table to so many whole cell keys (256, 4096), for whole record keys.
    threshold
        Counts below it are published as 0.
    magnitudes
        Noise of tables of magnitudes: a :class:`MagnitudeNoise` or its parameters.
    additive
        ``"least_squares"`` or ``"integer"``: move the values until they add up. The release says how far.
    identifier
        Column of stable identifiers from which record keys are made by keyed hash; left out, the records or cells
        bring their keys.
    version
        Version of record keys that are made; raise it to draw all of them anew. Every version that is out counts:
        whoever has several takes their mean, and the release says how near that comes.
    key_file
        File of the secret key for record keys that are made; the variable ``DISCREET_KEY`` or a new key otherwise.
    insecure_seed
        A number in place of a key, for tests and simulations; such a release cannot be saved.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"id": range(9), "area": ["N", "S", "S"] * 3})
    >>> table = ds.tabulate(people, by={"area": ds.Hierarchy.flat(["N", "S"])}).assess()
    >>> release = ds.protect(table, ds.CellKey(identifier="id", insecure_seed=1))
    >>> release.verify().holds
    True
    """

    kind: ClassVar[str] = "cell_key"
    alters: ClassVar[bool] = True
    D: int = 5
    V: float = 3
    js: int = 2
    noise: Any = None
    cycle: int = 1
    modulus: int | None = None
    threshold: Natural = 0
    magnitudes: Any = None
    additive: Literal["least_squares", "integer"] | None = None
    identifier: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.modulus is not None and not LEAST_KEYS <= self.modulus <= 2**31:
            raise _few_keys(f"modulus={self.modulus}")
        if isinstance(self.noise, int):
            raise ParameterError(f"noise={self.noise!r} is not a name.", hint="Name a file.")
        if self.identifier is None and (self.key_file is not None or self.insecure_seed is not None):
            raise ParameterError(
                "A key is for record keys that are made, and the records bring theirs.",
                hint="Give identifier=, the column of stable identifiers, or leave the key out.",
            )
        object.__setattr__(self, "noise", self._in_cycles(noise_table(self.noise)))
        if self.noise is not None and not isinstance(self.noise, NoiseTable | str | PathLike):
            raise ParameterError(
                f"noise= takes a noise table or the name of its file, not a {type(self.noise).__name__}.",
                hint="Use ds.read_noise_table(file), or leave it out.",
                recipe_hint="Give the path of a file, or leave it out.",
            )
        object.__setattr__(self, "magnitudes", MagnitudeNoise.made(self.magnitudes))
        if self.noise is None:
            _made(self.D, self.V, self.js)  # refuses what cannot be
        for text in self.warned:
            warnings.warn(text, stacklevel=3)

    def with_files_read(self, find: Callable[[str], Path] = Path) -> CellKey:
        """The method with the noise tables that its files hold."""
        from discreet.files.noise_tables import read_noise_table

        method = self
        if isinstance(self.noise, str):
            method = replace(self, noise=read_noise_table(find(self.noise), cycle=self.cycle))
        magnitudes = method.magnitudes
        if magnitudes is None:
            return method
        named = {field: name for field in TABLES if isinstance(name := getattr(magnitudes, field), str)}
        parts = {"noise": ("even", "all") if magnitudes.odd is not None else ("all",), **PARTS_OF_FILES}
        tables = {field: read_noise_table(find(name), part=parts[field]) for field, name in named.items()}
        return replace(method, magnitudes=replace(magnitudes, **tables)) if tables else method

    def _in_cycles(self, noise: Any) -> Any:
        """The noise table with its last rows used again as asked for; files are read with them later."""
        if self.cycle == 1 or isinstance(noise, str | PathLike):
            return noise
        if noise is None:
            raise ParameterError(
                f"cycle={self.cycle} is for a noise table of its own.", hint="Give noise=, or leave cycle out."
            )
        if isinstance(noise, NoiseTable) and noise.cycle not in (1, self.cycle):
            raise ParameterError(
                f"cycle={self.cycle} is asked for, and the noise table uses its last {noise.cycle} rows in turn.",
                hint="Leave cycle out, or read the table anew.",
            )
        return replace(noise, cycle=self.cycle) if isinstance(noise, NoiseTable) else noise

    @cached_property
    def warned(self) -> tuple[str, ...]:
        """What speaks against the noise table: published values that few counts can be behind."""
        if isinstance(self.noise, str | PathLike):
            return ()
        if self.table.modulus < LEAST_KEYS:
            raise _few_keys(f"A noise table with {self.table.modulus} cell keys")
        fewest = fewest_origins(self.table, self.threshold)
        if fewest > FEW_ORIGINS:
            return ()
        return (FEW.format(counted(fewest, "count")),)

    @property
    def secret(self) -> bool:
        """Whether it makes record keys, which needs a key."""
        return self.identifier is not None

    @property
    def relates(self) -> bool:
        """Only where values are moved until they add up."""
        return self.additive is not None

    @property
    def needs(self) -> tuple[str, ...]:
        """Record keys, or records that they can be made of."""
        return ("record_keys",) if self.identifier is None else ("records",)

    def record(self) -> dict[str, Any]:
        """The method as plain data."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        plain["noise"] = self.noise.record() if isinstance(self.noise, NoiseTable) else self.noise
        plain["magnitudes"] = None if self.magnitudes is None else self.magnitudes.record()
        return {"method": self.kind, **plain}

    @cached_property
    def table(self) -> NoiseTable:
        """The noise table of counts."""
        table = _made(self.D, self.V, self.js) if self.noise is None else self.noise
        assert isinstance(table, NoiseTable)
        return table if self.modulus is None or table.modulus == self.modulus else table.quantised(self.modulus)

    @cached_property
    def _moments(self) -> tuple[Fraction, Fraction]:
        return _moments(self.table)

    @cached_property
    def _forbidden(self) -> int:
        return len(self.table.forbidden)

    # ---- what it needs -------------------------------------------------------------------------------------

    def supply(self, tables: TableSet, key: Key | None) -> Parts:
        """Cell keys of all cells, and for magnitudes who contributes."""
        for table in tables:
            if signed(table.spec.hierarchies):
                raise NeedsError(
                    f"A cell of table {table.name!r} is a difference of others, and has no records of its own.",
                    hint="Leave signed codes out.",
                )
            if table.spec.value is not None and self.magnitudes is None:
                raise NeedsError(
                    f"Table {table.name!r} has magnitudes, and CellKey does not know how large their noise is.",
                    hint="Give magnitudes=ds.MagnitudeNoise(small=0.05).",
                    recipe_hint="Give magnitudes = { small = 0.05 }.",
                )
        self._check_keys(tables)
        noise, counted = self.table, []
        for number, table in enumerate(tables):
            checkpoint("cell keys", number, len(tables))
            counted.append(self._magnitudes_of(table, key) if table.spec.value else self._counts_of(table, key, noise))
        checkpoint("cell keys", len(tables), len(tables))
        if len(counted) == 1:
            return {"cells": counted[0]}
        names = list(dict.fromkeys(name for columns in counted for name in columns))
        sizes = [len(table) for table in tables]
        zeros = [np.zeros(size, np.int64) for size in sizes]
        return {"cells": {n: np.concatenate([c.get(n, z) for c, z in zip(counted, zeros, strict=True)]) for n in names}}

    def _check_keys(self, tables: TableSet) -> None:
        """Refuse record keys of the records that are not what chance makes."""
        for source in {id(t.source): t.source for t in tables if isinstance(t.source, Microdata)}.values():
            if self.identifier is None and source.record_key is not None:
                found = tested_keys(source)
                if found.reach is not None:
                    self._check_reach(found.reach, found.records)

    def _check_reach(self, reach: int, records: int) -> None:
        """Refuse whole keys that use a part of the noise table only: cells of few records would always get the same."""
        modulus = self.table.modulus
        if modulus <= 2**31 and reach < modulus and records * np.log(modulus / reach) > NO_CHANCE:
            raise InputError(
                f"The record keys lie in 0 .. {reach - 1}, and the noise table has {modulus} cell keys.",
                hint=f"Give keys in 0 .. {modulus - 1}, or modulus= as many as the record keys have.",
            )

    def _open(self, table: Table, key: Key | None) -> AbstractContextManager[OpenedRecords]:
        """Records of a table with their keys, or with keys made of identifiers."""
        if self.identifier is None:
            return open_universe(table)
        assert key is not None
        return open_universe(table, MadeKeys(self.identifier, key.secret, self.version, self.modulus))

    def _counts_of(self, table: Table, key: Key | None, noise: NoiseTable) -> dict[str, Ints]:
        if self.identifier is not None:
            with self._open(table, key) as records:
                table = records.table(replace(table.spec, holders=False))
        count = table.value if table.records is None else table.records
        if table.records is None and np.any(table.value < 0):
            raise InputError(f"Table {table.name!r} has counts below zero.", hint="Give numbers of records.")
        assert table.key_sum is not None
        return {"contributors": count, "key_sum": cell_keys(table.key_sum, table.key_modulus, noise)}

    def _magnitudes_of(self, table: Table, key: Key | None) -> dict[str, Ints]:
        mine = self.magnitudes
        if not isinstance(table.source, Microdata):
            return as_columns(_given_magnifiers(table, mine))
        with self._open(table, key) as records:
            return as_columns(magnifiers_of(records, table.spec, mine.top, zeros=mine.zeros))

    # ---- what it does --------------------------------------------------------------------------------------

    def run(self, system: System, key: Key | None = None) -> TableOutcome:
        """Change the cells of a system."""
        noise, columns = self.table, system.parts["cells"]
        noisy = np.zeros(len(system), np.int64)
        first = 0
        for number, (table, cells) in enumerate(zip(system.tables, system.of, strict=True)):
            checkpoint("noise", number, len(system.tables))
            rows = slice(first, first + len(table))
            first += len(table)
            if table.spec.value is None:
                mine = self._noisy_counts(table, columns["contributors"][rows], columns["key_sum"][rows], noise)
            else:
                found = from_columns(columns, rows, self.magnitudes.top)
                unit = 10.0**-table.decimals
                change = self.magnitudes.perturbed(table.value * unit, found, unit, table.unsafe)
                mine = np.where(table.empty, 0, table.value + np.rint(change / unit).astype(np.int64))
            noisy[cells] = mine * 10 ** (system.decimals - table.decimals)
        checkpoint("noise", len(system.tables), len(system.tables))
        made = Additive(noisy, system.decimals, 0)
        if self.additive is not None:
            made = (by_least_squares if self.additive == "least_squares" else by_whole_units)(system, noisy)
        return self._outcome(system, noise, noisy, made, key)

    def _noisy_counts(self, table: Table, count: Ints, cell_key: Ints, noise: NoiseTable) -> Ints:
        if table.weighted is None:
            return perturbed_counts(count, cell_key, noise, threshold=self.threshold).value
        return perturbed_weighted_counts(count, table.value, cell_key, noise, threshold=self.threshold)[0]

    def _outcome(self, system: System, noise: NoiseTable, noisy: Ints, made: Additive, key: Key | None) -> TableOutcome:
        moved, finer = np.zeros(0, np.int64), 10 ** (made.decimals - system.decimals)
        noise_sum = change_sum = float(np.abs(noisy - system.value).sum())
        if self.additive is not None:
            moved = np.abs(made.value - noisy * finer)
            change_sum = float(np.abs(made.value - system.value * finer).sum()) / finer
        insecure = key is not None and key.insecure
        facts: dict[str, Any] = {
            "moved_sum": unit_text(int(moved.sum()), made.decimals),
            "moved_most": unit_text(int(moved.max(initial=0)), made.decimals),
            "insecure": insecure,
            "noise": noise.record(),
        }
        mean, variance = self._moments
        statement = cell_key_statement(
            forbidden=0 if any(t.weighted is not None for t in system.tables) else self._forbidden,
            largest=f"{max(noise.largest, -noise.least):g}",
            mean=f"{float(mean):.2g}",
            variance=f"{float(variance):.6g}",
            counts=any(table.spec.value is None for table in system.tables),
            magnitudes=any(table.spec.value is not None for table in system.tables),
            additive=self.additive,
            moved=f"by at most {facts['moved_most']} and {facts['moved_sum']} in all",
        )
        universes = len({table.spec.identity[1:] for table in system.tables}) > 1
        claim = noise_claim(
            self.kind,
            statement,
            additive=self.additive is not None,
            universes=universes,
            insecure=insecure,
            left_out=cell_key_left_out(self.version, float(variance)),
        )
        cells = max(len(system), 1)
        findings = [
            f"values changed by {change_sum / cells / 10**system.decimals:.4g} on average, by the noise alone "
            f"{noise_sum / cells / 10**system.decimals:.4g}"
        ]
        if self.additive is not None:
            findings.append(
                "additivity costs: results that the noise table rules out may occur, and the same cell may have other "
                "values in other tables"
            )
        if not made.nearest:
            findings.append(
                f"the search for additive values stopped after {counted(made.nodes, 'node')}; others may be nearer"
            )
        evidence = Evidence(
            self.record(),
            claim,
            made.decimals,
            effort={"nodes": made.nodes},
            facts=facts,
            findings=tuple(findings),
            parts=system.parts,
        )
        return TableOutcome(np.zeros(len(system), np.bool_), evidence, made.value, notes=self.warned)

    def reading(self, system: System, published: Ints, evidence: Evidence) -> Reading | NotAudited:
        """What published values tell of each cell: of counts by rows of the noise table, of magnitudes by shares."""
        moved = "0" if self.additive is None else str(evidence.facts["moved_most"])
        shown = Publication.of(system, published, evidence.decimals, moved)
        lower, upper, whole = system.lower_bound, system.upper_bound, None
        counts, others = [], []
        for table, cells in zip(system.tables, system.of, strict=True):
            if table.spec.value is not None and np.any(system.lower_bound[cells] < 0):
                return NotAudited(BOTH_SIGNS)
            if table.spec.value is not None:
                others.append(read_magnitudes(system, cells, shown, self.magnitudes, 10.0**-table.decimals))
            elif table.weighted is not None:
                others.append(read_weighted(system, cells, shown, self.table, self.threshold, table.decimals))
            else:
                counts.append(cells)
        if counts:
            exact = self.additive is None
            told = read_counts(system, np.unique(np.concatenate(counts)), shown, self.table, self.threshold, exact)
            others, whole = [*others, told], told.whole
        for told in others:
            lower, upper = np.maximum(lower, told.lower), np.minimum(upper, told.upper)
        knows = "the noise tables: which changes every count can have, and the largest share of a magnitude"
        if self.additive is not None:
            knows += ", and how far values moved at most until they added up"
        beyond = list(cell_key_left_out(self.version, float(self._moments[1])))
        beyond += [SAME_KEY] if counts else []
        beyond += [CONTRIBUTIONS] if any(table.spec.value is not None for table in system.tables) else []
        return Reading(lower, upper, knows, tuple(beyond), whole)


def _few_keys(what: str) -> ParameterError:
    return ParameterError(
        f"{what} must lie in {LEAST_KEYS} .. {2**31}: fewer cell keys make the noise a coin that readers see through.",
        hint="Usual are 256 and 4096.",
    )


@lru_cache(maxsize=32)
def _made(D: int, V: float, js: int) -> NoiseTable:
    """Noise tables are made once: finding the largest entropy takes longer than a small table."""
    return maximum_entropy(D, V, js)


def _moments(noise: NoiseTable) -> tuple[Fraction, Fraction]:
    """The largest distance of a row's mean from zero, and the largest variance, exactly."""
    first = noise.start[:-1]
    width = np.diff(noise.upper, prepend=0).astype(object)
    width[first] = noise.upper[first]
    change = noise.change.astype(object)
    total = np.add.reduceat(change * width, first)
    variance = np.add.reduceat(change * change * width, first) * noise.modulus - total * total
    whole = noise.step * noise.modulus
    return Fraction(int(np.abs(total).max()), whole), Fraction(int(variance.max()), whole * whole)


def _given_magnifiers(table: Table, noise: MagnitudeNoise) -> Magnifiers:
    """Contributors as a ready-made table has them."""
    found = table.contributions.get("holding")
    if noise.magnifier == "range" or found is None or found.top.shape[1] < noise.top:
        raise NeedsError(
            f"Table {table.name!r} does not say enough of its contributors for magnifier={noise.magnifier!r}.",
            hint=f"Give columns contributors and top1 .. top{noise.top}, or tabulate it from records.",
        )
    if table.key_modulus == 0:
        raise NeedsError("Noise for magnitudes needs fractional cell keys.", hint="Give record_key in [0, 1).")
    assert table.key_sum is not None
    top = np.ascontiguousarray(found.top[:, : noise.top])
    return Magnifiers(found.count, table.key_sum, table.value, top, top[:, 0], top[:, -1])
