"""Linking files of series: whose series is whose, by distances that know about time (Nin and Torra 2006)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.attack.record_attack import RecordAttack
from discreet.attack.series_distances import (
    Distance,
    Normalisation,
    SeriesPart,
    SeriesQuestion,
    distance_block,
    flat_series,
    normalised_series,
    refuse_undefined,
    series_parts,
)
from discreet.attack.series_files import (
    PanelColumns,
    SeriesFile,
    is_panel,
    series_from_arrays,
    series_from_columns,
    series_from_panels,
    stamps,
    truth_of,
)
from discreet.errors import InputError, ParameterError, counted
from discreet.files.frames import to_frame
from discreet.model import doors
from discreet.model.arrays import Bools, Floats, Ints
from discreet.progress import checkpoint

SAME = 1e-9
"""Distances that differ by a smaller share are equal."""
NOTHING = 1e-14
"""So are distances that differ by less than this share of the largest value: the last digits of sums."""
NO_DISTANCE = 1e-12
"""Distances by correlation have no unit; these are below what rounding leaves of them."""
BLOCK = 2**21
"""So many distances are held at once."""
STAGE = "series"


@dataclass(frozen=True, eq=False, repr=False)
class SeriesLinks(RecordAttack):
    """What an intruder gets who takes every original series for the nearest released one.

    Besides what every attack on records has:

    Parameters
    ----------
    links
        For every original unit the position of the released one that it is taken for. Of equally near ones it is the
        first, or one drawn with ``ties="random"``; all are equally near where all are infinitely far.
    best, second
        The least distance, and the least of those that are clearly greater; infinite where there is none.
    tied
        How many released units are equally near.
    distinct
        How many released units differ from each other. Where every unit has one released counterpart and
        ``ties="expected"``, no distance gives more right guesses than this.
    units, released_units
        Who the units of the two files are, where panels name them.
    """

    links: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    best: Floats = field(default_factory=lambda: np.zeros(0))
    second: Floats = field(default_factory=lambda: np.zeros(0))
    tied: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    distinct: int = 0
    units: tuple[Hashable, ...] = ()
    released_units: tuple[Hashable, ...] = ()

    @property
    def linked(self) -> dict[Hashable, Hashable]:
        """Whom every unit is taken for: names where panels have them, positions otherwise."""
        return {
            self.units[row] if self.units else int(row): self.released_units[link] if self.released_units else int(link)
            for row, link in zip(self.rows.tolist(), self.links.tolist(), strict=True)
        }

    @property
    def gap(self) -> Floats:
        """How much farther the second nearest is than the nearest, as a share of it; 0 where the best is a tie.

        A guess with a wide gap is one that an intruder is sure of.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            wide = np.where(self.best > 0, (self.second - self.best) / self.best, np.inf)
        return np.where(self.tied > 1, 0.0, wide)

    def image(self) -> str:
        """Right and wrong guesses by how sure an intruder can be, as an inline ``svg`` element.

        Examples
        --------
        >>> import numpy as np, discreet as ds
        >>> walks = np.random.default_rng(1).normal(size=(20, 6)).cumsum(axis=1)
        >>> ds.attack.link_series(walks, walks.round()).image().startswith("<svg")
        True
        """
        return doors.series_links_image(self)

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """Position, link, chance and distances of every unit that was tried, as a data frame."""
        columns = {
            "position": self.rows,
            "link": self.links,
            "chance": self.chance,
            "tied": self.tied,
            "best": self.best,
            "second": self.second,
        }
        return to_frame(columns, backend)


