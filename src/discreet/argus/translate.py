"""Batch files as recipes: every ``<SUPPRESS>`` with the files written after it is one recipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from discreet.argus.cell_keys import cell_key_record
from discreet.argus.commands import (
    AprioriFile,
    Batch,
    Clear,
    Command,
    Open,
    Protect,
    Read,
    RecodeCommand,
    SafetyRule,
    Say,
    Specify,
    WithoutEffect,
    Write,
)
from discreet.argus.methods import method_record
from discreet.argus.rules import TableRules, table_rules
from discreet.argus.toml import toml_text
from discreet.errors import InputError, ParameterError
from discreet.files.argus.outputs import KINDS
from discreet.files.argus.rda import ArgusMetadata, read_metadata
from discreet.files.argus.text import find_file, is_windows_path, wrong

COSTS = {"-1": "count", "-2": "unity", "-3": "distance"}
TOTALS = {"0": "given", "1": "computed", "1T": "computed_keep_status", "2": "as_they_are"}


@dataclass
class Job:
    """One protection: the recipe as plain data, its line, and what the log should say of it."""

    line: int
    recipe: dict[str, Any]
    tables: tuple[int, ...]
    notes: list[str] = field(default_factory=list)
    protected: bool = True
    files: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The recipe as TOML."""
        return toml_text(self.recipe)


@dataclass(frozen=True)
class Translation:
    """A batch as jobs, files about the run, and what the log should say."""

    jobs: tuple[Job, ...]
    says: tuple[Say, ...]
    notes: tuple[str, ...]


@dataclass
class _Table:
    """A table as far as it has been specified."""

    specify: Specify
    data: str
    metadata: str
    described: ArgusMetadata
    rules: SafetyRule | None = None
    totals: str = "0"
    recode: dict[str, str | int] = field(default_factory=dict)
    apriori: list[dict[str, Any]] = field(default_factory=list)
    name: str = ""


def translate(
    batch: Batch,
    folder: Path,
    *,
    strict: bool = False,
    data_folder: Path | None = None,
    allow_outside: bool = False,
) -> Translation:
    """Turn a batch into jobs.

    Parameters
    ----------
    batch
        What :func:`~discreet.argus.parse.read_batch` found.
    folder
        Where the batch file lies.
    strict
        Keep to what τ-ARGUS does: patterns as its algorithms propose them.
    data_folder
        Where files are looked for that do not lie beside the batch; output goes there then.
    allow_outside
        Let it name files outside these two folders.
    """
    return _Translator(batch, folder.resolve(), strict, data_folder, allow_outside).run()


