"""Records that the battery runs every method for records on, with what has broken tools before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

import discreet as ds
from discreet.methods.base import RecordMethod

KEYS = ("age", "sex", "region")
RECORD_METHODS: dict[str, Callable[[], list[RecordMethod]]] = {
    "recode-map": lambda: [ds.Recode("sex", map={"m": "person", "f": "person"})],
    "recode-level": lambda: [ds.Recode("region", level=1)],
    "recode-intervals": lambda: [ds.Recode("age", intervals=[15, 65])],
    "recode-top": lambda: [ds.Recode("income", top=90_000, bottom=0)],
    "recode-twice": lambda: [
        ds.Recode("age", intervals=[15, 65]),
        ds.Recode("age", map={"<15": "<65", "15-64": "<65"}),
    ],
    "recode-groups": lambda: [ds.Recode("region", groups={"north": ["N1-N2"], "south": ["S1", "S2"]})],
    "recode-base": lambda: [ds.Recode("income", base=0.05, ties="away"), ds.Recode("age", base=10)],
    "recode-mean": lambda: [
        ds.Recode("income", top_quantile=0.8, weight="weight", coded_as="mean", base=0.01, least=3)
    ],
    "recode-count": lambda: [ds.Recode("region", digits=1), ds.Recode("age", top_count=5, bottom_quantile=0.1)],
    "local-suppress": lambda: [ds.LocalSuppress(3, keys=KEYS)],
    "local-suppress-pairs": lambda: [
        ds.Recode("region", level=1),
        ds.LocalSuppress(2, keys=KEYS, size=2, importance={"sex": 3}),
    ],
    "local-suppress-sets": lambda: [
        ds.LocalSuppress(2, combinations=[["age"], {"keys": ["sex", "region"], "k": 3}], cost="entropy")
    ],
    "local-suppress-any": lambda: [ds.LocalSuppress(3, keys=KEYS, missing="any")],
    "local-suppress-exempt": lambda: [ds.LocalSuppress(3, keys=KEYS, size=2, missing="exempt")],
    "local-suppress-strata": lambda: [
        ds.Recode("age", intervals=[15, 65]),
        ds.LocalSuppress(2, keys=KEYS, strata=["region"], algorithm="optimal"),
    ],
    "local-suppress-risk": lambda: [ds.LocalSuppress(risk=0.2, keys=KEYS, weight="weight")],
    "generalise": lambda: [ds.Generalise(3, keys=["age", "sex", "region"], outliers=1)],
    "generalise-local": lambda: [
        ds.Generalise(3, rules=[ds.LDiversity(2, sensitive="health")], keys=KEYS, algorithm="local", outliers=1)
    ],
    "microaggregate": lambda: [ds.Microaggregate(k=3, missing="apart")],
    "microaggregate-pairs": lambda: [
        ds.Recode("income", bottom=0),
        ds.Microaggregate(["income"], 4, "mdav_pairs", missing="apart", decimals=0),
    ],
    "microaggregate-best-pairs": lambda: [ds.Microaggregate(["age"], 2, "optimal_2", missing="apart")],
    "microaggregate-learnt": lambda: [
        ds.Microaggregate(["age"], 3, "automaton", missing="apart", location="m_estimate", restarts=1)
    ],
    "microaggregate-gower": lambda: [
        ds.Microaggregate(["age"], 3, "mdav", missing="apart", distance="gower", categories=["sex"])
    ],
    "microaggregate-each": lambda: [ds.Microaggregate(["age"], 3, "univariate", location="median", missing="apart")],
    "mask-residual": lambda: [
        ds.Recode("income", bottom=0),
        ds.MaskResidual(
            ds.Microaggregate(["income"], 9, "sum", missing="apart"),
            ds.RankSwap(share=0.3),
            sign="reflect",
            most_linked=1,
        ),
    ],
    "mask-residual-rounded": lambda: [
        ds.MaskResidual(
            ds.Microaggregate(["age"], 5, missing="apart"),
            ds.Microaggregate(k=3, missing="apart"),
            "reflect",
            most_linked=1,
            decimals=1,
            nonnegative=True,
        )
    ],
    "rank-swap": lambda: [ds.RankSwap(share=0.2)],
    "rank-swap-joint": lambda: [ds.RankSwap(["age"], 0.3, joint=False), ds.RankSwap(["income"], 1)],
    "add-noise": lambda: [
        ds.AddNoise(["age"], 0.2, zeros="keep", nonnegative=True),
        ds.AddNoise(["income"]),
    ],
    "add-noise-exact": lambda: [
        ds.Recode("income", bottom=0),
        ds.AddNoise(["age"], 0.3, "restricted", decimals=1),
    ],
    "add-noise-outliers": lambda: [ds.AddNoise(["age"], 0.1, "outliers", flag="limits", beyond=0.6)],
    "add-noise-gaps": lambda: [ds.AddNoise(["income", "age"], 0.2, missing="together")],
    "add-noise-turned": lambda: [ds.AddNoise(how="romm")],
    "add-noise-ranks": lambda: [
        ds.AddNoise(["age"], 0.1, "proportional"),
        ds.AddNoise(["age"], 0.3, "latin_hypercube", version=2),
    ],
    "round-randomly": lambda: [ds.RoundRandomly()],
    "round-randomly-coded": lambda: [
        ds.Recode("income", top=90_000),
        ds.RoundRandomly(["income"], [(1000, 50), (0, 0.25)], bases_of={"age": 5}),
    ],
    "redraw": lambda: [ds.Redraw(unusual=10, camouflage=15, predictors=["age", "sex", "health"])],
    "redraw-by": lambda: [ds.Redraw(["income"], unusual=5, by=["age"], camouflage=20, least=0.05, most=0.1, version=2)],
    "shuffle": lambda: [ds.Shuffle()],
    "shuffle-given": lambda: [
        ds.Recode("income", bottom=0),
        ds.Shuffle(["income", "age"], given=["weight"], exact=False, scale="product_moment"),
    ],
    "shuffle-hypercube": lambda: [ds.Shuffle(["income", "age"], sample="latin_hypercube")],
    "ipso": lambda: [ds.Ipso(given=["age", "sex", "health"])],
    "ipso-plain": lambda: [
        ds.Recode("income", bottom=0),
        ds.Ipso(["age"], given=["sex"], variant="a", nonnegative=True, decimals=1),
    ],
    "reweight": lambda: [
        ds.Pram({"sex": {"m": {"m": 0.7, "f": 0.3}, "f": {"f": 0.8, "m": 0.2}}}),
        ds.Reweight(["sex"], factors="drop"),
    ],
    "microaggregated-swap": lambda: [ds.MicroaggregatedSwap(cells=["sex"])],
    "microaggregated-swap-plain": lambda: [
        ds.Recode("region", level=1),
        ds.MicroaggregatedSwap(["age", "income"], ["region", "sex"], least=5, dither=0),
    ],
    "blank-values": lambda: [
        ds.BlankValues(
            upper={"income": 0.9},
            lower={"income": 0.05},
            jitter={"income": 60_000},
            noise={"income": 1000},
            also=["health"],
        )
    ],
    "blank-values-noise": lambda: [ds.Recode("income", base=0.05, ties="away"), ds.BlankValues(noise={"income": 500})],
    "pram": lambda: [
        ds.Pram(
            {"sex": {"m": {"m": 0.7, "f": 0.3}, "f": {"f": 0.8, "m": 0.2}}, "region": "Block(2; 2E(0.8); 2E(0.6))"},
            codes={"region": ["N1", "N2", "S1", "S2"]},
            publish=["region", "sex"],
        )
    ],
    "pram-invariant": lambda: [
        ds.Recode("age", intervals=[15, 65]),
        ds.Pram({"age": "E(0.7)", "health": "F(0.8)"}, invariant=True, within=["coast"]),
    ],
    "synthesise": lambda: [ds.Synthesise(order=["sex"], given=["coast"])],
    "synthesise-models": lambda: [
        ds.Recode("income", bottom=0),
        ds.Synthesise(
            ["sex", "age", "income", "health"],
            models={"sex": "logit", "age": "normal_rank", "income": "normal"},
            default="parametric",
            strata=["coast"],
            proper=True,
            copy=2,
            smoothing="column",
            min_leaf=4,
        ),
    ],
    "swap": lambda: [ds.Swap("region", "home", profile=["sex"], rate=0.3)],
    "swap-recoded": lambda: [
        ds.Recode("age", intervals=[15, 65]),
        ds.Swap("region", "home", within="coast", risk="weight", rate=0.5),
    ],
    "noise": lambda: [ds.MultiplicativeNoise("name")],
    "noise-apart": lambda: [
        ds.MultiplicativeNoise("name", 1.05, 1.3, columns=["income", "age"], factors="variable", balance=["region"])
    ],
}
"""Steps for records; their last one names the method."""
BAD_RECORD_PARAMETERS = {
    "recode": [
        {},
        {"column": "age"},
        {"column": "age", "top": 5, "level": 1},
        {"column": "age", "intervals": [5, 5]},
        {"column": "age", "tops": 5},
        {"column": "age", "intervals": [5], "names": ["low"]},
        {"column": "age", "digits": 0},
        {"column": "age", "base": -5},
        {"column": "age", "date": "age"},
        {"column": "age", "top_quantile": 1.5},
        {"column": "age", "top": 5, "coded_as": "mean", "least": 1},
        {"column": [], "top": 5},
    ],
    "local_suppress": [
        {},
        {"k": 1},
        {"k": 3, "size": 0},
        {"k": 3, "importance": {"age": -1}},
        {"k": 3, "key": ["age"]},
        {"k": 3, "risk": 0.1},
        {"risk": 2},
        {"k": 3, "missing": "all"},
        {"k": 3, "cost": "bits"},
        {"k": 3, "combinations": [["age", "age"]]},
        {"k": 3, "combinations": [["age"]], "size": 1},
        {"k": 3, "size": 2, "algorithm": "optimal"},
    ],
    "generalise": [
        {},
        {"k": 1},
        {"k": 3, "outliers": 2},
        {"k": 3, "algorithm": "global"},
        {"k": 3, "rules": [{"kind": "l_diverse"}]},
        {"k": 3, "algorithm": "local", "metric": "entropy"},
    ],
    "microaggregate": [
        {"k": 1},
        {"columns": ["income", "income"]},
        {"algorithm": "mdav", "effort": "best"},
        {"algorithm": "optimal_2", "k": 3},
        {"categories": ["sex"]},
        {"trim": 0.5, "location": "trimmed"},
        {"decimals": 10},
        {"size": 3},
    ],
    "mask_residual": [
        {},
        {"first": "local"},
        {"first": {"method": "recode", "column": "age", "top": 5}},
        {"first": {"method": "rank_swap"}, "second": "uniform"},
        {"first": {"method": "rank_swap", "insecure_seed": 1}},
        {"first": {"method": "rank_swap"}, "sign": "plus"},
    ],
    "rank_swap": [
        {"share": 0},
        {"share": 5},
        {"columns": ["income", "income"]},
        {"shares": 0.1},
    ],
    "add_noise": [
        {"amount": 0},
        {"amount": -0.1},
        {"how": "gaussian"},
        {"columns": ["income", "income"]},
        {"how": "romm", "amount": 3},
        {"how": "outliers", "decimals": 2},
        {"how": "outliers", "flag": "size"},
        {"how": "outliers", "beyond": 1},
        {"decimals": 10},
        {"zeros": "stay"},
        {"noise": 0.1},
    ],
    "round_randomly": [
        {"bases": 0},
        {"bases": [[10, -1], [0, 1]]},
        {"bases": [[10, 5], [10, 1], [0, 1]]},
        {"bases": [[10, 5]]},
        {"bases_of": {"age": "five"}},
        {"keep": ["-9"]},
        {"totals": {"all": []}},
        {"totals": {"all": ["one", "-one"]}},
        {"totals": {"all": ["one"], "one": ["all"]}},
        {"columns": ["all"], "totals": {"all": ["one"]}},
        {"columns": ["income", "income"]},
        {"base": 5},
    ],
    "redraw": [
        {},
        {"unusual": -1},
        {"unusual": 5, "least": 0},
        {"unusual": 5, "least": 0.3, "most": 0.2},
        {"unusual": 5, "most": 1},
        {"camouflage": 5, "by": ["income"]},
        {"unusual": 5, "columns": ["income"], "predictors": ["income"]},
        {"unusual": 5, "columns": ["income", "income"]},
        {"unusual": 5, "flags": 3},
        {"unusual": 5, "delta": 0.1},
    ],
    "ipso": [
        {"columns": ["income", "income"]},
        {"columns": ["income"], "given": ["income"]},
        {"given": ["age", "age"]},
        {"variant": "d"},
        {"decimals": 10},
        {"missing": "fill"},
        {"exact": True},
    ],
    "reweight": [
        {},
        {"by": ["sex"], "size": "income"},
        {"by": ["sex", "sex"]},
        {"by": ["sex"], "how": "old"},
        {"by": ["sex"], "times": 2.0},
        {"by": ["sex"], "population": {"m": 0}},
        {"size": "income", "how": "copy"},
        {"by": ["sex"], "method": "rcal"},
    ],
    "shuffle": [
        {"columns": ["income", "income"]},
        {"columns": ["income"], "given": ["income"]},
        {"given": ["age", "age"]},
        {"scale": "ranks"},
        {"share": 0.1},
    ],
    "microaggregated_swap": [
        {"columns": ["income", "income"]},
        {"columns": ["income"], "cells": ["income"]},
        {"columns": ["income"], "weight": "income"},
        {"cells": ["sex", "sex"]},
        {"least": 1},
        {"dither": -1},
        {"cell": ["sex"]},
    ],
    "blank_values": [
        {},
        {"upper": {"income": 0.9}},
        {"upper": {"income": 1.0}, "jitter": {"income": 5}},
        {"noise": {"income": 0}},
        {"noise": {"income": 5}, "least_chance": -1},
        {"noises": {"income": 5}},
    ],
    "pram": [
        {},
        {"matrices": {}},
        {"matrices": {"sex": "2G(0.8)"}},
        {"matrices": {"sex": {"m": {"m": 0.7}}}},
        {"matrices": {"sex": "2E(0.8)"}, "missing": "moves"},
        {"matrices": {"sex": "2E(0.8)"}, "publish": ["age"]},
        {"matrices": {"sex": "2E(0.8)"}, "within": ["sex"]},
        {"matrices": {"sex": "2E(0.8)"}, "invariants": True},
    ],
    "swap": [
        {"area": "region"},
        {"area": "region", "household": "home", "rate": 0},
        {"area": "region", "household": "home", "profile": ["region"]},
        {"area": "region", "household": "home", "rates": 0.1},
    ],
    "synthesise": [
        {"columns": ["income", "income"]},
        {"columns": ["income"], "order": ["age"]},
        {"columns": ["income"], "models": {"age": "cart"}},
        {"models": {"income": "tree"}},
        {"columns": ["income"], "given": ["income"]},
        {"columns": ["income"], "strata": ["income"]},
        {"rules": {"income": {}}},
        {"rules": {"income": {"income > 3": 4}}},
        {"rules": {"income": {"age": 4}}},
        {"min_leaf": 2},
        {"copy": -1},
        {"smoothing": "spline"},
        {"default": "tree"},
        {"leaf": 5},
    ],
    "multiplicative_noise": [
        {},
        {"identifier": "name", "a": 1.2, "b": 1.1},
        {"identifier": "name", "shape": "square"},
        {"identifier": "name", "round_unit": 10},
        {"identifier": "name", "columns": [5]},
    ],
}
NO_PARTNER, NO_HOME, NO_NAME = "No household found a partner", "no column 'home'", "no column 'name'"
TOO_FEW = "times, in 1 record"
STANDS_STILL = "leaves every code that occurs as it is"
NO_RANK = "no ranks were close enough"
NOTHING_TO_SHUFFLE = "there is nothing to shuffle"
NO_GROUP = "a group has at least"
ONE_VALUE, ALL_EQUAL = "There is one value of 'age'", "are equal, so that noise has no size"
RECORD_NOT_FOR = {
    ("recode-mean", "one_record"): "has no value, so that its top cannot be found",
    ("recode-mean", "equal_rows"): "no column 'weight'",
    ("recode-count", "one_record"): "would leave no other value",
    ("recode-count", "equal_rows"): "would leave no other value",
    ("local-suppress", "one_record"): TOO_FEW,
    ("local-suppress-pairs", "one_record"): TOO_FEW,
    ("generalise", "one_record"): TOO_FEW,
    ("generalise-local", "one_record"): TOO_FEW,
    ("generalise-local", "equal_rows"): "'health' is empty in every record",
    ("microaggregate", "one_record"): "no value in any",
    ("microaggregate-pairs", "one_record"): "no value in any",
    ("microaggregate-each", "one_record"): NO_GROUP,
    ("mask-residual", "one_record"): "no value in any",
    ("mask-residual", "equal_rows"): NO_RANK,
    ("mask-residual-rounded", "one_record"): NO_GROUP,
    ("mask-residual-rounded", "equal_rows"): "re-creates the original values of 9 records",
    ("microaggregate-best-pairs", "one_record"): NO_GROUP,
    ("microaggregate-learnt", "one_record"): NO_GROUP,
    ("microaggregate-gower", "one_record"): NO_GROUP,
    ("rank-swap", "one_record"): NO_RANK,
    ("rank-swap-joint", "one_record"): NO_RANK,
    ("rank-swap", "equal_rows"): NO_RANK,
    ("rank-swap-joint", "equal_rows"): NO_RANK,
    ("add-noise", "one_record"): ONE_VALUE,
    ("add-noise", "equal_rows"): ALL_EQUAL,
    ("add-noise-exact", "one_record"): ONE_VALUE,
    ("add-noise-exact", "equal_rows"): ALL_EQUAL,
    ("add-noise-outliers", "one_record"): ONE_VALUE,
    ("add-noise-outliers", "equal_rows"): ALL_EQUAL,
    ("add-noise-gaps", "one_record"): "There is no record without a gap",
    ("add-noise-gaps", "equal_rows"): ALL_EQUAL,
    ("add-noise-turned", "one_record"): "no value in any",
    ("add-noise-turned", "equal_rows"): ALL_EQUAL,
    ("add-noise-ranks", "one_record"): ONE_VALUE,
    ("redraw", "one_record"): "can be drawn anew",
    ("redraw-by", "one_record"): "can be drawn anew",
    ("redraw", "equal_rows"): "has the same value in all records",
    ("redraw-by", "equal_rows"): "has the same value in all records",
    ("shuffle-hypercube", "one_record"): NOTHING_TO_SHUFFLE,
    ("shuffle-hypercube", "equal_rows"): NOTHING_TO_SHUFFLE,
    ("shuffle", "one_record"): NOTHING_TO_SHUFFLE,
    ("shuffle-given", "one_record"): NOTHING_TO_SHUFFLE,
    ("shuffle", "equal_rows"): NOTHING_TO_SHUFFLE,
    ("shuffle-given", "equal_rows"): "no column 'weight'",
    ("ipso", "one_record"): "There is no value in any of 'income'",
    ("ipso", "equal_rows"): "are equal: there is nothing to draw",
    ("ipso-plain", "one_record"): "There is 1 record, and 1 column with a regression of rank 1 need at least 3",
    ("ipso-plain", "equal_rows"): "are equal: there is nothing to draw",
    ("reweight", "equal_rows"): "which column holds the weights",
    ("microaggregated-swap", "one_record"): "There is no value in 'income'",
    ("microaggregated-swap-plain", "one_record"): "1 cell has fewer than 5 values of 'age'",
    ("microaggregated-swap", "equal_rows"): "1 cell has fewer than 10 values of 'income'",
    ("microaggregated-swap-plain", "equal_rows"): "All values of 'age' are the same in 1 cell",
    ("blank-values", "one_record"): "has no value, so that it has no quantiles",
    ("blank-values", "equal_rows"): "Every record would be emptied",
    ("pram-invariant", "one_record"): STANDS_STILL,
    ("pram-invariant", "equal_rows"): "no column 'coast'",
    ("local-suppress-sets", "one_record"): TOO_FEW,
    ("local-suppress-any", "one_record"): TOO_FEW,
    ("local-suppress-exempt", "one_record"): TOO_FEW,
    ("local-suppress-strata", "one_record"): TOO_FEW,
    ("local-suppress-risk", "one_record"): "Even with empty keys, 1 record has a risk of",
    ("local-suppress-risk", "equal_rows"): "no column 'weight'",
    ("synthesise", "one_record"): "min_leaf=5 needs at least 12",
    ("synthesise-models", "one_record"): "min_leaf=4 needs at least 10",
    ("synthesise", "equal_rows"): "no column 'coast'",
    ("synthesise-models", "equal_rows"): "no column 'coast'",
    ("swap", "one_record"): NO_PARTNER,
    ("swap-recoded", "one_record"): NO_PARTNER,
    ("swap", "equal_rows"): NO_HOME,
    ("swap-recoded", "equal_rows"): NO_HOME,
    ("noise", "equal_rows"): NO_NAME,
    ("noise-apart", "equal_rows"): NO_NAME,
}
"""Inputs that steps refuse, with words of the refusal."""
CANARY = "Zebediah Quatermass"
REGIONS = {"N1": "north", "N2": "north", "S1": "south", "S2": "south", "north": None, "south": None}
HIERARCHY = ds.Hierarchy.from_parents(REGIONS, total="All")


def people(rows: int = 200, seed: int = 1, **roles: object) -> ds.Microdata:
    """Records of persons with gaps, quotes, formulas and a canary in every column that must not go out."""
    draw = np.random.default_rng(seed)
    health = np.array(["good", "bad", "=1+1", 'a "b", c', None], object)[draw.integers(0, 5, rows)]
    income = np.round(draw.lognormal(10, 1, rows), 2)
    income[::7] = np.nan
    region = np.array(["N1", "N2", "S1", "S2"])[draw.integers(0, 4, rows)][np.arange(rows) // 3]
    table = pa.table(
        {
            "name": [f"{CANARY} {i}" for i in range(rows)],
            "home": [f"home {CANARY} {i // 3}" for i in range(rows)],
            "age": draw.integers(0, 100, rows),
            "sex": np.array(["m", "f"])[draw.integers(0, 2, rows)],
            "region": region,
            "coast": [code[1] for code in region],
            "health": pa.array(health, pa.string()),
            "income": pa.array(income, from_pandas=True),
            "weight": np.round(draw.uniform(1, 9, rows), 3),
        }
    )
    given = {
        "keys": ["age", "sex", "region"],
        "sensitive": ["health"],
        "numeric": ["income"],
        "weight": "weight",
        "household": "home",
        "identifier": "name",
        "hierarchies": {"region": HIERARCHY},
        "labels": {"age": "Age in years"},
        "value_labels": {"sex": {"m": "male", "f": "female"}},
        "missing_codes": {"age": ["99"]},
    }
    return ds.Microdata(table, **{**given, **roles})


def one_record() -> ds.Microdata:
    return people(1)


def equal_rows() -> ds.Microdata:
    """Records that nothing tells apart."""
    table = pa.table(
        {"age": [30] * 9, "sex": ["m"] * 9, "region": ["N1"] * 9, "income": [1.5] * 9, "health": [None] * 9}
    )
    return ds.Microdata(table, keys=["age", "sex", "region"], numeric=["income"], hierarchies={"region": HIERARCHY})


def huge_values() -> ds.Microdata:
    data = people(60)
    column = pa.array([10.0**15 + i for i in range(60)])
    return data.with_(source=data.source.set_column(7, "income", column))


RECORD_INPUTS: dict[str, Callable[[], ds.Microdata]] = {
    "people": people,
    "one_record": one_record,
    "equal_rows": equal_rows,
    "huge_values": huge_values,
}
