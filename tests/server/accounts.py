"""What tests take from ``server/account.py``; without it they are skipped, and say why."""

from __future__ import annotations

import pytest

try:
    from discreet.server.account import MemoryAccount, Reading
    from discreet.server.question import Refusal
except (ImportError, TypeError) as error:
    pytest.skip(f"discreet.server.account cannot be imported: {error}", allow_module_level=True)

__all__ = ["MemoryAccount", "Reading", "Refusal"]
