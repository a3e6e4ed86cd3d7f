"""Doors: the functions behind the verbs that nouns have as methods.

``release.save`` says in its class what it takes and gives back, and calls ``doors.save``. How releases are saved is a
matter of a room that uses the nouns, so nouns cannot import it. ``discreet/__init__.py`` says where each function
lives, and it is imported when it is first called. Type checkers see the functions themselves, so that a method that
passes on a wrong argument is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.comparison.utility_verb import release_utility as release_utility
    from discreet.engine.prepared import prepared as prepared
    from discreet.files.pattern import write_pattern as write_pattern
    from discreet.files.published import write_public as write_public
    from discreet.files.text_records import as_text as as_text
    from discreet.model.pattern import pattern_of as pattern_of
    from discreet.report.decision_images import decision_image as decision_image
    from discreet.report.decision_images import risk_curve_image as risk_curve_image
    from discreet.report.maps import map_image as map_image
    from discreet.report.noise import noise_image as noise_image
    from discreet.report.public import public_report as public_report
    from discreet.report.series_images import series_curve_image as series_curve_image
    from discreet.report.series_images import series_image as series_image
    from discreet.report.series_images import series_links_image as series_links_image
    from discreet.report.value_images import value_image as value_image
    from discreet.rules import reasons as reasons
    from discreet.tables.perturb.entropy import maximum_entropy as maximum_entropy
    from discreet.tables.perturb.shuffle import shuffled as shuffled
    from discreet.verbs.assess import assess as assess
    from discreet.verbs.audit import audit as audit
    from discreet.verbs.audit import shared_cells as shared_cells
    from discreet.verbs.prices import prices as prices
    from discreet.verbs.ready_made import table_from_cells as table_from_cells
    from discreet.verbs.redesign import recode as recode
    from discreet.verbs.repair import repair as repair
    from discreet.verbs.replay import replay as replay
    from discreet.verbs.risk import risk as risk
    from discreet.verbs.save import save as save
    from discreet.verbs.show import pivot_to_frame as pivot_to_frame
    from discreet.verbs.show import public_to_frame as public_to_frame
    from discreet.verbs.show import summary as summary
    from discreet.verbs.show import table_to_frame as table_to_frame
    from discreet.verbs.show import to_frame as to_frame
    from discreet.verbs.structure import structure as structure
    from discreet.verbs.verify import verify as verify
    from discreet.verbs.without import without as without

_HOMES: dict[str, str] = {}


def add_doors(homes: Mapping[str, tuple[str, ...]]) -> None:
    """Say in which module the functions of these names live."""
    _HOMES.update((name, home) for home, names in homes.items() for name in names)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
