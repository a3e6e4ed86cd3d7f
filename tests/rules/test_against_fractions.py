"""Every inequality and level once more, in plain fractions from the lists of contributions."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from tests.rules.strategies import PROFILES, Drawn, concentration_rules, drawn_cells, rules_for_magnitudes


def number(written):
    """A parameter as the number that was written."""
    return Fraction(str(written))


def broken_concentration(rule, amounts, consent, whole):
    """By how much a cell breaks a rule of concentration, in units; below zero where it keeps it.

    ``amounts`` are contributions, ``consent`` says who has waived protection. Nothing breaks no rule.
    """
    strangers = [i for i in range(len(amounts)) if not consent[i]]
    if not strangers:
        return Fraction(-1)
    protected = max(strangers, key=lambda i: amounts[i])
    others = sorted((amounts[i] for i in range(len(amounts)) if i != protected), reverse=True)
    total, mine = whole, amounts[protected]
    if rule.kind in ("p_percent", "prior_posterior"):
        share = number(rule.p) / (number(rule.q) if rule.kind == "prior_posterior" else 100)
        known = sum(others[: rule.coalition])
        return share * mine - (total - mine - known) if mine else Fraction(-1)
    n, share = (rule.n, number(rule.k) / 100) if rule.kind == "dominance" else (1, number(rule.share))
    together = mine + sum(others[: n - 1])
    return together / share - total if together else Fraction(-1)


def asked_of_one(rules, profile, drawn: Drawn):
    """What p% and (p, q) rules beside one without a range ask of a cell's only contribution, as a share of it."""
    if profile == "argus" or drawn.values is not None or drawn.weights is not None:
        return None
    shares = [number(r.p) / number(getattr(r, "q", 100)) for r in rules if r.kind in ("p_percent", "prior_posterior")]
    return max(shares, default=None)


def finding(rule, drawn: Drawn, i: int, closest=None):
    """(lower, upper) that one rule asks for in one cell, in units before any limit; ``None`` where it is kept.

    ``closest`` is the share of the largest contribution that is asked where the rule has no range of its own.
    """
    raw = drawn.cells[i]
    amounts = [Fraction(abs(x) if drawn.absolute else x) for x in raw]
    weights = [1] * len(raw) if drawn.weights is None else drawn.weights[i]
    weighted = sum(x * w for x, w in zip(raw, weights, strict=True))
    value = Fraction(weighted if drawn.values is None else drawn.values[i])
    consent = [False] * len(raw) if drawn.consent is None else drawn.consent[i]
    if rule.kind in ("p_percent", "prior_posterior", "dominance", "max_share"):
        often = [w if rule.weights is None else 1 for w in weights]
        whole = sum(x * (1 if rule.weights == "ignore" else w) for x, w in zip(amounts, weights, strict=True))
        copies = [(x, c) for x, c, w in zip(amounts, consent, often, strict=True) for _ in range(w)]
        short = broken_concentration(rule, [x for x, _ in copies], [c for _, c in copies], whole)
        if short < 0 or (short == 0 and not rule.inclusive):
            return None
        share = drawn.values is not None or (rule.weights == "ignore" and drawn.weights is not None)
        level = short / whole * abs(value) if share else short
        return (max(ceil(level), 1),) * 2
    if rule.kind == "zero_unsafe":
        return (0, ceil(number(rule.range) * 10**drawn.decimals)) if raw and value == 0 else None
    if rule.kind == "request":
        asked = [0] * len(raw) if drawn.asked is None else drawn.asked[i]
        shares = {1: number(rule.p1) / 100, 2: number(rule.p1 if rule.p2 is None else rule.p2) / 100}
        whole = sum(x * w for x, w in zip(amounts, weights, strict=True))
        large = any(a and x > shares[a] * whole for a, x in zip(asked, amounts, strict=True))
        broken = large or (any(asked) and len(raw) < rule.n)
    else:
        counting = len(raw) if rule.zeros else len([x for x in raw if x]) or len(raw)
        broken = 0 < counting < rule.n
        if rule.kind == "min_contributors":
            broken = broken and not all(consent)
    if not broken:
        return None
    if rule.range is None and closest is not None:
        protected = max(x for x, consents in zip(amounts, consent, strict=True) if not consents)
        return (max(ceil(closest * protected), 1),) * 2
    return (max(ceil(number(30 if rule.range is None else rule.range) / 100 * abs(value)), 1),) * 2


