"""records.json and log.json of a release of records: every field is known, of its kind, and fits the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.verify.description import CLAIM, HIERARCHY, NAME, same, table_files
from discreet.verify.rule_shapes import SOME, TEXTS
from discreet.verify.shapes import (
    Shape,
    by_name,
    either,
    flag,
    many,
    number,
    one_of,
    optional,
    plain,
    record,
    row,
    text,
    whole,
    wrong,
)

TYPES = ("string", "int64", "double", "bool", "date32[day]", "timestamp[us]")
ROLES = (
    "",
    "identifier",
    "key",
    "sensitive",
    "numeric",
    "household",
    "weight",
    "contributor",
    "record_key",
    "waiver",
    "request",
)
END = either(number(), text(most=1000))
POPULATION = record(
    {"keys": many(SOME, least=1), "total": whole(1), "distinct": whole(1)},
    {"codes": many(TEXTS), "combinations": many(many(whole(-1))), "units": many(whole(1))},
)
CLASSES: dict[str, Shape] = {"keys": many(SOME), "missing": one_of("category", "exempt")}
"""What rules on the sensitive values of classes have in common."""
RULES: dict[str, Shape] = {
    "k_anonymity": record(
        {
            "kind": one_of("k_anonymity"),
            "k": whole(2),
            "keys": many(SOME),
            "missing": one_of("category", "any", "exempt"),
        },
        {
            "size": whole(1),
            "combinations": many(record({"keys": many(SOME, least=1), "k": whole(2)}), least=1),
            "weight": SOME,
            "household": SOME,
        },
    ),
    "l_diversity": record(
        {
            "kind": one_of("l_diversity"),
            "l": whole(2),
            "form": one_of("distinct", "entropy", "recursive"),
            **CLASSES,
        },
        {"c": number(), "sensitive": SOME},
    ),
    "t_closeness": record(
        {
            "kind": one_of("t_closeness"),
            "t": number(0, 1),
            "distance": one_of("equal", "ordered", "hierarchical"),
            **CLASSES,
        },
        {"order": TEXTS, "above": by_name(text()), "sensitive": SOME},
    ),
    "beta_likeness": record(
        {"kind": one_of("beta_likeness"), "beta": number(0), "form": one_of("enhanced", "basic"), **CLASSES},
        {"sensitive": SOME},
    ),
    "max_linked": record(
        {"kind": one_of("max_linked"), "share": number(0, 1), "columns": many(SOME, least=1), "sample": whole(1)}
    ),
    "k_map": record({"kind": one_of("k_map"), "k": whole(2), "keys": many(SOME), "population": POPULATION}),
    "delta_presence": record(
        {
            "kind": one_of("delta_presence"),
            "lower": number(0, 1),
            "upper": number(0, 1),
            "keys": many(SOME),
            "population": POPULATION,
        }
    ),
}
KEYED: dict[str, Shape] = {
    "version": whole(),
    "key_file": optional(text()),
    "insecure_seed": optional(whole(-(2**62))),
}
"""Parameters of methods that draw at random."""
LIMITS = either(END, by_name(END))
SHARE = number(0, 1)
RECODE_BESIDES: dict[str, Shape] = {
    "groups": by_name(either(SOME, many(SOME, least=1))),
    "closed": many(SOME, least=1),
    "digits": whole(1),
    "base": number(),
    "ties": one_of("away"),
    "date": one_of("month", "quarter", "year", "age"),
    "at": text("[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "top_quantile": SHARE,
    "bottom_quantile": SHARE,
    "top_count": whole(1),
    "bottom_count": whole(1),
    "order": many(SOME, least=2),
    "weight": SOME,
    "coded_as": one_of("mean", "median"),
    "least": whole(3),
    "top_code": END,
    "bottom_code": END,
    "together": one_of(True),
    "labels": by_name(text()),
    "unknown": many(SOME, least=1),
    "complete": one_of(True),
}
"""Parameters of recodings that stand there where they say something."""
BASES = many(row(number(0), number(0)), least=1)
TOTALS = by_name(many(SOME, least=1))
"""Totals, and the columns that they are the sums of."""
METHODS: dict[str, Shape] = {
    "add_noise": record(
        {
            "method": one_of("add_noise"),
            "columns": many(SOME),
            "amount": number(),
            "how": one_of(
                "independent",
                "correlated",
                "exact",
                "restricted",
                "romm",
                "outliers",
                "proportional",
                "latin_hypercube",
            ),
            "flag": one_of("distance", "influence", "limits"),
            "beyond": number(0, 1),
            "decimals": optional(whole(0, 9)),
            "nonnegative": flag,
            "zeros": one_of("move", "keep"),
            "missing": one_of("refuse", "apart", "together"),
            **KEYED,
        }
    ),
    "blank_values": record(
        {
            "method": one_of("blank_values"),
            "upper": by_name(SHARE),
            "lower": by_name(SHARE),
            "jitter": by_name(number()),
            "noise": by_name(number()),
            "also": many(SOME),
            "least_chance": SHARE,
            **KEYED,
        }
    ),
    "generalise": record(
        {
            "method": one_of("generalise"),
            "k": optional(whole(2)),
            "rules": many(lambda value, place: _rule(value, place)),
            "keys": many(SOME),
            "algorithm": one_of("lattice", "local"),
            "metric": one_of("loss", "precision", "entropy", "discernibility", "class_size"),
            "outliers": number(0, 1),
            "ordered": many(SOME),
        }
    ),
    "ipso": record(
        {
            "method": one_of("ipso"),
            "columns": many(SOME),
            "given": many(SOME),
            "variant": one_of("fit", "a", "b", "c"),
            "decimals": optional(whole(0, 9)),
            "nonnegative": flag,
            "missing": one_of("refuse", "apart"),
            **KEYED,
        }
    ),
    "local_suppress": record(
        {
            "method": one_of("local_suppress"),
            "k": optional(whole(2)),
            "keys": many(SOME),
            "size": optional(whole(1)),
            "combinations": many(record({"keys": many(SOME, least=1), "k": whole(2)})),
            "missing": one_of("category", "any", "exempt"),
            "importance": by_name(number()),
            "cost": one_of("fields", "entropy"),
            "weight": optional(SOME),
            "strata": many(SOME),
            "risk": optional(number()),
            "algorithm": one_of("greedy", "optimal"),
            "nodes": whole(1),
        },
        besides={"together": by_name(many(SOME)), "of_household": many(SOME)},
    ),
    "microaggregate": record(
        {
            "method": one_of("microaggregate"),
            "columns": many(SOME),
            "k": whole(2),
            "algorithm": one_of(
                "search",
                "mdav",
                "mdav_pairs",
                "v_mdav",
                "rmd",
                "optimal_2",
                "automaton",
                "univariate",
                "onedims",
                "single",
                "sum",
                "pca",
                "pppca",
                "mcdpca",
                "clustpca",
                "clustpppca",
                "clustmcdpca",
                "influence",
                "simple",
            ),
            "effort": one_of("quick", "normal", "best"),
            "draws": whole(1),
            "seed": whole(),
            "location": one_of("mean", "median", "trimmed", "one_step", "m_estimate"),
            "decimals": optional(whole(0, 9)),
            "missing": one_of("refuse", "apart"),
            "trim": number(0, 0.5),
            "cut": optional(number(0)),
            "weighted": flag,
            "gamma": number(0),
            "restarts": whole(1),
            "clusters": whole(1),
            "transform": one_of("none", "log", "box_cox"),
            "distance": one_of("euclidean", "gower"),
            "categories": many(SOME),
            "clustering": one_of("means", "mixture"),
        }
    ),
    "mask_residual": record(
        {
            "method": one_of("mask_residual"),
            "first": lambda value, place: _method(value, place),
            "second": either(one_of("gaussian", "local"), lambda value, place: _method(value, place)),
            "sign": one_of("repair", "reflect"),
            "partitions": whole(1),
            "most_linked": SHARE,
            "decimals": optional(whole(0, 9)),
            "nonnegative": flag,
            **KEYED,
        }
    ),
    "multiplicative_noise": record(
        {
            "method": one_of("multiplicative_noise"),
            "identifier": SOME,
            "a": number(),
            "b": number(),
            "shape": one_of("triangular", "uniform", "ramp"),
            "factors": one_of("record", "variable"),
            "balance": many(SOME),
            "columns": many(SOME),
            "p": optional(number()),
            "known_weight": optional(SOME),
            "round_unit": optional(number()),
            "limit": optional(number()),
            **KEYED,
        }
    ),
    "rank_swap": record(
        {
            "method": one_of("rank_swap"),
            "columns": many(SOME),
            "share": number(0, 1),
            "joint": flag,
            **KEYED,
        }
    ),
    "redraw": record(
        {
            "method": one_of("redraw"),
            "columns": many(SOME),
            "unusual": whole(),
            "by": many(SOME),
            "flags": optional(SOME),
            "camouflage": whole(),
            "least": number(0, 1),
            "most": number(0, 1),
            "predictors": many(SOME),
            "totals": TOTALS,
            "keep": many(number()),
            **KEYED,
        }
    ),
    "reweight": record(
        {
            "method": one_of("reweight"),
            "by": many(SOME),
            "size": optional(SOME),
            "how": one_of("recalculate", "copy"),
            "population": by_name(number(0)),
            "times": number(0),
            "total": optional(number(0)),
            "least_size": optional(number(0)),
            "factors": one_of("refuse", "drop", "keep"),
            "empty": one_of("refuse", "spread"),
            "weight": optional(SOME),
        }
    ),
    "round_randomly": record(
        {
            "method": one_of("round_randomly"),
            "columns": many(SOME),
            "bases": BASES,
            "bases_of": by_name(BASES),
            "keep": many(number()),
            "totals": TOTALS,
            **KEYED,
        }
    ),
    "microaggregated_swap": record(
        {
            "method": one_of("microaggregated_swap"),
            "columns": many(SOME),
            "cells": many(SOME),
            "weight": optional(SOME),
            "least": whole(2),
            "dither": optional(number(0)),
            **KEYED,
        }
    ),
    "shuffle": record(
        {
            "method": one_of("shuffle"),
            "columns": many(SOME),
            "given": many(SOME),
            "exact": flag,
            "scale": one_of("rank", "product_moment"),
            "sample": one_of("normal", "latin_hypercube"),
            **KEYED,
        }
    ),
    "synthesise": record(
        {
            "method": one_of("synthesise"),
            "columns": many(SOME),
            "order": many(SOME),
            "models": by_name(text()),
            "default": one_of("cart", "sample", "parametric"),
            "given": optional(many(SOME)),
            "strata": optional(many(SOME)),
            "rules": by_name(by_name(optional(either(flag, number(), text(most=10_000))))),
            "rules_of_few": many(SOME),
            "categories": many(SOME),
            "smoothing": one_of("leaf", "column"),
            "min_leaf": whole(3),
            "proper": flag,
            "copy": whole(0),
            **KEYED,
        }
    ),
    "pram": record(
        {
            "method": one_of("pram"),
            "matrices": by_name(either(text(most=10_000), by_name(by_name(number(0, 1))))),
            "codes": by_name(many(text(most=10_000))),
            "invariant": flag,
            "within": optional(many(SOME)),
            "missing": one_of("stays", "category"),
            "publish": many(SOME),
            **KEYED,
        }
    ),
    "swap": record(
        {
            "method": one_of("swap"),
            "area": SOME,
            "household": SOME,
            "within": optional(SOME),
            "profile": many(SOME),
            "rate": number(),
            "risk": optional(SOME),
            **KEYED,
        }
    ),
    "recode": record(
        {
            "method": one_of("recode"),
            "column": either(SOME, many(SOME, least=2)),
            "map": optional(by_name(text())),
            "level": optional(whole()),
            "intervals": many(number()),
            "names": TEXTS,
            "top": optional(LIMITS),
            "bottom": optional(LIMITS),
        },
        RECODE_BESIDES,
    ),
}
"""Parameters of methods for records."""


def _rule(value: Any, place: str) -> None:
    kind = value.get("kind") if isinstance(value, Mapping) else None
    if kind not in RULES:
        raise wrong(place, "is not a rule for records that this checker knows")
    RULES[kind](value, place)


def _method(value: Any, place: str) -> None:
    kind = value.get("method") if isinstance(value, Mapping) else None
    if kind not in METHODS:
        raise wrong(place, "is not a method for records that this checker knows")
    METHODS[kind](value, place)


COLUMN = record({"name": SOME, "type": one_of(*TYPES)})
DESCRIPTION = record(
    {
        "format": whole(),
        "kind": one_of("records"),
        "name": SOME,
        "rows": whole(1),
        "keeps_order": flag,
        "columns": many(
            record(
                {
                    "name": SOME,
                    "type": one_of(*TYPES),
                    "role": one_of(*ROLES),
                    "label": text(),
                    "value_labels": by_name(text()),
                    "missing": many(row(END, END)),
                    "format": NAME,
                    "measure": one_of("", "nominal", "ordinal", "scale"),
                }
            ),
            least=1,
        ),
        "hierarchies": by_name(HIERARCHY),
        "strata": many(SOME),
        "rules": many(_rule),
        "steps": many(
            record(
                {
                    "method": _method,
                    "claim": CLAIM,
                    "effort": by_name(whole()),
                    "facts": by_name(plain, names=text("[a-z0-9_]+", most=60)),
                    "findings": TEXTS,
                    "columns": many(COLUMN),
                    "file": text(r"step_[0-9]+\.arrow"),
                },
                {"rows": many(text("[a-z0-9_]+", most=60), least=1)},
            )
        ),
    }
)
"""records.json."""
LOG = record(
    {
        "discreet": text(r"[0-9A-Za-z.+!-]+", most=60),
        "protect": many(_method),
        "rules": many(_rule),
        "name": SOME,
        "keep_order": flag,
        "notes": TEXTS,
    },
    {
        "key": record({"fingerprint": text("[0-9a-f]{8,64}"), "made": flag, "insecure": one_of(False)}),
        "recipe": text(most=10**7),
        "inputs": by_name(text("[0-9a-f]{64}")),
    },
)
"""log.json."""


def check_record_descriptions(description: Any, log: Any) -> None:
    """Raise an error where a field is not known, of another kind, or contradicts another."""
    DESCRIPTION(description, "records.json")
    LOG(log, "log.json")
    names = [column["name"] for column in description["columns"]]
    if len(set(names)) < len(names):
        raise wrong("records.json.columns", "name a column twice")
    for place in ("hierarchies", "strata"):
        if not set(description[place]) <= set(names):
            raise wrong(f"records.json.{place}", "name a column that is not there")
    for i, step in enumerate(description["steps"]):
        if step["file"] != f"step_{i}.arrow":
            raise wrong(f"records.json.steps[{i}].file", "is not named as it must be")
        if len(set(step.get("rows", ()))) < len(step.get("rows", ())):
            raise wrong(f"records.json.steps[{i}].rows", "name a column twice")
    for name, stated, other in (
        ("protect", log["protect"], [step["method"] for step in description["steps"]]),
        ("rules", log["rules"], description["rules"]),
        ("name", log["name"], description["name"]),
        ("keep_order", log["keep_order"], description["keeps_order"]),
    ):
        if not same(stated, other):
            raise wrong(f"log.json.{name}", "is not what records.json says")


def files_of(description: Mapping[str, Any]) -> set[str]:
    """Names of the custodian's files that a description speaks of."""
    steps = {step["file"] for step in description["steps"]}
    rows = {rows_file(i) for i, step in enumerate(description["steps"]) if "rows" in step}
    return {"records.json", "log.json", "original.arrow", "order.arrow", *steps, *rows}


def rows_file(step: int) -> str:
    """The file of what a step says of every row besides its columns."""
    return f"step_{step}_rows.arrow"


def public_name(name: str) -> str:
    """How public files of records are named, without their ending."""
    return table_files([name])[0].removesuffix(".csv")
