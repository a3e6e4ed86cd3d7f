"""Methods side by side: what each leaves at risk, and what it costs the users of the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from discreet.comparison.fair import FairRisk
from discreet.comparison.measured import Seen, measured
from discreet.comparison.measured_besides import Extra
from discreet.comparison.naming import method_name, unlike
from discreet.comparison.records import compare_records
from discreet.comparison.result import Comparison
from discreet.comparison.utility_axes import chosen
from discreet.comparison.writing import DONE, ended
from discreet.errors import NeedsError, ParameterError, listed
from discreet.folders import as_one
from discreet.keys import Key
from discreet.measures.imputation import Imputation
from discreet.methods.base import RecordMethod, TablePublisher
from discreet.model.already import AlreadyPublished
from discreet.model.microdata import Microdata
from discreet.model.release import Release
from discreet.model.spec import TableSpec
from discreet.model.table import Table
from discreet.model.tableset import TableSet, as_set
from discreet.parallel import by_jobs, by_name
from discreet.progress import checkpoint
from discreet.relations import System, build_system
from discreet.rules.base import Rule
from discreet.verbs.already import Items, gather
from discreet.verbs.assess import assess
from discreet.verbs.audit import audit
from discreet.verbs.protect import protect, refuse_unassessed
from discreet.verbs.tabulate import tabulate
from discreet.verify import check_folder, check_release
from discreet.verify.folder import read_custodian, refuse_unsaved
from discreet.watching import watched

Tried = TablePublisher | Release | str | Path
Compared = Tried | RecordMethod | Sequence[RecordMethod]


@watched
def compare(
    data: Any,
    methods: Sequence[Compared] | Mapping[str, Compared],
    *,
    tables: Sequence[TableSpec] | None = None,
    rules: Sequence[Rule] = (),
    runs: int = 1,
    seed: int = 0,
    attack: bool = True,
    sample: int | None = None,
    threads: int | None = None,
    jobs: int | None = None,
    already_published: Items = None,
    fair: FairRisk | str | None = None,
    utility: str | Sequence[str] = (),
    imputation: Imputation | None = None,
    rows: str | None = None,
) -> Comparison:
    """Run methods on the same tables, attack what each would publish, and measure what it costs.

    Nothing is published. A method that cannot take the tables is "not applicable", one that fails says why, and
    neither stops the others.

    Parameters
    ----------
    data
        A table or set; or records (:class:`~discreet.Microdata`, a data frame or a file), with ``tables``. Records
        with keys or numbers and without ``tables`` are compared as records: how rare combinations of keys are, how many
        records are found again by their numbers, and what is lost.
    methods
        Methods, each with its parameters; and releases or their folders, which are measured as they are. A mapping
        gives them names of one's own.
    tables
        What to tabulate from records.
    rules
        Which cells are unsafe, where the tables are not assessed yet.
    runs
        How often methods that draw at random run, each time with another key.
    seed
        The keys of these runs are made of it, whatever keys the methods name: the same seed gives the same frame. They
        are no secret, so that nothing of a comparison may be published.
    attack
        Audit what is published. Without it, risks that need an attacker are left out.
    sample
        Audit so many unsafe cells, chosen at random, instead of all.
    threads
        How many methods run at the same time; by default one a processor. The result does not depend on it.
    jobs
        Instead: how many processes share methods and runs, through joblib (``discreet[jobs]``), on this machine or
        where ``joblib.parallel_config(backend=...)`` says. Tables, and records if methods ask for them, are sent there.
    already_published
        What is out already, as in :func:`protect`.
    fair
        Of counts: measure risk and loss through expected inner cells too (``fair_...``). The variable that an intruder
        guesses, or a :class:`FairRisk` with more to say.
    utility
        Measures of :func:`utility` to take besides (``utility_...``), of the finest cells; ``"all"`` for every one that
        can stand on an axis.
    imputation, rows
        For these: how readers fill withheld cells, and the variable whose codes are the rows. Without an imputation,
        methods that withhold cells have no such measures, and a note says so.

    Returns
    -------
    Comparison
        With ``to_frame()``, ``summary()``, ``map()``, ``plot()`` and ``page()``.

    Raises
    ------
    ParameterError
        When two methods have the same name, something is no method, or a release is of other tables.

    Notes
    -----
    Sources: Langsrud (2021) and Massell, Zayatz and Funk (2006, measures).

    Examples
    --------
    >>> import discreet as ds
    >>> table = ds.examples.small_table().assess(ds.PPercent(10))
    >>> found = ds.compare(table, [ds.Suppress(), ds.Round(base=10, levels=False)])
    >>> [(point.name, point.spots["risk"].mean) for point in found.risk_map.points]
    [('Suppress()', 0.0), ('Round(base=10, levels=False)', 1.0)]
    """
    _refuse(runs, seed, sample, threads, jobs)
    if isinstance(data, Microdata) and tables is None:
        return compare_records(data, methods, runs=runs, seed=seed, jobs=jobs)
    named = _named(methods)
    whole = assessed_tables(data, tables, rules)
    for table in whole:
        refuse_unassessed(table)
    already = gather(whole, already_published)
    system = build_system(whole, already)
    system.check_additive()
    system.check_bounds()
    alone = build_system(whole) if system.already.together_with() else system
    given = {name: _given(name, tried, alone) for name, tried in named.items() if not isinstance(tried, TablePublisher)}
    extra = Extra.of(whole, fair, chosen(utility), imputation, rows)
    job = _Job(whole, already, seed, attack, sample, extra)
    threads = jobs or threads or _processors()
    cut: list[tuple[str, _Piece]] = []
    for name, tried in named.items():
        many = runs if isinstance(tried, TablePublisher) and tried.secret else 1
        for part in _parts(many, threads):
            title = name if len(part) == many else f"{name}, runs {part[0] + 1} to {part[-1] + 1}"
            cut.append((title, _Piece(name, given.get(name, tried), part)))
    pieces = unlike(cut)
    found = by_name("compare", job.tried, pieces, threads) if jobs is None else _by_jobs(job, pieces, jobs)
    seconds = dict.fromkeys(named, 0.0)
    for title, (_, took) in found.items():
        seconds[pieces[title].name] += took
    return Comparison(tuple(row for made, _ in found.values() for row in made), seconds, extra.axes)


def _by_jobs(job: _Job, pieces: Mapping[str, _Piece], jobs: int) -> dict[str, Any]:
    """What processes of their own find; releases that were made before stay, because only their public part goes."""
    for table in job.tables:
        if isinstance(table.source, Microdata) and table.source.engine == "remote":
            raise NeedsError(
                f"jobs= sends tables with their records to other processes, and those of {table.name!r} stay in their "
                "engine.",
                hint="Give threads= instead.",
            )
    here = {title: piece for title, piece in pieces.items() if isinstance(piece.tried, _GivenRelease)}
    found = by_name("compare", job.tried, here, jobs) if here else {}
    found |= by_jobs("compare", job.tried, {title: piece for title, piece in pieces.items() if title not in here}, jobs)
    return {title: found[title] for title in pieces}


def _parts(runs: int, threads: int) -> list[range]:
    """Runs in as many parts as there are threads, so that these share one method with many runs."""
    parts = min(runs, threads)
    ends = [runs * i // parts for i in range(parts + 1)]
    return [range(first, last) for first, last in pairwise(ends)]


class _Piece(NamedTuple):
    """Some runs of one method, or one release."""

    name: str
    tried: Any
    runs: range


class _GivenRelease(NamedTuple):
    """A release that was made before, and what speaks against its evidence."""

    release: Release
    flag: str


@dataclass(frozen=True, eq=False)
class _Job:
    """What is done to every method."""

    tables: TableSet
    already: AlreadyPublished
    seed: int
    attack: bool
    sample: int | None
    extra: Extra

    def tried(self, title: str, piece: _Piece) -> tuple[list[dict[str, Any]], float]:
        """The rows of some runs, and how long they took."""
        start = perf_counter()
        rows = []
        for done, run in enumerate(piece.runs):
            checkpoint("runs", done, len(piece.runs))
            rows.append(self._row(piece.name, run, piece.tried))
        return rows, perf_counter() - start

    def _row(self, name: str, run: int, tried: TablePublisher | _GivenRelease) -> dict[str, Any]:
        row = {"method": name, "run": run, "status": DONE, "flag": "", "note": ""}
        row |= dict.fromkeys(axis.name for axis in self.extra.axes)
        try:
            release, row["flag"] = tried if isinstance(tried, _GivenRelease) else self._made(tried, run)
            row |= self._measured(release)
        except Exception as error:  # one that fails must not stop the others; its row says why
            row["status"] = ended(error)
        return row

    def _made(self, method: TablePublisher, run: int) -> _GivenRelease:
        key = Key.from_seed(self.seed + run) if method.secret else None
        release = protect(self.tables, method, already_published=self.already, key=key)
        return _GivenRelease(release, _flag(check_release(release.custodian, release.public).refused))

    def _measured(self, release: Release) -> dict[str, Any]:
        found = None
        if self.attack:
            found = audit(release, sample=self.sample, seed=self.seed)
        note = {}
        if found is not None and found.not_audited:
            # Nothing found by nobody is no risk of zero: the measures of attackers stay empty.
            note = {"note": f"not audited: {found.not_audited}"}
            found = None
        custodian = release.custodian
        system = build_system(custodian.tables, custodian.already) if found is None else found.system
        return measured(Seen(release, system, found)) | self.extra.measured(release, system) | note


def _flag(refused: Sequence[object]) -> str:
    """What speaks against the evidence of a release; nothing where it verifies."""
    if not refused:
        return ""
    more = f" and {len(refused) - 1} more reasons" if len(refused) > 1 else ""
    return f"its evidence does not verify: {refused[0]}{more}"


def _processors() -> int:
    import numba

    return int(numba.get_num_threads())


def _refuse(runs: object, seed: object, sample: object, threads: object, jobs: object) -> None:
    given = (("runs", runs, 1), ("threads", threads, 1), ("jobs", jobs, 1), ("sample", sample, 1), ("seed", seed, 0))
    for name, number, least in given:
        allowed = number is None and name in ("threads", "jobs", "sample")
        if not allowed and (isinstance(number, bool) or not isinstance(number, int) or number < least):
            raise ParameterError(f"{name}={number!r} is not allowed.", hint=f"Give a whole number of at least {least}.")


def _named(methods: Any) -> dict[str, Tried]:
    """Methods and releases by name."""
    hint = "For example [ds.Suppress(), ds.Round(base=5)], or a mapping of names."
    if isinstance(methods, str | Path | TablePublisher | Release) or not methods:
        raise ParameterError("There are no methods to compare.", hint=hint)
    pairs = list(methods.items()) if isinstance(methods, Mapping) else [(method_name(m), m) for m in methods]
    for _, tried in pairs:
        if not isinstance(tried, TablePublisher | Release | str | Path):
            raise ParameterError(f"Cannot compare a {type(tried).__name__}.", hint=hint)
    return unlike(pairs)


def assessed_tables(data: Any, specs: Sequence[TableSpec] | None, rules: Sequence[Rule]) -> TableSet:
    """The assessed tables."""
    if isinstance(data, Table | TableSet):
        if specs is not None:
            raise ParameterError("tables= goes with records; tables were given.", hint="Leave it out.")
        whole = as_set(data)
    else:
        if specs is None:
            raise ParameterError(
                f"Cannot compare methods on a {type(data).__name__} alone.",
                hint="Give a table, or records with tables=[ds.TableSpec(...)] and rules=[...].",
            )
        made = tabulate(data if isinstance(data, Microdata) else Microdata(data), specs=specs)
        whole = as_set(made)
    if not rules:
        return whole
    if any(table.assessment is not None for table in whole):
        raise ParameterError("The tables are assessed already.", hint="Leave rules= out.")
    return assess(whole, *rules)


def _given(name: str, tried: Any, system: System) -> _GivenRelease:
    """A release to be measured as it is; one of other tables, or with other levels, is refused."""
    if isinstance(tried, Release):
        release, refused = tried, check_release(tried.custodian, tried.public).refused
    else:
        refuse_unsaved(Path(tried))
        refused, custodian = as_one(Path(tried), lambda place: (check_folder(place).refused, read_custodian(place)))
        release = Release(custodian.public(), custodian)
    theirs = build_system(release.custodian.tables)
    mine = list(system.tables)
    other = list(release.custodian.tables)
    if [t.name for t in mine] != [t.name for t in other]:
        raise ParameterError(
            f"Release {name!r} is of other tables: {listed(t.name for t in other)} instead of "
            f"{listed(t.name for t in mine)}.",
            hint="Compare releases of the same tables.",
        )
    for one, two in zip(mine, other, strict=True):
        scale = [10 ** (max(one.decimals, two.decimals) - t.decimals) for t in (one, two)]
        mine_codes, their_codes = ([t.spec_codes(row) for row in t.codes.tolist()] for t in (one, two))
        if mine_codes != their_codes or not np.array_equal(one.value * scale[0], two.value * scale[1]):
            raise ParameterError(
                f"Release {name!r} is of another table {one.name!r}: its cells or their values differ.",
                hint="Compare releases of the same tables.",
            )
    levels = ("unsafe", "lower_level", "upper_level")
    of_mine, of_theirs = (np.concatenate(s.of[: len(mine)]) for s in (system, theirs))
    scale = [10 ** (max(system.decimals, theirs.decimals) - s.decimals) for s in (system, theirs)]
    for level in levels:
        one_level, two_level = (
            getattr(s, level)[of] * k for s, of, k in zip((system, theirs), (of_mine, of_theirs), scale, strict=True)
        )
        if not np.array_equal(one_level, two_level):
            raise ParameterError(
                f"Release {name!r} was assessed by other rules: its unsafe cells or their levels differ.",
                hint="Assess the tables by the same rules, so that risks can be compared.",
            )
    return _GivenRelease(release, _flag(refused))
