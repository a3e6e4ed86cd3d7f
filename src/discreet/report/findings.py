"""What the numbers of a release say, in sentences: the answers in brief, and the captions of the images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.attack import Audit
from discreet.errors import counted
from discreet.model.arrays import NO_LOWER, NO_UPPER, Ints
from discreet.model.table import Table
from discreet.report.deduction import Deduction
from discreet.report.numbers import STATUSES, Reason, TableNumbers, Tally
from discreet.report.words import cells, count, percent, rule_words
from discreet.verify import Verdict

MOST_TABLES = 5
BY_HAND = "Marked unsafe by hand."
KNOWN = "unsafe cells known too closely"


@dataclass(frozen=True)
class ReaderQuestion:
    """A question that a reader has, the sentences of the answer, and the section that has the whole of it."""

    question: str
    answer: tuple[str, ...]
    section: str


@dataclass(frozen=True)
class HeadlineNumber:
    """A number that readers look for first: what it is, what it means, and how it looks."""

    number: str
    words: str
    more: str = ""
    kind: str = ""


def headline(
    tables: Sequence[TableNumbers], deduced: Sequence[Deduction], verdict: Verdict, audit: Audit | None
) -> tuple[HeadlineNumber, ...]:
    """The numbers of a release with withheld cells."""
    tally = sum((t.tally for t in tables), Tally((0,) * STATUSES))
    where = f"in {counted(len(tables), 'table')}" if len(tables) > 1 else ""
    each = f"{tally.secondary / tally.unsafe:.2f} for each unsafe cell" if tally.unsafe else ""
    shown = [
        HeadlineNumber(count(tally.total), "cells" if tally.total != 1 else "cell", where),
        HeadlineNumber(count(tally.unsafe), "unsafe", percent(tally.unsafe, tally.total), "is-unsafe"),
        HeadlineNumber(count(tally.secondary), "withheld besides", each, "is-besides"),
        HeadlineNumber(count(tally.published), "published", percent(tally.published, tally.total), "is-published"),
    ]
    if len(tables) == 1 and tables[0].base_value.total:
        value = tables[0].base_value
        shown.append(
            HeadlineNumber(percent(value.withheld, value.total), "of the value withheld", "at the lowest level")
        )
    return (*shown, _left_open(deduced, verdict, audit))


def _left_open(deduced: Sequence[Deduction], verdict: Verdict, audit: Audit | None) -> HeadlineNumber:
    """How many unsafe cells are known too closely, as far as somebody looked."""
    if audit is not None:
        return audited_number(audit)
    if not verdict.holds or not verdict.proved:
        return HeadlineNumber("?", KNOWN, "nothing is proved and nothing audited", "is-bad")
    short = sum(int(d.short.sum()) for d in deduced)
    if short:
        return HeadlineNumber(count(short), KNOWN, "as far as certificates show, not audited", "is-bad")
    return HeadlineNumber("0", KNOWN, "proved, not audited", "is-good")


def audited_number(audit: Audit) -> HeadlineNumber:
    """What an audit says of all attackers that it considered; good only where nothing at all speaks against it."""
    if audit.not_audited:
        return HeadlineNumber("?", KNOWN, "not audited", "is-bad")
    looked_at, unsafe = audit.sampled
    more = f"of {count(looked_at)} looked at, of {count(unsafe)}" if looked_at < unsafe else "by the audit"
    bad = audit.known_too_closely
    if audit.sums:
        more += f", and {counted(len(audit.sums), 'unsafe sum')}"
    return HeadlineNumber(count(bad), KNOWN, more, "is-good" if audit.holds else "is-bad")


def state(verdict: Verdict, deduced: Sequence[Deduction], audit: Audit | None = None) -> str:
    """``proved``, ``unverified``, ``refused``, or ``contradicted`` where the intervals show what should not be."""
    if verdict.refused:
        return "refused"
    if audit is not None and not audit.complete and audit.external_short:
        return "contradicted"
    if any(d.realised and bool((d.short | (d.exact & d.unsafe)).any()) for d in deduced):
        return "contradicted"
    if not verdict.proved:
        return "unverified"
    return "contradicted" if any(bool(d.short.any()) for d in deduced) else "proved"


def answers(
    tables: Sequence[TableNumbers],
    deduced: Sequence[Deduction],
    verdict: Verdict,
    recipe: bool,
    audit: Audit | None = None,
) -> tuple[ReaderQuestion, ...]:
    """The six questions of a colleague who did not see the run."""
    tally = sum((t.tally for t in tables), Tally((0,) * STATUSES))
    where = f" of {counted(len(tables), 'table')}" if len(tables) > 1 else ""
    unsafe = f"{count(tally.unsafe)} of {cells(tally.total)}{where} ({percent(tally.unsafe, tally.total)})."
    forced = sum(t.forced_unsafe for t in tables)
    if forced:
        verbs = ("breaks", "is") if forced == 1 else ("break", "are")
        unsafe += f" Besides, {cells(forced)} {verbs[0]} a rule and {verbs[1]} published by force."
    withheld = (
        f"{cells(tally.withheld)} ({percent(tally.withheld, tally.total)}): the {count(tally.unsafe)} unsafe and "
        f"{count(tally.secondary)} besides, without which the unsafe ones could be worked out."
    )
    again = "With the recipe, " if recipe else "With "
    return (
        ReaderQuestion("How many cells were unsafe?", (unsafe,), "reasons"),
        ReaderQuestion("Why?", _why(tables), "reasons"),
        ReaderQuestion("What was withheld?", (withheld,), "withheld"),
        ReaderQuestion("What did it cost?", _cost(tables, tally), "cost"),
        ReaderQuestion("What can an attacker still deduce?", (_deduced(deduced, verdict, audit),), "attacker"),
        ReaderQuestion("How can it be repeated?", (f"{again}the commands, the Python steps and the log.",), "repeat"),
    )


def bounds_words(tables: Sequence[Table]) -> list[str]:
    """What every attacker is taken to know of the cells of each table before anything is published."""
    said = []
    for table in tables:
        lower, upper = table.attacker_bounds()
        low, high = int((lower > NO_LOWER).sum()), int((upper < NO_UPPER).sum())
        zero = bool((lower == 0).all())
        least = "all are at least 0" if zero else f"a lower bound of {cells(low)}" if low else "no lower bound"
        most = f"an upper bound of {cells(high)}" if high else "no upper bound"
        said.append(f"{table.name}: {least}, {most}")
    return said


def reason_words(reason: Reason) -> str:
    """A reason for being unsafe as a sentence."""
    return BY_HAND if reason.record is None else rule_words(reason.record)


def _why(tables: Sequence[TableNumbers]) -> tuple[str, ...]:
    hits: dict[str, int] = {}
    for reason in (reason for table in tables for reason in table.reasons):
        said = reason_words(reason)
        hits[said] = hits.get(said, 0) + reason.hit
    sentences = [f"{cells(n)}: {said}" for said, n in hits.items()]
    if len(sentences) > 1:
        sentences.append("A cell may break several rules.")
    return tuple(sentences) or ("No rule was stated.",)


def _cost(tables: Sequence[TableNumbers], tally: Tally) -> tuple[str, ...]:
    ratio = f", {tally.secondary / tally.unsafe:.2f} for each unsafe cell" if tally.unsafe else ""
    sentences = [f"{cells(tally.secondary, 'safe')} withheld besides{ratio}."]
    for t in tables[:MOST_TABLES]:
        if t.base_value.total:
            sentences.append((f"{t.table.name}: " if len(tables) > 1 else "") + _value_shares(t))
    if len(tables) > MOST_TABLES:
        sentences.append(f"{counted(len(tables) - MOST_TABLES, 'more table', 'stand')} in section 5.")
    return tuple(sentences)


def _value_shares(numbers: TableNumbers) -> str:
    value = numbers.base_value
    return (
        f"{percent(value.withheld, value.total)} of the value at the lowest level is not published "
        f"({percent(value.unsafe, value.total)} unsafe, {percent(value.secondary, value.total)} besides)."
    )


def _deduced(deduced: Sequence[Deduction], verdict: Verdict, audit: Audit | None) -> str:
    if audit is not None and not audit.complete:
        return _partly_audited(audit, verdict)
    if all(d.realised for d in deduced):
        short, exact = sum(int(d.short.sum()) for d in deduced), sum(int(d.exact.sum()) for d in deduced)
        return _audited(short, exact)
    if not verdict.holds or not verdict.proved:
        return "Not established: the release does not prove what it claims, and no audit was made."
    return (
        "Of every unsafe cell at least its protection level stays open; that is proved. No audit was made, so how much "
        "wider the attacker's intervals are is not known."
    )


def _partly_audited(audit: Audit, verdict: Verdict) -> str:
    """What an audit says that did not compute both ends of every interval."""
    looked_at, unsafe = audit.sampled
    if looked_at < unsafe:
        seen = f"The audit looked at a random sample of {count(looked_at)} of {cells(unsafe, 'unsafe')}, not at all"
    else:
        seen = "The audit decided whether levels are kept, and did not compute how wide the intervals are"
    bad = audit.external_short
    found = f"{_are(bad, 'unsafe')} known more closely than allowed" if bad else "it found none that misses its level"
    proved = "of all unsafe cells the levels are proved" if verdict.holds and verdict.proved else "nothing is proved"
    return f"{seen}; {found}. By the release itself, {proved}."


def _audited(short: int, exact: int) -> str:
    known = f"{_are(exact, 'withheld')} known exactly" if exact else "No withheld cell can be worked out exactly"
    levels = f"{_are(short, 'unsafe')} short of the protection level" if short else "every unsafe cell keeps its level"
    return f"{known}; {levels}."


def _are(number: int, kind: str) -> str:
    return f"{cells(number, kind)} {'is' if number == 1 else 'are'}"


def deduced_words(deduction: Deduction) -> str:
    """What holds for the withheld cells of one table."""
    unsafe, short = int(deduction.unsafe.sum()), int(deduction.short.sum())
    if deduction.realised:
        return f"{cells(len(deduction.rows), 'withheld')}, {count(unsafe)} of them unsafe. " + _audited(
            short, int(deduction.exact.sum())
        )
    kept = f"of {count(unsafe - short)} of {cells(unsafe, 'unsafe')} the certificates show the whole protection level"
    return f"{cells(len(deduction.rows), 'withheld')}; {kept}."


# ---- captions -----------------------------------------------------------------------------------------------


def status_caption(tables: Sequence[TableNumbers]) -> str:
    """What the image of shares shows."""
    said = []
    for t in tables:
        text = f"{t.table.name}: {percent(t.tally.withheld, t.tally.total)} of the cells are withheld"
        if t.base_value.total:
            text += (
                f", which hold {percent(t.base_value.withheld, t.base_value.total)} of the value at the lowest level"
            )
        said.append(text)
    return "; ".join(said) + "."


def level_caption(numbers: TableNumbers) -> str:
    """What the image of levels shows: where most is withheld."""
    levels = [level for level in numbers.levels if level.tally.total > level.tally.empty]
    if not numbers.tally.withheld:
        return f"Nothing is withheld in {numbers.table.name}."
    worst = max(levels, key=lambda level: level.tally.withheld / (level.tally.total - level.tally.empty))
    share = percent(worst.tally.withheld, worst.tally.total - worst.tally.empty)
    return (
        f"Most is withheld at level {worst.depth} of {worst.variable}: {share} of the cells there that are not empty."
    )


def width_caption(deduction: Deduction) -> str:
    """What the image of widths shows."""
    finite = deduction.value != 0
    if not finite.any():
        return f"All {deduction.kind} cells have the value zero."
    width = (deduction.upper - deduction.lower)[finite] / np.abs(deduction.value[finite])
    half = float(np.median(width))
    middle = "has no limit" if np.isinf(half) else f"is {100 * half:,.0f} % of the value or more"
    verb = "is left to the attacker" if deduction.realised else "is proved to be possible"
    return f"For half of the {deduction.kind} cells the interval that {verb} {middle}."


def interval_caption(deduction: Deduction, shown: Ints) -> str:
    """What the image of required and remaining intervals shows."""
    margin = deduction.margin[shown]
    if not np.isfinite(margin).any():
        return "No unsafe cell requires a distance."
    every = len(shown) == int(deduction.unsafe.sum())
    which = "all unsafe cells" if every else f"the {counted(len(shown), 'unsafe cell')} with the least room"
    verb = "reaches" if deduction.realised else "is proved to reach"
    least = f"{float(margin.min()):.2f} times the required distance"
    return f"Required and remaining intervals of {which}: the tightest {verb} {least}."
