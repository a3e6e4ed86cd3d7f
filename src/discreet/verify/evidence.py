"""What a method claims: that it is what its parameters and the tables allow, and that it is proved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from discreet.errors import counted, listed
from discreet.model.arrays import Ints
from discreet.model.claims.base import Claim
from discreet.model.claims.suppression import INSIDERS, judged_sums, suppression_claim
from discreet.model.evidence import Evidence
from discreet.verify.certificates import check_certificates, read_certificates
from discreet.verify.coalitions import check_coalitions, has_unnamed_pairs
from discreet.verify.cycles import has_open_cycle, unseen_numbers
from discreet.verify.figures import FigureSums, check_certificates_of_figures, check_figures
from discreet.verify.impossible import check_impossible
from discreet.verify.joint import check_joint
from discreet.verify.known import CommonKnowledge, Ground, RowContributors
from discreet.verify.proofs import MOST, check_insiders, check_levels, levels_of, read_proofs
from discreet.verify.rules import Recheck
from discreet.verify.verdict import Verdict

FINEST = 40
"""Evidence in smaller units than ``10 ** -40`` is not looked at."""


class Stated(NamedTuple):
    """The parameters of a method that its claim depends on."""

    insiders: str | None
    coalitions: bool
    joint: bool
    within: Fraction | None
    claim: Claim


def check_evidence(verdict: Verdict, ground: Ground, evidence: Evidence, rechecks: Sequence[Recheck]) -> None:
    """Check one method's claim and its proof."""
    stated = _stated(verdict, ground, evidence)
    if stated is None:
        return
    check_claim(verdict, stated.claim, evidence.claim)
    verdict.attackers += list(stated.claim.attackers)
    verdict.together_with += list(stated.claim.together_with)
    verdict.not_considered += list(evidence.claim.not_considered)
    verdict.asserted += list(evidence.findings)
    before = len(verdict.refused)
    accepted = _accepted(verdict, ground, evidence)
    figures = check_figures(verdict, ground)
    shown = _check_proof(verdict, ground, evidence, rechecks, stated, accepted, figures)
    if stated.joint:
        check_joint(verdict, ground, accepted)
    verdict.prove(
        f"{stated.claim.statement} ({counted(shown, 'cell')}, "
        f"{counted(len(evidence.certificates), 'exact certificate')})",
        before,
    )


def _check_proof(
    verdict: Verdict,
    ground: Ground,
    evidence: Evidence,
    rechecks: Sequence[Recheck],
    stated: Stated,
    accepted: Ints,
    figures: list[FigureSums],
) -> int:
    """Certificates first, then levels, then insiders; the answer is how many cells have a proof."""
    before = len(verdict.refused)
    entries = read_certificates(verdict, ground, evidence.certificates)
    if entries is None:
        return 0
    targets = read_proofs(verdict, ground, evidence.proofs, len(entries.denominator), accepted)
    if targets is None:
        return 0
    knowledge = CommonKnowledge.of(ground, evidence.decimals, stated.within)
    asked = (targets.certificate, targets.row[targets.of])
    moved = check_certificates(verdict, ground, entries, knowledge, *asked)
    check_certificates_of_figures(verdict, ground, figures, evidence.certificates, entries, evidence.decimals)
    if len(verdict.refused) > before:
        return 0
    levels = levels_of(ground, rechecks, evidence.decimals, targets.row)
    shown = check_levels(verdict, ground, entries, targets, levels, moved)
    insiders = None if stated.insiders is None else RowContributors.of(ground, evidence.decimals)
    check_impossible(verdict, ground, evidence, rechecks, knowledge, insiders, stated.coalitions)
    if insiders is not None:
        full = stated.insiders == "full"
        check_insiders(verdict, ground, entries, targets, shown, levels, knowledge.whole, insiders, full)
        if stated.coalitions:
            check_coalitions(verdict, ground, entries, targets, shown, levels, knowledge.whole, insiders, full)
        named = [t.name for t in ground.tables if t.holders is not None]
        for name in named:
            verdict.take_for_granted(f"table {name}: who contributes to its cells, and how much", "cells")
    return int((~targets.waived).sum())


# ---- the claim ----------------------------------------------------------------------------------------------


