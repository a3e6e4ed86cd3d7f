"""A safe plot: numbers that may be shown, how far noise moved them, and what an attacker has of them."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from discreet.attack.plots import density_attack, histogram_attack
from discreet.model.arrays import Floats, Ints
from discreet.report.safe_plots.influence import Influence
from discreet.report.safe_plots.request import FLAT, PlotRequest
from discreet.report.safe_plots.summaries import Quantiles

NOISE_NOTE = "Noise was added: what goes up and down within the band is noise."
DRAWS = 400


@dataclass(frozen=True, eq=False)
class SafePlot:
    """A plot that is safe to show. Made by :func:`discreet.safe_plot`.

    Parameters
    ----------
    request
        What was asked for.
    width
        Width of bins or bandwidth of kernels, a variable.
    axes
        Limits of bins, or points of the grid (logarithms where the axis is one).
    values
        Counts of bins, or densities; they may be below 0 and are drawn as 0 then.
    noise
        Standard deviation of the noise in each value.
    total
        Sum of all that is shown: no true total.
    influence
        What one record can change, and the noise against it.
    mu
        What an attacker who knows all records but one has: signal over noise, of everything that was looked at.
    left
        What the account has left, where there is one.
    records
        Number of records, where it may be told.
    quantiles
        Of a box: 5, 25, 50, 75 and 95 %, each with its band.
    classes
        Of contours: the class of every point, 0 where most are.
    class_limits
        Of contours: the densities between classes.
    notes
        What a reader must know.

    Examples
    --------
    >>> import discreet as ds, numpy as np, pyarrow as pa
    >>> pay = pa.table({"pay": np.random.default_rng(1).normal(3000, 500, 2000)})
    >>> plot = ds.safe_plot(pay, "pay", "histogram", limits=(0, 6000), width=500, key=ds.Key.from_seed(1))
    >>> len(plot.values), round(plot.mu, 3), float(plot.band[0])
    (12, 1.414, 2.0)
    """

    request: PlotRequest
    width: tuple[float, ...] | None
    axes: tuple[Floats, ...]
    values: Floats
    noise: Floats
    total: float
    influence: Influence
    mu: float
    left: float | None = None
    records: int | None = None
    quantiles: Quantiles | None = None
    classes: Ints | None = None
    class_limits: Floats | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def band(self) -> Floats:
        """Half of the width of the band around each value in which noise leaves it, 95 times in 100."""
        return 2 * self.noise

    @cached_property
    def attacker_error(self) -> float | None:
        """How far the best guess of somebody who knows all other records lies off the truth (root mean square).

        For a value in the middle, in units of the axis; ``None`` for two variables and local bandwidths, where it
        depends on the other records.
        """
        request, noise = self.request, self.influence.noise / self.request.largest_weight
        if request.kind in FLAT or request.local or request.trim:
            return None
        if request.kind in ("histogram", "box"):
            return histogram_attack(self.axes[0], noise, draws=DRAWS).error
        assert self.width is not None
        return density_attack(self.axes[0], self.width[0], noise, draws=DRAWS).error

    @property
    def legend(self) -> str:
        """What is drawn, with what noise, in one sentence."""
        deviation = float(np.max(self.noise))
        what = "counts" if self.request.kind in ("histogram", "box") else "densities"
        shown = f"{self.request.kind} of {' and '.join(self.request.variables)}"
        return f"{shown}; noise in {what}: standard deviation {deviation:.3g}."

    def protection(self) -> dict[str, float | None]:
        """What attackers have: mu, its square (the charge), likelihood of the neighbour, their error; what is left."""
        return {
            "mu": self.mu,
            "mu_squared": self.mu**2,
            "neighbour_likelihood": self.influence.likelihood,
            "attacker_error": self.attacker_error,
            "left": self.left,
        }

    def to_rows(self) -> list[dict[str, Any]]:
        """The published numbers, one row a bin, point or quantile."""
        kind = self.request.kind
        if self.quantiles is not None:
            q = self.quantiles
            rows = zip(q.shares, self._shown(q.values), self._shown(q.low), self._shown(q.high), strict=True)
            return [{"share": s, "value": v, "low": a, "high": b} for s, v, a, b in rows]
        if kind == "histogram":
            edges = self._shown(self.axes[0])
            ends = zip(edges[:-1], edges[1:], self.values.tolist(), self.band.tolist(), strict=True)
            return [{"from": a, "to": b, "count": v, "band": d} for a, b, v, d in ends]
        if kind == "density":
            points = zip(self._shown(self.axes[0]), self.values.tolist(), self.band.tolist(), strict=True)
            return [{"at": a, "density": v, "band": d} for a, v, d in points]
        return self._flat_rows()

    def _flat_rows(self) -> list[dict[str, Any]]:
        first, second = self._shown(self.axes[0]), self._shown(self.axes[1])
        named = [(i, j, {"at": a, "and": b}) for i, a in enumerate(first) for j, b in enumerate(second)]
        if self.classes is not None:
            return [{**place, "class": int(self.classes[i, j])} for i, j, place in named]
        return [{**place, "density": float(self.values[i, j]), "band": float(self.band[i, j])} for i, j, place in named]

    def _shown(self, places: Floats) -> list[float]:
        """Places as values of the variable."""
        found: list[float] = (10.0**places if self.request.log else places).tolist()
        return found

    def to_csv(self) -> str:
        """The published numbers as csv."""
        rows = self.to_rows()
        stream = io.StringIO()
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return stream.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """Everything that may be told, as plain values."""
        return {
            "kind": self.request.kind,
            "variables": list(self.request.variables),
            "limits": [list(one) for one in self.request.limits],
            "width": None if self.width is None else list(self.width),
            "rows": self.to_rows(),
            "total": self.total,
            "records": self.records,
            "protection": self.protection(),
            "legend": self.legend,
            "notes": [NOISE_NOTE, *self.notes],
            "class_limits": None if self.class_limits is None else self.class_limits.tolist(),
        }

    def image(self) -> str:
        """The drawing with legend and band, as an inline ``svg`` element."""
        from discreet.report.safe_plots.drawing import plot_image

        return plot_image(self)

    def _repr_html_(self) -> str:
        from html import escape

        return self.image() + "".join(f"<p>{escape(note)}</p>" for note in (self.legend, NOISE_NOTE, *self.notes))
