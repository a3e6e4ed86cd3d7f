"""Releases and assessed tables as files that τ-ARGUS and its users read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from discreet.argus.apriori import status_numbers
from discreet.attack import Audit
from discreet.errors import NeedsError, ParameterError, unknown_name
from discreet.files.argus.jj import Instance, jj_weights, write_jj
from discreet.files.argus.outputs import (
    EMPTY_STATUS,
    KINDS,
    Options,
    OutputCells,
    holds_withheld_values,
    intermediate_metadata,
    output_text,
    write_text,
)
from discreet.files.argus.rda import metadata_text
from discreet.files.hrc import write_hierarchy
from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Ints
from discreet.model.noise_table import FRACTIONS
from discreet.model.public import in_rows_of, rounded_units
from discreet.model.release import Release
from discreet.model.table import CellStatus, Table
from discreet.model.units import from_units
from discreet.relations import System, build_system

ALTERED = {"round": "Round", "adjust": "CTA", "cell_key": "CKM"}
STATUS_OF_JJ = {CellStatus.SAFE: 0, CellStatus.UNSAFE: 1, CellStatus.SECONDARY: 2, CellStatus.FORCED: 3}
KEY_DIGITS = 15
"""Decimals of fractional cell keys."""
SHARES = frozenset({"p_percent", "prior_posterior"})
TINY = 1e-6
ROOM = 1.5
"""Bounds of cells in JJ files reach this far beyond the largest and smallest value."""


class Written(NamedTuple):
    """Files that were written, and whether they hold what must not leave the house."""

    files: tuple[Path, ...]
    confidential: bool


def write_argus(
    release: Release | Table,
    path: str | Path,
    kind: str | int = "code_value",
    *,
    table: str | None = None,
    options: str | Options = "",
    audit: Audit | None = None,
) -> Written:
    """Write a table of a release in one of the formats of τ-ARGUS.

    Parameters
    ----------
    release
        A release, or an assessed table of which only the unsafe cells are withheld.
    path
        The file; an intermediate file gets an ``.rda`` file and its hierarchies beside it.
    kind
        ``"csv"``, ``"pivot"``, ``"code_value"``, ``"sbs"``, ``"intermediate"``, ``"jj"``, ``"cell_key"``, or the
        number that batch files have for it.
    table
        Which table, where there are several.
    options
        Options as batch files write them, such as ``"AS+SE+"``.
    audit
        What an attacker finds, for the option ``AR``; computed when left out.

    Returns
    -------
    Written
        The files, and whether they hold what must not leave the house; such files can be read by their owner only.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> table = ds.examples.small_table().assess(ds.PPercent(10))
    >>> release = ds.protect(table, ds.Suppress())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = ds.write_argus(release, f"{folder}/safe.txt")
    ...     print(written.files[0].read_text().splitlines()[7])
    "retail","South",x
    """
    name = KINDS.get(kind, str(kind)) if isinstance(kind, int) else kind
    if name not in KINDS.values():
        raise ParameterError(unknown_name("kind of file", name, KINDS.values()))
    chosen = options if isinstance(options, Options) else Options.parse(options)
    path = Path(path)
    number, mine = _table(release, table)
    if name == "jj":
        return Written((_write_instance(release, mine, number, path),), True)
    if name == "cell_key" and not (isinstance(release, Release) and _altered(release) == "CKM"):
        raise NeedsError(
            "A cell-key file needs a table that was changed by cell keys.",
            hint="Protect with CKM, or write another type of file.",
        )
    if name == "sbs":
        chosen = replace(chosen, holding=True)
    if chosen.audit and audit is None and isinstance(release, Release) and release.custodian.published is None:
        from discreet.verbs.audit import audit as audit_release

        audit = audit_release(release)
    cells = output_cells(release, mine, number, chosen, audit if chosen.audit else None)
    confidential = holds_withheld_values(name, cells, chosen) or isinstance(release, Table)
    if cells.published is not None and not confidential:
        # Nobody may tell a cell that became zero from one that was empty.
        cells = replace(cells, status=np.where(cells.published == 0, EMPTY_STATUS, cells.status))
    if name == "cell_key":
        assert isinstance(release, Release)
        text = _cell_key_text(_with_keys(cells, release, number) if chosen.cell_key else cells, chosen)
    else:
        text = output_text(name, cells, chosen)
    write_text(path, text, confidential)
    files = [path]
    if name == "intermediate":
        files += _write_metadata(mine, path, cells, chosen)
    return Written(tuple(files), confidential)


def _table(release: Release | Table, name: str | None) -> tuple[int, Table]:
    if isinstance(release, Table):
        return 0, release
    tables = release.custodian.tables.tables
    if name is None:
        if len(tables) > 1:
            raise ParameterError("The release has several tables.", hint="Say which one with table=.")
        return 0, tables[0]
    names = [table.name for table in tables]
    if name not in names:
        raise ParameterError(unknown_name("table", name, names, "the release"))
    return names.index(name), tables[names.index(name)]


def _altered(release: Release) -> str:
    if release.custodian.published is None:
        return ""
    return ALTERED.get(str(release.custodian.evidence[0].method["method"]), "Changed")


def output_cells(
    release: Release | Table, table: Table, number: int, options: Options, audit: Audit | None
) -> OutputCells:
    """The cells of a table as the writers need them."""
    decimals = table.decimals if table.spec.decimals is None else table.spec.decimals
    final = release.custodian.status[number] if isinstance(release, Release) else table.status
    level = "record" if "record" in table.contributions and not options.holding else "holding"
    found = table.contributions.get(level)
    published, shown = None, 0
    if isinstance(release, Release) and release.custodian.published is not None:
        public = in_rows_of(table, release.public[table.name])
        published, shown = public.value, public.decimals
    lower, upper = (None, None) if table.assessment is None else (table.assessment.lower, table.assessment.upper)
    return OutputCells(
        variables=table.variables,
        code_lists=tuple(h.codes for h in table.spec.hierarchies),
        depths=tuple(tuple(int(d) for d in h.depth) for h in table.spec.hierarchies),
        codes=table.codes,
        value=rounded_units(table.value, table.decimals, decimals),
        decimals=decimals,
        status=status_numbers(table, final),
        response=table.spec.value or "Freq",
        frequency=None if found is None else found.count,
        shadow=None if found is None else found.total,
        shadow_decimals=table.shadow_decimals,
        cost=np.abs(from_units(table.value, table.decimals)) if table.cost is None else table.cost,
        top=None if found is None or not found.top.shape[1] else found.top,
        lower=None if lower is None else _up(lower, table.decimals - decimals),
        upper=None if upper is None else _up(upper, table.decimals - decimals),
        dominated_by_one=_dominated_by_one(table, level),
        by_share=table.assessment is not None and any(r["kind"] in SHARES for r in table.assessment.rules),
        published=published,
        published_decimals=shown,
        altered=_altered(release) if isinstance(release, Release) else "",
        intervals=None if audit is None else _realised(number, decimals, audit),
        totals=tuple(h.total or "Total" for h in table.spec.hierarchies),
    )


def _up(level: Ints, digits: int) -> Ints:
    """Levels in coarser units, rounded up."""
    step = np.int64(10 ** max(digits, 0))
    result: Ints = -(-level // step)
    return result


def _dominated_by_one(table: Table, level: str) -> Bools:
    """Whether the largest contributor alone breaks a rule of dominance; one contributor always does."""
    found = table.contributions.get(level)
    if found is None or not found.top.shape[1] or table.assessment is None:
        return np.zeros(len(table), np.bool_)
    shares = [float(rule["k"]) for rule in table.assessment.rules if rule["kind"] == "dominance"]
    result: Bools = found.count == 1
    if shares:
        result = result | (100.0 * found.top[:, 0] > min(shares) * found.total)
    return result


def _realised(number: int, decimals: int, audit: Audit) -> tuple[Ints, Ints]:
    """The intervals that an attacker finds, rounded outwards to the shown decimals; the value where it is published."""
    system = audit.system
    scale = 10.0 ** (system.decimals - decimals)
    low, high = system.value / scale, system.value / scale
    cells = audit.intervals.cells
    low[cells], high[cells] = audit.intervals.lower / scale, audit.intervals.upper / scale
    mine = system.of[number]
    return (
        np.clip(np.floor(low[mine] + TINY), float(NO_LOWER), 2.0**62).astype(np.int64),
        np.clip(np.ceil(high[mine] - TINY), -(2.0**62), float(NO_UPPER)).astype(np.int64),
    )


def _with_keys(cells: OutputCells, release: Release, number: int) -> OutputCells:
    """The cells with their keys as the evidence keeps them: fractions, without the zeros that all end in, or whole."""
    evidence, tables = release.custodian.evidence[0], release.custodian.tables.tables
    first = sum(len(table) for table in tables[:number])
    keys = evidence.parts["cells"]["key_sum"][first : first + len(tables[number])]
    whole = tables[number].spec.value is None and int(evidence.facts["noise"]["modulus"]) != FRACTIONS
    digits = 0 if whole else KEY_DIGITS
    while digits and not np.any(keys % 10):
        keys, digits = keys // 10, digits - 1
    return replace(cells, key=keys, key_digits=digits)


def _cell_key_text(cells: OutputCells, options: Options) -> str:
    """Cell-key files: codes, published value, and original, difference and cell key where asked."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from discreet.files.celltext import units_text

    cells = cells.at(cells.status != 14) if options.skip_empty else cells.everywhere()
    assert cells.published is not None
    quote = '"' if options.quotes else ""
    lists = [pa.array([f"{quote}{code}{quote}" for code in listing]) for listing in cells.code_lists]
    columns = [words.take(pa.array(cells.codes[:, k])) for k, words in enumerate(lists)]
    columns.append(units_text(cells.published, cells.published_decimals))
    digits = max(cells.decimals, cells.published_decimals)
    if options.original:
        columns.append(units_text(cells.value, cells.decimals))
    if options.difference:
        change = rounded_units(cells.published, cells.published_decimals, digits)
        columns.append(units_text(change - rounded_units(cells.value, cells.decimals, digits), digits))
    if cells.key is not None:
        columns.append(units_text(cells.key, cells.key_digits))
    return "".join(f"{line}\n" for line in pc.binary_join_element_wise(*columns, ";").to_pylist())


