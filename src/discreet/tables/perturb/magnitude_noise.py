"""How cell keys change magnitudes: what noise is proportional to, and the tables it is looked up in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from discreet.engine.magnifiers import Magnifiers
from discreet.errors import ParameterError, unknown_name
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.noise_table import NoiseTable
from discreet.tables.perturb.entropy import maximum_entropy
from discreet.tables.perturb.magnitudes import (
    Compatible,
    Magnifier,
    NoiseTables,
    Scaling,
    magnifying,
    perturbed_magnitudes,
)

MAGNIFIERS = ("top", "mean", "range", "sum")
TABLES = ("noise", "odd", "small_noise")
SCALES = ("small", "large", "flex_point", "q", "epsilon", "separation")


def noise_table(given: Any) -> Any:
    """A noise table from plain data; tables and file names stay what they are."""
    return NoiseTable.from_record(given) if isinstance(given, Mapping) else given


@dataclass(frozen=True)
class MagnitudeNoise:
    """Noise of magnitudes.

    Parameters
    ----------
    small
        Noise of small contributions as a share of them (s1 in .rda files, ``p_small`` in cellKey).
    large, flex_point, q
        Share of very large contributions, where it begins to fall, and how fast: the flex function. One share for
        all where left out.
    magnifier
        What noise is proportional to: the ``"top"`` contributions, their ``"mean"``, their ``"range"`` or the
        ``"sum"``.
    top
        How many of the largest contributions have noise of their own.
    epsilon
        Weights of the second, third ... contribution.
    noise
        The noise table; a ``NoiseTable``, the name of its file, or left out for one with D=5 and V=2.
    odd
        Another table for odd numbers of contributors (parity).
    separation, small_noise
        Contributions below the separation point have noise of a fixed size from a table of their own.
    extra
        Least noise of unsafe cells, in steps of the table (mu).
    zeros
        Whether records with value 0 lend their keys. They do not by default: with or without them a cell has the same
        key.
    compatible
        ``"argus"`` or ``"cellkey"``: the two public implementations differ in details.
    same_key
        With ``"cellkey"``: take the key of the counts for the first part of the noise.

    Examples
    --------
    >>> import discreet as ds
    >>> ds.CellKey(magnitudes=ds.MagnitudeNoise(0.1, top=2, epsilon=(0.5,))).magnitudes.top
    2
    """

    small: float
    large: float | None = None
    flex_point: float | None = None
    q: float = 3.0
    magnifier: Magnifier = "top"
    top: int = 1
    epsilon: tuple[float, ...] = ()
    noise: Any = None
    odd: Any = None
    separation: bool = False
    small_noise: Any = None
    extra: float = 0.0
    zeros: bool = False
    compatible: Compatible = "argus"
    same_key: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", tuple(self.epsilon))
        for name in TABLES:
            object.__setattr__(self, name, noise_table(getattr(self, name)))
        if self.noise is None:
            object.__setattr__(self, "noise", maximum_entropy(5, 2, step=4, values=[1, 3, 5]))
        if self.magnifier not in MAGNIFIERS:
            raise ParameterError(unknown_name("magnifier", str(self.magnifier), MAGNIFIERS))
        if self.compatible not in ("argus", "cellkey"):
            raise ParameterError(unknown_name("implementation", str(self.compatible), ("argus", "cellkey")))
        if isinstance(self.top, bool) or not isinstance(self.top, int) or not 1 <= self.top <= 20:
            raise ParameterError(f"top={self.top!r} is not allowed.", hint="Give a whole number from 1 to 20.")
        if self.top > 1 and self.magnifier != "top":
            raise ParameterError(f"top={self.top} is for magnifier='top'.", hint="Leave one of them out.")
        if self.extra < 0:
            raise ParameterError(f"extra={self.extra} must be at least 0.")
        if self.separation and self.small_noise is None:
            raise ParameterError(
                "separation=True needs a noise table for small values.", hint="Give small_noise=, a table or its file."
            )
        self.scaling  # noqa: B018  # its own checks

    @classmethod
    def made(cls, given: Any) -> MagnitudeNoise | None:
        """From plain data or as it is."""
        if given is None or isinstance(given, MagnitudeNoise):
            return given
        known = [f.name for f in fields(cls)]
        if not isinstance(given, Mapping) or "small" not in given:
            raise ParameterError("Noise of magnitudes needs a share.", hint="For example magnitudes={'small': 0.05}.")
        for name in given:
            if name not in known:
                raise ParameterError(unknown_name("parameter", str(name), known, "magnitudes"))
        return cls(**given)

    def record(self) -> dict[str, Any]:
        """As plain data."""
        tables = {name: getattr(self, name) for name in TABLES}
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in TABLES}
        plain["epsilon"] = list(self.epsilon)
        return plain | {n: t.record() if isinstance(t, NoiseTable) else t for n, t in tables.items()}

    @property
    def scaling(self) -> Scaling:
        """How large the noise is."""
        weights = self.epsilon or (1.0,) * (self.top - 1)
        if len(weights) != self.top - 1:
            raise ParameterError(
                f"{self.top} contributions need {self.top - 1} weights in epsilon, not {len(weights)}.",
                hint="The first contribution has the weight 1.",
            )
        return Scaling(**{name: getattr(self, name) for name in SCALES} | {"epsilon": weights})

    def perturbed(self, value: Floats, found: Magnifiers, unit: float, sensitive: Bools) -> Floats:
        """Changes of values, from the contributors of their cells; ``unit`` is the size of a unit."""
        tables = NoiseTables(self.noise, self.noise if self.odd is None else self.odd, self.small_noise)
        return perturbed_magnitudes(
            value,
            magnifying(found, self.magnifier, unit),
            found.contributors,
            found.key_sum,
            tables,
            self.scaling,
            sensitive=sensitive,
            extra=self.extra,
            compatible=self.compatible,
            same_key=self.same_key,
        ).change


def as_columns(found: Magnifiers) -> dict[str, Ints]:
    """Contributors of cells as columns of whole numbers."""
    top = {f"top{k + 1}": np.ascontiguousarray(found.top[:, k]) for k in range(found.top.shape[1])}
    plain = {name: column for name, column in found._asdict().items() if name != "top"}
    return {**plain, **top}


def from_columns(columns: Mapping[str, Ints], rows: slice, top: int) -> Magnifiers:
    """Contributors of some cells from such columns."""
    largest = np.column_stack([columns[f"top{k + 1}"][rows] for k in range(top)])
    plain = {name: columns[name][rows] for name in Magnifiers._fields if name != "top"}
    return Magnifiers(**plain, top=largest)
