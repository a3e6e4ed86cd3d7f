"""Tables as τ-ARGUS writes them: csv, pivot, code-value, SBS and intermediate files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError, OutputError, ParameterError
from discreet.files.argus.rda import ArgusMetadata, RdaVariable
from discreet.files.celltext import safe_code, units_text
from discreet.files.new_file import CONFIDENTIAL, OPEN, new_file
from discreet.model.arrays import Bools, Codes, Floats, Ints

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = {1: "csv", 2: "pivot", 3: "code_value", 4: "sbs", 5: "intermediate", 6: "jj", 7: "cell_key"}
"""Types of output, by the number that batch files have for them."""
MOST_CELLS = 5_000_000
WITHHELD, EMPTY = "x", "-"
EMPTY_STATUS = 14
HIDDEN = (3, 4, 5, 6, 9, 11, 12)
"""Numbers of the statuses whose values are withheld."""
FREQUENCY_STATUS, OTHER_STATUSES = 5, (4, 6, 9)
"""Cells with few contributors; cells that are unsafe by request, as zeros or by hand."""
LETTERS = {1: "S", 2: "S", 10: "P", 11: "M", 12: "M", 13: "E", EMPTY_STATUS: "E"}
"""Letters of intermediate files; statuses that are not here are unsafe, ``U``."""

PER_CELL = ("value", "frequency", "shadow", "cost", "top", "lower", "upper", "dominated_by_one", "published", "key")
"""Columns of cells that are nothing where there is no cell."""


@dataclass(frozen=True)
class Options:
    """Options of an output file; batch files write them as letters with + or -."""

    status: bool = field(default=False, metadata={"letters": "AS"})
    skip_empty: bool = field(default=False, metadata={"letters": "SE"})
    header: bool = field(default=False, metadata={"letters": "FL"})
    quotes: bool = field(default=True, metadata={"letters": "QU"})
    levels: bool = field(default=False, metadata={"letters": "HL"})
    status_only: bool = field(default=False, metadata={"letters": "SO"})
    audit: bool = field(default=False, metadata={"letters": "AR"})
    holding: bool = field(default=False, metadata={"letters": "HI"})
    drop_trivial: bool = field(default=False, metadata={"letters": "TR"})
    original: bool = field(default=False, metadata={"letters": "AO"})
    difference: bool = field(default=False, metadata={"letters": "AD"})
    cell_key: bool = field(default=False, metadata={"letters": "AC"})

    @classmethod
    def parse(cls, text: str) -> Options:
        """Read options such as ``AS+SE-``; a letter pair without a sign is on."""
        known = {f.metadata["letters"]: f.name for f in fields(cls)}
        found: dict[str, bool] = {}
        rest = re.sub(r"[\s,]", "", text).upper()
        for letters, sign in re.findall(r"([A-Z]{2})([+-]?)", rest):
            if letters not in known:
                raise ParameterError(f"There is no option {letters!r}.", hint=f"Known are: {', '.join(known)}.")
            found[known[letters]] = sign != "-"
        if re.sub(r"([A-Z]{2})([+-]?)", "", rest):
            raise ParameterError(f"The options {text!r} cannot be read.", hint="Write letter pairs with signs: AS+SE-.")
        return cls(**found)

    def text(self) -> str:
        """The options that are not as usual, as batch files write them."""
        usual = Options()
        changed = [f for f in fields(self) if getattr(self, f.name) != getattr(usual, f.name)]
        return "".join(f"{f.metadata['letters']}{'+' if getattr(self, f.name) else '-'}" for f in changed)


@dataclass(frozen=True, eq=False)
class OutputCells:
    """The cells of one table as the writers need them, in canonical order; numbers are integers in units.

    ``status`` are numbers of τ-ARGUS. ``published`` are altered values, and ``altered`` names how they were made:
    ``Round``, ``CTA`` or ``CKM``; ``key`` are cell keys. ``by_share`` says that a rule of the p% family was used.
    """

    variables: tuple[str, ...]
    code_lists: tuple[tuple[str, ...], ...]
    depths: tuple[tuple[int, ...], ...]
    codes: Codes
    value: Ints
    decimals: int
    status: Ints
    response: str
    frequency: Ints | None = None
    shadow: Ints | None = None
    shadow_decimals: int = 0
    cost: Floats | None = None
    top: Ints | None = None
    lower: Ints | None = None
    upper: Ints | None = None
    dominated_by_one: Bools | None = None
    by_share: bool = False
    published: Ints | None = None
    published_decimals: int = 0
    key: Ints | None = None
    key_digits: int = 0
    altered: str = ""
    intervals: tuple[Ints, Ints] | None = None
    totals: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.value)

    @property
    def hidden(self) -> Bools:
        """Cells whose value is withheld."""
        if self.published is not None:
            return np.zeros(len(self), np.bool_)
        result: Bools = np.isin(self.status, HIDDEN)
        return result

    def everywhere(self) -> OutputCells:
        """The same with all combinations of codes; those that are not there are empty."""
        shape = [len(codes) for codes in self.code_lists]
        size = int(np.prod(shape, dtype=np.float64))
        if size == len(self):
            return self
        if size > MOST_CELLS:
            raise OutputError(
                f"The table has {size:,} combinations of codes; at most {MOST_CELLS:,} are written.",
                hint="Leave empty cells out (SE+).",
            )
        places = np.ravel_multi_index(tuple(self.codes.T), shape)
        changes: dict[str, Any] = {}
        for name in PER_CELL:
            column = getattr(self, name)
            if column is not None:
                whole = np.zeros((size, *column.shape[1:]), column.dtype)
                whole[places] = column
                changes[name] = whole
        if self.intervals is not None:
            ends = []
            for column in self.intervals:
                whole = np.zeros(size, np.int64)
                whole[places] = column
                ends.append(whole)
            changes["intervals"] = tuple(ends)
        status = np.full(size, EMPTY_STATUS, np.int64)
        status[places] = self.status
        codes = np.column_stack(np.unravel_index(np.arange(size), shape)).astype(np.int32)
        kept = {f.name: getattr(self, f.name) for f in fields(self)}
        return OutputCells(**{**kept, **changes, "status": status, "codes": codes})

    def at(self, rows: Bools) -> OutputCells:
        """Some of the cells."""
        kept = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("codes", "status", *PER_CELL):
            kept[name] = None if kept[name] is None else kept[name][rows]
        if self.intervals is not None:
            kept["intervals"] = (self.intervals[0][rows], self.intervals[1][rows])
        return OutputCells(**kept)


def output_text(kind: str, cells: OutputCells, options: Options) -> str:
    """A table as the text of a file of this kind."""
    if kind == "csv":
        return _grid(cells.everywhere(), options)
    if options.skip_empty or kind == "sbs":
        cells = cells.at(cells.status != EMPTY_STATUS)
    else:
        cells = cells.everywhere()
    if kind in ("pivot", "code_value"):
        return _records(cells, options, kind == "pivot")
    if kind == "sbs":
        return _sbs(cells, options)
    if kind == "intermediate":
        return _intermediate(cells, options)
    raise ParameterError(f"Files of kind {kind!r} are not text of one table.", hint="Use another kind.")


def holds_withheld_values(kind: str, cells: OutputCells, options: Options) -> bool:
    """Whether a file of this kind shows values, levels or contributions that must not leave the house."""
    if kind in ("jj", "sbs") or (kind == "intermediate" and not options.status_only):
        return True
    if kind == "intermediate":
        return True  # who is unsafe and who is secondary is confidential too
    if cells.altered:
        return options.status or options.original or options.difference or options.cell_key
    return options.status and kind != "csv"


def write_text(path: Path, text: str, confidential: bool) -> None:
    """Write a file; one that is confidential can be read by its owner only."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"Cannot write {path.name!r}: {error.strerror}.", hint="Check the folder.") from None
    with new_file(path, CONFIDENTIAL if confidential else OPEN) as stream:
        stream.write(text.encode())


