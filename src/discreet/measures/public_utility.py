"""What everybody may be told of the utility of a released file: how much changed, in classes, and no original value.

A change in per cent beside a released value gives the original value away; a class of changes does not. Groups of few
records are left out, and so are inverse squares, which are differences in another form, and groups and terms that only
one file has: their names are codes of the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError, counted
from discreet.files.frames import to_frame
from discreet.model.display import text_of_columns
from discreet.model.notebook import items, listing, page, sentence

if TYPE_CHECKING:
    from discreet.measures.utility_result import RecordUtility

PERCENT = ((1.0, "up to 1 %"), (5.0, "1 to 5 %"), (10.0, "5 to 10 %"), (25.0, "10 to 25 %"))
OVERLAP = ((0.5, "below 0.5"), (0.8, "0.5 to 0.8"), (0.95, "0.8 to 0.95"))
DISTANCE = ((0.01, "up to 0.01"), (0.05, "0.01 to 0.05"), (0.1, "0.05 to 0.1"), (0.25, "0.1 to 0.25"))
RATIO = ((1.0, "no more than two samples"), (3.0, "1 to 3 times"), (10.0, "3 to 10 times"))


@dataclass(frozen=True)
class PublicChange:
    """One statement: what it is about, and the class of its change."""

    part: str
    what: str
    group: str
    change: str


@dataclass(frozen=True, repr=False)
class PublicUtility:
    """How much analysts lose, in classes. It holds no value and no statistic of the original.

    Parameters
    ----------
    lines
        What changed, and how much.
    left_out
        How many statements about small groups were left out.
    notes
        What readers should know.
    """

    lines: tuple[PublicChange, ...]
    left_out: int
    notes: tuple[str, ...] = ()

    def columns(self) -> dict[str, list[Any]]:
        """Plain columns."""
        return {name: [getattr(line, name) for line in self.lines] for name in ("part", "what", "group", "change")}

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """All lines as a data frame."""
        return to_frame(self.columns(), backend)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"lines": [vars(line) for line in self.lines], "left_out": self.left_out, "notes": list(self.notes)}

    def summary(self) -> str:
        """All lines as text."""
        columns = self.columns()
        lines = ["What analysts lose, in classes", "", text_of_columns(columns, len(self.lines))]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return page("What analysts lose, in classes", (), listing(self.columns()), items("Notes", self.notes))

    def to_html(self) -> str:
        """A page that stands alone."""
        from discreet.measures.utility_page import standing_page

        return standing_page(
            "What analysts lose", [sentence("Changes in classes; no original value."), self._repr_html_()]
        )


def public_utility(found: RecordUtility, least: int = 10) -> PublicUtility:
    """The public part of the utility of a file.

    Parameters
    ----------
    found
        The utility, for the custodian.
    least
        Groups with fewer original records are left out; at least 3.
    """
    if isinstance(least, bool) or not isinstance(least, int) or least < 3:
        raise ParameterError(f"least={least!r} is not allowed.", hint="Give a whole number of at least 3.")
    large = [one for one in found.statistics if one.records >= least and one.flag != "undefined"]
    lines = [
        PublicChange("statistics", f"{one.statistic} of {one.quantity}", one.group, _percent(one.percent, one.flag))
        for one in large
    ]
    for model in found.models:
        if model.failed:
            lines.append(PublicChange("models", model.model, "", "cannot be fitted"))
        both = [line for line in model.lines if not np.isnan(line.overlap)]
        lines += [PublicChange("models", model.model, line.term, _overlap(line.overlap)) for line in both]
    lines += [
        PublicChange("tables", one.table, "", _class(one.variation, DISTANCE, "above 0.25")) for one in found.tables
    ]
    lines += [
        PublicChange("columns", one.column, "", _class(one.variation, DISTANCE, "above 0.25")) for one in found.margins
    ]
    for one in found.pairs:
        if not np.isnan(one.difference):
            change = _class(abs(one.difference), DISTANCE, "above 0.25")
            lines.append(PublicChange("pairs", f"{one.measure} of {one.first} and {one.second}", "", change))
    for score in (found.logistic, None if found.tree is None else found.tree.score):
        if score is not None:
            change = _class(score.ratio, RATIO, "above 10 times")
            lines.append(PublicChange("propensity", f"{score.model}, beside two samples", "", change))
    gone = len(found.statistics) - len(large)
    why = f"the group has fewer than {least} original records, or is in one file only"
    note = f"{counted(gone, 'statistic', 'are')} left out: {why}."
    return PublicUtility(tuple(lines), gone, (note,) if gone else ())


def _class(number: float, classes: Sequence[tuple[float, str]], beyond: str) -> str:
    if np.isnan(number):
        return "not defined"
    return next((words for end, words in classes if number <= end), beyond)


def _percent(percent: float, flag: str) -> str:
    """A class; that nothing changed is no class of its own, because it would give a statistic exactly."""
    if np.isnan(percent):
        return PERCENT[0][1] if flag == "same" else "not in per cent"
    return _class(abs(percent), PERCENT, "above 25 %")


def _overlap(overlap: float) -> str:
    return _class(overlap, OVERLAP, "above 0.95")
