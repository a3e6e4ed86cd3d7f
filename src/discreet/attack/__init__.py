"""What an attacker can work out."""

from discreet.attack.audit import Audit
from discreet.attack.coalitions import attack_by_pairs
from discreet.attack.insiders import Finding, attack_by_insiders
from discreet.attack.intervals import External, Intervals, attack_intervals

__all__ = ["Audit", "External", "Finding", "Intervals", "attack_by_insiders", "attack_by_pairs", "attack_intervals"]
