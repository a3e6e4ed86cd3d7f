"""What the battery runs: every method, with inputs that have broken tools before."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pyarrow as pa

import discreet as ds
from discreet.methods.base import Method

STUCK = "stuck"
"""Stands for an input that no method can protect."""
BASES = {
    "huge": 10**15,
    "counts": 5,
    "counts_three_way": 5,
    "counts_linked": 5,
    "one_cell": 3,
    "three_way": 20_000,
    STUCK: 1,
}
"""Bases that suffice for the levels of each input."""

METHODS: dict[str, Callable[[str], Method]] = {
    "suppress": lambda given: ds.Suppress(),
    "suppress-unity": lambda given: ds.Suppress(cost="unity"),
    "suppress-log": lambda given: ds.Suppress(cost="log"),
    "suppress-coalitions": lambda given: ds.Suppress(coalitions=True),
    "round": lambda given: ds.Round(BASES.get(given, 10_000)),
    "round-random": lambda given: ds.Round(BASES.get(given, 50_000), objective="random"),
    "round-unbiased": lambda given: ds.Round(5, rule="unbiased", levels=False),
    "round-conventional": lambda given: ds.Round(5, rule="conventional", levels=False),
    "round-semi": lambda given: ds.Round(5, rule="semi", levels=False),
    "adjust": lambda given: ds.Adjust(),
    "intervals": lambda given: ds.Intervals(algorithm="directions"),
    "intervals-least": lambda given: ds.Intervals(ends="least", effort=100),
    "adjust-randomised": lambda given: ds.Adjust(randomised=True, algorithm="directions"),
    "suppress-hypercube": lambda given: ds.Suppress(algorithm="hypercube", repair=True),
    "suppress-modular": lambda given: ds.Suppress(algorithm="modular", repair=True),
    "suppress-network": lambda given: ds.Suppress(algorithm="network", repair=True),
    "suppress-gauss": lambda given: ds.Suppress(algorithm="gauss", repair=True),
    "cell-key": lambda given: ds.CellKey(magnitudes={"small": 0.05, "top": 2}),
    "cell-key-made": lambda given: ds.CellKey(magnitudes=ds.MagnitudeNoise(0.1, magnifier="range"), identifier="firm"),
    "cell-key-whole": lambda given: ds.CellKey(magnitudes={"small": 0.1, "magnifier": "mean"}, additive="integer"),
    "small-count": lambda given: ds.SmallCount(base=3),
    "noise": lambda given: ds.MultiplicativeNoise("firm", 1.1, 1.2, p=10, limit=0.15),
    "noise-balanced": lambda given: ds.MultiplicativeNoise("firm", 1.1, 1.2, shape="ramp", balance=["region"]),
    "drop-add": lambda given: ds.DropAdd("firm", rate=0.1),
    "drop-q": lambda given: ds.DropAdd("firm", subsample=5),
    "drop-q-intervals": lambda given: ds.DropAdd("firm", subsample=5, replicates=("half", "other_half")),
    "swap": lambda given: ds.Swap("region", "firm", profile=["size"], rate=0.1),
    "redistribute": lambda given: ds.Redistribute(outliers="redistribute", algorithm="optimal"),
    "redistribute-values": lambda given: ds.Redistribute(max_share=0.6, p=10),
    "cell-key-squares": lambda given: ds.CellKey(magnitudes={"small": 0.1}, additive="least_squares"),
}
"""Every method, with parameters that fit an input."""

LEVELS = frozenset(
    name for name in METHODS if name.startswith(("suppress", "intervals")) or name in ("round", "round-random")
)
"""Methods that claim protection levels; all others say that they do not."""
ADJUSTING = frozenset(name for name in METHODS if name.startswith("adjust"))
"""Methods that move unsafe cells by their levels, which is no level against who knows them."""

BAD_PARAMETERS = {
    "suppress": [
        {"cost": "valuee"},
        {"algorithm": "magic"},
        {"costs": "value"},
        {"algorithm": "gauss", "settings": {"order": 1}},
    ],
    "intervals": [{"power": "sqrt"}, {"algorithm": "magic"}, {"powers": "ceil"}],
    "adjust": [{"objective": "l3"}, {"algorithm": "magic"}, {"weights": "unit"}],
    "cell_key": [{"additive": "l3"}, {"magnitudes": {"small": 0.1, "magnifier": "most"}}, {"noises": "x.csv"}],
    "drop_add": [{"identifier": "i", "rounding": "down"}, {"identifier": "i", "q": 3}],
    "swap": [{"area": "a", "household": "h", "households": "i"}],
    "redistribute": [{"algorithm": "best"}, {"outliers": "hide"}, {"thresholds": 3}],
    "small_count": [{"base": 1}, {"pre_rounded": [["N", 0.5]]}, {"bases": 3}],
    "multiplicative_noise": [{"identifier": "i", "shape": "flat"}, {"identifier": "i", "noise": 1}],
    "round": [{"base": 5, "rule": "nearest"}, {"base": 5, "objective": "best"}, {"base": 5, "bases": 5}],
}
NO_NOISE = {
    "equations": "rounds every variable for itself",
    "negative": "below zero",
    "counts": "leaves counts as they are",
    "counts_three_way": "leaves counts as they are",
    "counts_linked": "leaves counts as they are",
    "one_cell": "needs the records",
    "nothing_unsafe": "needs the records",
}
MAPS = ("map_counts", "map_values", "neighbours")
"""Inputs that are there for maps only."""
HOME = {
    "small-count": "counts",
    "drop-add": "counts",
    "drop-q": "counts",
    "drop-q-intervals": "weighted",
    "swap": "all_counts",
    "redistribute": "map_counts",
    "redistribute-values": "map_values",
}
"""The input that shows what a method does, where it is not for magnitudes."""
ONLY_FOR = {
    "small-count": {"counts", "counts_three_way", "counts_linked"},
    "drop-add": {"counts", "counts_three_way"},
    "swap": {"all_cells", "all_counts"},
    "redistribute": {"map_counts", "neighbours"},
    "redistribute-values": {"map_values"},
    "drop-q-intervals": {"counts", "weighted", "hierarchical"},
    "drop-q": {"counts", "counts_three_way", "hierarchical", "weighted", "all_cells", "forced"},
}
COSTS = {"hierarchical", "counts", "linked", "signed", "negative", "decimals", "huge", "all_cells", "nothing_unsafe"}
"""Inputs in which costs differ: of many values and of few, of zeros, of losses and of huge ones."""
ONLY_FOR |= {name: COSTS | {"one_cell", "counts_linked"} for name in ("suppress-unity", "suppress-log")}
"""The inputs of methods that are for few of them, or that differ from another one in few of them."""
CELL_KEYS = tuple(name for name in METHODS if name.startswith("cell-key"))
NOT_FOR = {("round-semi", given): "one definition" for given in ("linked", "counts_linked")}
NOT_FOR |= {(f"suppress-{engine}", "signed"): "a sum with a minus sign" for engine in ("hypercube", "modular")}
NOT_FOR |= {
    ("suppress-network", given): "takes one table"
    for given in ("linked", "counts_linked", "equations", "one_pattern", "all_counts")
}
NOT_FOR |= {("suppress-network", given): "two variables" for given in ("three_way", "counts_three_way", "one_cell")}
NOT_FOR["suppress-network", "signed"] = "are trees"
NOT_FOR |= {(name, "nothing_unsafe"): "needs record keys" for name in CELL_KEYS}
NOT_FOR |= {("cell-key-made", given): "needs the records" for given in ("one_cell", "nothing_unsafe")}
NOT_FOR |= {("cell-key-squares", given): "differences tie these tables" for given in ("linked", "counts_linked")}
NOT_FOR["cell-key-squares", "negative"] = "values of at least zero"
NOT_FOR |= {(name, given): words for name in ("noise", "noise-balanced") for given, words in NO_NOISE.items()}
"""Inputs that a method refuses, with words of its refusal."""

REGION = ds.Hierarchy.from_nested({"North": {"N1": None, "N2": ["N2a", "N2b"]}, "South": ["S1"], "West": ["W1", "W2"]})
TRADE = ds.Hierarchy.from_nested({"A": ["A1", "A2", "A3"], "B": ["B1", "B2"]})
SIZE = ds.Hierarchy.flat(["small", "medium", "large"])
FLAT_TRADE = ds.Hierarchy.flat(TRADE.base_codes)
"""For the network engine, which takes one hierarchy, and for tables that would be large."""
ROLES = {"contributor": "holding", "record_key": "rkey"}


def records(n: int = 140, seed: int = 3) -> pa.Table:
    """Firms with holdings, weights and heavy-tailed turnover."""
    rng = np.random.default_rng(seed)
    home = np.rint(rng.lognormal(4, 1.9, n)).astype(np.int64) + 1
    export = np.rint(rng.lognormal(3, 1.5, n) * (rng.random(n) < 0.5)).astype(np.int64)
    return pa.table(
        {
            "region": rng.choice(REGION.base_codes, n, p=[0.3, 0.2, 0.1, 0.1, 0.2, 0.1]),
            "trade": rng.choice(TRADE.base_codes, n),
            "size": rng.choice(SIZE.base_codes, n),
            "home": home,
            "export": export,
            "turnover": home + export,
            "holding": rng.integers(0, n // 2, n),
            "weight": np.round(1 + rng.random(n) * 3, 2),
            "profit": rng.integers(-500, 500, n),
            "firm": np.arange(n),
            "half": 2 * (np.arange(n) % 2),
            "other_half": 2 * (np.arange(n) // 2 % 2),
            "rkey": np.random.default_rng(seed + 1).random(n).round(12),
        }
    )


def _magnitude(trade: ds.Hierarchy, value: str = "turnover", **options: object) -> ds.Table:
    return ds.tabulate(records(), by={"region": REGION, "trade": trade}, value=value, **ROLES, **options)


def hierarchical(trade: ds.Hierarchy = TRADE) -> ds.Table:
    return _magnitude(trade).assess(ds.PPercent(10), ds.MinContributors(3))


def one_hierarchy() -> ds.Table:
    table = ds.tabulate(records(60), by={"region": REGION, "trade": FLAT_TRADE}, value="turnover", **ROLES)
    return table.assess(ds.PPercent(10), ds.MinContributors(3))


def weighted(trade: ds.Hierarchy = TRADE) -> ds.Table:
    return _magnitude(trade, weight="weight").assess(ds.PPercent(15), ds.MinContributors(3))


def three_way() -> ds.Table:
    by = {"region": REGION, "trade": TRADE, "size": SIZE}
    table = ds.tabulate(records(14), by=by, value="turnover", **ROLES)
    return table.assess(ds.Dominance(2, 85), ds.MinContributors(2))


def counts(trade: ds.Hierarchy = TRADE) -> ds.Table:
    table = ds.tabulate(records(120), by={"region": REGION, "trade": trade}, record_key="rkey")
    return table.assess(ds.MinFrequency(3))


def counts_three_way() -> ds.Table:
    table = ds.tabulate(records(200), by={"region": REGION, "trade": FLAT_TRADE, "size": SIZE}, record_key="rkey")
    return table.assess(ds.MinFrequency(2))


def counts_linked() -> ds.TableSet:
    specs = [
        ds.TableSpec(by={"region": REGION, "trade": TRADE}, name="region_trade"),
        ds.TableSpec(by={"region": REGION, "size": SIZE}, name="region_size"),
    ]
    return ds.tabulate(ds.Microdata(records(), record_key="rkey"), specs=specs).assess(ds.MinFrequency(2))


def linked() -> ds.TableSet:
    specs = [
        ds.TableSpec(by={"region": REGION, "trade": TRADE}, value="turnover", name="region_trade"),
        ds.TableSpec(by={"region": REGION, "size": SIZE}, value="turnover", name="region_size"),
    ]
    tables = ds.tabulate(ds.Microdata(records(), **ROLES), specs=specs)
    return tables.assess(ds.PPercent(10), ds.MinContributors(3))


def equations() -> ds.TableSet:
    values = ["turnover", "home", "export"]
    tables = ds.tabulate(records(), by={"region": REGION, "trade": TRADE}, value=values, **ROLES)
    linked_by = ds.TableSet(tables.tables, ["turnover = home + export"])
    return linked_by.assess(ds.PPercent(10))


def one_pattern() -> ds.TableSet:
    tables = ds.tabulate(records(), by={"region": REGION, "trade": TRADE}, value=["turnover", "home"], **ROLES)
    return ds.TableSet(tables.tables, one_pattern=True).assess(ds.PPercent(10))


def signed() -> ds.Table:
    region = REGION.with_grouping("coast", ["N1", "S1"]).with_grouping("inland", ["Total"], minus=["coast"])
    table = ds.tabulate(records(), by={"region": region, "trade": TRADE}, value="turnover", **ROLES)
    return table.assess(ds.PPercent(10), ds.MinContributors(3))


def negative(trade: ds.Hierarchy = TRADE) -> ds.Table:
    return _magnitude(trade, "profit", absolute=True).assess(ds.PPercent(10), ds.MinContributors(3))


def decimals(trade: ds.Hierarchy = TRADE) -> ds.Table:
    frame = records()
    cents = pa.array(np.round(frame["turnover"].to_numpy() * 1.37, 2))
    frame = frame.set_column(frame.column_names.index("turnover"), "turnover", cents)
    table = ds.tabulate(frame, by={"region": REGION, "trade": trade}, value="turnover", **ROLES)
    return table.assess(ds.PPercent(10), ds.MinContributors(3))


def huge(trade: ds.Hierarchy = TRADE) -> ds.Table:
    frame = records()
    big = pa.array(frame["turnover"].to_numpy() * 10**10)
    frame = frame.set_column(frame.column_names.index("turnover"), "turnover", big)
    table = ds.tabulate(frame, by={"region": REGION, "trade": trade}, value="turnover", **ROLES)
    return table.assess(ds.PPercent(10), ds.MinContributors(3))


def all_cells(trade: ds.Hierarchy = TRADE) -> ds.Table:
    by = {"region": REGION, "trade": trade}
    table = ds.tabulate(records(60), by=by, value="turnover", cells="all", record_key="rkey")
    return table.assess(ds.PPercent(10), ds.MinContributors(2))


def all_counts() -> ds.TableSet:
    by = {"region": REGION, "trade": TRADE}
    specs = [ds.TableSpec(by=by, cells="all"), ds.TableSpec(by={"region": REGION}, value="home", cells="all")]
    return ds.tabulate(ds.Microdata(records(60), record_key="rkey"), specs=specs).assess(ds.MinFrequency(2))


def points() -> pa.Table:
    rng = np.random.default_rng(8)
    x, y = rng.normal(0, 2, (2, 300))
    return pa.table(
        {"x": x, "y": y, "sales": np.rint(rng.lognormal(5, 1, 300)).astype(np.int64), "rkey": rng.random(300)}
    )


def map_counts() -> ds.Table:
    return ds.tabulate(points(), by={"place": ds.HexGrid("x", "y", 1.0)}, record_key="rkey").assess(ds.MinFrequency(3))


def map_values() -> ds.Table:
    by = {"place": ds.HexGrid("x", "y", 3.0)}
    return ds.tabulate(points(), by=by, value="sales", record_key="rkey").assess(ds.MinContributors(3))


def neighbours() -> ds.Table:
    codes = REGION.base_codes
    where = ds.Adjacency(codes, list(pairwise(codes)))
    return ds.tabulate(records(30), by={"region": where}, record_key="rkey").assess(ds.MinFrequency(3))


def nothing_unsafe() -> ds.Table:
    return ds.examples.small_table().assess(ds.PPercent(1))


def one_cell() -> ds.Table:
    cells = pa.table(
        {"region": ["Total"], "value": [5], "contributors": [9], "top1": [2], "top2": [1], "record_key": [0.4]}
    )
    hierarchy = ds.Hierarchy.flat(["Total"], total=None)
    return ds.Table.from_cells(cells, by={"region": hierarchy}).assess(ds.PPercent(10))


def forced(trade: ds.Hierarchy = TRADE) -> ds.Table:
    table = _magnitude(trade).marked({("Total", "A1"): "P", ("North", "Total"): "P"})
    return table.assess(ds.PPercent(10))


def bounded(trade: ds.Hierarchy = TRADE) -> ds.Table:
    table = _magnitude(trade)
    return table.with_(lower_bound=table.value // 50, upper_bound=table.value * 40 + 3000).assess(ds.PPercent(10))


INPUTS: dict[str, Callable[..., ds.Table | ds.TableSet]] = {
    f.__name__: f
    for f in (
        hierarchical,
        weighted,
        three_way,
        counts,
        counts_three_way,
        counts_linked,
        linked,
        equations,
        one_pattern,
        signed,
        negative,
        decimals,
        huge,
        all_cells,
        all_counts,
        map_counts,
        map_values,
        neighbours,
        nothing_unsafe,
        one_cell,
        forced,
        bounded,
    )
}
TWO_WAY = ("hierarchical", "weighted", "counts", "negative", "decimals", "huge", "all_cells", "forced", "bounded")
"""Inputs of two variables, which come with one hierarchy as well."""


def input_for(method: str, given: str) -> ds.Table | ds.TableSet:
    """An input, in the shape that a method takes."""
    if method == "suppress-network" and given in TWO_WAY:
        return INPUTS[given](FLAT_TRADE)
    return INPUTS[given]()