def _write_metadata(table: Table, path: Path, cells: OutputCells, options: Options) -> list[Path]:
    """The ``.rda`` file and the hierarchies beside an intermediate file."""
    trees, files = [], []
    for variable, hierarchy in table.spec.by.items():
        if len(hierarchy.groupings) > 1:
            tree = path.with_name(f"{path.stem}_{_file_word(variable)}.hrc")
            write_hierarchy(hierarchy, tree)
            trees.append(tree.name)
            files.append(tree)
        else:
            trees.append("")
    rda = path.with_suffix(".rda")
    write_text(rda, metadata_text(intermediate_metadata(cells, options, trees)), confidential=False)
    return [rda, *files]


def _file_word(name: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "-_" else "_" for sign in name)


def _write_instance(release: Release | Table, table: Table, number: int, path: Path) -> Path:
    status = release.custodian.status[number] if isinstance(release, Release) else table.status
    instance, decimals = instance_of(build_system(table), status)
    write_text(path, "", confidential=True)
    write_jj(instance, path, decimals)
    return path


def instance_of(system: System, status: Sequence[int] | Any) -> tuple[Instance, int]:
    """A system of one table as a JJ instance, in its own decimals.

    Cells that mean the same are one cell in a system, so that trivial levels have no relations of their own.
    """
    value = from_units(system.value, system.decimals)
    final = np.full(len(system), int(CellStatus.SAFE), np.int64)
    final[system.of[0]] = np.asarray(status)
    letters = np.array([STATUS_OF_JJ.get(CellStatus(int(s)), 3) for s in final], np.int64)
    smallest, largest = min(float(value.min(initial=0)), 0.0), max(float(value.max(initial=0)), 0.0)
    scale = np.float64(10.0**-system.decimals)
    low = np.where(system.lower_bound > NO_LOWER, system.lower_bound * scale, ROOM * smallest)
    high = np.where(system.upper_bound < NO_UPPER, system.upper_bound * scale, ROOM * largest)
    fixed = letters == 3
    matrix = system.matrix
    return (
        Instance(
            value,
            jj_weights(system.cost("value")),
            letters,
            np.where(fixed, value, low),
            np.where(fixed, value, high),
            from_units(system.lower_level, system.decimals),
            from_units(system.upper_level, system.decimals),
            from_units(system.sliding_level, system.decimals),
            np.zeros(matrix.shape[0]),
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int64),
            matrix.data.astype(np.int64),
        ),
        system.decimals,
    )