def expected(rules, profile, drawn: Drawn):
    """Levels of every cell, ``None`` where it is safe."""
    values = drawn.table.value.tolist()
    floors = drawn.table.attacker_bounds()[0].tolist()
    result = []
    for i, value in enumerate(values):
        closest = asked_of_one(rules, profile, drawn)
        found = [(rule, levels) for rule in rules if (levels := finding(rule, drawn, i, closest)) is not None]
        if profile == "argus":
            found = in_argus_order(found, drawn)
        lower = max((levels[0] for _, levels in found), default=0)
        upper = max((levels[1] for _, levels in found), default=0)
        if floors[i] > -(2**62):  # what everybody knows anyway cannot be hidden
            lower = min(lower, value - floors[i])
        result.append((lower, upper) if found else None)
    return result


def in_argus_order(found, drawn: Drawn):
    """Only the rules whose turn comes first, symmetric and of at least one published unit."""
    shown = drawn.decimals if drawn.table.spec.decimals is None else drawn.table.spec.decimals
    unit = 10 ** (drawn.decimals - shown)
    turns = [
        {"p_percent", "prior_posterior", "dominance", "max_share"},
        {"request"},
        {"min_contributors", "min_frequency"},
    ]
    for turn in turns:
        mine = [(rule, levels) for rule, levels in found if rule.kind in turn]
        if mine:
            return [(rule, (max(up, unit),) * 2) for rule, (_, up) in mine]
    return found


def levels_in_units(table):
    found = table.assessment
    both = zip(found.unsafe.tolist(), found.lower.tolist(), found.upper.tolist(), strict=True)
    return [(lower, upper) if unsafe else None for unsafe, lower, upper in both]


@settings(max_examples=300, deadline=None)
@given(data=st.data(), drawn=drawn_cells(), profile=PROFILES)
def test_assess_agrees_with_fractions_for_all_rules_together(data, drawn, profile):
    rules = data.draw(st.lists(rules_for_magnitudes(drawn.asked is not None), min_size=1, max_size=4))
    assert levels_in_units(drawn.table.assess(*rules, profile=profile)) == expected(rules, profile, drawn)


@settings(max_examples=200, deadline=None)
@given(drawn=drawn_cells(huge=True), rule=concentration_rules())
def test_concentration_agrees_with_fractions_for_huge_values(drawn, rule):
    wanted = expected([rule], "handbook", drawn)
    if any(levels is not None and levels[1] >= 2**62 - 1 for levels in wanted):
        return  # refused, as another test states
    assert levels_in_units(drawn.table.assess(rule)) == wanted


@settings(max_examples=200, deadline=None)
@given(data=st.data(), drawn=drawn_cells(), profile=PROFILES)
def test_an_unsafe_cell_always_has_a_level(data, drawn, profile):
    rules = data.draw(st.lists(rules_for_magnitudes(drawn.asked is not None), min_size=1, max_size=3))
    found = drawn.table.assess(*rules, profile=profile).assessment
    assert (found.upper[found.unsafe] >= 1).all()
    assert (found.lower >= 0).all()
    assert not found.upper[~found.unsafe].any()
    assert not found.lower[~found.unsafe].any()


@settings(max_examples=200, deadline=None)
@given(drawn=drawn_cells(), p=st.sampled_from([1, 5, 10, 50]), more=st.sampled_from([0.5, 3, 40]))
def test_a_stricter_rule_finds_no_fewer_cells_and_asks_for_no_less(drawn, p, more):
    mild, strict = (drawn.table.assess(ds.PPercent(q)).assessment for q in (p, p + more))
    assert (strict.unsafe | ~mild.unsafe).all()
    assert (strict.upper >= mild.upper).all()