# ---- the layouts ----------------------------------------------------------------------------------------------


def _columns_of_codes(cells: OutputCells, quotes: bool, safe: bool) -> list[pa.Array]:
    import pyarrow as pa

    result = []
    for k, listing in enumerate(cells.code_lists):
        words = [safe_code(code) if safe else code for code in listing]
        texts = pa.array([_quoted(word) if quotes else _plain(word) for word in words], pa.string())
        result.append(texts.take(pa.array(cells.codes[:, k])))
    return result


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _plain(text: str) -> str:
    if "," in text or '"' in text or "\n" in text:
        raise InputError(f"The code {text!r} cannot be written without quotation marks.", hint="Write with QU+.")
    return text


def _shown(cells: OutputCells, everything: bool) -> pa.Array:
    """Values as they are shown: ``x`` where withheld, ``-`` where empty."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if cells.published is not None:
        text = units_text(cells.published, cells.published_decimals)
    else:
        text = units_text(cells.value, cells.decimals)
        if not everything:
            text = pc.if_else(pa.array(cells.hidden), WITHHELD, text)
    return pc.if_else(pa.array(cells.status == EMPTY_STATUS), EMPTY, text)


def _joined(columns: Sequence[Any], separator: str, first: str = "") -> str:
    import pyarrow.compute as pc

    lines = columns[0] if len(columns) == 1 else pc.binary_join_element_wise(*columns, separator)
    text = "\n".join(lines.to_pylist())
    return f"{first}\n{text}\n" if first else f"{text}\n" if text else ""


def _records(cells: OutputCells, options: Options, pivot: bool) -> str:
    """One cell per line: codes, value and what else was asked for."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = [*_columns_of_codes(cells, options.quotes, safe=pivot), _shown(cells, options.status)]
    changed = cells.altered in ("Round", "CTA")
    named = changed and cells.response != "Freq"
    names = [*cells.variables, cells.response + (f"_{cells.altered}" if named else "")]
    if options.status and changed:
        original = units_text(cells.value, cells.decimals)
        columns.append(pc.if_else(pa.array(cells.status == EMPTY_STATUS), EMPTY, original))
        names.append(f"{cells.response}_Orig")
    if options.status and cells.altered in ("", "CTA"):
        columns.append(pa.array(cells.status).cast(pa.string()))
        names.append("Status")
    head = ",".join(_quoted(name) if options.quotes else _plain(name) for name in names)
    return _joined(columns, ",", head if pivot or options.header else "")


