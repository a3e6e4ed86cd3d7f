"""Nearly independent blocks of any relation matrix: the parts that it falls into, and what ties them together.

In the dual form relations are shared out to blocks, and a cell that stands in relations of several blocks links them.
In the primal form cells are shared out, and a relation between cells of several blocks links them. Connected components
come first, because they are exact. What is left is halved again and again, from parts grown from several seeds, from
the order that it came in, and by levels: pairs that share most links are merged until few are left, these are halved,
and the pairs part again. Each start is refined by moving single members while fewer links remain (Fiduccia and
Mattheyses), and the best is taken. A maintained partitioner was measured and brought little (docs/design/0005).
Source: Castro and Baena (2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, counted, unknown_name
from discreet.model.arrays import Ints
from discreet.relations.components import components
from discreet.solve.halving import grown, matched, refine

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from discreet.relations import System

FORMS = ("dual", "primal", "both")
FEW = 0.2
"""Links are few where they are at most this share: of the cells in the dual form, of the relations in the primal."""
LINKING = -1
LEVELLED, COARSEST, COARSE_STARTS, ENOUGH = 4, 60, 10, 0.95
"""So many halvings are made by levels; pairs are made down to so many rows, or until a round of pairs leaves more than
this share of them; the coarsest rows are halved from so many starts."""
SIZES_SHOWN = 8


@dataclass(frozen=True, eq=False)
class Structure:
    """Blocks of a relation matrix.

    Parameters
    ----------
    form
        ``"dual"``: cells link; ``"primal"``: relations link.
    blocks
        How many there are.
    row_block, column_block
        The block of every relation and cell; -1 where it links.
    """

    form: str
    blocks: int
    row_block: Ints
    column_block: Ints

    @property
    def link(self) -> str:
        """What links blocks, in a word: ``"cell"`` or ``"relation"``."""
        return "cell" if self.form == "dual" else "relation"

    @property
    def linking(self) -> Ints:
        """Numbers of the cells (dual) or relations (primal) that link blocks."""
        return np.flatnonzero((self.column_block if self.form == "dual" else self.row_block) == LINKING)

    @property
    def row_order(self) -> Ints:
        """Relations by block, linking ones last."""
        return _in_order(self.row_block)

    @property
    def column_order(self) -> Ints:
        """Cells by block, linking ones last."""
        return _in_order(self.column_block)

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Relations and cells of each block."""
        rows, columns = (
            np.bincount(block[block != LINKING], minlength=self.blocks).tolist()
            for block in (self.row_block, self.column_block)
        )
        return list(zip(rows, columns, strict=True))

    @property
    def largest(self) -> float:
        """The largest block as a share of what is shared out: relations in the dual form, cells in the primal."""
        mine = [size[0 if self.form == "dual" else 1] for size in self.sizes]
        return max(mine) / max(sum(mine), 1)

    @property
    def share_of_cells(self) -> float:
        """Links as a share of all cells."""
        return len(self.linking) / max(len(self.column_block), 1)

    @property
    def share_of_relations(self) -> float:
        """Links as a share of all relations."""
        return len(self.linking) / max(len(self.row_block), 1)

    @property
    def few_links(self) -> bool:
        """Whether there are several blocks and links are at most a fifth: of cells (dual) or of relations (primal)."""
        share = self.share_of_cells if self.form == "dual" else self.share_of_relations
        return self.blocks > 1 and share <= FEW

    def summary(self) -> str:
        """The blocks in words."""
        if self.blocks == 1:
            relations, cells = self.sizes[0]
            return f"One block: {counted(relations, 'relation')}, {counted(cells, 'cell')}."
        shown = ", ".join(f"{m:,} x {n:,}" for m, n in self.sizes[:SIZES_SHOWN])
        more = f" and {self.blocks - SIZES_SHOWN:,} more" if self.blocks > SIZES_SHOWN else ""
        sizes = f"{self.blocks:,} blocks (relations x cells): {shown}{more}."
        if not len(self.linking):
            return f"{sizes} Nothing links them."
        return (
            f"{sizes} {counted(len(self.linking), self.link, 'link')} them ({self.share_of_cells:.1%} of cells, "
            f"{self.share_of_relations:.1%} of relations)."
        )


