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
from discreet.verify.records.value_columns import stated_columns, whole_units

if TYPE_CHECKING:
    import pyarrow as pa

MOST_DECIMALS = 9


def check_multiplied_records(step: CheckedStep) -> None:
    """The stated columns moved by no less than the least factor and no more than the largest, rounded up."""
    method, facts, before = step.method, step.evidence.facts, len(step.verdict.refused)
    least, most = (Fraction(str(method[end])) - 1 for end in ("a", "b"))
    if not 0 < least < most < 1 or method["p"] is not None or method["limit"] is not None:
        step.refuse("the parameters are not those of noise on records")
        return
    columns = stated_columns(step, "multiplied")
    if columns is None:
        return
    signs = []
    for name, decimals in zip(columns, facts["decimals"], strict=True):
        moved = _moved(step, name, decimals, least, most)
        if moved is None:
            return
        signs.append(moved)
    roles = {name: step.original.about(name).role for name in step.before}
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

    units = whole_units(pc.fill_null(column, 0).to_numpy(), decimals, MOST_DECIMALS)
    return None if units is None else units.astype(object)


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
