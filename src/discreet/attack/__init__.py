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
    from discreet.attack.linkage_result import Linkage
    from discreet.attack.margins import Disclosed, disclosed_by_bounds, margin_bounds, two_way_disclosure
    from discreet.attack.plots import PlotAttack, density_attack, histogram_attack
    from discreet.attack.rank_windows import RankBounds, rank_bounds
    from discreet.attack.record_attack import RecordAttack, ShareInterval, binomial_interval
    from discreet.attack.record_audit import NotRun, RecordAudit
    from discreet.attack.series import SeriesLinks, link_series
    from discreet.attack.series_comparison import (
        SeriesComparison,
        SeriesCurve,
        compare_series_links,
        series_links_over,
    )
    from discreet.attack.series_distances import WarpingPath, normalised_series, series_distance, warping_path
    from discreet.attack.slivers import Slivers, sliver_attack
    from discreet.attack.synthetic.attribute import AttributeDisclosure, attribute_disclosure
    from discreet.attack.synthetic.battery import SyntheticAttacks, attack_synthetic
    from discreet.attack.synthetic.closest import ClosestRecords, closest_records
    from discreet.attack.synthetic.controlled_attack import ControlledAttack
    from discreet.attack.synthetic.inference import inference_attack
    from discreet.attack.synthetic.linkability import linkability_attack
    from discreet.attack.synthetic.membership import MembershipAttack, membership_attack
    from discreet.attack.synthetic.singling_out import singling_out_attack
    from discreet.attack.uniqueness import Entry, EntryBounds, attainable_values, unique_entries
    from discreet.attack.value_intervals import IntervalDisclosure, interval_disclosure
    from discreet.attack.withholding import MarginChoice, margins_to_withhold

__all__ = [
    "AttackIntervals",
    "AttributeDisclosure",
    "Audit",
    "Averaged",
    "ClosestRecords",
    "ControlledAttack",
    "Disclosed",
    "Entry",
    "EntryBounds",
    "External",
    "IntervalDisclosure",
    "Linkage",
    "MarginChoice",
    "MembershipAttack",
    "NotRun",
    "PlotAttack",
    "RankBounds",
    "RecordAttack",
    "RecordAudit",
    "RegionDifferences",
    "SeriesComparison",
    "SeriesCurve",
    "SeriesLinks",
    "ShareInterval",
    "Slivers",
    "SyntheticAttacks",
    "WarpingPath",
    "WorstInsider",
    "answers_needed",
    "attack_by_insiders",
    "attack_by_pairs",
    "attack_intervals",
    "attack_synthetic",
    "attainable_values",
    "attribute_disclosure",
    "average_answers",
    "binomial_interval",
    "closest_records",
    "compare_series_links",
    "density_attack",
    "difference_releases",
    "disclosed_by_bounds",
    "histogram_attack",
    "inference_attack",
    "interval_disclosure",
    "least_squares_attack",
    "link",
    "link_all_ways",
    "link_series",
    "linkability_attack",
    "margin_bounds",
    "margins_to_withhold",
    "membership_attack",
    "normalised_series",
    "rank_bounds",
    "series_distance",
    "series_links_over",
    "singling_out_attack",
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
            "value_intervals": ["IntervalDisclosure", "interval_disclosure"],
            "intervals": ["AttackIntervals", "External", "attack_intervals"],
            "linkage": ["link", "link_all_ways"],
            "linkage_result": ["Linkage"],
            "margins": ["Disclosed", "disclosed_by_bounds", "margin_bounds", "two_way_disclosure"],
            "plots": ["PlotAttack", "density_attack", "histogram_attack"],
            "rank_windows": ["RankBounds", "rank_bounds"],
            "record_attack": ["RecordAttack", "ShareInterval", "binomial_interval"],
            "record_audit": ["NotRun", "RecordAudit"],
            "series": ["SeriesLinks", "link_series"],
            "series_comparison": [
                "SeriesComparison",
                "SeriesCurve",
                "compare_series_links",
                "series_links_over",
            ],
            "series_distances": ["WarpingPath", "normalised_series", "series_distance", "warping_path"],
            "slivers": ["Slivers", "sliver_attack"],
            "synthetic.attribute": ["AttributeDisclosure", "attribute_disclosure"],
            "synthetic.battery": ["SyntheticAttacks", "attack_synthetic"],
            "synthetic.closest": ["ClosestRecords", "closest_records"],
            "synthetic.controlled_attack": ["ControlledAttack"],
            "synthetic.inference": ["inference_attack"],
            "synthetic.linkability": ["linkability_attack"],
            "synthetic.membership": ["MembershipAttack", "membership_attack"],
            "synthetic.singling_out": ["singling_out_attack"],
            "uniqueness": ["Entry", "EntryBounds", "attainable_values", "unique_entries"],
            "withholding": ["MarginChoice", "margins_to_withhold"],
        },
    )
