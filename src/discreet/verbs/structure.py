"""How tables hang together: the blocks that their relations fall into, and what links these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from discreet.errors import ParameterError, counted, unknown_name
from discreet.files.frames import to_frame
from discreet.files.new_file import new_file
from discreet.model.arrays import Ints
from discreet.model.display import text_of_columns
from discreet.model.notebook import listing, page, sentence
from discreet.model.table import Table
from discreet.model.tableset import TableSet, as_set
from discreet.relations import System, build_system
from discreet.report.page import standing_alone
from discreet.report.structure import structure_image
from discreet.solve.structure import LINKING, Structure, block_structure, independent_parts, link_names

FRAMES = ("blocks", "links", "cells", "relations")
CODES_NAMED = 3
LINKS_NAMED = 5
BLOCKS_SHOWN = 30
BOUND = "Contributors may stand in several parts, so that parts are not safe to protect one by one."


@dataclass(frozen=True, eq=False, repr=False)
class TableStructure:
    """The blocks of relations and cells that tables fall into. For the custodian's eyes.

    It holds no value, but it names cells, and cells of tables made from records are those that are not empty.

    Parameters
    ----------
    system
        Cells and relations of the tables.
    found
        The block of every relation and cell.
    parts
        How many parts there are that no relation ties together.
    """

    system: System
    found: Structure
    parts: int

    @property
    def form(self) -> str:
        """``"dual"``: relations are shared out to blocks and cells link them; ``"primal"``: the other way round."""
        return self.found.form

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return self.found.blocks

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Relations and cells of each block, without links."""
        return self.found.sizes

    @property
    def share_of_cells(self) -> float:
        """Links as a share of all cells."""
        return self.found.share_of_cells

    @property
    def share_of_relations(self) -> float:
        """Links as a share of all relations."""
        return self.found.share_of_relations

    @property
    def few_links(self) -> bool:
        """Whether there are several blocks and links are at most a fifth: of cells (dual) or of relations (primal)."""
        return self.found.few_links

    @cached_property
    def links(self) -> tuple[str, ...]:
        """The cells (dual) or relations (primal) that link blocks, in words."""
        return tuple(link_names(self.found, self.system))

    @property
    def alone(self) -> int:
        """How many cells stand in no relation."""
        return int((np.bincount(self.system.matrix.indices, minlength=len(self.system)) == 0).sum())

    def columns(self, frame: str = "blocks") -> dict[str, list[Any]]:
        """The columns of a frame, by name."""
        if frame == "blocks":
            return self._block_columns()
        if frame == "links":
            return {self.found.link: list(self.links), "blocks": [_numbers(blocks) for blocks in self._linked()]}
        if frame in FRAMES:
            name, block = (
                (self.system.cell_name, self.found.column_block)
                if frame == "cells"
                else (self.system.relation_name, self.found.row_block)
            )
            numbers = [None if b == LINKING else b + 1 for b in block.tolist()]
            return {frame.removesuffix("s"): [name(k) for k in range(len(block))], "block": numbers}
        raise ParameterError(unknown_name("frame", str(frame), FRAMES))

    def to_frame(self, frame: str = "blocks", backend: str = "pyarrow") -> Any:
        """The structure as a data frame.

        Parameters
        ----------
        frame
            ``"blocks"``: one row per block, links last; ``"links"``: what links blocks, and which; ``"cells"`` and
            ``"relations"``: the block of each, empty where it links.
        backend
            ``"pyarrow"``, ``"pandas"`` or ``"polars"``.
        """
        return to_frame(self.columns(frame), backend)

    def plot(self, path: str | Path | None = None) -> str:
        """Relations and cells as they came and by blocks, as an ``svg`` element; written to a new file where asked."""
        drawing = structure_image(self.system.matrix, self.found)
        if path is not None:
            if Path(path).suffix.lower() != ".svg":
                raise ParameterError(f"Cannot draw {Path(path).name!r}.", hint="Use a name that ends in .svg.")
            with new_file(Path(path)) as stream:
                stream.write(standing_alone(drawing))
        return drawing

    def counts(self) -> dict[str, Any]:
        """The structure in numbers."""
        rows, columns = self.system.matrix.shape
        return {
            "relations": rows,
            "cells": columns,
            "entries": int(self.system.matrix.nnz),
            "cells_in_no_relation": self.alone,
            "independent_parts": self.parts,
            "form": self.form,
            "blocks": [{"relations": m, "cells": n} for m, n in self.sizes],
            "largest_block": self.found.largest,
            "links": len(self.found.linking),
            "share_of_cells": self.share_of_cells,
            "share_of_relations": self.share_of_relations,
            "few_links": self.few_links,
        }

    def summary(self) -> str:
        """The structure in a few lines."""
        rows, columns = self.system.matrix.shape
        entries = counted(int(self.system.matrix.nnz), "entry")
        lines = [
            f"{counted(rows, 'relation')} between {counted(columns, 'distinct cell')} ({entries}).",
            self.found.summary(),
        ]
        if self.alone:
            lines.append(f"{counted(self.alone, 'cell', 'stand')} in no relation.")
        if self.parts > 1:
            lines.append(f"No relation ties the {self.parts:,} independent parts together. {BOUND}")
        elif self.blocks > 1:
            members = "relations" if self.form == "dual" else "cells"
            verdict = "Few" if self.few_links else "Many"
            lines.append(f"{verdict} links; the largest block has {self.found.largest:.0%} of the {members}.")
        if len(self.found.linking):
            named = link_names(self.found, self.system, LINKS_NAMED)
            more = len(self.found.linking) - len(named)
            lines += ["Linked by:", *(f"  {name}" for name in named), *([f"  and {more:,} more"] if more else [])]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"{self.summary()}\n{text_of_columns(self._shown(), self.blocks, 'block')}"

    def _repr_html_(self) -> str:
        cut = (
            sentence(f"{self.blocks - BLOCKS_SHOWN:,} more blocks: to_frame() has all.")
            if self.blocks > BLOCKS_SHOWN
            else ""
        )
        return page(self.found.summary(), [], listing(self._shown()), cut)

    def _shown(self) -> dict[str, list[Any]]:
        return self._block_columns(BLOCKS_SHOWN)

    def _block_columns(self, most: int | None = None) -> dict[str, list[Any]]:
        """One row per block, the first ``most`` of them, and one for links where there are any and all are shown."""
        sizes, codes = self.sizes[:most], self._codes(most)
        names = [str(number + 1) for number in range(len(sizes))]
        links = len(self.found.linking)
        if links and len(sizes) == self.blocks:
            names, codes = [*names, "links"], [*codes, ""]
            sizes = [*sizes, (0, links) if self.form == "dual" else (links, 0)]
        return {"block": names, "relations": [m for m, _ in sizes], "cells": [n for _, n in sizes], "codes": codes}

    def _codes(self, most: int | None) -> list[str]:
        """For each block its codes of every variable that is not there with all of its codes."""
        block = self.found.column_block
        order = np.argsort(block, kind="stable")
        ends = np.searchsorted(block[order], np.arange(self.blocks + 1))
        every = [[len(np.unique(column)) for column in table.codes.T] for table in self.system.tables]
        pairs = list(pairwise(ends.tolist()))[:most]
        return ["; ".join(self._own_codes(self.system.home[order[start:end]], every)) for start, end in pairs]

    def _own_codes(self, home: Ints, every: list[list[int]]) -> Iterator[str]:
        """Codes of the cells at these places, of every variable that is not there with all of its codes."""
        for number, table in enumerate(self.system.tables):
            codes = table.codes[home[home[:, 0] == number, 1]]
            prefix = f"{table.name}: " if len(self.system.tables) > 1 else ""
            for k, variable in enumerate(table.variables):
                mine = np.unique(codes[:, k])
                if 0 < len(mine) < every[number][k]:
                    shown = _named(table, k, mine)
                    yield f"{prefix}{variable}: {len(mine):,} of {every[number][k]:,} codes ({shown})"

    def _linked(self) -> list[Ints]:
        """For every link the blocks that it links."""
        dual = self.form == "dual"
        matrix = self.system.matrix.tocsc() if dual else self.system.matrix
        block = self.found.row_block if dual else self.found.column_block
        spans = [matrix.indices[matrix.indptr[k] : matrix.indptr[k + 1]] for k in self.found.linking.tolist()]
        return [np.unique(block[span]) for span in spans]


