"""What a safe plot shows: declared, checked and written in one way, so that the same plot is the same request."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from discreet.errors import ParameterError, unknown_name

PlotKind = Literal["histogram", "density", "density2d", "contours", "box"]
KINDS: tuple[str, ...] = get_args(PlotKind)
FLAT = ("density2d", "contours")
"""Kinds that show two variables."""
LEAST_POINTS, MOST_POINTS, MOST_FLAT = 10, 1001, 201
MOST_BINS = 1000
BOX_BINS = 64
PROTECTED: Literal["protected"] = "protected"
Limits = tuple[float, float]


@dataclass(frozen=True)
class PlotRequest:
    """A plot: everything that its numbers depend on, besides records and key.

    Parameters
    ----------
    kind
        What is drawn.
    variables
        One variable, or two.
    limits
        Of each variable the lowest and highest value that is drawn; never those of the data.
    width
        Width of bins (histogram), bandwidth of kernels (others), one a variable; ``None`` where it is worked out of a
        protected histogram.
    local
        Factor of local bandwidths, of which ``width`` is then the least; 0 for one bandwidth.
    points
        Points of the grid a variable.
    trim
        How many of the largest contributions are left out at every point.
    smooth
        How often three neighbouring points are averaged after the noise.
    levels
        Shares of the whole that lie inside the lines of ``contours``.
    noise
        How many times the least noise is added.
    log
        Whether variables are drawn by their logarithm (base 10).
    weighted
        Whether records count by weights.
    largest_weight
        No weight is larger.
    """

    kind: str
    variables: tuple[str, ...]
    limits: tuple[Limits, ...]
    width: tuple[float, ...] | None
    local: float = 0.0
    points: int = 201
    trim: int = 0
    smooth: int = 5
    levels: tuple[float, ...] = ()
    noise: float = 1.0
    log: bool = False
    weighted: str | None = None
    largest_weight: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParameterError(unknown_name("plot", str(self.kind)[:80], KINDS))
        wanted = 2 if self.kind in FLAT else 1
        if len(self.variables) != wanted or len(set(self.variables)) != wanted:
            raise ParameterError(
                f"{self.kind} shows {wanted} variable{'s' if wanted > 1 else ''}, and {len(self.variables)} are given.",
                hint="Give the name of one variable, or two different names for density2d and contours.",
            )
        self._check_limits()
        most = MOST_FLAT if self.kind in FLAT else MOST_POINTS
        if self.kind in ("density", *FLAT):
            _whole("points", self.points, LEAST_POINTS, most)
        self._check_widths()
        _whole("trim", self.trim, 0, 20)
        _whole("smooth", self.smooth, 0, 50)
        _number("noise", self.noise, 1.0, 1e6)
        _number("local", self.local, 0.0, 1e6)
        _number("largest_weight", self.largest_weight, 1e-12, 1e12)
        if self.kind == "contours" and (
            len(self.levels) < 2
            or any(not 0 < one < 1 for one in self.levels)
            or sorted(set(self.levels)) != list(self.levels)
        ):
            raise ParameterError(
                f"levels={list(self.levels)} is not allowed.", hint="Give at least 2 rising shares between 0 and 1."
            )
        if self.trim and self.weighted is not None:
            raise ParameterError("trim does not go with weights.", hint="Leave trim or weight out.")
        if self.kind in ("histogram", "box") and (self.local or self.trim):
            raise ParameterError(f"local and trim are for densities, not for {self.kind}.", hint="Leave them out.")
        self._write_in_one_way()

    def _write_in_one_way(self) -> None:
        """1 and 1.0, 0 and -0 are the same number, and so the same request with the same noise."""
        for name in ("local", "noise", "largest_weight"):
            object.__setattr__(self, name, float(getattr(self, name)) + 0.0)
        object.__setattr__(self, "limits", tuple((low + 0.0, high + 0.0) for low, high in self.limits))

    def _check_limits(self) -> None:
        if len(self.limits) != len(self.variables):
            raise ParameterError("Every variable of a plot has limits.", hint="Give limits=(lowest, highest) for each.")
        for low, high in self.limits:
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise ParameterError(f"limits ({low:g}, {high:g}) are not allowed.", hint="Give the lower one first.")
            if self.log and low <= 0:
                raise ParameterError(
                    f"A logarithmic axis cannot begin at {low:g}.", hint="Give limits above 0, or leave log out."
                )

    def _check_widths(self) -> None:
        if self.width is None:
            if self.local:
                raise ParameterError("local needs the least bandwidth.", hint="Give width=.")
            return
        if len(self.width) != len(self.variables):
            raise ParameterError("Every variable of a plot has a width.", hint="Give one width a variable.")
        for width, (low, high) in zip(self.width, self.spans, strict=True):
            if not (math.isfinite(width) and 0 < width <= high - low):
                raise ParameterError(f"width={width:g} is not allowed.", hint="Give more than 0, within the limits.")
            if self.kind == "histogram" and (high - low) / width > MOST_BINS:
                raise ParameterError(f"A width of {width:g} gives more than {MOST_BINS} bins.", hint="Widen them.")
            step = (high - low) / (self.points - 1)
            if self.kind not in ("histogram", "box") and step > width * (1 + 1e-12):
                raise ParameterError(
                    f"The points of the grid lie {step:g} apart, and the bandwidth is {width:g}.",
                    hint="Give more points or a larger width: between points nothing would be protected or seen.",
                )

    @property
    def spans(self) -> tuple[Limits, ...]:
        """Limits as they are drawn: logarithms where the axis is one."""
        if not self.log:
            return self.limits
        return tuple((math.log10(low), math.log10(high)) for low, high in self.limits)

    @property
    def canonical(self) -> str:
        """The request as one text: equal for equal requests. Colours, titles and formats are no part of it."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"), allow_nan=False)


