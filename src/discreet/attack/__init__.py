"""What an attacker can work out."""

from discreet.attack.audit import Audit
from discreet.attack.coalitions import attack_by_pairs
from discreet.attack.insiders import Finding, attack_by_insiders
from discreet.attack.intervals import External, Intervals, attack_intervals
from discreet.attack.margins import Disclosed, disclosed_by_bounds, margin_bounds, two_way_disclosure
from discreet.attack.uniqueness import Entries, Entry, attainable_values, unique_entries

__all__ = [
    "Audit",
    "Disclosed",
    "Entries",
    "Entry",
    "External",
    "Finding",
    "Intervals",
    "attack_by_insiders",
    "attack_by_pairs",
    "attack_intervals",
    "attainable_values",
    "disclosed_by_bounds",
    "margin_bounds",
    "two_way_disclosure",
    "unique_entries",
]
