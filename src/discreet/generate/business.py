"""A business survey: firms in holdings, classified by activity, region and size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.generate.codes import CodePlace, CodeTree, grow_tree
from discreet.generate.draws import (
    Draws,
    Floats,
    Integers,
    choose,
    heavy_tail,
    lognormal,
    pareto,
    zipf_weights,
)
from discreet.generate.generated import Generated, code_column
from discreet.generate.parameters import MOST_RECORDS, level_counts, share, whole_number

LARGE_ACTIVITIES = (21, 95, 330, 746)
"""Sections, divisions, groups and classes of about the size of NACE: 800 base codes."""

LARGE_REGIONS = (9, 60, 392)
"""Parts, regions and districts of a large country: 400 base codes."""

_SECTIONS = {
    "A": "Agriculture, forestry and fishing",
    "B": "Mining and quarrying",
    "C": "Manufacturing",
    "D": "Electricity, gas and steam",
    "E": "Water, sewerage and waste",
    "F": "Construction",
    "G": "Trade and repair of vehicles",
    "H": "Transport and storage",
    "I": "Accommodation and food",
    "J": "Information and communication",
    "K": "Finance and insurance",
    "L": "Real estate",
    "M": "Professional and technical services",
    "N": "Administrative services",
    "O": "Public administration",
    "P": "Education",
    "Q": "Health and social work",
    "R": "Arts and recreation",
    "S": "Other services",
    "T": "Households as employers",
    "U": "Extraterritorial organisations",
}
_LETTERS = "".join(_SECTIONS)
_REGION_SIGNS = "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_SIZES = {
    "1": "0 to 9 employees",
    "2": "10 to 19 employees",
    "3": "20 to 49 employees",
    "4": "50 to 249 employees",
    "5": "250 employees or more",
}
# By size class: records in 10,000, smallest number of employees, usual sampling weight in hundredths, the
# chance to belong to a group of firms relative to the average, the chance of a waiver in 1,000.
_SIZE_WEIGHTS = (5200, 1800, 1500, 1000, 500)
_EMPLOYEES_FROM = np.array([0, 10, 20, 50, 250])
_EMPLOYEES_BELOW = np.array([10, 20, 50, 250, 250])
_USUAL_WEIGHT = np.array([2400.0, 1200.0, 500.0, 180.0, 100.0])
_GROUP_CHANCE = np.array([0.6, 0.9, 1.2, 2.0, 2.9])
_WAIVER_CHANCE = np.array([0.002, 0.002, 0.004, 0.015, 0.03])

_MOST_ACTIVITIES = (21, 99, 891, 8019, 30_000, 30_000)
_MOST_BELOW = (21, 99, 9, 9, 9, 9)
_LEVELS = ("division", "group", "class", "subclass", "kind")
_MOST_REGIONS = 50_000
_MOST_EMPLOYEES = 200_000
_TURNOVER_PER_EMPLOYEE = 120_000.0
_TAKE_ALL_TURNOVER = 50_000_000.0


def business_survey(
    records: int = 10_000,
    *,
    seed: int = 1,
    activities: Sequence[int] = (6, 13, 27, 56),
    regions: Sequence[int] = (3, 8, 20),
    holding_share: float = 0.1,
    unit: int = 1_000,
) -> Generated:
    """Generate a business survey.

    Activity and region are as uneven as in real life: a few codes hold most firms, many base cells are empty
    or have one to three contributors, and the turnover of a cell often belongs to one firm. The trees and the
    popularity of their codes depend on `activities` and `regions` only, so that surveys with other seeds fit
    the same tables.

    Parameters
    ----------
    records
        The number of firms.
    seed
        A whole number; the same arguments give the same survey on every machine.
    activities
        The number of sections (``"C"``), divisions (``"C10"``), groups (``"C101"``) and classes
        (``"C1011"``), or of the first of these only. Some branches stop early and some codes have one child.
        `LARGE_ACTIVITIES` gives 800 base codes.
    regions
        The number of codes at each level of the region tree (``"R1"``, ``"R11"``, ``"R112"``), at most five
        levels. `LARGE_REGIONS` gives 400 base codes.
    holding_share
        About the share of firms that belong to a holding of several firms, 0 to 0.3; large firms more often.
    unit
        How many units of currency one unit of turnover, home, export and investment is.

    Returns
    -------
    Generated
        One record per firm, with the columns

        - ``firm``: number of the firm, from 1;
        - ``holding``: number of the first firm of its holding, the firm itself where it is on its own;
        - ``activity``, ``region``, ``size``: base codes;
        - ``employees``, ``turnover``, ``home``, ``export``, ``investment``: whole numbers, with
          ``home + export = turnover``; only ``investment`` may be negative, after disposals;
        - ``weight``: sampling weight with two decimals, 1 for large firms;
        - ``waiver``: whether the firm agrees to publication;
        - ``request``: 1 or 2 where the firm asked for protection (request rule of τ-ARGUS), else 0;
        - ``record_key``: in [0, 1) with eight decimals, a hash of seed and firm.

    Raises
    ------
    InputError
        If a parameter is impossible.

    Examples
    --------
    >>> from discreet.generate import LARGE_ACTIVITIES, LARGE_REGIONS, business_survey
    >>> business_survey(500, seed=7)
    Generated(500 records; base codes: activity 60, region 21, size 5)
    >>> business_survey(500, activities=LARGE_ACTIVITIES, regions=LARGE_REGIONS)
    Generated(500 records; base codes: activity 800, region 400, size 5)
    """
    count = whole_number("records", records, 1, MOST_RECORDS)
    draws = Draws(whole_number("seed", seed, 0), "business")
    unit = whole_number("unit", unit, 1, 10**9)
    holding_share = share("holding_share", holding_share, 0.3)
    activity_tree = _activity_tree(level_counts("activities", activities, _MOST_ACTIVITIES, _MOST_BELOW))
    region_tree = _region_tree(level_counts("regions", regions, [_MOST_REGIONS] * 5, [35] * 5))
    economy = _Economy.of(activity_tree, region_tree)

    activity = choose(draws.uniform("activity", count), economy.activity_weights).astype(np.int16)
    region = _regions(draws, economy, activity)
    size = _sizes(draws, economy, activity)
    employees = _employees(draws, size)
    turnover = _turnover(draws, economy, activity, employees)
    firm = np.arange(1, count + 1, dtype=np.int32)
    weight = _weights(draws, size, turnover)
    turnover = np.rint(turnover / unit)
    export = np.floor(turnover * _export_shares(draws, economy, activity))
    investment = _investment(draws, turnover)

    size_tree = CodeTree.flat(_SIZES)
    trees = {"activity": activity_tree, "region": region_tree, "size": size_tree}
    columns = {
        "firm": firm,
        "holding": _holdings(draws, size, holding_share),
        "activity": code_column(activity_tree, activity),
        "region": code_column(region_tree, region),
        "size": code_column(size_tree, size),
        "employees": employees,
        "turnover": turnover.astype(np.int64),
        "home": (turnover - export).astype(np.int64),
        "export": export.astype(np.int64),
        "investment": investment.astype(np.int64),
        "weight": weight,
        "waiver": draws.uniform("waiver", count) < _WAIVER_CHANCE[size],
        "request": choose(draws.uniform("request", count), (990, 7, 3)).astype(np.int8),
        "record_key": draws.record_keys(firm),
    }
    return Generated(
        records=pa.table(columns),
        parents={name: tree.parents for name, tree in trees.items()},
        labels={name: tree.labels for name, tree in trees.items()},
    )


def _activity_tree(counts: tuple[int, ...]) -> CodeTree:
    def spell(parent: str, place: CodePlace) -> str:
        if place.level == 0:
            return _LETTERS[place.in_level]
        return parent + (f"{place.in_level + 1:02d}" if place.level == 1 else str(place.below_parent + 1))

    def label(code: str, level: int) -> str:
        section = _SECTIONS[code[0]]
        return section if level == 0 else f"{section}: {_LEVELS[level - 1]} {code[1:]}"

    return grow_tree("activity", counts, spell, _MOST_BELOW, label, stop_early=True)


def _region_tree(counts: tuple[int, ...]) -> CodeTree:
    def spell(parent: str, place: CodePlace) -> str:
        return ("R" if place.level == 0 else parent) + _REGION_SIGNS[place.below_parent]

    def label(code: str, level: int) -> str:
        return f"{('Part', 'Region', 'District', 'Municipality', 'Quarter')[level]} {code[1:]}"

    return grow_tree("region", counts, spell, [35] * 5, label, stop_early=True)


@dataclass(frozen=True)
class _Economy:
    """What holds for a base activity or region whatever the seed, by its position among the leaves."""

    activity_weights: Integers
    region_weights: Integers
    clustered: NDArray[np.bool_]
    sites: Integers
    small_firm_share: Floats
    turnover_per_employee: Floats
    exporter_share: Floats

    @classmethod
    def of(cls, activities: CodeTree, regions: CodeTree) -> _Economy:
        draws = Draws(0, "economy")
        leaves = activities.leaves
        count = len(leaves)
        region_count = len(regions.leaves)
        section = np.array([_LETTERS.index(code[0]) for code in leaves])
        concentrated = draws.uniform("concentrated", count) < 0.2
        ranks = np.argsort(draws.order("activity", count)).astype(np.int64)
        region_ranks = np.argsort(draws.order("region", region_count)).astype(np.int64)
        region_weights = zipf_weights(region_ranks, 1.1)
        sites = min(max(1, region_count // 6), 64)
        productivity = lognormal(draws.uniform("productivity", count), 0.6)
        return cls(
            activity_weights=zipf_weights(ranks, 1.3),
            region_weights=region_weights,
            clustered=draws.uniform("clustered", count) < 0.3,
            sites=choose(draws.uniform("sites", count * sites), region_weights).reshape(count, sites),
            small_firm_share=np.where(concentrated, 0.5, 1.0),
            turnover_per_employee=_TURNOVER_PER_EMPLOYEE * productivity,
            exporter_share=0.1 + 0.5 * draws.uniform("exporters", len(_LETTERS))[section],
        )


def _regions(draws: Draws, economy: _Economy, activity: NDArray[np.int16]) -> NDArray[np.int32]:
    """Draw regions; clustered activities (mines) exist at their sites only and leave other cells empty."""
    region = choose(draws.uniform("region", len(activity)), economy.region_weights).astype(np.int32)
    clustered = np.flatnonzero(economy.clustered[activity])
    uniform = draws.uniform("site", len(clustered))
    site = np.floor(uniform * uniform * economy.sites.shape[1]).astype(np.int64)
    region[clustered] = economy.sites[activity[clustered], site]
    return region


def _sizes(draws: Draws, economy: _Economy, activity: NDArray[np.int16]) -> NDArray[np.int8]:
    uniform = draws.uniform("size", len(activity))
    return choose(1.0 - (1.0 - uniform) * economy.small_firm_share[activity], _SIZE_WEIGHTS).astype(np.int8)


def _employees(draws: Draws, size: NDArray[np.int8]) -> NDArray[np.int32]:
    uniform = draws.uniform("employees", len(size))
    # Within a class the density falls with the square of the number; the last class has a Pareto tail.
    first = 1.0 / (_EMPLOYEES_FROM + 1.0)
    span = first - 1.0 / (_EMPLOYEES_BELOW + 1.0)
    employees = np.floor(1.0 / (first[size] - uniform * span[size])) - 1.0
    # Rounding may carry a number next to 1 over the end of its class.
    employees = np.minimum(employees, _EMPLOYEES_BELOW[size] - 1.0)
    largest = size == len(_SIZES) - 1
    employees[largest] = np.minimum(np.floor(250.0 * pareto(uniform[largest])), _MOST_EMPLOYEES)
    return employees.astype(np.int32)


def _turnover(draws: Draws, economy: _Economy, activity: NDArray[np.int16], employees: NDArray[np.int32]) -> Floats:
    """Turnover in units of currency; one firm in 200 has none."""
    count = len(activity)
    turnover = economy.turnover_per_employee[activity]
    turnover *= employees + 0.5
    turnover *= lognormal(draws.uniform("turnover", count), 0.9)
    turnover *= heavy_tail(draws.uniform("turnover tail", count), 0.04, cap=100.0)
    turnover *= draws.uniform("dormant", count) >= 0.005
    return turnover


def _export_shares(draws: Draws, economy: _Economy, activity: NDArray[np.int16]) -> Floats:
    uniform = draws.uniform("export", len(activity))
    exports = draws.uniform("exporter", len(activity)) < economy.exporter_share[activity]
    return uniform * uniform * exports


def _investment(draws: Draws, turnover: Floats) -> Floats:
    """Nothing for a fifth of the firms, less than nothing (disposals) for one in fifty."""
    kind = choose(draws.uniform("investment kind", len(turnover)), (20, 78, 2))
    rate = np.array([0.0, 0.04, -0.06])[kind]
    investment: Floats = np.rint(turnover * rate * lognormal(draws.uniform("investment", len(turnover)), 1.0))
    return investment


def _weights(draws: Draws, size: NDArray[np.int8], turnover: Floats) -> Floats:
    hundredths = np.floor(_USUAL_WEIGHT[size] * (0.6 + 0.8 * draws.uniform("weight", len(size))))
    take_all = (size == len(_SIZES) - 1) | (turnover >= _TAKE_ALL_TURNOVER)
    weight: Floats = np.where(take_all, 100.0, np.maximum(hundredths, 100.0)) / 100.0
    return weight


def _holdings(draws: Draws, size: NDArray[np.int8], holding_share: float) -> NDArray[np.int32]:
    """Give each firm the number of its holding's first firm; holdings are spread over all codes."""
    count = len(size)
    holding = np.arange(1, count + 1, dtype=np.int32)
    joins = draws.uniform("joins holding", count) < holding_share * _GROUP_CHANCE[size]
    members = np.flatnonzero(joins)
    if len(members) < 2:
        return holding
    members = members[draws.order("holding members", len(members))]
    sizes = np.floor(2.0 * pareto(draws.uniform("holding size", len(members) // 2)))
    ends = np.cumsum(np.minimum(sizes, max(2, len(members) // 10)).astype(np.int64))
    # The holding that the last members fall into ends with them; a lone last member joins the one before.
    ends = ends[ends < len(members) - 1]
    starts = np.concatenate([[0], ends])
    first = np.minimum.reduceat(members, starts)
    holding[members] = np.repeat(first + 1, np.diff(np.append(starts, len(members))))
    return holding
