"""Rules for files of records by name: what an office demands of a file for researchers, and of one for everybody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from discreet.errors import ParameterError, counted, listed, unknown_name
from discreet.rules.levels import level_combinations
from discreet.rules.population import MinPopulation
from discreet.rules.records import RecordRule

HANDBOOK = (
    "Handbook on Statistical Disclosure Control, second edition (2024), section 3.7: rules at Statistics Netherlands"
)
MOST_KEYS = 15
IN_RESEARCH, IN_A_REGION = 100, 10_000
OF_A_VALUE, OF_A_PAIR = 200_000, 1_000


@dataclass(frozen=True)
class Profile:
    """Rules by name: what is counted in the public file, and what an officer has to see to besides.

    Made by :func:`profile`.

    Parameters
    ----------
    name
        Its name.
    title
        What such a file is.
    rules
        Rules for ``protect`` or ``assess``: all of them are counted, and checked again.
    duties
        What the source demands and nobody can count in the file.
    source
        Where the rules are from.
    """

    name: str
    title: str
    rules: tuple[RecordRule, ...]
    duties: tuple[str, ...]
    source: str

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.title}", *(f"  counted: {_words(rule)}" for rule in self.rules)]
        return "\n".join([*lines, *(f"  see to it: {duty}" for duty in self.duties), f"  source: {self.source}"])


def _words(rule: RecordRule) -> str:
    assert isinstance(rule, MinPopulation)
    sets = {len(columns) for columns in rule.subsets()}
    what = " or ".join(str(size) for size in sorted(sets))
    return (
        f"{counted(sum(1 for _ in rule.subsets()), 'combination')} of {what} "
        f"{'key' if sets == {1} else 'keys'}, each value for at least {rule.n:,.15g} people"
    )


def profile(name: str, levels: Mapping[str, int] | Iterable[str]) -> Profile:
    """The rules that go by a name.

    - ``research``, for researchers under contract: each combination of a key of level 1, one of level 2 and one of
      level 3 stands for at least 100 people, and each value of a key of level 1 for at least 10,000.
    - ``public-use``, for everybody: no key of level 1 and at most 15 keys; each value of a key stands for at least
      200,000 people, and each pair of values of two keys for at least 1,000.

    The numbers are those that the Handbook on Statistical Disclosure Control (2024) gives as inspired by the rules of
    Statistics Netherlands. People are counted by the sampling weights. Other offices have other numbers: state these as
    :class:`MinPopulation` and :class:`KAnonymity`.

    Parameters
    ----------
    name
        ``"research"`` or ``"public-use"``.
    levels
        Per key its identification level: 1 for direct regions, 2 for what everybody sees (sex, ethnicity), 3 for other
        keys; or the names of the keys where the profile asks for no levels (``public-use``).

    Examples
    --------
    >>> import discreet as ds
    >>> research = ds.profile("research", {"region": 1, "sex": 2, "age": 3, "job": 3})
    >>> [(rule.n, rule.combinations) for rule in research.rules]
    [(100, (('region', 'sex', 'age'), ('region', 'sex', 'job'))), (10000, (('region',),))]
    >>> [(rule.n, rule.size) for rule in ds.profile("public-use", ["sex", "age", "job"]).rules]
    [(200000, 1), (1000, 2)]
    """
    if name not in PROFILES:
        raise ParameterError(unknown_name("profile", str(name), PROFILES))
    if isinstance(levels, Mapping):
        stated = {str(key): level for key, level in levels.items() if level}
    else:
        stated = dict.fromkeys([levels] if isinstance(levels, str) else map(str, levels), 0)
    if not stated:
        raise ParameterError("The profile is given no key.", hint="Give levels={'region': 1, 'sex': 2, 'age': 3}.")
    return PROFILES[name](stated)


def _research(levels: Mapping[str, int]) -> Profile:
    if not all(levels.values()):
        raise ParameterError(
            "The profile 'research' goes by identification levels, and was given names of keys.",
            hint="Give levels={'region': 1, 'sex': 2, 'age': 3}.",
        )
    deep = [key for key, level in levels.items() if level > 3]
    if deep:
        raise ParameterError(
            f"The profile 'research' has three identification levels, and {listed(deep)} {_is(deep)} of a higher one.",
            hint="Give levels 1 (direct regions), 2 (what everybody sees) and 3 (other keys).",
        )
    regions = tuple((key,) for key, level in levels.items() if level == 1)
    rules = [MinPopulation(IN_RESEARCH, combinations=tuple(level_combinations(levels)))]
    rules += [MinPopulation(IN_A_REGION, combinations=regions)] if regions else []
    duties = (
        "identifiers are left out (columns with that role are)",
        "occupation, firm and education are no finer than the finest region allows",
        "a panel has no direct region",
    )
    return Profile("research", "a file for researchers under contract", tuple(rules), duties, HANDBOOK)


def _public_use(levels: Mapping[str, int]) -> Profile:
    regions = [key for key, level in levels.items() if level == 1]
    if regions:
        raise ParameterError(
            f"A public-use file has no direct region, and {listed(regions)} {_is(regions)} of identification level 1.",
            hint="Leave the column out of the file, or recode it to an indirect one (size of town) of level 2 or 3.",
        )
    if len(levels) > MOST_KEYS:
        raise ParameterError(
            f"A public-use file has at most {MOST_KEYS} keys, and there are {len(levels)}.",
            hint="Leave columns out of the file.",
        )
    keys = tuple(levels)
    rules: list[RecordRule] = [MinPopulation(OF_A_VALUE, keys, 1)]
    rules += [MinPopulation(OF_A_PAIR, keys, 2)] if len(keys) > 1 else []
    duties = (
        "the data are at least a year old",
        "identifiers, direct regions, nationality, country of birth and ethnicity are left out",
        "there is one kind of indirect region, and its areas are scattered over the country",
        "sensitive columns are left out",
        "weights give nothing further away",
        "every combination of household variables is that of at least five households in the file",
        "rows stand in a random order (they do unless keep_order is asked for)",
    )
    return Profile("public-use", "a file for everybody", tuple(rules), duties, HANDBOOK)


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


PROFILES = {"research": _research, "public-use": _public_use}
"""Profiles by name."""
