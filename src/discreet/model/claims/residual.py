"""What masking of residuals claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import counted, listed
from discreet.model.claims.base import INSECURE, Claim
from discreet.model.claims.noise import DRAWN

GIVES_BACK = (
    "readers who know both stages: what the second adds back is near to what the first took away, and tells where the "
    "original was"
)
SIGNS = {
    "repair": "what the first stage took away (original minus masked) was masked by the second and added back",
    "reflect": "what the first stage added (masked minus original) was masked by the second and added again",
}
NOISE = {
    "gaussian": "normal noise with the covariance that the first stage took away",
    "local": "normal noise with mean and covariance of the residuals nearby",
}


def residual_claim(method: Mapping[str, Any], facts: Mapping[str, Any]) -> Claim:
    """What masking of residuals claims, from the method and its facts as plain data."""
    second = method["second"]
    done = NOISE[second] if isinstance(second, str) else str(second["method"])
    inner = [facts["first"]["claim"]["statement"]]
    inner += [] if isinstance(second, str) else [facts["second"]["claim"]["statement"]]
    left_out = list(facts["first"]["claim"]["not_considered"])
    left_out += [] if isinstance(second, str) else facts["second"]["claim"]["not_considered"]
    zeros = sum(facts["clipped"])
    clipped = f"{counted(zeros, 'value')} below zero became zero. " if zeros else ""
    statement = (
        f"Done as stated: {listed(facts['columns'])} went through two stages, {method['first']['method']} and {done}; "
        f"{SIGNS[method['sign']]}. "
        f"{clipped}By the nearest numbers, {facts['linked']:.2%} of the records are found again, at most "
        f"{method['most_linked']:.2%} wanted; {counted(facts['recreated'], 'record')} lie within a hundredth of a "
        f"standard deviation of where they were. First stage: {inner[0]}"
        f"{f' Second stage, of the residuals: {inner[1]}' if len(inner) > 1 else ''}"
    )
    known = [*([DRAWN] if facts["drawn"] else []), GIVES_BACK, *([INSECURE] if facts["insecure"] else [])]
    return Claim("mask_residual", statement, (), tuple(dict.fromkeys([*left_out, *known])))
