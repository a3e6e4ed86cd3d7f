"""What a limit of time or effort cost, in words, so that nobody takes what was cut short for the best there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import counted


def limit_notes(method: Any, effort: Mapping[str, int]) -> list[str]:
    """Sentences about a limit that was reached, and about an optimum that was not proved.

    Parameters
    ----------
    method
        The method, with its limits.
    effort
        What it counted of its work.

    Examples
    --------
    >>> import discreet as ds
    >>> limit_notes(ds.Suppress(), {"linear_programs": 12})
    []
    """
    notes = []
    if "limit_struck_at" in effort:
        notes.append(f"{_which(method)}{_how_far(effort)}. {_cost(method, effort)} {_how_to_go_on(method)}")
    if effort.get("proven") == 0:
        notes.append(_not_proved(method, effort))
    return notes


def _which(method: Any) -> str:
    seconds, effort = getattr(method, "time_limit", None), getattr(method, "effort", None)
    if seconds is not None:
        return f"The time limit of {seconds:g} s was reached"
    if isinstance(effort, str):
        return "The work was stopped on request"
    return f"The limit of effort ({effort or 0:,}) was reached"


def _how_far(effort: Mapping[str, int]) -> str:
    done, whole = effort.get("limit_struck_cells"), effort.get("limit_struck_of")
    if done is None or whole is None:
        return ""
    if done < whole:
        return f" when {done:,} of {counted(whole, 'unsafe cell')} had been protected with care"
    return " while cells were being looked for that could be published after all"


def _cost(method: Any, effort: Mapping[str, int]) -> str:
    if method.kind != "suppress":
        return "All that is claimed holds, but values may be changed more than needed."
    if effort.get("limit_struck_cells", 0) < effort.get("limit_struck_of", 0):
        return (
            "The others took the first cells that would do. All that is claimed holds, but more cells are probably "
            "withheld than needed."
        )
    return "All that is claimed holds, but more cells may be withheld than needed."


def _how_to_go_on(method: Any) -> str:
    if getattr(method, "time_limit", None) is None and isinstance(getattr(method, "effort", None), str):
        return "To go on, protect again."
    name = "time_limit" if getattr(method, "time_limit", None) is not None else "effort"
    return f"To go on, raise {name} or leave it out, and protect again."


def _not_proved(method: Any, effort: Mapping[str, int]) -> str:
    cost, least = effort.get("cost", 0), effort.get("least_cost", 0)
    gap = f"at most {100 * (cost - least) / cost:.1f} % more than" if 0 < least <= cost else "more than"
    raise_ = " To go on, raise time_limit." if getattr(method, "time_limit", None) is not None else ""
    return f"The optimum was not proved: what is withheld may cost {gap} the cheapest pattern does.{raise_}"
