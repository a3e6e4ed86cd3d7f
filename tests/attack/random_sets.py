"""Random sets of small tables, as records and plain descriptions, to be protected and then attacked."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

import discreet as ds
from tests.attack.publication import Tree

SHAPES = {
    "one": [("a", "b")],
    "chain": [("a", "b"), ("b", "c")],
    "star": [("a", "b"), ("a", "c")],
    "cycle": [("a", "b"), ("b", "c"), ("a", "c")],
    "cycle of four": [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")],
    "cube": [("a", "b", "c")],
    "cube and margins": [("a", "b", "c"), ("a", "b")],
}
ALGORITHMS = ("certified", "certified", "optimal", "hypercube", "modular", "network", "gauss")


@dataclass
class RandomSet:
    """Records, what to tabulate, how to judge it and how to protect it."""

    seed: int
    shape: str
    records: dict[str, list]
    trees: dict[str, Tree]
    tables: list[tuple[tuple[str, ...], str | None]]
    weighted: bool
    decimals: int
    rules: list
    method: dict
    negative: bool = False
    absolute: bool = False
    signed: bool = False
    waiver: bool = False
    bounds: bool = False
    equations: list[str] = field(default_factory=list)

    def assessed(self) -> ds.TableSet:
        """The tables, assessed."""
        roles = {"contributor": "firm", "weight": "w" if self.weighted else None}
        if self.waiver:
            roles["waiver"] = "waiver"
        data = ds.Microdata(pa.table(self.records), **roles)
        specs = [
            ds.TableSpec(
                by={v: hierarchy(self.trees[v]) for v in variables},
                value=value,
                absolute=self.absolute and value is not None,
                name=f"{value or 'count'}_{'_'.join(variables)}",
            )
            for variables, value in self.tables
        ]
        made = ds.tabulate(data, specs=specs)
        tables = list(made) if isinstance(made, ds.TableSet) else [made]
        rng = np.random.default_rng(self.seed + 1)
        assessed = [self._bounded(table, rng).assess(*self._rules_for(table)) for table in tables]
        return ds.TableSet(assessed, self.equations)

    def _rules_for(self, table: ds.Table) -> list:
        counting = table.spec.value is None
        return [r for r in self.rules if counting == isinstance(r, ds.MinFrequency)]

    def _bounded(self, table: ds.Table, rng: np.random.Generator) -> ds.Table:
        if not self.bounds:
            return table
        some = rng.random(len(table)) < 0.3
        upper = np.where(some, table.value + rng.integers(1, 1 + np.abs(table.value) // 2 + 1), 2**62)
        return table.with_(upper_bound=upper.astype(np.int64))


def hierarchy(tree: Tree) -> ds.Hierarchy:
    """A tree as the hierarchy of a table."""
    parents = {code: parent for parent, parts in tree.sums.items() for code, sign in parts if parent[1:] != "D"}
    found = ds.Hierarchy.from_parents(parents, total=tree.total)
    for parent, parts in tree.sums.items():
        if parent[1:] == "D":
            found = found.with_grouping(
                parent, [code for code, sign in parts if sign > 0], minus=[code for code, sign in parts if sign < 0]
            )
    return found


def _tree(rng: np.random.Generator, name: str, signed: bool) -> Tree:
    base = [f"{name}{i}" for i in range(int(rng.integers(2, 5)))]
    sums = {"Total": [(code, 1) for code in base]}
    if len(base) >= 3 and rng.random() < 0.4:
        sums = {"Total": [(f"{name}G", 1), *((code, 1) for code in base[2:])], f"{name}G": [(base[0], 1), (base[1], 1)]}
    if signed and len(base) >= 3:
        sums[f"{name}D"] = [(base[0], 1), (base[2], 1), (base[1], -1)]
    return Tree(base, sums)


def random_set(seed: int, shape: str | None = None) -> RandomSet:
    """A set of tables that is like no other one."""
    rng = np.random.default_rng(seed)
    shape = shape or str(rng.choice(list(SHAPES)))
    layout = SHAPES[shape]
    variables = sorted({v for table in layout for v in table})
    signed = rng.random() < 0.25
    trees = {v: _tree(rng, v, signed and rng.random() < 0.5) for v in variables}
    count = int(rng.integers(6, 50))
    decimals = int(rng.choice([0, 0, 1, 2]))
    amounts = np.rint(np.exp(rng.normal(3, 1.2, count)) * 10**decimals) / 10**decimals
    negative = rng.random() < 0.15
    if negative:
        amounts[rng.random(count) < 0.15] *= -1
    records: dict[str, list] = {v: rng.choice(trees[v].base, count).tolist() for v in variables}
    records |= {"value": amounts.tolist(), "firm": [f"f{i}" for i in rng.integers(0, max(3, count - 3), count)]}
    records["w"] = rng.choice([1.0, 2.0, 3.5], count).tolist()
    records["waiver"] = (rng.random(count) < 0.2).tolist()
    kind = str(rng.choice(["count", "value", "both"]))
    values = {"count": [None], "value": ["value"], "both": [None, "value"]}[kind]
    tables = [(table, value) for value in values for table in layout]
    absolute = negative or rng.random() < 0.1
    rules = [ds.MinFrequency(int(rng.integers(2, 5))), ds.MinContributors(int(rng.integers(2, 4)))]
    rules.append(ds.PPercent(float(rng.choice([10, 20, 35]))))
    algorithm = str(rng.choice(ALGORITHMS))
    method = {"insiders": [None, "nonzero", "full"][int(rng.integers(3))], "algorithm": algorithm, "cost": "value"}
    if algorithm not in ("certified", "optimal"):
        method["repair"] = True
    return RandomSet(
        seed=seed,
        shape=shape,
        records=records,
        trees=trees,
        tables=tables,
        weighted=rng.random() < 0.15,
        decimals=decimals,
        rules=rules,
        method=method,
        negative=negative,
        absolute=absolute,
        signed=signed,
        waiver=rng.random() < 0.15,
        bounds=rng.random() < 0.15,
    )
