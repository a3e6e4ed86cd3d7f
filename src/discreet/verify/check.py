"""The checks of a release, in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.model.already import known_digest
from discreet.model.claims.base import Claim
from discreet.model.claims.pram import pram_claim_before_tables
from discreet.model.claims.random_rounding import randomly_rounded_claim
from discreet.model.claims.recoding import recoded_claim
from discreet.model.claims.records import multiplied_claim, swapped_claim
from discreet.model.custodian import TableCustodian
from discreet.model.evidence import Evidence
from discreet.model.public import PublicRelease
from discreet.model.table import CellStatus, Table
from discreet.verify.altered import Check, check_adjustment, check_altered, check_intervals, check_rounding
from discreet.verify.bounds import check_floors
from discreet.verify.cell_key import check_cell_key
from discreet.verify.contradictions import check_contradictions
from discreet.verify.cycles import check_unseen, unseen_numbers
from discreet.verify.evidence import check_evidence
from discreet.verify.known import Ground
from discreet.verify.public import cell_text, check_public
from discreet.verify.records.dropped import check_dropped
from discreet.verify.records.multiplied import check_multiplied
from discreet.verify.records.swapped import check_swapped
from discreet.verify.redistributed import check_redistributed
from discreet.verify.rules import Recheck
from discreet.verify.small_counts import check_small_count
from discreet.verify.undeclared import check_undeclared
from discreet.verify.verdict import Verdict

ALTERING: dict[str, Check] = {
    "adjust": check_adjustment,
    "cell_key": check_cell_key,
    "drop_add": check_dropped,
    "intervals": check_intervals,
    "multiplicative_noise": check_multiplied,
    "redistribute": check_redistributed,
    "round": check_rounding,
    "small_count": check_small_count,
    "swap": check_swapped,
}
"""Methods that alter values, and how their claims are checked."""


BEFORE: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Claim]] = {
    "multiplicative_noise": multiplied_claim,
    "pram": pram_claim_before_tables,
    "recode": recoded_claim,
    "round_randomly": randomly_rounded_claim,
    "swap": swapped_claim,
}
"""Methods for records that may come before tables are made, and what they claim."""


def check_release(custodian: TableCustodian, public: PublicRelease) -> Verdict:
    """Re-check every claim of a release from the custodian's cells and the evidence."""
    verdict = Verdict()
    ground = Ground(custodian)
    unseen = unseen_numbers(ground)
    pairs = enumerate(zip(custodian.whole, custodian.whole_status, strict=True))
    rechecks = [Recheck(t) if n in unseen else _check_cells(verdict, t, status) for n, (t, status) in pairs]
    if custodian.published is None and len(verdict.not_judged) == len(rechecks) - len(unseen):
        verdict.refuse("rules", "no rule is stated and no cell is marked, so nothing is known to be safe")
    check_unseen(verdict, ground)
    _check_sums(verdict, ground)
    check_floors(verdict, ground.tables, ground.relations)
    _check_known(verdict, ground)
    _check_claims(verdict, ground, custodian, rechecks)
    check_public(verdict, custodian, public)
    return verdict


# ---- cells and rules ----------------------------------------------------------------------------------------


def _check_cells(verdict: Verdict, table: Table, status: NDArray[np.int8]) -> Recheck:
    """Statuses and levels of a table against its stated rules."""
    before = len(verdict.refused)
    if len(np.unique(table.codes, axis=0)) != len(table):
        verdict.refuse("cells", "a cell stands twice in the cell file", table.name)
    check_contradictions(verdict, table)
    recheck = Recheck(table)
    verdict.asserted += recheck.asserted
    for kind in recheck.missing:
        verdict.refuse("rules", f"what rule {kind} looks at is not in the cell file", table.name)
    if recheck.exempt:
        verdict.asserted.append(
            f"{counted(recheck.exempt, f'cell of table {table.name}', 'have')} an unknown code, which needs no "
            "protection"
        )
    if recheck.declared:
        verdict.asserted.append(
            f"{counted(recheck.declared, f'cell of table {table.name}', 'break')} a rule, declared safe by hand"
        )
    for number, what in zip(recheck.resting, ("sampling weights", "contributors whose value is zero"), strict=True):
        if number:
            verdict.asserted.append(f"{counted(number, f'safe cell of table {table.name}', 'rest')} on {what}")
    hidden = (status == CellStatus.UNSAFE) | (status == CellStatus.SECONDARY)
    forced = status == CellStatus.FORCED
    for row in np.flatnonzero(recheck.unsafe & (status != CellStatus.UNSAFE) & ~forced).tolist():
        verdict.refuse("rules", "a cell is unsafe under the stated rules but not marked unsafe", cell_text(table, row))
    for row in np.flatnonzero(recheck.misreported).tolist():
        verdict.refuse("rules", "a cell breaks other rules than those that it is said to break", cell_text(table, row))
    for row in np.flatnonzero((status == CellStatus.EMPTY) != (table.empty & ~hidden & ~forced)).tolist():
        verdict.refuse("cells", "a cell's status does not fit whether it is empty", cell_text(table, row))
    if table.manual is None:
        odd = forced
    else:
        odd = forced != (table.manual == CellStatus.FORCED)
    for row in np.flatnonzero(odd).tolist():
        verdict.refuse("cells", "a cell is published by force without being marked so", cell_text(table, row))
    exceptions = int((recheck.unsafe & forced).sum())
    if exceptions:
        verdict.asserted.append(
            f"{counted(exceptions, f'unsafe cell of table {table.name}', 'are')} published by force"
        )
    _check_levels(verdict, table, status, recheck)
    unsafe = f"the unsafe cells ({int((status == CellStatus.UNSAFE).sum())} of {len(table)}) and their levels"
    rules = "; ".join(_in_words(rule) for rule in recheck.checked)
    if rules:
        said = f"{unsafe} follow from the stated rules: {rules}{_besides(table)}"
        verdict.prove(f"table {table.name}: {said}", before)
    elif recheck.marked:
        said = f"{unsafe} are as they were marked by hand; no rule is stated that was checked{_besides(table)}"
        verdict.prove(f"table {table.name}: {said}", before)
    elif not recheck.asserted:
        verdict.not_judged.append(f"table {table.name}")
    verdict.take_for_granted(
        f"table {table.name}: values, contributor counts and largest contributions of the cells", "cells"
    )
    return recheck


