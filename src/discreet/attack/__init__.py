"""What an attacker can work out.

Examples
--------
>>> import discreet as ds
>>> audit = ds.examples.small_table().assess(ds.PPercent(10)).audit(insiders=None)
>>> isinstance(audit, ds.attack.Audit), audit.recoverable
(True, 1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazy import names_from

if TYPE_CHECKING:
    from discreet.attack.audit import Audit
    from discreet.attack.averaging import Averaged, answers_needed, average_answers, least_squares_attack
    from discreet.attack.coalitions import attack_by_pairs
    from discreet.attack.differencing import RegionDifferences, difference_releases
    from discreet.attack.insiders import WorstInsider, attack_by_insiders
    from discreet.attack.intervals import AttackIntervals, External, attack_intervals
    from discreet.attack.margins import Disclosed, disclosed_by_bounds, margin_bounds, two_way_disclosure
    from discreet.attack.rank_windows import RankBounds, rank_bounds
    from discreet.attack.record_attack import RecordAttack, ShareInterval, binomial_interval
    from discreet.attack.series import SeriesLinks, link_series
    from discreet.attack.series_comparison import SeriesComparison, compare_series_links
    from discreet.attack.series_distances import WarpingPath, normalised_series, series_distance, warping_path
    from discreet.attack.slivers import Slivers, sliver_attack
    from discreet.attack.uniqueness import Entry, EntryBounds, attainable_values, unique_entries
    from discreet.attack.withholding import MarginChoice, margins_to_withhold

__all__ = [
    "AttackIntervals",
    "Audit",
    "Averaged",
    "Disclosed",
    "Entry",
    "EntryBounds",
    "External",
    "MarginChoice",
    "RankBounds",
    "RecordAttack",
    "RegionDifferences",
    "SeriesComparison",
    "SeriesLinks",
    "ShareInterval",
    "Slivers",
    "WarpingPath",
    "WorstInsider",
    "answers_needed",
    "attack_by_insiders",
    "attack_by_pairs",
    "attack_intervals",
    "attainable_values",
    "average_answers",
    "binomial_interval",
    "compare_series_links",
    "difference_releases",
    "disclosed_by_bounds",
    "least_squares_attack",
    "link_series",
    "margin_bounds",
    "margins_to_withhold",
    "normalised_series",
    "rank_bounds",
    "series_distance",
    "sliver_attack",
    "two_way_disclosure",
    "unique_entries",
    "warping_path",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_from(
        __name__,
        {
            "audit": ["Audit"],
            "averaging": ["Averaged", "answers_needed", "average_answers", "least_squares_attack"],
            "coalitions": ["attack_by_pairs"],
            "differencing": ["RegionDifferences", "difference_releases"],
            "insiders": ["WorstInsider", "attack_by_insiders"],
            "intervals": ["AttackIntervals", "External", "attack_intervals"],
            "margins": ["Disclosed", "disclosed_by_bounds", "margin_bounds", "two_way_disclosure"],
            "rank_windows": ["RankBounds", "rank_bounds"],
            "record_attack": ["RecordAttack", "ShareInterval", "binomial_interval"],
            "series": ["SeriesLinks", "link_series"],
            "series_comparison": ["SeriesComparison", "compare_series_links"],
            "series_distances": ["WarpingPath", "normalised_series", "series_distance", "warping_path"],
            "slivers": ["Slivers", "sliver_attack"],
            "uniqueness": ["Entry", "EntryBounds", "attainable_values", "unique_entries"],
            "withholding": ["MarginChoice", "margins_to_withhold"],
        },
    )
