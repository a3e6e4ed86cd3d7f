"""Which cells are unsafe, and how much protection each needs."""

from discreet.rules.assess import assess_table, reasons
from discreet.rules.base import Rule, rule_from_record
from discreet.rules.concentration import Dominance, MaxShare, PPercent, PriorPosterior
from discreet.rules.disclosure import GroupDisclosure, Request
from discreet.rules.frequency import MinContributors, MinFrequency, ZeroUnsafe

__all__ = [
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
    "assess_table",
    "reasons",
    "rule_from_record",
]