def _grid(cells: OutputCells, options: Options) -> str:
    """A spreadsheet: the last variable across, the one before it down, a block for each code of those before them.

    The first field of a heading is empty, a block is named by a line ``Var 1,code, Var 2,code``, and an empty line ends
    it. One variable alone goes across.
    """

    def word(text: str) -> str:
        return _quoted(safe_code(text)) if options.quotes else _plain(safe_code(text))

    shown = np.array(_shown(cells, False).to_pylist(), object)
    shape = [len(codes) for codes in cells.code_lists]
    heading = ",".join(["", *(word(code) for code in cells.code_lists[-1])])
    if len(shape) == 1:
        return f"{heading}\n,{','.join(shown.tolist())}\n"
    lines: list[str] = []
    blocks = shown.reshape(-1, *shape[-2:])
    for block, above in zip(blocks.tolist(), product(*cells.code_lists[:-2]), strict=True):
        if above:
            lines.append(", ".join(f"Var {k + 1},{word(code)}" for k, code in enumerate(above)))
        lines.append(heading)
        lines += [",".join((word(code), *row)) for code, row in zip(cells.code_lists[-2], block, strict=True)]
        lines.append("")
    return "\n".join(lines) + "\n"


def _sbs(cells: OutputCells, options: Options) -> str:
    """Structural business statistics: codes, value, contributors, letter, and shares of the largest contributors.

    Shares stand behind cells that a rule, a request or a person calls unsafe: of the largest and the second largest
    contributor (``F``, rules of the p% family), of the two together (``C``), otherwise of the largest.
    """
    import pyarrow as pa

    columns = _columns_of_codes(cells, options.quotes, safe=False)
    if options.levels:
        flat = [max(listing, default=0) <= 1 for listing in cells.depths]
        levels = [
            pa.array(["0" if plain else str(depth) for depth in listing]).take(pa.array(cells.codes[:, k]))
            for k, (plain, listing) in enumerate(zip(flat, cells.depths, strict=True))
        ]
        columns = [column for pair in zip(columns, levels, strict=True) for column in pair]
    columns.append(_shown(cells, True))
    if cells.frequency is not None:
        columns.append(units_text(cells.frequency, 0))
    one = np.zeros(len(cells), np.bool_) if cells.dominated_by_one is None else cells.dominated_by_one
    letters = np.full(len(cells), "V", object)
    letters[np.isin(cells.status, (11, 12))] = "D"
    letters[cells.status == FREQUENCY_STATUS] = "A"
    letters[np.isin(cells.status, OTHER_STATUSES)] = "B"
    ruled = cells.status == 3
    letters[ruled] = np.where(cells.by_share, "F", np.where(one, "B", "C"))[ruled]
    shares = _shares(cells, letters)
    told = ruled | np.isin(cells.status, OTHER_STATUSES)
    ends = [letter + (f",{share}" if tell else "") for letter, share, tell in zip(letters, shares, told, strict=True)]
    return _joined([*columns, pa.array(ends, pa.string())], ",")


