"""Withholding cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazy import names_from

if TYPE_CHECKING:
    from discreet.tables.suppress.method import Suppress

__all__ = ["Suppress"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_from(__name__, {"method": ["Suppress"]})