def block_structure(
    matrix: csr_array,
    blocks: int | None = None,
    *,
    form: Literal["dual", "primal", "both"] = "both",
    balance: float = 0.1,
    starts: int = 10,
    seed: int = 1,
) -> Structure:
    """Reorder a relation matrix into nearly independent blocks.

    Parameters
    ----------
    matrix
        Relations; only where it is not zero matters.
    blocks
        How many blocks. When left out, the parts that nothing links, where there are several, and otherwise two.
    form
        Which things link; ``"both"`` takes the form with the smaller share of links.
    balance
        The larger part of a halving has at most (1 + balance) / 2 of the members, or one more than half.
    starts
        How many parts are grown from seeds at each halving.
    seed
        Of the draws; the same seed gives the same blocks.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> two = csr_array(np.array([[1, 1, -1, 0, 0], [0, 0, 1, 1, -1]]))
    >>> found = block_structure(two, form="dual")
    >>> found.linking, found.sizes
    (array([2]), [(1, 2), (1, 2)])
    """
    _refuse(matrix, blocks, form, balance, starts)
    matrix = _without_zeros(matrix)
    if blocks is None:
        parts = independent_parts(matrix, form)
        if parts.blocks > 1 or min(matrix.shape) < 2:
            return parts
        blocks = 2
    if form == "both":
        dual, primal = (_reordered(matrix, blocks, f, balance, starts, seed) for f in ("dual", "primal"))
        return dual if dual.share_of_cells <= primal.share_of_relations else primal
    return _reordered(matrix, blocks, form, balance, starts, seed)


def independent_parts(matrix: csr_array, form: str = "dual") -> Structure:
    """The parts of a relation matrix that nothing links, largest first. Cells in no relation go to the first.

    Parameters
    ----------
    matrix
        Relations; only where it is not zero matters.
    form
        What the result calls itself; there are no links in any form.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> independent_parts(csr_array(np.array([[1, -1, 0, 0, 0], [0, 0, 1, 1, -1]]))).sizes
    [(1, 3), (1, 2)]
    """
    matrix = _without_zeros(matrix)
    rows, columns = matrix.shape
    _, label = components(matrix, np.arange(columns))
    row_label = np.zeros(rows, np.int64)
    some = np.flatnonzero(np.diff(matrix.indptr) > 0)
    row_label[some] = label[matrix.indices[matrix.indptr[some]]]
    related = np.unique(row_label[some])
    cells = np.bincount(label, minlength=1)[related] if columns else np.zeros(0, np.int64)
    rank = np.zeros(max(columns, 1), np.int64)
    rank[related[np.argsort(-cells, kind="stable")]] = np.arange(len(related))
    chosen = "dual" if form == "both" else form
    return Structure(chosen, max(len(related), 1), rank[row_label], rank[label])


def _without_zeros(matrix: csr_array) -> csr_array:
    """The matrix without entries that are stored and zero; the caller's stays as it is."""
    if matrix.count_nonzero() == matrix.nnz:
        return matrix
    cleaned = matrix.copy()
    cleaned.eliminate_zeros()
    return cleaned


def _refuse(matrix: csr_array, blocks: object, form: str, balance: float, starts: int) -> None:
    if form not in FORMS:
        raise ParameterError(unknown_name("form", str(form), FORMS))
    if isinstance(balance, bool) or not isinstance(balance, int | float) or not 0 <= balance < 1:
        raise ParameterError(f"balance={balance!r} is not allowed.", hint="Give a share from 0 to below 1.")
    if isinstance(starts, bool) or not isinstance(starts, int) or starts < 1:
        raise ParameterError(f"starts={starts!r} is not allowed.", hint="Give a whole number of at least 1.")
    if blocks is None:
        return
    rows, columns = matrix.shape
    members = {"dual": rows, "primal": columns, "both": min(rows, columns)}[form]
    if isinstance(blocks, bool) or not isinstance(blocks, int) or not 2 <= blocks <= members:
        allowed = f"Give a whole number from 2 to {members}, or leave it out."
        few = f"{counted(rows, 'relation')} and {counted(columns, 'cell')} cannot be divided; leave it out."
        raise ParameterError(f"blocks={blocks!r} is not allowed.", hint=allowed if members >= 2 else few)


def _in_order(block: Ints) -> Ints:
    return np.argsort(np.where(block == LINKING, block.max(initial=0) + 1, block), kind="stable")


def _reordered(matrix: csr_array, blocks: int, form: str, balance: float, starts: int, seed: int) -> Structure:
    from scipy.sparse import csr_array

    pattern = csr_array(matrix if form == "dual" else matrix.T)
    block = np.zeros(pattern.shape[0], np.int64)
    rng = np.random.default_rng(seed)
    for new in range(1, blocks):
        largest = int(np.argmax(np.bincount(block)))
        mine = np.flatnonzero(block == largest)
        block[mine[_halved(pattern[mine], balance, starts, rng) == 1]] = new
    nets = pattern.tocsc()
    of = block[nets.indices]
    net = np.repeat(np.arange(nets.shape[1]), np.diff(nets.indptr))
    first = np.zeros(nets.shape[1], np.int64)
    first[net[::-1]] = of[::-1]
    other = np.where(np.bincount(net[of != first[net]], minlength=nets.shape[1]) > 0, LINKING, first)
    return Structure(form, blocks, block, other) if form == "dual" else Structure(form, blocks, other, block)


