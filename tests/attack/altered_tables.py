"""Independent attackers on altered tables: integer programs and enumeration over the finest cells.

They share no code with the package's attackers, checker or methods: relations come from the codes of the public table,
what a published number tells comes from the method's documented parameters, and the programs are scipy's. Run all of it
with ``python -m tests.attack.altered_tables --count 500``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

import discreet as ds
from discreet.model.public import PublicTable
from tests.attack.running import asked

FAR = 10**6
Sets = list[list[int]]


# ---- tables -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cells:
    """Cells of a complete table of flat variables: which finest cells each one sums."""

    shape: tuple[int, ...]
    names: list[tuple[str, ...]] = field(default_factory=list)
    sums: Any = None

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> Cells:
        codes = [["Total", *(f"c{j}" for j in range(size))] for size in shape]
        finest = list(product(*(range(size) for size in shape)))
        names, rows = [], []
        for cell in product(*(range(size + 1) for size in shape)):
            names.append(tuple(codes[k][c] for k, c in enumerate(cell)))
            rows.append([all(c in (0, f + 1) for c, f in zip(cell, mine, strict=True)) for mine in finest])
        return cls(shape, names, np.array(rows, float))


def people(seed: int, shape: tuple[int, ...], mean: float) -> ds.Table:
    """A complete table of counts with small cells, assessed."""
    rng = np.random.default_rng(seed)
    count = rng.poisson(mean, shape)
    count.flat[0] += not count.any()
    where = np.argwhere(count >= 0)
    rows = np.repeat(where, count.ravel(), axis=0)
    frame = {f"v{k}": [f"c{j}" for j in rows[:, k]] for k in range(len(shape))}
    by = {f"v{k}": ds.Hierarchy.flat([f"c{j}" for j in range(size)]) for k, size in enumerate(shape)}
    frame["key"] = rng.random(len(rows))
    data = ds.Microdata(pa.table(frame), record_key="key")
    return ds.tabulate(data, by=by, cells="all").assess(ds.MinFrequency(3))


def marked(seed: int, shape: tuple[int, ...], unsafe: int, percent: int = 20) -> ds.Table:
    """A complete table of magnitudes with some unsafe cells."""
    rng = np.random.default_rng(seed)
    value = rng.integers(5, 200, shape)
    value[rng.random(shape) < 0.15] = 0
    where = np.argwhere(value >= 0)
    frame: dict[str, Any] = {f"v{k}": [f"c{j}" for j in where[:, k]] for k in range(len(shape))}
    frame["value"] = value.ravel().tolist()
    filled = np.flatnonzero(value.ravel())
    chosen = rng.choice(filled, min(unsafe, len(filled)), replace=False)
    frame["status"] = ["U" if i in chosen else "V" for i in range(value.size)]
    by = {f"v{k}": ds.Hierarchy.flat([f"c{j}" for j in range(size)]) for k, size in enumerate(shape)}
    return ds.Table.from_cells(pa.table(frame), by=by, compute_totals=True).assess(manual_range=percent)


def by_name(table: Any, column: str, names: list[tuple[str, ...]]) -> list[Any]:
    """A column of a frame in the order of cells; 0 where a cell is not listed."""
    frame = table.columns() if isinstance(table, PublicTable) else table.to_frame().to_pydict()
    variables = [name for name in frame if name.startswith("v") and name != "value"]
    keys = list(zip(*(frame[v] for v in variables), strict=True))
    found = dict(zip(keys, frame[column], strict=True))
    return [found.get(name) or 0 for name in names]


# ---- what published numbers tell ----------------------------------------------------------------------------------


def cell_key_sets(published: list[int], noise: dict[str, Any], threshold: int) -> Sets:
    """All counts that the noise table can have turned into each published one."""
    values, start, change = noise["values"], noise["start"], noise["change"]

    def results(count: int) -> set[int]:
        row = max(r for r, value in enumerate(values) if value <= count)
        return {0 if count + d < threshold else count + d for d in change[start[row] : start[row + 1]]}

    most = max(published) + max(abs(d) for d in change) + threshold + 1
    behind: dict[int, list[int]] = {}
    for count in range(most + 1):
        for result in results(count):
            behind.setdefault(result, []).append(count)
    return [behind[p] for p in published]


def small_count_sets(published: list[int], cells: Cells, base: int) -> Sets:
    """Finest cells below the base became zero or the base; the total of all is kept to within half a base."""
    found = []
    finest = cells.sums.sum(axis=1) == 1
    everything = cells.sums.sum(axis=1) == cells.sums.shape[1]
    for p, single, grand in zip(published, finest, everything, strict=True):
        if single:
            found.append(list(range(base)) if p == 0 else list(range(1, base + 1)) if p == base else [p])
        elif grand:
            found.append(list(range(max(0, p - base // 2), p + base // 2 + 1)))
        else:
            found.append([])  # a sum, of which nothing else is known
    return found


def rounding_sets(published: list[int], cells: Cells, base: int, rule: str) -> Sets:
    """Multiples less than a base away, or the nearest one."""
    finest = cells.sums.sum(axis=1) == 1
    found = []
    for p, single in zip(published, finest, strict=True):
        near = range(max(0, p - base + 1), p + base)
        if rule == "conventional":
            found.append([n for n in near if (2 * n + base) // (2 * base) * base == p])
        elif rule == "modified":
            found.append([n for n in near if 2 * abs(n - p) <= base])
        elif rule == "semi" and not single:
            found.append([])
        else:
            found.append(list(near))
    return found


# ---- attackers ----------------------------------------------------------------------------------------------------


def by_programs(cells: Cells, sets: Sets, wanted: int) -> tuple[int, int]:
    """The least and largest count of a cell, by integer programs over the finest cells."""
    size = cells.sums.shape[1]
    low = np.array([min(s) if s else 0 for s in sets], float)
    high = np.array([max(s) if s else FAR for s in sets], float)
    holes = [(row, s) for row, s in enumerate(sets) if s and len(s) < s[-1] - s[0] + 1]
    extra = sum(len(s) for _, s in holes)
    rows, lower, upper = [np.hstack([cells.sums, np.zeros((len(sets), extra))])], [low], [high]
    at = size
    for row, s in holes:
        one, tied = np.zeros(size + extra), np.zeros(size + extra)
        one[at : at + len(s)] = 1
        tied[:size], tied[at : at + len(s)] = cells.sums[row], [-v for v in s]
        rows.append(np.stack([one, tied]))
        lower.append(np.array([1.0, 0.0]))
        upper.append(np.array([1.0, 0.0]))
        at += len(s)
    matrix = LinearConstraint(np.vstack(rows), np.concatenate(lower), np.concatenate(upper))
    bounds = Bounds(np.zeros(size + extra), np.concatenate([np.full(size, FAR), np.ones(extra)]))
    ends = []
    for sign in (1.0, -1.0):
        cost = np.concatenate([sign * cells.sums[wanted], np.zeros(extra)])
        answer = milp(cost, integrality=np.ones(size + extra), bounds=bounds, constraints=matrix)
        assert answer.status == 0, answer.message
        ends.append(round(sign * answer.fun))
    return ends[0], ends[1]


def by_enumeration(cells: Cells, sets: Sets) -> list[tuple[int, int]]:
    """The least and largest count of every cell, by going through all tables that fit; for few finest cells."""
    single = [
        next(r for r, row in enumerate(cells.sums) if row.sum() == 1 and row[f]) for f in range(cells.sums.shape[1])
    ]
    allowed = [set(s) for s in sets]
    seen: list[set[int]] = [set() for _ in sets]
    for values in product(*(sets[r] for r in single)):
        sums = cells.sums @ np.array(values)
        if all(not a or int(s) in a for s, a in zip(sums, allowed, strict=True)):
            for found, s in zip(seen, sums, strict=True):
                found.add(int(s))
    return [(min(s), max(s)) for s in seen]


# ---- against the audit ----------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What was compared: tables, unsafe cells, those that the attacker pins, and where the audit was too kind."""

    tables: int = 0
    unsafe: int = 0
    exact: int = 0
    short: int = 0
    kind: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count another one in."""
        self.tables += other.tables
        self.unsafe += other.unsafe
        self.exact += other.exact
        self.short += other.short
        self.kind += other.kind


def compare(what: str, release: ds.Release, ends: dict[tuple[str, ...], tuple[float, float]]) -> Tally:
    """The audit may not leave a cell open that the attacker knows more closely."""
    audit = ds.audit(release)
    tally = Tally(1)
    columns = audit.columns()
    for k, cell in enumerate(columns["cell"]):
        if not columns["unsafe"][k]:
            continue
        name = tuple(part.split("=")[1] for part in cell.split(", "))
        low, high = ends[name]
        tally.unsafe += 1
        tally.exact += low == high
        short = low > columns["required_lower"][k] or high < columns["required_upper"][k]
        tally.short += short
        slip = 1e-6 * max(1.0, abs(columns["value"][k]))
        wider = columns["lower"][k] < low - slip or columns["upper"][k] > high + slip
        open_ = columns["verdict"][k] == "kept" and (short or low == high)
        if wider or open_ or (low == high and columns["verdict"][k] != "recoverable"):
            mine = columns["lower"][k], columns["upper"][k], columns["verdict"][k]
            tally.kind.append(f"{what}: {cell}: the attacker gets [{low}, {high}], the audit {mine}")
    if audit.holds and (tally.short or tally.exact):
        tally.kind.append(f"{what}: the audit holds")
    return tally


SHAPES = ((4,), (3, 2), (3, 3), (4, 3), (2, 2, 2), (3, 2, 2))
NOISE = ((1, 0.5, 0), (1, 0.9, 0), (2, 1.0, 1), (2, 1.5, 0), (3, 2.0, 1), (5, 3.0, 2))
ROUNDED = ("controlled", "controlled_unbiased", "controlled_fifty_fifty", "semi", "conventional", "modified")
ALONE = ("fifty_fifty", "unbiased")


def attack_counts(seed: int) -> Tally:
    """One random table of counts, every method for counts with random parameters, both attackers."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[rng.integers(len(SHAPES))]
    table, cells = people(seed, shape, float(rng.choice([0.6, 1.2, 2.5]))), Cells.of(shape)
    tally = Tally()
    for method in _methods(seed, rng, len(shape)):
        release = ds.protect(table, method)
        published = [int(v) for v in by_name(release.public.tables[0], "value", cells.names)]
        sets = _sets(method, release, published, cells)
        unsafe = {tuple(n) for n, s in zip(cells.names, by_name(table, "status", cells.names), strict=True) if s == "U"}
        if np.prod([max(len(s), 1) for s, row in zip(sets, cells.sums, strict=True) if row.sum() == 1]) < 3_000:
            every = by_enumeration(cells, sets)
            ends = {name: every[k] for k, name in enumerate(cells.names) if name in unsafe}
            if seed % 5 == 0:
                assert all(by_programs(cells, sets, k) == every[k] for k, n in enumerate(cells.names) if n in unsafe)
        else:
            ends = {name: by_programs(cells, sets, k) for k, name in enumerate(cells.names) if name in unsafe}
        tally.add(compare(f"seed {seed}, {shape}, {method}", release, ends))
    return tally


