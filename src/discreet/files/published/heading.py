"""What stands above a published table: who publishes it, in which units, and what its signs mean."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from math import prod

from discreet.errors import ParameterError
from discreet.model.public import PublicTable

WITHHELD = "withheld for confidentiality"
EMPTY = "no units in this cell"


@dataclass(frozen=True)
class Heading:
    """What formats of publication ask for besides the table.

    Parameters
    ----------
    agency
        Identifier of the office, as SDMX knows it.
    units
        Units of the values, in words.
    source
        Who the figures come from, in words.
    prepared
        When the files were prepared, with a time zone. The default is fixed, so that the same table gives the same
        bytes on every day.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = release.public.write(f"{folder}/trade.px", heading=ds.Heading(units="million euro"))
    ...     print([line for line in file.read_text().splitlines() if line.startswith("UNITS")])
    ['UNITS="million euro";']
    """

    agency: str = "UNKNOWN"
    units: str = ""
    source: str = ""
    prepared: str = "1970-01-01T00:00:00Z"

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z][A-Za-z0-9_-]*)*", self.agency):
            raise ParameterError(
                f"agency={self.agency!r} is not allowed.",
                hint="Give an SDMX identifier: letters, digits, _ and -, parts joined by dots, such as 'ESTAT'.",
            )
        try:
            zoned = datetime.fromisoformat(self.prepared).tzinfo is not None
        except ValueError:
            zoned = False
        if not zoned:
            raise ParameterError(
                f"prepared={self.prepared!r} is not allowed.",
                hint="Give date, time and time zone: '2027-03-01T09:00:00Z'.",
            )


def notes(table: PublicTable) -> list[str]:
    """What readers must know of the values; nothing about single cells."""
    found = []
    if table.altered:
        found.append("All values of this table were altered to protect confidentiality.")
        if len(table) < prod(len(codes) for codes in table.code_lists):
            found.append("Cells that are not listed stand for zero, whether they were empty or not.")
    if bool((~table.shown & ~table.empty).any()):
        found.append("Some values are withheld to protect confidentiality.")
    if table.coverage is not None:
        found.append(
            f"Between lower and upper lies a confidence interval of {100 * table.coverage:g} % for sampling errors, "
            "from replicate weights."
        )
    elif table.lower is not None:
        found.append("True values lie between lower and upper.")
    return found