def _stated(verdict: Verdict, ground: Ground, evidence: Evidence) -> Stated | None:
    """The parameters, where they are such that something can be shown, and the claim that they allow."""
    insiders, within = evidence.method.get("insiders"), evidence.method.get("known_within")
    if insiders is not None and insiders not in INSIDERS:
        verdict.refuse("claim", "what the method says of insiders is not known to this checker")
        return None
    coalitions, joint = (evidence.method.get(name, False) for name in ("coalitions", "joint"))
    if not isinstance(coalitions, bool) or not isinstance(joint, bool):
        verdict.refuse("claim", "what the method says of contributors or sums together is not known to this checker")
        return None
    number = isinstance(within, int | float) and not isinstance(within, bool)
    if within is not None and not (number and 0 <= within < math.inf):
        verdict.refuse("claim", "what the method says everybody knows of a cell is not a percentage")
        return None
    tables = ground.tables.tables
    if not max(table.decimals for table in tables) <= evidence.decimals <= FINEST:
        verdict.refuse("certificates", "the units of the evidence do not fit those of the tables")
        return None
    unseen = set(unseen_numbers(ground))
    seen = [table for number, table in enumerate(tables) if number not in unseen]
    counted = [table.holders is not None or "holding" in table.contributions for table in seen]
    if not any(counted):
        insiders = None
    claim = suppression_claim(
        insiders,
        within,
        universes=len({table.spec.identity[1:] for table in tables}) > 1,
        values=len({table.spec.value for table in tables}) > 1,
        cycle=has_open_cycle(ground),
        counts=any(table.spec.value is None for table in tables),
        fractions=_moves_by_fractions(ground, evidence),
        unnamed=any(table.holders is None and "holding" in table.contributions for table in tables),
        uncounted=not all(counted),
        accepted=len(evidence.accepted),
        already=ground.already,
        coalitions=coalitions,
        unnamed_pairs=any(map(has_unnamed_pairs, seen)),
        sums=judged_sums(tables[: ground.present], joint),
    )
    return Stated(insiders, coalitions, joint, None if within is None else Fraction(str(within)), claim)


def _moves_by_fractions(ground: Ground, evidence: Evidence) -> bool:
    """Whether a certificate moves a row by less than a whole number of the last decimal that its table has."""
    c = evidence.certificates
    if read_certificates(Verdict(), ground, c) is None:
        return False  # they are refused where the proof is looked at
    units = [10 ** (evidence.decimals - table.decimals) for table in ground.tables]
    if max(units) * max((int(d) for d in c.denominator.tolist()), default=1) == 1:
        return False
    length = np.diff(c.start)
    exact: Any = np.int64 if max(units) * int(c.denominator.max(initial=1)) < 2**62 else object
    step = np.repeat(c.denominator.astype(exact), length) * np.array(units, exact)[c.entry_table]
    return bool(np.any(np.asarray(c.amount % step != 0, np.bool_)))


def check_claim(verdict: Verdict, allowed: Claim, claim: Claim) -> None:
    """The release claims what this checker can show, and admits what it cannot."""
    if (claim.method, claim.statement, claim.attackers) != (allowed.method, allowed.statement, allowed.attackers):
        verdict.refuse("claim", "the release claims something that this checker cannot show")
    if claim.together_with != allowed.together_with:
        verdict.refuse("claim", "what is already published is not what the claim was made together with")
    for missing in sorted(set(allowed.not_considered) - set(claim.not_considered)):
        verdict.refuse("claim", f"the release does not admit that it leaves this out: {missing}")


# ---- cells that are accepted --------------------------------------------------------------------------------


def _accepted(verdict: Verdict, ground: Ground, evidence: Evidence) -> Ints:
    """Rows of the cells that somebody answers for; the verdict says so."""
    rows: list[int] = []
    for accepted in evidence.accepted:
        row = ground.row(accepted.table, accepted.cell)
        where = f"{accepted.table}: {', '.join(accepted.cell)}"
        if row < 0:
            verdict.refuse("accepted", "an accepted cell is not in the tables", where)
        elif not ground.unsafe[row]:
            verdict.refuse("accepted", "an accepted cell is not an unsafe one that is withheld", where)
        elif row in rows:
            verdict.refuse("accepted", "a cell is accepted twice", where)
        elif not accepted.reason.strip() or not accepted.name.strip():
            verdict.refuse("accepted", "a cell is accepted without a reason or by nobody", where)
        else:
            rows.append(row)
    if rows:
        names = listed(dict.fromkeys(accepted.name for accepted in evidence.accepted))
        cells = "; ".join(ground.name(row) for row in rows[:MOST])
        more = f" and {len(rows) - MOST} more" if len(rows) > MOST else ""
        verdict.asserted.append(
            f"{counted(len(rows), 'unsafe cell', 'are')} withheld without a proof of the level, accepted by "
            f"{names}: {cells}{more}"
        )
    return np.array(rows, np.int64)
