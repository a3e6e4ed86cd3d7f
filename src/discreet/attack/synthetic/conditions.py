"""What a condition says of a value, as numbers for compiled loops. Of a gap only ``EMPTY`` holds."""

from __future__ import annotations

EQUAL, AT_LEAST, AT_MOST, EMPTY, OTHER, ABOVE, BELOW, NOT_EMPTY = range(8)
