"""Combinations of keys by how much each of them identifies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from discreet.errors import NeedsError, ParameterError

MOST_COMBINATIONS = 20_000
"""So many combinations are made; more would be counted for hours."""


def level_combinations(levels: Mapping[str, int], *, smaller: bool = False) -> list[tuple[str, ...]]:
    """Combinations of keys that μ-ARGUS makes of identification levels: one of level 1, one of level 2 or lower, ...

    A combination has as many keys as there are levels in use. Its most identifying key is of the lowest level, the next
    of the second lowest or below, and so on: a key that identifies more may always stand for one that identifies less.

    Parameters
    ----------
    levels
        Per key its level: 1 for those that identify most (a region), 2 and 3 for those that identify less. Columns of
        level 0 are in no combination.
    smaller
        Whether the smaller combinations within each are listed, too, as μ-ARGUS counts them. They occur at least as
        often, and need not be counted, unless records with empty fields are exempt (``missing="exempt"``).

    Returns
    -------
    list of tuple
        The combinations, for ``ds.KAnonymity(k, combinations=...)``.

    Raises
    ------
    ParameterError
        Where a level is no whole number, or there would be more than 20,000 combinations.

    Examples
    --------
    >>> level_combinations({"region": 1, "sex": 2, "age": 3, "job": 3, "income": 0})
    [('region', 'sex', 'age'), ('region', 'sex', 'job')]
    >>> level_combinations({"region": 1, "town": 1, "sex": 2})
    [('region', 'town'), ('region', 'sex'), ('town', 'sex')]
    >>> level_combinations({"region": 1, "sex": 2}, smaller=True)
    [('region',), ('sex',), ('region', 'sex')]
    """
    for name, level in levels.items():
        if isinstance(level, bool) or not isinstance(level, int) or level < 0:
            raise ParameterError(
                f"The identification level of {name!r} is {level!r}.",
                hint="Give a whole number: 1 for keys that identify most, 0 for columns that identify nobody.",
            )
    ordered = sorted((name for name in levels if levels[name]), key=lambda name: levels[name])
    if not ordered:
        raise NeedsError(
            "No key has an identification level above 0.", hint="Give levels={'region': 1, 'sex': 2, 'age': 3}."
        )
    limits = sorted({levels[name] for name in ordered})
    found: dict[tuple[str, ...], None] = {}
    for chosen in _chosen(ordered, [levels[name] for name in ordered], limits):
        sizes = range(1 if smaller else len(chosen), len(chosen) + 1)
        found.update(dict.fromkeys(part for size in sizes for part in combinations(chosen, size)))
        if len(found) > MOST_COMBINATIONS:
            raise ParameterError(
                f"{len(ordered)} keys of {len(limits)} levels have more than {MOST_COMBINATIONS:,} combinations.",
                hint="Give fewer keys, or levels that tell them apart.",
            )
    return sorted(found, key=len) if smaller else list(found)


def _chosen(names: list[str], levels: list[int], limits: list[int], start: int = 0) -> Iterator[tuple[str, ...]]:
    """Names in rising order of their level, the first within the first limit, and so on."""
    if not limits:
        yield ()
        return
    for place in range(start, len(names)):
        if levels[place] > limits[0]:
            break
        for rest in _chosen(names, levels, limits[1:], place + 1):
            yield (names[place], *rest)
