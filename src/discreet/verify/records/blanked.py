"""Emptied fields: nothing else changed, every combination is counted anew, and so is the least that it could cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb, isclose
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.model.claims.blanked import blanked_claim
from discreet.verify.records.blank_bounds import check_least
from discreet.verify.records.blank_risk import check_risk
from discreet.verify.records.blanked_together import check_together, columns_besides
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.counting import combination_counts, complete_rows, rows_agreeing

if TYPE_CHECKING:
    import pyarrow as pa

NEARLY = 1e-9
MOST_SUBSETS = 20_000
STRATUM = "\0stratum"
"""A column with a number for each stratum; no column of records is called so."""


def check_blanked(step: CheckedStep) -> None:
    """Fields of keys were emptied, and what is left of the keys occurs often enough."""
    method, facts, before = step.method, step.evidence.facts, len(step.verdict.refused)
    keys = [str(name) for name in facts["keys"]]
    if not _stated(step, keys):
        return
    besides = columns_besides(step, keys)
    if besides is None:
        return
    if not set(step.changed) <= {*keys, *besides} - set(facts["strata"]):
        step.refuse("other columns changed than keys")
        return
    newly = _newly_empty(step, keys)
    check_together(step, keys, besides, newly)
    blanks, touched = newly.sum(axis=0).tolist(), int(newly.any(axis=1).sum())
    if list(facts["blanks"]) != blanks or facts["records"] != touched or facts["rows"] != len(step.original):
        step.refuse("the numbers of emptied fields and records are not those that are counted")
    old, new = _tables_of(step, keys)
    weighed = True
    if method["risk"] is not None:
        weighed = check_risk(step, keys, old, new, newly, STRATUM)
    else:
        _count(step, keys, new)
    price = _prices(step, keys)
    if price is not None and weighed:
        cost = float(price[newly].sum())
        if not isclose(float(facts["cost"]), cost, rel_tol=NEARLY, abs_tol=NEARLY):
            step.refuse("the cost is not that of the emptied fields")
        tables = list(_tables(method, keys))
        check_least(step, keys, old, price, tables, STRATUM)
    claim = blanked_claim(method, facts)
    step.claims(claim)
    step.verdict.prove(claim.statement, before)


def _stated(step: CheckedStep, keys: Sequence[str]) -> bool:
    """Whether keys and strata are those of the method or of the records, and there are not too many combinations."""
    method, facts = step.method, step.evidence.facts
    named = [str(name) for table in method["combinations"] for name in table["keys"]]
    stated = list(dict.fromkeys(named)) or [str(name) for name in method["keys"]]
    stated = stated or [name for name in step.original.names if step.original.about(name).role == "key"]
    if list(keys) != stated or not keys or len(set(keys)) < len(keys) or not set(keys) <= set(step.before):
        step.refuse("the keys are not those that the method names, or that the records have")
        return False
    strata = list(method["strata"]) or list(step.original.strata)
    if list(facts["strata"]) != strata or not set(strata) <= set(step.before):
        step.refuse("the strata are not those that the method names, or that the records have")
        return False
    several = bool(method["combinations"]) or method["size"] is not None
    if (method["k"] is None) == (method["risk"] is None) or (method["risk"] is not None and several):
        step.refuse("k and a limit of risk are stated at once, or none of them")
        return False
    if method["combinations"] and (method["keys"] or method["size"] is not None):
        step.refuse("combinations are stated together with keys or a size")
        return False
    many = sum(comb(len(keys), size) for size in _sizes(method, len(keys)))
    if not method["combinations"] and many > MOST_SUBSETS:
        step.refuse("more combinations of keys are stated than this checker counts")
        return False
    return True


def _sizes(method: Any, keys: int) -> Sequence[int]:
    """How many keys at once are counted: fewer ones, too, where records are exempt."""
    most = keys if method["size"] is None else min(int(method["size"]), keys)
    return range(1, most + 1) if method["missing"] == "exempt" and method["size"] is not None else [most]


def _tables(method: Any, keys: Sequence[str]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Sets of columns that are counted, and how often their combinations must occur."""
    if method["combinations"]:
        for table in method["combinations"]:
            yield tuple(map(str, table["keys"])), int(table["k"])
    elif method["k"] is not None:
        for size in _sizes(method, len(keys)):
            for chosen in combinations(keys, size):
                yield chosen, int(method["k"])


