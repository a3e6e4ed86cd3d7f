"""Multiplied columns: every value moved as far as the factors say, companies in one direction, nothing else changed."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.model.arrays import Ints
from discreet.model.claims.records import multiplied_claim
from discreet.verify.records.context import CheckedStep

if TYPE_CHECKING:
    import pyarrow as pa

MOST_DECIMALS = 9
EXACT = 2**53
"""Floating-point numbers hold all whole numbers below."""
NEVER = ("identifier", "contributor", "record_key", "waiver", "request", "household", "weight")
"""Roles of columns that are not multiplied."""


def check_multiplied_records(step: CheckedStep) -> None:
    """The stated columns moved by no less than the least factor and no more than the largest, rounded up."""
    method, facts, before = step.method, step.evidence.facts, len(step.verdict.refused)
    least, most = (Fraction(str(method[end])) - 1 for end in ("a", "b"))
    roles = {name: step.original.about(name).role for name in step.before}
    columns = list(method["columns"]) or [name for name, role in roles.items() if role == "numeric"]
    if not 0 < least < most < 1 or method["p"] is not None or method["limit"] is not None:
        step.refuse("the parameters are not those of noise on records")
        return
    if not columns or set(step.changed) != set(columns) or list(facts["columns"]) != columns:
        step.refuse("other columns changed than the stated ones")
        return
    if any(roles[name] in NEVER for name in columns):
        step.refuse("a column was multiplied that holds no values")
    signs = []
    for name, decimals in zip(columns, facts["decimals"], strict=True):
        moved = _moved(step, name, decimals, least, most)
        if moved is None:
            return
        signs.append(moved)
    company = next(
        (name for role in ("contributor", "household") for name, mine in roles.items() if mine == role), None
    )
    if facts["company"] != company:
        step.refuse("companies are said to be in another column than they are")
    _check_directions(step, signs, company)
    step.claims(multiplied_claim(method, facts))
    step.verdict.take_for_granted("that factors and directions were drawn at random", "method")
    step.verdict.prove(step.evidence.claim.statement, before)


def _moved(step: CheckedStep, name: str, decimals: Any, least: Fraction, most: Fraction) -> Ints | None:
    """Directions of all moves of a column: +1, -1, or 0 where nothing moved."""
    old, new = step.before[name], step.changed[name]
    if new.type != old.type or str(old.type) not in ("int64", "double") or not old.is_null().equals(new.is_null()):
        step.refuse("a column is not one of numbers, or has other empty fields than before", name)
        return None
    one, two = _units(old, decimals), _units(new, decimals)
    if one is None or two is None or (decimals and not np.any(one % 10)):
        step.refuse("the numbers of a column are not whole in the stated unit, or in a larger one already", name)
        return None
    if np.any(one < 0):
        step.refuse("a column has values below zero", name)
        return None
    far = abs(two - one)
    wrong = (far < _ceiling(one, least)) | (far > _ceiling(one, most))
    if np.any(wrong):
        text = counted(int(wrong.sum()), "value", "moved")
        step.refuse(f"{text} by less or more than the factors say", name)
    signs: Ints = np.sign(two - one).astype(np.int64)
    return signs


def _units(column: pa.ChunkedArray, decimals: Any) -> NDArray[Any] | None:
    """Exact whole numbers of units, 0 for gaps; none where the column is not whole in them."""
    import pyarrow.compute as pc

    if type(decimals) is not int or not 0 <= decimals <= MOST_DECIMALS:
        return None
    values = pc.fill_null(column, 0).to_numpy()
    if values.dtype.kind == "i":
        whole: NDArray[Any] = values.astype(object)
        return whole if decimals == 0 else None
    units = np.rint(values * 10.0**decimals)
    if np.any(np.abs(units) >= EXACT) or np.any(units / 10.0**decimals != values):
        return None
    exact: NDArray[Any] = units.astype(np.int64).astype(object)
    return exact


def _ceiling(units: NDArray[Any], share: Fraction) -> NDArray[Any]:
    """A share of whole numbers, rounded up."""
    return -(-units * share.numerator // share.denominator)


def _check_directions(step: CheckedStep, signs: list[Ints], company: str | None) -> None:
    """All records of a company moved one way: in every column, and where factors are those of records in all."""
    who = np.arange(len(signs[0]))
    if company is not None:
        column = step.before[company].combine_chunks().dictionary_encode()
        who = np.asarray(column.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
        if np.any(who < 0):
            step.refuse("a record belongs to nobody", company)
            return
    groups = [[*signs]] if step.method["factors"] == "record" else [[mine] for mine in signs]
    for group in groups:
        up = np.unique(np.concatenate([who[mine > 0] for mine in group]))
        down = np.unique(np.concatenate([who[mine < 0] for mine in group]))
        if len(np.intersect1d(up, down)):
            step.refuse("records that belong together moved in both directions", company or "")
