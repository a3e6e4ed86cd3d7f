"""Output checking on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.cli.cells import write_new
from discreet.cli.terminal import result
from discreet.errors import ParameterError
from discreet.files.foreign import MARKS
from discreet.files.hrc import read_hierarchy
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Table
from discreet.rules import MinContributors, MinFrequency, PPercent, Rule
from discreet.verbs.assess import assess
from discreet.verbs.check_output import OutputCheck, check_output, published_hierarchies
from discreet.verbs.ready_made import table_from_cells


def checked_output(
    file: Path,
    *,
    variables: Sequence[str],
    value: str,
    total: str,
    counts: bool,
    within: str,
    truth: Path | None,
    p_percent: float | None,
    min_contributors: int | None,
    min_frequency: int | None,
    marks: Sequence[str],
    **options: Any,
) -> OutputCheck:
    """Check a file as the options say."""
    rules: list[Rule] = []
    if p_percent is not None:
        rules.append(PPercent(p_percent))
    if min_contributors is not None:
        rules.append(MinContributors(min_contributors))
    if min_frequency is not None:
        rules.append(MinFrequency(min_frequency))
    if rules and truth is None:
        raise ParameterError("Rules need the true cells.", hint="Give --true FILE, or --smallest for counts.")
    by: dict[str, Hierarchy | None] = {}
    for pair in variables:
        name, _, place = pair.partition("=")
        by[name] = read_hierarchy(place) if place else None
    withheld = tuple(marks) or MARKS
    reading = {"delimiter": options["delimiter"], "sheet": options["sheet"], "withheld": withheld}
    full = published_hierarchies(file, by, value, total=total, **reading)
    true: Table | None = None
    if truth is not None:
        true = table_from_cells(truth, full, value, counts=counts, delimiter=options["delimiter"])
        true = assess(true, *rules) if rules else true
    return check_output(
        file, by, value, true=true, counts=counts, within=_distance(within), total=total, withheld=withheld, **options
    )


def _distance(text: str) -> Any:
    if text == "rounded":
        return text
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"--within {text} is not allowed.", hint="Give a number, or 'rounded'.") from None


def show_output(found: OutputCheck, output: Path | None, as_json: bool) -> None:
    """Print the verdict, and write the intervals where asked."""
    if output is not None:
        write_new(output, found.to_frame())
    told = {**found.verdict.to_dict(), "recomputed": int(found.recomputed.sum())}
    result(told, found.summary(), as_json, failed=not found.holds)
