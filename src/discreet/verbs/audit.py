"""What an attacker can work out from a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, Final, Literal, NamedTuple, overload

import numpy as np

from discreet.attack import Audit, External, attack_by_insiders, attack_by_pairs
from discreet.attack.record_audit import RecordAudit
from discreet.attack.whole import attack_whole
from discreet.errors import InputError, ParameterError, counted, listed
from discreet.methods.base import publisher_from_record
from discreet.methods.outcome import NotAudited, Reading
from discreet.model.arrays import Bools, Status
from discreet.model.claims.altered import MADE_INTERVALS
from discreet.model.claims.base import EXTERNAL
from discreet.model.claims.suppression import EXTERNAL_WITHIN, INSIDERS, JOINT, TOGETHER, judged_sums
from discreet.model.custodian import RecordCustodian, TableCustodian
from discreet.model.pattern import Pattern
from discreet.model.release import Release
from discreet.model.table import CellStatus, Table
from discreet.model.tableset import TableSet, as_set
from discreet.relations import System, build_system
from discreet.relations.system import known_bounds
from discreet.tables.suppress.joint import unsafe_sums
from discreet.verbs.already import Items, gather
from discreet.verbs.audit_records import audit_records
from discreet.verbs.patterns import on_tables
from discreet.verbs.protect import refuse_unassessed, refuse_undeclared_sums, refuse_unjudged
from discreet.watching import watched

HIDDEN = (CellStatus.UNSAFE, CellStatus.SECONDARY)
AS_RELEASED: Final = "as released"
"""Attackers are those that the release claims to hold against."""
EXACT_UP_TO = 5_000
"""Both ends of every interval are found without asking up to so many withheld cells."""


@overload
def audit(
    subject: Release[RecordCustodian],
    *,
    sample: int | None = ...,
    seed: int = ...,
    columns: Sequence[str] | None = ...,
    most: float | None = ...,
    holdout: Any = ...,
) -> RecordAudit: ...


@overload
def audit(
    subject: Release[TableCustodian] | Table | TableSet,
    *,
    pattern: Pattern | None = ...,
    already_published: Items = ...,
    insiders: Literal["full", "nonzero", "as released"] | None = ...,
    coalitions: bool | None = ...,
    known_within: float | Literal["as released"] | None = ...,
    joint: bool | None = ...,
    sample: int | None = ...,
    exact: bool | None = ...,
    seed: int = ...,
) -> Audit: ...


@watched
def audit(
    subject: Release[Any] | Table | TableSet,
    *,
    pattern: Pattern | None = None,
    already_published: Items = None,
    insiders: Literal["full", "nonzero", "as released"] | None = AS_RELEASED,
    coalitions: bool | None = None,
    known_within: float | Literal["as released"] | None = AS_RELEASED,
    joint: bool | None = None,
    sample: int | None = None,
    exact: bool | None = None,
    seed: int = 0,
    columns: Sequence[str] | None = None,
    most: float | None = None,
    holdout: Any = None,
) -> Audit | RecordAudit:
    """What attackers can work out of a release, or of a table whose status holds a pattern.

    Of tables, what withheld cells are; of records, which record is whose and what it held, by linking the released file
    with the original in every way.

    Parameters
    ----------
    subject
        A release, together with all that it is certified with, or tables whose status column marks unsafe and
        secondary cells.
    pattern
        What is withheld instead, for assessed tables: any pattern, as it stands. Unsafe cells that it publishes are
        counted.
    already_published
        What is out besides the tables, as in :func:`protect`; a release says it itself.
    insiders
        What must hold against every contributor who knows its own contributions, for every unsafe cell that it does
        not fill alone: ``"full"``, the cell keeps its level, downwards against all but its largest contributor and
        those whose own contribution leaves no room for it; ``"nonzero"``, it is not known exactly. None leaves
        insiders out. By default as the release claims it, and ``"nonzero"`` for tables and patterns.
    coalitions
        Whether the same must hold of any two contributors together. By default as the release claims it, and not for
        tables and patterns.
    known_within
        Everybody knows each cell to within so many per cent of its value; None, only what bounds say. By default as the
        release claims it, and None for tables and patterns.
    joint
        Whether known sums of withheld cells are judged too. By default as the release claims it, and so for tables and
        patterns; never for a sample.
    sample
        Look at so many unsafe cells, chosen at random, instead of all withheld cells.
    exact
        Find both ends of every interval; otherwise only whether levels are kept and whether cells are known exactly,
        which is much faster. By default up to 5,000 withheld cells, and never for a sample.
    seed
        Chooses the sample. What is found of a cell does not depend on it.
    columns
        Of records: columns of which an intruder has the original values; keys and altered numbers where left out.
        ``sample`` says how many records are tried then: 20,000 where left out.
    most
        Of records: the largest share of right guesses that is allowed.
    holdout
        Of records: some that were not used to make the file. What attacks find of them is the baseline.

    Returns
    -------
    Audit or RecordAudit
        For the custodian. Of tables, counts, a frame with one row per cell, and a summary without confidential values;
        of records, a :class:`discreet.attack.RecordAudit` with one line per attack.

    Raises
    ------
    ParameterError
        When the subject cannot be audited or a parameter is impossible.

    Notes
    -----
    Sources: Giessing and Dittrich (2006) and docs/design/0003.

    Examples
    --------
    >>> import discreet as ds
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> ds.audit(release, insiders=None).short
    0
    """
    if isinstance(subject, Release) and isinstance(subject.custodian, RecordCustodian):
        given = (pattern, already_published, coalitions, joint, exact)
        _refuse_of_tables(given, insiders, known_within)
        return audit_records(subject, columns, sample=sample, most=most, holdout=holdout, seed=seed)
    _refuse_of_records(columns, most, holdout)
    claimed = _claimed(subject)
    _refuse(insiders, coalitions, known_within, sample)
    within = claimed.known_within if isinstance(known_within, str) else known_within
    if insiders == AS_RELEASED:
        insiders = claimed.insiders
    if coalitions is None:
        coalitions = claimed.coalitions and insiders is not None
    if isinstance(subject, Release) and subject.custodian.published is not None:
        _refuse_given(pattern, already_published)
        return _audit_altered(subject.custodian, sample, exact, seed)
    system, withheld = _withheld(subject, pattern, already_published)
    exposed = np.flatnonzero(system.unsafe & ~withheld & ~system.known)
    # Secondary cells that only earlier releases withhold may come to light; their unsafe cells may not.
    wanted = (system.now | system.unsafe)[withheld]
    if sample is not None:
        wanted = _sample(system, withheld, sample, seed)
    if exact is None:
        exact = sample is None and int(withheld.sum()) <= EXACT_UP_TO
    system = _everybody_knows(system, within)
    attack = External(system, withheld, wanted)
    attack.run(exact, seed)
    found = attack.intervals(exact)
    outsider = EXTERNAL if within is None else EXTERNAL_WITHIN.format(f"{within:g}")
    sums = None
    if (claimed.joint if joint is None else joint) and sample is None:
        sums = _unsafe_sums(system, withheld)
    adders = () if sums is None else (JOINT,)
    result = Audit(system, found, (outsider, *adders), published=exposed, sums=sums)
    return result if insiders is None else _with_insiders(result, attack, insiders, coalitions, seed)


def _with_insiders(
    result: Audit, attack: External, insiders: Literal["full", "nonzero"], coalitions: bool, seed: int
) -> Audit:
    """The audit with what contributors can tell, alone and in pairs."""
    system = attack.system
    unsafe = system.unsafe[attack.cells] & attack.wanted
    known = unsafe & (system.contributors[attack.cells] > 0)
    if unsafe.any() and not known.any():
        return replace(result, why_no_insiders="the tables carry no contributors")
    why = (
        ""
        if known.sum() == unsafe.sum()
        else f"in {counted(int((unsafe & ~known).sum()), 'cell')}, of tables without any"
    )
    verdicts = attack_by_insiders(attack, insiders == "full", seed)
    together = attack_by_pairs(attack, insiders == "full", verdicts) if coalitions else None
    pairs = (TOGETHER[insiders],) if coalitions else ()
    outsider, *adders = result.attackers
    named = (outsider, INSIDERS[insiders], *pairs, *adders)
    return replace(result, attackers=named, insiders=verdicts, why_no_insiders=why, together=together)


def _unsafe_sums(system: System, withheld: Bools) -> tuple[str, ...] | None:
    """Known sums of withheld cells that break a rule, in words; None where no table says who is behind its cells."""
    if not judged_sums(system.tables.tables[: system.present], joint=True)[0]:
        return None
    names = [[system.cell_name(cell) for cell in found.cells] for found in unsafe_sums(system, withheld)]
    return tuple(listed(cells, SHOWN) for cells in names)


SHOWN = 5
"""So many cells of a sum are named."""
METHOD_KNOWN = "external: knows the publication, the relations, the bounds of each cell, and {}"
INTERVALS_KNOWN = "that every published interval holds the true value"


class _Claimed(NamedTuple):
    """The attackers that a release names; those that tables are audited against where nobody says otherwise."""

    insiders: Literal["full", "nonzero"] | None = "nonzero"
    coalitions: bool = False
    known_within: float | None = None
    joint: bool = True


def _claimed(subject: object) -> _Claimed:
    if isinstance(subject, Release):
        for evidence in subject.custodian.evidence:
            if evidence.claim.method == "suppress":
                said = evidence.method
                pairs, sums = (bool(said.get(name, False)) for name in ("coalitions", "joint"))
                return _Claimed(said.get("insiders"), pairs, said.get("known_within"), sums)
    return _Claimed()


def _everybody_knows(system: System, within: float | None) -> System:
    """The system with what everybody knows of its cells; of sums behind figures that says nothing."""
    lower, upper = known_bounds(system, within)
    lower = np.where(system.in_tables, lower, system.lower_bound)
    return replace(system, lower_bound=lower, upper_bound=np.where(system.in_tables, upper, system.upper_bound))


def _refuse_of_tables(given: Sequence[object], insiders: object, known_within: object) -> None:
    """Refuse options that say nothing about records."""
    if any(one is not None for one in given) or (insiders, known_within) != (AS_RELEASED, AS_RELEASED):
        raise ParameterError(
            "This is a release of records, and some of these options are for tables.",
            hint="Of records give columns=, sample=, most= or holdout=.",
        )


def _refuse_of_records(*given: object) -> None:
    """Refuse options that say nothing about tables."""
    if any(one is not None for one in given):
        raise ParameterError("columns=, most= and holdout= are for releases of records.", hint="Leave them out.")


def _refuse(insiders: object, coalitions: object, known_within: object, sample: object) -> None:
    if insiders is not None and insiders not in (*INSIDERS, AS_RELEASED):
        raise ParameterError(
            f"insiders={insiders!r} is not allowed.", hint=f"Use 'full', 'nonzero', {AS_RELEASED!r} or None."
        )
    if coalitions is not None and not isinstance(coalitions, bool):
        raise ParameterError(f"coalitions={coalitions!r} is not allowed.", hint="Use True, False or None.")
    if coalitions and insiders is None:
        raise ParameterError(
            "coalitions=True asks for contributors together, and insiders=None leaves them out.",
            hint="Use insiders='full' or 'nonzero', or leave coalitions out.",
        )
    if known_within not in (None, AS_RELEASED) and not (
        isinstance(known_within, int | float)
        and not isinstance(known_within, bool)
        and isfinite(known_within)
        and known_within > 0
    ):
        raise ParameterError(
            f"known_within={known_within!r} is not allowed.", hint="Give a number of per cent above 0, or None."
        )
    if sample is not None and (not isinstance(sample, int) or isinstance(sample, bool) or sample < 1):
        raise ParameterError(f"sample={sample!r} is not allowed.", hint="Give a number of cells, at least 1.")


def _withheld(
    subject: Release | Table | TableSet, pattern: Pattern | None, already_published: Items
) -> tuple[System, Bools]:
    """Cells and relations, and which cells nobody is told."""
    if isinstance(subject, Release):
        _refuse_given(pattern, already_published)
        custodian = subject.custodian
        system = build_system(custodian.tables, custodian.already)
        return system, system.withheld([custodian.withheld(number) for number in range(len(custodian.tables))])
    if not isinstance(subject, Table | TableSet):
        raise ParameterError(f"Cannot audit a {type(subject).__name__}.", hint="Give a release, a table or a set.")
    tables = as_set(subject)
    for table in tables:
        refuse_unassessed(table)
        refuse_undeclared_sums(table)
    refuse_unjudged(tables)
    hidden = [np.isin(t.status, HIDDEN) for t in tables]
    said: tuple[Status, ...] = ()
    if pattern is not None:
        said = on_tables(pattern, tables)
        hidden = [np.isin(status, HIDDEN) for status in said]
    system = build_system(tables, gather(tables, already_published))
    if pattern is not None and pattern.one_name:  # otherwise names that are not listed are published
        for cells, mine, status in zip(system.of, hidden, said, strict=False):
            mine |= (status == 0) & np.isin(cells, cells[mine])
    return system, system.withheld(hidden)


def _refuse_given(pattern: Pattern | None, already_published: Items) -> None:
    """A release brings its own pattern, and what it is published together with."""
    if pattern is not None:
        raise ParameterError("A release has its own pattern.", hint="Give the tables and a pattern.")
    if already_published is not None:
        raise ParameterError(
            "A release says itself what it is published together with.",
            hint="Protect its tables anew with already_published=.",
        )


def _audit_altered(custodian: TableCustodian, sample: int | None, exact: bool | None, seed: int) -> Audit:
    """What readers who know the method can work out of altered values; no true value is told."""
    system = build_system(custodian.tables, custodian.already)
    told = _reading(custodian, system)
    if isinstance(told, NotAudited):
        nothing = External(system, ~system.empty, np.zeros(int((~system.empty).sum()), np.bool_))
        return Audit(system, nothing.intervals(False), (), hidden="altered", not_audited=told.why)
    system, hidden = _behind_altered(system, told)
    wanted = system.unsafe[hidden] if sample is None else _sample(system, hidden, sample, seed)
    if exact is None:
        exact = sample is None and int(hidden.sum()) <= EXACT_UP_TO
    attack = External(system, hidden, wanted)
    attack.show_plain_moves()
    attack.run(exact, seed)
    unsettled = None
    if told.whole is not None:
        unsettled, exact = attack_whole(attack, told.whole, exact)
    certain = None if told.certain is None else (told.certain[0][attack.cells] & attack.wanted, told.certain[1])
    return Audit(
        system,
        attack.intervals(exact),
        (METHOD_KNOWN.format(told.knows),),
        why_no_insiders="the values are altered",
        hidden="altered",
        not_considered=told.not_considered,
        certain=certain,
        unsettled=unsettled,
    )


def _behind_altered(system: System, told: Reading) -> tuple[System, Bools]:
    """Cells with what readers can tell of each, and which of them they do not know."""
    off = np.flatnonzero((system.value < told.lower) | (system.value > told.upper))
    if len(off):
        raise InputError(
            f"{counted(len(off), 'published value', 'are')} not what the method makes of the true ones, first "
            f"{system.cell_name(int(off[0]))}.",
            hint="Verify the release first: release.verify().",
            recipe_hint="Verify the release first: discreet verify FOLDER",
        )
    known = (system.empty | (told.lower == told.upper)) & ~system.unsafe
    return replace(system, lower_bound=told.lower, upper_bound=told.upper), ~known


def _reading(custodian: TableCustodian, system: System) -> Reading | NotAudited:
    """What readers can tell of each cell: from published intervals that hold the true values, or from the method."""
    assert custodian.published is not None
    if custodian.intervals is not None and custodian.coverage is None:
        lower, upper = system.value.copy(), system.value.copy()
        for cells, (low, high) in zip(system.of, custodian.intervals, strict=True):
            lower[cells], upper[cells] = low, high
        lower, upper = np.maximum(lower, system.lower_bound), np.minimum(upper, system.upper_bound)
        return Reading(lower, upper, INTERVALS_KNOWN, (MADE_INTERVALS,))
    # What was done to records before tables were made of them is in the cells that readers want to know.
    evidence = custodian.evidence[-1]
    published = system.value * 10 ** (evidence.decimals - system.decimals)
    for cells, values in zip(system.of, custodian.published, strict=True):
        published[cells] = values
    return publisher_from_record(evidence.method).reading(system, published, evidence)


def _sample(system: System, withheld: Bools, sample: int, seed: int) -> Bools:
    """Which withheld cells to look at: some of the unsafe ones."""
    unsafe = np.flatnonzero(system.unsafe[np.flatnonzero(withheld)])
    chosen = np.random.default_rng(seed).choice(unsafe, min(sample, len(unsafe)), replace=False)
    wanted: Bools = np.zeros(int(withheld.sum()), np.bool_)
    wanted[chosen] = True
    return wanted


def shared_cells(tables: TableSet) -> list[tuple[str, str, int]]:
    """Which tables of a set share cells, and how many: (table, table, cells)."""
    return build_system(tables).shared()
