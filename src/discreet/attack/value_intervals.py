"""How many original values lie close to the released ones: whoever finds a record learns them to within an interval.

By ranks or by standard deviations, as Domingo-Ferrer and Torra (2001) and Mateo-Sanz, Sebe and Domingo-Ferrer (2004)
measure it; see ``docs/sources.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np

from discreet.attack.linkage_columns import (
    LinkageColumns,
    both_files,
    compared_columns,
    known_columns,
    names_of,
    true_links,
)
from discreet.attack.record_attack import RecordAttack
from discreet.errors import InputError
from discreet.model.arrays import Bools, Floats
from discreet.parameters import Declared, Number

IntervalKind = Literal["rank", "sd"]


@dataclass(frozen=True, eq=False, repr=False)
class IntervalDisclosure(RecordAttack):
    """How many original values lie within an interval around the released ones.

    ``chance`` is for each record the share of its values that do, ``by_column`` the share of each column, and
    ``whole`` the share of records all of whose values do.

    Examples
    --------
    >>> import discreet as ds, pyarrow as pa
    >>> before = pa.table({"pay": [10, 20, 30, 40]})
    >>> after = pa.table({"pay": [11, 24, 30, 10]})
    >>> found = ds.attack.interval_disclosure(before, after, "pay", by="sd", width=0.1)
    >>> found.share, found.by_column, found.whole
    (0.5, {'pay': 0.5}, 0.5)
    """

    by_column: Mapping[str, float] = field(default_factory=dict)
    whole: float = 0.0


@dataclass(frozen=True)
class IntervalQuestion(Declared):
    """By what intervals are, and how wide to either side."""

    by: IntervalKind = "rank"
    width: Annotated[float, Number(above=0)] = 0.05


def interval_disclosure(
    original: Any,
    released: Any = None,
    columns: str | Sequence[str] | None = None,
    *,
    by: IntervalKind = "rank",
    width: float = 0.05,
    truth: str | Sequence[int] | None = None,
) -> IntervalDisclosure:
    """How many original values lie within an interval around the released value of the same record.

    The baseline is somebody who has no record and names one interval of the same width for all: the best there is.
    Values of records that have a gap in either file are not counted for that column.

    Parameters
    ----------
    original, released, columns, truth
        As in :func:`discreet.attack.link`; columns of numbers.
    by
        ``"rank"``: the original value is among the ``width`` (a share of all) next larger or smaller original values
        around the released one; ``"sd"``: it is at most ``width`` standard deviations of the original away.
    width
        How far intervals reach to either side.

    Examples
    --------
    >>> import discreet as ds, numpy as np, pyarrow as pa
    >>> pay = np.arange(100.0)
    >>> found = ds.attack.interval_disclosure(pa.table({"pay": pay}), pa.table({"pay": pay[::-1]}), "pay", width=0.1)
    >>> found.share, found.baseline
    (0.1, 0.21)
    """
    question = IntervalQuestion(by, width)
    given = () if columns is None else names_of("columns", columns)
    before, after = both_files(original, released, given)
    names = known_columns(before, columns)
    compared = compared_columns(before, after, names, ())
    compared.numbers_only("an interval")
    links = true_links(before, after, truth)
    rows = np.flatnonzero(links >= 0)
    inside, there, baseline = [], [], []
    for column in range(len(compared.names)):
        one, both, guess = _column(compared, column, rows, links, question)
        inside.append(one)
        there.append(both)
        baseline.append(guess)
    if not inside or not np.any(there):
        raise InputError(
            "No value is there both before and after.", hint="Give columns of numbers that vary in both files."
        )
    right, known = np.stack(inside, axis=1), np.stack(there, axis=1)
    kept = known.any(axis=1)
    right, known = right[kept], known[kept]
    unit = "of the ranks" if by == "rank" else "standard deviations"
    return IntervalDisclosure(
        f"interval (±{width:g} {unit})",
        "tell values to within the interval",
        "all links",
        rows[kept],
        right.sum(axis=1) / known.sum(axis=1),
        float(np.mean(baseline)),
        compared.names,
        compared.notes,
        by_column={
            name: float(right[:, place].sum() / max(known[:, place].sum(), 1))
            for place, name in enumerate(compared.names)
        },
        whole=float((right | ~known).all(axis=1).mean()),
    )


def _column(
    columns: LinkageColumns, column: int, rows: Any, links: Any, question: IntervalQuestion
) -> tuple[Bools, Bools, float]:
    """For each record whether its value is told, whether it is there in both files, and what one interval tells."""
    both = ~columns.gone[rows, column] & ~columns.empty[links[rows], column]
    old, new = columns.before[rows, column], columns.after[links[rows], column]
    ordered = np.sort(columns.before[~columns.gone[:, column], column])
    if question.by == "sd":
        reach = question.width * float(ordered.std(ddof=1))
        inside = np.abs(old - new) <= reach
        most = np.searchsorted(ordered, ordered + 2 * reach, "right") - np.arange(len(ordered))
        return inside & both, both, float(most.max() / len(ordered))
    steps = int(question.width * len(ordered) + 1e-9)
    low = np.maximum(np.searchsorted(ordered, new, "left") - steps, 0)
    high = np.minimum(np.searchsorted(ordered, new, "right") - 1 + steps, len(ordered) - 1)
    # A value between two original ones has no rank of its own: its window begins on either side of it.
    inside = (old >= ordered[np.minimum(low, len(ordered) - 1)]) & (old <= ordered[np.maximum(high, 0)])
    return inside & both, both, _widest(ordered, steps)


def _widest(ordered: Floats, steps: int) -> float:
    """The share of values in the best window around one of them."""
    first = np.maximum(np.searchsorted(ordered, ordered, "left") - steps, 0)
    last = np.minimum(np.searchsorted(ordered, ordered, "right") - 1 + steps, len(ordered) - 1)
    many = np.searchsorted(ordered, ordered[last], "right") - np.searchsorted(ordered, ordered[first], "left")
    return float(many.max() / len(ordered))
