"""The public report: how to read the published tables. It sees only what is public, so it cannot tell more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import ParameterError
from discreet.model.public import PublicRelease, PublicTable
from discreet.report.heatmap import Heat
from discreet.report.page import render
from discreet.report.patterns import public_heat
from discreet.report.public_records import public_records_report
from discreet.report.words import Name, names_of, number


def public_report(public: PublicRelease, *, title: str = "", notes: Sequence[str] = (), most_cells: int = 30) -> str:
    """A report for the public as one HTML page that needs nothing else.

    Parameters
    ----------
    public
        The public part of a release: ``release.public``. Nothing else is taken.
    title
        Heading; the names of the tables, or of the file of records, when left out.
    notes
        Plain sentences of the publisher.
    most_cells
        How many cells of each table are shown; of records, columns with more different values are not listed by code.

    Raises
    ------
    NeedsError
        When jinja2 is not installed.
    ParameterError
        When something other than the public part is given.

    Examples
    --------
    >>> import discreet as ds
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> "How to read" in public_report(release.public)
    True
    """
    if type(public) is not PublicRelease:
        raise ParameterError(
            f"A public report takes the public part of a release only, not a {type(public).__name__}.",
            hint="Give release.public.",
        )
    if isinstance(notes, str):
        raise ParameterError("notes= takes a list of sentences.", hint="Write notes=['...'].")
    if isinstance(most_cells, bool) or not isinstance(most_cells, int) or most_cells < 0:
        raise ParameterError(f"most_cells={most_cells!r} is not allowed.", hint="Give a whole number of at least 0.")
    if public.records is not None:
        return public_records_report(public.records, title, [str(note) for note in notes], most_cells)
    names = ", ".join(table.name for table in public.tables)
    return render(
        "public.html",
        title=title or f"About the published tables: {names}",
        notes=[str(note) for note in notes],
        tables=[_part(table, most_cells) for table in public.tables],
        altered=any(table.altered for table in public.tables),
    )


@dataclass(frozen=True)
class PublicLine:
    """One cell as the public sees it."""

    names: tuple[Name, ...]
    value: str
    status: str


@dataclass(frozen=True)
class PublicPart:
    """One table on the page."""

    name: str
    variables: tuple[tuple[str, int], ...]
    cells: int
    published: int
    withheld: int
    empty: int
    lines: tuple[PublicLine, ...]
    heat: Heat | None


def _part(table: PublicTable, most: int) -> PublicPart:
    rows = min(most, len(table))
    published, empty = int(table.shown.sum()), int((table.empty & ~table.shown).sum())
    return PublicPart(
        name=table.name,
        variables=tuple((v, len(codes)) for v, codes in zip(table.variables, table.code_lists, strict=True)),
        cells=len(table),
        published=published,
        withheld=len(table) - published - empty,
        empty=empty,
        lines=tuple(_line(table, row) for row in range(rows)),
        heat=public_heat(table) if published + empty < len(table) else None,
    )


def _line(table: PublicTable, row: int) -> PublicLine:
    codes = [codes[i] for codes, i in zip(table.code_lists, table.codes[row].tolist(), strict=True)]
    labels = [words.get(code, code) for words, code in zip(table.labels, codes, strict=True)]
    shown = bool(table.shown[row])
    return PublicLine(
        names=names_of(codes, labels),
        value=number(int(table.value[row]), table.decimals) if shown else "",
        status=("A" if table.altered else "V") if shown else "E" if table.empty[row] else "X",
    )
