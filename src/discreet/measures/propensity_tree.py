"""A tree that tells released records from original ones, beside the same tree on files mixed at random.

Trees overfit: two samples of one distribution are told apart, too. How well is found by mixing the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import ParameterError
from discreet.measures.propensity import Propensity, mean_one
from discreet.model.arrays import Floats, Ints

BINS = 255
"""Numbers go into up to so many classes of equal size, codes into as many by how often they occur."""
GAIN = 1e-9
"""Splits that gain less than this are of rounding."""
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class TreeColumn:
    """A column of both files, originals first: numbers (not a number in gaps), or codes from 0."""

    name: str
    values: Floats | Ints

    @property
    def ordered(self) -> bool:
        """Whether it holds numbers."""
        return bool(np.issubdtype(self.values.dtype, np.floating))


@dataclass(frozen=True)
class TreePropensity:
    """The score of a tree, and the share of each column in what it gains."""

    score: Propensity
    importance: dict[str, float]
    leaf: int


def usual_leaf(records: int) -> int:
    """The least number of records in a leaf, of both files together: twice the root of all, and at least 20.

    Examples
    --------
    >>> usual_leaf(20_000), usual_leaf(50)
    (283, 20)
    """
    return max(20, int(np.ceil(2 * np.sqrt(records))))


def tree_propensity(
    columns: Sequence[TreeColumn],
    originals: int,
    *,
    leaf: int | None = None,
    draws: int = 20,
    seed: int = 1,
    weight: Floats | None = None,
) -> TreePropensity:
    """How well a tree tells released records from original ones.

    Parameters
    ----------
    columns
        Columns of both files, originals first.
    originals
        How many records are originals.
    leaf
        Least number of records in a leaf.
    draws
        How often the files are mixed at random, to see what the tree finds where there is nothing.
    seed
        Of these draws. They are no secret.
    weight
        Weights of all records, originals first. They are scaled to a mean of 1 in each file, so that a file counts by
        its number of records; records keep theirs where files are mixed. Those of weight 0 are left out.

    Examples
    --------
    >>> draw = np.random.default_rng(1)
    >>> before, after = draw.normal(size=1000), draw.normal(size=1000)
    >>> same, other = (TreeColumn("x", np.concatenate([before, x])) for x in (after, after * 3))
    >>> bool(tree_propensity([same], 1000).score.z < 3), bool(tree_propensity([other], 1000).score.z > 10)
    (True, True)
    """
    records = len(columns[0].values) if columns else 0
    if not 0 < originals < records:
        raise ParameterError(
            "A tree needs records of both files.", hint="Give at least one column and one record each."
        )
    least = usual_leaf(records) if leaf is None else leaf
    if least < 1 or draws < 0:
        raise ParameterError("leaf= is at least 1 and draws= at least 0.", hint="Leave them out for the usual ones.")
    binned = [_bins(one) for one in columns]
    bins = np.ascontiguousarray(np.stack([found for found, _ in binned]))
    sizes = np.array([size for _, size in binned], np.int64)
    ordered = np.array([one.ordered for one in columns], np.bool_)
    source = np.repeat(np.array([1, 0], np.uint8), [originals, records - originals])
    own = np.ones(records) if weight is None else _scaled(weight, originals, records)
    there = own > 0  # whoever stands for nobody is in no leaf
    bins, source, own = np.ascontiguousarray(bins[:, there]), source[there], own[there]
    total, leaves, gains = _grown(bins, sizes, ordered, source, own, least)
    draw = np.random.default_rng(seed)
    mixed = tuple(_grown(bins, sizes, ordered, draw.permutation(source), own, least)[0] for _ in range(draws))
    share = originals / records
    separated = total > 0.999 * records * share * (1 - share)
    score = Propensity(total, records, leaves - 1, share, separated, "tree", mixed)
    whole = gains.sum() or 1.0
    return TreePropensity(score, dict(zip((c.name for c in columns), (gains / whole).tolist(), strict=True)), least)


def _scaled(weight: Floats, originals: int, records: int) -> Floats:
    values = np.asarray(weight, np.float64)
    if values.shape != (records,) or not np.all(np.isfinite(values) & (values >= 0)):
        raise ParameterError(
            "Every record of both files needs a weight from 0 on.", hint="Correct the weights, or leave them out."
        )
    return np.concatenate([mean_one(values[:originals]), mean_one(values[originals:])])


def _grown(
    bins: Bytes, sizes: Ints, ordered: npt.NDArray[np.bool_], source: Bytes, weight: Floats, leaf: int
) -> tuple[float, int, Floats]:
    from discreet.measures.propensity_kernels import grown

    total, gains = np.zeros(1), np.zeros(len(sizes))
    leaves = grown(bins, sizes, ordered, source, weight, leaf, GAIN, total, gains)
    return float(total[0]), int(leaves), gains


def _bins(column: TreeColumn) -> tuple[Bytes, int]:
    """Classes of a column as bytes, and how many there are; 0 is for gaps of numbers and for rare codes."""
    values = column.values
    if column.ordered:
        known = values[~np.isnan(values)]
        levels = np.unique(known)
        if len(levels) > BINS:
            levels = np.unique(np.quantile(known, np.linspace(0, 1, BINS + 1)[1:], method="inverted_cdf"))
        found = np.searchsorted(levels, values) + 1
        found[np.isnan(values)] = 0
        return found.astype(np.uint8), len(levels) + 1
    counts = np.bincount(values.astype(np.int64))
    place = np.zeros(len(counts), np.uint8)
    common = np.argsort(-counts, kind="stable")[:BINS]
    place[common] = np.arange(1, len(common) + 1)
    return place[values.astype(np.int64)], len(common) + 1
