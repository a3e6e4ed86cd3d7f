"""What a comparison of methods found, as frame, text, image and page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np

from discreet.comparison.measured import COLUMNS
from discreet.comparison.writing import DONE, write_new
from discreet.errors import NeedsError, ParameterError, counted
from discreet.files.frames import to_frame
from discreet.model.notebook import Chip, items, listing, page, sentence
from discreet.report.compared import compared_page
from discreet.report.page import standing_alone
from discreet.report.riskmap import DEFAULT, Axis, Point, RiskMap, Spot

ENDS = (2.5, 97.5)
"""Percentiles of the runs between which the interval of a measure lies."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What methods did to the same tables. For the custodian's eyes.

    Parameters
    ----------
    rows
        One mapping a method and run: ``method``, ``run``, ``status``, ``flag`` and all measures.
    seconds
        How long the runs of each method took, one after the other, by the clock.
    axes
        The measures, each a column of the rows.
    """

    rows: tuple[Mapping[str, Any], ...]
    seconds: Mapping[str, float]
    axes: tuple[Axis, ...] = tuple(column.axis for column in COLUMNS)

    @property
    def flags(self) -> tuple[str, ...]:
        """What to beware of: releases whose evidence does not verify."""
        return tuple(f"{row['method']}: {row['flag']}" for row in self.rows if row["flag"])

    @property
    def notes(self) -> tuple[str, ...]:
        """Measures that could not be taken, and why."""
        return tuple(dict.fromkeys(f"{row['method']}: {row['note']}" for row in self.rows if row["note"]))

    def to_frame(self, backend: str = "pyarrow", *, each_run: bool = False) -> Any:
        """One row per method: mean of each measure, and the ends between which 95 % of its runs lie.

        ``each_run=True`` gives one row per method and run instead.
        """
        rows = self.rows if each_run else [_flat(point, self.axes) for point in self.risk_map.points]
        return to_frame({name: [row[name] for row in rows] for name in rows[0]}, backend)

    @property
    def risk_map(self) -> RiskMap:
        """The methods as points between risks and losses."""
        groups: dict[str, list[Mapping[str, Any]]] = {}
        for row in self.rows:
            groups.setdefault(str(row["method"]), []).append(row)
        points = tuple(_point(name, rows, self.axes) for name, rows in groups.items())
        return RiskMap(self.axes, points)

    def recommended(self, most_risk: float, risk: str | None = None, loss: str | None = None) -> str | None:
        """The method with the least loss among those whose mean risk is at most ``most_risk``; None without one."""
        best = self.risk_map.recommended(most_risk, risk, loss)
        return None if best is None else best.name

    def frontier(self, risk: str | None = None, loss: str | None = None) -> list[str]:
        """Names of the methods that no other beats on one axis without being worse on the other."""
        return [point.name for point in self.risk_map.frontier(risk, loss)]

    def map(self, risk: str | None = None, loss: str | None = None) -> str:
        """The risk-utility map in characters, for a terminal.

        Axes that are left out are risk and relative change, or those of the fair comparison where nobody attacked.
        """
        return self.risk_map.text(risk, loss)

    def plot(
        self,
        path: str | Path | None = None,
        risk: str | None = None,
        loss: str | None = None,
        most_risk: float | None = None,
    ) -> str:
        """The map as an ``svg`` element; written to a new file where asked, as ``.svg`` or ``.png``.

        ``most_risk`` draws a line that methods should not pass.
        """
        drawing = self.risk_map.image(risk, loss, most_risk)
        if path is not None:
            kind = Path(path).suffix.lower()
            if kind not in (".svg", ".png"):
                raise ParameterError(f"Cannot draw a {kind or 'file without ending'}.", hint="Use .svg or .png.")
            write_new(
                Path(path), standing_alone(drawing) if kind == ".svg" else self.risk_map.png(risk, loss, most_risk)
            )
        return drawing

    def page(self, path: str | Path | None = None, *, title: str = "") -> str:
        """The comparison as one HTML page that needs nothing else; written to a new file where asked.

        The axes of its map can be chosen, and points tell their numbers.
        """
        text = compared_page(self.risk_map, self.flags, self.seconds, title, self.notes)
        if path is not None:
            write_new(Path(path), text.encode())
        return text

    def summary(self) -> str:
        """A line a method, what to beware of first."""
        found = self.risk_map
        risk, loss = found.axes_to_show()
        axes = [found.axis(risk, "risk"), found.axis(loss, "loss")]
        axes += [axis for axis in found.axes if axis.name == "withheld"]
        lines = [f"BEWARE: {flag}" for flag in self.flags]
        for point in found.points:
            if point.status != DONE:
                lines.append(f"{point.name}: {point.status}")
            if not point.spots:
                continue
            said = [f"{axis.name} {_spot_text(axis, point)}" for axis in axes if axis.name in point.spots]
            lines.append(f"{point.name}: {', '.join(said)}{f'; {point.runs} runs' if point.runs > 1 else ''}")
        best = self.frontier()
        if best:
            words = "risk and relative change" if (risk, loss) == DEFAULT else f"{risk} and {loss}"
            lines.append(f"on the frontier of {words}: {'; '.join(best)}")
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    __repr__ = summary

    def _repr_html_(self) -> str:
        found = self.risk_map
        risk, loss = found.axes_to_show()
        axes = [found.axis(risk, "risk"), found.axis(loss, "loss")]
        axes += [axis for axis in found.axes if axis.name == "withheld" and axis not in axes]
        best = self.frontier()
        columns: dict[str, list[Any]] = {"": [], "method": [], **{axis.words: [] for axis in axes}, "ended": []}
        for point in found.points:
            columns[""].append(found.letters[point.name])
            columns["method"].append(point.name)
            for axis in axes:
                columns[axis.words].append(_spot_text(axis, point) if axis.name in point.spots else "–")
            columns["ended"].append("on the frontier" if point.name in best else point.status)
        return page(
            f"{counted(len(found.points), 'method')} compared; smaller is better",
            [Chip(f"beware: {flag}", "u") for flag in self.flags],
            _picture(found) if found.placed(risk, loss) else "",
            listing(columns),
            items("Notes", self.notes),
            sentence("page('compare.html') lets you choose the axes; to_frame() has every measure."),
        )


def _picture(found: RiskMap) -> str:
    """The map on white paper; nothing where the package that draws it is not installed."""
    try:
        return f'<div class="paper">{found.image()}</div>'
    except NeedsError:
        return ""


def _point(name: str, rows: Sequence[Mapping[str, Any]], axes: Sequence[Axis]) -> Point:
    """A method over all its runs."""
    done = [row for row in rows if row["status"] == DONE]
    bad = [str(row["status"]) for row in rows if row["status"] != DONE]
    status = DONE if not bad else bad[0] if not done else f"{len(bad)} of {len(rows)} runs: {bad[0]}"
    spots = {}
    for axis in axes:
        numbers = [row[axis.name] for row in done if row[axis.name] is not None]
        if numbers:
            low, high = np.percentile(numbers, ENDS)
            # Runs that agree have just that mean, without a rounding error that would decide the frontier.
            mean = numbers[0] if min(numbers) == max(numbers) else fsum(numbers) / len(numbers)
            spots[axis.name] = Spot(float(mean), float(low), float(high))
    flag = next((str(row["flag"]) for row in rows if row["flag"]), "")
    return Point(name, status, flag, len(done), spots)


def _flat(point: Point, axes: Sequence[Axis]) -> dict[str, Any]:
    row: dict[str, Any] = {"method": point.name, "status": point.status, "flag": point.flag, "runs": point.runs}
    for axis in axes:
        spot = point.spots.get(axis.name)
        for end, text in (("mean", axis.name), ("low", f"{axis.name}_low"), ("high", f"{axis.name}_high")):
            row[text] = None if spot is None else getattr(spot, end)
    return row


def _spot_text(axis: Axis, point: Point) -> str:
    """A measure in words: mean, and the interval over runs where they differ."""
    spot = point.spots[axis.name]
    ends = f" ({axis.text(spot.low)} to {axis.text(spot.high)})" if spot.low != spot.high else ""
    return f"{axis.text(spot.mean)}{ends}"
