"""What an attacker can work out."""

from discreet.attack.audit import Audit
from discreet.attack.intervals import Intervals, attack_intervals

__all__ = ["Audit", "Intervals", "attack_intervals"]
