"""Generalised keys: every value became a stated code above it, rules are counted anew, and so is what was lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.model.claims.generalised import generalised_claim
from discreet.verify.description import same
from discreet.verify.records.broader import Broader, broader_codes
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.lost import losses
from discreet.verify.records.population import check_map, check_presence
from discreet.verify.records.rules import check_rule
from discreet.verify.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

BESIDE_PEOPLE = {"k_map": check_map, "delta_presence": check_presence}
NEARLY = 1e-6
"""Losses are long sums of floating-point numbers, added up in another order here."""


def check_generalised(step: CheckedStep) -> None:
    """Keys became broader as stated, and the rules held then."""
    method, facts, before = step.method, step.evidence.facts, len(step.verdict.refused)
    keys = [str(name) for name in facts["keys"]]
    stated = [str(name) for name in method["keys"]] or [
        name for name in step.original.names if step.original.about(name).role == "key"
    ]
    if keys != stated or not keys or len(set(keys)) < len(keys) or not set(keys) <= set(step.before):
        step.refuse("the keys are not those that the method names, or that the records have")
        return
    if not set(step.changed) <= set(keys):
        step.refuse("other columns changed than keys")
        return
    if not _levels_fit(step, keys):
        return
    broader = broader_codes(step, keys)
    if broader is None:
        return
    after = {name: step.changed.get(name, step.before[name]) for name in keys}
    suppressed = _suppressed(step, keys, after)
    for one in broader:
        wrong = one.wrong(step.before[one.name], after[one.name], suppressed)
        if wrong:
            step.refuse("a value became a code that does not stand above it", one.name)
    _check_numbers(step, after, suppressed, broader)
    held = _check_rules(step, keys, after, broader)
    _check_lattice(step)
    claim = generalised_claim(method, facts)
    step.claims(claim)
    if held:
        step.verdict.prove(claim.statement, before)
    elif len(step.verdict.refused) == before:
        step.verdict.asserted.append(claim.statement)


def _levels_fit(step: CheckedStep, keys: Sequence[str]) -> bool:
    """Whether levels are stated of a lattice, one for every key, and of nothing else."""
    facts, lattice = step.evidence.facts, step.method["algorithm"] == "lattice"
    levels: Any = facts.get("levels")
    heights: Any = facts.get("heights")
    if not lattice:
        good = levels is None and heights is None and not facts.get("table")
    else:
        good = isinstance(levels, list) and isinstance(heights, list) and len(levels) == len(heights) == len(keys)
        good = good and all(
            type(up) is int and type(top) is int and 0 <= up <= top for up, top in zip(levels, heights, strict=True)
        )
    if not good:
        step.refuse("the levels are not those of the keys")
    return good


def _suppressed(step: CheckedStep, keys: Sequence[str], after: Mapping[str, pa.ChunkedArray]) -> np.ndarray:
    """Rows in which a key is newly empty; all of their keys must be."""
    rows = len(step.original)
    newly, filled = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
    for name in keys:
        full = np.asarray(after[name].is_valid().to_numpy(), np.bool_)
        newly |= ~full & np.asarray(step.before[name].is_valid().to_numpy(), np.bool_)
        filled |= full
    if bool((newly & filled).any()):
        step.refuse("a record has some of its keys emptied and not all")
    return newly


def _check_numbers(
    step: CheckedStep, after: Mapping[str, pa.ChunkedArray], suppressed: np.ndarray, broader: Sequence[Broader]
) -> None:
    """Numbers of records and classes, and what was lost."""
    facts, method = step.evidence.facts, step.method
    rows, gone = len(step.original), int(suppressed.sum())
    counts = _counts(after)
    if facts["rows"] != rows or facts["suppressed"] != gone or facts["classes"] != len(counts):
        step.refuse("the numbers of records, of those suppressed and of classes are not those that are counted")
    if gone > int(float(method["outliers"]) * rows + 1e-9):
        step.refuse("more records have their keys emptied than the method allows")
    found = losses(step, after, suppressed, broader)
    stated = facts["losses"]
    if set(found) != set(stated) or not all(
        isclose(float(stated[name]), value, rel_tol=NEARLY, abs_tol=NEARLY) for name, value in found.items()
    ):
        step.refuse("what is said to be lost is not what is lost")


def _counts(columns: Mapping[str, pa.ChunkedArray]) -> np.ndarray:
    import pyarrow as pa

    table = pa.table({str(place): column for place, column in enumerate(columns.values())})
    found = table.group_by(table.column_names).aggregate([([], "count_all")])
    return np.asarray(found["count_all"].to_numpy(), np.int64)


def _check_rules(
    step: CheckedStep, keys: Sequence[str], after: Mapping[str, pa.ChunkedArray], broader: Sequence[Broader]
) -> bool:
    """Whether the rules were counted; those that are not the method's, or do not hold, are refused."""
    import pyarrow as pa

    table = pa.table({**step.before, **after})
    rules = step.evidence.facts["rules"]
    wanted = [_about(step, rule, keys) for rule in _rules(step.method)]
    if not same(_plain(rules), _plain(wanted)) or not rules:
        step.refuse("the rules are not those of the method, about its keys")
        return False
    unknown = {name: step.original.about(name).missing for name in step.original.names}
    by_name = {one.name: one for one in broader}

    def holds(name: str, code: str, shown: str) -> bool:
        return by_name[name].holds(code, shown)

    seen = True
    for rule in rules:
        scratch = Verdict()
        if "population" in rule:
            BESIDE_PEOPLE[rule["kind"]](scratch, table, rule, unknown, holds)
        else:
            check_rule(scratch, table, rule, unknown)
        for refusal in scratch.refused:
            step.refuse(refusal.message, refusal.where)
        seen &= not scratch.asserted
        step.verdict.asserted += scratch.asserted
    return seen