def link_series(
    original: Any,
    released: Any,
    distance: Distance = "sts",
    *,
    id: str | None = None,
    time: str | None = None,
    values: str | Sequence[str] | Mapping[str, Sequence[str]] = (),
    variable: str | None = None,
    times: Any = None,
    truth: Any = None,
    normalise: Normalisation | None = "pooled",
    q: int = 2,
    beta: float = 1.0,
    combine: str = "sum",
    ties: str = "expected",
    split: int = 1,
    band: int | None = None,
    normalise_path: bool = True,
    gaps: str = "refuse",
    paper_literal: bool = False,
    seed: int = 0,
) -> SeriesLinks:
    """How many units an intruder finds again in a file of series, who has their original series.

    Every original unit is taken for the released one whose series are nearest. Both files are normalised apart, by the
    same rule. Equally near ones share the guess.

    Parameters
    ----------
    original, released
        Arrays by unit and time, or by unit, series and time; lists of series of unequal length (``"dtw"`` only); or
        panels (data frames, files, ``Microdata`` or ``RecordSet``) in long form, one record for each unit and time, or
        in wide form, one record for each unit and a column for each time.
    distance
        ``"minkowski"``: differences at each time, for series of like shape. ``"sts"``: differences of slopes, for
        series of like level. ``"cc"``: ``((1 - r) / (1 + r)) ** beta`` of the correlation ``r``. ``"dtw"``: dynamic
        time warping, the only one for unequal lengths.
    id, time, values
        Columns of a panel: whose record it is (the identifier where left out), its time, and its numbers (all columns
        of numbers where left out). For the wide form, ``values={"income": ["income_2024", "income_2025"]}`` without
        ``time``.
    variable
        Column that names the series, where a panel has one record for each unit, time and series.
    times
        When the values of arrays and wide panels were, in rising order; slopes depend on it.
    truth
        For every original unit the position of its released one, -1 where it has none; the same position where left
        out. For panels, a mapping from original to released units; the same ``id`` where left out.
    normalise
        ``"pooled"``: one mean and standard deviation for a series of all units and times. ``"series"``: of each unit's
        own. ``"component"``: of each time, as standard record linkage does. ``"range"``: each time from 0 to 1.
        ``None``: not at all.
    q
        Order of the Minkowski distance.
    beta
        Exponent of ``"cc"`` and ``"dtw"``. It changes nothing where there is one series.
    combine
        Distances of several series are added (``"sum"``), or their squares averaged (``"rms"``).
    ties
        What a guess among equally near ones counts: ``"expected"``, one over their number; ``"first"``, the first of
        the file is taken; ``"random"``, one drawn with ``seed``.
    split
        Every series is cut into so many consecutive pieces, each a series of its own.
    band
        With ``"dtw"``, how many places apart warped values may be.
    normalise_path
        With ``"dtw"``, the root of the sum of squares over the number of steps; the sum itself otherwise.
    gaps
        ``"refuse"``; ``"interpolate"``, straight lines over time; ``"drop"``, times at which one of a pair is empty are
        left out (each series' own with ``"dtw"``).
    paper_literal
        The printed formulas of the source, for comparison only: signed powers, and correlations not divided by the
        number of times.
    seed
        Seed of the draws among ties.

    Returns
    -------
    SeriesLinks
        Right guesses to expect, and who is taken for whom.

    Raises
    ------
    InputError
        Where a panel is unbalanced, has a unit twice at one time, or the series do not have the distance.

    Examples
    --------
    >>> import numpy as np, discreet as ds
    >>> income = np.array([[10, 11, 13, 16], [20, 19, 17, 14], [10, 12, 10, 12], [5, 5, 6, 5]])
    >>> masked = income + np.array([[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0], [1, 1, 0, 1]])
    >>> found = ds.attack.link_series(income, masked, "sts")
    >>> found.right, found.baseline, found.links.tolist()
    (4.0, 0.25, [0, 1, 2, 3])
    """
    question = SeriesQuestion(
        distance=distance,
        normalise=normalise,
        q=q,
        beta=beta,
        combine=combine,  # type: ignore[arg-type]
        ties=ties,  # type: ignore[arg-type]
        split=split,
        band=band,
        normalise_path=normalise_path,
        gaps=gaps,  # type: ignore[arg-type]
        paper_literal=paper_literal,
        seed=seed,
    )
    files = _files(original, released, id, time, values, variable, times)
    return _link(question, *files, truth)