def _newly_empty(step: CheckedStep, keys: Sequence[str]) -> NDArray[np.bool_]:
    """Which fields are newly empty; whatever else changed is refused."""
    found = np.zeros((len(step.original), len(keys)), np.bool_)
    for place, name in enumerate(keys):
        if name not in step.changed:
            continue
        old, new = step.before[name].combine_chunks(), step.changed[name].combine_chunks()
        empty = np.asarray(new.is_null().to_numpy(zero_copy_only=False), np.bool_)
        kept = np.flatnonzero(~empty)
        if not new.take(kept).equals(old.take(kept)):  # another type is another value, too
            step.refuse("a field that is not empty has another value than before", name)
        found[:, place] = empty & np.asarray(old.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    return found


def _tables_of(step: CheckedStep, keys: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """Keys before and after, with a number for the stratum of each record."""
    import pyarrow as pa

    group = np.zeros(len(step.original), np.int64)
    for name in step.evidence.facts["strata"]:
        column = step.before[name].combine_chunks().dictionary_encode()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
        place = np.asarray(column.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64) + 1
        _, group = np.unique(group * (len(column.dictionary) + 1) + place, return_inverse=True)
    more = {STRATUM: pa.chunked_array([pa.array(group)])}
    old = pa.table({**{name: step.before[name] for name in keys}, **more})
    new = pa.table({**{name: step.changed.get(name, step.before[name]) for name in keys}, **more})
    return old, new


def _count(step: CheckedStep, keys: Sequence[str], after: pa.Table) -> None:
    """Every combination occurs often enough within its stratum, by the stated meaning of an empty field."""
    missing = step.method["missing"]
    unknown = {name: step.original.about(name).missing for name in keys}
    for chosen, k in _tables(step.method, keys):
        counts = _counts(after, chosen, missing, unknown)
        few = int((counts < k).sum())
        if few and missing == "any":
            step.refuse(f"with {counted(few, 'record')} fewer than {k} agree", ", ".join(chosen))
        elif few:
            step.refuse(f"{counted(few, 'combination', 'occur')} fewer than {k} times", ", ".join(chosen))


def _counts(after: pa.Table, chosen: Sequence[str], missing: str, unknown: Any) -> NDArray[np.float64]:
    if missing == "any":
        return rows_agreeing(after, [*chosen, STRATUM], unknown)
    if missing == "exempt":
        after = after.filter(complete_rows(after, chosen, unknown))
    return combination_counts(after, [*chosen, STRATUM])


def _prices(step: CheckedStep, keys: Sequence[str]) -> NDArray[np.float64] | None:
    """What each field costs to empty; nothing where what is stated of it cannot be."""
    import pyarrow as pa
    import pyarrow.compute as pc

    method = step.method
    importance = [float(method["importance"].get(name, 1.0)) for name in keys]
    if not set(method["importance"]) <= set(keys) or not all(0 < price < np.inf for price in importance):
        step.refuse("importance is stated of a column that is no key, or is not above zero")
        return None
    price = np.tile(np.array(importance), (len(step.original), 1))
    if method["cost"] == "entropy":
        for place, name in enumerate(keys):
            column = step.before[name].combine_chunks()
            counts = pc.value_counts(column)
            at = pc.index_in(column, counts.field("values"))
            share = np.asarray(counts.field("counts").take(at).to_numpy(zero_copy_only=False), np.float64)
            price[:, place] *= -np.log2(share / len(column))
    if method["weight"] is not None:
        column = step.before.get(weight_column(step))
        if column is None or not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            step.refuse("the weights that fields cost are no numbers of the records")
            return None
        weight = np.asarray(column.cast(pa.float64()).fill_null(np.nan).to_numpy(), np.float64)
        if not (weight > 0).all() or np.isinf(weight).any():
            step.refuse("the weights that fields cost are not all above zero")
            return None
        price = np.asarray(price * weight[:, None], np.float64)
    return price


def weight_column(step: CheckedStep) -> str:
    """The column of weights that a method names, or that has this role."""
    named = step.method["weight"]
    role = [name for name in step.original.names if step.original.about(name).role == "weight"]
    if named is None or (named not in step.before and named == "weight"):
        return role[0] if role else ""
    return str(named)
