"""Fair comparison of methods: what a well-informed reader rebuilds from any published table (Langsrud 2021).

Published numbers, additive or not, become the expected frequencies of the finest cross-classification; risk and utility
are computed from these, so that methods as different as cell keys and small counts meet on equal terms. One number is
no full assessment of risk.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.errors import InputError, counted
from discreet.measures.attribute import AttributeRisk, attribute_risk
from discreet.measures.loss import hellinger_utility
from discreet.model.arrays import Bools, Floats
from discreet.solve.additive import Restored, ZeroRule, expected_inner, restored

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Fair(NamedTuple):
    """Utility of published, restored and inner numbers; risk without and with the intruder taking himself out.

    ``restored`` adds up and is not negative; ``inner`` are expected frequencies, shaped as the original inner table.
    ``rule`` is the one that was used in the end.
    """

    utility: float
    restored_utility: float
    inner_utility: float
    risk: AttributeRisk
    self_risk: AttributeRisk
    restored: Floats
    inner: Floats
    rule: ZeroRule


class FairRuns(NamedTuple):
    """Means over several runs, and between which values the middle 95 per cent lie."""

    runs: int
    utility: tuple[float, float, float]
    restored_utility: tuple[float, float, float]
    risk: tuple[float, float, float]
    self_risk: tuple[float, float, float]


def fair_comparison(
    original: Floats,
    published: Floats,
    cover: csr_array,
    *,
    rule: ZeroRule = "cascade",
    beta: float = 0.5,
    by_units: bool = False,
    shown: Bools | None = None,
    additive: bool = False,
) -> Fair:
    """Utility and risk of a published table through its expected inner frequencies.

    Parameters
    ----------
    original
        True inner counts with all zero cells of the cross-classification: one row a category of the variable that an
        intruder guesses, one column a combination of those that he knows.
    published
        Published numbers.
    cover
        Inner cells (in the order of ``original.ravel()``) by published cells, 1 where one is part of the other.
    rule
        How negative fits become zero, see :func:`discreet.solve.additive.restored`. Where no inner table adds up to the
        result, ``"nnls"`` is used instead, and the answer says so.
    beta
        Weight of recall against precision.
    by_units
        Count persons instead of combinations of known variables.
    shown
        Which published cells are shown; what is withheld is rebuilt from the others. All when left out.
    additive
        The numbers are known to add up, so that nothing is to be restored.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> cover = csr_array(np.hstack([np.eye(4), np.ones((4, 1))]))
    >>> true = np.array([[2.0, 0.0], [0.0, 3.0]])
    >>> fair_comparison(true, np.array([2.0, 0.0, 0.0, 3.0, 5.0]), cover).utility
    1.0
    """
    true = np.asarray(original, np.float64)
    values = np.asarray(published, np.float64)
    if true.ndim != 2 or true.size != cover.shape[0]:
        raise InputError(
            f"The inner table has {counted(true.size, 'cell')}, the matrix {counted(cover.shape[0], 'inner cell')}.",
            hint="Give one row a category of the guessed variable, with all zero cells of the cross-classification.",
        )
    if not np.isfinite(true).all() or true.min(initial=0.0) < 0:
        raise InputError("The true inner counts must be numbers of at least zero.", hint="Give counts, zeros included.")
    if values.min(initial=0.0) < 0:
        raise InputError("Published frequencies are at least zero.", hint="Give counts.")
    if shown is not None and len(shown) != len(values):
        raise InputError(
            f"{counted(len(values), 'published cell', 'are')} given, and for {len(shown)} whether they are shown.",
            hint="Say it of every published cell.",
        )
    seen = np.ones(len(values), np.bool_) if shown is None else shown
    told, parts = (values, cover) if seen.all() else (values[seen], csr_columns(cover, seen))
    try:
        fit = Restored(told, np.ones(cover.shape[0], np.bool_), 0) if additive else restored(told, parts, rule=rule)
        inner = expected_inner(fit.value, parts, fit.possible)
    except InputError:
        if rule == "nnls" and not additive:
            raise
        return fair_comparison(original, published, cover, rule="nnls", beta=beta, by_units=by_units, shown=shown)
    table = inner.reshape(true.shape)
    rebuilt = fit.value if seen.all() else cover.T @ inner
    truth = cover.T @ true.ravel()
    risk, self_risk = (
        attribute_risk(true, table, beta=beta, self_removal=removed, by_units=by_units) for removed in (False, True)
    )
    return Fair(
        hellinger_utility(truth, np.where(seen, values, 0.0)),
        hellinger_utility(truth, rebuilt),
        hellinger_utility(true, table),
        risk,
        self_risk,
        rebuilt,
        table,
        rule,
    )


def csr_columns(cover: csr_array, chosen: Bools) -> csr_array:
    """Some published cells of a cover."""
    return cover.tocsc()[:, np.flatnonzero(chosen)].tocsr()


def fair_over_runs(
    original: Floats,
    runs: Iterable[Floats],
    cover: csr_array,
    *,
    rule: ZeroRule = "cascade",
    beta: float = 0.5,
    by_units: bool = False,
) -> FairRuns:
    """The same over several published versions of a table, one a key: means with intervals."""
    found = [fair_comparison(original, one, cover, rule=rule, beta=beta, by_units=by_units) for one in runs]
    if not found:
        raise InputError("There is no published version of the table.", hint="Give at least one.")

    def middle(values: list[float]) -> tuple[float, float, float]:
        low, high = np.percentile(values, [2.5, 97.5])
        return float(np.mean(values)), float(low), float(high)

    return FairRuns(
        len(found),
        middle([f.utility for f in found]),
        middle([f.restored_utility for f in found]),
        middle([f.risk.risk for f in found]),
        middle([f.self_risk.risk for f in found]),
    )
