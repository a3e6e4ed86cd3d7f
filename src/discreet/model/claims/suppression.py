"""What suppression claims."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import counted
from discreet.model.already import AlreadyPublished
from discreet.model.claims.base import CONTRIBUTORS, CYCLE, EARLIER, EXTERNAL, OTHER_UNIVERSES, Claim
from discreet.model.table import Table

EXTERNAL_WITHIN = "external: knows the publication, the relations and each cell to within {} % of its value"
INSIDERS = {
    "full": "insiders: every contributor, who knows its own contribution in every cell, finds every unsafe cell that "
    "it does not fill alone at its full level (downwards: all but its largest contributor)",
    "nonzero": "insiders: no contributor, who knows its own contribution in every cell, can work out an unsafe cell "
    "that it does not fill alone",
}
"""The attackers who are in the data, and what must stay hidden from them."""
TOGETHER = {
    "full": "coalitions: two contributors together, who put what they know into one, find every unsafe cell that they "
    "do not fill alone at its full level (downwards: all but its largest contributor with another, and two who leave "
    "no room for the level)",
    "nonzero": "coalitions: no two contributors together, who put what they know into one, can work out an unsafe cell "
    "that they do not fill alone",
}
"""The attackers who are two, and what must stay hidden from them."""
JOINT = (
    "adders: no sum of withheld cells of one table that the published ones give away, by one relation or with withheld "
    "totals resolved into their withheld parts, is itself unsafe under the rules"
)
"""The attackers who add up what is withheld."""
NOT_JOINT = (
    "sums of withheld cells that are known, behind which one contributor may stand (in tables where that is not judged)"
)
COALITIONS = "contributors who pool what they know"
LARGER_COALITIONS = "more than two contributors who pool what they know"
UNNAMED_PAIRS = (
    "what two contributors together know of a cell that names none of its contributors, or find out of one that has two"
)
UNNAMED = "that single contributors of different cells are the same, where the table does not name them"
UNCOUNTED = "contributors of tables that do not say how many contributors a cell has"
FURTHER = "anything else that was published before or elsewhere"
OTHER_VALUES = "that tables of different values are of the same contributors"
CYCLE_INSIDERS = "what contributors know of the table that others stand on, whose variables form a cycle"
FRACTIONS = "that values are whole numbers of their last decimal, where alternatives move them by fractions of it"
NOT_ZERO = "that a withheld count is not zero: empty cells are shown as empty"
STATEMENT = "Every unsafe cell keeps its protection level over the relations of all tables together."
STATEMENT_TOGETHER = (
    "Every unsafe cell, of these tables and of those published before, keeps its protection level over the relations "
    "of all tables and figures together."
)


def sums_are_judged(table: Table) -> bool:
    """Whether it is known who stands behind a sum of cells: contributors are named, with what the rules look at."""
    spec = table.spec
    other = spec.weight or spec.shadow is not None or spec.absolute or spec.value is None
    return table.holders is not None and not other


def judged_sums(tables: Sequence[Table], joint: bool) -> tuple[bool, bool]:
    """Whether sums of withheld cells are judged in some tables, and left out in some; counts have no such sums."""
    amounts = [table for table in tables if table.spec.value is not None]
    judged = [joint and sums_are_judged(table) for table in amounts]
    return any(judged), not all(judged)


def suppression_claim(
    insiders: str | None,
    known_within: float | None,
    *,
    universes: bool,
    unnamed: bool,
    uncounted: bool,
    accepted: int = 0,
    already: AlreadyPublished | None = None,
    coalitions: bool = False,
    unnamed_pairs: bool = False,
    sums: tuple[bool, bool] = (False, True),
    cycle: bool = False,
    counts: bool = False,
    fractions: bool = False,
    values: bool = False,
) -> Claim:
    """What suppression may claim.

    Parameters
    ----------
    insiders
        ``"full"``, ``"nonzero"`` or ``None``.
    known_within
        How well everybody knows each cell, in per cent of its value.
    universes
        Whether there are tables of several universes, periods or weights.
    unnamed
        Whether single contributors are known to be there, but not who they are.
    uncounted
        Whether some table does not even say how many contributors a cell has.
    accepted
        How many cells the officer accepts as they are.
    already
        What was published before or elsewhere, as far as it is considered.
    coalitions
        Whether two contributors together are among the attackers.
    unnamed_pairs
        Whether there are cells with several contributors of whom none is named.
    sums
        Whether sums of withheld cells are safe too in some tables, and whether they are left out in some.
    cycle
        Whether variables of some tables form a cycle without a table behind it.
    counts
        Whether there are tables of counts.
    fractions
        Whether certificates move values by fractions of their last decimal.
    values
        Whether there are tables of several values.
    """
    together = () if already is None else already.together_with()
    external = EXTERNAL if known_within is None else EXTERNAL_WITHIN.format(f"{known_within:g}")
    left_out = [OTHER_UNIVERSES] if universes else []
    left_out += [OTHER_VALUES] if values else []
    left_out += [CYCLE] if cycle else []
    left_out += [NOT_ZERO] if counts else []
    left_out += [FRACTIONS] if fractions else []
    left_out.append(FURTHER if together else EARLIER)
    left_out += [] if already is None else already.left_out()
    unseen = already is not None and any(earlier.unseen for earlier in already.tables)
    if insiders is not None and (cycle or unseen):
        left_out.append(CYCLE_INSIDERS)
    if insiders is None:
        left_out.append(CONTRIBUTORS)
    else:
        left_out.append(LARGER_COALITIONS if coalitions else COALITIONS)
        left_out += [UNNAMED_PAIRS] if coalitions and unnamed_pairs else []
        left_out += [UNNAMED] if unnamed else []
        left_out += [UNCOUNTED] if uncounted else []
    left_out += [NOT_JOINT] if sums[1] else []
    statement = STATEMENT_TOGETHER if together else STATEMENT
    if accepted:
        statement = f"{statement} {counted(accepted, 'cell', 'are')} accepted without that."
    attackers = [external]
    if insiders is not None:
        attackers += [INSIDERS[insiders], TOGETHER[insiders]] if coalitions else [INSIDERS[insiders]]
    attackers += [JOINT] if sums[0] else []
    return Claim("suppress", statement, tuple(attackers), tuple(left_out), together)
