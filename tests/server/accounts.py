"""What tests take from ``server/account.py``; without it they are skipped, and say why."""

from __future__ import annotations

import pytest

try:
    from discreet.server.account import Entry, Geography, MemoryAccount
    from discreet.server.question import Refusal
except TypeError as error:  # a default in the catalogue that the installed msgspec does not allow
    pytest.skip(f"discreet.server.account cannot be imported: {error}", allow_module_level=True)

__all__ = ["Entry", "Geography", "MemoryAccount", "Refusal"]