def structure(
    tables: Table | TableSet,
    blocks: int | None = None,
    *,
    form: Literal["dual", "primal", "both"] = "both",
    balance: float = 0.1,
    starts: int = 10,
    seed: int = 1,
) -> TableStructure:
    """Nearly independent blocks of the relations of tables, and the cells or relations that link them.

    Says whether tables fall apart, and if not, which few totals hold them together. Only relations are looked at: it is
    a description, and no statement about safety.

    Parameters
    ----------
    tables
        A table, or a set whose tables may share cells. They need not be assessed.
    blocks
        How many blocks. When left out, the parts that nothing links, where there are several, and otherwise two.
    form
        What links blocks: cells (``"dual"``) or relations (``"primal"``); ``"both"`` takes the form with the smaller
        share of links.
    balance
        How far halves may differ: the larger has at most (1 + balance) / 2 of what is halved, or one more than half.
    starts
        How many halvings are grown at each step, besides those made by levels; the best is taken.
    seed
        Chooses where they grow from; the same seed gives the same blocks.

    Returns
    -------
    TableStructure
        With ``summary()``, ``to_frame()``, ``plot()`` and the ``links`` by name.

    Raises
    ------
    ParameterError
        When the subject is no table or a parameter is impossible.

    Notes
    -----
    Finding the fewest links is hard; the blocks are good and not proved to be the best. Source: Castro and Baena
    (2006).

    Examples
    --------
    >>> import discreet as ds
    >>> found = ds.structure(ds.examples.small_table(), form="primal")
    >>> found.sizes
    [(2, 8), (2, 8)]
    >>> len(found.links), found.share_of_relations
    (4, 0.5)
    """
    if not isinstance(tables, Table | TableSet):
        raise ParameterError(
            f"Cannot look for the structure of a {type(tables).__name__}.", hint="Give a table or a set of tables."
        )
    system = build_system(as_set(tables))
    found = block_structure(system.matrix, blocks, form=form, balance=balance, starts=starts, seed=seed)
    return TableStructure(system, found, independent_parts(system.matrix).blocks)


def _numbers(blocks: Ints) -> str:
    return ", ".join(str(block + 1) for block in blocks.tolist())


def _named(table: Table, variable: int, codes: Ints) -> str:
    """The first codes of a variable."""
    every = table.spec.hierarchies[variable].codes
    shown = ", ".join(every[code] for code in codes[:CODES_NAMED].tolist())
    return f"{shown}, …" if len(codes) > CODES_NAMED else shown
