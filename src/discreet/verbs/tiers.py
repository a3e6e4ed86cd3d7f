"""One file of records for several groups of users: releases that are nested in what they tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engine.record_set import read_record_set
from discreet.errors import ParameterError, ProtectionError, counted, listed, unknown_column
from discreet.files.sealing import write_json
from discreet.keys import Key
from discreet.model.custodian import RecordCustodian
from discreet.model.microdata import Microdata
from discreet.model.records import NEVER_PUBLIC, SENSITIVE, RecordSet
from discreet.model.release import Release
from discreet.rules.key_counts import codes_of
from discreet.rules.records import RecordRule
from discreet.verbs.protect_records import refuse_options_of_tables, release_of
from discreet.verbs.steps import as_steps, drawn_by, refuse_for_records
from discreet.watching import watched

if TYPE_CHECKING:
    from discreet.model.spec import TableSpec

MADE_OF_CODES = ("recode", "generalise", "local_suppress")
"""Methods after which a value is a function of the one before, or empty."""


@dataclass(frozen=True)
class Tier:
    """What one group of users gets, beside what the group above it gets.

    Parameters
    ----------
    steps
        Methods for records, in order; they act on what the tier above publishes.
    drop
        Columns that this tier and those below do not have.
    rules
        Rules that its public file keeps.

    Examples
    --------
    >>> import discreet as ds
    >>> ds.Tier([ds.Recode("age", intervals=[15, 65])], drop=["street"]).drop
    ('street',)
    """

    steps: Sequence[Any] = ()
    drop: tuple[str, ...] = ()
    rules: Sequence[RecordRule] = ()

    def __post_init__(self) -> None:
        drop = (self.drop,) if isinstance(self.drop, str) else tuple(self.drop)
        object.__setattr__(self, "drop", drop)
        steps = [self.steps] if not isinstance(self.steps, list | tuple) else list(self.steps)
        object.__setattr__(self, "steps", tuple(refuse_for_records(as_steps(steps))) if steps else ())


@dataclass(frozen=True, eq=False)
class Tiers:
    """Releases of one file for several groups of users, from the most detailed on.

    Parameters
    ----------
    releases
        A release per tier, by name.
    log
        What was done, tier by tier: one log for all.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = ds.Microdata(pa.table({"age": [3, 17, 19, 70, 81, 9], "sex": ["f", "m"] * 3}), keys=["age", "sex"])
    >>> print(ds.tiers(people, {"research": ds.Tier(), "public": ds.Tier(drop="age")}).summary())
    research: 2 columns, no step
    public: 1 column, no step; without age
    """

    releases: Mapping[str, Release[RecordCustodian]]
    log: tuple[Mapping[str, Any], ...] = field(repr=False)

    def __getitem__(self, name: str) -> Release[RecordCustodian]:
        if name not in self.releases:
            raise ParameterError(f"There is no tier {name!r}.", hint=f"The tiers are {listed(self.releases)}.")
        return self.releases[name]

    def summary(self) -> str:
        """A line per tier: its columns, what was done, and what was left out."""
        lines = []
        for entry in self.log:
            done = ", ".join(step["method"] for step in entry["protect"]) or "no step"
            gone = f"; without {', '.join(entry['dropped'])}" if entry["dropped"] else ""
            lines.append(f"{entry['tier']}: {counted(len(entry['columns']), 'column')}, {done}{gone}")
        return "\n".join(lines)

    def save(self, folder: str | Path, *, formats: Sequence[str] = ("csv",), report: bool = False) -> None:
        """Write every tier to a folder of its own, and one log of all to ``custodian/tiers.json``."""
        home = Path(folder)
        for name, release in self.releases.items():
            release.save(home / name, formats=formats, report=report)
        closed = home / "custodian"
        closed.mkdir(mode=0o700, exist_ok=True)
        beside = closed / ".tiers.json.partial"
        write_json(beside, list(self.log))
        beside.chmod(0o600)
        beside.replace(closed / "tiers.json")


@watched
def tiers(
    data: Microdata,
    plan: Mapping[str, Tier | Sequence[Any]],
    *,
    tables: Sequence[TableSpec] = (),
    key: Key | None = None,
) -> Tiers:
    """Release one file of records for several groups of users, each nested in the one above.

    The first tier is made of the records, every other of what the tier above publishes: whoever holds two files learns
    no more than from the more detailed one. Rows stand in another random order in each.

    Parameters
    ----------
    data
        The records, with their roles. Columns without a role are taken for harmless.
    plan
        A :class:`Tier`, or a list of methods, per group of users; the most detailed first, the public last.
    tables
        Tables that are already published: users of the last tier must be able to make them.
    key
        The key of all draws.

    Returns
    -------
    Tiers
        The releases by name, with one log.

    Raises
    ------
    ParameterError
        Where a tier draws what a tier above drew already.
    ProtectionError
        Where a sensitive column goes through all tiers as it is, or the last tier does not give a published table.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"region": ["n", "n", "s", "s"] * 5, "age": [30, 41, 52, 63] * 5, "rent": [5, 6, 7, 9] * 5})
    >>> data = ds.Microdata(people, keys=["region", "age"], sensitive="rent")
    >>> plan = {"research": [ds.Recode("age", intervals=[40, 60])], "public": ds.Tier(drop=["rent"])}
    >>> files = ds.tiers(data, plan)
    >>> files["public"].public.records.variables, ds.is_nested(files["public"], files["research"])
    (('region', 'age'), True)
    """
    named = _plan(plan)
    refuse_options_of_tables(data)
    numbers = [name for tier in named.values() for step in tier.steps for name in step.numbers]
    records = first = read_record_set(data, numbers)
    releases: dict[str, Release[RecordCustodian]] = {}
    log: list[Mapping[str, Any]] = []
    above: str | None = None
    drawn: set[tuple[str, int, str]] = set()
    for name, tier in named.items():
        records = _without(records, tier.drop, name)
        release = release_of(records, tier.steps, list(tier.rules), key=key, keep_order=False, name=name)
        key = release.custodian.key if key is None else key
        releases[name] = release
        drawn |= _refuse_drawn_above(name, release.custodian, drawn)
        shown = release.public.records
        assert shown is not None
        columns = list(shown.variables)
        entry = {"tier": name, "made_of": above, "dropped": list(tier.drop), "columns": columns}
        log.append({**entry, **release.custodian.log})
        records, above = _published(release), name
    _refuse_bare(releases)
    for spec in tables:
        refuse_underivable(spec, releases[list(releases)[-1]], first)
    return Tiers(releases, tuple(log))


def _plan(plan: Mapping[str, Tier | Sequence[Any]]) -> dict[str, Tier]:
    if not isinstance(plan, Mapping) or not plan:
        raise ParameterError("There is no tier.", hint="For example {'research': [ds.Recode(...)], 'public': [...]}.")
    found = {}
    for name, given in plan.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise ParameterError(f"{name!r} is no name for a tier.", hint="Use letters, digits and underscores.")
        found[name] = given if isinstance(given, Tier) else Tier(given)
    return found


def _without(records: RecordSet, gone: Sequence[str], tier: str) -> RecordSet:
    """Records without some columns."""
    for name in gone:
        if name not in records.names:
            raise unknown_column(name, records.names, f"tier {tier!r}")
    kept = [name for name in records.names if name not in gone]
    return replace(
        records,
        columns=records.columns.select(kept),
        info={name: about for name, about in records.info.items() if name in kept},
        hierarchies={name: one for name, one in records.hierarchies.items() if name in kept},
        strata=tuple(name for name in records.strata if name in kept),
        identity=None,
    )


def _published(release: Release[RecordCustodian]) -> RecordSet:
    """What a tier publishes, in the order of the original and with identifiers, for the tier below."""
    records, shown = release.custodian.released, release.public.records
    assert shown is not None
    info = dict(records.info)
    for name, said in shown.info.items():
        about = records.about(name)
        about = replace(about, label=said.label, value_labels=said.value_labels, missing=said.missing)
        info[name] = replace(about, format=said.format, measure=said.measure)
    return replace(records, info=info, identity=None)


def _refuse_drawn_above(
    tier: str, custodian: RecordCustodian, above: set[tuple[str, int, str]]
) -> set[tuple[str, int, str]]:
    """What a tier draws; refused where a tier above drew the same.

    The same exchange brings values back, and the same noise once more tells whoever has both files how large it was.
    """
    found: set[tuple[str, int, str]] = set()
    for step in custodian.steps:
        found |= drawn_by(step.evidence.method, step.changed.column_names)
    again = sorted(found & above)
    if again:
        kind, version, name = again[0]
        if not version:
            raise ParameterError(
                f"Tier {tier!r} exchanges values of column {name!r}, and so does a tier above: they would come back "
                "to where they were.",
                hint="Exchange the column in one tier, with a larger share=.",
            )
        of_column = f" of column {name!r}" if name else ""
        raise ParameterError(
            f"Tier {tier!r} repeats draws{of_column} that a tier above made ({kind}, version {version}): whoever has "
            "both files could work out what was there before.",
            hint=f"Give the method another version=, such as version={version + 1}.",
        )
    return found


def _refuse_bare(releases: Mapping[str, Release[RecordCustodian]]) -> None:
    """Refuse a plan whose last tier has a sensitive column as it was."""
    last = list(releases)[-1]
    original, released = (releases[last].custodian.original, releases[last].public.records)
    assert released is not None
    altered = {
        name for release in releases.values() for step in release.custodian.steps for name in step.changed.column_names
    }
    bare = [n for n in released.variables if original.about(n).role == SENSITIVE and n not in altered]
    if bare:
        raise ProtectionError(
            f"Tier {last!r} has {listed(bare)}, sensitive, as it was.",
            hint=f"Mask it in a step of a tier, or leave it out: ds.Tier(steps, drop={bare!r}).",
        )


def refuse_underivable(spec: TableSpec, release: Release[RecordCustodian], original: RecordSet) -> None:
    """Refuse a tier of which users cannot make a table that is already published."""
    released = release.custodian.released
    shown = release.public.records
    assert shown is not None
    wanted = [*spec.by, *([spec.value] if isinstance(spec.value, str) else [])]
    for name in wanted:
        if name not in shown.variables:
            raise ProtectionError(
                f"Table {spec.name!r} is already published, and the tier {release.custodian.name!r} has no {name!r}.",
                hint="Do not drop the column, or leave the table out.",
            )
    for name in spec.by:
        if not _follows(original[name], [released[name]]):
            raise ProtectionError(
                f"Table {spec.name!r} is already published by {name!r}, and the codes of tier "
                f"{release.custodian.name!r} are broader or altered.",
                hint="Recode the column less, or leave the table out.",
            )


def is_nested(lower: Release[RecordCustodian], higher: Release[RecordCustodian]) -> bool:
    """Whether one release of records tells nothing that another one of the same records does not.

    Every column of the lower must be in the higher, and follow from it: it was made of what the higher publishes, or
    it is the same, or every value of it belongs to one value, or set of equal values, of the higher.

    Parameters
    ----------
    lower, higher
        Releases of the same records, as the custodian has them.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = ds.Microdata(pa.table({"age": [3, 17, 19, 70, 81, 9]}), keys=["age"])
    >>> fine = ds.protect(people, ds.Recode("age", intervals=[15, 65]))
    >>> broad = ds.protect(people, ds.Recode("age", intervals=[15]))
    >>> ds.is_nested(broad, fine), ds.is_nested(fine, broad)
    (True, False)
    """
    return not nesting_faults(lower, higher)


def nesting_faults(lower: Release[RecordCustodian], higher: Release[RecordCustodian]) -> list[str]:
    """Why one release is not nested in another; nothing where it is."""
    custodians = [release.custodian for release in (lower, higher)]
    if not all(isinstance(custodian, RecordCustodian) for custodian in custodians):
        raise ParameterError("is_nested compares releases of records.", hint="Give two of them.")
    low, high = custodians
    if len(low.original) != len(high.original):
        raise ParameterError(
            "The releases are not of the same records: they have different numbers of them.",
            hint="Give releases of one file.",
        )
    shown = [release.public.records for release in (lower, higher)]
    assert shown[0] is not None
    assert shown[1] is not None
    faults = []
    for name in shown[0].variables:
        if name not in shown[1].variables:
            faults.append(f"{name!r} is in {low.name!r} and not in {high.name!r}")
        elif not _column_nested(low, high, name):
            faults.append(f"{name!r} of {low.name!r} does not follow from that of {high.name!r}")
    return faults


def _column_nested(low: RecordCustodian, high: RecordCustodian, name: str) -> bool:
    """Whether a column was made of the other, or every value of it follows from the other's."""
    if low.original.about(name).role in NEVER_PUBLIC:
        return True
    after, above = low.released[name], high.released[name]
    if after.equals(above) or low.original[name].equals(above):
        return True
    # Numbers that hardly repeat follow from anything: after draws, only what was made of the other tells no more.
    drawn = any(
        name in step.changed.column_names and step.evidence.claim.method not in MADE_OF_CODES
        for custodian in (low, high)
        for step in custodian.steps
    )
    return not drawn and _follows(after, [above])


def _follows(column: Any, others: Sequence[Any]) -> bool:
    """Whether rows that agree in the others agree in a column."""
    mine, _ = codes_of(column)
    group = np.zeros(len(mine), np.int64)
    for other in others:
        codes, size = codes_of(other)
        group = np.unique(group * size + codes, return_inverse=True)[1].ravel()
    pairs = np.unique(np.stack([group, mine]), axis=1).shape[1]
    return bool(pairs == len(np.unique(group)))
