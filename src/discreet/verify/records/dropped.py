"""Dropped and added records: caps of every finest cell, additivity, totals."""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist

import numpy as np

from discreet.errors import counted
from discreet.model.arrays import Bools
from discreet.model.claims.noise import ONE_WEIGHT, SINGLE_WEIGHTS, dropped_statement, noise_claim
from discreet.model.table import Table
from discreet.verify.altered import Altered, Numbers
from discreet.verify.verdict import Verdict

KIND = "drop_add"
AVERAGES = "The noise depends on the margins"


def check_dropped(a: Altered) -> None:
    """At most q records moved in every finest cell, or exactly q in all; counts are what is left."""
    verdict, ground, evidence, true, published = a.verdict, a.ground, a.evidence, a.true, a.published
    method, columns = evidence.method, evidence.parts["altered"]
    if len(ground.tables) != 1 or any(len(column) != len(published) for column in columns.values()):
        verdict.refuse(KIND, "there is not one table with what moved in every cell")
        return
    table = ground.tables.tables[0]
    finest = _finest(table)
    moved, records = columns["moved"], columns["records"]
    before = len(verdict.refused)
    plain = table.spec.value is None and table.weighted is None
    original = table.value if plain else table.records
    if original is None or np.any(records != original):
        verdict.refuse(KIND, "the number of records of a cell is not that of the table")
    a.refuse_where(~finest & (moved != 0), "records moved in a cell that is a sum of others")
    q = method["subsample"]
    if q is None:
        caps = _caps(records.tolist(), Fraction(str(method["rate"])), str(method["rounding"]))
        far = finest & np.array([abs(m) > cap for m, cap in zip(moved.tolist(), caps, strict=True)], np.bool_)
        a.refuse_where(far, "more records moved than the cap allows")
    elif moved.max(initial=0) > 0 or int(moved.sum()) != -int(q):
        verdict.refuse(KIND, "not exactly so many records were dropped as stated")
    a.refuse_where(finest & (records + moved < 0), "more records were dropped than there are")
    if plain:
        wrong = finest & np.asarray(published != true + moved, np.bool_)
        a.refuse_where(wrong, "a count is not that of the records that are left")
    else:
        verdict.take_for_granted("which records were dropped or doubled, and their weights", "method")
        if table.spec.value is None:
            _check_total(verdict, table, true, published, int(finest.sum()))
    a.refuse_where(a.empty & (published != 0), "an empty cell got a value")
    a.check_additive()
    coverage = _check_intervals(a)
    statement = dropped_statement(
        str(method["rate"]),
        str(method["rounding"]),
        q,
        plain=plain,
        moved=int(np.abs(moved).sum()),
        coverage=coverage,
    )
    left_out = tuple(text for text in evidence.claim.not_considered if text.startswith(AVERAGES))
    if not left_out:
        verdict.refuse("claim", "the release does not admit that noise averages out over different tables")
    if coverage is not None:
        left_out += (SINGLE_WEIGHTS,)
    if columns["equal_weights"].any():
        left_out += (ONE_WEIGHT,)
    if not plain and not np.any(published != true):
        verdict.refuse(KIND, "no value differs from what it was: the weights undo the noise")
    insecure = bool(evidence.facts.get("insecure"))
    claim = noise_claim(KIND, statement, additive=True, universes=False, insecure=insecure, left_out=left_out)
    a.claims(claim)
    verdict.take_for_granted("the draws are those of the records in the cell, its margins and the universe", "method")
    verdict.prove(f"{claim.statement} ({counted(int(finest.sum()), 'finest cell')})", before)


def _check_intervals(a: Altered) -> float | None:
    """Confidence intervals reach as far to both sides as their standard errors say; gives their coverage."""
    method, columns, ends = a.evidence.method, a.evidence.parts["altered"], a.ground.intervals
    if not method["replicates"]:
        if ends is not None or "error" in columns or "coverage" in a.evidence.facts:
            a.verdict.refuse(KIND, "there are confidence intervals without replicate weights")
        return None
    coverage = float(method["coverage"])
    if ends is None or "error" not in columns or a.evidence.facts.get("coverage") != coverage:
        a.verdict.refuse(KIND, "the confidence intervals are missing, or their coverage is not the one asked for")
        return coverage
    reach = NormalDist().inv_cdf((1 + coverage) / 2) * columns["error"].astype(np.float64)
    for sign, end in ((-1, ends[0]), (1, ends[1])):
        off = np.abs(sign * (end - a.published).astype(np.float64) - reach)
        a.refuse_where(off > 0.5 + 1e-9 * np.abs(reach), "a confidence interval is not that of its standard error")
    a.verdict.take_for_granted("the standard errors are those of the replicate weights", "method")
    return coverage


def _finest(table: Table) -> Bools:
    sums = [{g.parent for g in h.groupings} for h in table.spec.hierarchies]
    plain = [np.array([code not in s for code in h.codes]) for h, s in zip(table.spec.hierarchies, sums, strict=True)]
    return np.asarray(np.all([p[table.codes[:, k]] for k, p in enumerate(plain)], axis=0), np.bool_)


def _caps(records: list[int], rate: Fraction, rounding: str) -> list[int]:
    """The most records that may move: the rate times their number, rounded up, or the next whole number above."""
    if rounding == "ceil":
        return [-((-rate * n) // 1) for n in records]
    return [(rate * n) // 1 + 1 if n else 0 for n in records]


def _check_total(verdict: Verdict, table: Table, true: Numbers, published: Numbers, cells: int) -> None:
    """Weights are calibrated: the total keeps its value but for rounding of every finest cell."""
    total = [-1 if h.total is None else h.index[h.total] for h in table.spec.hierarchies]
    rows = np.flatnonzero((table.codes == np.array(total)).all(axis=1))
    if len(rows) and 2 * abs(int(published[rows[0]]) - int(true[rows[0]])) > cells + 1:
        verdict.refuse(KIND, "the total of all weights changed")
