"""What values drawn from a regression claim (information preserving statistical obfuscation)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import counted, listed
from discreet.model.claims.base import EARLIER, INSECURE, Claim
from discreet.model.claims.noise import DRAWN, NOISE_READER

DONE = {
    "fit": "is what the regression on {given} says of it, without any scatter",
    "a": "was drawn at random around what the regression on {given} says of it, with the covariances of the residuals",
    "b": "is what the regression on {given} says of it, and a residual drawn at random that these explain nothing of",
    "c": (
        "is what the regression on {given} says of it, and a residual drawn at random that these explain nothing of; "
        "the drawn residuals have exactly the covariances of the old ones"
    ),
}
"""What was done, by the variant."""
KEPT = {
    "fit": "the coefficients of the regression are those of before",
    "b": "the coefficients of the regression are those of before",
    "c": (
        "the coefficients of the regression and the covariances of its residuals are those of before, and so are "
        "means, variances and covariances of all these columns"
    ),
}
"""What is as it was, by the variant."""
REGRESSION_READER = "readers who reckon values from {}: the release shows the regression, which explains up to {:.1%}"
NO_SCATTER = "readers who compare fitted values: records that agree in {} have the same"
NEARLY_FIXED = (
    "readers who know combinations of {} and look for records by them: what is left open of one combination has {:.2g} "
    "of the usual variance, so that the given columns nearly fix it"
)
FIXED = "readers who know combinations of {}: {} exactly from the given columns, and the release shows {}"
OTHER_SHAPES = (
    "whatever a regression does not say: curves, groups, zeros and the shapes of distributions are those of normal "
    "draws"
)
NEARLY = 1e-3
"""Smaller eigenvalues of the correlations of residuals, whose mean is 1, are told."""


def ipso_claim(method: Mapping[str, Any], facts: Mapping[str, Any]) -> Claim:
    """What draws from a regression claim, from the method as plain data.

    ``facts`` are the columns with their decimals, the strata, whether moments are kept, what was cut or moved aside or
    stayed by chance, the share explained, the least eigenvalue and how many combinations are fixed, and how far moments
    are off.
    """
    columns, given = listed(facts["columns"]), list(method["given"])
    on = listed(given) if given else "a constant"
    within = f" within {', '.join(facts['strata'])}" if facts["strata"] else ""
    words = [f"Done as stated{within}: every value of {columns} {DONE[method['variant']].format(given=on)}."]
    off = facts["off"]
    if facts["moments"]:
        words.append(
            f"To the rounding of the values, {KEPT[method['variant']]}: what the regression says moved by at most "
            f"{off[0]:.2g} standard deviations"
            + (
                f", covariances of residuals by at most {off[1]:.2g} of their size."
                if method["variant"] == "c"
                else "."
            )
        )
    else:
        words.append(
            f"What the regression says moved by at most {off[0]:.2g} standard deviations, covariances of residuals by "
            f"at most {off[1]:.2g} of their size."
        )
    words += [*_changes(facts), "Empty fields stayed, and nothing else changed."]
    return Claim("ipso", " ".join(words), (NOISE_READER,), tuple(_left_out(method, facts, columns, on)))


def _left_out(method: Mapping[str, Any], facts: Mapping[str, Any], columns: str, on: str) -> list[str]:
    found = [EARLIER, REGRESSION_READER.format(on, max(facts["explained"])), OTHER_SHAPES]
    found += [NO_SCATTER.format(on)] if method["variant"] == "fit" else [DRAWN]
    if facts["fixed"]:
        many = "one follows" if facts["fixed"] == 1 else f"{facts['fixed']} follow"
        found.append(FIXED.format(columns, many, "it" if facts["fixed"] == 1 else "them"))
    elif facts["least"] < NEARLY:
        found.append(NEARLY_FIXED.format(columns, facts["least"]))
    return [*found, *([INSECURE] if facts["insecure"] else [])]


def _changes(facts: Mapping[str, Any]) -> list[str]:
    """What happened to values besides, in sentences."""
    words = []
    if any(facts["cut"]):
        words.append(f"Fell below zero and became zero: {counted(sum(facts['cut']), 'value')}.")
    if any(facts["codes"]):
        words.append(
            f'Moved to the nearest one that does not stand for "unknown": {counted(sum(facts["codes"]), "value")}.'
        )
    words.append(f"By chance as before: {counted(sum(facts['kept']), 'value')}.")
    decimals = sorted(set(facts["decimals"]))
    few = counted(decimals[0], "decimal") if len(decimals) == 1 else f"{decimals[0]} to {decimals[-1]} decimals"
    words.append(f"Values have {few}, in all records of a column the same.")
    return words
