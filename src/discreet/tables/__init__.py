"""Methods that protect tables."""

from discreet.tables.method import METHODS, Method, method_from_record
from discreet.tables.suppress import Suppress

__all__ = ["METHODS", "Method", "Suppress", "method_from_record"]
