"""An attacker of the fair comparison: does it find every certain guess, and does it refuse what it cannot judge?

The expected inner table and the risk are worked out anew: additive values by an active-set solver on dense matrices,
cells that must be zero by linear programs, certain guesses from these zeros alone, expected frequencies by proportional
fitting. A risk that is stated lower than it is would be a wrong "safe". Bad inputs must be refused, not judged.

``python -m tests.attack.fair_inputs --count 1000`` runs it.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
from scipy.optimize import linprog, lsq_linear
from scipy.sparse import csr_array

from discreet.errors import DiscreetError
from discreet.measures.fair import fair_comparison
from tests.attack.running import tallied

NEVER = ("other sums", "certain guesses missed", "right guesses missed", "guesses too many", "other inner cells")
"""What must not be found, not once."""
SMALL = 1e-7


def cover_of(shape: tuple[int, ...], margins: list[tuple[int, ...]]) -> np.ndarray:
    """Inner by published cells, one column for every cell of every margin."""
    inner = list(product(*map(range, shape)))
    columns = []
    for axes in margins:
        for codes in product(*(range(shape[a]) for a in axes)):
            columns.append([float(all(one[a] == c for a, c in zip(axes, codes, strict=True))) for one in inner])
    return np.array(columns).T


def case(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """True inner table, published numbers, cover: additive or noisy, sparse."""
    shape = tuple(int(n) for n in rng.integers(2, 4, 3))
    axes = [a for k in (1, 2) for a in combinations(range(3), k)]
    chosen = [axes[i] for i in rng.choice(len(axes), int(rng.integers(2, 5)), replace=False)]
    margins = [(), *chosen, *((0,) if not any(0 in a for a in chosen) else ())]
    margins = [a if isinstance(a, tuple) else (a,) for a in margins]
    true = rng.poisson(rng.choice([0.5, 1.5, 4.0]), shape).astype(float)
    cover = cover_of(shape, margins)
    published = true.ravel() @ cover
    if rng.random() < 0.5:
        published = np.maximum(published + rng.integers(-2, 3, len(published)), 0)
    return true.reshape(shape[0], -1), published, cover


def possible(cover: np.ndarray, sums: np.ndarray) -> np.ndarray | None:
    """Inner cells that are above zero in some table with these sums; None where there is none."""
    found = np.zeros(len(cover), bool)
    for cell in range(len(cover)):
        aim = np.zeros(len(cover))
        aim[cell] = -1
        answer = linprog(aim, A_eq=cover.T, b_eq=sums, bounds=(0, None), method="highs")
        if answer.status == 2:
            return None
        found[cell] = answer.status == 3 or -answer.fun > SMALL
    return found


def fitted(cover: np.ndarray, sums: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Proportional fitting from ones where cells are possible."""
    inner = there.astype(float)
    for _ in range(4000):
        before = inner.copy()
        for column, total in zip(cover.T, sums, strict=True):
            now = float(inner @ column)
            if now > 0:
                inner = np.where(column > 0, inner * (total / now), inner)
        if np.abs(inner - before).max(initial=0) < 1e-11:
            break
    return inner


def judge(true: np.ndarray, published: np.ndarray, cover: np.ndarray) -> Counter[str]:
    found: Counter[str] = Counter(tables=1)
    fair = fair_comparison(true, published, csr_array(cover), rule="nnls")
    # The nearest sums of non-negative inner cells are unique, whatever the inner cells are.
    # (scipy's nnls stops too early where columns depend on each other.)
    nearest = lsq_linear(cover.T, published, bounds=(0, np.inf), method="bvls", tol=1e-13, max_iter=10_000)
    sums = nearest.x @ cover
    found["other sums"] += int(np.abs(fair.restored - sums).max() > 1e-5)
    there = possible(cover, sums)
    assert there is not None
    support = there.reshape(true.shape)
    inner = fitted(cover, sums, there).reshape(true.shape)
    somebody = true.sum(axis=0) > 0
    certain = (support.sum(axis=0) == 1) & somebody
    exact = ((true > 0).sum(axis=0) == 1) & somebody
    right = certain & exact & (support.argmax(axis=0) == true.argmax(axis=0))
    mine = (int(exact.sum()), int(certain.sum()), int(right.sum()))
    theirs = (fair.risk.original, fair.risk.perturbed, fair.risk.correct)
    found["certain guesses"] += mine[1]
    found["certain guesses missed"] += max(mine[1] - theirs[1], 0)
    found["right guesses missed"] += max(mine[2] - theirs[2], 0)
    found["guesses too many"] += max(theirs[1] - mine[1], 0)
    found["other inner cells"] += int(np.abs(fair.inner - inner).max() > 1e-3 * max(1.0, inner.max()))
    return found


def bad_inputs() -> dict[str, dict[str, object]]:
    """Inputs that nothing can be said of, by what is wrong."""
    true = np.array([[2.0, 0.0], [0.0, 3.0]])
    cover = np.hstack([np.eye(4), np.ones((4, 1))])
    good = {"original": true, "published": np.array([2.0, 0, 0, 3, 5]), "cover": csr_array(cover)}
    holes = cover.copy()
    holes[1] = 0
    wrong: dict[str, dict[str, object]] = {
        "a published value is no number": {"published": np.array([2.0, np.nan, 0, 3, 5])},
        "a published value is infinite": {"published": np.array([2.0, np.inf, 0, 3, 5])},
        "a published value is negative": {"published": np.array([2.0, -1, 0, 3, 5])},
        "a true count is no number": {"original": np.array([[2.0, np.nan], [0, 3]])},
        "a true count is negative": {"original": np.array([[2.0, -1], [0, 3]])},
        "a true count is infinite": {"original": np.array([[2.0, np.inf], [0, 3]])},
        "zero cells are missing": {"original": np.array([[2.0], [3.0]])},
        "an inner cell is in no published one": {"cover": csr_array(holes)},
        "a cover counts twice": {"cover": csr_array(2 * cover)},
        "a cover has negative entries": {"cover": csr_array(-cover)},
        "too few published values": {"published": np.array([2.0, 0, 0, 3])},
        "nothing is shown": {"shown": np.zeros(5, bool)},
        "shown does not fit": {"shown": np.ones(4, bool)},
        "beta is zero": {"beta": 0.0},
        "beta is no number": {"beta": float("nan")},
        "the rule is not known": {"rule": "magic"},
        "said to add up, and does not": {"published": np.array([2.0, 0, 0, 3, 9]), "additive": True},
        "said to add up, no number": {"published": np.array([2.0, np.nan, 0, 3, 5]), "additive": True},
    }
    return {name: {**good, **options} for name, options in wrong.items()}


def accepted() -> list[str]:
    """Bad inputs that are judged all the same; one that is put right first does not count."""
    found = []
    for name, options in bad_inputs().items():
        try:
            fair = fair_comparison(**options)  # type: ignore[arg-type]
        except DiscreetError:
            continue
        except Exception as error:
            found.append(f"{name}: {type(error).__name__}")
            continue
        if options.get("additive") and fair.rule == "nnls":
            continue
        found.append(name)
    return found


def attack(count: int, seed: int = 0) -> Counter[str]:
    """Random tables, one after the other."""
    found: Counter[str] = Counter()
    for number in range(count):
        found += judge(*case(np.random.default_rng([seed, number])))
    return found


if __name__ == "__main__":
    ended = tallied(__doc__, 1_000, attack, NEVER)
    bad = accepted()
    print("accepted:", bad)
    raise SystemExit(1 if bad else ended)
