"""Rules for files of records by name: what an office demands of a file for researchers, and of one for everybody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from discreet.errors import NeedsError, ParameterError, counted, listed, unknown_name
from discreet.rules.anonymity import KAnonymity
from discreet.rules.levels import level_combinations

HANDBOOK = "Handbook on Statistical Disclosure Control (2024), introductory example: rules at Statistics Netherlands"
MOST_KEYS = 15
"""A public-use file has at most so many keys."""
TOGETHER, IN_A_REGION = 100, 10_000
"""In a file for researchers so many people share a combination of keys, and live in a region."""
OF_A_VALUE, OF_A_PAIR, HOUSEHOLDS = 200_000, 1_000, 5
"""In a public-use file so many people have a value of a key, or a pair of them, and so many households are alike."""


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

    Examples
    --------
    >>> import discreet as ds
    >>> print(ds.profile("research", {"sex": 2, "age": 3}, "w").duties[-1])
    a panel has no direct region
    """

    name: str
    title: str
    rules: tuple[KAnonymity, ...]
    duties: tuple[str, ...]
    source: str

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.title}", *(f"  counted: {_words(rule)}" for rule in self.rules)]
        return "\n".join([*lines, *(f"  see to it: {duty}" for duty in self.duties), f"  source: {self.source}"])


def _words(rule: KAnonymity) -> str:
    sizes = {len(table.keys) for table in rule.tables()}
    keys = "1 key" if sizes == {1} else f"{' or '.join(map(str, sorted(sizes)))} keys"
    unit = "people" if rule.household is None else "households"
    many = counted(sum(1 for _ in rule.tables()), "set")
    return f"{many} of {keys}, every combination of values of at least {rule.k:,} {unit}"


def profile(
    name: str,
    levels: Mapping[str, int] | Iterable[str],
    weight: str,
    *,
    household: str | None = None,
    household_keys: Iterable[str] = (),
) -> Profile:
    """The rules that go by a name.

    - ``research``, for researchers under contract: each combination of a key of level 1, one of level 2 and one of
      level 3 stands for at least 100 people, and each value of a key of level 1 for at least 10,000.
    - ``public-use``, for everybody: no key of level 1 and at most 15 keys; each value of a key stands for at least
      200,000 people, and each pair of values of two keys for at least 1,000; each combination of household variables is
      that of at least 5 households of the file.

    The numbers are those that the Handbook on Statistical Disclosure Control (2024) gives as inspired by the rules of
    Statistics Netherlands. People are counted by the sampling weights. Other offices have other numbers: state these as
    rules, such as ``ds.KAnonymity(50, combinations=[...], weight="w")``.

    Parameters
    ----------
    name
        ``"research"`` or ``"public-use"``.
    levels
        Per key its identification level: 1 for direct regions, 2 for what everybody sees (sex, ethnicity), 3 for other
        keys; or the names of the keys where the profile asks for no levels (``public-use``).
    weight
        The column of sampling weights; a column of ones for a register.
    household, household_keys
        The column of households, and the keys that describe a household (size, type of dwelling), for ``public-use``.

    Examples
    --------
    >>> import discreet as ds
    >>> research = ds.profile("research", {"region": 1, "sex": 2, "age": 3, "job": 3}, "w")
    >>> for rule in research.rules:
    ...     print(rule.k, [table.keys for table in rule.combinations])
    100 [('region', 'sex', 'age'), ('region', 'sex', 'job')]
    10000 [('region',)]
    >>> [(rule.k, rule.size) for rule in ds.profile("public-use", ["sex", "age", "job"], "w").rules]
    [(200000, 1), (1000, 2)]
    """
    if name not in PROFILES:
        raise ParameterError(unknown_name("profile", str(name), PROFILES))
    if not weight:
        raise NeedsError(
            f"The profile {name!r} counts people of the population, by sampling weights.",
            hint="Name the column of weights; in a register every record has the weight 1.",
        )
    if isinstance(levels, Mapping):
        stated = {str(key): level for key, level in levels.items() if level}
    else:
        stated = dict.fromkeys([levels] if isinstance(levels, str) else map(str, levels), 0)
    if not stated:
        raise ParameterError("The profile is given no key.", hint="Give levels={'region': 1, 'sex': 2, 'age': 3}.")
    if name == "research":
        return _research(stated, weight)
    return _public_use(stated, weight, household, tuple(household_keys))


def _research(levels: Mapping[str, int], weight: str) -> Profile:
    if 0 in levels.values():
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
    regions = [(key,) for key, level in levels.items() if level == 1]
    rules = [KAnonymity(TOGETHER, combinations=tuple(level_combinations(levels)), weight=weight)]
    rules += [KAnonymity(IN_A_REGION, combinations=tuple(regions), weight=weight)] if regions else []
    duties = (
        "identifiers are left out (columns with that role are)",
        "occupation, firm and education are no finer than the finest region allows",
        "a panel has no direct region",
    )
    return Profile("research", PROFILES["research"], tuple(rules), duties, HANDBOOK)


def _public_use(
    levels: Mapping[str, int], weight: str, household: str | None, household_keys: tuple[str, ...]
) -> Profile:
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
    rules = [KAnonymity(OF_A_VALUE, keys, 1, weight=weight)]
    rules += [KAnonymity(OF_A_PAIR, keys, 2, weight=weight)] if len(keys) > 1 else []
    duties = [
        "the data are at least a year old",
        "identifiers, direct regions, nationality, country of birth and ethnicity are left out",
        "there is one kind of indirect region, and its areas are scattered over the country",
        "sensitive columns are left out",
        "weights give nothing further away",
        "rows stand in a random order (they do unless keep_order is asked for)",
    ]
    if household is not None and household_keys:
        rules.append(KAnonymity(HOUSEHOLDS, household_keys, household=household))
    else:
        duties.append("every combination of household variables is that of at least five households in the file")
    return Profile("public-use", PROFILES["public-use"], tuple(rules), tuple(duties), HANDBOOK)


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


PROFILES = {"research": "a file for researchers under contract", "public-use": "a file for everybody"}
"""Profiles by name, and what each is for."""
