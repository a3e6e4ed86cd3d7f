"""Methods that protect tables."""

from discreet.tables.adjust import Adjust
from discreet.tables.intervals import Intervals
from discreet.tables.method import METHODS, Method, method_from_record
from discreet.tables.perturb.drop_add_method import DropAdd
from discreet.tables.perturb.magnitude_noise import MagnitudeNoise
from discreet.tables.perturb.method import CellKey
from discreet.tables.perturb.noise_method import MultiplicativeNoise
from discreet.tables.perturb.small_count_method import SmallCount
from discreet.tables.perturb.swap_method import Swap
from discreet.tables.redistribute.method import Redistribute
from discreet.tables.rounding import Round
from discreet.tables.suppress import Suppress

__all__ = [
    "METHODS",
    "Adjust",
    "CellKey",
    "DropAdd",
    "Intervals",
    "MagnitudeNoise",
    "Method",
    "MultiplicativeNoise",
    "Redistribute",
    "Round",
    "SmallCount",
    "Suppress",
    "Swap",
    "method_from_record",
]
