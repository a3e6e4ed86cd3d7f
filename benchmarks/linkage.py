"""Linking 100,000 records with 100,000 by ten columns, beside scipy's tree for nearest neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.registry import Measure, Timing, apart, case, timed

COLUMNS = 10
KINDS = 5


def file_of(rows: int) -> Any:
    """A mixture of five correlated normals, half of the columns skewed, two decimals."""
    import numpy as np

    draw = np.random.default_rng([20_261_118, rows])
    mixing = draw.normal(size=(KINDS, COLUMNS, COLUMNS)) / np.sqrt(COLUMNS)
    middle = draw.normal(0, 1.5, (KINDS, COLUMNS))
    kind = draw.choice(KINDS, rows, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    values = np.einsum("ri,rji->rj", draw.normal(size=(rows, COLUMNS)), mixing[kind]) + middle[kind]
    half = COLUMNS // 2
    values[:, :half] = np.exp(0.6 * values[:, :half] + 3)
    values[:, half:] = 50 + 10 * values[:, half:]
    return np.round(values, 2)


def masked(values: Any, what: str) -> Any:
    """Noise of a tenth of the deviation; or means of groups of three along a sum of scores."""
    import numpy as np

    draw = np.random.default_rng(7)
    if what == "noise":
        return values + 0.1 * values.std(axis=0) * draw.normal(size=values.shape)
    order = np.argsort(((values - values.mean(axis=0)) / values.std(axis=0)).sum(axis=1))
    group = np.empty(len(values), np.int64)
    group[order] = np.minimum(np.arange(len(values)) // 3, len(values) // 3 - 1)
    means = np.stack([np.bincount(group, column) for column in values.T], axis=1) / np.bincount(group)[:, None]
    return means[group]


def tables(rows: int, what: str) -> tuple[Any, Any, list[str]]:
    """Both files as frames."""
    import pyarrow as pa

    values = file_of(rows)
    names = [f"x{place}" for place in range(COLUMNS)]
    made = (pa.table(dict(zip(names, file.T, strict=True))) for file in (values, masked(values, what)))
    return (*made, names)


def answers(linked: Any, distance: Any, alone: Any) -> tuple[Any, Any, Any]:
    """The links, how far they are, and whether nobody else is so near."""
    return linked.tolist(), distance.tolist(), alone.tolist()


def ours(rows: int, what: str, way: str) -> Timing:
    """From two frames to links, ties, chances and the share of right ones."""
    from discreet.attack import link

    before, after, names = tables(rows, what)
    covariance = "aligned" if way == "mahalanobis" else "zero"
    return timed(
        lambda: link(before, after, names, way=way, covariance=covariance),  # type: ignore[arg-type]
        lambda found: answers(found.linked, found.distance, found.ties == 1),
        repeats=2,
    )


def peers(rows: int, what: str, way: str) -> Timing:
    """The same from the same frames by numpy and scipy: standardise or whiten, build, ask for the two nearest, without
    which nobody sees ties."""
    import numpy as np
    from scipy.spatial import cKDTree

    before, after, names = tables(rows, what)

    def run() -> Any:
        old, new = (np.stack([table[name].to_numpy() for name in names], axis=1) for table in (before, after))
        if way == "mahalanobis":
            errors = old - new
            root = np.linalg.cholesky(np.linalg.inv(np.cov(errors.T)))
            old, new = (old - errors.mean(axis=0)) @ root, new @ root
        else:
            old, new = ((file - file.mean(axis=0)) / file.std(axis=0, ddof=1) for file in (old, new))
        return cKDTree(new).query(old, k=2)

    def digest(found: Any) -> tuple[Any, Any, Any]:
        return answers(found[1][:, 0], found[0][:, 0], found[0][:, 1] > found[0][:, 0] * (1 + 1e-6))

    return timed(run, digest, repeats=1)


def same(one: Any, other: Any) -> bool:
    """Whether all distances are the same, and links where only one record is so near."""
    import numpy as np

    alone = np.array(one[2]) & np.array(other[2])
    links = np.array(one[0])[alone] == np.array(other[0])[alone]
    return bool(np.allclose(one[1], other[1], rtol=1e-6, atol=1e-9) and links.all())


@case("linkage")
def linkage(scale: float) -> Sequence[Measure]:
    """100,000 records found among 100,000 by ten columns: 3 s each, and less than scipy's tree with the same answer."""
    rows = int(100_000 * scale)
    measures = []
    for what, way in (("noise", "nearest"), ("groups of three", "nearest"), ("noise", "mahalanobis")):
        mine, theirs = apart(ours, rows, what, way), apart(peers, rows, what, way)
        if not same(mine.answer, theirs.answer):
            raise AssertionError(f"Distances of {way} differ from those of scipy.")
        right = sum(place == row for row, place in enumerate(mine.answer[0])) / rows
        settings = f"{what}, {way}: {rows:,} x {rows:,} x {COLUMNS}, same as scipy's; first {right:.1%} right"
        measures.append(Measure(f"{way} of {what}, CPU s against the limit", mine.warm_cpu, 3.0, 1.0, settings))
        measures.append(Measure(f"{way} of {what}, against cKDTree", mine.warm_cpu, theirs.warm_cpu, 1.0, settings))
    return measures
