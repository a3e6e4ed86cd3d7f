"""Public files written a second time, from the published cells, by code of the checker's own."""

from __future__ import annotations

from collections.abc import Callable

from discreet.verify.formats.flat import check_csv, check_sdmx_csv
from discreet.verify.formats.notation import check_jsonstat, check_sdmx_json
from discreet.verify.formats.parquet import check_parquet
from discreet.verify.formats.px import check_px
from discreet.verify.formats.shown import Different, ShownTable, Words
from discreet.verify.formats.stat import check_dta, check_sav
from discreet.verify.formats.xlsx import check_xlsx

__all__ = ["CHECKS", "NEEDS", "Different", "ShownTable", "Words", "check_csv"]

CHECKS: dict[str, Callable[[bytes, ShownTable], str | None]] = {
    ".xlsx": check_xlsx,
    ".jsonstat.json": check_jsonstat,
    ".sdmx.csv": check_sdmx_csv,
    ".sdmx.json": check_sdmx_json,
    ".px": check_px,
    ".parquet": check_parquet,
    ".sav": check_sav,
    ".dta": check_dta,
}
"""How public files besides csv end, and what compares them with the published cells."""
STAT = ((("pyreadstat",), "stat"), (("polars", "pandas"), "frames"))
NEEDS: dict[str, tuple[tuple[tuple[str, ...], str], ...]] = {
    ".xlsx": ((("xlsxwriter",), "xlsx"),),
    ".sav": STAT,
    ".dta": STAT,
}
"""What must be installed to write a format: one of some packages, and the extra that brings it."""
