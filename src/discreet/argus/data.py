"""Records and ready-made tables of ARGUS files, with the roles and hierarchies that their metadata state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.argus.roles import (
    as_records,
    household_keys,
    identification_levels,
    related_columns,
    suppression_importance,
    with_spss_words,
)
from discreet.errors import InputError, NeedsError, ParameterError, counted, unknown_name
from discreet.files.argus.cells import ArgusCells, read_argus_cells
from discreet.files.argus.hierarchies import codes_and_hierarchy
from discreet.files.argus.rda import ArgusMetadata, RdaVariable, read_metadata
from discreet.files.argus.records import read_argus_records, request_codes
from discreet.files.argus.text import find_file
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Microdata
from discreet.model.table import Table
from discreet.relations import build_system
from discreet.verbs.ready_made import table_from_cells

if TYPE_CHECKING:
    import pyarrow as pa

Find = Callable[[str], Path]
Totals = Literal["given", "computed", "computed_keep_status", "as_they_are"]
METADATA = (".rda", ".rds")
"""How metadata end: of μ-ARGUS's own safe files as well."""
TOTALS = ("given", "computed", "computed_keep_status", "as_they_are")


@dataclass(frozen=True, eq=False)
class ArgusRecords:
    """Records with their roles, the hierarchies of the spanning variables, and what the log should say.

    ``levels`` are the identification levels of the keys (1 identifies most), which
    :func:`~discreet.level_combinations` makes combinations of; ``importance`` is what μ-ARGUS takes the keys to be
    worth, for :class:`~discreet.LocalSuppress`, and empty where all are worth the same; ``together`` and
    ``of_household`` say for the same method what is emptied with what.
    """

    microdata: Microdata
    hierarchies: dict[str, Hierarchy]
    metadata: ArgusMetadata
    notes: tuple[str, ...] = field(default=())

    @property
    def levels(self) -> dict[str, int]:
        """The identification level of every key."""
        return identification_levels(self.microdata, self.metadata.variables)

    @property
    def importance(self) -> dict[str, float]:
        """What emptying a field of each key should cost."""
        return suppression_importance(self.microdata, self.metadata.variables)

    @property
    def together(self) -> dict[str, list[str]]:
        """Columns that are emptied with each key."""
        return related_columns(self.microdata, self.metadata.variables)

    @property
    def of_household(self) -> list[str]:
        """Keys that are emptied for all members of a household."""
        return household_keys(self.microdata, self.metadata.variables)


