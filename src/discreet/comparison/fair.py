"""The fair comparison (Langsrud 2021) of a release of counts: what a well-informed reader rebuilds of its inner cells.

Cells that a release shows become an additive table (by least squares where they do not add up), and this one the
expected frequencies of the finest cross-classification. Risk and loss are those of these frequencies, so that methods
as different as cell keys, rounding and suppression meet on equal terms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.errors import NeedsError, ParameterError, counted, unknown_name
from discreet.measures.fair import Fair, fair_comparison
from discreet.model.arrays import Bools, Codes, Floats, Ints
from discreet.model.inner import inner_codes
from discreet.model.public import in_rows_of
from discreet.model.release import Release
from discreet.model.tableset import TableSet
from discreet.relations import System
from discreet.report.riskmap import Axis
from discreet.solve.additive import ZeroRule
from discreet.tables.perturb.cover import cover_of_tables
from discreet.tables.perturb.inner_counts import codes_in, inner_counts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_INNER = 5_000_000
RULES = ("nnls", "cascade", "negatives_only")


@dataclass(frozen=True)
class FairRisk:
    """An intruder who knows all variables of a person but one, and guesses that one from the published tables.

    Parameters
    ----------
    guess
        The variable that is guessed; the others of the tables are known.
    beta
        Weight of recall against precision.
    rule
        How fits below zero are avoided, see :func:`discreet.solve.additive.restored`: ``"nnls"`` is the exact optimum
        and the fastest on large tables, ``"cascade"`` the rule of the published study.
    by_units
        Count persons instead of combinations of known variables.

    Examples
    --------
    >>> FairRisk("party")
    FairRisk(guess='party', beta=0.5, rule='nnls', by_units=False)
    """

    guess: str
    beta: float = 0.5
    rule: ZeroRule = "nnls"
    by_units: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.beta < float("inf"):
            raise ParameterError(f"beta={self.beta!r} must be greater than zero.", hint="0.5 weighs precision more.")
        if self.rule not in RULES:
            raise ParameterError(unknown_name("rule", str(self.rule), RULES))


class FairColumn(NamedTuple):
    """A measure of the fair comparison on the map."""

    axis: Axis
    of: Callable[[Fair], float]


FAIR: tuple[FairColumn, ...] = (
    FairColumn(Axis("fair_risk", "certain guesses from expected inner cells, precision and recall weighted", "risk"),
               lambda fair: fair.risk.risk),
    FairColumn(Axis("fair_self", "certain guesses by somebody who takes himself out", "risk"),
               lambda fair: fair.self_risk.risk),
    FairColumn(Axis("fair_precision", "certain guesses that are right", "risk"), lambda fair: fair.risk.precision),
    FairColumn(Axis("fair_recall", "true disclosures that are guessed", "risk"), lambda fair: fair.risk.recall),
    FairColumn(Axis("fair_loss", "Hellinger loss of published cells, additivity restored", "loss"),
               lambda fair: 1 - fair.restored_utility),
    FairColumn(Axis("fair_inner", "Hellinger loss of expected inner cells", "loss"),
               lambda fair: 1 - fair.inner_utility),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Inner:
    """Inner cells of a set of tables, zeros included, and which published cells contain them.

    ``true`` has one row a category that is guessed. ``place`` says which published cell every cell of each table is.
    """

    risk: FairRisk
    true: Floats
    cover: csr_array
    place: tuple[Ints, ...]

    @classmethod
    def of(cls, tables: TableSet, risk: FairRisk) -> Inner:
        """The inner cells of tables of counts."""
        if any(table.spec.value is not None for table in tables):
            raise NeedsError("The fair comparison is of counts, and a table holds values.", hint="Leave fair= out.")
        listing = inner_codes(tables)
        if risk.guess not in listing:
            raise ParameterError(unknown_name("variable", risk.guess, listing, "the tables"))
        if len(listing) < 2:
            raise NeedsError("The fair comparison needs a variable to guess and one that is known.")
        order = [risk.guess, *(name for name in listing if name != risk.guess)]
        sizes = [len(listing[name]) for name in order]
        if prod(sizes) > MOST_INNER:
            raise NeedsError(
                f"The cross-classification has {counted(prod(sizes), 'inner cell')}.",
                hint=f"Compare tables of fewer variables or codes, up to {MOST_INNER:,}.",
            )
        codes, count = inner_counts(tables, listing, "The fair comparison")
        sorted_codes = codes[:, [list(listing).index(name) for name in order]]
        true = np.zeros(prod(sizes))
        np.add.at(true, np.ravel_multi_index(tuple(sorted_codes.T), sizes), count)
        every: Codes = np.column_stack(np.unravel_index(np.arange(prod(sizes)), sizes)).astype(np.int32)
        own = {name: listing[name] for name in order}
        cover = cover_of_tables([codes_in(every, own, table) for table in tables])
        place = []
        for table, cells, number in zip(tables, cover.cells, cover.place, strict=True):
            at = np.minimum(np.searchsorted(cells, table.keys), len(cells) - 1)
            if np.any(cells[at] != table.keys):
                raise NeedsError(f"Table {table.name!r} has cells that hold no base codes.", hint="Leave them out.")
            place.append(number[at])
        return cls(risk, true.reshape(sizes[0], -1), cover.matrix(), tuple(place))

    def compared(self, release: Release, system: System) -> Fair:
        """Risk and utility of a release of the tables; cells that are withheld are rebuilt from the others."""
        size = self.cover.shape[1]
        published, shown = np.zeros(size), np.ones(size, np.bool_)
        tables = release.custodian.tables
        for at, table, mine in zip(self.place, tables, release.public.tables, strict=True):
            public = in_rows_of(table, mine)
            published[at] = np.where(public.shown, public.value, 0) / 10.0**public.decimals
            shown[at] = public.shown | public.empty
        options: dict[str, Any] = {"beta": self.risk.beta, "by_units": self.risk.by_units, "rule": self.risk.rule}
        return fair_comparison(
            self.true, published, self.cover, shown=shown, additive=_adds_up(release, system, shown), **options
        )


def _adds_up(release: Release, system: System, shown: Bools) -> bool:
    """Whether what is published adds up, so that nothing needs to be restored."""
    if not shown.all() or release.custodian.published is None:
        return True
    value = np.zeros(len(system), np.int64)
    for cells, published in zip(system.of, release.custodian.published, strict=False):
        value[cells] = published
    return not np.any(system.matrix @ value)


def fair_columns(fair: Fair) -> dict[str, float]:
    """All measures of the fair comparison by name."""
    return {column.axis.name: column.of(fair) for column in FAIR}
