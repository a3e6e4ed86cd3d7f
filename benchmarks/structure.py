"""Blocks of relations: what finding them takes, and what today's solvers take beside solvers that use them.

``structure-solvers`` has today's way as ours and blocks as the peer, with what finding them takes: a ratio above 1
would mean that blocks pay. Run it with ``OPENBLAS_NUM_THREADS=1``: threads that wait count as processor time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.registry import Measure, apart, case

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from discreet.model.arrays import Floats, Ints
    from discreet.solve.structure import Structure

SHAPES: dict[str, tuple[tuple[int, int], ...]] = {
    "55 x 55": ((55, 15), (55, 15)),
    "10 x 17 x 17": ((10, 1), (17, 4), (17, 4)),
    "9 x 40 x 13": ((9, 1), (40, 7), (13, 1)),
}
"""Codes and parents of each variable."""
ROUNDED: dict[str, tuple[tuple[int, int], ...]] = {
    "55 x 55": SHAPES["55 x 55"],
    "110 x 110": ((110, 25), (110, 25)),
    "5 x 9 x 9": ((5, 1), (9, 3), (9, 3)),
}
"""Integer programs of larger three-way tables take too long to compare anything."""
LARGE = ((33, 11), (33, 11), (33, 11))
"""About the size of the largest instance of the source: 36,310 relations, 36,570 cells, 136,912 entries."""
LIMIT = 60.0
SURVEYS = (1, 2, 3)
LONG = 5.0
GAP = 0.01
"""Integer programs are solved to within this share of the cost."""
OPTIONS: dict[str, dict[str, Any]] = {
    "simplex": {"solver": "simplex"},
    "ipm": {"solver": "ipm", "run_crossover": "off"},
    "rounding": {"mip_rel_gap": GAP},
}


def tree(codes: int, parents: int) -> csr_array:
    """Relations of a tree: root 0; the other parents are its children; other codes are dealt in turn to all of them."""
    from scipy.sparse import csr_array

    children: list[list[int]] = [list(range(1, parents)), *([] for _ in range(parents - 1))]
    for number, code in enumerate(range(parents, codes)):
        children[(number + 1) % parents].append(code)
    rows = np.zeros((parents, codes))
    for parent, mine in enumerate(children):
        rows[parent, parent], rows[parent, mine] = -1, 1
    return csr_array(rows)


def crossed(*trees: csr_array) -> csr_array:
    """Relations of the table whose variables have these trees."""
    from scipy.sparse import csr_array, eye_array, kron, vstack

    parts = []
    for k, one in enumerate(trees):
        whole = csr_array(np.ones((1, 1)))
        for j, other in enumerate(trees):
            whole = kron(whole, one if j == k else eye_array(other.shape[1]))
        parts.append(whole)
    made = csr_array(vstack(parts))
    made.eliminate_zeros()  # kron stores some
    return made


def counts_of(shape: Sequence[tuple[int, int]]) -> Ints:
    """Counts of a table with its totals; a share of its inner cells is zero."""
    random = np.random.default_rng(2)
    inner = random.integers(0, 12, [codes for codes, _ in shape])
    for axis, (codes, parents) in enumerate(shape):
        inner = np.moveaxis(inner, axis, 0)
        inner[:parents] = 0
        relations = tree(codes, parents).toarray()
        for parent in reversed(range(parents)):
            inner[parent] = np.tensordot((relations[parent] > 0).astype(np.int64), inner, 1)
        inner = np.moveaxis(inner, 0, axis)
    return inner.ravel()


def table_of(shape: Sequence[tuple[int, int]]) -> csr_array:
    """Relations of a table by the codes and parents of its variables."""
    return crossed(*(tree(codes, parents) for codes, parents in shape))


def schur_solve(
    matrix: csr_array, structure: Structure, right: Floats, epsilon: float, weight: Floats | None = None
) -> Floats:
    """Solve (A W A' + epsilon I) x = right block by block, for a primal structure of A.

    Each block is factorised for itself; linking relations are solved by the Schur complement.

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
    from scipy.linalg import cho_factor, cho_solve
    from scipy.sparse import csr_array, eye_array
    from scipy.sparse.linalg import splu

    if structure.form != "primal" or epsilon <= 0:
        raise ValueError("The Schur route needs a primal structure and an epsilon above zero.")
    scaled = csr_array(matrix.astype(np.float64), copy=True)
    if weight is not None:
        scaled.data *= np.sqrt(weight)[scaled.indices]
    links = structure.linking
    border = scaled[links]
    parts = [np.flatnonzero(structure.row_block == b) for b in range(structure.blocks)]
    solved = []
    schur = (border @ border.T).toarray() + epsilon * np.eye(len(links))
    side = right[links].astype(np.float64)
    for rows in parts:
        mine = scaled[rows]
        across = (mine @ border.T).toarray()
        factor = splu((mine @ mine.T + epsilon * eye_array(len(rows))).tocsc())
        solved.append(factor.solve(np.column_stack((across, right[rows]))))
        schur -= across.T @ solved[-1][:, :-1]
        side -= across.T @ solved[-1][:, -1]
    answer = np.zeros(len(right))
    if len(links):
        answer[links] = cho_solve(cho_factor(schur), side)
    for rows, found in zip(parts, solved, strict=True):
        answer[rows] = found[:, -1] - found[:, :-1] @ answer[links]
    return answer


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of the better of two runs, or of one that takes long, and the answer."""
    taken: list[float] = []
    while not taken or (len(taken) < 2 and taken[0] < LONG):
        started = time.process_time()
        answer = run()
        taken.append(time.process_time() - started)
    return min(taken), answer


def moves_of(cells: int) -> tuple[Floats, Floats, Floats]:
    """Limits of moves where a tenth of the cells must move, half of these down, and what moves cost."""
    random = np.random.default_rng(1)
    unsafe = random.random(cells) < 0.1
    lower, upper = np.where(unsafe, random.uniform(1, 10, cells), -30.0), np.full(cells, 30.0)
    down = unsafe & (random.random(cells) < 0.5)
    return np.where(down, -upper, lower), np.where(down, -lower, upper), random.uniform(0.5, 2, cells)


def by_prices(name: str, objective: str) -> tuple[float, float, str]:
    """CPU seconds of moves by prices: conjugate gradients, as they are, and the Schur complement of two blocks."""
    from discreet.solve import least_moves
    from discreet.solve.structure import block_structure

    matrix = table_of(SHAPES[name])
    finding, found = seconds(partial(block_structure, matrix, 2, form="primal"))
    solve = {"squared": least_moves.least_squares, "absolute": least_moves.least_absolute}[objective]
    limits = moves_of(matrix.shape[1])
    usual, one = seconds(lambda: solve(matrix, *limits))
    plain = least_moves._conjugate

    def by_blocks(*given: Any) -> int:
        pull, cells, damping, missing, answer = given[3:8]
        weight = np.zeros(matrix.shape[1])
        weight[cells] = pull[cells]
        answer[:] = schur_solve(matrix, found, -missing, damping, weight)
        return 1

    least_moves._conjugate = by_blocks
    try:
        blockwise, two = seconds(lambda: solve(matrix, *limits))
    finally:
        least_moves._conjugate = plain
    assert one.kept, name
    costs = f"costs {one.cost:,.1f} and {two.cost:,.1f}{'' if two.kept else ' (relations not kept)'}"
    words = f"{objective} moves, {name}: {linked(found)}; {one.steps} and {two.steps} steps; {costs}; "
    words += f"prices {usual:.2f} s, blocks {blockwise:.2f} s, finding them {finding:.2f} s"
    return usual, finding + blockwise, words


def linked(found: Structure) -> str:
    """The links in words."""
    return f"{found.form} form, {len(found.linking)} links, {found.share_of_relations:.1%} of relations"


def orders_of(matrix: csr_array) -> tuple[float, dict[str, tuple[Ints, Ints]]]:
    """CPU seconds of finding blocks; rows and columns as they come, by blocks, and shuffled twice.

    What is shuffled shows how much any order matters.
    """
    from discreet.solve.structure import block_structure

    rows, columns = matrix.shape
    taken, found = seconds(partial(block_structure, matrix, 2))
    random = np.random.default_rng(3)
    orders = {"as it comes": (np.arange(rows), np.arange(columns)), "blocks": (found.row_order, found.column_order)}
    return taken, orders | {f"shuffled {k}": (random.permutation(rows), random.permutation(columns)) for k in (1, 2)}


def compared(finding: float, taken: dict[str, float], words: str) -> tuple[float, float, str]:
    """As it comes, by blocks once they are found, and all orders in words."""
    said = ", ".join(f"{order} {value:.2f} s" for order, value in taken.items())
    return taken["as it comes"], finding + taken["blocks"], f"{words}: {said}; finding blocks {finding:.2f} s"


def by_program(name: str, kind: str) -> tuple[float, float, str]:
    """CPU seconds of HiGHS with rows and columns as they come, and by blocks.

    ``kind`` is ``"simplex"`` or ``"ipm"`` for absolute moves, and ``"rounding"`` for an integer program.
    """
    shape = (ROUNDED if kind == "rounding" else SHAPES)[name]
    matrix, value = table_of(shape), counts_of(shape)
    assert not (matrix @ value).any()
    finding, orders = orders_of(matrix)
    taken, answers = {}, []
    for order, (rows, columns) in orders.items():
        part = matrix[rows][:, columns]
        whole, model = rounding_model(part, columns, value) if kind == "rounding" else moves_model(part, columns)
        taken[order], answer = seconds(partial(ran, whole, model, OPTIONS[kind]))
        answers.append(answer)
    assert np.allclose(answers, answers[0], rtol=GAP if kind == "rounding" else 1e-5), answers
    return compared(finding, taken, f"{kind}, {name}")


def moves_model(matrix: csr_array, columns: Ints) -> tuple[csr_array, Any]:
    """Absolute moves, up and down, as a linear program."""
    import highspy
    from scipy.sparse import hstack

    lower, upper, weight = (limit[columns] for limit in moves_of(matrix.shape[1]))
    model = highspy.HighsLp()
    model.col_cost_ = np.tile(weight, 2)
    model.col_lower_ = np.concatenate((np.maximum(lower, 0), np.maximum(-upper, 0)))
    model.col_upper_ = np.concatenate((np.maximum(upper, 0), np.maximum(-lower, 0)))
    model.row_lower_ = model.row_upper_ = np.zeros(matrix.shape[0])
    return hstack([matrix, -matrix]), model


def rounding_model(matrix: csr_array, columns: Ints, value: Ints) -> tuple[csr_array, Any]:
    """Rounding to multiples of 3: each cell up or down, and at a price by one multiple more, as an integer program."""
    import highspy
    from scipy.sparse import hstack

    below, over = np.divmod(value[columns], 3)
    cells = len(below)
    model = highspy.HighsLp()
    model.col_cost_ = np.concatenate((3.0 - 2 * over, np.full(2 * cells, 6.0)))
    model.col_lower_, model.col_upper_ = np.zeros(3 * cells), np.concatenate((over > 0, np.ones(2 * cells)))
    model.row_lower_ = model.row_upper_ = -(matrix @ below)
    model.integrality_ = [highspy.HighsVarType.kInteger] * (3 * cells)
    return hstack([matrix, matrix, -matrix]), model


def ran(whole: csr_array, model: Any, options: dict[str, Any]) -> float:
    """The objective that HiGHS reaches."""
    import highspy
    from scipy.sparse import csc_array

    from discreet.solve.program import started

    matrix = csc_array(whole)
    model.num_row_, model.num_col_ = matrix.shape
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
    model.a_matrix_.value_ = matrix.data.astype(np.float64)
    highs = started(model, **options)
    highs.run()
    return float(highs.getInfo().objective_function_value)


def by_suppression(seed: int) -> tuple[float, float, str]:
    """CPU seconds of optimal suppression of a seeded survey, cells and relations as they come and by blocks."""
    from benchmarks.optimal import question
    from discreet.tables.suppress.optimal import PatternDemands, optimal

    asked = question(12_000, seed, (5, 12, 30), (3, 9))
    finding, orders = orders_of(asked["matrix"])
    taken, costs = {}, []
    for order, (rows, columns) in orders.items():
        place = np.argsort(columns)
        demands = asked["demands"]
        mixed = {name: value[columns] for name, value in asked.items() if name not in ("matrix", "demands")}
        target = PatternDemands.external(place[demands.target], demands.direction, demands.level)
        matrix = asked["matrix"][rows][:, columns]
        started = time.process_time()
        answer = optimal(matrix=matrix, demands=target, **mixed)
        taken[order] = time.process_time() - started
        costs.append(answer.cost)
    assert np.allclose(costs, costs[0], rtol=1e-5), costs
    return compared(finding, taken, f"optimal suppression, survey {seed}, {len(asked['value'])} cells")


def detected(shape: Sequence[tuple[int, int]], blocks: int) -> tuple[float, str]:
    """CPU seconds of finding blocks in both forms, and what was found."""
    from discreet.solve.structure import block_structure

    matrix = table_of(shape)
    block_structure(table_of(SHAPES["55 x 55"]))  # import
    started = time.process_time()
    found = block_structure(matrix, blocks)
    taken = time.process_time() - started
    rows, columns = matrix.shape
    return taken, f"{rows:,} relations, {columns:,} cells, {matrix.nnz:,} entries: {linked(found)}"


@case("structure")
def detection(scale: float) -> Sequence[Measure]:
    """Blocks of a table of the size of the source's largest: a minute allowed."""
    shape = LARGE if scale == 1 else ((17, 6),) * 3
    measures = []
    for blocks in (2, 8):
        taken, words = apart(detected, shape, blocks)
        measures.append(Measure(f"CPU s, {blocks} blocks, both forms", taken, LIMIT, 1.0, words))
    return measures


@case("structure-solvers")
def solvers(scale: float) -> Sequence[Measure]:
    """Today's solvers as ours, blocks as the peer; a ratio above 1 means that blocks pay."""
    jobs: list[tuple[str, Callable[..., tuple[float, float, str]], tuple[Any, ...]]] = []
    for name in SHAPES if scale == 1 else list(SHAPES)[:2]:
        jobs += [(f"{kind} moves by prices, {name}", by_prices, (name, kind)) for kind in ("squared", "absolute")]
        jobs += [(f"{kind}, {name}", by_program, (name, kind)) for kind in ("simplex", "ipm")]
    jobs += [
        (f"rounding, {name}", by_program, (name, "rounding")) for name in list(ROUNDED)[: None if scale == 1 else 1]
    ]
    jobs += [
        (f"optimal suppression {seed}", by_suppression, (seed,)) for seed in (SURVEYS if scale == 1 else SURVEYS[:1])
    ]
    measures = []
    for what, run, arguments in jobs:
        usual, blockwise, words = apart(run, *arguments)
        measures.append(Measure(f"CPU s, {what}", usual, blockwise, 1.2, words))
    return measures