def read_argus(
    data: str | Path,
    metadata: str | Path | ArgusMetadata | None = None,
    *,
    by: Iterable[str] | None = None,
    values: Iterable[str] | None = None,
    others: Iterable[str] = (),
    find: Find | None = None,
    records: bool | None = None,
) -> ArgusRecords:
    """Read records of an ``.asc`` or ``.csv`` file as their ``.rda`` describes them.

    Parameters
    ----------
    data, metadata
        The two files. Metadata that are left out are those beside the data, of the same name: ``people.rda`` for
        ``people.asc``; the metadata of a safe file of μ-ARGUS (``people.saf``) are ``people.rds``.
    by
        Spanning variables to read; all when left out.
    values
        Numeric variables to read; all that are no spanning variables when left out.
    others
        Further columns to read as text, for filters and roles.
    find
        Gives the path of a file that the metadata name; beside the metadata when left out.
    records
        Whether all variables are read with their roles, for a release of records: keys are those with an identification
        level above 0; household, weight, codes for "unknown" and the labels of code lists are taken over; empty fields
        are gaps, and so are missing codes of numbers, which are errors otherwise. By default so where the metadata are
        those of μ-ARGUS and neither ``by`` nor ``values`` is given. Without ``by``, hierarchies are then those of
        variables that are marked as hierarchical, and of those whose digits may be dropped (``<TRUNCABLE>``).

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = ds.generate.argus_example(folder).with_name("stand_in.asc")
    ...     read = ds.read_argus(file, file.with_suffix(".rda"), by=["Size", "Region"], values=["Var2"])
    >>> table = ds.tabulate(read.microdata, by=read.hierarchies, value="Var2")
    >>> table.assess(ds.Dominance(3, 75)).shape
    (9, 18)
    """
    notes: list[str] = []
    metadata = _beside(Path(data)) if metadata is None else metadata
    described = metadata if isinstance(metadata, ArgusMetadata) else read_metadata(metadata)
    notes += described.notes
    home = Path(data).parent if isinstance(metadata, ArgusMetadata) else Path(metadata).parent
    find = find or (lambda name: find_file(name, [home], notes))
    if records is None:
        records = described.of_mu_argus and by is None and values is None
    whole = records and by is None
    spanning = [described[name].name for name in (_spanning(described) if by is None else by)]
    numeric = [v.name for v in described.variables if v.numeric and not v.recodeable]
    amounts = [described[name].name for name in (numeric if values is None else values)]
    _refuse_both(spanning, amounts)
    besides = [described[name].name for name in others] + [v.name for v in described.variables if whole]
    frame, named = _columns(data, described, spanning, amounts, besides, records, notes)
    trees = [v for v in (described[name] for name in spanning) if v.hierarchical or not whole]
    frame, hierarchies = _with_hierarchies(frame, trees, find, notes, described)
    microdata = Microdata(
        frame,
        contributor=named.get("holding"),
        weight=named.get("weight"),
        request=named.get("request"),
        record_key=named.get("record_key"),
    )
    if any(v.truncable for v in described.variables) and not records:
        notes.append("<TRUNCABLE> is for files of records, and changes nothing in tables.")
    if records:
        kept = [v for v in described.variables if v.name in frame.column_names]
        microdata = as_records(microdata, kept, set(named.values()), hierarchies, find, notes)
    if records and described.spss:
        microdata = with_spss_words(microdata, Path(data))
    return ArgusRecords(microdata, hierarchies, described, tuple(dict.fromkeys(notes)))


def _beside(data: Path) -> Path:
    """The metadata beside a file of records."""
    if data.suffix.lower() in METADATA:
        raise ParameterError(
            f"{data.name!r} is a file of metadata, and the records are asked for.",
            hint=f"Give the records first: read_argus('{data.stem}.asc', '{data.name}').",
        )
    names = [f"{data.stem}{suffix}" for suffix in METADATA]
    found = sorted(path for path in data.parent.glob("*") if path.name.lower() in {name.lower() for name in names})
    if not found:
        raise InputError(
            f"There are no metadata beside {data.name!r}.", hint=f"Name them; looked for {' and '.join(names)}."
        )
    return found[0]


def _refuse_both(spanning: list[str], amounts: list[str]) -> None:
    both = [name for name in spanning if name in amounts]
    if both:
        raise ParameterError(
            f"{both[0]!r} is to span the table and to be summed.", hint="Give the column twice in the metadata."
        )


def _columns(
    data: str | Path,
    described: ArgusMetadata,
    spanning: list[str],
    amounts: list[str],
    besides: list[str],
    gaps: bool,
    notes: list[str],
) -> tuple[pa.Table, dict[str, str]]:
    """The columns that are needed, and which of them have a role in tables."""
    roles = {role: described.the(role) for role in ("holding", "weight", "request", "record_key")}
    named = {role: variable.name for role, variable in roles.items() if variable is not None}
    wanted = list(dict.fromkeys([*spanning, *amounts, *named.values(), *besides]))
    summed = [*amounts, *(named[role] for role in ("weight", "record_key") if role in named)]
    frame = read_argus_records(data, described, wanted, as_numbers=summed, notes=notes, gaps=gaps)
    if roles["request"] is not None:
        name, column = named["request"], frame[named["request"]].combine_chunks()
        asked = request_codes(column, roles["request"].request)
        frame = frame.set_column(frame.column_names.index(name), name, asked)
    return frame, named