def _shares(cells: OutputCells, letters: Any) -> list[str]:
    """Shares of the largest contributors in per cent, with one decimal."""
    size = len(cells)
    whole = np.zeros(size) if cells.shadow is None else cells.shadow.astype(np.float64)
    top = np.zeros((size, 2))
    if cells.top is not None:
        top[:, : cells.top.shape[1]] = cells.top[:, :2]
    first, second = (np.where(whole > 0, 100 * top[:, k] / np.where(whole > 0, whole, 1), 0.0) for k in (0, 1))
    if cells.by_share:
        return [f"{a:.1f},{b:.1f}" for a, b in zip(first.tolist(), second.tolist(), strict=True)]
    return [f"{x:.1f}" for x in np.where(letters == "C", first + second, first).tolist()]


def _intermediate(cells: OutputCells, options: Options) -> str:
    """All that a later run needs: codes, value, frequency, shadow, cost, contributions, status and levels."""
    import pyarrow as pa

    columns = _columns_of_codes(cells, options.quotes, safe=False)
    letters = pa.array([LETTERS.get(int(number), "U") for number in cells.status], pa.string())
    if options.status_only:
        return _joined([*columns, letters], ";")
    empty = cells.status == EMPTY_STATUS
    columns.append(_shown(cells, True))
    if cells.frequency is not None:
        columns.append(units_text(np.where(empty, 0, cells.frequency), 0))
    if cells.shadow is not None:
        columns.append(units_text(cells.shadow, cells.shadow_decimals))
    if cells.cost is not None:
        columns.append(pa.array([f"{cost:.10g}" for cost in cells.cost.tolist()], pa.string()))
    if cells.top is not None:
        columns += [units_text(cells.top[:, k], cells.shadow_decimals) for k in range(cells.top.shape[1])]
    columns.append(letters)
    if cells.lower is not None and cells.upper is not None:
        columns += [units_text(cells.lower, cells.decimals), units_text(cells.upper, cells.decimals)]
    if options.audit and cells.intervals is not None:
        columns += _realised(cells)
    return _joined(columns, ";")


def _realised(cells: OutputCells) -> list[pa.Array]:
    """What an attacker finds: low, high, width, and the three as per cent of the value."""
    import pyarrow as pa

    assert cells.intervals is not None
    low, high = cells.intervals
    value = np.abs(cells.value.astype(np.float64))
    value[value == 0] = np.nan
    value[~cells.hidden] = np.nan
    shares = [100 * (cells.value - low) / value, 100 * (high - cells.value) / value, 100 * (high - low) / value]
    numbers = [pa.array(["0" if np.isnan(x) else f"{x:.2f}" for x in share.tolist()], pa.string()) for share in shares]
    return [*(units_text(column, cells.decimals) for column in (low, high, high - low)), *numbers]


def intermediate_metadata(cells: OutputCells, options: Options, trees: Sequence[str]) -> ArgusMetadata:
    """The ``.rda`` file beside an intermediate file; ``trees`` are the hierarchy files of its variables, if any."""
    spanning = [
        RdaVariable(name, recodeable=True, total=total, hierarchical=bool(tree), hierarchy=tree)
        for name, total, tree in zip(cells.variables, cells.totals, trees, strict=True)
    ]
    if options.status_only:
        return ArgusMetadata((*spanning, RdaVariable("Status", role="status")), "cells", ";")
    rest = [RdaVariable(cells.response, numeric=True, decimals=cells.decimals)]
    if cells.frequency is not None:
        rest.append(RdaVariable("Freq" if cells.response != "Freq" else "Freq_", role="frequency"))
    if cells.shadow is not None:
        rest.append(RdaVariable("Shadow", numeric=True, role="shadow"))
    if cells.cost is not None:
        rest.append(RdaVariable("Cost", numeric=True, role="cost"))
    if cells.top is not None:
        rest += [RdaVariable(f"Top{k + 1}", role="top") for k in range(cells.top.shape[1])]
    rest.append(RdaVariable("Status", role="status"))
    if cells.lower is not None and cells.upper is not None:
        rest += [RdaVariable("LowerPL", numeric=True, role="lower"), RdaVariable("UpperPL", numeric=True, role="upper")]
    if options.audit and cells.intervals is not None:
        rest += [RdaVariable(name) for name in ("Low", "High", "Width", "LowShare", "HighShare", "WidthShare")]
    return ArgusMetadata((*spanning, *rest), "cells", ";")
