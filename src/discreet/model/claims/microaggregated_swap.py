"""What microaggregated swapping claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import counted, listed
from discreet.model.claims.base import INSECURE, Claim
from discreet.model.claims.noise import DRAWN

SOLVED = (
    "readers who try orders of the weights of a cell: of values on a grid that was not broken up, the true order may "
    "be the only one that fits, and gives every value away; dither and large cells hinder that, and nothing is proved"
)
GONE = "what the columns say together with each other and with anything but the cells: it is gone"
BEYOND = "that published values may lie beyond the smallest and the largest before, by up to the dither"
OTHER_CELLS = "readers of further releases of the same values with other cells or draws, which together tell more"


def microaggregated_swap_claim(facts: Mapping[str, Any]) -> Claim:
    """What microaggregated swapping claims.

    ``facts`` are the columns, the columns that make cells, the weight, and how many cells there are and how small.
    """
    by = f" of {', '.join(facts['by'])}" if facts["by"] else ""
    weighted = f"by {facts['weight']}" if facts["weight"] else "all records alike"
    dithered = " after dither" if any(facts["spans"]) else ""
    statement = (
        f"Done as stated: values of {listed(facts['columns'])} were laid end to end{dithered}, each as long as its "
        f"weight ({weighted}), and every record got the mean of a piece as long as its own weight, within "
        f"{counted(facts['cells'], 'cell')}{by} of at least {facts['smallest']} values. Weighted means of cells are "
        "exactly what they were before numbers were written as floating-point ones; empty fields and weights stayed, "
        "and nothing else changed."
    )
    beyond = (BEYOND,) if any(facts["spans"]) else ()
    insecure = (INSECURE,) if facts["insecure"] else ()
    return Claim("microaggregated_swap", statement, (), (DRAWN, SOLVED, GONE, *beyond, OTHER_CELLS, *insecure))
