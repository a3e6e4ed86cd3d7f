"""Withholding cells."""

from discreet.tables.suppress.method import Suppress

__all__ = ["Suppress"]
