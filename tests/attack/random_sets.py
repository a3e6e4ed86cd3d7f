"""Random sets of small tables, as records and plain descriptions, to be protected and then attacked."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

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
ENGINES = (*("certified", "hypercube", "modular", "gauss") * 2, "certified")
"""Besides ``optimal`` for small sets, and ``network`` for one table of two variables without figures."""
UNBOUNDED = 2**62


@dataclass(frozen=True)
class Told:
    """A figure that is already out: a sum of cells of one table, or its share of another sum, rounded.

    ``parts`` and ``whole`` are codes of cells; without ``whole`` the sum itself was published.
    """

    table: int
    parts: tuple[tuple[str, ...], ...]
    whole: tuple[str, ...] | None
    value: float
    decimals: int


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
    earlier: bool = False
    figures: list[Told] = field(default_factory=list)

    @property
    def features(self) -> list[str]:
        """What is unusual about the set, in words."""
        named = ("weighted", "negative", "absolute", "signed", "waiver", "bounds", "earlier")
        kinds = {value for _, value in self.tables}
        beside = ["counts beside decimals"] if len(kinds) > 1 and self.decimals else []
        figures = ["figures"] if self.figures else []
        return [name for name in named if getattr(self, name)] + beside + figures

    def assessed(self) -> ds.TableSet:
        """The tables, assessed."""
        return ds.TableSet(self._made(self.tables))

    def _made(self, wanted: list[tuple[tuple[str, ...], str | None]]) -> list[ds.Table]:
        roles = {"contributor": "firm", "weight": "w" if self.weighted else None}
        if self.waiver:
            roles["waiver"] = "waiver"
        data = ds.Microdata(pa.table(self.records), **roles)
        specs = [
            ds.TableSpec(
                by={v: hierarchy(self.trees[v]) for v in variables},
                value=value,
                absolute=self.absolute and value is not None,
                name=self.name(variables, value),
            )
            for variables, value in wanted
        ]
        made = ds.tabulate(data, specs=specs)
        tables = list(made) if isinstance(made, ds.TableSet) else [made]
        rng = np.random.default_rng(self.seed + 1)
        return [self._bounded(table, rng).assess(*self._rules_for(table)) for table in tables]

    @staticmethod
    def name(variables: tuple[str, ...], value: str | None) -> str:
        """How a table of the set is called."""
        return f"{value or 'count'}_{'_'.join(variables)}"

    def already(self) -> list:
        """What is out before the set is: a release of its first table, and figures."""
        items: list = [self.before] if self.earlier else []
        for told in self.figures:
            variables, value = self.tables[told.table]
            name = self.name(variables, value)

            def cell(codes: tuple[str, ...], name: str = name, variables: tuple[str, ...] = variables) -> str:
                return f"{name}[{', '.join(f'{v}={c}' for v, c in zip(variables, codes, strict=True))}]"

            formula = " + ".join(cell(codes) for codes in told.parts)
            if told.whole is not None:
                formula = f"100 * ({formula}) / {cell(told.whole)}"
            items.append(ds.Figure(formula, value=f"{told.value:.{told.decimals}f}"))
        return items

    @cached_property
    def before(self) -> ds.Release:
        """An earlier release of the first table, with another pattern than the one to come."""
        plain = {**self.method, "algorithm": "certified", "cost": "unity"}
        plain.pop("repair", None)
        return ds.protect(self._made(self.tables[:1])[0], ds.Suppress(**plain))

    def _rules_for(self, table: ds.Table) -> list:
        counting = table.spec.value is None
        return [r for r in self.rules if counting == isinstance(r, ds.MinFrequency)]

    def _bounded(self, table: ds.Table, rng: np.random.Generator) -> ds.Table:
        """Bounds on both sides that everybody knows of some cells."""
        if not self.bounds:
            return table
        room = np.abs(table.value) + 10**table.decimals
        some = rng.random((2, len(table))) < 0.15
        above = table.value + np.rint(room * rng.uniform(0.5, 2.0, len(table))).astype(np.int64)
        below = table.value - np.rint(room * rng.uniform(0.4, 1.0, len(table))).astype(np.int64)
        below = np.where(table.value >= 0, np.maximum(below, 0), below)  # given floors take the place of zero
        return table.with_(
            upper_bound=np.where(some[0], above, UNBOUNDED), lower_bound=np.where(some[1], below, -UNBOUNDED)
        )


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


def _tree(rng: np.random.Generator, name: str, signed: bool, sizes: tuple[int, ...]) -> Tree:
    base = [f"{name}{i}" for i in range(int(rng.choice(sizes)))]
    sums = {"Total": [(code, 1) for code in base]}
    if len(base) >= 3 and rng.random() < 0.4:
        sums = {"Total": [(f"{name}G", 1), *((code, 1) for code in base[2:])], f"{name}G": [(base[0], 1), (base[1], 1)]}
    if signed and len(base) >= 3:
        sums[f"{name}D"] = [(base[0], 1), (base[2], 1), (base[1], -1)]
    return Tree(base, sums)


def _records(rng: np.random.Generator, trees: dict[str, Tree], decimals: int, negative: bool) -> dict[str, list]:
    count = int(rng.integers(6, 36))
    amounts = np.rint(np.exp(rng.normal(3, 1.2, count)) * 10**decimals) / 10**decimals
    if negative:
        amounts[rng.random(count) < 0.15] *= -1
    records: dict[str, list] = {v: rng.choice(tree.base, count).tolist() for v, tree in trees.items()}
    firms = rng.integers(0, max(3, count - 3), count)
    records |= {"value": amounts.tolist(), "firm": [f"f{i}" for i in firms]}
    records["w"] = rng.choice([1.0, 2.0, 3.5], count).tolist()
    records["waiver"] = (rng.random(count) < 0.2).tolist()
    return records


def _rules(rng: np.random.Generator) -> list:
    rules: list = [ds.MinFrequency(int(rng.integers(2, 5)))]
    if rng.random() < 0.8:
        rules.append(ds.MinContributors(int(rng.integers(2, 4))))
    of_shares = (
        ds.PPercent(float(rng.choice([10, 20, 35]))),
        ds.Dominance(int(rng.integers(1, 3)), float(rng.choice([75, 85]))),
        ds.PriorPosterior(float(rng.choice([10, 20])), float(rng.choice([50, 80]))),
    )
    return [*rules, of_shares[int(rng.choice(3, p=[0.6, 0.2, 0.2]))]]


def _method(rng: np.random.Generator, tables: list, signed: bool) -> dict:
    two_way = all(len(variables) == 2 for variables, _ in tables)
    engines = [*ENGINES, *(("network", "network") if two_way and len(tables) == 1 else ())]
    if two_way and len(tables) <= 3:  # it takes minutes for some larger sets
        engines += ["optimal", "optimal"]
    if signed:  # no modular engine takes a minus sign
        engines = [engine for engine in engines if engine in ("certified", "optimal", "gauss")]
    algorithm = str(rng.choice(engines))
    method = {"insiders": [None, "nonzero", "full"][int(rng.integers(3))], "algorithm": algorithm, "cost": "value"}
    if algorithm not in ("certified", "optimal"):
        method["repair"] = True
    return method


def random_set(seed: int, shape: str | None = None) -> RandomSet:
    """A set of tables that is like no other one."""
    rng = np.random.default_rng(seed)
    shape = shape or str(rng.choice(list(SHAPES)))
    layout = SHAPES[shape]
    variables = sorted({v for table in layout for v in table})
    wanted = rng.random() < 0.25
    sizes = (3, 3, 4) if shape == "cycle" else (2, 2, 3, 3, 4)  # what lies behind a cycle shows in larger ones
    trees = {v: _tree(rng, v, wanted and rng.random() < 0.6, sizes) for v in variables}
    signed = any(f"{v}D" in tree.sums for v, tree in trees.items())
    decimals = int(rng.choice([0, 0, 1, 2]))
    negative = bool(rng.random() < 0.15)
    records = _records(rng, trees, decimals, negative)
    values = {"count": [None], "value": ["value"], "both": [None, "value"]}[str(rng.choice(["count", "value", "both"]))]
    tables = [(table, value) for value in values for table in layout]
    made = RandomSet(
        seed=seed,
        shape=shape,
        records=records,
        trees=trees,
        tables=tables,
        weighted=bool(rng.random() < 0.15),
        decimals=decimals,
        rules=_rules(rng),
        method=_method(rng, tables, signed),
        negative=negative,
        absolute=negative or signed or bool(rng.random() < 0.1),  # rules refuse what may be negative otherwise
        signed=signed,
        waiver=bool(rng.random() < 0.2),
        bounds=bool(rng.random() < 0.2),
        earlier=bool(rng.random() < 0.1),
    )
    if rng.random() < 0.2 and made.method["algorithm"] != "network":
        made.figures = list(_figures(made, rng))
    return made


def _figures(case: RandomSet, rng: np.random.Generator):
    """One or two figures of cells that hold something."""
    for _ in range(int(rng.integers(1, 3))):
        number = int(rng.integers(len(case.tables)))
        variables, value = case.tables[number]
        held = sorted(set(zip(*(case.records[v] for v in variables), strict=True)))
        chosen = rng.choice(len(held), min(len(held), int(rng.integers(1, 4))), replace=False)
        parts = tuple(held[i] for i in chosen.tolist())
        whole = tuple(case.trees[v].total for v in variables) if rng.random() < 0.5 or len(parts) == 1 else None
        decimals = 0 if value is None and whole is None else int(rng.integers(0, 2))
        amount = sum(_amount(case, variables, value, codes) for codes in parts)
        if whole is not None:
            everything = _amount(case, variables, value, None)
            if everything <= 0:
                continue
            amount *= 100 / everything
        if abs(amount * 10**decimals * 2 % 2 - 1) > 1e-6:  # halves are rounded in one way by some, in another by others
            yield Told(number, parts, whole, round(amount, decimals), decimals)


def _amount(case: RandomSet, variables: tuple[str, ...], value: str | None, codes: tuple[str, ...] | None) -> float:
    """What the records of one inner cell, or all of them, add up to."""
    total = 0.0
    for i in range(len(case.records["firm"])):
        if codes is None or all(case.records[v][i] == code for v, code in zip(variables, codes, strict=True)):
            amount = 1.0 if value is None else case.records["value"][i]
            total += amount * (case.records["w"][i] if case.weighted else 1.0)
    return total
