"""Checking a saved release: that its files belong together, and everything that they claim."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from discreet.errors import DiscreetError, InputError, counted
from discreet.folders import as_one
from discreet.model.custodian import TableCustodian
from discreet.model.layout import PUBLIC_COLUMNS, PUBLIC_INTERVAL_COLUMNS
from discreet.model.public import PublicRelease, PublicTable
from discreet.trust import PublicKey
from discreet.verify.check import check_release
from discreet.verify.custodian import (
    Interval,
    check_intervals,
    read_custodian,
    read_descriptions,
    read_with_intervals,
)
from discreet.verify.description import check_names
from discreet.verify.formats import CHECKS, NEEDS, Different, ShownTable, Words, check_csv
from discreet.verify.formats.shown import inert
from discreet.verify.manifest import NoRelease, as_seal, check_files, refuse_unsaved
from discreet.verify.public import codes_told, public_decimals, tells_all
from discreet.verify.records.files import check_record_folder, is_of_records
from discreet.verify.restricted import check_restricted
from discreet.verify.verdict import Verdict

Result = TypeVar("Result")
__all__ = ["check_folder", "read_custodian", "refuse_unsaved"]

BROKEN = (KeyError, ValueError, TypeError, IndexError, AttributeError, ArithmeticError, RecursionError, OSError)
"""Errors of files that are not what they should be."""


def check_folder(folder: Path | str, *, seal: str | None = None, public_key: Path | str | None = None) -> Verdict:
    """Re-check a saved release, files and claims, as it stood at one moment.

    Parameters
    ----------
    folder
        The release.
    seal
        Its seal as it was kept elsewhere: a release that somebody changed and sealed anew is refused.
    public_key
        File of the office's public key: a release that was not signed with its signing key is refused.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     seal = release.save(f"{parent}/out")
    ...     print(ds.check_folder(f"{parent}/out", seal=seal).holds)
    True
    """
    folder = Path(folder)
    kept = None if seal is None else as_seal(seal)
    key = None if public_key is None else PublicKey.from_file(public_key)
    refuse_unsaved(folder)
    return as_one(folder, lambda place: _check_folder(place, kept, key))


def _check_folder(folder: Path, kept: str | None, key: PublicKey | None) -> Verdict:
    verdict = Verdict()
    files = _guarded(verdict, "files", lambda: check_files(verdict, folder, kept, key))
    if verdict.refused or files is None:
        return verdict
    if is_of_records(files):
        _check_records(verdict, folder, files, sealed=kept is not None or key is not None)
        return verdict
    read = _guarded(verdict, "files", lambda: _read(verdict, folder, files))
    if verdict.refused or read is None:
        return verdict
    custodian, public, stated = read
    facts = [FactsSeen(evidence.facts) for evidence in custodian.evidence]
    pairs = zip(custodian.evidence, facts, strict=True)
    custodian = replace(custodian, evidence=tuple(replace(evidence, facts=noted) for evidence, noted in pairs))
    _say_how_sealed(verdict, kept is not None or key is not None)
    claims = _guarded(verdict, "claims", lambda: check_release(custodian, public))
    if claims is None:
        return verdict
    verdict.add(claims)
    for evidence, noted in zip(custodian.evidence, facts, strict=True):
        if noted.unread():
            verdict.asserted.append(f"what {evidence.claim.method} says of its work: {noted.unread()}")
    if verdict.holds:
        _guarded(verdict, "claims", lambda: check_intervals(verdict, custodian, stated))
    return verdict


def _say_how_sealed(verdict: Verdict, sealed: bool) -> None:
    verdict.proved.append("evidence and files belong together (digests)")
    if not sealed:
        verdict.asserted.append(
            "that nobody changed files and digests alike (a seal kept elsewhere or a signature would show it)"
        )


def _check_records(verdict: Verdict, folder: Path, files: frozenset[str], sealed: bool) -> None:
    _say_how_sealed(verdict, sealed)
    _guarded(verdict, "claims", lambda: check_record_folder(verdict, folder, files))


class FactsSeen(Mapping[str, Any]):
    """Facts that remember which of them were looked at: the others are only asserted, and the verdict says so."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.facts, self.seen = facts, set[str]()

    def __getitem__(self, name: str) -> Any:
        self.seen.add(name)
        return self.facts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)

    def unread(self) -> str:
        """What nobody looked at, in words."""
        return ", ".join(f"{name} {str(self.facts[name])[:60]}" for name in self.facts if name not in self.seen)