def _files(
    original: Any,
    released: Any,
    who: str | None,
    time: str | None,
    values: str | Sequence[str] | Mapping[str, Sequence[str]],
    variable: str | None,
    times: Any,
) -> tuple[SeriesFile, SeriesFile]:
    if is_panel(original) != is_panel(released):
        raise ParameterError("One file is a panel and the other an array.", hint="Give both in the same form.")
    if isinstance(values, Mapping):
        if time is not None or variable is not None:
            raise ParameterError(
                "time= and variable= are for panels in long form.", hint="Leave them out, or name values= in a list."
            )
        return series_from_columns(original, released, who, values, times)
    if is_panel(original):
        if time is None:
            raise ParameterError("A panel needs to know its times.", hint="Give time= the column that holds them.")
        if times is not None:
            raise ParameterError("times= is for arrays; a panel has a column of times.", hint="Leave it out.")
        names = (values,) if isinstance(values, str) else tuple(values)
        return series_from_panels(original, released, PanelColumns(who, time, names, variable))
    if who is not None or time is not None or variable is not None or values:
        raise ParameterError(
            "id=, time=, values= and variable= name columns of panels.", hint="Leave them out of arrays."
        )
    first, second = series_from_arrays(original, "the original file"), series_from_arrays(released, "the released file")
    if times is not None:
        first, second = (replace(file, times=stamps(times, len(file.times))) for file in (first, second))
    return first, second


def _link(question: SeriesQuestion, original: SeriesFile, released: SeriesFile, truth: Any) -> SeriesLinks:
    if original.values.shape[1] != released.values.shape[1]:
        raise InputError(
            f"Original units have {original.values.shape[1]} series each, released ones {released.values.shape[1]}.",
            hint="Give the same series of both files.",
        )
    own = truth_of(original, released, truth)
    original, released, notes = _without_gaps(question, original, released)
    pair = [series_parts(file, question.split) for file in (original, released)]
    refuse_undefined(question, *pair)
    notes += _flat_notes(question, pair)
    pair = [[SeriesPart(normalised_series(p.values, question.normalise), p.times) for p in parts] for parts in pair]
    group, first = _collapsed(released.values)
    found = _nearest(question, pair[0], [SeriesPart(p.values[first], p.times) for p in pair[1]], group, first, own)
    twins = len(original) - len(set(_row_bytes(original.values)))
    if twins:
        notes.append(f"{counted(twins, 'original unit')} cannot be told from an earlier one by these series.")
    absent = int((own < 0).sum())
    if absent:
        notes.append(
            f"{counted(absent, 'original unit', 'are')} not in the released file, so that every guess is wrong."
        )
    return SeriesLinks(
        attack=f"series by {question.words}",
        what="name the right series",
        knows="records",
        rows=np.arange(len(original)),
        chance=found.chance,
        baseline=float((own >= 0).mean()) / len(released),
        columns=original.names,
        notes=tuple(notes),
        links=found.links,
        best=found.best,
        second=found.second,
        tied=found.tied,
        distinct=len(first),
        units=original.units,
        released_units=released.units,
    )


def _without_gaps(
    question: SeriesQuestion, original: SeriesFile, released: SeriesFile
) -> tuple[SeriesFile, SeriesFile, list[str]]:
    """Gaps refused, filled or left to the distances, and what to know of them."""
    unequal = original.ragged or released.ragged
    if unequal and question.distance != "dtw":
        raise InputError("The series are of unequal length.", hint='Give distance="dtw", which can compare them.')
    gone = [0 if file.ragged else int(file.incomplete.sum()) for file in (original, released)]
    if not any(gone):
        return original, released, []
    said = (
        f"{gone[0]:,} of {counted(len(original), 'original unit')} and "
        f"{gone[1]:,} of {counted(len(released), 'released unit')} lack a value at some times"
    )
    if question.gaps == "refuse":
        what = "The panel is unbalanced" if original.units else "The series have gaps"
        raise InputError(
            f"{what}: {said}.",
            hint='Give gaps="interpolate" (straight lines over time) or gaps="drop" (times that both series have; with '
            'distance="dtw", series of unequal length), or leave these units out.',
        )
    if question.gaps == "interpolate":
        return original.interpolated(), released.interpolated(), [f"{said}; these were interpolated."]
    return original, released, [f"{said}; these were left out, pair by pair."]


def _flat_notes(question: SeriesQuestion, pair: Sequence[Sequence[SeriesPart]]) -> list[str]:
    matters = question.distance == "cc" or question.normalise == "series"
    flat = sum(flat_series(parts) for parts in pair) if matters else 0
    if not flat:
        return []
    what = "are taken as uncorrelated with all others" if question.distance == "cc" else "count as 0 at every time"
    return [f"{flat:,} series of the two files do not vary over time and {what}."]


