"""Tabulation where the records lie: PostgreSQL, Spark, duckdb and every engine that ibis speaks.

The engine groups, sums and ranks; what comes back are cells. Records, and the sums of contributors that are on no
cell's list, stay where they are. From the finest cells on the code is that of all engines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from discreet.engine.cells import LeafCells, RowFinder, strides_of
from discreet.engine.checks import (
    PLAIN_TEXT,
    bad_flags,
    bad_requests,
    empty_contributors,
    not_positive,
    refuse_alike_contributors,
    refuse_large_sums,
)
from discreet.engine.contributions import ContributorRecords, KnownRoles
from discreet.engine.encode import KEY_MODULUS, WEIGHT_DECIMALS, Records
from discreet.engine.plan import ColumnPlan, Scale, WantedLists
from discreet.engine.protocol import KeyedAmounts, OpenedRecords
from discreet.engine.record_keys import KeyFacts, MadeKeys
from discreet.engine.remote_cells import Grouped, LeafQuestion, coded_cells, positions_table
from discreet.engine.remote_contributors import RecordAmounts, contributions_in
from discreet.engine.remote_keys import key_facts, with_made_keys
from discreet.engine.remote_numbers import Numbers, kind_of, read, universe_of
from discreet.engine.remote_source import RemoteTable, connected
from discreet.errors import InputError, NeedsError
from discreet.files.frames import bad_numbers, no_record_left, no_records
from discreet.model.arrays import LARGEST
from discreet.model.condition import Condition
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Microdata
from discreet.model.spec import TableSpec
from discreet.model.table import Contributions, Holders
from discreet.model.units import MANY_DECIMALS, to_units

if TYPE_CHECKING:
    import pyarrow as pa


class RemoteEngine:
    """Tables of databases and clusters: nothing but cells is fetched."""

    name = "remote"

    @contextmanager
    def open(
        self, data: Microdata, specs: Sequence[TableSpec], weight: str | None, keys: MadeKeys | None = None
    ) -> Iterator[RemoteRecords]:
        """Records of a universe, where they lie."""
        with connected(data) as remote:
            if keys is not None:
                remote, name = with_made_keys(remote, keys)
                data = data.with_(record_key=name)
            yield RemoteRecords(remote, data, specs, weight)

    def names(self, data: Microdata) -> list[str]:
        """Names of the columns."""
        with connected(data) as remote:
            return remote.names

    def codes(self, data: Microdata, variable: str) -> tuple[Any, int, int]:
        """The distinct values of a column, found in the engine; how many records there are, and how many gaps."""
        with connected(data) as remote:
            column = read(remote, variable)
            kind_of(remote, variable)
            counted = remote.table.group_by(code=column).aggregate(records=remote.table.count())
            found = remote.fetch("codes", counted)
        records = found["records"].to_numpy()
        gaps = np.asarray(found["code"].is_null())
        return found["code"].drop_null(), int(records.sum()), int(records[gaps].sum())

    def pieces(
        self, data: Microdata, names: Iterable[str], text: Iterable[str] = (), where: Sequence[Condition] = ()
    ) -> Iterator[pa.Table]:
        """Nothing: records stay where they are."""
        raise records_stay()

    def keys(self, data: Microdata) -> Any:
        """Nothing: record keys are looked at in the engine, see :meth:`key_facts`."""
        raise records_stay()

    def key_facts(self, data: Microdata) -> KeyFacts:
        """What is known of the record keys of all records, after they were looked at."""
        with connected(data) as remote:
            return key_facts(remote, str(data.record_key))

    def kept(self, data: Microdata) -> dict[str, Any] | None:
        """Nothing: a table may change."""
        return None

    def records(self, data: Microdata, specs: Sequence[TableSpec], weight: str | None) -> Records:
        """Nothing: records stay where they are."""
        raise records_stay()


ENGINE = RemoteEngine()


def records_stay() -> NeedsError:
    """Refusal of what needs single records."""
    return NeedsError(
        "This needs single records, and engine='remote' leaves records where they are: only cells leave it.",
        hint="Where they may leave, take the needed columns into memory: data.on('memory').",
    )


class RemoteRecords(OpenedRecords):
    """Records of one universe in an engine.

    Parameters
    ----------
    remote
        The table.
    data
        The records and their roles.
    specs
        All questions: those by the same variables are asked together.
    weight
        Weight column.
    """

    def __init__(self, remote: RemoteTable, data: Microdata, specs: Sequence[TableSpec], weight: str | None) -> None:
        self.remote = remote
        self.data = data
        self.weight_name = weight
        self._where = specs[0].where
        for name in [*(v for spec in specs for v in spec.variables), *([data.contributor] if data.contributor else [])]:
            kind_of(remote, name)
        self.universe = universe_of(remote, self._where)
        self.numbers = Numbers(remote, self.universe)
        self._specs = list(specs)
        self._grouped: dict[tuple[str, ...], Grouped] = {}
        self._checked: set[str | None] = set()
        self._lightest: float | None = None
        self._look()

    # ---- numbers ------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Look at all columns of numbers in one pass; whole ones that are only summed are looked at as they are."""
        wanted = [name for spec in self._specs for name in (spec.value, spec.shadow, spec.cost) if name]
        plain = [name for name in wanted if self._summed_as_it_is(name)]
        self.numbers.look_at([name for name in [*wanted, *([self.weight_name] if self.weight_name else [])]
                              if name not in plain])  # fmt: skip
        if self.weight_name:
            units = self._weight()
            row = self.remote.rows(
                "weights",
                self.universe.aggregate(least=units.min(), wrong=(units <= 0).sum().cast("int64")),
            )[0]
            if row["least"] is None:
                self._refuse_no_records()
            if row["wrong"]:
                raise not_positive(self.weight_name, row["wrong"], None, WEIGHT_DECIMALS)
            self._lightest = float(row["least"]) / 10.0**self._weight_decimals

    def _summed_as_it_is(self, name: str) -> bool:
        """Whether a column is of whole numbers whose sums say all that must be known of it."""
        watched = {spec.shadow or spec.value for spec in self._specs if self._asks_contributors(spec)}
        others = {spec.cost for spec in self._specs} | watched
        return (
            self.weight_name is None
            and self.numbers.kind(name) == "integer"
            and name not in others - {spec.value for spec in self._specs}
        )

    def _asks_contributors(self, spec: TableSpec) -> bool:
        return spec.value is not None or spec.shadow is not None

    def _decimals(self, name: str) -> int:
        if name not in self.numbers.looked:
            return 0
        return self.numbers.looked[name].decimals

    @property
    def _weight_decimals(self) -> int:
        return min(self._decimals(self.weight_name), WEIGHT_DECIMALS) if self.weight_name else 0

    def _weight(self) -> Any:
        return self.numbers.units(str(self.weight_name), self._weight_decimals)

    def _own(self, column: str | None) -> Any:
        """What a record has of a column, in units of the column."""
        import ibis

        if column is None:
            return ibis.literal(1, type="int64")
        return self.numbers.units(column, self._decimals(column))

    def _weighted(self, column: str | None) -> Any:
        return self._own(column) * self._weight() if self.weight_name else self._own(column)

    def _refuse_large(self, columns: Iterable[str | None]) -> None:
        """Refuse columns whose absolute values add up to more than 64 bits, before they are added up in 64 bits."""
        asked = [c for c in dict.fromkeys(columns) if c not in self._checked]
        self._checked.update(asked)
        if not self.weight_name:
            for column in asked:
                if column is not None and column in self.numbers.looked:
                    looked = self.numbers.looked[column]
                    if looked.largest > LARGEST and self.numbers.kind(column) == "integer":
                        self._refuse_large_values(column)
                    refuse_large_sums(column, looked.total * 10.0**looked.decimals)
            return
        totals: dict[str, Any] = {}
        weight = self._weight().cast("float64")
        for i, column in enumerate(asked):
            own = self._own(column).cast("float64").abs()
            totals |= {f"a{i}": (own * weight).sum(), f"b{i}": (own * weight / weight).sum()}
        row = self.remote.rows("sizes", self.universe.aggregate(**totals))[0] if totals else {}
        for i, column in enumerate(asked):
            refuse_large_sums(column, row[f"a{i}"], row[f"b{i}"] * 10.0**self._weight_decimals)

    def scale(self, variable: str | None) -> Scale:
        """Decimals of a variable; ``None`` counts records."""
        decimals = 0 if variable is None else self._decimals(variable)
        exact = variable is None or decimals <= MANY_DECIMALS or self.numbers.writes(variable, decimals)
        return Scale(decimals + self._weight_decimals, decimals, exact)

    @property
    def lightest(self) -> float | None:
        """The smallest weight."""
        return self._lightest

    @property
    def key_modulus(self) -> int:
        """What sums of record keys are taken to: whole numbers are added up as they are, which is 0."""
        name = self.data.record_key
        return 0 if name is None or self.numbers.kind(name) == "integer" else KEY_MODULUS

    # ---- cells --------------------------------------------------------------------------------------------

    def leaf_cells(self, plan: ColumnPlan) -> LeafCells:
        """Sums of the finest cells that have records."""
        self._refuse_large([*plan.columns, plan.watched])
        variables = plan.spec.variables
        if variables not in self._grouped:
            together = [ColumnPlan(spec, self) for spec in self._specs if spec.variables == variables]
            self._refuse_large(column for other in together for column in other.summed)
            self._grouped[variables] = self._ask(variables, [plan, *together])
        return coded_cells(self._grouped[variables], plan, self.data, self.key_modulus)

    def _ask(self, variables: tuple[str, ...], plans: Sequence[ColumnPlan]) -> Grouped:
        summed = list(dict.fromkeys(column for plan in plans for column in plan.summed))
        values = list(dict.fromkeys(plan.spec.value for plan in plans if plan.spec.value is not None))
        question = LeafQuestion(self.remote, self.universe, variables)
        found = question.ask(
            sums={column: self._weighted(column) for column in summed},
            nonzero={value: self._own(value) for value in values},
            whole=[c for c in summed if c is not None and c not in self.numbers.looked],
            key=(self.data.record_key, self.key_modulus) if self.data.record_key else None,
        )
        if not found.rows:
            self._refuse_no_records()
        for column, empty in found.empty.items():
            if empty:
                raise bad_numbers(column, empty, None, "are empty")
        for column, total in found.totals.items():
            if total >= LARGEST:
                self._refuse_large_values(column)
            refuse_large_sums(column, total)
        return found

    def _refuse_large_values(self, column: str) -> None:
        """Refuse single values that are too large, which is said in other words than that their sum is."""
        amount = read(self.remote, column)
        row = self.remote.rows("sizes", self.universe.aggregate(least=amount.min(), most=amount.max()))[0]
        to_units([row["least"], row["most"]], 0, column)

    def _refuse_no_records(self) -> NoReturn:
        there = self.remote.rows("count", self.remote.table.aggregate(n=self.remote.table.count()))[0]["n"]
        raise no_record_left(self._where) if there else no_records()

    # ---- contributors -------------------------------------------------------------------------------------

    def contributions(self, plan: ColumnPlan, level: str, wanted: WantedLists) -> tuple[Contributions, Holders | None]:
        """Contributors of every cell, found in the engine."""
        data, spec = self.data, plan.spec
        self._refuse_bad_marks()
        named = plan.names_holders(level)
        known = KnownRoles(self.weight_name is not None, bool(data.waiver), bool(data.request), named)
        who = self._who(level, named)
        if level == "holding":
            self._refuse_bad_contributors()
        values = plan.gives_values(level)
        same = plan.watched == spec.value and not known.weighted and (spec.absolute or self._never_negative(spec))
        amounts = RecordAmounts(
            self._records(plan, values, who, known),
            tuple(spec.hierarchies),
            known,
            level == "holding",
            values,
            spec.absolute,
            in_order=same and not wanted.above.signed,
        )
        return contributions_in(self.remote, amounts, who is not None and who.type().is_string(), wanted)

    def _never_negative(self, spec: TableSpec) -> bool:
        return spec.value is None or spec.value in self._grouped[spec.variables].positive

    def _records(self, plan: ColumnPlan, values: bool, who: Any, known: KnownRoles) -> Any:
        """One row for each record, with codes as positions."""
        spec = plan.spec
        own = self._own(plan.watched)
        columns = {"amount": own * 10**self._weight_decimals if self.weight_name else own}
        if known.weighted:
            columns["weighted"] = self._weighted(plan.watched)
        if values:
            columns["value"] = self._weighted(spec.value)
        if self.data.waiver:
            columns["refuses"] = 1 - self.numbers.plain(self.data.waiver).cast("int64")
        if self.data.request:
            asked = self.numbers.plain(self.data.request).cast("int64")
            columns |= {"asks1": asked % 2, "asks2": asked // 2}
        if who is not None:
            columns["who"] = who
        codes = {f"code{k}": read(self.remote, variable) for k, variable in enumerate(spec.variables)}
        found = self.universe.select(**columns, **codes)
        return self._positioned(found, spec.by, list(columns))

    def _positioned(self, records: Any, by: Mapping[str, Hierarchy], columns: Sequence[str]) -> Any:
        """Records with the positions of their codes and the keys of their finest cells."""
        import ibis

        grouped = self._grouped[tuple(by)]
        found = records
        missing: list[int] = []
        for k, (variable, hierarchy) in enumerate(by.items()):
            listing, gaps = positions_table(grouped, variable, hierarchy, self.data, k)
            there = self.remote.listing(listing)
            how = "inner" if gaps < 0 else "left"
            found = found.join(there, found[f"code{k}"] == there[f"listed{k}"], how=how)
            missing.append(gaps)
        strides = strides_of([len(h) for h in by.values()])
        places, cell = {}, ibis.literal(0, type="int64")
        for k, gaps in enumerate(missing):
            place = found[f"position{k}"].cast("int64")
            places[f"k{k}"] = place if gaps < 0 else place.fill_null(gaps)
            cell = cell + places[f"k{k}"] * strides[k]
        return found.select(*columns, cell=cell, **places)

    def _who(self, level: str, named: bool) -> Any:
        """Who contributes: the contributor, or the identifier of a record where records are told apart."""
        if level == "holding":
            return self._identifier(str(self.data.contributor))
        if not named:
            return None
        if len(self.data.identifier) != 1:
            raise NeedsError(
                "Records of a database have no order by which the largest contributors could be told apart.",
                hint="Name whom records belong to, Microdata(contributor=), or a column that numbers them, "
                "identifier=; or give holders=False.",
            )
        return self._identifier(self.data.identifier[0])

    def _identifier(self, name: str) -> Any:
        kind = kind_of(self.remote, name)
        column = read(self.remote, name)
        if kind == "decimal" and self.remote.column(name).type().scale == 0:
            return column.cast("decimal(38, 0)").cast("string")
        if kind not in ("text", "integer", "date"):
            raise InputError(
                f"Column {name!r} names contributors by {kind} numbers, which engines write differently.",
                hint="Make a column of text or whole numbers of it in the engine.",
            )
        return column.cast("string") if kind == "date" else column

    # ---- what is wrong with roles -------------------------------------------------------------------------

    def _refuse_bad_marks(self) -> None:
        data = self.data
        roles = ((data.waiver, (0, 1), bad_flags), (data.request, (0, 1, 2), bad_requests))
        for name, allowed, refuse in roles:
            if not name or name in self._checked:
                continue
            column = self.numbers.plain(name)
            row = self.remote.rows(
                "roles",
                self.universe.aggregate(
                    empty=column.isnull().sum().cast("int64"), wrong=column.notin(allowed).sum().cast("int64")
                ),
            )[0]
            if row["empty"]:
                raise bad_numbers(name, row["empty"], None, "are empty")
            if row["wrong"]:
                raise refuse(name)
            self._checked.add(name)

    def _refuse_bad_contributors(self) -> None:
        name = str(self.data.contributor)
        if f"contributor {name}" in self._checked:
            return
        column = read(self.remote, name)
        gaps = self.remote.rows("contributors", self.universe.aggregate(n=column.isnull().sum().cast("int64")))[0]["n"]
        if gaps:
            raise empty_contributors(name, gaps)
        if kind_of(self.remote, name) == "text":
            named = self.universe.select(who=column).distinct()
            odd = self.remote.fetch("contributors", named.filter(~named.who.re_search(f"^(?:{PLAIN_TEXT})$")))

            def among(wanted: list[str]) -> list[str]:
                there = self.remote.fetch("contributors", named.filter(named.who.isin(wanted)))
                return [str(who) for who in there["who"].to_pylist()]

            refuse_alike_contributors(name, sorted(odd["who"].to_pylist()), among)
        self._checked.add(f"contributor {name}")

    # ---- what only other engines have ---------------------------------------------------------------------

    def contributors(self, plan: ColumnPlan, level: str, rows: RowFinder) -> Iterator[ContributorRecords]:
        """Nothing: contributors are looked at in the engine, see :meth:`contributions`."""
        raise records_stay()

    def keyed(self, spec: TableSpec) -> Iterator[KeyedAmounts]:
        """Nothing: records stay where they are."""
        raise records_stay()
