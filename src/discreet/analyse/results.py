"""What corrected estimates tell: coefficients, standard errors, the path of the extrapolation, and the weights."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from discreet.analyse.extrapolation import NO_NOISE, Extrapolant, curve
from discreet.analyse.models import ModelName
from discreet.errors import ParameterError, counted
from discreet.files.frames import to_frame
from discreet.files.new_file import new_file
from discreet.model.arrays import Floats
from discreet.report.page import standing_alone

PLOTS = ("extrapolation", "weights")


@dataclass(frozen=True, eq=False)
class WeightDiagnostics:
    """What the weights of the records are like.

    Parameters
    ----------
    probabilities
        How likely each record was to be kept.
    weights
        One over it, trimmed where asked for.
    trimmed
        How many weights were trimmed.
    """

    probabilities: Floats
    weights: Floats
    trimmed: int = 0

    @property
    def largest(self) -> float:
        """The largest weight."""
        return float(self.weights.max())

    @property
    def effective(self) -> float:
        """How many records with equal weights would say as much: the square of the sum over the sum of squares."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())

    @property
    def top_share(self) -> float:
        """The share of all weight that the largest hundredth of the weights has (of one weight at least)."""
        top = np.sort(self.weights)[-max(1, len(self.weights) // 100) :]
        return float(top.sum() / self.weights.sum())

    def __repr__(self) -> str:
        cut = f", {self.trimmed:,} trimmed" if self.trimmed else ""
        return (
            f"weights of {counted(len(self.weights), 'record')}: largest {self.largest:,.4g}{cut}, the top hundredth "
            f"has {self.top_share:.1%} of the sum; as good as {self.effective:,.1f} records with equal weights"
        )


@dataclass(frozen=True, eq=False)
class SimulationPath:
    """Coefficients at rising levels of added noise, a row for each, and how they are carried back to none."""

    levels: Floats
    coefficients: Floats
    extrapolation: Extrapolant

    def at(self, levels: Floats) -> Floats:
        """The fitted curves at other levels; no noise is left at -1."""
        return curve(self.levels, self.coefficients, self.extrapolation, levels)


@dataclass(frozen=True, eq=False, repr=False)
class CorrectedFit:
    """Coefficients of a model, corrected for blanking, noise, or both.

    Parameters
    ----------
    method
        ``"ipw"``, ``"simex"`` or ``"bsimex"``.
    model, outcome, names
        The model, its outcome, and the names of its coefficients.
    coefficients, standard_errors
        Corrected ones. Standard errors are those of a sandwich for ``ipw`` and of the bootstrap otherwise; nan where no
        bootstrap was asked for.
    naive, naive_errors
        Those of the complete records as they stand.
    records, used
        How many records there are, and how many are complete.
    weights
        What the weights are like; ``None`` without any.
    path
        Coefficients by level of noise; ``None`` for ``ipw``.
    notes
        What to beware of.
    """

    method: str
    model: ModelName
    outcome: str
    names: tuple[str, ...]
    coefficients: Floats
    standard_errors: Floats
    naive: Floats
    naive_errors: Floats
    records: int
    used: int
    weights: WeightDiagnostics | None = None
    path: SimulationPath | None = None
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> float:
        """A coefficient by its name."""
        if name not in self.names:
            raise ParameterError(f"There is no coefficient {name!r}.", hint=f"There are {', '.join(self.names)}.")
        return float(self.coefficients[self.names.index(name)])

    def columns(self) -> dict[str, list[Any]]:
        """Plain columns: a line for every coefficient."""
        numbers = {"estimate": self.coefficients, "standard_error": self.standard_errors}
        if self.path is not None and self.weights is not None:
            numbers["weighted"] = self.path.coefficients[0]
        numbers |= {"naive": self.naive, "naive_error": self.naive_errors}
        return {"coefficient": list(self.names), **{name: found.tolist() for name, found in numbers.items()}}

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """One row per coefficient, in a frame of ``"pyarrow"``, ``"pandas"`` or ``"polars"``."""
        return to_frame(self.columns(), backend)

    def summary(self) -> str:
        """The estimates in a few lines."""
        words = {"ipw": "weighted for blanking", "simex": "corrected for noise", "bsimex": "corrected for both"}
        lines = [
            f"{self.model} model of {self.outcome}, {words[self.method]}; {self.used:,} of "
            f"{counted(self.records, 'record')} complete"
        ]
        wide = max(len(name) for name in (*self.names, "coefficient"))
        lines.append(f"{'coefficient':<{wide}} {'estimate':>12} {'std. error':>12} {'naive':>12}")
        for name, *numbers in zip(self.names, self.coefficients, self.standard_errors, self.naive, strict=True):
            lines.append(f"{name:<{wide}} " + " ".join(f"{_shown(number):>12}" for number in numbers))
        if self.weights is not None:
            lines.append(repr(self.weights))
        if self.path is not None:
            levels = ", ".join(f"{level:g}" for level in self.path.levels)
            lines.append(f"{self.path.extrapolation} extrapolation from noise levels {levels}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    __repr__ = summary

    def plot(self, path: str | Path | None = None, what: Literal["extrapolation", "weights"] | None = None) -> str:
        """The extrapolation of coefficients, or the weights, as an ``svg`` element; written to a new file where asked.

        Parameters
        ----------
        path
            A new file that ends in ``.svg``.
        what
            ``"extrapolation"`` or ``"weights"``; the first that there is where left out.
        """
        from discreet.analyse.images import extrapolation_image, weights_image

        there = [name for name, part in zip(PLOTS, (self.path, self.weights), strict=True) if part is not None]
        what = what or there[0]  # type: ignore[assignment]
        if what not in there:
            raise ParameterError(
                f"There is no plot {what!r} of {self.method}.", hint=f"There is {' and '.join(there)}."
            )
        if path is not None and Path(path).suffix.lower() != ".svg":
            raise ParameterError(f"Cannot draw {Path(path).name!r}.", hint="Use a name that ends in .svg.")
        drawing = extrapolation_image(self) if what == "extrapolation" else weights_image(self)
        if path is not None:
            with new_file(Path(path)) as stream:
                stream.write(standing_alone(drawing))
        return drawing


def corrected(path: SimulationPath) -> Floats:
    """Coefficients without noise."""
    return np.asarray(path.at(np.array([NO_NOISE]))[0])


def _shown(number: float) -> str:
    return "–" if np.isnan(number) else f"{number:.4f}" if 1e-3 <= abs(number) < 1e6 else f"{number:.4g}"
