"""The command ``discreet utility``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.group import SpokenCommand
from discreet.cli.options import JSON
from discreet.cli.risk import names_in
from discreet.cli.terminal import errors, progress, result
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.measures.public_utility import PublicUtility
    from discreet.measures.utility_result import RecordUtility, UtilityPart

PARTS = (
    *("findings", "columns", "statistics", "models", "tables", "margins", "pairs", "propensity", "battery", "losses"),
    "checks",
)


@click.command(cls=SpokenCommand)
@click.argument("original", type=click.Path(path_type=Path))
@click.argument("released", type=click.Path(path_type=Path), required=False)
@click.option("--models", multiple=True, help="A model to fit to both files: 'income ~ age + sex'. May be given often.")
@click.option("--tables", multiple=True, help="Columns of a table to compare: age,sex. May be given often.")
@click.option("--by", multiple=True, help="Columns whose groups have statistics of their own.")
@click.option("--statistics", multiple=True, help="Any of mean, median, sd, total.  [default: mean,median]")
@click.option("--ratios", multiple=True, help="A ratio of two columns: 'debt / income'. May be given often.")
@click.option("--columns", multiple=True, help="Columns to compare; all that both files have when left out.")
@click.option("--numeric", multiple=True, help="Columns of numbers; those of csv files are text otherwise.")
@click.option("--categories", multiple=True, help="Columns of codes, although they look like numbers.")
@click.option("--weight", help="Column of weights.")
@click.option(
    "--identifier", multiple=True, help="Columns that identify a record in both files: they are matched by it."
)
@click.option("--importance", multiple=True, help="How much columns count: income=5,age=0.5; others count 1.")
@click.option("--aligned", is_flag=True, help="The files have the same records in the same order.")
@click.option(
    "--propensity",
    type=click.Choice(["logistic", "tree", "both", "none"]),
    default="both",
    show_default=True,
    help="Which models try to tell the files apart.",
)
@click.option("--part", type=click.Choice(PARTS), default="findings", show_default=True, help="What --output writes.")
@click.option("--output", type=click.Path(path_type=Path), help="Write the part to this csv file (confidential).")
@click.option(
    "--report", "--html", "html", type=click.Path(path_type=Path), help="Write a page with everything (confidential)."
)
@click.option("--public", is_flag=True, help="Tell classes of changes only: nothing of the original.")
@click.option("--delimiter", default=",", show_default=True, help="Separator of csv files.")
@click.option("--decimal", type=click.Choice([".", ","]), default=".", show_default=True, help="Their decimal sign.")
@click.option("--encoding", default="utf-8", show_default=True, help="Their encoding.")
@JSON
def utility(
    original: Path,
    released: Path | None,
    part: UtilityPart,
    output: Path | None,
    html: Path | None,
    public: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Say what analysts lose who have RELEASED in place of ORIGINAL.

    Both hold records (csv, Parquet, xlsx, SPSS, Stata, SAS); RELEASED may be a synthetic file with other rows, or the
    folder of a saved release. ORIGINAL alone is such a folder, and its public rows are compared with its original ones.
    The exit code is 0 whatever is lost.
    """
    with errors(as_json):
        if public and output is not None and part != "findings":
            raise ParameterError("--public writes one list.", hint="Leave --part out.")
        with progress(as_json):
            found = _measured(original, released, asked)
        shown: RecordUtility | PublicUtility = found.public() if public else found
        _write(shown, part, output, html)
        result(shown.to_dict(), shown.summary(), as_json)


def _write(shown: Any, part: UtilityPart, output: Path | None, html: Path | None) -> None:
    """Files that are asked for, each new."""
    from discreet.measures.public_utility import PublicUtility

    if output is not None:
        from discreet.cli.cells import write_new

        write_new(output, shown.to_frame() if isinstance(shown, PublicUtility) else shown.to_frame(part))
    if html is not None:
        from discreet.files.new_file import new_file

        with new_file(html) as stream:
            stream.write(shown.to_html().encode())


def _measured(original: Path, released: Path | None, asked: dict[str, Any]) -> RecordUtility:
    from discreet.comparison.record_utility import record_utility
    from discreet.measures.statistic_changes import STATISTICS

    statistics = names_in(asked["statistics"]) or ["mean", "median"]
    wrong = [one for one in statistics if one not in STATISTICS]
    if wrong:
        raise ParameterError(f"There is no statistic {wrong[0]!r}.", hint=f"Take some of {', '.join(STATISTICS)}.")
    numeric = names_in(asked["numeric"]) or []
    return record_utility(
        _file(original, asked, with_roles=True),
        None if released is None else _file(released, asked, with_roles=False),
        models=list(asked["models"]),
        tables=[names_in([one]) or [] for one in asked["tables"]],
        by=names_in(asked["by"]),
        statistics=[one for one in STATISTICS if one in statistics],
        ratios=list(asked["ratios"]),
        columns=names_in(asked["columns"]),
        numeric=numeric,
        categories=names_in(asked["categories"]) or [],
        weight=asked["weight"],
        aligned=True if asked["aligned"] else None,
        propensity=asked["propensity"],
        importance=_importance(asked["importance"]),
    )


def _importance(given: Sequence[str]) -> dict[str, float]:
    found = {}
    for pair in names_in(given) or []:
        name, _, number = pair.rpartition("=")
        try:
            found[name] = float(number)
        except ValueError:
            raise ParameterError(
                f"--importance {pair!r} has no number.", hint="Write income=5,age=0.5: a column and how much it counts."
            ) from None
    return found


def _file(file: Path, asked: dict[str, Any], *, with_roles: bool) -> Any:
    """A file of records, or the folder of a release."""
    from discreet.model.microdata import Microdata

    if file.is_dir():
        return file
    written = {name: asked[name] for name in ("delimiter", "decimal", "encoding")}
    identifier = names_in(asked["identifier"])
    roles: dict[str, Any] = {"identifier": identifier} if with_roles and identifier else {}
    return Microdata(file, **roles, **written)
