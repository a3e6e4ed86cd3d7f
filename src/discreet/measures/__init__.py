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
from discreet.measures.decision import (
    DecisionProblem,
    DecisionRisk,
    DictionaryDominance,
    DictionaryRisks,
    Jaro,
    Policy,
    RiskCurve,
    Sensitivity,
    UncertainPolicy,
    best_policy,
    decision_problem,
    decision_risk,
    dominates,
    independent_attributes,
    is_policy,
    jaro,
    min_risk,
    policy_count,
    policy_over_dictionaries,
    problem_risk,
    release_problem,
    risk_curve,
    risk_over_dictionaries,
)
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
from discreet.measures.population.cells import SampleCells
from discreet.measures.population.estimate import PopulationEstimate
from discreet.measures.population.formulas import CellRisk, cell_risk, unique_risk
from discreet.measures.population.log_linear import LogLinearFit, choose_log_linear, log_linear
from discreet.measures.population.overview import population_estimates, weight_only
from discreet.measures.population.registers import AlignedTables, aligned_tables, key_cells
from discreet.measures.population.smoothing import (
    CloseCells,
    SmoothedRisk,
    ordinal_codes,
    smoothed_records,
    smoothed_risk,
    smoothing_grid,
)
from discreet.measures.population.spree import SpreeRisk, SpreeSettings, spree_risk
from discreet.measures.population.superpopulation import pitman, shifted_negative_binomial, superpopulation, zayatz
from discreet.measures.population.survey_log_linear import survey_log_linear
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
from discreet.measures.put_back import WeightTelling, put_back, put_back_sizes, weight_telling
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
    "AlignedTables",
    "AttributeRisk",
    "CellRisk",
    "CloseCells",
    "DecisionProblem",
    "DecisionRisk",
    "DictionaryDominance",
    "DictionaryRisks",
    "Fair",
    "FilePair",
    "FileRisk",
    "Fit",
    "Grid",
    "Jaro",
    "LogLinearFit",
    "MatrixBattery",
    "Measure",
    "ModelChange",
    "Policy",
    "PopulationEstimate",
    "PramLosses",
    "PramRisk",
    "Propensity",
    "PublicUtility",
    "RecordUtility",
    "RiskCurve",
    "SampleCells",
    "SampleRisk",
    "Sensitivity",
    "SmoothedRisk",
    "SpreeRisk",
    "SpreeSettings",
    "StatisticChange",
    "TreeColumn",
    "TreePropensity",
    "UncertainPolicy",
    "ValueLosses",
    "ValuePair",
    "WeightTelling",
    "aligned_tables",
    "associations",
    "attribute_risk",
    "back_chances",
    "best_guesses",
    "best_policy",
    "cell_risk",
    "change_shares",
    "chi_square",
    "chi_square_bounds",
    "chi_square_constants",
    "chi_square_p",
    "choose_log_linear",
    "compare_rules",
    "decision_problem",
    "decision_risk",
    "deviance",
    "deviation_classes",
    "dominates",
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
    "independent_attributes",
    "individual_risk",
    "information_loss",
    "interval_overlap",
    "inverse_mean_square",
    "is_policy",
    "jaro",
    "key_cells",
    "largest_tail",
    "log_linear",
    "map_measures",
    "margins",
    "matrix_battery",
    "min_risk",
    "model_change",
    "moments",
    "noise_errors",
    "noise_over_runs",
    "ordinal_codes",
    "pair_files",
    "percent_difference",
    "pitman",
    "policy_count",
    "policy_over_dictionaries",
    "population_estimates",
    "posterior",
    "posterior_risk",
    "pram_losses",
    "pram_risk",
    "problem_risk",
    "propensity",
    "put_back",
    "put_back_sizes",
    "rank_changes",
    "rarest_risk",
    "relative_difference",
    "release_problem",
    "released_pram_risk",
    "risk_curve",
    "risk_over_dictionaries",
    "rounding_bias",
    "sample_risk",
    "shifted_negative_binomial",
    "signed_rank",
    "smallest_spread",
    "smoothed_records",
    "smoothed_risk",
    "smoothing_grid",
    "spree_risk",
    "statistic_changes",
    "superpopulation",
    "survey_log_linear",
    "table_distance",
    "table_measures",
    "threshold_for",
    "threshold_for_rate",
    "tree_propensity",
    "unique_risk",
    "value_losses",
    "value_pair",
    "weight_only",
    "weight_telling",
    "zayatz",
]
