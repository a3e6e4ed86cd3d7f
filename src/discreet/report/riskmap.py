"""The risk-utility map: methods as points between a risk and a loss, and the frontier of those nobody beats."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.errors import ParameterError, unknown_name
from discreet.report.page import trusted
from discreet.report.plots import BEST, INK, OTHER, PALE, WIDTH, _inline, _matplotlib, short
from discreet.report.words import plain_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDES = ("risk", "loss")
DEFAULT, FAIR = ("risk", "relative"), ("fair_risk", "fair_loss")
"""Axes that are shown where none are chosen: the second ones where nobody attacked."""
WIDE, HIGH = 56, 15
"""Size of the map on a terminal, in characters."""
NEAR = 0.03
"""Methods that are closer than this share of an axis share a place on the image."""


class Axis(NamedTuple):
    """One measure: its name, what it is in words, its side (``risk`` or ``loss``), and whether it is a share."""

    name: str
    words: str
    side: str
    share: bool = True

    def text(self, value: float | None) -> str:
        """A number of this measure for readers; a share in per cent."""
        if value is None:
            return "–"
        if not self.share:
            return plain_number(value)
        return "0 %" if value == 0 else "< 0.01 %" if 0 < value < 0.00005 else f"{100 * value:.2f} %"


class Spot(NamedTuple):
    """A measure over all runs of a method: mean, and the ends between which 95 % of the runs lie."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Point:
    """One method: its name, how it ended, what to beware of, and where it stands on each axis that it has."""

    name: str
    status: str
    flag: str
    runs: int
    spots: Mapping[str, Spot]


