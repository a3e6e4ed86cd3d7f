"""Areas as they may be shown: every unit of every level has a population of at least a threshold.

Source: card 003-31 (restricted extracts), method 3c. Units below the threshold are merged with others of the same unit
above them; levels are done from the coarsest on, so that what is shown of a finer level lies within what is shown of
the coarser one, and no two levels together show less than either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from discreet.errors import InputError, ParameterError, counted

Path = tuple[str, ...]
"""Codes of a unit from the coarsest level to its own."""
MERGED = "merged-"


@dataclass(frozen=True)
class GuardedAreas:
    """What is shown of areas.

    Parameters
    ----------
    codes
        Per finest unit the codes that are shown, from the coarsest level on.
    population
        Per level the population of every code that is shown.
    merged
        Per level and merged code the codes that it stands for.
    """

    codes: Mapping[Path, Path]
    population: tuple[Mapping[str, float], ...]
    merged: tuple[Mapping[str, tuple[str, ...]], ...]

    @property
    def levels(self) -> int:
        """How many levels are shown at all."""
        return len(self.population)


def guard_areas(population: Mapping[Path, float], threshold: float) -> GuardedAreas:
    """Merge units until every one that is shown has at least a population.

    Parameters
    ----------
    population
        Persons per finest unit, in the census that readers would look them up in.
    threshold
        The smallest population that is shown.

    Raises
    ------
    InputError
        When one code of a level lies in two units of the level above.

    Examples
    --------
    >>> found = guard_areas({("N", "a"): 30, ("N", "b"): 4, ("N", "c"): 9, ("S", "d"): 50}, 10)
    >>> found.codes["N", "b"], found.codes["N", "a"], found.merged[1]
    (('N', 'merged-1'), ('N', 'a'), {'merged-1': ('b', 'c')})
    """
    if threshold < 1:
        raise ParameterError(f"threshold = {threshold} guards nothing.", hint="Usual are 20000 to 100000 persons.")
    depths = {len(path) for path in population}
    if len(depths) != 1 or not min(depths):
        raise InputError("Areas have no levels, or not all the same.", hint="Name the columns of all levels.")
    shown: dict[Path, Path] = dict.fromkeys(population, ())
    counts, merged = [], []
    if sum(population.values()) < threshold:
        return GuardedAreas(shown, (), ())
    for level in range(min(depths)):
        _refuse_two_homes(population, level)
        groups: dict[Path, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for path, persons in population.items():
            groups[shown[path]][path[level]] += persons
        names, stands_for = _named(groups, threshold, {path[level] for path in population})
        shown = {path: (*above, names[path[level]]) for path, above in shown.items()}
        total: dict[str, float] = defaultdict(float)
        for path, persons in population.items():
            total[shown[path][-1]] += persons
        counts.append(dict(total))
        merged.append(stands_for)
    _refuse_small(counts, threshold)
    return GuardedAreas(shown, tuple(counts), tuple(merged))


def _named(
    groups: Mapping[Path, Mapping[str, float]], threshold: float, taken: set[str]
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """The code that each unit of a level is shown by, and what merged codes stand for."""
    names: dict[str, str] = {}
    stands_for: dict[str, tuple[str, ...]] = {}
    for above in sorted(groups):
        rest = _rest(groups[above], threshold)
        names |= {code: code for code in groups[above] if code not in rest}
        if rest:
            new = f"{MERGED}{len(stands_for) + 1}"
            while new in taken:
                new += "-"
            stands_for[new] = tuple(sorted(rest))
            names |= dict.fromkeys(rest, new)
    return names, stands_for


def _rest(units: Mapping[str, float], threshold: float) -> set[str]:
    """Units that are shown together: all small ones, and the next larger until they are enough."""
    order = sorted(units, key=lambda code: (units[code], code))
    rest = {code for code in order if units[code] < threshold}
    larger = [code for code in order if code not in rest]
    while rest and sum(units[code] for code in rest) < threshold and larger:
        rest.add(larger.pop(0))
    return rest


def _refuse_two_homes(population: Mapping[Path, float], level: int) -> None:
    homes: dict[str, set[Path]] = defaultdict(set)
    for path in population:
        homes[path[level]].add(path[:level])
    wrong = sum(len(found) > 1 for found in homes.values())
    if wrong:
        raise InputError(
            f"{counted(wrong, 'code')} of level {level + 1} of the areas lie in two units of the level above.",
            hint="Give every unit a code of its own.",
        )


def _refuse_small(counts: list[dict[str, float]], threshold: float) -> None:
    """Every code was made large enough; look again rather than trust it."""
    if any(persons < threshold for level in counts for persons in level.values()):
        raise InputError("An area stayed below the threshold.", hint="Raise the threshold, or suppress all areas.")
