"""Normal draws that are fixed by a secret key and by who a record is."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.engine.draws import Draws, draws
from discreet.jit import kernel
from discreet.model.arrays import Floats, Ints


@kernel("f8(f8, f8[::1], f8[::1])")
def _ratio(x: Any, top: Any, bottom: Any) -> Any:
    """The ratio of two polynomials of degree seven."""
    above, below = top[7], bottom[7]
    for i in range(6, -1, -1):
        above = above * x + top[i]
        below = below * x + bottom[i]
    return above / below


@kernel("void(u8[::1], f8[::1], f8[:,::1])")
def _to_normals(words: Any, found: Any, terms: Any) -> None:
    """Normal quantiles of the upper 52 bits of words, by the algorithm AS 241 of Wichura (1988)."""
    for i in range(len(words)):
        chance = (np.float64(words[i] >> np.uint64(12)) + 0.5) * 2.0**-52  # never 0, never 1
        off = chance - 0.5
        if abs(off) <= 0.425:
            found[i] = off * _ratio(0.180625 - off * off, terms[0], terms[1])
            continue
        tail = np.sqrt(-np.log(min(chance, 1.0 - chance)))
        if tail <= 5.0:
            size = _ratio(tail - 1.6, terms[2], terms[3])
        else:
            size = _ratio(tail - 5.0, terms[4], terms[5])
        found[i] = size if off > 0.0 else -size


AS_241 = np.array(
    [
        [
            3.3871328727963666080e0,
            1.3314166789178437745e2,
            1.9715909503065514427e3,
            1.3731693765509461125e4,
            4.5921953931549871457e4,
            6.7265770927008700853e4,
            3.3430575583588128105e4,
            2.5090809287301226727e3,
        ],
        [
            1.0,
            4.2313330701600911252e1,
            6.8718700749205790830e2,
            5.3941960214247511077e3,
            2.1213794301586595867e4,
            3.9307895800092710610e4,
            2.8729085735721942674e4,
            5.2264952788528545610e3,
        ],
        [
            1.42343711074968357734e0,
            4.63033784615654529590e0,
            5.76949722146069140550e0,
            3.64784832476320460504e0,
            1.27045825245236838258e0,
            2.41780725177450611770e-1,
            2.27238449892691845833e-2,
            7.74545014278341407640e-4,
        ],
        [
            1.0,
            2.05319162663775882187e0,
            1.67638483018380384940e0,
            6.89767334985100004550e-1,
            1.48103976427480074590e-1,
            1.51986665636164571966e-2,
            5.47593808499534494600e-4,
            1.05075007164441684324e-9,
        ],
        [
            6.65790464350110377720e0,
            5.46378491116411436990e0,
            1.78482653991729133580e0,
            2.96560571828504891230e-1,
            2.65321895265761230930e-2,
            1.24266094738807843860e-3,
            2.71155556874348757815e-5,
            2.01033439929228813265e-7,
        ],
        [
            1.0,
            5.99832206555887937690e-1,
            1.36929880922735805310e-1,
            1.48753612908506148525e-2,
            7.86869131145613259100e-4,
            1.84631831751005468180e-5,
            1.42151175831644588870e-7,
            2.04426310338993978564e-15,
        ],
    ]
)
"""Terms of three ratios: for the middle, the tails, and what lies beyond 1.4e-11 of them."""


def normal_draws(key: bytes, purposes: list[str], version: int, identity: Ints) -> Floats:
    """Standard normal draws: a row for every purpose, with one for every record.

    Examples
    --------
    >>> drawn = normal_draws(bytes(32), ["a", "b"], 1, np.arange(10_000))
    >>> drawn.shape, bool(abs(drawn.mean()) < 0.03), bool(abs(drawn.std() - 1) < 0.03)
    ((2, 10000), True, True)
    """
    found = np.empty((len(purposes), len(identity)))
    for row, purpose in zip(found, purposes, strict=True):
        words: Draws = draws(key, purpose, version, identity)
        _to_normals(words, row, AS_241)
    return found
