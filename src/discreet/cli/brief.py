"""Results as a few lines on the terminal; everything stands in ``--verbose``, in reports and in ``--json``.

What does not hold is never cut short, and neither is what was left out of consideration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.attack import Audit
from discreet.cli.terminal import VERBOSE, asked_for, coloured
from discreet.errors import counted
from discreet.model.claims.base import EXTERNAL
from discreet.model.claims.suppression import INSIDERS, JOINT, TOGETHER
from discreet.model.custodian import RecordCustodian
from discreet.model.release import Release
from discreet.model.table import CellStatus
from discreet.verbs.show import summary
from discreet.verify import Verdict
from discreet.verify.verdict import one_line

SHORT = {
    EXTERNAL: "outsiders",
    INSIDERS["full"]: "insiders (levels kept)",
    INSIDERS["nonzero"]: "insiders (nothing known exactly)",
    TOGETHER["full"]: "pairs of insiders (levels kept)",
    TOGETHER["nonzero"]: "pairs of insiders (nothing known exactly)",
    JOINT: "those who add withheld cells up",
}
"""Attackers by name, with what must hold against them."""


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows under their heads; the first column to the left, numbers to the right.

    Examples
    --------
    >>> print(text_table(["table", "cells"], [["turnover", "12"], ["staff", "1,200"]]))
    table     cells
    turnover     12
    staff     1,200
    """
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return "\n".join(
        "  ".join(
            text.ljust(width) if not k else text.rjust(width)
            for k, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def brief_release(release: Release[Any]) -> str:
    """What became of the cells, a line a table; notes and findings besides."""
    custodian = release.custodian
    if asked_for(VERBOSE) or isinstance(custodian, RecordCustodian):
        return summary(release)
    altered = custodian.published is not None
    head = ["table", "cells", "unsafe", "changed"] if altered else ["table", "cells", "unsafe", "withheld besides"]
    rows = []
    for number, table in enumerate(custodian.tables):
        status = custodian.status[number]
        unsafe = int((status == CellStatus.UNSAFE).sum())
        if custodian.published is not None:
            unit = 10 ** (custodian.decimals - table.decimals)
            moved = int((custodian.published[number] != table.value * unit).sum())
            rows.append([one_line(table.name), f"{len(table):,}", f"{unsafe:,}", f"{moved:,}", "all, altered"])
            continue
        shown = int(((status == CellStatus.SAFE) | (status == CellStatus.FORCED)).sum())
        share = f"{shown:,} ({100 * shown // max(len(table), 1)} %)"
        besides = f"{int((status == CellStatus.SECONDARY).sum()):,}"
        rows.append([one_line(table.name), f"{len(table):,}", f"{unsafe:,}", besides, share])
    lines = [text_table([*head, "published"], rows)]
    for evidence in custodian.evidence:
        lines += [f"  {one_line(text)}" for text in evidence.findings]
    lines += [f"{coloured('note:', 'yellow')} {one_line(text)}" for text in custodian.log.get("notes", ())]
    return "\n".join(lines)


def brief_verdict(verdict: Verdict) -> str:
    """The verdict in a few lines; one that does not hold in full."""
    if asked_for(VERBOSE) or not verdict.holds or verdict.not_judged:
        return str(verdict)
    lines = [
        f"{coloured(verdict.headline(), 'green')} {counted(len(verdict.proved), 'statement', 'were')} proved, "
        f"{counted(len(verdict.asserted), 'statement', 'are')} taken on trust; -v lists them."
    ]
    lines += [one_line(f"  against {_names(verdict.attackers)}")] if verdict.attackers else []
    lines += [one_line(f"  together with {text}") for text in verdict.together_with]
    lines += [one_line(f"  not considered: {text}") for text in verdict.not_considered]
    return "\n".join(lines)


def brief_audit(found: Audit, *, after_run: bool = False) -> str:
    """The audit with attackers by name; after a run that it confirms, in one line."""
    if asked_for(VERBOSE) or found.not_audited:
        return found.summary()
    count = found.counts()
    if after_run and found.holds and not found.recoverable:
        sample = "" if count["looked_at"] == count["unsafe"] else f", of which {count['looked_at']:,} were looked at"
        return (
            f"Audit: of {counted(count['withheld'], f'{found.hidden} cell')} ({count['unsafe']:,} unsafe{sample}) none "
            "is found too closely."
        )
    lines = [line for line in found.summary().splitlines() if not line.startswith("  attacker: ")]
    return "\n".join([*lines, f"  attackers: {_names(found.attackers)}; -v says what each of them knows"])


def _names(attackers: Sequence[str]) -> str:
    """Attackers by the words before what they know."""
    return ", ".join(dict.fromkeys(SHORT.get(text, text.partition(":")[0]) for text in attackers))