@dataclass(frozen=True)
class RiskMap:
    """Points and the axes to choose from; smaller is better on all of them."""

    axes: tuple[Axis, ...]
    points: tuple[Point, ...]
    title: str = "Risk and loss of methods"

    def axis(self, name: str, side: str) -> Axis:
        """The axis of a name, which must be of the side that is asked for."""
        mine = {axis.name: axis for axis in self.axes if axis.side == side}
        if name not in mine:
            raise ParameterError(unknown_name(side, name, mine, "the comparison"))
        return mine[name]

    @property
    def letters(self) -> dict[str, str]:
        """A letter for each method, by its name; behind the last letter of the alphabet all get a star."""
        names = [point.name for point in self.points]
        return dict(zip(names, chain(ascii_uppercase, ascii_uppercase.lower(), repeat("*")), strict=False))

    def axes_to_show(self, risk: str | None = None, loss: str | None = None) -> tuple[str, str]:
        """The axes that are asked for; where none are, those that the methods have."""
        named = {axis.name for axis in self.axes}
        if not set(DEFAULT) <= named:
            pair = tuple(next(axis.name for axis in self.axes if axis.side == side) for side in SIDES)
        else:
            pair = DEFAULT if self.placed(*DEFAULT) or not self.placed(*FAIR) else FAIR
        return (risk or pair[0], loss or pair[1])

    def placed(self, risk: str, loss: str) -> list[Point]:
        """The methods that have both measures."""
        return [point for point in self.points if risk in point.spots and loss in point.spots]

    def recommended(self, most_risk: float, risk: str | None = None, loss: str | None = None) -> Point | None:
        """The method with the least loss among those whose mean risk is at most so much; None without one."""
        risk, loss = self.axes_to_show(risk, loss)
        self.axis(risk, "risk"), self.axis(loss, "loss")
        allowed = [point for point in self.placed(risk, loss) if point.spots[risk].mean <= most_risk]
        return min(allowed, key=lambda point: (point.spots[loss].mean, point.spots[risk].mean), default=None)

    def frontier(self, risk: str | None = None, loss: str | None = None) -> list[Point]:
        """Methods that no other beats on one axis without being worse on the other, by rising risk."""
        risk, loss = self.axes_to_show(risk, loss)
        self.axis(risk, "risk"), self.axis(loss, "loss")
        placed = self.placed(risk, loss)
        at = {p.name: (p.spots[risk].mean, p.spots[loss].mean) for p in placed}

        def beaten(point: Point) -> bool:
            x, y = at[point.name]
            return any(a <= x and b <= y and (a, b) != (x, y) for a, b in at.values())

        return sorted((p for p in placed if not beaten(p)), key=lambda p: at[p.name])

    # ---- on a terminal --------------------------------------------------------------------------------------

    def text(self, risk: str | None = None, loss: str | None = None) -> str:
        """The map in characters: a letter a method, in brackets on the frontier."""
        risk, loss = self.axes_to_show(risk, loss)
        across, upwards = self.axis(risk, "risk"), self.axis(loss, "loss")
        placed = self.placed(risk, loss)
        if not placed:
            return f"No method has both measures: {across.words}; {upwards.words}."
        best = {point.name for point in self.frontier(risk, loss)}
        most_x = max(point.spots[risk].mean for point in placed) or 1.0
        most_y = max(point.spots[loss].mean for point in placed) or 1.0
        field = [[" "] * (WIDE + 1) for _ in range(HIGH + 1)]
        key = []
        for point in placed:
            letter = self.letters[point.name]
            x = round(WIDE * point.spots[risk].mean / most_x)
            y = HIGH - round(HIGH * point.spots[loss].mean / most_y)
            while field[y][x] != " " and x < WIDE:
                x += 1
            field[y][x] = letter
            mark = "(frontier) " if point.name in best else ""
            there = ", ".join((across.text(point.spots[risk].mean), upwards.text(point.spots[loss].mean)))
            key.append(f"  {letter}  {point.name} {mark}{there}{'  ' + point.flag if point.flag else ''}")
        lines = [f"loss: {upwards.words}, up to {upwards.text(most_y)}"]
        lines += [f"| {''.join(row).rstrip()}".rstrip() for row in field]
        lines += [f"+{'-' * (WIDE + 2)}>", f"risk: {across.words}, up to {across.text(most_x)}", *key]
        return "\n".join(lines)

    # ---- as an image ----------------------------------------------------------------------------------------

    def image(self, risk: str | None = None, loss: str | None = None, most_risk: float | None = None) -> str:
        """The map as an ``svg`` element; ``most_risk`` draws a line that methods should not pass."""
        with _matplotlib():
            return trusted(_inline(self._drawn(risk, loss, most_risk), self.caption(risk, loss)))

    def png(self, risk: str | None = None, loss: str | None = None, most_risk: float | None = None) -> bytes:
        """The map as a png image."""
        with _matplotlib():
            stream = io.BytesIO()
            self._drawn(risk, loss, most_risk).savefig(stream, format="png", dpi=160, metadata={"Software": None})
            return stream.getvalue()

    def caption(self, risk: str | None = None, loss: str | None = None) -> str:
        """What the map shows, in a sentence."""
        best = self.frontier(risk, loss)
        if not best:
            return "No method has both measures."
        return f"Nobody beats {', '.join(point.name for point in best)} on both axes; smaller is better."

    def _drawn(self, risk: str | None, loss: str | None, most_risk: float | None) -> Figure:
        from matplotlib.figure import Figure
        from matplotlib.lines import Line2D

        risk, loss = self.axes_to_show(risk, loss)
        across, upwards = self.axis(risk, "risk"), self.axis(loss, "loss")
        placed, best = self.placed(risk, loss), self.frontier(risk, loss)
        figure = Figure(figsize=(WIDTH, 4.3 + 0.18 * len(placed)))
        axes = figure.subplots()
        scale = [100.0 if axis.share else 1.0 for axis in (across, upwards)]
        if best:
            steps = [tuple(s * p.spots[n].mean for s, n in zip(scale, (risk, loss), strict=True)) for p in best]
            axes.step(*zip(*steps, strict=True), where="post", color=PALE, linestyle=(0, (4, 3)), label="frontier")
        for point in placed:
            x, y = point.spots[risk], point.spots[loss]
            on = point in best
            axes.errorbar(
                [scale[0] * x.mean],
                [scale[1] * y.mean],
                xerr=[[max(scale[0] * (x.mean - x.low), 0)], [max(scale[0] * (x.high - x.mean), 0)]],
                yerr=[[max(scale[1] * (y.mean - y.low), 0)], [max(scale[1] * (y.high - y.mean), 0)]],
                fmt="o" if on else "s",
                markersize=8 if on else 6,
                color=BEST if on else OTHER,
                markeredgecolor=INK,
                ecolor=PALE,
                elinewidth=1,
            )
        axes.set_xlabel(f"risk: {across.words}{', per cent' if across.share else ''}")
        axes.set_ylabel(f"loss: {_wrapped(upwards.words)}{', per cent' if upwards.share else ''}")
        axes.spines["left"].set_visible(True)
        for side, name in ((axes.xaxis, risk), (axes.yaxis, loss)):
            if not any(point.spots[name].high for point in placed):
                side.set_ticks([0.0])  # other ticks would be numbers that no method has
        ends = [max((factor * p.spots[n].high for p in placed), default=0.0) or 1.0
                for factor, n in zip(scale, (risk, loss), strict=True)]  # fmt: skip
        axes.set_xlim(-0.03 * ends[0], 1.1 * ends[0])
        axes.set_ylim(-0.04 * ends[1], 1.15 * ends[1])
        if most_risk is not None:
            ends[0] = max(ends[0], scale[0] * most_risk)
            axes.set_xlim(-0.03 * ends[0], 1.1 * ends[0])
            axes.axvline(scale[0] * most_risk, color=INK, linewidth=1, linestyle=":", label="most risk allowed")
        for place, letters in self._together(placed, (risk, loss), scale, ends):
            axes.annotate(letters, place, (9, 5), textcoords="offset points", fontsize=9, weight="bold")
        handles, names = axes.get_legend_handles_labels()
        key = [
            f"{self.letters[p.name]}  {short(p.name, 90)}{' (beware: not verified)' if p.flag else ''}" for p in placed
        ]
        blank = [Line2D([], [], linestyle="none") for _ in key]
        figure.legend(
            [*handles, *blank], [*names, *key], loc="outside lower left", frameon=False, fontsize=8, handlelength=2
        )
        return figure

    def _together(
        self, placed: Sequence[Point], names: tuple[str, str], scale: Sequence[float], ends: Sequence[float]
    ) -> list[tuple[tuple[float, float], str]]:
        """Places on the image and the letters there; methods that lie on each other share a place."""
        places: list[tuple[tuple[float, float], list[str]]] = []
        for point in placed:
            x, y = (factor * point.spots[name].mean for factor, name in zip(scale, names, strict=True))
            letter = self.letters[point.name]
            for (a, b), letters in places:
                if abs(a - x) < NEAR * ends[0] and abs(b - y) < NEAR * ends[1]:
                    letters.append(letter)
                    break
            else:
                places.append(((x, y), [letter]))
        return [(place, ", ".join(letters)) for place, letters in places]

    # ---- on a page ------------------------------------------------------------------------------------------

    def data(self) -> dict[str, Any]:
        """Plain data, from which a page draws the map anew when other axes are chosen."""
        placed = [point for point in self.points if point.spots]
        return {
            "axes": [axis._asdict() for axis in self.axes],
            "points": [
                {
                    "name": p.name,
                    "letter": self.letters[p.name],
                    "flag": p.flag,
                    "spots": {name: list(spot) for name, spot in p.spots.items()},
                }
                for p in placed
            ],
        }

    def usable(self, side: str) -> list[Axis]:
        """The axes of a side that at least one method has."""
        return [a for a in self.axes if a.side == side and any(a.name in p.spots for p in self.points)]


def _wrapped(words: str) -> str:
    """Long words on two lines."""
    head, mark, rest = words.partition("; ")
    return f"{head};\n{rest}" if mark else head
