"""Adjustment: unsafe cells move to safe values, and the others as little as it takes."""

from discreet.tables.adjust.method import Adjust

__all__ = ["Adjust"]