def _halved(pattern: csr_array, balance: float, starts: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """A side (0 or 1) for every row, so that few columns have rows on both sides."""
    size = pattern.shape[0]
    most = max(int(size * (1 + balance) / 2), -(-size // 2))
    nets = pattern.tocsc()
    start, net, pins, pin = (a.astype(np.int64) for a in (pattern.indptr, pattern.indices, nets.indptr, nets.indices))
    packed = _packed(pattern)
    alone = np.ones(size, np.int64)
    tried = [packed] if max(np.bincount(packed, minlength=2)) <= most else []
    if not (tried and refine(start, net, pins, pin, alone, tried[0].copy(), most) == 0):
        tried += [grown(start, net, pins, pin, int(first)) for first in rng.integers(0, size, starts)]
        tried += [_by_levels(pattern, alone, most, rng) for _ in range(LEVELLED)]
        tried.append((np.arange(size) >= size // 2).astype(np.int8))  # tables come in an order that means something
    found = []
    for side in tried:
        _evened(side, most)
        found.append((int(refine(start, net, pins, pin, alone, side, most)), side))
    return min(found, key=lambda entry: entry[0])[1]


def _by_levels(pattern: csr_array, weight: Ints, most: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """A halving of pairs of rows that share most columns, made the same way, and refined when the pairs part again."""
    from scipy.sparse import csr_array

    size = pattern.shape[0]
    nets = pattern.tocsc()
    start, net, pins, pin = (a.astype(np.int64) for a in (pattern.indptr, pattern.indices, nets.indptr, nets.indices))
    members = (start, net, pins, pin)
    pair = np.arange(size)
    if size > COARSEST:
        ones = csr_array((np.ones(pattern.nnz, np.int64), pattern.indices, pattern.indptr), shape=pattern.shape)
        shared = csr_array(ones @ ones.T)
        first, other, number = (a.astype(np.int64) for a in (shared.indptr, shared.indices, shared.data))
        pair = matched(first, other, number, weight, rng.permutation(size))
    pairs = int(pair.max()) + 1
    if pairs > ENOUGH * size:
        tried = [grown(start, net, pins, pin, int(seed)) for seed in rng.integers(0, size, COARSE_STARTS)]
        found = [(_refined(members, weight, side, most), side) for side in tried]
        return min(found, key=lambda entry: entry[0])[1]
    onto = csr_array((np.ones(size, np.int64), (pair, np.arange(size))), shape=(pairs, size))
    coarse = csr_array(onto @ pattern.astype(bool).astype(np.int64))
    side = _by_levels(coarse, np.bincount(pair, weight, pairs).astype(np.int64), most, rng)[pair]
    _refined(members, weight, side, most)
    return side


def _refined(
    members: tuple[Ints, Ints, Ints, Ints], weight: Ints, side: NDArray[np.int8], most: int
) -> tuple[int, int]:
    """Refine a halving in place; by how much a side is still too heavy, and how many columns are cut."""
    heavy = int(np.argmax(np.bincount(side, weight, 2)))
    rows = np.flatnonzero(side == heavy)
    before = np.cumsum(weight[rows]) - weight[rows]
    side[rows[before < weight[rows].sum() - most]] = 1 - heavy
    start, net, pins, pin = members
    cut = int(refine(start, net, pins, pin, weight, side, most))
    return max(int(np.bincount(side, weight, 2).max()) - most, 0), cut


def _packed(pattern: csr_array) -> NDArray[np.int8]:
    """Connected components shared out to two sides, the largest first to the smaller side."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    rows, columns = pattern.shape
    start = np.concatenate((pattern.indptr, np.full(columns, pattern.indptr[-1], pattern.indptr.dtype)))
    graph = csr_array(
        (np.ones(pattern.nnz, np.int8), pattern.indices + rows, start), shape=(rows + columns, rows + columns)
    )
    _, label = connected_components(graph, directed=False)
    number, of = np.unique(label[:rows], return_inverse=True)
    sizes = np.bincount(of, minlength=len(number))
    side, filled = np.zeros(len(number), np.int8), [0, 0]
    for component in np.argsort(-sizes, kind="stable").tolist():
        to = int(filled[1] < filled[0])
        side[component], filled[to] = to, filled[to] + int(sizes[component])
    return side[of]


def _evened(side: NDArray[np.int8], most: int) -> None:
    """Move the last members of a side that is too large to the other."""
    for mine in (0, 1):
        members = np.flatnonzero(side == mine)
        if len(members) > most:
            side[members[most:]] = 1 - mine


def link_names(structure: Structure, system: System, most: int | None = None) -> list[str]:
    """The linking cells or relations of a system in words, the first ``most`` of them."""
    name = system.cell_name if structure.form == "dual" else system.relation_name
    return [name(number) for number in structure.linking[:most].tolist()]
