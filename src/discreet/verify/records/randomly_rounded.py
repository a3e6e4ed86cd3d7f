"""Randomly rounded columns: every value became a multiple of its base next to it, the one that the key draws."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.model.claims.random_rounding import randomly_rounded_claim
from discreet.verify.records.added_totals import changed_columns, check_totals, fields_that_stay, in_units, same_where
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.keyed_draws import Words, drawn_fractions, identity_of
from discreet.verify.records.value_columns import whole_units

Whole = NDArray[np.int64]
UNLIKELY = 45.0
"""What chance brings about with a probability below the exponential of minus this number is refused."""


def check_randomly_rounded(step: CheckedStep) -> None:
    """Every value is a multiple of its base next to the old one, and totals are sums."""
    facts, before = step.evidence.facts, len(step.verdict.refused)
    columns = changed_columns(step, list(step.method["bases_of"]))
    if columns is None:
        return
    identified = any(step.original.about(name).role == "identifier" for name in step.original.names)
    if facts["identified"] is not identified:
        step.refuse("it is not said whether records have an identifier, or wrongly")
    identity = None if step.key is None else identity_of(step.original)
    rounded = [_check_column(step, name, identity) for name in columns]
    if None in rounded:
        return
    if facts["rounded"] != rounded:
        step.refuse("another number of values was rounded than stated")
    check_totals(step, columns)
    if type(facts["insecure"]) is not bool or (step.key is not None and facts["insecure"] != step.key.insecure):
        step.refuse("it is not said whether draws came from a seed, or wrongly")
    step.claims(randomly_rounded_claim(step.method, facts))
    if step.key is None:
        step.verdict.take_for_granted("that values were rounded at random", "method")
    followed = "" if step.key is None else " Every value is the one that the secret key draws."
    step.verdict.prove(step.evidence.claim.statement + followed, before)


def _check_column(step: CheckedStep, name: str, identity: Words | None) -> int | None:
    """How many values of a column were rounded; nothing where it cannot be told."""
    stays = fields_that_stay(step, name)
    if not same_where(step, name, stays):
        step.refuse("an empty field or a code changed", name)
    bases = _bases(step, name)
    finest = max(_decimals(base) for _, base in bases)
    whole = str(step.before[name].type) == "int64"
    old = in_units(step.before[name], stays, 0 if whole else finest)
    if old is None or (whole and finest):
        step.refuse("the values, or their bases, are no exact numbers", name)
        return None
    values = np.asarray(step.changed[name].fill_null(0).to_numpy())
    new = whole_units(np.where(stays, values.dtype.type(0), values), old.decimals)
    if new is None:
        step.refuse("a value is no multiple of its base", name)
        return None
    base = _base_of(old.units, bases, old.decimals)
    rest = old.units % base
    lower = old.units - rest
    far = (new != lower) & ((new != lower + base) | (rest == 0))
    if far.any():
        step.refuse(f"{counted(int(far.sum()), 'value')} did not become a multiple of the base next to it", name)
    elif identity is None or step.key is None:
        _check_chance(step, name, new - old.units, base, rest)
    else:
        plain = np.asarray(step.before[name].fill_null(0).to_numpy(), np.float64) + 0.0
        fraction = drawn_fractions(identity, step.key.secret, _for(step, name), plain.view(np.uint64))
        other = ((fraction * base < rest) != (new > old.units)) & (rest > 0) & ~stays
        if other.any():
            step.refuse(f"{counted(int(other.sum()), 'value')} went another way than the key draws", name)
    return int((new != old.units).sum())


def _check_chance(step: CheckedStep, name: str, moves: Whole, base: Whole, rest: Whole) -> None:
    """Without the key: up and down as chance has it, by the bound of Hoeffding on the sum of moves."""
    many = int((rest > 0).sum())
    if float(np.sum(moves / base)) ** 2 > UNLIKELY * many / 2:
        step.refuse("values were rounded up, or down, more often than chance would", name)


def _bases(step: CheckedStep, name: str) -> list[tuple[Fraction, Fraction]]:
    """Sizes that fall to 0, and bases above 0."""
    given = step.method["bases_of"].get(name, step.method["bases"])
    found = [(_fraction(size), _fraction(base)) for size, base in given]
    falls = all(found[i][0] > found[i + 1][0] for i in range(len(found) - 1))
    if not falls or found[-1][0] != 0 or any(base <= 0 for _, base in found):
        raise ValueError("the bases cannot be used")
    return found


def _fraction(number: Any) -> Fraction:
    return Fraction(Decimal(repr(number)))


def _decimals(number: Fraction) -> int:
    return next(d for d in range(10) if (number * 10**d).denominator == 1)


def _base_of(units: Whole, bases: list[tuple[Fraction, Fraction]], decimals: int) -> Whole:
    """The first base whose size a value reaches."""
    found = np.zeros(len(units), np.int64)
    for size, base in bases:
        least = size * 10**decimals
        # A whole number reaches a size where it reaches the next whole number.
        reached = np.abs(units) >= -((-least.numerator) // least.denominator)
        found[(found == 0) & reached] = int(base * 10**decimals)
    return found


def _for(step: CheckedStep, name: str) -> str:
    """What the draws of a column are for."""
    version = int(step.method["version"])
    return f"random rounding/{name}/{version}" if version == 1 else f"random rounding/{name}/{version}/{version}"
