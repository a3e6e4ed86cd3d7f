"""How likely a value is kept where blurred limits decide."""

from __future__ import annotations

import numpy as np

from discreet.model.arrays import Floats


def kept_between(to_low: Floats | None, to_high: Floats | None) -> tuple[Floats, Floats]:
    """Between which fractions a draw keeps values, from distances to the limits in standard deviations.

    A value is kept where a normal draw lies between the distance to the lower limit and that to the upper one; as
    fractions these are the distribution function there. ``None`` stands for no limit.

    Examples
    --------
    >>> below, above = kept_between(None, np.array([0.0, 1.6448536]))
    >>> below.tolist(), above.round(6).tolist()
    ([0.0, 0.0], [0.5, 0.95])
    """
    from scipy.special import ndtr

    known = to_low if to_low is not None else to_high
    assert known is not None
    below = np.zeros(len(known)) if to_low is None else np.asarray(ndtr(to_low), np.float64)
    above = np.ones(len(known)) if to_high is None else np.asarray(ndtr(to_high), np.float64)
    return below, above
