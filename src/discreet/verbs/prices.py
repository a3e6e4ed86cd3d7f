"""What each promise of a suppressed release costs: the same tables, protected with weaker and stronger promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.errors import NeedsError, ProtectionError
from discreet.files.frames import to_frame as frame_of
from discreet.methods.base import publisher_from_record
from discreet.model.custodian import TableCustodian
from discreet.model.notebook import listing, page, sentence
from discreet.model.release import Release
from discreet.model.table import CellStatus, Table
from discreet.progress import steps
from discreet.tables.suppress.method import Suppress
from discreet.verbs.protect import protect_tables

LARGE = 20_000
"""Above so many cells patterns are completed in the cheapest way: prices are then upper bounds."""
PROMISES: Mapping[str, Mapping[str, Any]] = {
    "outsiders cannot work out an unsafe cell exactly": {"insiders": None, "coalitions": False, "joint": False},
    "outsiders know it no closer than its level": {"insiders": None, "coalitions": False, "joint": False},
    "no contributor works it out exactly": {"insiders": "nonzero", "coalitions": False, "joint": False},
    "sums of withheld cells are safe, too": {"insiders": "nonzero", "coalitions": False, "joint": True},
    "no contributor knows it closer than its level": {"insiders": "full", "coalitions": False, "joint": True},
}
"""Promises in their order, each with all before it, and the options of :class:`Suppress` that make them."""
EXACT_ONLY = next(iter(PROMISES))
MOST_IN_REPORT = 2_000
"""Reports have the price list of tables of up to so many cells, which takes seconds."""


@dataclass(frozen=True)
class Price:
    """What one promise costs, with all before it.

    Parameters
    ----------
    promise
        The promise.
    withheld, besides
        Cells withheld, and those of them that are safe themselves; ``None`` where the promise cannot be kept.
    share
        Share of the value of all cells that is withheld.
    here
        Whether it is what the release promises.
    """

    promise: str
    withheld: int | None
    besides: int | None
    share: float | None
    here: bool


@dataclass(frozen=True, repr=False)
class PriceList:
    """What the promises of a release cost; prices of large tables are upper bounds (``at_most``).

    Examples
    --------
    >>> import discreet as ds
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> [price.withheld for price in release.prices().prices]
    [4, 4, 4, 4, 4]
    """

    prices: tuple[Price, ...]
    at_most: bool

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """One row per promise."""
        names = ("promise", "withheld", "besides", "share", "here")
        return frame_of({name: [getattr(price, name) for price in self.prices] for name in names}, backend)

    def _repr_html_(self) -> str:
        most = "at most " if self.at_most else ""
        columns = {
            "promise": [price.promise for price in self.prices],
            "withheld": [
                "cannot be kept" if price.withheld is None else f"{most}{price.withheld:,}" for price in self.prices
            ],
            "besides": ["" if price.besides is None else f"{price.besides:,}" for price in self.prices],
            "value": ["" if price.share is None else f"{price.share:.1%}" for price in self.prices],
            "": ["this release" if price.here else "" for price in self.prices],
        }
        return page(
            "What each promise costs", [], listing(columns), sentence("Each promise holds with those above it.")
        )

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        most = "at most " if self.at_most else ""
        lines = [f"{'promise (each with those above it)':50}{'withheld':>16}{'besides':>10}{'value':>9}"]
        for price in self.prices:
            mark = "  <- this release" if price.here else ""
            if price.withheld is None or price.share is None:
                lines.append(f"{price.promise:50}{'cannot be kept':>16}{mark}")
            else:
                figure = f"{most}{price.withheld:,}"
                lines.append(f"{price.promise:50}{figure:>16}{price.besides:>10,}{price.share:>9.1%}{mark}")
        return "\n".join(lines)


def prices(release: Release[TableCustodian], *, effort: int | None = None) -> PriceList:
    """What each promise of a suppressed release costs: weaker and stronger ones are tried on the same tables.

    Parameters
    ----------
    release
        The release.
    effort
        How many linear programs may be spent on each pattern; as many as the release was allowed where left out, none
        for tables of more than 20,000 cells.

    Returns
    -------
    PriceList
        Cells withheld and the share of their value, promise by promise.

    Examples
    --------
    >>> import discreet as ds
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> print(release.prices())  # doctest: +NORMALIZE_WHITESPACE
    promise (each with those above it)                        withheld   besides    value
    outsiders cannot work out an unsafe cell exactly                 4         3    11.7%
    outsiders know it no closer than its level                       4         3    11.7%
    no contributor works it out exactly                              4         3    11.7%
    sums of withheld cells are safe, too                             4         3    11.7%  <- this release
    no contributor knows it closer than its level                    4         3    11.7%
    """
    method = _suppressed(release)
    large = sum(map(len, release.custodian.tables)) > LARGE
    spent = effort if effort is not None else 0 if large else method.effort
    found = []
    for promise in steps("prices", list(PROMISES)):
        options = PROMISES[promise]
        here = promise != EXACT_ONLY and all(getattr(method, name) == value for name, value in options.items())
        status = (
            release.custodian.status
            if here
            else _tried(release, replace(method, **options, effort=spent), exact_only=promise == EXACT_ONLY)
        )
        found.append(_price(release, promise, status, here))
    if not any(price.here for price in found):
        found.append(_price(release, "what this release promises", release.custodian.status, True))
    return PriceList(tuple(found), at_most=spent != method.effort)


def prices_for_report(release: Release[TableCustodian]) -> PriceList | None:
    """The price list of tables that are small enough for it to take little time; nothing for altered ones."""
    suppressed = release.custodian.log["protect"][-1]["method"] == Suppress.kind
    return prices(release) if suppressed and sum(map(len, release.custodian.tables)) <= MOST_IN_REPORT else None


def _suppressed(release: Release[Any]) -> Suppress:
    if isinstance(release.custodian, TableCustodian):
        method = publisher_from_record(release.custodian.log["protect"][-1])
        if isinstance(method, Suppress):
            return method
    raise NeedsError(
        "Only tables with withheld cells have a price list.", hint="Protect the tables with ds.Suppress() first."
    )


def _tried(release: Release[TableCustodian], method: Suppress, exact_only: bool) -> tuple[Any, ...] | None:
    """Statuses with other promises; nothing where these cannot be kept."""
    whole = release.custodian.tables
    if exact_only:
        whole = whole.replaced([_with_least_levels(table) for table in whole])
    try:
        return protect_tables(whole, method, release.custodian.already).custodian.status
    except ProtectionError:
        return None


def _with_least_levels(table: Table) -> Table:
    """The table with levels of one unit: an unsafe cell must not be known exactly, that is all."""
    assert table.assessment is not None
    found = table.assessment
    least = {name: np.minimum(getattr(found, name), 1) for name in ("lower", "upper", "sliding")}
    return table.with_(assessment=replace(found, **least))


def _price(release: Release[TableCustodian], promise: str, status: tuple[Any, ...] | None, here: bool) -> Price:
    if status is None:
        return Price(promise, None, None, None, here)
    withheld = besides = 0
    hidden = whole = 0.0
    for table, mine in zip(release.custodian.tables, status, strict=True):
        besides += int((mine == CellStatus.SECONDARY).sum())
        gone = (mine == CellStatus.SECONDARY) | (mine == CellStatus.UNSAFE)
        withheld += int(gone.sum())
        size = np.abs(table.value.astype(np.float64)) * 10.0**-table.decimals
        hidden, whole = hidden + float(size[gone].sum()), whole + float(size.sum())
    return Price(promise, withheld, besides, hidden / whole if whole else 0.0, here)
