"""The method ``DropAdd``: an answer in which up to q records of every cell are dropped or doubled."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from statistics import NormalDist
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from discreet.attack.readings import Ends, TableReading, moved_above_share, moved_by_share, read_cells
from discreet.attack.whole import whole_steps
from discreet.engine.cells import cells_above, row_finder
from discreet.engine.draws import Draws
from discreet.engine.encode import Records
from discreet.engine.protocol import NumberSums
from discreet.engine.sources import encoded, identities, number_sums, numbers_of, refuse_tied, stays_in_engine
from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError, counted
from discreet.keys import Key
from discreet.methods.base import Keyed, TablePublisher
from discreet.methods.outcome import NotAudited, Reading, TableOutcome, Whole
from discreet.model.arrays import NO_UPPER, Floats, Ints
from discreet.model.claims.noise import ONE_WEIGHT, SINGLE_WEIGHTS, dropped_statement, noise_claim
from discreet.model.evidence import Evidence, Parts
from discreet.model.table import Table
from discreet.model.tableset import TableSet
from discreet.parameters import AtLeastOne, Natural, Number, Positive
from discreet.progress import checkpoint
from discreet.records.dropping import (
    AVERAGING,
    EQUAL_WEIGHTS,
    DropAddRule,
    dropped,
    dropped_and_added,
    dropped_and_added_in,
    permanent_numbers,
    perturbed_weights,
    refuse_many_codes,
    replicate_interval,
)
from discreet.relations import System

WEIGHTED = (
    "weights and values of the records that were dropped or doubled are not known to readers, and nobody has worked "
    "out what adjusted weights tell them"
)
SINGLE_UNIVERSE = (
    "readers who subtract the answers of two universes that differ by few records (see ds.attack.sliver_attack)"
)


class Perturbed(NamedTuple):
    """What became of records: weights in place of the old ones, moves of finest cells, replicate weights."""

    weight: Floats
    moved: Ints
    replicates: Floats | None


@dataclass(frozen=True)
class DropAdd(Keyed, TablePublisher):
    """Answer one table with up to q records of every finest cell dropped or doubled.

    What is dropped depends on the cells, margins and universe of that table: there is no file of records that answers
    all tables, and so the method needs records and a table, and is no method for a release of records.

    Parameters
    ----------
    identifier
        Column of stable identifiers of the records.
    rate
        q is this share of a cell's records, rounded up.
    rounding
        ``"ceil"`` (200 records at 0.01 give 2) or ``"above"``, the smallest whole number above (3).
    min_cell, min_margin, min_universe
        Questions with a smaller cell, margin or universe are refused; cells that are empty do not count. Sums and
        weighted counts need at least 2 records in a cell.
    subsample
        Instead: drop exactly so many records of the universe (Drop-q).
    replicates
        Columns of replicate weights, from which a confidence interval of every value follows; its ends are published
        beside the value. They are dropped, doubled, adjusted and calibrated like the weights.
    scale
        Factor of their sum of squares; one over their number where left out.
    coverage
        Coverage of the confidence intervals.
    version
        Version of the draws.
    key_file
        File of the secret key; the variable ``DISCREET_KEY`` or a new key otherwise.
    insecure_seed
        A number in place of a key, for tests and simulations; such a release cannot be saved.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = ds.Microdata(pa.table({"id": range(500), "area": ["N", "S", "S", "S", "S"] * 100}))
    >>> spec = ds.TableSpec(by={"area": ds.Hierarchy.flat(["N", "S"])})
    >>> release = ds.protect(people, ds.DropAdd("id", rate=0.01, insecure_seed=1), tables=[spec])
    >>> release.verify().holds
    True
    """

    kind: ClassVar[str] = "drop_add"
    alters: ClassVar[bool] = True
    relates: ClassVar[bool] = False
    secret: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("records",)
    identifier: str
    rate: float | str = 0.01
    rounding: Literal["ceil", "above"] = "ceil"
    min_cell: Natural = 1
    min_margin: Natural = 1
    min_universe: Natural = 1
    subsample: AtLeastOne | None = None
    replicates: tuple[str, ...] = ()
    scale: Positive | None = None
    coverage: Annotated[float, Number(above=0, below=1)] = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        self.rule  # noqa: B018  # its own checks
        if self.scale is not None and not self.replicates:
            raise ParameterError("scale is for replicate weights.", hint="Give replicates= too.")

    @property
    def rule(self) -> DropAddRule:
        """Rate and refusals."""
        try:
            rate = Fraction(str(self.rate))
        except ValueError:
            raise ParameterError(f"rate={self.rate!r} is not a number.", hint="For example 0.01 or '1/100'.") from None
        return DropAddRule(rate, self.rounding, self.min_cell, self.min_margin, self.min_universe)

    def supply(self, tables: TableSet, key: Key | None) -> Parts:
        """The perturbed table, and what moved in its finest cells."""
        assert key is not None
        if len(tables) != 1:
            raise NeedsError(
                "DropAdd answers one table at a time: the same cell has other noise in another table.",
                hint="Call protect once for each table, and limit how many tables contain a cell.",
            )
        refuse_tied(tables, type(self).__name__)
        table = tables.tables[0]
        checkpoint("drop and add", 0, 2)
        if stays_in_engine(table):
            return {"altered": self._of_sums(table, key)}
        records = encoded(table)
        codes, leaf = _finest(records, table)
        numbers = permanent_numbers(identities(table, self.identifier), key.secret, version=self.version)
        plain = table.spec.value is None and records.weight is None
        found = self._perturbed(table, records, codes, leaf, numbers, key, plain)
        checkpoint("drop and add", 1, 2)
        count = np.bincount(leaf, minlength=len(table)).astype(np.int64)
        own = np.ones(len(leaf)) if plain else records.amounts(table.spec.value).own.astype(np.float64)
        # Sums in floating point depend on their order; this one depends on the contents only.
        order = np.zeros(0, np.int64) if plain and found.replicates is None else np.lexsort((numbers, leaf))

        def summed(weight: Floats) -> Ints:
            finest = np.bincount(leaf[order], (own * weight)[order], len(table))
            return _added_up(table, np.rint(finest).astype(np.int64))

        columns = {"value": _added_up(table, count + found.moved) if plain else summed(found.weight)}
        columns |= {"moved": found.moved, "records": _added_up(table, count)}
        if found.replicates is not None:
            totals = np.stack([summed(column) for column in found.replicates.T]).astype(np.float64)
            interval = replicate_interval(columns["value"].astype(np.float64), totals, scale=self.scale)
            columns["error"] = np.rint(interval.error).astype(np.int64)
        undone = not plain and self.subsample is None
        weight = 1 if records.weight is None else records.weight[0]
        columns["equal_weights"] = _all_equal(leaf, own * weight, len(table)) * int(undone)
        checkpoint("drop and add", 2, 2)
        return {"altered": columns}

    def _of_sums(self, table: Table, key: Key) -> dict[str, Ints]:
        """Counts of records that stay where they are."""
        self._refuse_single_records(table)
        numbers = partial(permanent_numbers, key=key.secret, version=self.version)
        if self.subsample is None:
            sums = number_sums(table, self.identifier, numbers)
            moved_in = self._moved_in_cells(table, sums, key)
        else:

            def left_out(identity: Ints) -> Draws:
                kept = dropped(numbers(identity), int(self.subsample or 0), key.secret, version=self.version)
                chosen: Draws = (kept == 0).astype(np.uint64)
                return chosen

            sums = number_sums(table, self.identifier, left_out)
            moved_in = -sums.total.astype(np.int64)
        rows = row_finder(table.keys, table.shape)(sums.cells).astype(np.int64)
        count, moved = np.zeros(len(table), np.int64), np.zeros(len(table), np.int64)
        count[rows], moved[rows] = sums.records, moved_in
        checkpoint("drop and add", 2, 2)
        records = _added_up(table, count)
        if table.records is not None and not np.array_equal(records, table.records):
            raise InputError("The records have changed since the table was made.", hint="Make it again.")
        nothing = np.zeros(len(table), np.int64)
        return {
            "value": _added_up(table, count + moved), "moved": moved, "records": records, "equal_weights": nothing
        }  # fmt: skip

    def _moved_in_cells(self, table: Table, sums: NumberSums, key: Key) -> Ints:
        """How many records of each finest cell are dropped or doubled, of the sums of their permanent numbers."""
        shape = tuple(len(h.base_codes) for h in table.spec.hierarchies)
        refuse_many_codes(shape)
        rows = row_finder(table.keys, table.shape)(sums.cells).astype(np.int64)
        places = tuple(_base_codes(table)[rows].T)
        counts, total = np.zeros(shape, np.int64), np.zeros(shape, np.uint64)
        counts[places], total[places] = sums.records, sums.total
        answer = dropped_and_added_in(counts, total, key.secret, self.rule, version=self.version)
        moved: Ints = answer.moved[places]
        return moved

    def _refuse_single_records(self, table: Table) -> None:
        """Refuse what adjusts weights: it adds up floating-point numbers, whose sum depends on their order."""
        asked = {
            "sums": table.spec.value is not None,
            "weighted tables": bool(table.spec.weight),
            "replicate weights": bool(self.replicates),
        }
        named = [name for name, there in asked.items() if there]
        if named:
            raise NeedsError(
                f"DropAdd of {' and '.join(named)} adjusts weights of single records, and engine='remote' leaves "
                "records where they are: only counts of records are dropped and added there.",
                hint="Where they may leave, take the needed columns into memory: data.on('memory').",
            )

    def _perturbed(
        self, table: Table, records: Records, codes: Ints, leaf: Ints, numbers: Draws, key: Key, plain: bool
    ) -> Perturbed:
        weight = np.ones(len(leaf)) if records.weight is None else records.weight[0] / 10.0 ** records.weight[1]
        replicates = np.stack([numbers_of(table, c) for c in self.replicates], axis=1) if self.replicates else None
        if replicates is not None and replicates.size and replicates.min() < 0:
            raise InputError("Replicate weights must be at least zero.")
        if self.subsample is not None:
            times = dropped(numbers, self.subsample, key.secret, version=self.version).astype(np.int64)
            moved = np.bincount(leaf, times - 1, len(table)).astype(np.int64)
            kept = weight * times
            sub = None if replicates is None else replicates * times[:, None]
            if sub is not None and replicates is not None:
                sub = sub * (replicates.sum(axis=0) / sub.sum(axis=0))
            return Perturbed(kept * (weight.sum() / kept.sum()), moved, sub)
        shape = tuple(len(h.base_codes) for h in table.spec.hierarchies)
        answer = dropped_and_added(
            codes, shape, numbers, key.secret, self.rule, weighted=not plain, version=self.version
        )
        if plain and replicates is None:
            # Counts need not know which records were chosen.
            moved = np.zeros(len(table), np.int64)
            moved[leaf] = answer.moved[tuple(codes.T)]
            return Perturbed(weight, moved, None)
        made = perturbed_weights(
            codes,
            answer,
            numbers,
            weight,
            key.secret,
            replicates=replicates,
            version=self.version,
            emptied=plain,
        )
        moved = np.bincount(leaf, made.times.astype(np.int64) - 1, len(table)).astype(np.int64)
        return Perturbed(made.weight, moved, made.replicates)

    def publish(self, system: System, key: Key | None = None) -> TableOutcome:
        """Publish what was added up from the records that are left."""
        columns, table = system.parts["altered"], system.tables.tables[0]
        published = np.zeros(len(system), np.int64)
        published[system.of[0]] = columns["value"]
        insecure = key is not None and key.insecure
        moved = int(np.abs(columns["moved"]).sum())
        plain = table.spec.value is None and table.weighted is None
        if not plain and np.array_equal(published, system.value):
            raise ProtectionError("The table would be published as it is.", hint=EQUAL_WEIGHTS)
        undone = int(columns["equal_weights"].sum())
        facts: dict[str, Any] = {"moved": moved, "insecure": insecure}
        intervals, coverage, left_out = None, None, [AVERAGING]
        if "error" in columns:
            coverage = float(self.coverage)
            facts["coverage"] = coverage
            left_out.append(SINGLE_WEIGHTS)
            reach = np.zeros(len(system), np.int64)
            reach[system.of[0]] = np.rint(NormalDist().inv_cdf((1 + coverage) / 2) * columns["error"])
            intervals = (published - reach, published + reach)
        if undone:
            left_out.append(ONE_WEIGHT)
        statement = dropped_statement(
            str(self.rate), self.rounding, self.subsample, plain=plain, moved=moved, coverage=coverage
        )
        claim = noise_claim(
            self.kind, statement, additive=True, universes=False, insecure=insecure, left_out=tuple(left_out)
        )
        notes = [f"{counted(undone, 'finest cell', 'hold')} records that all stand for the same"] if undone else []
        evidence = Evidence(
            self.record(),
            claim,
            system.decimals,
            facts=facts,
            findings=tuple(notes),
            parts=system.parts,
        )
        return TableOutcome(np.zeros(len(system), np.bool_), evidence, published, intervals, notes=(AVERAGING, *notes))

    def reading(self, system: System, published: Ints, evidence: Evidence) -> Reading | NotAudited:
        """Counts of records can be what q makes them; of weighted estimates and sums nobody has worked it out."""
        table = system.tables.tables[0]
        if table.spec.value is not None or table.weighted is not None:
            return NotAudited(WEIGHTED)
        moved = moved_by_share if self.rounding == "ceil" else moved_above_share
        q, share = self.subsample, self.rule.exact_rate
        finest = np.logical_and.reduce([h.base[table.codes[:, k]] for k, h in enumerate(table.spec.hierarchies)])

        def told(shown: TableReading) -> Ends:
            if q is not None:
                return _dropped(shown, q)
            low, high = moved(shown.value, share)
            # Smaller cells and margins would have been refused; of a cell that shows nothing all may be gone.
            low = np.where(shown.value > 0, np.maximum(low, self.min_cell), low)
            high = np.where((shown.value == 0) & (high < self.min_cell), 0, high)
            sums = np.minimum(max(self.min_cell, self.min_margin), table.value).astype(object)
            return np.where(finest, low, sums), np.where(finest, high, NO_UPPER)

        lower, upper = read_cells(system, published, told)
        words = f"that exactly {q} records were dropped" if q is not None else f"the rate {self.rate} and its rounding"
        return Reading(lower, upper, words, (AVERAGING, SINGLE_UNIVERSE), Whole(whole_steps(system)))


def _dropped(shown: TableReading, q: int) -> Ends:
    """What can have been where exactly q records are missing in all."""
    total = [h.index.get(h.total or "", -1) for h in shown.table.spec.hierarchies]
    top = (shown.table.codes == np.array(total)).all(axis=1)
    return np.where(top, shown.value + q, shown.value), shown.value + q


def _finest(records: Records, table: Table) -> tuple[Ints, Ints]:
    """Base codes of each record, numbered from 0, and the row of its finest cell."""
    keys = np.concatenate([block.cells.copy() for block in records.blocks(table.spec.by)])
    rows = row_finder(table.keys, table.shape)(keys).astype(np.int64)
    # The codes of every cell are looked up by its row, of which there are fewer than records.
    return np.ascontiguousarray(_base_codes(table)[rows]), rows


def _base_codes(table: Table) -> Ints:
    """Base codes of the finest cells, numbered from 0 in each variable."""
    columns = [(np.cumsum(hierarchy.base) - 1)[table.codes[:, k]] for k, hierarchy in enumerate(table.spec.hierarchies)]
    return np.column_stack(columns)


def _added_up(table: Table, finest: Ints) -> Ints:
    """Values of all cells from those of the finest ones, which stand in their rows."""
    rows = np.flatnonzero(finest)
    above = cells_above(table.keys[rows], table.keys, table.spec.hierarchies)
    result = np.zeros(len(table), np.int64)
    np.add.at(result, above.cell, np.repeat(finest[rows], np.diff(above.start)))
    return result


def _all_equal(leaf: Ints, amount: Floats, cells: int) -> Ints:
    """Finest cells whose records all stand for the same, in whose rows there is 1."""
    low, high = np.full(cells, np.inf), np.full(cells, -np.inf)
    np.minimum.at(low, leaf, amount)
    np.maximum.at(high, leaf, amount)
    result: Ints = (low == high).astype(np.int64)
    return result
