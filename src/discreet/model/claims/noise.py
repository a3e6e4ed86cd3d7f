"""What methods that draw noise may claim: that it was done as stated, never that it is safe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import counted
from discreet.model.claims.base import CONTRIBUTORS, EARLIER, INSECURE, NO_LEVELS, NOT_ADDITIVE, OTHER_UNIVERSES, Claim

NOISE_READER = "readers without the records and the key: nothing is claimed of what they can work out"
SINGLE_WEIGHTS = "what standard errors tell of the replicate weights of single records"
LEAVE_ONE_OUT = (
    "readers of further tables of the same records: where a cell is published with and without one record "
    "(leave-one-out), the difference tells of that record"
)
FIRST_VERSION = (
    "readers of the same cells under other versions of the record keys (this is the first): every version draws anew, "
    "and the mean of all comes near to the true value"
)
SEVERAL_VERSIONS = (
    "readers of the same cells under all {} versions of the record keys: the mean of them misses the true count by a "
    "standard error of {} only, and falls with every further version"
)
DRAWN = "that the draws were not looked at and repeated until they pleased"
ONE_WEIGHT = (
    "cells whose records all stand for the same: adjusting the weights to the number of records undoes their noise, "
    "and they are published as they are but for the calibration of all weights"
)
ONE_FACTOR = (
    "readers who know one variable of a company: all variables of a record have the same factor, so that they compute "
    "the others from cells of that company alone (factors='variable' draws them apart)"
)


def noise_claim(
    method: str, statement: str, *, additive: bool, universes: bool, insecure: bool, left_out: tuple[str, ...] = ()
) -> Claim:
    """The claim of a method that draws noise.

    Parameters
    ----------
    method
        Its name in recipes.
    statement
        What was done, as far as it can be checked.
    additive
        Whether published values add up.
    universes, insecure
        Whether there are tables of several universes; whether draws came from a seed.
    left_out
        What else is not considered.
    """
    not_considered = (
        *((OTHER_UNIVERSES,) if universes else ()),
        EARLIER,
        CONTRIBUTORS,
        NO_LEVELS,
        DRAWN,
        *(() if additive else (NOT_ADDITIVE,)),
        *left_out,
        *((INSECURE,) if insecure else ()),
    )
    return Claim(method, f"Done as stated: {statement}", (NOISE_READER,), not_considered)


def cell_key_statement(
    *,
    forbidden: int,
    largest: str,
    mean: str,
    variance: str,
    counts: bool,
    magnitudes: bool,
    additive: str | None,
    moved: str,
) -> str:
    """What cell keys may state.

    Parameters
    ----------
    forbidden
        How many small counts never occur as results.
    largest, mean, variance
        Largest change, largest distance of a mean from zero and largest variance of the noise table of counts.
    counts, magnitudes
        Whether there are tables of counts, and of magnitudes.
    additive
        How additivity was restored, if it was.
    moved
        How far values moved for that, at most and on average.
    """
    parts = []
    if counts:
        parts.append(
            "every count is changed by what the noise table has for its row and cell key (changes of at most "
            f"{largest}, means within {mean} of zero, variances of at most {variance})"
        )
    if magnitudes:
        parts.append("every magnitude is changed in proportion to its largest contributions, and keeps its sign")
    text = "; ".join([*parts, "empty cells stay empty"])
    if additive is not None:
        return f"{text}. Values were then moved until all relations add up ({additive}), {moved}."
    if forbidden and counts:
        text += f"; no count is published as 1 .. {forbidden}" if forbidden > 1 else "; no count is published as 1"
    return f"{text}."


def cell_key_left_out(version: int, variance: float) -> tuple[str, ...]:
    """What readers of several tables or versions can do; ``variance`` is the largest of the noise table of counts."""
    if version <= 1:
        return LEAVE_ONE_OUT, FIRST_VERSION
    return LEAVE_ONE_OUT, SEVERAL_VERSIONS.format(version, f"{(variance / version) ** 0.5:.2g}")


def small_count_statement(base: int, *, fixed: bool, facts: Mapping[str, Any]) -> str:
    """What small count rounding may state; ``fixed`` where earlier publications fixed inner cells."""
    text = (
        f"no count is published as {'1' if base == 2 else f'1 .. {base - 1}'}; every published count is the sum of its "
        f"inner cells, of which {facts['changed']} changed, all of them from below {base} to 0 or {base}"
    )
    if fixed:
        text += " or to what earlier publications fixed"
    return (
        f"{text}; all relations add up; counts changed by at most {facts['largest_deviation']}, "
        f"and the total by {facts['total_change']}."
    )


def multiplied_statement(a: float, b: float, p: float | None, facts: Mapping[str, Any]) -> str:
    """What multiplicative noise may state of factors in a zone, and of the extended p% rule where it is asked for."""
    text = (
        f"every record's own share was multiplied by a factor {a - 1:.6g} to {b - 1:.6g} away from 1 and its move "
        "rounded up to a whole unit, all records of a company in one direction: no value moved by more than the "
        "largest factor and a unit a record, and one of a single contributor by no less than the least factor of its "
        "own share, or to zero (values of several contributors may stand as they were); counts are unchanged; all "
        "relations add up"
    )
    if p is not None:
        text += (
            f"; {counted(facts['sensitive'], 'cell', 'are')} sensitive under the extended {p:g}% rule, "
            f"{facts['unprotected']} of "
            "them moved less than it asks for"
        )
    return f"{text}; {counted(facts['too_noisy'], 'cell', 'are')} flagged for too much noise."


def dropped_statement(
    rate: str, rounding: str, subsample: int | None, *, plain: bool, moved: int, coverage: float | None = None
) -> str:
    """What dropping and adding records may state.

    ``plain`` is for counts of records without weights, ``coverage`` that of confidence intervals, if any.
    """
    if subsample is not None:
        text = f"exactly {counted(subsample, 'record of the universe', 'were')} dropped"
    else:
        q = "rounded up" if rounding == "ceil" else "and the next whole number above"
        text = f"in every finest cell at most {rate} of its records, {q}, were dropped or doubled"
    text += f" ({moved} in all); all relations add up"
    if coverage is not None:
        text += f"; confidence intervals of {100 * coverage:g} % follow from the replicate weights"
    if plain:
        return f"{text}; every count is that of the records that are left."
    return f"{text}; weights were adjusted to the number of records and to the total of all weights."


def swapped_statement(area: str, within: str | None, counts: Mapping[str, int]) -> str:
    """What swapping may state."""
    where, whole = (f"the same {within}", f"a whole {within}") if within else ("any area", "all areas")
    return (
        f"{counts['moved']} of {counted(counts['households'], 'household')} exchanged their {area} with one of the "
        "same profile "
        f"in {where}, {counts['alone']} selected ones found no partner; cells that hold {whole} are unchanged; all "
        "relations add up."
    )


def redistributed_statement(
    threshold: int, facts: Mapping[str, Any], *, magnitudes: bool, record: Mapping[str, Any]
) -> str:
    """What a map without small places may state."""
    what = "contributors" if magnitudes else "units"
    text = (
        f"every occupied place holds at least {threshold} {what}; {facts['moved']} {what} moved "
        f"{counted(facts['steps'], 'step')} "
        "in all; places stay occupied"
    )
    kept = "the total is kept"
    if facts["outliers"]:
        text += f", but for {counted(facts['outliers'], 'outlier')}"
    if facts["outlier_steps"]:
        text += f", whose {what} moved {counted(facts['outlier_steps'], 'step')}"
    if magnitudes:
        rules = [f"{name} {record[name]}" for name in ("max_share", "dominance", "p") if record[name] is not None]
        text += f"; the rules hold in every place ({', '.join(rules) or 'the threshold'})"
    if facts["lost"]:
        kept += " but for the value" if magnitudes else f" but for {counted(facts['lost'], 'unit')}"
        kept += " of outliers"
    if record["areas"]:
        told = (
            "breaks a rule or comes, less the places shown, too close to what broke one"
            if magnitudes
            else "tells a place to be small, or that there are units where no place is shown"
        )
        kept += f"; of {counted(len(record['areas']), 'area')} with published true totals, no total {told}"
    return f"{text}; {kept}."