def _in_words(rule: Mapping[str, Any]) -> str:
    return " ".join([str(rule["kind"]), *(f"{name}={value}" for name, value in rule.items() if name != "kind")])


def _besides(table: Table) -> str:
    """What else decides on levels, where it is not what one expects."""
    assessment = table.assessment
    if assessment is None:
        return ""
    said = ["profile=argus"] if assessment.profile == "argus" else []
    if "manual_range" in assessment.options:
        said.append(f"manual_range={assessment.options['manual_range']}")
    return "".join(f"; {text}" for text in said)


def _check_levels(verdict: Verdict, table: Table, status: NDArray[Any], recheck: Recheck) -> None:
    assessment = table.assessment
    unsafe = status == CellStatus.UNSAFE
    if assessment is None:
        verdict.refuse("rules", "no rules are stated, so nothing is known to be safe", table.name)
        return
    for side, stated in (("lower", assessment.lower), ("upper", assessment.upper)):
        needed = getattr(recheck, side)
        for row in np.flatnonzero(unsafe & np.asarray(needed > stated, np.bool_)).tolist():
            verdict.refuse("levels", f"the stated {side} protection level is below the rules'", cell_text(table, row))
        setattr(recheck, side, np.where(needed > stated, needed, stated.astype(object)))


# ---- relations between the values ---------------------------------------------------------------------------


def _check_sums(verdict: Verdict, ground: Ground) -> None:
    """The custodian's values add up, and cells that mean the same agree in value and status."""
    tables, before = ground.tables, len(verdict.refused)
    values = ground.scaled([table.value for table in tables], max(table.decimals for table in tables))
    for relation in ground.relations.broken(values):
        equation = ground.relations.equation(relation)
        if equation is None:
            verdict.refuse("additivity", "a relation does not add up", ground.relations.text(relation))
        else:
            cell = ground.name(ground.relations.sample(relation))
            verdict.refuse("additivity", f"'{equation}' does not hold", cell)
    for row in np.flatnonzero(np.asarray(values != values[ground.twin], np.bool_)).tolist():
        verdict.refuse("additivity", "cells that mean the same differ", ground.name(row))
    for row in np.flatnonzero(ground.now & ground.withheld & ~ground.hidden & ~ground.known).tolist():
        verdict.refuse("pattern", "a withheld cell is published elsewhere", ground.name(row))
    check_undeclared(verdict, tables)
    verdict.prove("all relations of all tables add up, and cells that mean the same agree", before)
    verdict.proved.append(f"relations used: {len(ground.relations):,}, between {len(values):,} cells")


def _check_known(verdict: Verdict, ground: Ground) -> None:
    """The cells that are known from before are those that the claim's fingerprints are of."""
    for known in ground.already.known:
        if known_digest(ground.tables[known.table], known.rows) != known.fingerprint:
            verdict.refuse("known", "the cells that a file publishes are not those of its fingerprint", known.source)
        verdict.asserted.append(f"that {known} is all that it publishes of the tables")
    seen = (earlier for earlier in ground.already.tables if not earlier.unseen)
    verdict.asserted += [f"that {earlier} is what was published" for earlier in seen]
    out = int((ground.unsafe & ground.known & ground.now).sum())
    if out:
        verdict.asserted.append(f"{counted(out, 'unsafe cell', 'are')} known from what was published before")


# ---- what is claimed ----------------------------------------------------------------------------------------


def _check_before(verdict: Verdict, evidence: Evidence) -> None:
    """What was done to the records before tables were made of them is claimed word for word, and only asserted."""
    kind = str(evidence.claim.method)
    expected = BEFORE.get(kind)
    if expected is None or evidence.method.get("method") != kind:
        verdict.refuse("evidence", f"{kind[:60]!r} is no method that comes before tables are made")
        return
    try:
        allowed = expected(evidence.method, evidence.facts)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        allowed = None  # nothing can be claimed of what is not stated
    if evidence.claim != allowed:
        verdict.refuse("claim", f"{kind} does not claim what it may")
    else:
        verdict.take_for_granted(f"what was done to the records before: {evidence.claim.statement}", "method")
        verdict.not_considered += evidence.claim.not_considered


def _check_claims(verdict: Verdict, ground: Ground, custodian: TableCustodian, rechecks: list[Recheck]) -> None:
    unsafe = int(ground.unsafe.sum())
    if not custodian.evidence and unsafe:
        verdict.refuse("evidence", f"no evidence protects {counted(unsafe, 'unsafe cell')}")
    if custodian.published is not None and not custodian.evidence:
        verdict.refuse("evidence", "values are altered, and there is no method that says how")
    for evidence in custodian.evidence[:-1]:
        _check_before(verdict, evidence)
    for evidence in custodian.evidence[-1:]:
        kind = str(evidence.claim.method)
        if (custodian.published is not None) != (kind in ALTERING):
            verdict.refuse("evidence", f"what {kind!r} claims does not fit whether values are altered")
        elif kind in ALTERING:
            check_altered(verdict, ground, evidence, rechecks, ALTERING)
        else:
            check_evidence(verdict, ground, evidence, rechecks)
