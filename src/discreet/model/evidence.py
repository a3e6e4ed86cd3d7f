"""The proof that a release carries for what it claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import Bools, Ints, Status
from discreet.model.claims.base import Claim


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
    """One method's claim with what shows it.

    Parameters
    ----------
    method
        The method as plain data.
    claim
        What it claims.
    decimals
        Values are in units of ``10 ** -decimals``.
    certificates, proofs
        Alternative tables, and which of them show the levels of which cells; none where a claim needs none.
    effort
        Counted work.
    accepted
        Unsafe cells that are withheld without a proof of their level.
    facts
        Numbers that the claim of a method that alters values rests on; the checker computes them anew.
    findings
        What was found on the way, in words; no part of the claim, and nobody re-checks them.
    parts
        What the method needed besides the cells (cell keys, inner cells, altered sums): with them the work can be
        repeated and checked without the records.
    """

    method: Mapping[str, Any]
    claim: Claim
    decimals: int = 0
    certificates: Certificates = field(default_factory=Certificates.none)
    proofs: Proofs = field(default_factory=Proofs.none)
    effort: Mapping[str, int] = field(default_factory=dict)
    accepted: Sequence[Acceptance] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    findings: Sequence[str] = ()
    parts: Parts = field(default_factory=dict)
