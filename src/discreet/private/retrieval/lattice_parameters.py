"""Parameters of retrieval on lattices, how hard they are to break, and how often they fail.

The estimate is our own: the primal attack in the model of Alkim and others (2016) finds the secret once the block
size β of lattice reduction satisfies ``σ √β <= δ**(2β - d - 1) q**(m/d)`` in dimension d = m + n + 1, best over the
number of samples m. One call of sieving in dimension β costs 2**(0.292 β) in the most careful count ("core"), in
which all other work is free; with 8 d calls and 2**16.4 steps each (Albrecht and others 2018) it costs more. Dual and
hybrid attacks were not estimated; they do not do better against secrets and errors of this kind in the published
comparisons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from discreet.errors import ParameterError
from discreet.private.problems import ProtocolError

MODULUS_BITS = 32
DIGIT = 256
"""A digit is a byte, centred."""
STEP = 2**MODULUS_BITS // DIGIT
FAILURE = -40.0
"""Largest binary logarithm of the chance that an entry is read wrongly."""


@dataclass(frozen=True)
class LatticeParameters:
    """A set of parameters under a name that both sides compare.

    Parameters
    ----------
    name
        Name and version.
    dimension
        Length of the secret.
    deviation
        Standard deviation of the errors.
    secure
        Whether the set is for anything but tests.

    Examples
    --------
    >>> VERSIONS["lwe-1"].estimate().core_bits >= 128
    True
    """

    name: str
    dimension: int
    deviation: float
    secure: bool = True

    def estimate(self) -> LatticeEstimate:
        """How hard these parameters are to break."""
        return estimate(self.dimension, self.deviation)

    def failure(self, columns: int, entry_bytes: int) -> float:
        """Binary logarithm of a bound on the chance that any byte of an entry is read wrongly.

        The error of a byte is a sum of ``columns`` independent errors, each with a factor of at most 128, so that its
        tail is at most that of a normal one (sub-Gaussian).
        """
        exponent = (STEP / 2) ** 2 / (2 * self.deviation**2 * columns * (DIGIT / 2) ** 2)
        return float(math.log2(2 * entry_bytes) - exponent / math.log(2))

    def require_columns(self, columns: int, entry_bytes: int) -> None:
        """Refuse a database with so many columns that answers could be wrong."""
        if self.failure(columns, entry_bytes) > FAILURE:
            raise ParameterError(
                f"{columns:,} columns are too many for the parameters {self.name!r}: answers could be wrong.",
                hint="Put more pages into a column.",
            )


@dataclass(frozen=True)
class LatticeEstimate:
    """What breaking costs: the block size of the attack and two counts of its work, as binary logarithms."""

    block: int
    lattice_dimension: int
    core_bits: float
    usual_bits: float


VERSIONS = {"lwe-1": LatticeParameters("lwe-1", 1184, 16.0)}
"""Parameters in use. A change gets a new name; old names keep their meaning."""


def parameters(name: str, insecure_dimension: int | None = None) -> LatticeParameters:
    """Parameters by name; a short secret only where a test asks for it by name."""
    if name not in VERSIONS:
        raise ProtocolError(
            "wrong version",
            f"The lattice parameters {name!r} are not known here.",
            hint=f"Known are {', '.join(VERSIONS)}.",
        )
    if insecure_dimension is None:
        return VERSIONS[name]
    if insecure_dimension < 16 or insecure_dimension % 16:
        raise ParameterError(f"insecure_dimension={insecure_dimension} is not allowed.", hint="Use a multiple of 16.")
    return LatticeParameters(name, insecure_dimension, VERSIONS[name].deviation, secure=False)


@cache
def estimate(dimension: int, deviation: float) -> LatticeEstimate:
    """The cheapest primal attack on secrets of a length with errors of a deviation, modulo 2**32.

    Examples
    --------
    >>> found = estimate(1024, 6.4)
    >>> found.block, round(found.core_bits, 1), round(found.usual_bits, 1)
    (326, 95.2, 125.7)
    """
    for block in range(60, 2000):
        delta = _root_factor(block)
        for samples in range(dimension // 4, 4 * dimension, 4):
            total = samples + dimension + 1
            reach = (2 * block - total - 1) * delta + samples / total * MODULUS_BITS
            if math.log2(deviation) + math.log2(block) / 2 <= reach:
                core = 0.292 * block
                return LatticeEstimate(block, total, core, core + 16.4 + math.log2(8 * total))
    raise ParameterError(f"A secret of length {dimension} was not estimated.", hint="Use up to some thousands.")


def _root_factor(block: int) -> float:
    """Binary logarithm of the root Hermite factor of reduction with a block size."""
    return (math.log2(math.pi * block) / block + math.log2(block / (2 * math.pi * math.e))) / (2 * (block - 1))
