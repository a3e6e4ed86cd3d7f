"""What blanking at random claims: that it was done as stated, never that it is safe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import counted
from discreet.model.claims.base import INSECURE, Claim
from discreet.model.claims.noise import DRAWN

GAPS_TELL = (
    "readers who see the gaps: an empty field says that a value probably lay in a tail, and what was not emptied in "
    "the same record may tell more of it"
)
SOME_STAY = (
    "values in the tails that were kept by chance: they are published, and the stated probabilities say how often"
)
LIMITS = (
    "readers of the published limits: they are quantiles of the file, rounded to a power of ten of at most a tenth of "
    "the jitter, and say how many values lie beyond them"
)
AVERAGED = "readers of another release of the same records with other noise, who take the mean of both"


def blanked_values_claim(method: Mapping[str, Any], facts: Mapping[str, Any]) -> Claim:
    """What blanking at random claims, from the method as plain data.

    ``facts`` are the columns, the limits and the variance of the noise as published, the number of records and of those
    that were blanked.
    """
    said = []
    for name, variance in facts["noise"].items():
        said.append(f"normal noise with the variance {variance:,.6g} was added to {name}")
    for name, ends in facts["kept"].items():
        low = [] if ends["low"] is None else [f"above {ends['low']:,.10g} (quantile {method['lower'][name]:g})"]
        high = [] if ends["high"] is None else [f"below {ends['high']:,.10g} (quantile {method['upper'][name]:g})"]
        said.append(
            f"{name} was kept {' and '.join(low + high)}, blurred with a standard deviation of {ends['jitter']:,g}"
        )
    gaps = (
        f"; in {facts['blanked']:,} of {counted(facts['rows'], 'record')} a draw fell beyond a limit, and "
        f"{', '.join(facts['columns'])} became empty{' together' if len(facts['columns']) > 1 else ''}"
        if facts["kept"]
        else ""
    )
    told = [*(["limits", "their blur"] if facts["kept"] else []), *(["the variance"] if facts["noise"] else [])]
    statement = (
        f"Done as stated: {'; '.join(said)}{gaps}. Empty fields stayed empty, and nothing else changed. Published for "
        f"analysts, who can correct for what was done: {', '.join(told)}."
    )
    left_out = [DRAWN]
    if facts["kept"]:
        left_out += [GAPS_TELL, SOME_STAY, LIMITS]
    if facts["noise"]:
        left_out.append(AVERAGED)
    return Claim("blank_values", statement, (), (*left_out, *((INSECURE,) if facts["insecure"] else ())))