def _guarded(verdict: Verdict, check: str, work: Callable[[], Result]) -> Result | None:
    """What some work on files of others gives; an error is a reason against them, unless there is no release at all."""
    try:
        return work()
    except NoRelease:
        raise
    except DiscreetError as error:
        verdict.refuse(check, str(error))
    except BROKEN as error:
        verdict.refuse(check, f"the custodian's files are not well formed ({type(error).__name__})")
    return None


def _read(
    verdict: Verdict, folder: Path, files: frozenset[str]
) -> tuple[TableCustodian, PublicRelease, list[Interval]]:
    """All files of a release, each looked at."""
    description, _ = read_descriptions(folder)
    belong = {f"custodian/{name}" for name in (*check_names(description), *BESIDES)}
    for name in sorted(files):
        if name.startswith("custodian/") and name not in belong:
            verdict.refuse("files", "a custodian file is not one that the release speaks of", name)
    custodian, stated = read_with_intervals(folder)
    words = Words(**description["heading"])
    verdict.asserted.append(
        "names and labels of the public files, and what stands above them: "
        + ", ".join(f"{name} {text!r}" for name, text in words._asdict().items() if text)
    )
    names = [entry["file"] for entry in description["tables"]]
    public = _read_public(verdict, folder, custodian, words, names, files)
    shown = [ShownTable(table, words) for table in public.tables]
    check_restricted(verdict, folder, custodian, shown, names, files)
    return custodian, public, stated


BESIDES = ("key.txt", "report.html")
"""Files of the custodian that no description names."""


def _read_public(
    verdict: Verdict, folder: Path, custodian: TableCustodian, words: Words, names: list[str], files: frozenset[str]
) -> PublicRelease:
    """Public csv files read line by line, and every public file held against what the published cells give."""
    made = []
    for number, name in enumerate(names):
        path = folder / "public" / name
        if f"public/{name}" not in files:
            raise InputError(f"The public file {name!r} is missing.")
        made.append(_read_public_csv(verdict, path, custodian, number))
    if verdict.refused:
        return PublicRelease(tuple(made))
    shown = {name.removesuffix(".csv"): ShownTable(table, words) for name, table in zip(names, made, strict=True)}
    for file in sorted(files):
        place, _, name = file.partition("/")
        if place == "public":
            _check_public_file(verdict, folder / file, shown, name in names)
    return PublicRelease(tuple(made))


def _check_public_file(verdict: Verdict, path: Path, tables: Mapping[str, ShownTable], is_csv: bool) -> None:
    """A public file is what the published cells give, and nothing else."""
    if is_csv:
        suffix = ".csv"
    else:
        endings = [s for s in CHECKS if path.name.endswith(s) and path.name.removesuffix(s) in tables]
        if not endings:
            verdict.refuse("public", "a public file is not one that the checker can read back", path.name)
            return
        suffix = endings[0]
    for needed, extra in NEEDS.get(suffix, ()):
        if not any(find_spec(package) for package in needed):
            verdict.refuse(
                "public", f"a public file cannot be checked here: run pip install 'discreet[{extra}]'", path.name
            )
            return
    check = check_csv if is_csv else CHECKS[suffix]
    try:
        open_question = check(path.read_bytes(), tables[path.name.removesuffix(suffix)])
    except Different as error:
        verdict.refuse("public", str(error), path.name)
        return
    verdict.proved.append(f"{path.name} shows the same cells" if not is_csv else f"{path.name} holds cells only")
    if open_question is not None:
        verdict.asserted.append(f"of {path.name}, {open_question}")


