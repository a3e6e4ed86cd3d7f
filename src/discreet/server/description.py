"""What a data set says of itself: variables, codes, universes, limits. No count of anybody is in it."""

from __future__ import annotations

from typing import Any

from discreet.errors import unknown_name
from discreet.server.dataset import Dataset
from discreet.server.question import QuestionRefusal

ALTERED = "Values are altered to protect confidentiality, and may not add up."


def dataset_row(dataset: Dataset) -> dict[str, Any]:
    """A data set in a list."""
    catalogue = dataset.catalogue
    return {"name": dataset.name, "edition": dataset.edition, "title": catalogue.title, "period": catalogue.period}


def dataset_page(dataset: Dataset) -> dict[str, Any]:
    """All that may be asked of a data set."""
    catalogue, policy = dataset.catalogue, dataset.policy
    return {
        **dataset_row(dataset),
        "description": catalogue.description,
        "note": ALTERED,
        "variables": {
            name: {
                "label": part.label or name,
                "description": part.description,
                "levels": [len(level.hierarchy) for level in dataset.levels[name]],
            }
            for name, part in catalogue.variables.items()
        },
        "values": {
            name: {"label": part.label or name, "unit": part.unit, "description": part.description}
            for name, part in catalogue.values.items()
        },
        "universes": [
            {"name": "all", "label": ""},
            *({"name": part.name, "label": part.label} for part in catalogue.universes),
        ],
        "geography": dataset.geography,
        "limits": {
            "variables": policy.most_variables,
            "cells": policy.most_cells,
            "cells_per_day": policy.budget_cells,
        },
        "protection": dataset.method.kind,
        "weighted": dataset.data.weight is not None,
        "errors": _errors(dataset),
    }


def _errors(dataset: Dataset) -> dict[str, Any] | None:
    """How anybody works out the relative standard error of a published count, and from which percent it has marks."""
    curve, part = dataset.facts.errors, dataset.catalogue.quality
    if curve is None or part is None:
        return None
    return {"relative variance": "a + b / count", "a": curve.a, "b": curve.b, "marks": part.marks}


def variable_page(dataset: Dataset, name: str) -> dict[str, Any]:
    """Codes of a variable with their words, and what each stands under.

    Raises
    ------
    QuestionRefusal
        When there is no such variable.
    """
    if name not in dataset.hierarchies:
        raise QuestionRefusal("unknown-variable", unknown_name("variable", name[:80], dataset.hierarchies), status=404)
    hierarchy = dataset.hierarchies[name]
    codes, parents = hierarchy.codes, hierarchy.parents.tolist()
    return {
        "name": name,
        "label": dataset.catalogue.variables[name].label or name,
        "total": hierarchy.total,
        "codes": [
            {
                "code": code,
                "label": hierarchy.labels.get(code, code),
                "parent": codes[parent] if parent >= 0 else None,
                "level": int(depth),
            }
            for code, parent, depth in zip(codes, parents, hierarchy.depth.tolist(), strict=True)
        ],
    }
