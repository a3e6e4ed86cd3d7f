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
    from discreet.attack.linkage import link, link_all_ways
    from discreet.attack.linkage_result import Linkage, Linkages
    from discreet.attack.margins import Disclosed, disclosed_by_bounds, margin_bounds, two_way_disclosure
    from discreet.attack.rank_windows import RankBounds, rank_bounds
    from discreet.attack.record_attack import RecordAttack, ShareInterval, binomial_interval
    from discreet.attack.slivers import Slivers, sliver_attack
    from discreet.attack.uniqueness import Entry, EntryBounds, attainable_values, unique_entries
    from discreet.attack.value_intervals import IntervalDisclosure, interval_disclosure
    from discreet.attack.withholding import MarginChoice, margins_to_withhold

__all__ = [
    "AttackIntervals",
    "Audit",
    "Averaged",
    "Disclosed",
    "Entry",
    "EntryBounds",
    "External",
    "IntervalDisclosure",
    "Linkage",
    "Linkages",
    "MarginChoice",
    "RankBounds",
    "RecordAttack",
    "RegionDifferences",
    "ShareInterval",
    "Slivers",
    "WorstInsider",
    "answers_needed",
    "attack_by_insiders",
    "attack_by_pairs",
    "attack_intervals",
    "attainable_values",
    "average_answers",
    "binomial_interval",
    "difference_releases",
    "disclosed_by_bounds",
    "interval_disclosure",
    "least_squares_attack",
    "link",
    "link_all_ways",
    "margin_bounds",
    "margins_to_withhold",
    "rank_bounds",
    "sliver_attack",
    "two_way_disclosure",
    "unique_entries",
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
            "value_intervals": ["IntervalDisclosure", "interval_disclosure"],
            "intervals": ["AttackIntervals", "External", "attack_intervals"],
            "linkage": ["link", "link_all_ways"],
            "linkage_result": ["Linkage", "Linkages"],
            "margins": ["Disclosed", "disclosed_by_bounds", "margin_bounds", "two_way_disclosure"],
            "rank_windows": ["RankBounds", "rank_bounds"],
            "record_attack": ["RecordAttack", "ShareInterval", "binomial_interval"],
            "slivers": ["Slivers", "sliver_attack"],
            "uniqueness": ["Entry", "EntryBounds", "attainable_values", "unique_entries"],
            "withholding": ["MarginChoice", "margins_to_withhold"],
        },
    )
