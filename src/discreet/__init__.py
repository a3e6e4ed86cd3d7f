"""discreet: make official statistics safe to publish, and prove it.

Nouns are ``Hierarchy``, ``Microdata``, ``Table``, ``TableSet``, ``Pattern`` and ``Release``; verbs are ``tabulate``,
``assess``, ``protect``, ``repair``, ``audit``, ``save`` and ``load``. Everything is imported when first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.methods.registry import METHODS
from discreet.model.doors import add_doors

if TYPE_CHECKING:
    from discreet import analyse, attack, generate, measures, private
    from discreet.argus.apriori import apply_apriori
    from discreet.argus.data import read_argus, read_argus_table
    from discreet.argus.output import write_argus
    from discreet.comparison.algorithms import compare_algorithms
    from discreet.comparison.compare import compare
    from discreet.comparison.fair import FairRisk
    from discreet.comparison.tune import family, tune
    from discreet.comparison.utility_verb import utility
    from discreet.errors import DiscreetError
    from discreet.files.blankings import read_blanking
    from discreet.files.cell_lists import read_acceptances, read_hints
    from discreet.files.hrc import read_code_map, read_hierarchy, read_labels, write_hierarchy, write_labels
    from discreet.files.noise_tables import read_noise_table, write_noise_table
    from discreet.files.pattern import read_pattern
    from discreet.files.published import Heading, write_public
    from discreet.files.statistical import statistical_metadata
    from discreet.files.transition_matrices import read_transition_matrices
    from discreet.generate import examples
    from discreet.keys import Key
    from discreet.measures.pram_estimates import pram_estimates
    from discreet.methods.base import Method
    from discreet.model.already import PublishedCells
    from discreet.model.figure import Figure
    from discreet.model.geography import Adjacency, HexGrid
    from discreet.model.hierarchy import Grouping, Hierarchy
    from discreet.model.microdata import Microdata
    from discreet.model.noise_table import NoiseTable
    from discreet.model.pattern import Pattern
    from discreet.model.release import Release
    from discreet.model.spec import TableSpec
    from discreet.model.table import Table
    from discreet.model.tableset import TableSet, VariableEquation
    from discreet.model.transition import TransitionMatrix
    from discreet.recipe.batch import convert_batch, run_batch
    from discreet.recipe.links import linked_clusters
    from discreet.recipe.run import run_recipe
    from discreet.records import presets
    from discreet.records.add_noise import AddNoise
    from discreet.records.blank_values import BlankValues
    from discreet.records.drop_add import DropAdd
    from discreet.records.generalise import Generalise
    from discreet.records.ipso import Ipso
    from discreet.records.local_suppress import LocalSuppress
    from discreet.records.mask_residual import MaskResidual
    from discreet.records.microaggregate import Microaggregate
    from discreet.records.microaggregated_swap import MicroaggregatedSwap
    from discreet.records.multiplicative_noise import MultiplicativeNoise
    from discreet.records.pram import Pram
    from discreet.records.rank_swap import RankSwap
    from discreet.records.recode import Recode
    from discreet.records.redraw import Redraw
    from discreet.records.reweight import Reweight
    from discreet.records.round_randomly import RoundRandomly
    from discreet.records.shuffle import Shuffle
    from discreet.records.swap import Swap
    from discreet.records.synthesise import Synthesise
    from discreet.report.safe_plots.account import PlotAccount
    from discreet.rules import (
        Dominance,
        GroupDisclosure,
        MaxShare,
        MinContributors,
        MinFrequency,
        PPercent,
        PriorPosterior,
        Request,
        Rule,
        ZeroUnsafe,
    )
    from discreet.rules.anonymity import KAnonymity
    from discreet.rules.diversity import BetaLikeness, LDiversity, TCloseness
    from discreet.rules.levels import level_combinations
    from discreet.rules.linkage import MaxLinked
    from discreet.rules.population import DeltaPresence, KMap
    from discreet.rules.profiles import Profile, profile
    from discreet.server.client import connect
    from discreet.tables.adjust.method import Adjust
    from discreet.tables.intervals.method import Intervals
    from discreet.tables.perturb.cell_key_method import CellKey
    from discreet.tables.perturb.magnitude_noise import MagnitudeNoise
    from discreet.tables.perturb.small_count_method import SmallCount
    from discreet.tables.redistribute.method import Redistribute
    from discreet.tables.rounding.method import Round
    from discreet.tables.suppress.method import Suppress
    from discreet.verbs.assess import assess
    from discreet.verbs.audit import audit
    from discreet.verbs.check_output import check_output
    from discreet.verbs.coordinate import coordinate
    from discreet.verbs.crosstab import crosstab
    from discreet.verbs.instances import table_from_jj
    from discreet.verbs.load import load
    from discreet.verbs.offices import office_table
    from discreet.verbs.proposals import propose_recodes, redesign
    from discreet.verbs.protect import protect
    from discreet.verbs.repair import repair
    from discreet.verbs.replay import replay
    from discreet.verbs.risk import risk
    from discreet.verbs.safe_plot import safe_plot
    from discreet.verbs.save import save, sign
    from discreet.verbs.step_risk import risk_by_step
    from discreet.verbs.structure import structure
    from discreet.verbs.tabulate import tabulate
    from discreet.verbs.tiers import Tier, Tiers, is_nested, tiers
    from discreet.verify import check_folder
    from discreet.watching import show_progress

_HOME = {
    "discreet.recipe.batch": ("convert_batch", "run_batch"),
    "discreet.watching": ("show_progress",),
    "discreet.errors": ("DiscreetError",),
    "discreet.files.blankings": ("read_blanking",),
    "discreet.files.cell_lists": ("read_acceptances", "read_hints"),
    "discreet.files.hrc": ("read_code_map", "read_hierarchy", "read_labels", "write_hierarchy", "write_labels"),
    "discreet.files.pattern": ("read_pattern",),
    "discreet.files.published": ("Heading", "write_public"),
    "discreet.files.statistical": ("statistical_metadata",),
    "discreet.files.noise_tables": ("read_noise_table", "write_noise_table"),
    "discreet.files.transition_matrices": ("read_transition_matrices",),
    "discreet.keys": ("Key",),
    "discreet.model.already": ("PublishedCells",),
    "discreet.model.figure": ("Figure",),
    "discreet.model.geography": ("Adjacency", "HexGrid"),
    "discreet.model.hierarchy": ("Grouping", "Hierarchy"),
    "discreet.model.microdata": ("Microdata",),
    "discreet.model.noise_table": ("NoiseTable",),
    "discreet.model.pattern": ("Pattern",),
    "discreet.model.release": ("Release",),
    "discreet.model.spec": ("TableSpec",),
    "discreet.model.table": ("Table",),
    "discreet.model.tableset": ("TableSet", "VariableEquation"),
    "discreet.model.transition": ("TransitionMatrix",),
    "discreet.rules": (
        "Dominance",
        "GroupDisclosure",
        "MaxShare",
        "MinContributors",
        "MinFrequency",
        "PPercent",
        "PriorPosterior",
        "Request",
        "Rule",
        "ZeroUnsafe",
    ),
    "discreet.tables.adjust.method": ("Adjust",),
    "discreet.tables.perturb.cell_key_method": ("CellKey",),
    "discreet.records.blank_values": ("BlankValues",),
    "discreet.records.drop_add": ("DropAdd",),
    "discreet.tables.intervals.method": ("Intervals",),
    "discreet.tables.perturb.magnitude_noise": ("MagnitudeNoise",),
    "discreet.records.add_noise": ("AddNoise",),
    "discreet.records.generalise": ("Generalise",),
    "discreet.records.ipso": ("Ipso",),
    "discreet.records.local_suppress": ("LocalSuppress",),
    "discreet.records.microaggregate": ("Microaggregate",),
    "discreet.records.microaggregated_swap": ("MicroaggregatedSwap",),
    "discreet.records.multiplicative_noise": ("MultiplicativeNoise",),
    "discreet.tables.redistribute.method": ("Redistribute",),
    "discreet.tables.rounding.method": ("Round",),
    "discreet.tables.perturb.small_count_method": ("SmallCount",),
    "discreet.tables.suppress.method": ("Suppress",),
    "discreet.records.shuffle": ("Shuffle",),
    "discreet.records.synthesise": ("Synthesise",),
    "discreet.records.swap": ("Swap",),
    "discreet.methods.base": ("Method",),
    "discreet.records.mask_residual": ("MaskResidual",),
    "discreet.records.rank_swap": ("RankSwap",),
    "discreet.measures.pram_estimates": ("pram_estimates",),
    "discreet.records.pram": ("Pram",),
    "discreet.records.recode": ("Recode",),
    "discreet.records.redraw": ("Redraw",),
    "discreet.records.reweight": ("Reweight",),
    "discreet.records.round_randomly": ("RoundRandomly",),
    "discreet.rules.anonymity": ("KAnonymity",),
    "discreet.rules.linkage": ("MaxLinked",),
    "discreet.rules.diversity": ("BetaLikeness", "LDiversity", "TCloseness"),
    "discreet.rules.population": ("DeltaPresence", "KMap"),
    "discreet.rules.levels": ("level_combinations",),
    "discreet.rules.profiles": ("Profile", "profile"),
    "discreet.server.client": ("connect",),
    "discreet.comparison.algorithms": ("compare_algorithms",),
    "discreet.argus.apriori": ("apply_apriori",),
    "discreet.argus.data": ("read_argus", "read_argus_table"),
    "discreet.argus.output": ("write_argus",),
    "discreet.verbs.assess": ("assess",),
    "discreet.verbs.audit": ("audit",),
    "discreet.comparison.compare": ("compare",),
    "discreet.verbs.check_output": ("check_output",),
    "discreet.verbs.coordinate": ("coordinate",),
    "discreet.verbs.crosstab": ("crosstab",),
    "discreet.comparison.fair": ("FairRisk",),
    "discreet.verbs.instances": ("table_from_jj",),
    "discreet.recipe.links": ("linked_clusters",),
    "discreet.verbs.load": ("load",),
    "discreet.verbs.offices": ("office_table",),
    "discreet.verbs.proposals": ("propose_recodes", "redesign"),
    "discreet.verbs.protect": ("protect",),
    "discreet.recipe.run": ("run_recipe",),
    "discreet.verbs.repair": ("repair",),
    "discreet.verbs.replay": ("replay",),
    "discreet.verbs.risk": ("risk",),
    "discreet.verbs.step_risk": ("risk_by_step",),
    "discreet.verbs.tiers": ("Tier", "Tiers", "is_nested", "tiers"),
    "discreet.verbs.safe_plot": ("safe_plot",),
    "discreet.verbs.save": ("save", "sign"),
    "discreet.report.safe_plots.account": ("PlotAccount",),
    "discreet.verbs.structure": ("structure",),
    "discreet.verbs.tabulate": ("tabulate",),
    "discreet.comparison.tune": ("family", "tune"),
    "discreet.comparison.utility_verb": ("utility",),
    "discreet.verify": ("check_folder",),
}
METHODS.add_homes(
    {
        "add_noise": "discreet.records.add_noise",
        "adjust": "discreet.tables.adjust.method",
        "blank_values": "discreet.records.blank_values",
        "cell_key": "discreet.tables.perturb.cell_key_method",
        "drop_add": "discreet.records.drop_add",
        "generalise": "discreet.records.generalise",
        "intervals": "discreet.tables.intervals.method",
        "ipso": "discreet.records.ipso",
        "local_suppress": "discreet.records.local_suppress",
        "microaggregate": "discreet.records.microaggregate",
        "microaggregated_swap": "discreet.records.microaggregated_swap",
        "multiplicative_noise": "discreet.records.multiplicative_noise",
        "mask_residual": "discreet.records.mask_residual",
        "rank_swap": "discreet.records.rank_swap",
        "pram": "discreet.records.pram",
        "recode": "discreet.records.recode",
        "redraw": "discreet.records.redraw",
        "reweight": "discreet.records.reweight",
        "redistribute": "discreet.tables.redistribute.method",
        "round": "discreet.tables.rounding.method",
        "round_randomly": "discreet.records.round_randomly",
        "shuffle": "discreet.records.shuffle",
        "synthesise": "discreet.records.synthesise",
        "small_count": "discreet.tables.perturb.small_count_method",
        "suppress": "discreet.tables.suppress.method",
        "swap": "discreet.records.swap",
    }
)
_WHERE = {name: home for home, names in _HOME.items() for name in names}
_MODULES = {
    "analyse": "discreet.analyse",
    "attack": "discreet.attack",
    "examples": "discreet.generate.examples",
    "generate": "discreet.generate",
    "measures": "discreet.measures",
    "presets": "discreet.records.presets",
    "private": "discreet.private",
}

__all__ = [
    "AddNoise",
    "Adjacency",
    "Adjust",
    "BetaLikeness",
    "BlankValues",
    "CellKey",
    "DeltaPresence",
    "DiscreetError",
    "Dominance",
    "DropAdd",
    "FairRisk",
    "Figure",
    "Generalise",
    "GroupDisclosure",
    "Grouping",
    "Heading",
    "HexGrid",
    "Hierarchy",
    "Intervals",
    "Ipso",
    "KAnonymity",
    "KMap",
    "Key",
    "LDiversity",
    "LocalSuppress",
    "MagnitudeNoise",
    "MaskResidual",
    "MaxLinked",
    "MaxShare",
    "Method",
    "Microaggregate",
    "MicroaggregatedSwap",
    "Microdata",
    "MinContributors",
    "MinFrequency",
    "MultiplicativeNoise",
    "NoiseTable",
    "PPercent",
    "Pattern",
    "PlotAccount",
    "Pram",
    "PriorPosterior",
    "Profile",
    "PublishedCells",
    "RankSwap",
    "Recode",
    "Redistribute",
    "Redraw",
    "Release",
    "Request",
    "Reweight",
    "Round",
    "RoundRandomly",
    "Rule",
    "Shuffle",
    "SmallCount",
    "Suppress",
    "Swap",
    "Synthesise",
    "TCloseness",
    "Table",
    "TableSet",
    "TableSpec",
    "Tier",
    "Tiers",
    "TransitionMatrix",
    "VariableEquation",
    "ZeroUnsafe",
    "analyse",
    "apply_apriori",
    "assess",
    "attack",
    "audit",
    "check_folder",
    "check_output",
    "compare",
    "compare_algorithms",
    "connect",
    "convert_batch",
    "coordinate",
    "crosstab",
    "examples",
    "family",
    "generate",
    "is_nested",
    "level_combinations",
    "linked_clusters",
    "load",
    "measures",
    "office_table",
    "pram_estimates",
    "presets",
    "private",
    "profile",
    "propose_recodes",
    "protect",
    "read_acceptances",
    "read_argus",
    "read_argus_table",
    "read_blanking",
    "read_code_map",
    "read_hierarchy",
    "read_hints",
    "read_labels",
    "read_noise_table",
    "read_pattern",
    "read_transition_matrices",
    "redesign",
    "repair",
    "replay",
    "risk",
    "risk_by_step",
    "run_batch",
    "run_recipe",
    "safe_plot",
    "save",
    "show_progress",
    "sign",
    "statistical_metadata",
    "structure",
    "table_from_jj",
    "tabulate",
    "tiers",
    "tune",
    "utility",
    "write_argus",
    "write_hierarchy",
    "write_labels",
    "write_noise_table",
    "write_public",
]


add_doors(
    {
        "discreet.engine.prepared": ("prepared",),
        "discreet.files.pattern": ("write_pattern",),
        "discreet.files.published": ("write_public",),
        "discreet.files.text_records": ("as_text",),
        "discreet.model.pattern": ("pattern_of",),
        "discreet.report.decision_images": ("decision_image", "risk_curve_image"),
        "discreet.report.maps": ("map_image",),
        "discreet.report.noise": ("noise_image",),
        "discreet.report.public": ("public_report",),
        "discreet.report.series_images": ("series_curve_image", "series_image", "series_links_image"),
        "discreet.report.value_images": ("value_image",),
        "discreet.rules": ("reasons",),
        "discreet.tables.perturb.entropy": ("maximum_entropy",),
        "discreet.tables.perturb.shuffle": ("shuffled",),
        "discreet.verbs.assess": ("assess",),
        "discreet.verbs.audit": ("audit", "shared_cells"),
        "discreet.verbs.prices": ("prices",),
        "discreet.verbs.ready_made": ("table_from_cells",),
        "discreet.verbs.redesign": ("recode",),
        "discreet.verbs.repair": ("repair",),
        "discreet.verbs.replay": ("replay",),
        "discreet.verbs.risk": ("risk",),
        "discreet.verbs.save": ("save",),
        "discreet.verbs.structure": ("structure",),
        "discreet.verbs.show": ("pivot_to_frame", "public_to_frame", "summary", "table_to_frame", "to_frame"),
        "discreet.comparison.utility_verb": ("release_utility",),
        "discreet.verbs.verify": ("verify",),
        "discreet.verbs.without": ("without",),
    }
)

if "IPython" in sys.modules:  # maybe the kernel of a notebook, where work shows its progress
    import_module("discreet.notebook_bar").watch()


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _WHERE:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
