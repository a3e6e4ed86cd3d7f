"""discreet: make official statistics safe to publish, and prove it.

Nouns are ``Hierarchy``, ``Microdata``, ``Table``, ``TableSet``, ``Pattern`` and ``Release``; verbs are ``tabulate``,
``assess``, ``protect``, ``repair``, ``audit``, ``save`` and ``load``. Everything is imported when first used.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.methods.registry import METHODS
from discreet.model.microdata import Microdata
from discreet.model.noise_table import NoiseTable
from discreet.model.pattern import Pattern
from discreet.model.public import PublicRelease
from discreet.model.release import Release
from discreet.model.table import Table
from discreet.model.tableset import TableSet

if TYPE_CHECKING:
    from discreet import attack, generate, measures
    from discreet.argus.run import convert_batch, run_batch
    from discreet.errors import DiscreetError
    from discreet.files.cell_lists import read_acceptances, read_hints
    from discreet.files.hrc import read_code_map, read_hierarchy, read_labels, write_hierarchy, write_labels
    from discreet.files.noise_tables import read_noise_table, write_noise_table
    from discreet.files.pattern import read_pattern
    from discreet.files.published import Heading, write_public
    from discreet.files.statistical import statistical_metadata
    from discreet.generate import examples
    from discreet.keys import Key
    from discreet.methods.base import Method
    from discreet.model.already import PublishedCells
    from discreet.model.figure import Figure
    from discreet.model.geography import Adjacency, HexGrid
    from discreet.model.hierarchy import Grouping, Hierarchy
    from discreet.model.spec import TableSpec
    from discreet.model.tableset import VariableEquation
    from discreet.records.drop_add import DropAdd
    from discreet.records.multiplicative_noise import MultiplicativeNoise
    from discreet.records.recode import Recode
    from discreet.records.swap import Swap
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
    from discreet.rules.records import KAnonymity
    from discreet.tables.adjust.method import Adjust
    from discreet.tables.intervals.method import Intervals
    from discreet.tables.perturb.cell_key_method import CellKey
    from discreet.tables.perturb.magnitude_noise import MagnitudeNoise
    from discreet.tables.perturb.small_count_method import SmallCount
    from discreet.tables.redistribute.method import Redistribute
    from discreet.tables.rounding.method import Round
    from discreet.tables.suppress.method import Suppress
    from discreet.verbs.algorithms import compare_algorithms
    from discreet.verbs.argus_apriori import apply_apriori
    from discreet.verbs.argus_data import read_argus, read_argus_table
    from discreet.verbs.argus_output import write_argus
    from discreet.verbs.assess import assess
    from discreet.verbs.audit import audit
    from discreet.verbs.check_output import check_output
    from discreet.verbs.compare import compare
    from discreet.verbs.coordinate import coordinate
    from discreet.verbs.fair import FairRisk
    from discreet.verbs.instances import table_from_jj
    from discreet.verbs.links import linked_clusters
    from discreet.verbs.load import load
    from discreet.verbs.offices import office_table
    from discreet.verbs.proposals import propose_recodes, redesign
    from discreet.verbs.protect import protect
    from discreet.verbs.recipe import run_recipe
    from discreet.verbs.repair import repair
    from discreet.verbs.replay import replay
    from discreet.verbs.save import save, sign
    from discreet.verbs.tabulate import tabulate
    from discreet.verbs.tune import family, tune
    from discreet.verbs.utility import utility
    from discreet.verify import check_folder

_HOME = {
    "discreet.argus.run": ("convert_batch", "run_batch"),
    "discreet.errors": ("DiscreetError",),
    "discreet.files.cell_lists": ("read_acceptances", "read_hints"),
    "discreet.files.hrc": ("read_code_map", "read_hierarchy", "read_labels", "write_hierarchy", "write_labels"),
    "discreet.files.pattern": ("read_pattern",),
    "discreet.files.published": ("Heading", "write_public"),
    "discreet.files.statistical": ("statistical_metadata",),
    "discreet.files.noise_tables": ("read_noise_table", "write_noise_table"),
    "discreet.keys": ("Key",),
    "discreet.model.already": ("PublishedCells",),
    "discreet.model.figure": ("Figure",),
    "discreet.model.geography": ("Adjacency", "HexGrid"),
    "discreet.model.hierarchy": ("Grouping", "Hierarchy"),
    "discreet.model.spec": ("TableSpec",),
    "discreet.model.tableset": ("VariableEquation",),
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
    "discreet.records.drop_add": ("DropAdd",),
    "discreet.tables.intervals.method": ("Intervals",),
    "discreet.tables.perturb.magnitude_noise": ("MagnitudeNoise",),
    "discreet.records.multiplicative_noise": ("MultiplicativeNoise",),
    "discreet.tables.redistribute.method": ("Redistribute",),
    "discreet.tables.rounding.method": ("Round",),
    "discreet.tables.perturb.small_count_method": ("SmallCount",),
    "discreet.tables.suppress.method": ("Suppress",),
    "discreet.records.swap": ("Swap",),
    "discreet.methods.base": ("Method",),
    "discreet.records.recode": ("Recode",),
    "discreet.rules.records": ("KAnonymity",),
    "discreet.verbs.algorithms": ("compare_algorithms",),
    "discreet.verbs.argus_apriori": ("apply_apriori",),
    "discreet.verbs.argus_data": ("read_argus", "read_argus_table"),
    "discreet.verbs.argus_output": ("write_argus",),
    "discreet.verbs.assess": ("assess",),
    "discreet.verbs.audit": ("audit",),
    "discreet.verbs.compare": ("compare",),
    "discreet.verbs.check_output": ("check_output",),
    "discreet.verbs.coordinate": ("coordinate",),
    "discreet.verbs.fair": ("FairRisk",),
    "discreet.verbs.instances": ("table_from_jj",),
    "discreet.verbs.links": ("linked_clusters",),
    "discreet.verbs.load": ("load",),
    "discreet.verbs.offices": ("office_table",),
    "discreet.verbs.proposals": ("propose_recodes", "redesign"),
    "discreet.verbs.protect": ("protect",),
    "discreet.verbs.recipe": ("run_recipe",),
    "discreet.verbs.repair": ("repair",),
    "discreet.verbs.replay": ("replay",),
    "discreet.verbs.save": ("save", "sign"),
    "discreet.verbs.tabulate": ("tabulate",),
    "discreet.verbs.tune": ("family", "tune"),
    "discreet.verbs.utility": ("utility",),
    "discreet.verify": ("check_folder",),
}
METHODS.add_homes(
    {
        "adjust": "discreet.tables.adjust.method",
        "cell_key": "discreet.tables.perturb.cell_key_method",
        "drop_add": "discreet.records.drop_add",
        "intervals": "discreet.tables.intervals.method",
        "multiplicative_noise": "discreet.records.multiplicative_noise",
        "recode": "discreet.records.recode",
        "redistribute": "discreet.tables.redistribute.method",
        "round": "discreet.tables.rounding.method",
        "small_count": "discreet.tables.perturb.small_count_method",
        "suppress": "discreet.tables.suppress.method",
        "swap": "discreet.records.swap",
    }
)
_WHERE = {name: home for home, names in _HOME.items() for name in names}
_MODULES = {
    "attack": "discreet.attack",
    "examples": "discreet.generate.examples",
    "generate": "discreet.generate",
    "measures": "discreet.measures",
}

__all__ = ["Microdata", "NoiseTable", "Pattern", "Release", "Table", "TableSet", *_WHERE, *_MODULES]


def _verb(home: str, name: str) -> Callable[..., Any]:
    """A verb as a method of a noun; its module is imported when it is first called."""

    def method(*args: Any, **options: Any) -> Any:
        return getattr(import_module(home), name)(*args, **options)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"See ``{home}.{name}``."
    return method


# The verbs on the nouns, one line each, so that the model imports nothing below it.
_VERBS: tuple[tuple[type, str, str, str], ...] = (
    (Table, "assess", "discreet.verbs.assess", "assess"),
    (Table, "audit", "discreet.verbs.audit", "audit"),
    (Table, "pattern", "discreet.model.pattern", "pattern_of"),
    (Table, "recode", "discreet.verbs.redesign", "recode"),
    (Table, "reasons", "discreet.rules", "reasons"),
    (Table, "repair", "discreet.verbs.repair", "repair"),
    (Table, "to_frame", "discreet.verbs.show", "table_to_frame"),
    (TableSet, "assess", "discreet.verbs.assess", "assess"),
    (TableSet, "audit", "discreet.verbs.audit", "audit"),
    (TableSet, "pattern", "discreet.model.pattern", "pattern_of"),
    (TableSet, "repair", "discreet.verbs.repair", "repair"),
    (TableSet, "shared", "discreet.verbs.audit", "shared_cells"),
    (Microdata, "assess", "discreet.verbs.assess", "assess"),
    (Microdata, "prepared", "discreet.engine.prepared", "prepared"),
    (Pattern, "write", "discreet.files.pattern", "write_pattern"),
    (NoiseTable, "image", "discreet.report.noise", "noise_image"),
    (NoiseTable, "shuffled", "discreet.tables.perturb.shuffle", "shuffled"),
    (PublicRelease, "page", "discreet.report", "public_report"),
    (PublicRelease, "write", "discreet.files.published", "write_public"),
    (Release, "audit", "discreet.verbs.audit", "audit"),
    (Release, "map_image", "discreet.report.maps", "map_image"),
    (Release, "pattern", "discreet.model.pattern", "pattern_of"),
    (Release, "replay", "discreet.verbs.replay", "replay"),
    (Release, "save", "discreet.verbs.save", "save"),
    (Release, "summary", "discreet.verbs.show", "summary"),
    (Release, "to_frame", "discreet.verbs.show", "to_frame"),
    (Release, "utility", "discreet.verbs.utility", "utility"),
    (Release, "verify", "discreet.verbs.verify", "verify"),
)
for _noun, _name, _home, _function in _VERBS:
    setattr(_noun, _name, _verb(_home, _function))
Table.from_cells = staticmethod(_verb("discreet.verbs.ready_made", "table_from_cells"))  # type: ignore[attr-defined]
NoiseTable.maximum_entropy = staticmethod(  # type: ignore[attr-defined]
    _verb("discreet.tables.perturb.entropy", "maximum_entropy")
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _WHERE:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
