"""Transmissions to partner offices: true values with confidentiality flags, written a second time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from discreet.model.custodian import TableCustodian
from discreet.model.table import CellStatus
from discreet.verify.formats.flat import sdmx_lines
from discreet.verify.formats.notation import same_json, sdmx_message
from discreet.verify.formats.shown import Different, ShownTable, csv_bytes, number_text, same_lines
from discreet.verify.verdict import Verdict

FEW = frozenset({"min_contributors", "min_frequency"})
LARGE = frozenset({"p_percent", "prior_posterior", "dominance", "max_share"})


def check_restricted(
    verdict: Verdict,
    folder: Path,
    custodian: TableCustodian,
    tables: Sequence[ShownTable],
    names: list[str],
    files: frozenset[str],
) -> None:
    """Files in ``restricted/`` are what the custodian's cells give, and nothing else."""
    stems = [name.removesuffix(".csv") for name in names]
    for file in sorted(files):
        place, _, name = file.partition("/")
        if place != "restricted":
            continue
        ending = next((e for e in (".sdmx.csv", ".sdmx.json") if name.removesuffix(e) in stems and e in name), "")
        if not ending or custodian.published is not None:
            verdict.refuse("restricted", "a restricted file is not one that the checker can read back", name)
            continue
        number = stems.index(name.removesuffix(ending))
        values, statuses = _observed(custodian, number)
        cube = tables[number]
        try:
            data = (folder / file).read_bytes()
            if ending == ".sdmx.csv":
                same_lines(csv_bytes(sdmx_lines(cube, values, statuses)), data)
            else:
                same_json(sdmx_message(cube, values, statuses), data)
        except Different as error:
            verdict.refuse("restricted", str(error), name)
            continue
        verdict.proved.append(f"restricted/{name} holds the custodian's cells with their flags")


def _observed(custodian: TableCustodian, number: int) -> tuple[list[str], dict[str, list[str]]]:
    """True values, and what the two code lists say of them."""
    table, status = custodian.tables.tables[number], custodian.status[number]
    empty = table.empty.tolist()
    values = ["" if e else number_text(v, table.decimals) for v, e in zip(table.value.tolist(), empty, strict=True)]
    reasons = []
    for row, letter in enumerate(status.tolist()):
        reason = {int(CellStatus.SECONDARY): "D", int(CellStatus.UNSAFE): "C"}.get(letter, "F")
        if reason == "C" and table.assessment is not None:
            broken = {
                str(rule["kind"])
                for bit, rule in enumerate(table.assessment.rules)
                if int(table.assessment.hits[row]) >> bit & 1
            }
            reason = "A" if broken and broken <= FEW else "G" if broken and broken <= LARGE else "C"
        reasons.append(reason)
    return values, {"OBS_STATUS": ["O" if e else "A" for e in empty], "CONF_STATUS": reasons}
