"""Gaussian elimination over all tables at once.

Cells are taken in the order of their cost, the dearest first, and published unless an unsafe cell would then follow
from what is published by adding and subtracting. What is left withholds no unsafe cell that could be worked out
*exactly*, over all relations of all tables together; how *closely* one can be estimated is not looked at.

Which cells follow from published ones is decided among alternatives: tables that differ from the true one in withheld
cells only and keep all relations. Publishing a cell leaves those in which it stands still, and reveals an unsafe cell
if, and only if, the two are in the same ratio in all alternatives. The cheapest set of cells that explains all others
(a basis) leaves dearer cells nothing to decide: they are published. Only how the unsafe cells close circuits with the
basis has to be worked out, and only basis cells are tested.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from discreet.errors import counted
from discreet.model.arrays import Bools, Floats, pointers
from discreet.parameters import Declared
from discreet.progress import checkpoint
from discreet.relations import System
from discreet.tables.engines.proposal import Proposal, candidates, numbers, starting_pattern
from discreet.tables.engines.singletons import NO_PAIRS, Pairs, pairs_in_relations, pairs_in_series

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DRAWS = 20250401
"""Random alternatives are drawn with this seed: the pattern does not depend on it, except by a vanishing chance."""


@dataclass(frozen=True)
class GaussSettings(Declared):
    """How the elimination treats cells that one contributor fills alone.

    Parameters
    ----------
    singletons
        ``"sums"``: where a relation holds exactly two withheld cells and one of them has a single contributor, what
        it says of the two together counts as unsafe as well, so that this contributor cannot subtract its own cell;
        relations that come to hold two such cells by secondaries are treated in further passes. ``"any"``: the same
        wherever a single contributor works out another cell from one of its own, by whatever relations of all tables.
        ``"none"``: outsiders only.
    """

    singletons: Literal["any", "sums", "none"] = "any"


MOST_PASSES = 10
"""So often sums that secondaries brought about are added before what is left is reported."""


def propose(system: System, cost: Floats, settings: GaussSettings | None = None) -> Proposal:
    """A pattern in which no unsafe cell can be worked out exactly, by elimination over all relations."""
    settings = settings or GaussSettings()
    relations = system.matrix[np.flatnonzero(system.defining)]
    # Pairs of unsafe cells first: most of them would turn up after the first pass anyway.
    pairs = NO_PAIRS if settings.singletons == "none" else pairs_in_relations(system, starting_pattern(system))
    exchanges, passes, more = 0, 0, NO_PAIRS
    while True:
        checkpoint("gauss", passes, MOST_PASSES)
        withheld, revealed, made = _pass(system, cost, relations, pairs)
        exchanges += made
        passes += 1
        if settings.singletons != "none":
            more = pairs_in_relations(system, withheld).without(pairs)
        if settings.singletons == "any" and not len(more):
            more = _in_series(system, relations, withheld).without(pairs)
        if not len(more) or passes == MOST_PASSES:
            break
        pairs = pairs.and_(more)
    checkpoint("gauss", MOST_PASSES, MOST_PASSES)
    notes = []
    if revealed.any():
        notes.append(f"{counted(int(revealed.sum()), 'unsafe cell', 'follow')} from cells that must be published.")
    if len(more):
        notes.append(
            f"{counted(len(more), 'pair of withheld cells', 'give')} each other away still to a single contributor."
        )
    exposed = revealed.copy()
    exposed[more.cells[system.unsafe[more.cells]]] = True
    effort = {"exchanges": exchanges, "passes": passes, "sums": len(pairs)}
    return Proposal(withheld, numbers(exposed), effort, tuple(notes))


def _in_series(system: System, relations: csr_array, withheld: Bools) -> Pairs:
    """Pairs of withheld cells in one ratio in all alternatives, one of them sole: a few random alternatives tell."""
    from discreet.tables.engines.gauss_kernels import PRIME, circuits, series_keys

    hidden = numbers(withheld)
    columns = relations.tocsc()
    basis, closing, element, coefficient = circuits(
        columns.indptr.astype(np.int32),
        columns.indices.astype(np.int32),
        columns.data.astype(np.int64) % PRIME,
        columns.shape[0],
        hidden,
        len(hidden),
    )
    moves = np.random.default_rng(DRAWS).integers(1, PRIME, size=(len(hidden), 3), dtype=np.int64)
    moves[basis] = 0
    for k in range(3):
        term = coefficient * moves[closing, k] % PRIME
        # Sums of residues are kept below 2**53, where they are exact.
        total = np.bincount(element, (term & 0xFFFF).astype(np.float64), minlength=len(basis))
        high = np.bincount(element, (term >> 16).astype(np.float64), minlength=len(basis))
        moves[basis, k] = (total.astype(np.int64) + (high.astype(np.int64) % PRIME) * 65536) % PRIME
    return pairs_in_series(system, hidden, series_keys(moves), moves[:, 0].copy(), PRIME)


def _pass(system: System, cost: Floats, relations: csr_array, pairs: Pairs) -> tuple[Bools, Bools, int]:
    """One elimination: what is withheld, what is revealed whatever is done, and the number of exchanges."""
    from discreet.tables.engines.gauss_kernels import PRIME, circuits, eliminate

    count = len(system)
    columns = _with_pairs(relations, pairs).tocsc()
    start = starting_pattern(system)
    open_cells = numbers(candidates(system))
    open_cells = open_cells[np.lexsort((open_cells, cost[open_cells]))]
    fixed = np.concatenate((numbers(start), count + np.arange(len(pairs), dtype=np.int64)))
    order = np.concatenate((open_cells, fixed))
    shielded = np.concatenate((system.unsafe, np.ones(len(pairs), np.bool_)))[order]
    basis, closing, element, coefficient = circuits(
        columns.indptr.astype(np.int32),
        columns.indices.astype(np.int32),
        columns.data.astype(np.int64) % PRIME,
        columns.shape[0],
        order,
        len(fixed),
    )
    in_basis = np.zeros(len(order), np.bool_)
    in_basis[basis] = True
    free = numbers(~in_basis & (np.arange(len(order)) >= len(open_cells)))
    place = np.full(len(order), -1, np.int32)
    place[free] = np.arange(len(free), dtype=np.int32)
    column = place[closing]
    by_row = np.lexsort((column, element))
    starts = pointers(np.bincount(element, minlength=len(basis)).astype(np.int64))
    draw = np.random.default_rng(DRAWS).integers(1, PRIME, size=(len(free), 3), dtype=np.int64)
    # Basis elements were found from the cheapest to the dearest; they are tested from the dearest to the cheapest.
    tested = numbers((basis < len(open_cells)) & (np.diff(starts) > 0))[::-1].copy()
    kept, exchanges = eliminate(
        starts,
        column[by_row].astype(np.int32),
        coefficient[by_row],
        len(free),
        tested,
        shielded[basis],
        shielded[free],
        draw,
    )
    withheld = start.copy()
    withheld[order[basis[kept]]] = True
    revealed = np.zeros(count, np.bool_)
    still = basis[(np.diff(starts) == 0) & shielded[basis]]
    revealed[order[still][order[still] < count]] = True
    told = pairs.cells[(order[still] - count)[order[still] >= count]]
    revealed[told[system.unsafe[told]]] = True
    return withheld, revealed, int(exchanges)


def _with_pairs(relations: csr_array, pairs: Pairs) -> csr_array:
    """The relations, and for every pair a further cell with the relation that makes it up."""
    from scipy.sparse import coo_array, csr_array, hstack, vstack

    if not len(pairs):
        return relations
    rows, count = len(pairs), relations.shape[1]
    row = np.repeat(np.arange(rows), 2)
    parts = coo_array((pairs.coefficient.ravel(), (row, pairs.cells.ravel())), shape=(rows, count))
    own = coo_array((np.full(rows, -1, np.int64), (np.arange(rows), np.arange(rows))), shape=(rows, rows))
    nothing = coo_array((relations.shape[0], rows), dtype=np.int64)
    return csr_array(vstack([hstack([relations, nothing]), hstack([parts, own])]))