def plot_request(kind: str, variables: Any, limits: Any, **options: Any) -> PlotRequest:
    """A request from what people write: one name or several, one pair of limits or one a variable."""
    names = (variables,) if isinstance(variables, str) else tuple(variables)
    pairs = _pairs(limits, len(names))
    width = options.pop("width", PROTECTED)
    levels = options.pop("levels", None)
    if levels is None:
        levels = 10
    if kind == "contours" and isinstance(levels, int) and not isinstance(levels, bool):
        _whole("levels", levels, 2, 50)
        levels = tuple(round(place / levels, 12) for place in range(1, levels))
    elif kind != "contours":
        levels = ()
    points = options.pop("points", None) or (101 if kind in FLAT else 201)
    if kind in ("histogram", "box"):
        points, options["smooth"] = 0, 0
    return PlotRequest(
        kind,
        names,
        pairs,
        _widths(kind, width),
        points=points,
        levels=_floats("levels", levels),
        **options,
    )


def _widths(kind: str, width: Any) -> tuple[float, ...] | None:
    if kind == "box":
        return None
    if isinstance(width, str):
        if width != PROTECTED:
            raise ParameterError(f"width={width!r} is not allowed.", hint="Give a number, or 'protected'.")
        return None
    return _floats("width", (width,) if isinstance(width, int | float) else width)


def _pairs(limits: Any, number: int) -> tuple[Limits, ...]:
    if limits is None:
        raise ParameterError(
            "A plot has no limits, and those of the data would tell the smallest and largest record.",
            hint="Give limits=(lowest, highest) as they are known without the data.",
        )
    try:
        given = list(limits)
        pairs = [given] if number == 1 and not isinstance(given[0], Sequence) else [list(one) for one in given]
        return tuple((float(low), float(high)) for low, high in pairs)
    except (TypeError, ValueError, IndexError, OverflowError):
        raise ParameterError("limits are not pairs of numbers.", hint="Give (lowest, highest) a variable.") from None


def _floats(name: str, values: Any) -> tuple[float, ...]:
    try:
        return tuple(float(one) for one in values)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{name} is not a number, nor several.", hint=f"Give numbers for {name}.") from None


def _whole(name: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ParameterError(f"{name}={value!r} is not allowed.", hint=f"Give a whole number from {least} to {most}.")


def _number(name: str, value: Any, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ParameterError(f"{name}={value!r} is not allowed.", hint=f"Give a number from {least:g} to {most:g}.")
