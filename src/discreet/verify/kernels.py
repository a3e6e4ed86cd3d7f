"""Loops of the checker over certificates and proofs.

They are compiled for 64-bit amounts. The same functions, interpreted, take Python integers where 64 bits may not
suffice, so that wide certificates are checked by the same text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.jit import kernel
from discreet.model.arrays import Bools, Codes, Ints, Status

TWICE, PUBLISHED, BOUND, WHOLE, TWIN, RELATION = range(6)
"""What can be wrong with a certificate."""
MOST = 20
"""So many cells or relations are named for each of them."""
EVERYBODY = -1
"""Stands for all insiders in lists of those who rule a certificate out."""


@kernel("i8(i8[:,::1], i8, i8, i8)")
def note(problems: Ints, count: int, kind: int, where: int) -> int:
    """Add a problem to the list, unless it stands there or there are enough of its kind."""
    alike = 0
    for i in range(count):
        if problems[i, 0] == kind:
            alike += 1
            if problems[i, 1] == where:
                return count
    if alike < MOST:
        problems[count, 0], problems[count, 1] = kind, where
        count += 1
    return count


_ENTRIES = "i8[::1], i8[::1], i8[::1], i8[::1]"
_ROWS = "b1[::1], i8[::1], i8[::1], i8[::1], i8[::1]"


@kernel(
    f"i8(i8, i8, {_ENTRIES}, b1[::1], {_ROWS}, i8[::1], i4[::1], b1[::1], i8[::1], i8[::1], i8[::1], "
    "i8[::1], i8[::1], i8[::1], i8[:,::1], i8)"
)
def check_certificates(
    begin: int,
    end: int,
    start: Ints,
    denominator: NDArray[Any],
    row: Ints,
    amount: NDArray[Any],
    both: Bools,
    hidden: Bools,
    step: Ints,
    rise: Ints,
    fall: Ints,
    twin: Ints,
    relation_start: Ints,
    relation: Codes,
    positive: Bools,
    stamp: Ints,
    at: NDArray[Any],
    sums: NDArray[Any],
    asked_start: Ints,
    asked_row: Ints,
    moved: NDArray[Any],
    problems: Ints,
    count: int,
) -> int:
    """Check certificates ``begin .. end``, and look up how far they move the cells that proofs ask of.

    A row may rise and fall by ``rise`` and ``fall``, where ``step`` is not 0 only by multiples of it; ``twin`` leads in
    a ring through the rows that mean the same.
    ``stamp``, ``at`` and ``sums`` are scratch space: the last certificate that changes a row, by how much, and the
    sums of the relations, which are left at zero.
    """
    for c in range(begin, end):
        d = denominator[c]
        for i in range(start[c], start[c + 1]):
            r, a = row[i], amount[i]
            if stamp[r] == c:
                count = note(problems, count, TWICE, r)
            stamp[r], at[r] = c, a
            if a != 0 and not hidden[r]:
                count = note(problems, count, PUBLISHED, r)
            down = a if d == 1 else a // d
            up = down if down * d == a else down + 1
            if up > rise[r] or -down > fall[r] or (both[c] and (-down > rise[r] or up > fall[r])):
                count = note(problems, count, BOUND, r)
            if step[r] > 0 and (up != down or down % step[r] != 0):
                count = note(problems, count, WHOLE, r)
            for j in range(relation_start[r], relation_start[r + 1]):
                if positive[j]:
                    sums[relation[j]] += a
                else:
                    sums[relation[j]] -= a
        for i in range(start[c], start[c + 1]):
            r = row[i]
            if stamp[twin[r]] != c or at[twin[r]] != at[r]:
                count = note(problems, count, TWIN, r)
            for j in range(relation_start[r], relation_start[r + 1]):
                if sums[relation[j]] != 0:
                    count = note(problems, count, RELATION, relation[j])
                    sums[relation[j]] = 0
        for i in range(asked_start[c], asked_start[c + 1]):
            moved[i] = at[asked_row[i]] if stamp[asked_row[i]] == c else 0
    return count


@kernel("i8[:,::1](i8[:,::1], i8, i8, i8)")
def append(pairs: Ints, count: int, who: int, cell: int) -> Ints:
    """Put a pair behind others, in twice the space where it is used up."""
    if count == len(pairs):
        larger = np.empty((2 * count, 2), np.int64)
        larger[:count] = pairs
        pairs = larger
    pairs[count, 0], pairs[count, 1] = who, cell
    return pairs


@kernel(
    f"Tuple((i8[:,::1], i8))({_ENTRIES}, b1[:,::1], b1, b1[::1], i8[::1], i8[::1], i4[:,::1], i8[:,::1], i8[::1], "
    "i8[:,:,::1], i8[:,::1], i8)"
)
def rule_out(
    start: Ints,
    denominator: NDArray[Any],
    row: Ints,
    amount: NDArray[Any],
    wanted: Bools,
    full: bool,
    whole: Bools,
    cell: Ints,
    sole: Ints,
    holder: Codes,
    left: Ints,
    general: Ints,
    found: Ints,
    pairs: Ints,
    count: int,
) -> tuple[Ints, int]:
    """Who rules certificates out, as they stand and with the opposite sign, where that is ``wanted``.

    Lists of (insider, cell) are put behind ``pairs`` and ``found`` says where each begins and ends. The cell is given
    where the pair does not count against a proof about that cell: a smaller move the same way would do there.

    A cell can fall by ``left`` before each of its listed holders sees it, and by ``general`` before somebody who is
    not listed might.
    """
    for c in range(len(start) - 1):
        if not (wanted[c, 0] or wanted[c, 1]):
            continue
        d = denominator[c]
        rigid = False
        for i in range(start[c], start[c + 1]):
            rigid |= whole[row[i]] and amount[i] != 0
        for opposite in range(2):
            if not wanted[c, opposite]:
                continue
            found[c, opposite, 0] = count
            for i in range(start[c], start[c + 1]):
                r, falls = row[i], amount[i] if opposite else -amount[i]
                if falls == 0:
                    continue
                if sole[r] >= 0:
                    pairs = append(pairs, count, sole[r], -1)
                    count += 1
                    continue
                if falls < 0:
                    continue
                # Where a small move suffices, only those rule it out for whom the cell cannot fall at all.
                falls = -(-falls // d) if full or rigid else 1
                spared = cell[r] if full and not rigid else -1
                if falls > general[r]:
                    pairs = append(pairs, count, EVERYBODY, spared)
                    count += 1
                for k in range(holder.shape[1]):
                    if holder[r, k] >= 0 and falls > left[r, k]:
                        pairs = append(pairs, count, holder[r, k], spared)
                        count += 1
            found[c, opposite, 1] = count
    return pairs, count


@kernel(
    "void(i8, i8[::1], i8[::1], i1[::1], b1[::1], b1[::1], i8[::1], i8[::1], i8[::1], i4[:,::1], i8[:,::1], i8[::1], "
    "i8[::1], i8[:,:,::1], i8[:,::1], i4[::1], b1[::1])"
)
def check_families(
    use: int,
    start: Ints,
    certificate: Ints,
    uses: Status,
    opposite: Bools,
    needed: Bools,
    target: Ints,
    cell: Ints,
    sole: Ints,
    holder: Codes,
    left: Ints,
    largest: Ints,
    least: Ints,
    found: Ints,
    pairs: Ints,
    seen: Codes,
    bad: Bools,
) -> None:
    """Mark proofs all of whose certificates of one use (any use, where it is -1) some insider rules out.

    The only contributor of a cell is no attacker of it, nor is the ``largest`` one of a proof, nor a listed holder for
    whom the cell can fall by less than ``least``. ``seen`` is scratch space: how many of a proof's certificates an
    insider rules out, zero at the end.
    """
    for p in range(len(target)):
        if not needed[p]:
            continue
        own, counting = cell[target[p]], 0
        for once in range(2):  # the second time clears up
            for i in range(start[p], start[p + 1]):
                if use >= 0 and uses[i] != use:
                    continue
                c, s = certificate[i], 1 if opposite[i] else 0
                everybody = False
                for j in range(found[c, s, 0], found[c, s, 1]):
                    everybody |= pairs[j, 0] == EVERYBODY and pairs[j, 1] != own
                if everybody:
                    continue
                for j in range(found[c, s, 0], found[c, s, 1]):
                    who = pairs[j, 0]
                    if who == EVERYBODY or pairs[j, 1] == own:
                        continue
                    if once == 0 and seen[who] == counting:
                        seen[who] += 1
                    elif once == 1 and seen[who] > 0:
                        if seen[who] == counting and who != sole[target[p]]:
                            spared = who == largest[p]
                            for k in range(holder.shape[1]):
                                spared |= holder[target[p], k] == who and left[target[p], k] < least[p]
                            bad[p] |= not spared
                        seen[who] = 0
                if once == 0:
                    counting += 1
        bad[p] |= counting == 0