def _spanning(metadata: ArgusMetadata) -> list[str]:
    return [v.name for v in metadata.variables if v.recodeable]


def _with_hierarchies(
    frame: pa.Table, variables: Iterable[RdaVariable], find: Find, notes: list[str], metadata: ArgusMetadata
) -> tuple[pa.Table, dict[str, Hierarchy]]:
    """The frame with its codes as the hierarchies write them, and the hierarchies."""
    hierarchies = {}
    for variable in variables:
        column = frame[variable.name].combine_chunks()
        codes, tree = codes_and_hierarchy(column, variable, find, notes, bool(metadata.separator) or metadata.spss)
        frame = frame.set_column(frame.column_names.index(variable.name), variable.name, codes)
        hierarchies[variable.name] = tree
    return frame, hierarchies


def read_argus_table(
    data: str | Path,
    metadata: str | Path | ArgusMetadata,
    *,
    by: Sequence[str] | None = None,
    value: str | None = None,
    totals: Totals = "given",
    find: Find | None = None,
    notes: list[str] | None = None,
    **options: Any,
) -> Table:
    """Read a ready-made table of a ``.tab`` file as its ``.rda`` describes it.

    Parameters
    ----------
    data, metadata
        The two files.
    by
        Spanning variables; all when left out. The table is taken at the total of those that are not named.
    value
        The response; the first numeric variable when left out, ``"<freq>"`` for the frequency.
    totals
        ``"given"`` must add up; ``"computed"`` are computed anew from the finest cells, and lose their status unless
        it is ``"computed_keep_status"``; ``"as_they_are"`` takes a table that does not add up, and the largest gap
        counts as its slack.
    find
        Gives the path of a file that the metadata name.
    notes
        Gets what the log should say.
    **options
        ``name``, ``period`` and further fields of :class:`~discreet.TableSpec`.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cells, metadata = Path(folder, "t.tab"), Path(folder, "t.rda")
    ...     size = cells.write_text("Total;100\\na;60\\nb;40\\n")
    ...     size = metadata.write_text('<SEPARATOR> ";"\\nregion\\n  <RECODEABLE>\\nsales\\n  <NUMERIC>\\n')
    ...     print(ds.read_argus_table(cells, metadata).value.tolist())
    [100, 60, 40]
    """
    if totals not in TOTALS:
        raise ParameterError(unknown_name("kind of totals", str(totals), TOTALS))
    said: list[str] = [] if notes is None else notes
    described = metadata if isinstance(metadata, ArgusMetadata) else read_metadata(metadata, "cells")
    said += described.notes
    home = Path(data).parent if isinstance(metadata, ArgusMetadata) else Path(metadata).parent
    find = find or (lambda name: find_file(name, [home], said))
    frequency = described.the("frequency")
    counts = value is not None and value.lower() == "<freq>"
    if counts and frequency is None:
        raise NeedsError("The table has no frequency.", hint="Mark its column with <FREQUENCY>.")
    column = frequency.name if counts and frequency is not None else value
    found = read_argus_cells(data, described, column, None if by is None else tuple(by))
    said += found.notes
    cells, hierarchies = _with_hierarchies(found.frame, found.variables, find, said, described)
    response = _name(described, column)
    common: dict[str, Any] = {"variable": response, "counts": counts, "decimals": None, **options}
    frame = _without_shadow(cells)
    if totals in ("computed", "computed_keep_status"):
        frame = _recomputed(frame, hierarchies, found.variables, totals == "computed_keep_status", said)
        table = table_from_cells(frame, hierarchies, compute_totals=True, disjoint="unknown", **common)
    elif totals == "as_they_are":
        table = _as_they_are(frame, hierarchies, common, said)
    else:
        table = table_from_cells(frame, hierarchies, **common)
    shown = found.decimals
    return table if shown is None or shown >= table.decimals else table.with_(spec=table.spec.with_(decimals=shown))