def _row_bytes(values: Floats) -> list[bytes]:
    """What every unit holds, as text of bytes: the same for the same values and gaps."""
    plain = np.ascontiguousarray(np.where(np.isnan(values), np.nan, values + 0.0))
    return [row.tobytes() for row in plain]


def _collapsed(values: Floats) -> tuple[Ints, Ints]:
    """Units that hold the same: the number of each unit's group, and the first unit of each group.

    After normalising and summing, equal series may differ in the last digit; so ties are found before.
    """
    numbers: dict[bytes, int] = {}
    group = np.array([numbers.setdefault(row, len(numbers)) for row in _row_bytes(values)], np.int64)
    first = np.unique(group, return_index=True)[1]
    return group, first


@dataclass(frozen=True, eq=False)
class _NearestSeries:
    chance: Floats
    links: Ints
    best: Floats
    second: Floats
    tied: Ints


def _nearest(
    question: SeriesQuestion,
    left: Sequence[SeriesPart],
    right: Sequence[SeriesPart],
    group: Ints,
    first: Ints,
    own: Ints,
) -> _NearestSeries:
    """The nearest released units of every original one, block by block; ``right`` has every distinct unit once."""
    many = len(left[0].values)
    size = np.bincount(group)
    rng = np.random.default_rng(question.seed)
    slack = _slack(question, [*left, *right])
    at_once = max(1, BLOCK // len(first))
    found = _NearestSeries(
        np.zeros(many), np.full(many, -1), np.full(many, np.inf), np.full(many, np.inf), np.zeros(many, np.int64)
    )
    for start in range(0, many, at_once):
        checkpoint(STAGE, start, many)
        rows = slice(start, min(start + at_once, many))
        total = _summed(question, ((SeriesPart(a.values[rows], a.times), b) for a, b in zip(left, right, strict=True)))
        best = total.min(axis=1)
        near = total <= _reach(best, slack, question)[:, None]
        found.best[rows], found.tied[rows] = best, near @ size
        found.second[rows] = np.where(near, np.inf, total).min(axis=1)
        mine = own[rows]
        right_one = near[np.arange(len(mine)), group[np.maximum(mine, 0)]] & (mine >= 0)
        found.links[rows] = _chosen(question, near, group, first, rng)
        if question.ties == "expected":
            found.chance[rows] = np.where(right_one, 1.0 / np.maximum(found.tied[rows], 1), 0.0)
        else:
            found.chance[rows] = (found.links[rows] == mine) & (mine >= 0)
    checkpoint(STAGE, many, many)
    return found


def _summed(question: SeriesQuestion, pairs: Iterable[tuple[SeriesPart, SeriesPart]]) -> Floats:
    """Distances over all series."""
    total, many = np.zeros((1, 1)), 0
    for left, right in pairs:
        one = distance_block(question, left, right)
        total = total + (one**2 if question.combine == "rms" else one)
        many += 1
    return np.sqrt(total / many) if question.combine == "rms" else total


def _slack(question: SeriesQuestion, parts: Sequence[SeriesPart]) -> float:
    """What sums may be off by: nothing that tells series apart."""
    if question.distance == "cc":
        return float(NO_DISTANCE**question.beta)
    largest = max(float(np.nanmax(np.abs(part.values))) for part in parts)
    if question.distance == "sts":
        largest /= min(float(np.diff(part.times).min()) for part in parts)
    if question.distance == "dtw":
        return float((NOTHING * largest) ** (question.beta if question.normalise_path else 2 * question.beta))
    return NOTHING * largest


def _reach(best: Floats, slack: float, question: SeriesQuestion) -> Floats:
    share = SAME * (question.beta if question.distance in ("cc", "dtw") else 1.0)
    return np.asarray(best + np.abs(np.where(np.isfinite(best), best, 0.0)) * share + slack)


def _chosen(question: SeriesQuestion, near: Bools, group: Ints, first: Ints, rng: np.random.Generator) -> Ints:
    """The unit that is taken among those equally near."""
    if question.ties != "random":
        return np.asarray(first[near.argmax(axis=1)])
    return np.array([rng.choice(np.flatnonzero(row[group])) for row in near], np.int64)