def _read_public_csv(verdict: Verdict, path: Path, custodian: TableCustodian, number: int) -> PublicTable:
    table, altered, wide = custodian.tables.tables[number], custodian.published is not None, bool(custodian.intervals)
    decimals, letter = public_decimals(custodian, number), "A" if altered else "V"
    index = [{inert(c): i for i, c in enumerate(h.codes)} for h in table.spec.hierarchies]
    columns = PUBLIC_INTERVAL_COLUMNS if wide else PUBLIC_COLUMNS
    cells = _CsvColumns([], [], [], [], [], [])
    try:
        lines = csv.reader(io.StringIO(path.read_bytes().decode("utf-8"), newline=""), strict=True)
        if next(lines, None) != [*map(inert, table.variables), *columns]:
            verdict.refuse("public", "a public file has other columns than codes, value and status", path.name)
            return _public(custodian, number, decimals, cells)
        for place, line in enumerate(lines, start=2):
            full = len(line) == len(index) + len(columns)
            value, status = (line[len(index)], line[-1]) if full else ("", "")
            interval, words = line[-3:-1] if wide and full else ["", ""], line[: len(index)]
            good = full and all(w in i for w, i in zip(words, index, strict=True))
            good = good and status in (letter, "X", "E") and (value != "") == (status == letter)
            good = good and (interval[0] != "") == (interval[1] != "") and (value != "" or interval[0] == "")
            if not good:
                verdict.refuse("public", f"line {place} is not a cell of the table", path.name)
                continue
            units = _units(value, decimals, path.name) if value else 0
            cells.codes.append([i[w] for w, i in zip(words, index, strict=True)])
            cells.values.append(units)
            for column, end in zip((cells.lower, cells.upper), interval, strict=True):
                column.append(_units(end, decimals, path.name) if end else units)
            cells.shown.append(status == letter)
            cells.empty.append(status == "E")
    except (csv.Error, UnicodeDecodeError) as error:
        verdict.refuse("public", f"a public file cannot be read back ({type(error).__name__})", path.name)
    return _public(custodian, number, decimals, cells)


class _CsvColumns(NamedTuple):
    """Columns of a public csv file."""

    codes: list[list[int]]
    values: list[int]
    lower: list[int]
    upper: list[int]
    shown: list[bool]
    empty: list[bool]


def _units(text: str, decimals: int, name: str) -> int:
    shape = rf"-?[0-9]{{1,40}}\.[0-9]{{{decimals}}}" if decimals else r"-?[0-9]{1,40}"
    if not re.fullmatch(shape, text, re.ASCII) or abs(int(text.replace(".", ""))) >= 2**63:
        raise InputError(
            f"The public file {name!r} holds a value that is not a number with {counted(decimals, 'decimal')}."
        )
    return int(text.replace(".", ""))


def _public(custodian: TableCustodian, number: int, decimals: int, cells: _CsvColumns) -> PublicTable:
    """A public table as its csv file lists it, with the words that belong to its codes."""
    table, altered = custodian.tables.tables[number], custodian.published is not None
    places = np.array(cells.codes, np.int32).reshape(-1, len(table.variables))
    told: list[list[int]] = []
    for k, hierarchy in enumerate(table.spec.hierarchies):
        every = not altered or tells_all(table)
        told.append(sorted(range(len(hierarchy)) if every else codes_told(hierarchy, set(places[:, k].tolist()))))
    numbers = [{place: i for i, place in enumerate(mine)} for mine in told]
    hierarchies = list(zip(table.spec.hierarchies, told, numbers, strict=True))
    wide = custodian.intervals is not None
    return PublicTable(
        name=table.name,
        variables=table.variables,
        code_lists=tuple(tuple(h.codes[i] for i in mine) for h, mine, _ in hierarchies),
        labels=tuple(
            {h.codes[i]: h.labels[h.codes[i]] for i in mine if h.codes[i] in h.labels} for h, mine, _ in hierarchies
        ),
        codes=np.column_stack([np.searchsorted(mine, places[:, k]) for k, mine in enumerate(told)]).astype(np.int32),
        value=np.array(cells.values, np.int64),
        decimals=decimals,
        shown=np.array(cells.shown, np.bool_),
        empty=np.array(cells.empty, np.bool_),
        altered=altered,
        lower=np.array(cells.lower, np.int64) if wide else None,
        upper=np.array(cells.upper, np.int64) if wide else None,
        coverage=custodian.coverage,
        parents=tuple(tuple(at.get(int(h.parents[i]), -1) for i in mine) for h, mine, at in hierarchies),
        measure=table.spec.value or "",
        period=table.spec.period,
    )
