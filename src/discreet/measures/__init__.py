"""Pure functions from original and published values to numbers; none of them runs a method."""

from discreet.measures.fit import Fit, fit
from discreet.measures.rounding import (
    chi_square,
    chi_square_bounds,
    chi_square_constants,
    chi_square_p,
    compare_rules,
    expected_chi_square,
    forecast_chi_square,
    moments,
    posterior,
    posterior_risk,
)

__all__ = [
    "Fit",
    "chi_square",
    "chi_square_bounds",
    "chi_square_constants",
    "chi_square_p",
    "compare_rules",
    "expected_chi_square",
    "fit",
    "forecast_chi_square",
    "moments",
    "posterior",
    "posterior_risk",
]
