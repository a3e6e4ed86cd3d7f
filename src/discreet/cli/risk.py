"""The command ``discreet risk``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.group import SpokenCommand
from discreet.cli.options import JSON
from discreet.cli.terminal import errors, progress, result
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.measures.risk_result import Part, RecordRisk

PARTS = ("findings", "sets", "keys", "sensitive", "population", "attacks", "sizes", "records")


@click.command(cls=SpokenCommand)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--keys", multiple=True, help="Columns that an intruder may know: age,sex,region. May be given often.")
@click.option("--sensitive", multiple=True, help="Columns that nobody should learn of a person.")
@click.option("--weight", help="Column of sampling weights.")
@click.option("--household", help="Column of households.")
@click.option("--k", type=int, default=3, show_default=True, help="Combinations that occur fewer times are unsafe.")
@click.option("--size", type=int, default=3, show_default=True, help="Sets of up to so many keys are counted.")
@click.option(
    "--missing",
    type=click.Choice(["category", "any", "exempt"]),
    default="category",
    show_default=True,
    help="What an empty field means: a value of its own, agrees with every value, not judged.",
)
@click.option("--threshold", type=float, default=0.1, show_default=True, help="Count individual risks above it.")
@click.option("--fraction", type=float, help="Share of the population in the file, where it has no weights.")
@click.option("--part", type=click.Choice(PARTS), default="findings", show_default=True, help="What --output writes.")
@click.option("--output", type=click.Path(path_type=Path), help="Write the part to this csv file (confidential).")
@click.option("--report", type=click.Path(path_type=Path), help="Write the risk as a page to this file.")
@click.option("--public", is_flag=True, help="Write a page that may go out with the file of a saved release.")
@click.option("--original", type=click.Path(path_type=Path), help="Link FILE with this file of original records.")
@click.option("--numeric", multiple=True, help="Numbers of which an intruder has original values besides keys.")
@click.option("--truth", help="Column of both files that says which record is whose.")
@click.option("--same-order", is_flag=True, help="Rows of FILE and of --original are in the same order.")
@click.option("--attacks/--no-attacks", default=True, help="Whether a saved release is linked with its original, too.")
@click.option("--delimiter", default=",", show_default=True, help="Separator of a csv file.")
@click.option("--decimal", type=click.Choice([".", ","]), default=".", show_default=True, help="Its decimal sign.")
@click.option("--encoding", default="utf-8", show_default=True, help="Its encoding.")
@click.option("--sheet", help="Sheet of an xlsx file; its first when left out.")
@JSON
def risk(
    file: Path,
    keys: tuple[str, ...],
    sensitive: tuple[str, ...],
    weight: str | None,
    household: str | None,
    original: Path | None,
    numeric: tuple[str, ...],
    truth: str | None,
    same_order: bool,
    part: Part,
    output: Path | None,
    report: Path | None,
    public: bool,
    delimiter: str,
    decimal: str,
    encoding: str,
    sheet: str | None,
    as_json: bool,
    **limits: Any,
) -> None:
    """Say who can be recognised in FILE, by whom, and why.

    FILE holds records (csv, Parquet, xlsx, SPSS, Stata, SAS), or is the folder of a saved release of records, of which
    the public rows are measured. The exit code is 0 whatever the risk is.
    """
    with errors(as_json):
        with progress(as_json):
            written = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding, "sheet": sheet}
            roles = {"sensitive": names_in(sensitive), "weight": weight, "household": household}
            links = {"numeric": names_in(numeric), "truth": truth, "same_order": same_order}
            found = _measured(file, original, names_in(keys), roles, links, written, limits)
        if output is not None:
            from discreet.cli.cells import write_new

            write_new(output, found.to_frame(part))
        if report is not None:
            from discreet.comparison.writing import write_new as write_page
            from discreet.report import risk_report

            write_page(
                report, risk_report(found, title=f"Who can be recognised in {file.name}", public=public).encode()
            )
        result(found.to_dict(), found.summary(), as_json)


def names_in(given: Sequence[str]) -> list[str] | None:
    """Names of columns that were given with commas between them; nothing where none were."""
    names = [name.strip() for text in given for name in text.split(",")]
    if any(not name for name in names):
        raise ParameterError("A list of columns has an empty name.", hint="Write names with commas between: age,sex.")
    return names or None


def _measured(
    file: Path,
    original: Path | None,
    keys: list[str] | None,
    roles: dict[str, Any],
    links: dict[str, Any],
    written: dict[str, Any],
    limits: dict[str, Any],
) -> RecordRisk:
    from discreet.verbs.risk import risk as measured

    if file.is_dir():
        from discreet.verbs.load import load

        return measured(load(file), keys, **roles, **limits, original=original, **links)
    from discreet.model.microdata import Microdata

    numbers = links["numeric"] or []
    codes = [name for name in keys or [] if name not in numbers] or None
    given = {name: value for name, value in {"keys": codes, **roles}.items() if value is not None}
    data = Microdata(file, **given, **written)
    before = None if original is None else Microdata(original, **written)
    return measured(data, keys, **limits, original=before, **links)
