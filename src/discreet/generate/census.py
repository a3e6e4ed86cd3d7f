"""A census population: persons in households, households in small areas."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.generate import classifications
from discreet.generate.codes import CodePlace, CodeTree, grow_tree
from discreet.generate.draws import Draws, Floats, Integers, choose, choose_within, heavy_tail, lognormal
from discreet.generate.generated import Generated, code_column
from discreet.generate.parameters import MOST_RECORDS, whole_number

MOST_AREAS = 35_000

_HOUSEHOLD_SIZES = (350, 320, 140, 120, 45, 17, 8)
_COUPLE_CHANCE = np.array([0.0, 0.0, 0.72, 0.82, 0.85, 0.85, 0.85, 0.85])
_HEAD, _PARTNER, _CHILD, _ELDER = range(4)

# Weights of the head's age from 18 to 99: living alone, a couple without others, a family.
_HEAD_AGES = (
    [12] * 17 + [9] * 25 + [12] * 15 + [15] * 13 + [6] * 6 + [2] * 6,
    [6] * 17 + [4] * 20 + [14] * 33 + [4] * 6 + [1] * 6,
    [1] * 7 + [8] * 10 + [20] * 20 + [8] * 10 + [1] * 23 + [0] * 12,
)

# Weights of education E0 to E6, below 45, below 65 and above; the young stop at the level of their age.
_EDUCATION = ([0, 2, 12, 40, 10, 20, 16], [1, 5, 18, 44, 10, 12, 10], [2, 18, 28, 36, 6, 6, 4])
_EDUCATION_COHORT = np.repeat([0, 1, 2], [45, 20, 35])
_EDUCATION_LIMIT = np.repeat([0, 1, 2, 3, 4, 5, 6], [12, 3, 3, 3, 2, 2, 75])

# Weights of AE, AU, IC, IS, IR, IO, in the age bands below 15, 18, 25, 55, 65, 75, 100.
_LABOUR = (
    [0, 0, 1, 0, 0, 0],
    [8, 2, 0, 88, 0, 2],
    [52, 8, 0, 34, 0, 6],
    [81, 5, 0, 2, 1, 11],
    [62, 4, 0, 0, 20, 14],
    [10, 0, 0, 0, 82, 8],
    [0, 0, 0, 0, 95, 5],
)
_LABOUR_BAND = np.repeat(range(7), [15, 3, 7, 30, 10, 10, 25])
_LABOUR_CODES = classifications.LABOUR.leaves
_EMPLOYED = _LABOUR_CODES.index("AE")
_LABOUR_INCOME = {"AE": 0.0, "AU": 12e3, "IC": 0.0, "IS": 4e3, "IR": 21e3, "IO": 6e3}

# Weights of the major groups of occupation 1 to 9 by education: up to lower secondary, post-secondary, above.
_OCCUPATION = (
    [2, 1, 4, 8, 26, 4, 20, 14, 21],
    [5, 6, 18, 17, 23, 3, 15, 8, 5],
    [14, 52, 20, 6, 4, 1, 1, 1, 1],
)
_EDUCATION_GROUP = np.array([0, 0, 0, 1, 1, 2, 2])
_MAJOR_INCOME = (58e3, 52e3, 42e3, 34e3, 26e3, 24e3, 33e3, 31e3, 21e3)

# Chances of being widowed or divorced by age outside a couple.
_WIDOWED = np.repeat([0.0, 0.01, 0.12, 0.6], [25, 25, 20, 30])
_DIVORCED = np.repeat([0.0, 0.2, 0.4, 0.2], [25, 25, 20, 30])


def census_population(records: int = 10_000, *, seed: int = 1, areas: int = 200) -> Generated:
    """Generate the persons of a census.

    The geography and the size of its areas depend on `areas` only, so that populations with other seeds fit
    the same tables.

    Parameters
    ----------
    records
        The number of persons.
    seed
        A whole number; the same arguments give the same population on every machine.
    areas
        The number of small areas, 1 to 35,000; municipalities, districts and regions follow from it.

    Returns
    -------
    Generated
        One record per person, households together, with the columns

        - ``person``, ``household``: numbers from 1; ``household_size``: 1 to 7;
        - ``area``: small area (``"G01020304"``) in a municipality, district and region (``"G01"``);
        - ``sex``; ``age`` 0 to 99; ``age_group``: five years, in three broad groups; ``marital``;
        - ``birth``: country of birth, by continent; ``education``;
        - ``labour``: employed, unemployed, child, student, retired or other; nobody below 15 is employed;
        - ``occupation``: two digits as in ISCO, ``"X"`` for those not employed;
        - ``income``: whole units of currency a year, 0 below 15;
        - ``record_key``: in [0, 1) with eight decimals, a hash of seed and person.

    Raises
    ------
    InputError
        If a parameter is impossible.

    Examples
    --------
    >>> from discreet.generate import census_population
    >>> people = census_population(1_000)
    >>> people.records.num_rows
    1000
    >>> len(people.parents["area"])
    270
    """
    count = whole_number("records", records, 1, MOST_RECORDS)
    draws = Draws(whole_number("seed", seed, 0), "census")
    geography = _geography(whole_number("areas", areas, 1, MOST_AREAS))
    households = _Households.draw(draws, count, geography)
    household = np.repeat(np.arange(len(households.size), dtype=np.int32), households.size)
    role = _roles(households, household)
    age = _ages(draws, households, household, role)
    education = _education(draws, age)
    labour = choose_within(draws.uniform("labour", count), _LABOUR_BAND[age], _LABOUR).astype(np.int8)
    occupation = _occupations(draws, education, labour)
    person = np.arange(1, count + 1, dtype=np.int32)

    codes: dict[str, tuple[CodeTree, NDArray[np.integer]]] = {
        "area": (geography, households.area[household]),
        "sex": (classifications.SEX, _sexes(draws, households, household, role)),
        "age_group": (classifications.AGE_GROUP, age // 5),
        "marital": (classifications.MARITAL, _marital(draws, households, household, role, age)),
        "birth": (classifications.BIRTH, _births(draws, households, household, role)),
        "education": (classifications.EDUCATION, education),
        "labour": (classifications.LABOUR, labour),
        "occupation": (classifications.OCCUPATION, occupation),
    }
    coded = {name: code_column(tree, positions) for name, (tree, positions) in codes.items()}
    columns = {
        "person": person,
        "household": household + np.int32(1),
        "household_size": households.size[household],
        "area": coded.pop("area"),
        "sex": coded.pop("sex"),
        "age": age,
        **coded,
        "income": _incomes(draws, labour, occupation),
        "record_key": draws.record_keys(person),
    }
    return Generated(
        records=pa.table(columns),
        parents={name: dict(tree.parents) for name, (tree, _) in codes.items()},
        labels={name: dict(tree.labels) for name, (tree, _) in codes.items()},
    )


def _geography(areas: int) -> CodeTree:
    """Regions, districts, municipalities and areas, about as many below each code at every level."""
    half = math.isqrt(areas)
    counts = (math.isqrt(half), half, math.isqrt(math.isqrt(areas**3)), areas)

    def spell(parent: str, place: CodePlace) -> str:
        return ("G" if place.level == 0 else parent) + f"{place.below_parent + 1:02d}"

    def label(code: str, level: int) -> str:
        return f"{('Region', 'District', 'Municipality', 'Area')[level]} {code[1:]}"

    return grow_tree("geography", counts, spell, [99] * 4, label, stop_early=False)


@dataclass(frozen=True)
class _Households:
    """What the members of a household share."""

    size: NDArray[np.int8]
    start: Integers
    area: NDArray[np.int32]
    couple: NDArray[np.bool_]
    married: NDArray[np.bool_]
    head_age: NDArray[np.int8]
    birth: NDArray[np.int8]
    with_elder: NDArray[np.bool_]

    @classmethod
    def draw(cls, draws: Draws, persons: int, geography: CodeTree) -> _Households:
        # One household a person is more than enough; the last one kept is cut to end with the last person.
        size = choose(draws.uniform("household size", persons), _HOUSEHOLD_SIZES) + 1
        end = np.cumsum(size)
        count = int(np.searchsorted(end, persons)) + 1
        size, end = size[:count], end[:count]
        size[-1] -= end[-1] - persons
        couple = draws.uniform("couple", count) < _COUPLE_CHANCE[size]
        stage = np.where(size == 1, 0, np.where((size == 2) & couple, 1, 2))
        area_weights = 1 + np.floor(
            1_000.0 * lognormal(Draws(0, "geography").uniform("area", len(geography.leaves)), 0.7)
        ).astype(np.int64)
        return cls(
            size=size.astype(np.int8),
            start=np.concatenate([[0], end[:-1]]),
            area=choose(draws.uniform("area", count), area_weights).astype(np.int32),
            couple=couple,
            married=couple & (draws.uniform("married", count) < 0.78),
            head_age=_head_ages(draws.uniform("head age", count), stage),
            birth=_countries(draws.uniform("household birth", count)),
            with_elder=(size >= 5) & (draws.uniform("elder", count) < 0.2),
        )


def _head_ages(uniform: Floats, stage: Integers) -> NDArray[np.int8]:
    return (18 + choose_within(uniform, stage, _HEAD_AGES)).astype(np.int8)


def _countries(uniform: Floats) -> NDArray[np.int8]:
    weights = [classifications.BIRTH_WEIGHTS[code] for code in classifications.BIRTH.leaves]
    return choose(uniform, weights).astype(np.int8)


def _roles(households: _Households, household: NDArray[np.int32]) -> NDArray[np.int8]:
    """Head, partner where there is a couple, then children, an elder last."""
    role = np.full(len(household), _CHILD, dtype=np.int8)
    role[households.start] = _HEAD
    role[households.start[households.couple] + 1] = _PARTNER
    role[(households.start + households.size - 1)[households.with_elder]] = _ELDER
    return role


def _ages(
    draws: Draws, households: _Households, household: NDArray[np.int32], role: NDArray[np.int8]
) -> NDArray[np.int8]:
    uniform = draws.uniform("age", len(role))
    head_age = households.head_age[household].astype(np.float64)
    age = np.select(
        [role == _PARTNER, role == _CHILD, role == _ELDER],
        [
            np.clip(head_age + np.rint(12.0 * uniform - 6.0), 18.0, 99.0),
            np.floor(uniform * (np.minimum(head_age - 18.0, 29.0) + 1.0)),
            np.minimum(head_age + 18.0 + np.floor(17.0 * uniform), 99.0),
        ],
        head_age,
    )
    return age.astype(np.int8)


def _sexes(
    draws: Draws, households: _Households, household: NDArray[np.int32], role: NDArray[np.int8]
) -> NDArray[np.int8]:
    """0 for female, 1 for male; partners differ but for one couple in fifty."""
    alone_chance = np.where(households.head_age >= 60, 0.33, 0.52)
    head_chance = np.select([households.couple, households.size == 1], [0.62, alone_chance], 0.2)
    head_male = draws.uniform("head sex", len(head_chance)) < head_chance
    uniform = draws.uniform("sex", len(role))
    head_male_here = head_male[household]
    male = np.select(
        [role == _HEAD, role == _PARTNER, role == _ELDER],
        [head_male_here, head_male_here ^ (uniform >= 0.02), uniform < 0.35],
        uniform < 0.512,
    )
    return male.astype(np.int8)


def _marital(
    draws: Draws,
    households: _Households,
    household: NDArray[np.int32],
    role: NDArray[np.int8],
    age: NDArray[np.int8],
) -> NDArray[np.int8]:
    uniform = draws.uniform("marital", len(role))
    widowed, divorced = _WIDOWED[age], _DIVORCED[age]
    apart = np.select([uniform < widowed, uniform < widowed + divorced], [2, 3], 0).astype(np.int8)
    living_together = households.couple[household] & (role <= _PARTNER)
    together = np.where((uniform < 0.25) & (age >= 25), 3, 0)
    married = households.married[household] & living_together
    return np.select([married, living_together], [1, together], apart).astype(np.int8)


def _births(
    draws: Draws, households: _Households, household: NDArray[np.int32], role: NDArray[np.int8]
) -> NDArray[np.int8]:
    """Partners mostly come from where the head comes from; most children were born here."""
    home = classifications.BIRTH.leaves.index("HOME")
    same = draws.uniform("same birth", len(role))
    of_head = households.birth[household]
    own = np.where(role == _CHILD, np.int8(home), _countries(draws.uniform("birth", len(role))))
    as_head = np.select([role == _PARTNER, role == _CHILD], [same < 0.75, same < 0.35], True)
    return np.where(as_head, of_head, own)


def _education(draws: Draws, age: NDArray[np.int8]) -> NDArray[np.int8]:
    drawn = choose_within(draws.uniform("education", len(age)), _EDUCATION_COHORT[age], _EDUCATION)
    education: NDArray[np.int8] = np.minimum(drawn, _EDUCATION_LIMIT[age]).astype(np.int8)
    return education


def _occupations(draws: Draws, education: NDArray[np.int8], labour: NDArray[np.int8]) -> NDArray[np.int8]:
    codes = classifications.OCCUPATION.leaves
    occupation = np.full(len(labour), codes.index("X"), dtype=np.int8)
    employed = np.flatnonzero(labour == _EMPLOYED)
    # Within a major group the first codes are the frequent ones.
    weights = [
        [major[int(code[0]) - 1] * 60 // int(code[1]) if code != "X" else 0 for code in codes] for major in _OCCUPATION
    ]
    group = _EDUCATION_GROUP[education[employed]]
    occupation[employed] = choose_within(draws.uniform("occupation", len(employed)), group, weights)
    return occupation


def _incomes(draws: Draws, labour: NDArray[np.int8], occupation: NDArray[np.int8]) -> Integers:
    by_labour = np.array([_LABOUR_INCOME[code] for code in _LABOUR_CODES])
    codes = classifications.OCCUPATION.leaves
    by_occupation = np.array([0.0 if code == "X" else _MAJOR_INCOME[int(code[0]) - 1] for code in codes])
    income: Floats = by_labour[labour]
    income += by_occupation[occupation]
    income *= lognormal(draws.uniform("income", len(labour)), 0.5)
    income *= heavy_tail(draws.uniform("income tail", len(labour)), 0.02, cap=200.0)
    return np.rint(income).astype(np.int64)
