"""What added noise claims: that it was done as stated, and what it kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import counted, listed
from discreet.model.claims.base import EARLIER, INSECURE, Claim
from discreet.model.claims.noise import DRAWN, NOISE_READER

HOW = {
    "independent": "normal noise with {share} of the variance of each column was added to {columns}, each by itself",
    "correlated": "normal noise with {share} of the covariance of the columns was added to {columns}",
    "exact": "noise whose means are 0 and whose covariances are {share} of those of the columns was added to {columns}",
    "restricted": (
        "noise with {share} of the covariance of the columns, uncorrelated with them, was added to {columns}, and the "
        "sum shrunk to their old variance"
    ),
    "romm": (
        "records were mixed by random orthogonal matrices that keep means, so that {columns} moved by about {share} "
        "of their variance"
    ),
    "outliers": (
        "normal noise with at least {share} of the covariance of the columns was added to {columns} of {flagged}"
    ),
    "proportional": "normal noise was added to {columns}, whose variance is {share} of the square of each value",
    "latin_hypercube": (
        "ranks in {columns} got noise with {share} of the covariance of their normal scores, and each rank a value "
        "from its place in the column's own distribution"
    ),
}
"""What was done, by the way of doing it."""
FLAGS = {
    "distance": "whose robust Mahalanobis distance",
    "influence": "whose influence on the first two eigenvalues",
    "limits": "whose robust distance from the median of a column",
}
KEPT = {
    "exact": "the noise has the stated covariances",
    "restricted": "covariances are those of before",
    "romm": "covariances are those of before",
}
AVERAGED = (
    "readers of several releases of the same records with noise of the same size: the mean of all comes near to the "
    "true value, with four of them twice as near as with one"
)
SAME_DRAWS = (
    "readers of this release and of one of a part of the same records, or of more, under the same key and version: the "
    "draws are the same and the sizes of the noise differ, which tells what was there before"
)
KNOWN_SIZE = (
    "readers who know how large the noise is: they say within which limits a value lay, and find records whose values "
    "lie far from all others"
)
NOT_FLAGGED = (
    "records that do not lie far out: they stand as they are, and readers who work out which these are have their true "
    "values"
)
TURNED = (
    "readers who know some records and look for the matrix: relations between columns are all as they were, and "
    "pictures of them, too"
)
NEAR_REAL = (
    "that published values lie between two neighbouring true ones, and the least and the largest may be true ones"
)


def added_noise_claim(method: Mapping[str, Any], facts: Mapping[str, Any]) -> Claim:
    """What added noise claims, from the method as plain data.

    ``facts`` are the columns with their decimals, the strata, whether moments are kept, how many values stayed, were
    cut at zero, stayed zero or got out of the way of codes, how many records were flagged, and the effect on means and
    variances.
    """
    how = method["how"]
    flagged = (
        f"the {counted(facts['flagged'], 'record')} {FLAGS[method['flag']]} goes beyond what {method['beyond']:.2%} of "
        "normal records have, more the farther they lie out; all others stand as they are"
    )
    within = f" within {', '.join(facts['strata'])}" if facts["strata"] else ""
    done = HOW[how].format(share=f"{method['amount']:.6g}", columns=listed(facts["columns"]), flagged=flagged)
    by = " by the covariances of the records without a gap" if method["missing"] == "together" else ""
    words = [f"Done as stated{within}: {done}{by}."]
    if facts["moments"]:
        words.append(
            f"To the rounding of the values, {KEPT[how]}; sums are the nearest to those of before that the decimals "
            "write."
        )
    words += [*_changes(facts), f"Values have {_decimals(facts)}; gaps stayed, and nothing else changed."]
    left_out = {"outliers": (NOT_FLAGGED,), "romm": (TURNED,), "latin_hypercube": (NEAR_REAL,)}
    not_considered = (
        EARLIER,
        DRAWN,
        AVERAGED,
        *(() if how == "proportional" else (SAME_DRAWS,)),
        KNOWN_SIZE,
        *left_out.get(how, ()),
        *((INSECURE,) if facts["insecure"] else ()),
    )
    return Claim("add_noise", " ".join(words), (NOISE_READER,), not_considered)


def _changes(facts: Mapping[str, Any]) -> list[str]:
    """What it did to the columns, in sentences."""
    words = []
    for what, text in (
        ("cut", "Fell below zero and became zero"),
        ("zeros", "Were zero and stayed zero"),
        ("codes", 'Moved to the nearest one that does not stand for "unknown"'),
    ):
        if any(facts[what]):
            words.append(f"{text}: {counted(sum(facts[what]), 'value')}.")
    words.append(
        f"Means moved by at most {max(map(abs, facts['shifts'])):.2g} standard deviations, variances are "
        f"{min(facts['ratios']):.4g} to {max(facts['ratios']):.4g} times those of before, and "
        f"{counted(sum(facts['kept']), 'value')} stayed."
    )
    return words


def _decimals(facts: Mapping[str, Any]) -> str:
    found = sorted(set(facts["decimals"]))
    if len(found) == 1:
        return f"{counted(found[0], 'decimal')} in all records"
    return f"{found[0]} to {found[-1]} decimals, in all records of a column the same"
