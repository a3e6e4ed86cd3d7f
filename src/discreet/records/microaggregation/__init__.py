"""Microaggregation: groups of similar records, whose values become those of the group."""
