"""Rounding: values become multiples of a base."""

from discreet.tables.rounding.method import Round

__all__ = ["Round"]