def _methods(seed: int, rng: np.random.Generator, variables: int) -> list[Any]:
    D, V, js = NOISE[rng.integers(len(NOISE))]
    base = int(rng.choice([2, 3, 5]))
    rules = [rule for rule in (*ROUNDED, *ALONE) if variables == 2 or not rule.startswith("controlled_")]
    rule = str(rng.choice(rules))
    drawn = {} if rule in ("controlled", "conventional") else {"insecure_seed": seed}
    made = [
        ds.CellKey(D=D, V=V, js=js),
        ds.SmallCount(base=base, insecure_seed=seed),
        ds.Round(base, rule=rule, levels=False, **drawn),
    ]
    if seed % 3 == 0:
        made.append(ds.CellKey(D=D, V=V, js=js, threshold=int(rng.integers(2, 6))))
    return made


def _sets(method: Any, release: ds.Release, published: list[int], cells: Cells) -> Sets:
    if isinstance(method, ds.CellKey):
        return cell_key_sets(published, release.custodian.evidence[0].facts["noise"], method.threshold)
    if isinstance(method, ds.SmallCount):
        return small_count_sets(published, cells, method.base)
    sets = rounding_sets(published, cells, int(method.base), method.rule)
    # Sums of controlled rounding may lie further away; how far is stated.
    reach = int(release.custodian.evidence[0].facts["reach"]) * int(method.base)
    far = [s if s and reach == int(method.base) else [] for s in sets]
    finest = cells.sums.sum(axis=1) == 1
    return [s if one else t for s, t, one in zip(sets, far, finest, strict=True)]


