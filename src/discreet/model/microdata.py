"""Records with roles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Microdata:
    """A data frame or a file of records, and what its columns are.

    Parameters
    ----------
    source
        A data frame (pandas, polars, pyarrow, duckdb) or the path of a csv, Parquet, SPSS (sav), Stata
        (dta) or SAS (sas7bdat) file.
    contributor
        Column that says who a record belongs to (firm, holding); records of one contributor add up before
        the rules look at them. Without it every record is a contributor of its own.
    weight
        Column of sampling weights.
    waiver
        Column of true/false: the contributor agrees to publication. One record without consent withdraws it.
    request
        Column of 0, 1, 2: the contributor has asked for protection under the first or second parameter set.
    record_key
        Column of record keys, fractions in [0, 1) or whole numbers.
    missing
        Per variable the code that stands for an empty field; an empty field is an error otherwise.
    recode
        Per variable a map of old codes to new ones (changes between periods).
    delimiter
        Separator of a csv file.
    """

    source: Any
    contributor: str | None = None
    weight: str | None = None
    waiver: str | None = None
    request: str | None = None
    record_key: str | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    recode: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    delimiter: str = ","

    def __post_init__(self) -> None:
        if self.source is None:
            raise ParameterError("Microdata needs a data frame or the path of a file.")
        if isinstance(self.source, str):
            object.__setattr__(self, "source", Path(self.source))

    @property
    def is_file(self) -> bool:
        """Whether the records lie in a file."""
        return isinstance(self.source, Path)

    def __repr__(self) -> str:
        roles = {
            role: getattr(self, role)
            for role in ("contributor", "weight", "waiver", "request", "record_key")
            if getattr(self, role)
        }
        what = self.source.name if isinstance(self.source, Path) else type(self.source).__name__
        return f"Microdata({what}, {', '.join(f'{k}={v!r}' for k, v in roles.items()) or 'no roles'})"
