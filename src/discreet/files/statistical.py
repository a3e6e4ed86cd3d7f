"""Records of SPSS, Stata and SAS files, with their labels, missing codes and formats."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError, missing_extra

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES = (".sav", ".zsav", ".dta", ".sas7bdat")
HOME = str(Path(__file__).resolve().parents[2])
"""Where this package lies."""
PATIENCE, SLOWEST = 600.0, 20_000
"""Seconds that reading may take, and bytes a second besides: damaged files may keep the library busy for ever."""
ABOUT = b"about"
"""Where the answer of the reading process holds the metadata."""


@dataclass(frozen=True)
class StatisticalMetadata:
    """What a statistical package keeps beside its data.

    Parameters
    ----------
    columns
        Names of the variables.
    labels
        Words for variables.
    value_labels
        Per variable words for its codes, codes as they are read.
    missing
        Per variable the codes that stand for "unknown" as ranges of codes: (lowest, highest), numbers or text.
    formats
        Per variable the format that the package shows it in.
    measures
        Per variable of an SPSS file its level of measurement: ``"nominal"``, ``"ordinal"`` or ``"scale"``.
    """

    columns: tuple[str, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    value_labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing: Mapping[str, tuple[tuple[Any, Any], ...]] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, str] = field(default_factory=dict)

    def missing_codes(self, variable: str, codes: Iterable[str]) -> list[str]:
        """Which of some codes of a variable stand for "unknown"."""
        return [code for code in codes if any(_inside(code, *ends) for ends in self.missing.get(variable, ()))]


def is_statistical(source: Any) -> bool:
    """Whether something is the path of an SPSS, Stata or SAS file."""
    return isinstance(source, str | Path) and Path(source).suffix.lower() in SUFFIXES


def statistical_metadata(path: str | Path) -> StatisticalMetadata:
    """What an SPSS, Stata or SAS file says of its variables.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     about = ds.statistical_metadata(ds.write_public(release.public, f"{folder}/safe.sav"))
    >>> about.columns, about.value_labels["status"]["X"]
    (('trade', 'region', 'value', 'status'), 'withheld for confidentiality')
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"There is no file {path.name!r}.", hint=f"Check the name and the folder. Looked for: {path}")
    state = path.stat()
    return _metadata(path.resolve(), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=32)
def _metadata(path: Path, _changed: int, _size: int) -> StatisticalMetadata:
    """What a file says of its variables, read once as long as it does not change."""
    found = json.loads(_asked(path, {})[ABOUT])
    missing = {
        variable: tuple((low, high) for low, high in ranges) for variable, ranges in found.pop("missing").items()
    }
    return StatisticalMetadata(tuple(found.pop("columns")), missing=missing, **found)


def read_statistical(path: Path, wanted: Sequence[str], codes: Iterable[str]) -> pa.Table:
    """Columns of an SPSS, Stata or SAS file.

    Columns of codes become text: whole numbers without a point, with the leading zeros that their format shows, and
    codes for "unknown" as they are (``.a`` of Stata and SAS with its point). In columns of numbers those are empty.
    """
    return _asked(path, {"wanted": list(wanted), "codes": sorted(set(codes))})["table"]


def read_statistical_records(
    path: Path, wanted: Sequence[str], codes: Iterable[str], amounts: Iterable[str]
) -> pa.Table:
    """Columns of a file of records, with its codes for "unknown".

    Columns of codes become text as in :func:`read_statistical`, and so do numbers with letters for "unknown"; dates and
    times stay what they are. In columns of amounts codes for "unknown" are empty, so that nothing computes with them.
    """
    empty = set(amounts)
    kept = [name for name in wanted if name not in empty]
    found: dict[str, Any] = {}
    for names, question in ((kept, {"records": True}), ([name for name in wanted if name in empty], {})):
        if names:
            request = {"wanted": names, "codes": sorted(set(codes) & set(names)), **question}
            table = _asked(path, request)["table"]
            found.update({name: table[name] for name in names})
    import pyarrow as pa

    return pa.table({name: found[name] for name in wanted})


def _asked(path: Path, request: Mapping[str, Any]) -> dict[Any, Any]:
    """What a process of its own reads: the library that knows these formats crashes on some damaged files."""
    import pyarrow as pa

    if find_spec("pyreadstat") is None:
        raise missing_extra("pyreadstat", "stat", f"Reading {path.suffix} files")
    command = [sys.executable, "-m", "discreet.files.statistical_child"]
    question = json.dumps({"path": str(path), **request}).encode()
    known = os.pathsep.join([HOME, *filter(None, [os.environ.get("PYTHONPATH")])])  # the same code, wherever it lies
    patience = PATIENCE + path.stat().st_size / SLOWEST
    try:
        done = subprocess.run(
            command,
            input=question,
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONPATH": known},
            timeout=patience,
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            f"The file {path.name!r} was not read within {patience:,.0f} seconds.",
            hint="It may be damaged: open it where it was made and save it again.",
        ) from None
    if done.returncode != 0:
        raise InputError(
            f"The file {path.name!r} cannot be read as a {path.suffix} file.",
            hint="Check that it was written completely and that its name is right.",
            details=done.stderr.decode(errors="replace")[-500:] or f"the reader ended with {done.returncode}",
        )
    with pa.ipc.open_stream(done.stdout) as stream:
        table = stream.read_all()
    return {"table": table.replace_schema_metadata(None), **(table.schema.metadata or {})}


def _inside(code: str, lowest: Any, highest: Any) -> bool:
    """Whether a code lies in a range of codes for "unknown"."""
    if isinstance(lowest, str):
        return lowest.rstrip(" ") == code
    try:
        return bool(lowest <= float(code) <= highest)
    except ValueError:
        return False
