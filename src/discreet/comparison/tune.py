"""Methods tuned to the same risk, and then compared by what they cost (Langsrud 2021)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any, TypeVar

from discreet.comparison.compare import assessed_tables, compare
from discreet.comparison.naming import method_name
from discreet.comparison.result import Comparison
from discreet.comparison.writing import DONE
from discreet.errors import ParameterError, listed, unknown_name
from discreet.methods.base import Method, RecordMethod, TablePublisher
from discreet.model.microdata import Microdata
from discreet.model.spec import TableSpec
from discreet.report.riskmap import Point
from discreet.rules.base import Rule
from discreet.watching import watched

AnyMethod = TypeVar("AnyMethod", bound=Method)


def family(method: AnyMethod, **values: Iterable[Any]) -> list[AnyMethod]:
    """One method with parameters that vary: all combinations of their values, the last parameter varying fastest.

    Examples
    --------
    >>> import discreet as ds
    >>> [one.base for one in ds.family(ds.Round(base=3, levels=False), base=[3, 5, 10])]
    [3, 5, 10]
    >>> several = ds.family(ds.Microaggregate("pay"), k=[3, 5], algorithm=["mdav", "search"])
    >>> [(one.k, one.algorithm) for one in several]
    [(3, 'mdav'), (3, 'search'), (5, 'mdav'), (5, 'search')]
    """
    if not values:
        raise ParameterError(
            "A family varies at least one parameter.", hint="For example family(ds.Round(base=3), base=[3, 5])"
        )
    names = [field.name for field in fields(method)]
    for name in values:
        if name not in names:
            raise ParameterError(unknown_name("parameter", name, names, type(method).__name__))
    return [replace(method, **dict(zip(values, chosen, strict=True))) for chosen in product(*values.values())]


@dataclass(frozen=True, eq=False, repr=False)
class Tuned:
    """Each family at the parameter that keeps the risk and loses least. For the custodian's eyes.

    Parameters
    ----------
    chosen
        Family to the name of its method; None where none of it keeps the risk.
    why
        What is to be said of families without a method.
    tried
        All that was run, as a :class:`Comparison`.
    most_risk, risk, loss
        What was asked for.
    """

    chosen: Mapping[str, str | None]
    why: Mapping[str, str]
    tried: Comparison
    most_risk: float
    risk: str
    loss: str

    @property
    def comparison(self) -> Comparison:
        """The chosen methods only, at about equal risk: frame, map and page compare what they cost."""
        names = {name for name in self.chosen.values() if name is not None}
        rows = tuple(row for row in self.tried.rows if row["method"] in names)
        return Comparison(rows, {n: s for n, s in self.tried.seconds.items() if n in names}, self.tried.axes)

    @property
    def best(self) -> str | None:
        """The family whose method loses least; None where no family keeps the risk."""
        points = {point.name: point for point in self.tried.risk_map.points}
        there = {name: points[method] for name, method in self.chosen.items() if method is not None}
        return min(there, key=lambda name: there[name].spots[self.loss].mean, default=None)

    def summary(self) -> str:
        """A line a family, least loss first, and what was left over."""
        found = self.tried.risk_map
        points = {point.name: point for point in found.points}
        axes = found.axis(self.risk, "risk"), found.axis(self.loss, "loss")
        lines = [f"BEWARE: {flag}" for flag in self.tried.flags]
        lines.append(f"{self.risk} at most {axes[0].text(self.most_risk)}, by {self.loss}:")
        there = [(name, points[method]) for name, method in self.chosen.items() if method is not None]
        for name, point in sorted(there, key=lambda pair: pair[1].spots[self.loss].mean):
            said = ", ".join(f"{axis.name} {axis.text(point.spots[axis.name].mean)}" for axis in axes)
            lines.append(f"{name}: {point.name}: {said}")
        return "\n".join([*lines, *(f"{name}: {why}" for name, why in self.why.items())])

    __repr__ = summary


@watched
def tune(
    data: Any,
    families: Mapping[str, Sequence[TablePublisher | RecordMethod]],
    *,
    most_risk: float,
    risk: str = "risk",
    loss: str = "relative",
    scan: bool = False,
    tables: Sequence[TableSpec] | None = None,
    rules: Sequence[Rule] = (),
    **options: Any,
) -> Tuned:
    """Bring each family of methods to the same risk, and compare what they then cost.

    Parameters
    ----------
    data, tables, rules
        As in :func:`compare`: tables, or records with methods for records.
    families
        Name to methods that differ in one parameter, from the least protection to the most; see :func:`family`. Where
        several parameters vary, say ``scan=True``.
    most_risk
        The mean risk over the runs must not be above it.
    risk, loss
        Measures of :func:`compare`, such as ``"fair_risk"`` and ``"fair_loss"`` (with ``fair=``).
    scan
        Try all methods of a family. Otherwise halves are tried, which takes the risk to fall along the family; where
        it does not, the choice still keeps the risk, and another might lose less. Where the last method of a family
        does not keep the risk, all are tried.
    **options
        As in :func:`compare`: ``runs``, ``seed``, ``fair``, ``utility`` and so on.

    Returns
    -------
    Tuned
        With ``chosen``, ``best``, ``summary()``, ``comparison`` of the chosen methods and everything ``tried``.

    Notes
    -----
    Source: Langsrud (2021). Of the methods that were tried and keep the risk, the one that loses least is
    chosen; the risk of the choice is measured and never interpolated.

    Examples
    --------
    >>> import discreet as ds
    >>> table = ds.examples.small_table().assess(ds.PPercent(10))
    >>> rounding = ds.family(ds.Round(base=2, levels=False), base=[5, 10, 19])
    >>> found = ds.tune(table, {"rounding": rounding, "adjusting": [ds.Adjust()]}, most_risk=0.0)
    >>> found.chosen["rounding"], found.best
    ('Round(base=19, levels=False)', 'adjusting')
    """
    named = _named(families)
    if isinstance(most_risk, bool) or not isinstance(most_risk, int | float) or not most_risk >= 0:
        raise ParameterError(f"most_risk={most_risk!r} is not allowed.", hint="Give a number of at least 0.")
    of_records = isinstance(data, Microdata) and not tables
    whole = data if of_records else assessed_tables(data, tables, rules)
    searches = {name: _FamilySearch(methods, scan) for name, methods in named.items()}
    rows: list[Mapping[str, Any]] = []
    seconds: dict[str, float] = {}
    axes = None
    while asked := {name: search.next() for name, search in searches.items() if search.next()}:
        once = {method_name(m): m for methods in asked.values() for m in methods}
        found = compare(whole, once, **options)
        axes = found.axes
        for name, side in ((risk, "risk"), (loss, "loss")):
            found.risk_map.axis(name, side)
        rows += found.rows
        seconds |= found.seconds
        points = {point.name: point for point in found.risk_map.points}
        for name, methods in asked.items():
            for method in methods:
                searches[name].hear(method, points[method_name(method)], risk, loss, most_risk)
    assert axes is not None
    chosen = {name: search.choice(risk, loss, most_risk) for name, search in searches.items()}
    why = {name: searches[name].why(risk) for name, choice in chosen.items() if choice is None}
    return Tuned(chosen, why, Comparison(tuple(rows), seconds, axes), most_risk, risk, loss)


def _named(families: Any) -> dict[str, list[TablePublisher | RecordMethod]]:
    hint = 'For example {"rounding": ds.family(ds.Round(base=3), base=[3, 5, 10])}.'
    if not isinstance(families, Mapping) or not families:
        raise ParameterError("There are no families to tune.", hint=hint)
    named = {str(name): list(methods) for name, methods in families.items()}
    for name, methods in named.items():
        if not methods or not all(isinstance(method, TablePublisher | RecordMethod) for method in methods):
            raise ParameterError(f"Family {name!r} must list methods.", hint=hint)
    names = [method_name(method) for methods in named.values() for method in methods]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ParameterError(f"Several methods are called {listed(twice, 3)}.", hint="Name each method once.")
    return named


class _FamilySearch:
    """The search along one family: which method to try next, and what was found of those tried."""

    def __init__(self, methods: list[TablePublisher | RecordMethod], scan: bool) -> None:
        self.methods = methods
        self.points: dict[int, Point] = {}
        self.all_at_once = scan
        # The first method that keeps the risk lies in (low, high]; the last one is tried first.
        self.low, self.high = -1, len(methods) - 1
        self.over = False

    def next(self) -> list[TablePublisher | RecordMethod]:
        """Methods to try now; nothing when the search is over."""
        if self.over:
            return []
        if self.all_at_once:
            return [method for at, method in enumerate(self.methods) if at not in self.points]
        if not self.points:
            return [self.methods[self.high]]
        return [self.methods[(self.low + self.high) // 2]]

    def hear(self, method: TablePublisher | RecordMethod, point: Point, risk: str, loss: str, most_risk: float) -> None:
        """Take note of what a method came to."""
        at = self.methods.index(method)
        self.points[at] = point
        there = point.status == DONE and risk in point.spots and loss in point.spots
        if self.all_at_once:
            pass
        elif there and point.spots[risk].mean <= most_risk:
            self.high = at
        elif at == len(self.methods) - 1:
            self.all_at_once = True
        else:
            self.low = at
        every = len(self.points) == len(self.methods)
        self.over = every if self.all_at_once else self.high - self.low <= 1

    def choice(self, risk: str, loss: str, most_risk: float) -> str | None:
        """The method that keeps the risk and loses least."""
        good = [p for p in self.points.values() if p.status == DONE and risk in p.spots and loss in p.spots]
        good = [point for point in good if point.spots[risk].mean <= most_risk]
        best = min(good, key=lambda point: (point.spots[loss].mean, point.name), default=None)
        return None if best is None else best.name

    def why(self, risk: str) -> str:
        """Why no method of the family was chosen."""
        risks = [p.spots[risk].mean for p in self.points.values() if p.status == DONE and risk in p.spots]
        if risks:
            return f"none keeps the risk; the least found is {min(risks):.4g}"
        first = next(iter(self.points.values()))
        return first.status if first.status != DONE else f"{risk} was not measured"