def _plain(value: Any) -> Any:
    """The same without a difference between kinds of lists, which files do not know."""
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _rules(method: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rules of the method, k-anonymity first where it is said by its number alone."""
    k = method["k"]
    first = [{"kind": "k_anonymity", "k": k, "keys": [], "missing": "category"}] if k is not None else []
    return [*first, *(dict(rule) for rule in method["rules"])]


def _about(step: CheckedStep, rule: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """A rule about the keys of the method, with the sensitive column and the hierarchy of the records."""
    made = {**rule, "keys": list(keys)}
    if rule["kind"] in ("l_diversity", "t_closeness", "beta_likeness") and "sensitive" not in rule:
        roles = [name for name in step.original.names if step.original.about(name).role == "sensitive"]
        made["sensitive"] = roles[0] if len(roles) == 1 else ""
    if rule.get("distance") == "hierarchical" and not rule.get("above"):
        hierarchy = step.original.hierarchies.get(made["sensitive"])
        above: dict[str, str] = {}
        for grouping in hierarchy.groupings if hierarchy is not None else ():
            for part, _ in grouping.parts:
                if hierarchy is not None and part != hierarchy.total:
                    above.setdefault(part, grouping.parent)
        made["above"] = above
    return made


def _check_lattice(step: CheckedStep) -> None:
    """The nodes that are shown, with the chosen one among them: the best of those that are said to keep the rules."""
    facts = step.evidence.facts
    if step.method["algorithm"] != "lattice":
        return
    if facts["nodes"] != prod(top + 1 for top in facts["heights"]):
        step.refuse("the number of nodes is not that of the hierarchies")
    mine = float(facts["losses"][step.method["metric"]])
    shown = [node for node in facts["table"] if list(node[0]) == facts["levels"]]
    if facts["table"]:
        good = len(shown) == 1 and shown[0][3] is True and shown[0][1] == facts["suppressed"]
        good = good and isclose(float(shown[0][2]), mine, rel_tol=NEARLY, abs_tol=NEARLY)
        good = good and all(float(node[2]) >= mine * (1 - NEARLY) - NEARLY for node in facts["table"] if node[3])
        if not good:
            step.refuse("the nodes that are shown do not have the chosen one as their best")
    step.verdict.asserted.append("that no other combination of levels keeps the rules and loses less")
