"""Nearly independent blocks of any relation matrix: the parts that it falls into, and what ties them together.

In the dual form relations are shared out to blocks, and a cell that stands in relations of several blocks links them.
In the primal form cells are shared out, and a relation between cells of several blocks links them. Connected components
come first, because they are exact. What is left is halved again and again, from parts grown from several seeds and by
levels: pairs that share most links are merged until few are left, these are halved, and the pairs part again. Each
start is refined by moving single members while fewer links remain (Fiduccia and Mattheyses), and the best is taken. A
maintained partitioner was measured and brought little (docs/design/0005). Source: Castro and Baena (2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, unknown_name
from discreet.model.arrays import Floats, Ints
from discreet.solve.halving import grown, matched, refine

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FORMS = ("dual", "primal", "both")
WORTH_IT = 0.2
"""Blocks are worth using where links are at most this share of cells or relations."""
LINKING = -1
LEVELLED, COARSEST, COARSE_STARTS, ENOUGH = 4, 60, 10, 0.95
"""So many halvings are made by levels; pairs are made down to so many rows, or until a round of pairs leaves more than
this share of them; the coarsest rows are halved from so many starts."""


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
        return [(int((self.row_block == b).sum()), int((self.column_block == b).sum())) for b in range(self.blocks)]

    @property
    def share_of_cells(self) -> float:
        """Links as a share of all cells."""
        return len(self.linking) / max(len(self.column_block), 1)

    @property
    def share_of_relations(self) -> float:
        """Links as a share of all relations."""
        return len(self.linking) / max(len(self.row_block), 1)

    @property
    def worth_it(self) -> bool:
        """Whether few enough links remain for solving block by block to pay."""
        share = self.share_of_cells if self.form == "dual" else self.share_of_relations
        return share <= WORTH_IT

    def summary(self) -> str:
        """The blocks in words."""
        kind = "cells" if self.form == "dual" else "relations"
        sizes = ", ".join(f"{m:,} x {n:,}" for m, n in self.sizes)
        return (
            f"{self.blocks} blocks of relations x cells: {sizes}; {len(self.linking):,} {kind} link them "
            f"({self.share_of_cells:.1%} of cells, {self.share_of_relations:.1%} of relations). "
            + ("Solving block by block pays." if self.worth_it else "Too many links for solving block by block.")
        )


def block_structure(
    matrix: csr_array,
    blocks: int = 2,
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
        How many blocks.
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
    if form not in FORMS:
        raise ParameterError(unknown_name("form", str(form), FORMS))
    if not 0 <= balance < 1:
        raise ParameterError(f"balance={balance!r} is not allowed.", hint="Give a share from 0 to below 1.")
    members = matrix.shape[0] if form == "dual" else min(matrix.shape)
    if isinstance(blocks, bool) or not isinstance(blocks, int) or not 2 <= blocks <= members:
        raise ParameterError(f"blocks={blocks!r} is not allowed.", hint=f"Give a whole number from 2 to {members}.")
    if starts < 1:
        raise ParameterError(f"starts={starts!r} is not allowed.", hint="Give a whole number of at least 1.")
    if form == "both":
        dual, primal = (_reordered(matrix, blocks, f, balance, starts, seed) for f in ("dual", "primal"))
        return dual if dual.share_of_cells <= primal.share_of_relations else primal
    return _reordered(matrix, blocks, form, balance, starts, seed)


def _in_order(block: Ints) -> Ints:
    return np.argsort(np.where(block == LINKING, block.max(initial=0) + 1, block), kind="stable")


def _reordered(matrix: csr_array, blocks: int, form: str, balance: float, starts: int, seed: int) -> Structure:
    from scipy.sparse import csr_array

    pattern = csr_array(matrix if form == "dual" else matrix.T)
    pattern.eliminate_zeros()
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


def schur_solve(
    matrix: csr_array, structure: Structure, right: Floats, epsilon: float, weight: Floats | None = None
) -> Floats:
    """Solve (A W A' + epsilon I) x = right block by block, for a primal structure of A.

    Each block is factorised for itself, in threads; linking relations are solved by the Schur complement.

    Parameters
    ----------
    matrix, structure
        Relations and their primal structure.
    right
        The right side.
    epsilon
        Above zero: relations of tables imply each other, so that without it there is no single answer.
    weight
        The diagonal of W; ones when left out.
    """
    from concurrent.futures import ThreadPoolExecutor

    from scipy.linalg import cho_factor, cho_solve
    from scipy.sparse import csr_array, eye_array
    from scipy.sparse.linalg import splu

    if structure.form != "primal" or epsilon <= 0:
        raise ParameterError("The Schur route needs a primal structure and an epsilon above zero.")
    scaled = csr_array(matrix.astype(np.float64))
    if weight is not None:
        scaled = scaled.copy()
        scaled.data *= np.sqrt(weight)[scaled.indices]
    links = structure.linking
    border = scaled[links]
    parts = [np.flatnonzero(structure.row_block == b) for b in range(structure.blocks)]

    def eliminated(rows: Ints) -> tuple[Any, Any, Any]:
        mine = scaled[rows]
        factor = splu((mine @ mine.T + epsilon * eye_array(len(rows))).tocsc())
        across = (mine @ border.T).toarray()
        return factor, across, factor.solve(np.column_stack((across, right[rows])))

    with ThreadPoolExecutor() as pool:
        done = list(pool.map(eliminated, parts))
    answer = np.zeros(len(right))
    if len(links):
        schur = (border @ border.T).toarray() + epsilon * np.eye(len(links))
        side = right[links].astype(np.float64)
        for _, across, solved in done:
            schur -= across.T @ solved[:, :-1]
            side -= across.T @ solved[:, -1]
        answer[links] = cho_solve(cho_factor(schur), side)
    for rows, (_, _, solved) in zip(parts, done, strict=True):
        answer[rows] = solved[:, -1] - solved[:, :-1] @ answer[links]
    return answer


def link_names(structure: Structure, system: Any) -> list[str]:
    """The linking cells or relations of a system in words."""
    name = system.cell_name if structure.form == "dual" else system.relation_name
    return [name(int(number)) for number in structure.linking]
