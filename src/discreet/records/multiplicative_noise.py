"""The method ``MultiplicativeNoise``: values are multiplied, in records or before tables are made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.attack.readings import Ends, TableReading, moved_by_share, moved_in_zone, read_cells
from discreet.engine.checks import empty_contributors
from discreet.engine.encode import Records, number_contributors
from discreet.engine.identities import identities_of
from discreet.engine.record_keys import stable_identities
from discreet.engine.sources import (
    companies,
    encoded,
    identities,
    numbers_of,
    refuse_tied,
    stacked,
    tabulated_again,
    with_amounts,
)
from discreet.errors import InputError, NeedsError, ParameterError, counted, listed, unknown_name
from discreet.keys import Key
from discreet.methods.base import Keyed, RecordMethod, TablePublisher
from discreet.methods.outcome import NotAudited, Reading, RecordOutcome, TableOutcome
from discreet.model.arrays import Bools, Floats, Ints, Status
from discreet.model.claims.noise import ONE_FACTOR, multiplied_statement, noise_claim
from discreet.model.claims.records import multiplied_claim
from discreet.model.evidence import Evidence, Parts
from discreet.model.records import CONTRIBUTOR, HOUSEHOLD, NEVER_PUBLIC, NUMERIC, WEIGHT, RecordSet
from discreet.model.spec import TableSpec
from discreet.model.table import Table
from discreet.model.tableset import TableSet
from discreet.model.units import as_fraction
from discreet.parallel import by_rows
from discreet.parameters import Number, Positive
from discreet.progress import checkpoint
from discreet.progress import steps as in_steps
from discreet.records.exact_columns import exact_units
from discreet.records.noise import NoiseZone, Shape, balanced_directions, multipliers, whole_moves
from discreet.relations import System

if TYPE_CHECKING:
    import pyarrow as pa

BALANCED = (
    "directions were chosen so that the noise of large companies cancels, which tells readers more than the factors "
    "do, and nobody has worked out how much"
)
OWN_KNOWN = "(and which part of each value is own shares)"
SAME_RECORDS = (
    "readers who follow single records from one cell to another: a record has the same factor and its company the same "
    "direction in all of them"
)
SHOWN = 10
NOT_MULTIPLIED = (*NEVER_PUBLIC, HOUSEHOLD, WEIGHT)
"""Roles of columns that are no values of anybody."""
Kept = dict[str | None, dict[int, int]]
"""Directions of companies that were balanced before, for every variable or for all."""


@dataclass(frozen=True)
class MultiplicativeNoise(Keyed, TablePublisher, RecordMethod):
    """Multiply every record's own share of its value, all records of a company in one direction.

    Moves are rounded up to whole units: state values in units that are small against what companies report, or small
    values move by much more than their factor.

    Parameters
    ----------
    identifier
        Column of stable identifiers of the records. Companies are what the data call their contributor; in a file of
        records, their household where there is no contributor.
    a, b
        Factors lie in [2 - b, 2 - a] and [a, b], 1 < a < b < 2.
    shape
        ``"triangular"`` (most likely near a), ``"uniform"`` or ``"ramp"`` (rising).
    factors
        ``"record"``: all variables of a record have one factor and keep their ratios, so that whoever knows one of them
        (the staff of a firm) computes the others (its sales) from cells of that company alone. ``"variable"``: each
        variable has directions and factors of its own; variables that almost follow from each other then average the
        noise out.
    balance
        Variables in whose cells the noise of large companies shall cancel; directions are drawn where left out.
    columns
        Columns of a file of records that are multiplied; by default those that the data call numeric. Tables are of
        these columns, where they are named.
    p, known_weight, round_unit
        The extended p% rule: per cent, the column of the weights that users know, and the unit that publication rounds
        to. The release says how many sensitive cells moved less than it asks for. For tables only.
    limit
        For tables only: cells that moved by more than this share of their value are flagged for the custodian.
    version
        Version of the draws.
    key_file
        File of the secret key; the variable ``DISCREET_KEY`` or a new key otherwise.
    insecure_seed
        A number in place of a key, for tests and simulations; such a release cannot be saved.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> firms = ds.Microdata(pa.table({"id": [1, 2, 3], "area": ["N", "N", "S"], "sales": [500, 300, 70]}))
    >>> spec = ds.TableSpec(by={"area": ds.Hierarchy.flat(["N", "S"])}, value="sales")
    >>> release = ds.protect(firms, ds.MultiplicativeNoise("id", 1.1, 1.2, insecure_seed=1), tables=[spec])
    >>> release.verify().holds
    True
    """

    kind: ClassVar[str] = "multiplicative_noise"
    alters: ClassVar[bool] = True
    relates: ClassVar[bool] = False
    secret: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("records",)
    identifier: str
    a: float = 1.1
    b: float = 1.2
    shape: Shape = "triangular"
    factors: Literal["record", "variable"] = "record"
    balance: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    p: Annotated[float, Number(above=0, below=100)] | None = None
    known_weight: str | None = None
    round_unit: Positive | None = None
    limit: Positive | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.zone  # noqa: B018  # its own checks
        if self.p is None and (self.known_weight is not None or self.round_unit is not None):
            raise ParameterError("known_weight and round_unit are for the extended p% rule.", hint="Give p=.")

    @property
    def zone(self) -> NoiseZone:
        """Where factors lie."""
        return NoiseZone(self.a, self.b, self.shape)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that are multiplied."""
        return self.columns

    # ---- on the records ------------------------------------------------------------------------------------

    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Multiply columns of records."""
        assert key is not None
        columns = self._chosen(records)
        record = stable_identities(records[self.identifier])
        named = records.with_role(CONTRIBUTOR) or records.with_role(HOUSEHOLD)
        company = _identities(records[named[0]], named[0]) if named else record
        kept: Kept = {}
        changed, decimals = {}, []
        for name in in_steps("noise", columns):
            exact = exact_units(records[name], name)
            _refuse_negative(exact.units, name)
            cell = _combinations(records, self.balance) if self.balance else None
            factor = self._factors(company, record, exact.units, cell, key, name, kept)
            moves = np.concatenate(by_rows(partial(whole_moves, zone=self.zone), exact.units, factor))
            changed[name] = exact.moved_by(moves, name)
            decimals.append(exact.decimals)
        facts = {
            "columns": list(columns),
            "decimals": decimals,
            "company": named[0] if named else None,
            "insecure": key.insecure,
        }
        plain = self.record()
        return RecordOutcome(changed, Evidence(plain, multiplied_claim(plain, facts), facts=facts))

    def _chosen(self, records: RecordSet) -> tuple[str, ...]:
        """The columns to multiply."""
        for name in ("p", "limit"):
            if getattr(self, name) is not None:
                raise ParameterError(
                    f"{name}= judges cells of tables, and there is no table when records are multiplied.",
                    hint=f"Leave {name} out, or give MultiplicativeNoise last and tables=[ds.TableSpec(...)].",
                )
        columns = self.columns or records.with_role(NUMERIC)
        if not columns:
            raise NeedsError(
                "MultiplicativeNoise does not know which columns to multiply.",
                hint="Name them: Microdata(numeric=['income']) or columns=['income'].",
            )
        for name in columns:
            records[name]  # refuses what is not there
            role = records.about(name).role
            if role in NOT_MULTIPLIED:
                raise ParameterError(f"Column {name!r} is the {role}, and not to be multiplied.", hint="Leave it out.")
        return columns

    def _factors(
        self, company: Ints, record: Ints, own: Ints, cell: Ints | None, key: Key, name: str, kept: Kept
    ) -> Floats:
        """Factors of values of records; balanced directions of earlier columns and tables are kept."""
        variable = name if self.factors == "variable" else None
        direction: Status | None = None
        if cell is not None:
            before = kept.setdefault(variable, {})
            direction = balanced_directions(
                company,
                cell,
                own.astype(np.float64),
                key.secret,
                version=self.version,
                kept=before,
                variable=variable,
            )
            before.update(zip(company.tolist(), direction.tolist(), strict=True))
        return multipliers(
            company, record, key.secret, self.zone, version=self.version, direction=direction, variable=variable
        )

    def supply(self, tables: TableSet, key: Key | None) -> Parts:
        """Sums of the multiplied records, of their own shares, and of the two largest companies."""
        assert key is not None
        refuse_tied(tables, type(self).__name__)
        if all(table.spec.value is None for table in tables):
            raise NeedsError(
                "MultiplicativeNoise leaves counts as they are, and no table holds values.",
                hint="Protect tables of counts with CellKey, SmallCount or Suppress.",
            )
        for table in tables:
            if self.columns and table.spec.value not in (None, *self.columns):
                raise NeedsError(
                    f"Table {table.name!r} is of {table.spec.value!r}, and only {listed(self.columns)} shall be "
                    "multiplied.",
                    hint="Name it in columns, or leave columns out.",
                )
        parts = []
        kept: Kept = {}
        odd = {"light": 0, "cut": 0}
        for number, table in enumerate(tables):
            checkpoint("noise", number, len(tables))
            parts.append(self._sums(table, key, kept, odd))
        checkpoint("noise", len(tables), len(tables))
        return {**stacked(parts), "records": {name: np.array([count], np.int64) for name, count in odd.items()}}

    def _sums(self, table: Table, key: Key, kept: Kept, odd: dict[str, int]) -> dict[str, Ints]:
        zeros = np.zeros(len(table), np.int64)
        variable = table.spec.value
        if variable is None:
            return {"value": table.value, "own": zeros, "first": zeros, "second": zeros}
        records = encoded(table)
        amounts = records.amounts(variable)
        _refuse_negative(amounts.own, variable)
        record = identities(table, self.identifier)
        cell = _cells_of(records, table.spec, self.balance) if self.balance else None
        factor = self._factors(companies(records, record), record, amounts.own, cell, key, variable, kept)
        noisy = amounts.summed + whole_moves(amounts.own, factor, self.zone)
        odd["light"] += int(((amounts.summed < amounts.own) & (amounts.own > 0)).sum())
        odd["cut"] += int((noisy < 0).sum())
        noisy = np.maximum(noisy, 0)
        own = tabulated_again(with_amounts(records, variable, amounts.own), table)
        top = own.top
        if table.spec.weight or self.known_weight is not None:
            top = self._largest(records, table, amounts.own)
        return {
            "value": tabulated_again(with_amounts(records, variable, noisy), table).value,
            "own": own.value,
            "first": np.ascontiguousarray(top[:, 0]),
            "second": np.ascontiguousarray(top[:, 1]),
        }

    def _largest(self, records: Records, table: Table, own: Ints) -> Ints:
        """The two largest companies of every cell, with the weights that users know and without the others."""
        known = own
        if self.known_weight is not None:
            weight = numbers_of(table, self.known_weight)
            if len(weight) and weight.min() <= 0:
                raise InputError(f"{int((weight <= 0).sum())} weights in {self.known_weight!r} are not positive.")
            known = np.rint(own * weight).astype(np.int64)
        return tabulated_again(with_amounts(records, table.spec.value, known, weighted=False), table).top

    # ---- on the cells --------------------------------------------------------------------------------------

    def publish(self, system: System, key: Key | None = None) -> TableOutcome:
        """Publish what was added up from the multiplied records."""
        columns = system.parts["altered"]
        published = np.zeros(len(system), np.int64)
        notes, first = _light(system.parts["records"]), 0
        facts: dict[str, Any] = {"insecure": key is not None and key.insecure, "too_noisy": 0}
        facts |= {"sensitive": 0, "unprotected": 0} if self.p is not None else {}
        for table, cells in zip(system.tables, system.of, strict=True):
            rows = slice(first, first + len(table))
            first += len(table)
            mine = {name: column[rows] for name, column in columns.items()}
            published[cells] = mine["value"] * 10 ** (system.decimals - table.decimals)
            if table.spec.value is None:
                continue
            moved = np.abs(mine["value"] - table.value).astype(object)
            if self.limit is not None:
                flagged = np.asarray(moved > as_fraction(self.limit) * np.abs(table.value.astype(object)), np.bool_)
                facts["too_noisy"] += int(flagged.sum())
                notes += _named(table, flagged, f"moved by more than {self.limit:g} of the value")
            if self.p is not None:
                needed = self._needed(table, mine["first"], mine["second"])
                sensitive = np.asarray(needed > 0, np.bool_) & ~table.empty
                short = sensitive & np.asarray(moved < needed, np.bool_)
                facts["sensitive"] += int(sensitive.sum())
                facts["unprotected"] += int(short.sum())
                notes += _named(table, short, "are sensitive but moved less than the extended p% rule asks for")
        statement = multiplied_statement(self.a, self.b, self.p, facts)
        universes = len({table.spec.identity[1:] for table in system.tables}) > 1
        claim = noise_claim(
            self.kind,
            statement,
            additive=True,
            universes=universes,
            insecure=facts["insecure"],
            left_out=(ONE_FACTOR,) if self._one_factor(system) else (),
        )
        evidence = Evidence(
            self.record(),
            claim,
            system.decimals,
            facts=facts,
            findings=(),
            parts=system.parts,
        )
        return TableOutcome(np.zeros(len(system), np.bool_), evidence, published, notes=tuple(notes))

    # ---- what it tells -------------------------------------------------------------------------------------

    def reading(self, system: System, published: Ints, evidence: Evidence) -> Reading | NotAudited:
        """Values can be what the largest factor makes them; counts are what they were."""
        if self.balance:
            return NotAudited(BALANCED)
        own, least, share = evidence.parts["altered"]["own"], as_fraction(self.a) - 1, as_fraction(self.b) - 1

        def told(shown: TableReading) -> Ends:
            if shown.table.spec.value is None:
                return shown.value, shown.value
            if not shown.table.spec.weight:
                alone, several = moved_in_zone(shown.value, least, share), moved_by_share(shown.value, share)
                single = _single(shown.table)
                return np.where(single, alone[0], several[0]), np.where(single, alone[1], several[1])
            mine = own[shown.rows].astype(object)
            reach = -(-mine * share.numerator // share.denominator)
            return shown.value - reach, shown.value + reach

        lower, upper = read_cells(system, published, told)
        shared = (ONE_FACTOR,) if self._one_factor(system) else ()
        weights = (OWN_KNOWN,) if any(table.spec.weight for table in system.tables) else ()
        knows = f"that own shares were multiplied by factors of at most {self.b:g} and at least {2 - self.b:.6g}"
        return Reading(lower, upper, " ".join([knows, *weights]), (*shared, SAME_RECORDS))

    def _one_factor(self, system: System) -> bool:
        """Whether several variables have the same factors."""
        return self.factors == "record" and len({table.spec.value for table in system.tables} - {None}) > 1

    def _needed(self, table: Table, first: Ints, second: Ints) -> NDArray[Any]:
        """The change that the extended p% rule asks for, exactly and in units; at most zero where a cell is safe."""
        assert self.p is not None
        value, one, two = (column.astype(object) for column in (table.value, first, second))
        rest = value - one - two
        if self.round_unit is not None:
            step = as_fraction(self.round_unit) * 10**table.decimals
            rest = rest + abs(step / 2 - abs(value - step * ((value / step + Fraction(1, 2)) // 1)))
        result: NDArray[Any] = as_fraction(self.p) / 100 * one - rest
        return result


def _refuse_negative(own: Ints, name: str) -> None:
    if len(own) and own.min() < 0:
        raise InputError(
            f"Variable {name!r} has {counted(int((own < 0).sum()), 'value')} below zero.",
            hint="Values with signs need another method.",
        )


def _identities(column: pa.ChunkedArray, name: str) -> Ints:
    """Identities of those to whom records belong."""
    if column.null_count:
        raise empty_contributors(name, column.null_count)
    return identities_of(column.combine_chunks())


def _combinations(records: RecordSet, names: tuple[str, ...]) -> Ints:
    """A number for each combination of codes of some columns."""
    codes = [number_contributors(records[name].cast("string").fill_null("")).number for name in names]
    return np.unique(np.stack(codes), axis=1, return_inverse=True)[1].ravel().astype(np.int64)


def _single(table: Table) -> Bools:
    """Cells of one company, which readers are taken to know."""
    holding = table.contributions.get("holding")
    return np.zeros(len(table), np.bool_) if holding is None else np.asarray(holding.count == 1, np.bool_)


def _light(odd: Mapping[str, Ints]) -> list[str]:
    """What is odd about the records: noise is made for weights of at least 1."""
    light, cut = int(odd["light"][0]), int(odd["cut"][0])
    if not light:
        return []
    words = counted(light, "contribution", "have")
    return [f"{words} a weight below 1: the noise is larger than the share that they stand for; {cut} were cut at zero"]


def _named(table: Table, rows: Bools, what: str) -> list[str]:
    """A note that names some cells."""
    found = np.flatnonzero(rows)
    if not len(found):
        return []
    names = listed((f"({table.cell_name(row)})" for row in found.tolist()), SHOWN)
    return [f"{counted(len(found), f'cell of table {table.name}', what)}: {names}"]


def _cells_of(records: Records, spec: TableSpec, variables: tuple[str, ...]) -> Ints:
    """Number of each record's finest cell by some variables of the table."""
    for variable in variables:
        if variable not in spec.by:
            raise NeedsError(
                unknown_name("variable", variable, spec.variables, f"table {spec.name!r} (balance)"),
                hint="Balance in cells of variables that every table has.",
            )
    blocks = [block.cells.copy() for block in records.blocks({v: spec.by[v] for v in variables})]
    return np.unique(np.concatenate(blocks), return_inverse=True)[1].astype(np.int64)
