"""Intervals: adjusted values published with intervals that hold the true ones."""

from discreet.tables.intervals.method import Intervals

__all__ = ["Intervals"]