ADJUSTED: tuple[dict[str, Any], ...] = (
    {"objective": "compromise"},
    {"objective": "variance", "fixed": "total"},
    {"objective": "correlation", "limit": 60},
    {"objective": "mdi"},
    {"objective": "mdi", "fixed": "margins"},
    {"objective": "l1", "limit": 30, "fixed": "total"},
    {"objective": "l1", "zeros": "movable"},
    {"objective": "l2", "fixed": "margins"},
)


def attack_adjusted(seed: int) -> Tally:
    """One random table of magnitudes, one adjustment: linear programs over the finest cells, all else public."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[1 + rng.integers(len(SHAPES) - 1)]
    parameters = ADJUSTED[seed % len(ADJUSTED)]
    table, cells = marked(seed, shape, int(rng.integers(2, 4))), Cells.of(shape)
    try:
        release = ds.protect(table, ds.Adjust(**parameters))
    except ds.DiscreetError:
        return Tally()
    published = np.array(by_name(release.public.tables[0], "value", cells.names), float)
    unsafe = [s == "U" for s in by_name(table, "status", cells.names)]
    low, high = np.zeros(len(published)), np.full(len(published), np.inf)
    below = np.array([sum(part != "Total" for part in name) for name in cells.names])
    for k, p in enumerate(published):
        if unsafe[k]:
            continue
        one_way = parameters["objective"] == "mdi" and below[k] <= 1
        all_sums = parameters.get("fixed") == "margins" and below[k] < len(shape)
        total = parameters.get("fixed") == "total" and below[k] == 0
        # A published zero that was a zero stays one; readers are granted to know which.
        zero = parameters.get("zeros") != "movable" and by_name(table, "value", cells.names)[k] == 0
        if one_way or all_sums or total or zero:
            low[k] = high[k] = p
        elif "limit" in parameters:
            share = parameters["limit"] / 100
            low[k], high[k] = np.ceil(p / (1 + share) - 1e-9), np.floor(p / (1 - share) + 1e-9)
    ends = {}
    for k, name in enumerate(cells.names):
        if unsafe[k]:
            ends[name] = tuple(_linear(cells, low, high, k, sign) for sign in (1.0, -1.0))
    return compare(f"seed {seed}, {shape}, {parameters}", release, ends)


def _linear(cells: Cells, low: Any, high: Any, wanted: int, sign: float) -> float:
    bounded = np.isfinite(high)
    matrix = np.vstack([cells.sums[bounded], -cells.sums])
    limits = np.concatenate([high[bounded], -low])
    answer = linprog(sign * cells.sums[wanted], A_ub=matrix, b_ub=limits, bounds=(0, None))
    assert answer.status in (0, 3), answer.message
    return -sign * np.inf if answer.status == 3 else float(sign * answer.fun)


def main() -> int:
    """Attack so many tables of each kind, from a seed on."""
    given = asked(main.__doc__, 500)
    import warnings

    warnings.simplefilter("ignore")
    bad = 0
    for attack in (attack_counts, attack_adjusted):
        tally = Tally()
        for seed in range(given.seed, given.seed + given.count):
            tally.add(attack(seed))
        print(
            f"{attack.__name__}: {tally.tables} releases, {tally.unsafe} unsafe cells, {tally.exact} pinned and "
            f"{tally.short} short by the attacker; the audit was too kind {len(tally.kind)} times"
        )
        print("\n".join(tally.kind[:20]))
        bad += len(tally.kind)
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
