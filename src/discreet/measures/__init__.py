"""Pure functions from original and published values to numbers; none of them runs a method.

Examples
--------
>>> import discreet as ds
>>> ds.measures.percent_difference([10, 20], [11, 20])
array([-10.,   0.])
"""

from discreet.measures.association import deviance
from discreet.measures.attribute import AttributeRisk, attribute_risk, best_guesses
from discreet.measures.bias import rounding_bias, signed_rank
from discreet.measures.deviation import deviation_classes
from discreet.measures.disclosure_tiers import largest_tail, rarest_risk, smallest_spread
from discreet.measures.fair import Fair, fair_comparison, fair_over_runs
from discreet.measures.file_pair import FilePair, pair_files
from discreet.measures.fit import Fit, fit
from discreet.measures.grid import Grid
from discreet.measures.individual_risk import (
    FileRisk,
    file_risk,
    household_risk,
    individual_risk,
    threshold_for,
    threshold_for_rate,
)
from discreet.measures.margins import associations, margins, table_distance
from discreet.measures.matrix_battery import MatrixBattery, matrix_battery
from discreet.measures.model_changes import ModelChange, model_change
from discreet.measures.noise import change_shares, noise_errors, noise_over_runs
from discreet.measures.overlap import interval_overlap, inverse_mean_square, percent_difference
from discreet.measures.pram import (
    PramLosses,
    PramRisk,
    back_chances,
    estimate_variance,
    information_loss,
    pram_losses,
    pram_risk,
    relative_difference,
)
from discreet.measures.pram_release import released_pram_risk
from discreet.measures.propensity import Propensity, propensity
from discreet.measures.propensity_tree import TreeColumn, TreePropensity, tree_propensity
from discreet.measures.public_utility import PublicUtility
from discreet.measures.ranks import rank_changes
from discreet.measures.redistribution import map_measures
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
from discreet.measures.sample_risk import SampleRisk, sample_risk
from discreet.measures.statistic_changes import StatisticChange, statistic_changes
from discreet.measures.suite import Measure, table_measures
from discreet.measures.utility_result import RecordUtility
from discreet.measures.values import ValueLosses, ValuePair, eigenvalue_changes, il1, value_losses, value_pair

__all__ = [
    "AttributeRisk",
    "Fair",
    "FilePair",
    "FileRisk",
    "Fit",
    "Grid",
    "MatrixBattery",
    "Measure",
    "ModelChange",
    "PramLosses",
    "PramRisk",
    "Propensity",
    "PublicUtility",
    "RecordUtility",
    "SampleRisk",
    "StatisticChange",
    "TreeColumn",
    "TreePropensity",
    "ValueLosses",
    "ValuePair",
    "associations",
    "attribute_risk",
    "back_chances",
    "best_guesses",
    "change_shares",
    "chi_square",
    "chi_square_bounds",
    "chi_square_constants",
    "chi_square_p",
    "compare_rules",
    "deviance",
    "deviation_classes",
    "eigenvalue_changes",
    "estimate_variance",
    "expected_chi_square",
    "fair_comparison",
    "fair_over_runs",
    "file_risk",
    "fit",
    "forecast_chi_square",
    "household_risk",
    "il1",
    "individual_risk",
    "information_loss",
    "interval_overlap",
    "inverse_mean_square",
    "largest_tail",
    "map_measures",
    "margins",
    "matrix_battery",
    "model_change",
    "moments",
    "noise_errors",
    "noise_over_runs",
    "pair_files",
    "percent_difference",
    "posterior",
    "posterior_risk",
    "pram_losses",
    "pram_risk",
    "propensity",
    "rank_changes",
    "rarest_risk",
    "relative_difference",
    "released_pram_risk",
    "rounding_bias",
    "sample_risk",
    "signed_rank",
    "smallest_spread",
    "statistic_changes",
    "table_distance",
    "table_measures",
    "threshold_for",
    "threshold_for_rate",
    "tree_propensity",
    "value_losses",
    "value_pair",
]
