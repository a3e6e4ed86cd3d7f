"""What a release claims, and the proof it carries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.model.already import AlreadyPublished
from discreet.model.arrays import Bools, Ints, Status
from discreet.model.table import Table


@dataclass(frozen=True)
class Claim:
    """What a method says of its result, in words that a verdict can repeat."""

    method: str
    statement: str
    attackers: tuple[str, ...] = ()
    not_considered: tuple[str, ...] = ()
    together_with: tuple[str, ...] = ()


EXTERNAL = "external: knows the publication, the relations and the bounds of each cell"
"""The attacker who is not in the data."""
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
CONTRIBUTORS = "contributors and holdings who know their own contributions"
COALITIONS = "contributors who pool what they know"
LARGER_COALITIONS = "more than two contributors who pool what they know"
UNNAMED_PAIRS = (
    "what two contributors together know of a cell that names none of its contributors, or find out of one that has two"
)
UNNAMED = "that single contributors of different cells are the same, where the table does not name them"
UNCOUNTED = "contributors of tables that do not say how many contributors a cell has"
EARLIER = "what was published before or elsewhere"
FURTHER = "anything else that was published before or elsewhere"
OTHER_UNIVERSES = "differences between tables of different universes, periods or weights"
OTHER_VALUES = "that tables of different values are of the same contributors"
CYCLE = "that tables whose variables form a cycle stand on one table by all of these variables without negative cells"
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


@dataclass(frozen=True, eq=False)
class Certificates:
    """Alternative tables: changes of withheld cells that nobody outside can rule out.

    Certificate ``c`` changes the cells ``entry_table[i], entry_row[i]`` by ``amount[i] / denominator[c]`` units
    for ``i`` in ``start[c] .. start[c + 1]``. Amounts are exact integers (Python integers where 64 bits do not
    suffice). Where ``both`` is set, the opposite changes are an alternative too.
    """

    start: Ints
    denominator: NDArray[Any]
    both: Bools
    entry_table: Ints
    entry_row: Ints
    amount: NDArray[Any]

    def __len__(self) -> int:
        return len(self.denominator)

    @classmethod
    def none(cls) -> Certificates:
        """No certificates."""
        empty = np.zeros(0, np.int64)
        return cls(np.zeros(1, np.int64), empty, np.zeros(0, np.bool_), empty, empty, empty)


READER = "reader: takes the published values for the true ones"
ROUNDING_READER = (
    "external: knows the publication, the relations, the bounds of each cell, and the base and rule of the rounding"
)
KNOWN_LEVELS = "readers who know the protection levels or how the moves were found"
LEFT = "readers who know what was left as it is ({}): it bounds what moved, and an audit tells how closely"
REPEATED = (
    "readers who repeat the method on every table that fits and keep those that give the same publication: without a "
    "secret draw they may be left with the true one alone"
)
LIKELY = "what the rounding's probabilities or its objective make more likely"
NOT_ADDITIVE = "that published sums differ from the sums of published values"
NO_LEVELS = "protection levels: cells may be known more closely than their level"
INSECURE = "that the draws came from a seed and not from a secret key"
MADE_INTERVALS = "what the way in which intervals are made tells beyond the intervals themselves"
HELD = (
    "Every published interval holds the true value and values without one are true; published values add up; every "
    "unsafe cell keeps its protection level over the relations of all tables together."
)
MOVED = (
    "Every unsafe cell is published at least its protection level away from its value; all relations add up; bounds, "
    "limits and fixed cells are kept."
)


def _left_out(universes: bool, *others: str) -> tuple[str, ...]:
    return (*((OTHER_UNIVERSES,) if universes else ()), EARLIER, CONTRIBUTORS, *(text for text in others if text))


def adjustment_claim(method: Mapping[str, Any], *, forced: bool, universes: bool, insecure: bool) -> Claim:
    """What adjustment may claim.

    Parameters
    ----------
    method
        The method as plain data: it says what was left as it is.
    forced
        Whether some cells are published by force.
    universes, insecure
        Whether there are tables of several universes; whether draws came from a seed.
    """
    kept = [*_left_as_it_is(method), *(["cells published by force"] if forced else [])]
    left = LEFT.format(", ".join(kept)) if kept else ""
    repeated = "" if method.get("randomised") else REPEATED
    left_out = _left_out(universes, KNOWN_LEVELS, repeated, left, INSECURE if insecure else "")
    return Claim("adjust", MOVED, (READER,), left_out)


def _left_as_it_is(method: Mapping[str, Any]) -> Iterator[str]:
    """What an adjustment does not change, in words."""
    if method.get("fixed") == "margins":
        yield "all sums"
    elif method.get("objective") in ("mdi", ("mdi",), ["mdi"]):
        yield "one-way margins"
    elif method.get("fixed") == "total":
        yield "grand totals"
    if method.get("zeros") != "movable":
        yield "zeros"
    if method.get("keep_mean"):
        yield "sums of some sets of cells"
    if method.get("limit") is not None:
        yield f"cells that are not unsafe, within {float(method['limit']):g} %"


def rounding_claim(
    base: str,
    *,
    additive: bool,
    reach: int,
    levels: bool,
    drawn: bool,
    secret: bool,
    universes: bool,
    insecure: bool,
    cycle: bool,
) -> Claim:
    """What rounding may claim.

    Parameters
    ----------
    base
        The base as text.
    additive
        Whether published values add up.
    reach
        How many steps of the base published values are away at most: each is nearer to its value than so many steps.
    levels
        Whether unsafe cells are shown to keep their levels.
    drawn
        Whether chance or an objective chose among the neighbouring multiples.
    secret
        Whether it was chance: then nobody can repeat it.
    universes, insecure
        Whether there are tables of several universes; whether draws came from a seed.
    cycle
        Whether variables of some tables form a cycle.
    """
    statement = f"Every value is a multiple of {base} and less than {reach} x {base} from the true one."
    if additive:
        statement += " All relations add up."
    if levels:
        statement += " Every unsafe cell keeps its protection level over the relations of all tables together."
    left_out = (
        "" if additive else NOT_ADDITIVE,
        "" if levels else NO_LEVELS,
        LIKELY if drawn else "",
        REPEATED if drawn and not secret else "",
        INSECURE if insecure else "",
        CYCLE if cycle and levels else "",
    )
    return Claim("round", statement, (ROUNDING_READER,), _left_out(universes, *left_out))


def intervals_claim(*, universes: bool, insecure: bool, cycle: bool) -> Claim:
    """What interval publication may claim; ``cycle`` says whether variables of some tables form one."""
    left_out = _left_out(universes, MADE_INTERVALS, INSECURE if insecure else "", CYCLE if cycle else "")
    return Claim("intervals", HELD, (EXTERNAL,), left_out)


Parts = Mapping[str, Mapping[str, Ints]]
"""Columns of whole numbers by name, in lists of equal length by name."""

UP, DOWN, MOVES = 0, 1, 2
"""What a certificate shows of a cell: the upper level, the lower level, that the cell can move at all."""


@dataclass(frozen=True, eq=False)
class Proofs:
    """For every unsafe cell the certificates that show its levels.

    Proof ``p`` is about the cell ``table[p], row[p]`` and takes certificate ``certificate[i]`` for what ``use[i]`` says
    (``UP``, ``DOWN``, ``MOVES``), for ``i`` in ``start[p] .. start[p + 1]``; a certificate that moves the cell the
    other way is taken with the opposite sign. Several certificates of one use are there for the insiders: whoever can
    rule out one of them must not be able to rule out all.
    """

    table: Ints
    row: Ints
    start: Ints
    certificate: Ints
    use: Status

    def __len__(self) -> int:
        return len(self.table)

    @classmethod
    def none(cls) -> Proofs:
        """No proofs."""
        empty = np.zeros(0, np.int64)
        return cls(empty, empty, np.zeros(1, np.int64), empty, np.zeros(0, np.int8))


@dataclass(frozen=True)
class Weighted:
    """A relation with a multiplier: a sum of one variable in the line of a cell, or an equation between variables.

    ``number`` is that of the grouping in the variable's hierarchy; without a ``variable``, that of the equation in the
    set, and the cell is one that stands in it.
    """

    table: str
    cell: tuple[str, ...]
    variable: str
    number: int
    times: Fraction


@dataclass(frozen=True)
class Impossible:
    """Why a cell cannot reach its level (``use``: ``UP`` or ``DOWN``), whatever is withheld besides.

    Relations times multipliers add up to an equation between changes of cells, in which what is known of the others
    leaves this cell less room than its level. ``insiders`` are the contributors for whom that holds, each as a cell
    (table, codes) and its place among the largest contributors there; without any, it holds for everybody.
    """

    use: int
    relations: tuple[Weighted, ...] = ()
    insiders: tuple[tuple[str, tuple[str, ...], int], ...] = ()


@dataclass(frozen=True)
class Acceptance:
    """An unsafe cell that is withheld without a proof of its level, and who answers for it.

    ``kind`` is what was found of it (``"impossible"``, ``"revealed"``, ``"undecided"``), and ``because`` the proof of
    that, where there is one.
    """

    table: str
    cell: tuple[str, ...]
    reason: str
    name: str
    kind: str = ""
    because: Impossible | None = None


@dataclass(frozen=True, eq=False)
class Evidence:
    """One method's claim with its proof.

    ``facts`` are numbers that the claim of a method that alters values rests on; the checker computes them anew.
    ``findings`` say in words what was found on the way; they are no part of the claim, and nobody re-checks them.
    ``parts`` are what the method needed besides the cells (cell keys, inner cells, altered sums): with them the work
    can be repeated and checked without the records.
    """

    method: Mapping[str, Any]
    claim: Claim
    decimals: int
    certificates: Certificates
    proofs: Proofs
    effort: Mapping[str, int] = field(default_factory=dict)
    accepted: Sequence[Acceptance] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    findings: Sequence[str] = ()
    parts: Parts = field(default_factory=dict)
