"""What post-randomisation claims: that it was done as stated, never that it is safe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import counted
from discreet.model.claims.base import INSECURE, Claim
from discreet.model.claims.noise import DRAWN

CHANCES = "readers who know the chances: most codes may still be the true ones, and the matrix says how likely"
TELLING = (
    "readers of the published matrix of {}: it was made of the counts of the codes, and the shares of the codes before "
    "can be worked out from it"
)


def pram_claim(method: Mapping[str, Any], facts: Mapping[str, Any]) -> Claim:
    """What post-randomisation claims, from the method as plain data.

    ``facts`` are the columns, how many codes of each changed, the number of records, the strata, and the matrices with
    counts of the moves.
    """
    numbers = dict(zip(facts["columns"], facts["changed"], strict=True))
    apart = {entry["column"] for entry in facts["matrices"] if entry["stratum"]}
    strata = f", apart for every {' and '.join(facts['within'])}"
    columns = [
        f"{name} ({_matrix(method, name)}{strata if name in apart else ''}; {number:,} changed)"
        for name, number in numbers.items()
    ]
    published = list(method["publish"])
    means = "; the expected counts of codes are those before" if method["invariant"] else ""
    empty = (
        "empty fields and codes for 'unknown' were drawn like all others"
        if method["missing"] == "category"
        else "empty fields and codes for 'unknown' stayed"
    )
    statement = (
        f"Done as stated: codes of {counted(facts['rows'], 'record')} were drawn anew, every record and column by "
        f"itself, with the chances of a transition matrix: {'; '.join(columns)}{means}; {empty}; nothing else "
        f"changed. {_told(published)}"
    )
    telling = [name for name in published if depends_on_counts(method, name)]
    left_out = (CHANCES, DRAWN, *((TELLING.format(", ".join(telling)),) if telling else ()))
    return Claim("pram", statement, (), (*left_out, *((INSECURE,) if facts["insecure"] else ())))


def pram_claim_before_tables(method: Mapping[str, Any], facts: Mapping[str, Any]) -> Claim:
    """The same where tables are made of the records: no matrix is published with them."""
    return pram_claim({**method, "publish": ()}, facts)


def depends_on_counts(method: Mapping[str, Any], name: str) -> bool:
    """Whether a matrix was made of the counts of the codes."""
    given = method["matrices"][name]
    return bool(method["invariant"]) or (isinstance(given, str) and "F(" in given.upper())


def _matrix(method: Mapping[str, Any], name: str) -> str:
    given = method["matrices"][name]
    first = given if isinstance(given, str) else f"a stated matrix of {counted(len(given), 'code')}"
    return f"{first} and back by the chances of Bayes" if method["invariant"] else first


def _told(published: list[str]) -> str:
    if not published:
        return "No matrix is published."
    return f"Published {'is the matrix' if len(published) == 1 else 'are the matrices'} of {', '.join(published)}."