class _Translator:
    """Goes through the commands in order; what comes too early is an error."""

    def __init__(self, batch: Batch, folder: Path, strict: bool, data_folder: Path | None, allow_outside: bool) -> None:
        self.allow_outside = allow_outside
        self.batch, self.folder, self.strict = batch, folder, strict
        self.places = [folder] if data_folder is None else [folder, data_folder.resolve()]
        self.output = self.places[-1]
        self.notes: list[str] = list(batch.notes)
        self.jobs: list[Job] = []
        self.says: list[Say] = []
        self._clear()

    def _clear(self) -> None:
        self.data: list[tuple[str, str]] = []
        self.metadata: list[str] = []
        self.tables: list[_Table] = []
        self.read = ""
        self.latest: dict[int, Job] = {}

    def run(self) -> Translation:
        """All jobs."""
        for command in self.batch.commands:
            self._do(command)
        if not self.jobs and not self.tables:
            raise self._wrong(self.batch.commands[-1], "the end of the batch", "a table and <SUPPRESS>")
        return Translation(tuple(self.jobs), tuple(self.says), tuple(dict.fromkeys(self.notes)))

    def _do(self, command: Command) -> None:
        if isinstance(command, Open):
            self._open(command)
        elif isinstance(command, Specify):
            self._specify(command)
        elif isinstance(command, SafetyRule):
            self._rule(command)
        elif isinstance(command, Read):
            self._read(command)
        elif isinstance(command, RecodeCommand):
            self._recode(command)
        elif isinstance(command, AprioriFile):
            self._apriori(command)
        elif isinstance(command, Protect):
            self._protect(command)
        elif isinstance(command, Write):
            self._write(command)
        elif isinstance(command, Say):
            self.says.append(replace(command, file=self._place(command, command.file)))
        elif isinstance(command, Clear):
            self._clear()
        elif isinstance(command, WithoutEffect):
            self._note(command, f"{command.text} is accepted and changes nothing: {command.why}.")

    def _wrong(self, command: Command, found: str, expected: str, hint: str = "") -> InputError:
        return wrong(self.batch.name, command.line, found, expected, hint)

    def _note(self, command: Command, text: str) -> None:
        self.notes.append(f"{self.batch.name}, line {command.line}: {text}")

    def _find(self, command: Command, name: str) -> str:
        """A file as the recipe names it: relative to the batch where it lies below it."""
        try:
            path = find_file(name, self.places, self.notes).resolve()
        except InputError as error:
            raise InputError(f"{self.batch.name}, line {command.line}: {error.message}", hint=error.hint) from None
        self._refuse_outside(command, path, name)
        return str(path.relative_to(self.folder)) if self.folder in path.parents else str(path)

    def _refuse_outside(self, command: Command, path: Path, name: str) -> None:
        """A batch may come from anywhere: it stays below its own folder and the data folder."""
        if not self.allow_outside and not any(place in path.parents for place in self.places):
            raise ParameterError(
                f"{self.batch.name}, line {command.line}: {name!r} lies outside the folder of the batch.",
                hint="Move it below, or run with --allow-outside.",
            )

    def _place(self, command: Command, name: str) -> str:
        """Where an output file goes, as the recipe names it."""
        plain = name.strip().replace("\\", "/")
        if is_windows_path(name) and (plain.startswith("/") or plain[1:2] == ":"):
            plain = plain.rsplit("/", 1)[-1]
            if not plain:
                raise self._wrong(command, name, "a file, not a folder")
            self._note(command, f"{name!r} is no path here; the file is written to {plain!r} beside the batch.")
        path = (self.output / plain).resolve()
        self._refuse_outside(command, path, name)
        return str(path.relative_to(self.folder)) if self.folder in path.parents else str(path)

    # ---- before the data are read --------------------------------------------------------------------------

    def _open(self, command: Open) -> None:
        if self.read:
            raise self._wrong(command, "a file opened after the data were read", "<CLEAR> first")
        if command.kind == "metadata":
            if len(self.metadata) >= len(self.data):
                raise self._wrong(command, "<OPENMETADATA>", "<OPENMICRODATA> or <OPENTABLEDATA> before it")
            self.metadata.append(self._find(command, command.file))
            return
        if self.data and (command.kind == "records" or self.data[0][0] != command.kind):
            raise self._wrong(command, f"a second file ({command.file})", "one file of records, or several of tables")
        if len(self.metadata) < len(self.data):
            raise self._wrong(command, f"another file ({command.file})", "<OPENMETADATA> for the one before it")
        self.data.append((command.kind, self._find(command, command.file)))

    def _specify(self, command: Specify) -> None:
        if self.read:
            raise self._wrong(command, "<SPECIFYTABLE> after the data were read", "<CLEAR> first")
        if not self.metadata or len(self.metadata) < len(self.data):
            raise self._wrong(command, "<SPECIFYTABLE>", "<OPENMETADATA> before it")
        kind, data = self.data[-1]
        described = read_metadata(self.folder / self.metadata[-1], "records" if kind == "records" else "cells")
        command = self._as_described(command, described)
        table = _Table(command, data, self.metadata[-1], described)
        self._check_variables(command, described)
        name = f"{command.response or 'Freq'}_by_{'_'.join(command.by)}"
        taken = {other.name for other in self.tables}
        table.name = name if name not in taken else f"{name}_{len(self.tables) + 1}"
        self.tables.append(table)

    def _as_described(self, command: Specify, described: ArgusMetadata) -> Specify:
        """Names as the metadata write them: τ-ARGUS does not look at capitals."""

        def named(name: str) -> str:
            return described.named(name).name if name and not name.startswith("-") else name

        by = tuple(named(name) for name in command.by)
        twice = [name for name in by if by.count(name) > 1]
        if twice:
            raise self._wrong(command, f"{twice[0]} twice", "each variable once, whatever its capitals")
        response, shadow, cost = (named(name) for name in (command.response, command.shadow, command.cost))
        return replace(command, by=by, response=response, shadow=shadow, cost=cost)

    def _check_variables(self, command: Specify, described: ArgusMetadata) -> None:
        for name in command.by:
            if not described[name].recodeable:
                raise self._wrong(command, f"{name} as a spanning variable", "one with <RECODEABLE> in the metadata")
        for name in (command.response, command.shadow, command.cost):
            if name and name not in COSTS and not name.startswith("-"):
                variable = described[name]
                if not (variable.numeric or variable.role or variable.weight):
                    raise self._wrong(command, f"{name} as a response, shadow or cost", "one with <NUMERIC>")
        if command.cost.startswith("-") and command.cost not in COSTS:
            raise self._wrong(command, f"cost {command.cost}", "a variable, -1 frequency, -2 unity or -3 distance")

    def _rule(self, command: SafetyRule) -> None:
        if not self.tables:
            raise self._wrong(command, "<SAFETYRULE>", "<SPECIFYTABLE> before it")
        if self.read:
            raise self._wrong(command, "<SAFETYRULE> after the data were read", "it before <READMICRODATA>")
        if self.tables[-1].rules is not None:
            raise self._wrong(command, "a second <SAFETYRULE>", "one for each <SPECIFYTABLE>")
        self.tables[-1].rules = command

    def _read(self, command: Read) -> None:
        if not self.tables:
            raise self._wrong(command, "the data to be read", "<SPECIFYTABLE> before them")
        kind = self.data[0][0]
        if kind != command.kind:
            word = "<READMICRODATA>" if kind == "records" else "<READTABLE>"
            raise self._wrong(command, "the other command for reading", word)
        self.read = kind
        for table in self.tables:
            table.totals = command.totals
            if kind == "records" and table.rules is None:
                raise self._wrong(table.specify, "<SPECIFYTABLE> without <SAFETYRULE>", "a rule for tables of records")

    # ---- after that ----------------------------------------------------------------------------------------

    def _table(self, command: Command, number: int) -> _Table:
        if not self.read:
            raise self._wrong(command, "a command about a table", "<READMICRODATA> or <READTABLE> before it")
        if not 1 <= number <= len(self.tables):
            raise self._wrong(command, f"table {number}", f"a table from 1 to {len(self.tables)}")
        return self.tables[number - 1]

    def _recode(self, command: RecodeCommand) -> None:
        table = self._table(command, command.table)
        if self.read != "records":
            raise self._wrong(command, "<RECODE> of a ready-made table", "tables of records")
        alike = [name for name in table.specify.by if name.lower() == command.variable.lower()]
        if len(alike) != 1:
            raise self._wrong(command, command.variable, f"a variable of the table: {', '.join(table.specify.by)}")
        how = command.how if isinstance(command.how, int) else self._find(command, command.how)
        table.recode[alike[0]] = how
        self.latest.pop(command.table, None)

    def _apriori(self, command: AprioriFile) -> None:
        table = self._table(command, command.table)
        entry: dict[str, Any] = {"file": self._find(command, command.file)}
        if command.separator != ",":
            entry["separator"] = command.separator
        entry |= {name: True for name in ("ignore", "expand") if getattr(command, name)}
        table.apriori.append(entry)
        self.latest.pop(command.table, None)

    def _protect(self, command: Protect) -> None:
        numbers = range(1, len(self.tables) + 1) if command.table == 0 else [command.table]
        for number in numbers:
            self._table(command, number)
        job = self._job(command, list(numbers))
        notes: list[str] = []
        try:
            if command.method == "CKM":
                record = self._cell_keys(command, self.tables[command.table - 1], notes)
            else:
                record = method_record(command, [self._rules(n) for n in numbers], self.strict, notes)
        except ParameterError as error:
            raise ParameterError(f"{self.batch.name}, line {command.line}: {error.message}", hint=error.hint) from None
        if record["method"] == "suppress":
            record = {**record, **self._cost(command, [self.tables[n - 1] for n in numbers])}
        job.recipe["protect"] = [record]
        job.notes += notes
        for number in numbers:
            self.latest[number] = job

    def _cell_keys(self, command: Protect, table: _Table, notes: list[str]) -> dict[str, Any]:
        def find(name: str) -> str:
            return self._find(command, name)

        return cell_key_record(command.files, table.specify.response, table.described, find, notes)

    def _write(self, command: Write) -> None:
        table = self._table(command, command.table)
        job = self.latest.get(command.table)
        if job is None:
            job = self._job(command, [command.table])
            job.protected = False
            job.recipe["protect"] = [{"method": "suppress"}]
            job.notes.append(
                f"Table {command.table} is written before it is protected: only its unsafe cells are withheld, and "
                "they can be worked out. The file is confidential."
            )
            self.latest[command.table] = job
        path = self._place(command, command.file)
        entry = {"file": path, "kind": KINDS[command.kind], "table": table.name}
        if command.options:
            entry["options"] = command.options
        job.recipe["output"].setdefault("argus", []).append(entry)
        job.files.append(path)

    # ---- the recipe ----------------------------------------------------------------------------------------

    def _rules(self, number: int) -> TableRules:
        table = self.tables[number - 1]
        return table_rules(table.rules, table.described, table.name, bool(table.specify.response), self.batch.name)

    def _job(self, command: Command, numbers: Sequence[int]) -> Job:
        found = [self._rules(number) for number in numbers]
        first = found[0]
        for other in found[1:]:
            if (other.missing_safe, other.manual_range) != (first.missing_safe, first.manual_range):
                raise self._wrong(command, "linked tables with different MIS or MAN", "the same for all of them")
        self._check_linked(command, numbers)
        tables = [self.tables[number - 1] for number in numbers]
        kind, key = ("file", "records") if self.read == "records" else ("cells", "cells")
        data: dict[str, Any] = {kind: tables[0].data, "metadata": tables[0].metadata}
        several = key == "cells" and any((t.data, t.metadata) != (tables[0].data, tables[0].metadata) for t in tables)
        rules = [record for each in found for record in each.records]
        if len(tables) == 1:
            rules = [{name: value for name, value in record.items() if name != "tables"} for record in rules]
        number = len(self.jobs) + 1
        directory = self.output / f"{Path(self.batch.name).stem}.release-{number}"
        inside = self.folder in directory.parents
        recipe: dict[str, Any] = {
            "version": 1,
            "data": data,
            "assess": {"profile": "argus", **_assess(first)},
            "tables": [self._part(t, r, several) for t, r in zip(tables, found, strict=True)],
            "rules": rules,
            "protect": [],
            "output": {"directory": str(directory.relative_to(self.folder)) if inside else str(directory)},
        }
        job = Job(command.line, recipe, tuple(numbers), [note for each in found for note in each.notes])
        self.jobs.append(job)
        return job

    def _check_linked(self, command: Command, numbers: Sequence[int]) -> None:
        """A variable that is recoded in one linked table only would hide which cells are the same."""
        tables = [self.tables[number - 1] for number in numbers]
        for table in tables:
            for variable, how in table.recode.items():
                others = [t for t in tables if variable in t.specify.by and t.recode.get(variable) != how]
                if others:
                    raise self._wrong(
                        command, f"{variable} recoded in one of the linked tables only",
                        f"the same recode of {variable} in all of them",
                    )  # fmt: skip

    def _part(self, table: _Table, rules: TableRules, several: bool) -> dict[str, Any]:
        part: dict[str, Any] = {"name": table.name, "by": list(table.specify.by)}
        if table.specify.response:
            part["value"] = table.specify.response
            decimals = table.described[table.specify.response].decimals
            if decimals is not None and self.read == "records":
                part["decimals"] = decimals
        if self.read == "records":
            if not rules.weighted:
                part["weight"] = False
            if rules.all_cells:
                part["cells"] = "all"
            if table.specify.shadow and table.specify.shadow != table.specify.response:
                part["shadow"] = table.specify.shadow
            if self._cost_variable(table):
                part["cost"] = table.specify.cost
        else:
            if table.totals != "0":
                part["totals"] = TOTALS[table.totals]
            if several:
                part |= {"source": table.data, "metadata": table.metadata}
        if table.recode:
            part["recode"] = dict(table.recode)
        if table.apriori:
            part["apriori"] = [dict(entry) for entry in table.apriori]
        return part

    def _cost_variable(self, table: _Table) -> bool:
        cost = table.specify.cost
        return bool(cost) and cost not in COSTS and cost != table.specify.response

    def _cost(self, command: Command, tables: Sequence[_Table]) -> dict[str, Any]:
        costs = {(t.specify.cost if t.specify.cost != t.specify.response else "", t.specify.exponent) for t in tables}
        if len(costs) > 1:
            raise self._wrong(command, "linked tables with different costs", "the same cost for all of them")
        cost, exponent = costs.pop()
        kind = "value" if not cost else COSTS.get(cost, "variable")
        if kind == "distance":
            self._note(
                command, "distance is the number of relations between cells; <DISTANCE> of the metadata is not used."
            )
        if exponent == 0:
            if kind != "value":
                raise self._wrong(command, "lambda 0 (the logarithm)", "it for the response itself only")
            return {"cost": "log"}
        return {"cost": kind, **({} if exponent == 1 else {"exponent": exponent})}


def _assess(rules: TableRules) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if rules.missing_safe:
        found["missing_safe"] = True
    if rules.manual_range is not None:
        found["manual_range"] = rules.manual_range
    return found
