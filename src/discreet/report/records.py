"""The report on a release of records: who is at risk and why, what was done, what it cost, what remains, the proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.attack.record_audit import RecordAudit
from discreet.engine.record_set import with_identity
from discreet.errors import counted
from discreet.measures.records import changed_share, entropy_lost
from discreet.measures.value_steps import step_lines
from discreet.measures.values import altered_numbers, value_losses, value_pair
from discreet.model.claims.record_rules import rule_words
from discreet.model.custodian import RecordCustodian
from discreet.model.records import HOUSEHOLD, KEY, NEVER_PUBLIC, SENSITIVE
from discreet.model.release import Release
from discreet.report.attack_images import attacks_image
from discreet.report.findings import HeadlineNumber
from discreet.report.lattice import LatticePicture, lattice_picture
from discreet.report.page import render
from discreet.report.record_columns import ColumnLine, column_lines, frequencies
from discreet.report.record_images import contribution_image, histogram_image
from discreet.report.record_risk import (
    CLASSES,
    RiskPair,
    class_names,
    key_lines,
    moves,
    remaining,
    risk_lines,
    risk_pair,
    worst_sets,
)
from discreet.report.records_done import emptied_columns, recoded_columns
from discreet.report.repeat import log_text, versions
from discreet.report.value_images import MOST_COLUMNS, correlations, densities, quantiles
from discreet.report.words import count, parameters, percent, plain_number
from discreet.rules.anonymity import KAnonymity
from discreet.rules.records import assess_records, record_rule_from_record
from discreet.verify import Verdict, check_records

REFUSALS = 20
UNSET: tuple[Any, ...] = (None, "", (), [], {})
"""Parameters that nobody gave."""
LOSSES = {
    "il1": "mean distance of values (standard deviations times the root of two)",
    "mean": "relative changes of means, summed",
    "median": "relative changes of medians, summed",
    "onestep": "relative changes of one-step locations, summed",
    "mad": "relative changes of median absolute deviations, summed",
    "covariance": "relative changes of covariances, over twice the columns",
    "correlation": "relative changes of correlations, over twice the columns",
    "variance": "twice the line of covariances, as its source has it",
    "variances": "relative changes of variances, summed",
    "regression": "changes of coefficients of the first column on the others, summed",
    "loadings": "relative changes of mean loadings of principal components, summed",
}
"""What measures are in words."""
SIZES = (2, 3, 5, 10)
"""How often a combination of keys must occur, for the table of who could be recognised before and after."""


@dataclass(frozen=True)
class AnonymityLine:
    """How many records share their keys with fewer than ``k`` others, before and after."""

    k: int
    before: int
    after: int


def records_report(
    release: Release[RecordCustodian],
    *,
    verdict: Verdict | None = None,
    recipe: str = "",
    title: str = "",
    audit: RecordAudit | None = None,
) -> str:
    """A report on a release of records as one HTML page that needs nothing else. It is for the custodian only.

    Parameters
    ----------
    release
        The release.
    verdict
        Outcome of a check of the release; it is checked anew when left out.
    recipe
        Text of the recipe that made the release.
    title
        Heading; the name of the file when left out.
    audit
        What attackers found; the page shows it where it is given.

    Examples
    --------
    >>> import discreet as ds, pyarrow as pa
    >>> people = ds.Microdata(pa.table({"age": [3, 17, 19, 70, 81, 9]}), keys=["age"])
    >>> release = ds.protect(people, ds.Recode("age", intervals=[15, 65]), rules=[ds.KAnonymity(2)])
    >>> "for the custodian only" in records_report(release)
    True
    """
    custodian = release.custodian
    checked = check_records(custodian, release.public) if verdict is None else verdict
    lines = column_lines(custodian)
    pair = risk_pair(custodian)
    return render(
        "records.html",
        title=title or f"Disclosure control of the file {custodian.name!r}",
        verdict=checked,
        state="proved" if checked.holds else "refused",
        refusals=checked.refused[:REFUSALS],
        refusals_more=max(len(checked.refused) - REFUSALS, 0),
        rows=len(custodian.original),
        columns=lines,
        emptied=emptied_columns(custodian),
        recoded=recoded_columns(custodian),
        frequencies=frequencies(custodian),
        **_number_parts(custodian),
        keys=list(custodian.original.with_role(KEY)),
        sensitive=list(custodian.original.with_role(SENSITIVE)),
        anonymity=_anonymity(custodian),
        headline=_headline(custodian, lines, pair),
        rules=_rules(custodian),
        lattices=_lattices(custodian),
        order="in their original order" if custodian.keeps_order else "in a random order",
        methods=[_method(e.method, e.claim.statement, e.effort) for e in custodian.evidence],
        notes=[*(text for e in custodian.evidence for text in e.findings), *custodian.log.get("notes", ())],
        log=log_text(custodian.log),
        made_with=str(custodian.log.get("discreet", "unknown")),
        recipe=recipe,
        versions=versions(),
        audit=audit if audit is not None and audit.attacks else None,
        attacks_image=attacks_image(audit) if audit is not None and audit.attacks else None,
        **_risk_parts(pair),
    )


def _number_parts(custodian: RecordCustodian) -> dict[str, Any]:
    """What the page shows of columns of numbers that were altered; nothing where there are none."""
    names = altered_numbers(custodian)[:MOST_COLUMNS]
    pair = value_pair(custodian.original, custodian.released, names) if names else None
    if pair is None or len(pair.before) < 2:
        return {"number_losses": (), "number_steps": (), "number_images": ()}
    losses = value_losses(pair)
    images = [(densities(pair), "How values are spread, before and after.")]
    images.append((quantiles(pair), "Quantiles after against quantiles before. On the line nothing changed."))
    if len(names) > 1:
        images.append((correlations(pair), "By how much correlations between columns changed."))
    return {
        "number_losses": [(LOSSES[name], f"{value:.4g}") for name, value in losses.to_dict().items()],
        "number_steps": step_lines(custodian, names),
        "number_images": images,
    }


def _risk_parts(pair: RiskPair | None) -> dict[str, Any]:
    """What the page shows of risk; nothing where no column is a key."""
    if pair is None:
        return {"risk": None}
    return {
        "risk": pair,
        "risks": risk_lines(pair),
        "by_key": key_lines(pair),
        "worst": worst_sets(pair),
        "classes": class_names(CLASSES),
        "moves": moves(pair),
        "remaining": remaining(pair),
        "histogram": histogram_image(pair),
        "contributions": contribution_image(pair),
        "diversity": [
            (
                old.name,
                old.distinct,
                new.distinct,
                f"{old.entropy:.3g}",
                f"{new.entropy:.3g}",
                f"{old.t:.3f}",
                f"{new.t:.3f}",
            )
            for old, new in zip(pair.before.sensitive, pair.after.sensitive, strict=True)
        ],
    }


def _anonymity(custodian: RecordCustodian) -> list[AnonymityLine]:
    """Records whose keys occur rarely, before and after; nothing where no column is a key."""
    keys = custodian.original.with_role(KEY)
    if not keys:
        return []
    rules = [KAnonymity(k, keys) for k in SIZES]
    counts = [assess_records(records, rules)[0].unsafe for records in (custodian.original, custodian.released)]
    return [AnonymityLine(rule.k, before, after) for rule, before, after in zip(rules, *counts, strict=True)]


def _headline(custodian: RecordCustodian, lines: list[ColumnLine], pair: RiskPair | None) -> list[HeadlineNumber]:
    """The numbers that readers look for first."""
    altered, hidden = (sum(line.what == what for line in lines) for what in ("altered", "left out"))
    shown = [
        HeadlineNumber(count(len(custodian.order)), "records"),
        HeadlineNumber(count(len(lines) - hidden), "columns published", f"{count(hidden)} left out"),
        HeadlineNumber(count(altered), "columns altered", _cost(custodian)),
    ]
    if pair is not None:
        k = pair.after.question.k
        words = f"records whose keys occur fewer than {k} times"
        shown.append(HeadlineNumber(count(pair.after.rare), words, f"{count(pair.before.rare)} before", "is-unsafe"))
        expected, was = (plain_number(one.file.expected) for one in (pair.after, pair.before))
        shown.append(HeadlineNumber(expected, "records expected to be matched correctly", f"{was} before", "is-unsafe"))
    return shown


def _cost(custodian: RecordCustodian) -> str:
    """What was lost over all published columns, in a few words."""
    original, released = custodian.original, custodian.released
    names = [name for name in original.names if original.about(name).role not in (*NEVER_PUBLIC, HOUSEHOLD)]
    before, after = ({name: records[name] for name in names} for records in (original, released))
    changed, lost = changed_share(before, after), entropy_lost(before, after)
    return f"{percent(changed, 1)} of the values changed, {percent(lost, 1)} of what columns tell lost"


def _rules(custodian: RecordCustodian) -> list[str]:
    """What the rules say of the public file; of those that look at a population that was not kept, what they claim."""
    words: list[str] = []
    for plain in custodian.rules:
        rule = record_rule_from_record(plain)
        if rule.countable:
            words += assess_records(custodian.released, [rule], with_identity(custodian.original))[0].words
        else:
            words.append(rule_words(plain).statement)
    return words


def _lattices(custodian: RecordCustodian) -> list[LatticePicture]:
    """Pictures of the lattices that were searched."""
    found = (lattice_picture(e.method, e.facts) for e in custodian.evidence if e.claim.method == "generalise")
    return [picture for picture in found if picture is not None]


def _method(record: Mapping[str, Any], statement: str, effort: Mapping[str, int]) -> dict[str, str]:
    given = {name: value for name, value in record.items() if name != "method" and value not in UNSET}
    return {
        "name": str(record.get("method", "")),
        "parameters": parameters(given),
        "statement": statement,
        "effort": ", ".join(counted(number, name) for name, number in effort.items()),
    }
