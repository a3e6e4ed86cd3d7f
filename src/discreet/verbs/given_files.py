"""Files that a method names: read before it runs, so that what they say stays in the evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.files.cell_lists import read_acceptances, read_hints
from discreet.files.noise_tables import read_noise_table
from discreet.files.pattern import read_pattern
from discreet.tables.method import Method
from discreet.tables.perturb.magnitude_noise import TABLES
from discreet.tables.perturb.method import CellKey
from discreet.tables.suppress import Suppress

PARTS = {"odd": ("odd", "all"), "small_noise": ("small_cells", "small", "all")}
"""Which rows of a file of noise tables each table of magnitudes takes: the first kind that the file has."""
READERS: dict[str, Callable[[Path], Any]] = {"accept": read_acceptances, "hints": read_hints, "prefer": read_pattern}


def with_files_read(method: Method, find: Callable[[str], Path] = Path) -> Method:
    """The method with what its files say; ``find`` turns a name into a path."""
    if isinstance(method, CellKey):
        return _with_noise_tables(method, find)
    if not isinstance(method, Suppress):
        return method
    named = {field: name for field in READERS if isinstance(name := getattr(method, field), str)}
    return replace(method, **{field: READERS[field](find(name)) for field, name in named.items()})


def _with_noise_tables(method: CellKey, find: Callable[[str], Path]) -> CellKey:
    """A cell-key method with its noise tables read."""
    if isinstance(method.noise, str):
        method = replace(method, noise=read_noise_table(find(method.noise), cycle=method.cycle))
    magnitudes = method.magnitudes
    if magnitudes is None:
        return method
    named = {field: name for field in TABLES if isinstance(name := getattr(magnitudes, field), str)}
    parts = {"noise": ("even", "all") if magnitudes.odd is not None else ("all",), **PARTS}
    tables = {field: read_noise_table(find(name), part=parts[field]) for field, name in named.items()}
    return replace(method, magnitudes=replace(magnitudes, **tables)) if tables else method