def _name(metadata: ArgusMetadata, value: str | None) -> str:
    if value is not None:
        return metadata.named(value).name
    plain = [v.name for v in metadata.variables if v.numeric and not v.role and not v.recodeable]
    return plain[0] if plain else "value"


def _without_shadow(frame: pa.Table) -> pa.Table:
    """Ready-made tables are judged by their response; a shadow variable that is the same says nothing new."""
    return frame.drop_columns(["shadow"]) if "shadow" in frame.column_names else frame


def shadow_differs(found: ArgusCells) -> bool:
    """Whether the shadow variable of ready-made cells is not the response itself."""
    import pyarrow as pa
    import pyarrow.compute as pc

    frame = found.frame
    if "shadow" not in frame.column_names:
        return False
    value, shadow = (pc.fill_null(frame[c].cast(pa.float64(), safe=False), 0.0) for c in ("value", "shadow"))
    return not bool(pc.all(pc.equal(value, shadow)).as_py())


def _recomputed(
    frame: pa.Table, by: dict[str, Hierarchy], variables: Sequence[RdaVariable], keep_status: bool, notes: list[str]
) -> pa.Table:
    """The cells with the values of totals computed anew from the finest ones."""
    import pyarrow as pa

    finest = np.ones(frame.num_rows, np.bool_)
    codes = np.zeros((frame.num_rows, len(by)), np.int32)
    for k, variable in enumerate(variables):
        tree = by[variable.name]
        column = frame[variable.name].combine_chunks()
        words = [str(word) or variable.total for word in column.dictionary.to_pylist()]
        codes[:, k] = np.array([tree.index.get(word, 0) for word in words])[np.asarray(column.indices)]
        finest &= tree.base[codes[:, k]]
    values = frame.select([v.name for v in variables]).append_column("value", frame["value"])
    computed = table_from_cells(values.filter(pa.array(finest)), by, compute_totals=True)
    rows = computed.find(codes)
    new = np.where(rows >= 0, computed.values[np.maximum(rows, 0)], 0.0)
    empty = (rows < 0) | computed.empty[np.maximum(rows, 0)]
    old = frame["value"].combine_chunks()
    before = np.nan_to_num(np.array(old.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64))
    changed = int((~finest & (np.abs(new - before) > 1e-9 * np.maximum(np.abs(before), 1))).sum())
    if changed:
        notes.append(
            f"{counted(changed, 'total of the file', 'are')} not the sum of the finest cells below; the sums are used."
        )
    keep = pa.array(finest)
    sums = pa.array(np.where(empty, np.nan, new), pa.float64(), from_pandas=True)
    import pyarrow.compute as pc

    value = pc.if_else(keep, old.cast(pa.float64(), safe=False), sums)
    frame = frame.set_column(frame.column_names.index("value"), "value", value)
    if "status" in frame.column_names:
        status = frame["status"].combine_chunks()
        if not keep_status:
            status = pc.if_else(keep, status, "V")
        status = pc.if_else(pc.and_(pc.equal(status, "E"), value.is_valid()), "V", status)
        frame = frame.set_column(frame.column_names.index("status"), "status", status)
    notes.append(
        "Who contributes to totals that the file does not have is not known: they are judged by the worst that may be, "
        "as few contributors as possible, the largest of one cell being the largest of the others, too."
    )
    return frame


def _as_they_are(frame: pa.Table, by: dict[str, Hierarchy], common: dict[str, Any], notes: list[str]) -> Table:
    """A table that need not add up: the largest gap is its slack."""
    import pyarrow.compute as pc

    most = float(pc.sum(pc.abs(pc.fill_null(frame["value"], 0))).as_py() or 0)
    table = table_from_cells(frame, by, slack=most, **common)
    exact = table.with_(slack=0)
    gap = int(np.abs(build_system(exact).residual).max(initial=0))
    if gap:
        notes.append("The table does not add up; its largest gap is taken as what every sum may be off by.")
    return table.with_(slack=gap or None)
