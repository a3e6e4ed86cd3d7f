"""Fused loops over records.

Each cell's distinct contributors and largest contributions are found from (cell, contributor) sums at every level.
Lists of finer cells are merged for one kind of contributor only: those whose records all lie in one finest cell.
They have the same sum in every cell above it, and no two finest cells share them.
"""

from __future__ import annotations

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Bools, Codes, Floats, Ints, Status
from discreet.model.table import HOLDERS

READ_ONLY = "Array({}, 1, 'C', True)"
"""Columns of Arrow tables are read where they lie and must not be written to."""


_CODES = f"{READ_ONLY.format('i4')}, i4[::1], i8"


@kernel(f"void({_CODES}, {_CODES}, {_CODES}, b1, i8[::1])")
def add_codes(
    indices: Codes,
    positions: Codes,
    stride: int,
    second_indices: Codes,
    second_positions: Codes,
    second_stride: int,
    third_indices: Codes,
    third_positions: Codes,
    third_stride: int,
    first: bool,
    cells: Ints,
) -> None:
    """Number the finest cells of records, three variables at a time: codes come as indices into a dictionary."""
    for i in range(len(indices)):
        cell = np.int64(positions[np.uint32(indices[i])]) * stride
        cell += np.int64(second_positions[np.uint32(second_indices[i])]) * second_stride
        cell += np.int64(third_positions[np.uint32(third_indices[i])]) * third_stride
        cells[i] = cell if first else cells[i] + cell


@kernel(f"b1({READ_ONLY.format('f8')}, i8, i8[::1])")
def fractions_to_units(fractions: Floats, modulus: int, units: Ints) -> bool:
    """Fractions in [0, 1) as whole numbers below the modulus; says whether all of them are such fractions."""
    good = True
    for i in range(len(fractions)):
        fraction = fractions[i]
        good &= 0.0 <= fraction < 1.0
        unit = np.int64(np.rint(fraction * modulus))
        units[i] = 0 if unit == modulus else unit
    return good


@kernel("void(i8[::1], i8[:,::1], i8[::1], i8, i8[:,::1])")
def accumulate(cells: Ints, columns: Ints, record_key: Ints, modulus: int, sums: Ints) -> None:
    """Count records and sum record keys and columns; one row of ``sums`` is one cell, so that it is fetched once."""
    keyed = np.uint64(len(record_key) > 0)
    one, width = np.uint64(1), np.uint64(columns.shape[0])
    for i in range(len(cells)):
        cell = np.uint64(cells[i])
        sums[cell, np.uint64(0)] += 1
        if keyed:
            # Subtracts the modulus where the sum has reached it; a branch would be guessed wrong half of the time.
            key = sums[cell, one] + record_key[i] - modulus
            sums[cell, one] = key + (modulus & (key >> 63))
        for c in range(width):
            sums[cell, one + keyed + c] += columns[c, i]


@kernel("Tuple((i8[::1], i8[:,::1]))(i8[:,::1])")
def occupied(sums: Ints) -> tuple[Ints, Ints]:
    """Cells that have records, and their sums, one row per column."""
    used = 0
    for cell in range(len(sums)):
        used += sums[cell, 0] > 0
    keys = np.empty(used, np.int64)
    columns = np.empty((sums.shape[1], used), np.int64)
    at = 0
    for cell in range(len(sums)):
        if sums[cell, 0] > 0:
            keys[at] = cell
            for c in range(sums.shape[1]):
                columns[c, at] = sums[cell, c]
            at += 1
    return keys, columns


@kernel("i4[:,::1](i8[::1], i8[::1])")
def codes_of_keys(keys: Ints, shape: Ints) -> Codes:
    """Codes of cells from their keys."""
    codes = np.empty((len(keys), len(shape)), np.int32)
    for i in range(len(keys)):
        rest = np.uint64(keys[i])
        for k in range(len(shape) - 1, 0, -1):
            above = rest // np.uint64(shape[k])
            codes[i, k] = np.int32(rest - above * np.uint64(shape[k]))
            rest = above
        codes[i, 0] = np.int32(rest)
    return codes


@kernel("i8[:,::1](i8[::1], i8, i8)")
def largest_of_ones(total: Ints, unit: int, top: int) -> Ints:
    """The largest contributions of cells to which everybody contributes one unit."""
    largest = np.empty((len(total), top), np.int64)
    for i in range(len(total)):
        for place in range(top):
            largest[i, place] = min(max(total[i] - unit * place, 0), unit)
    return largest


_SUMS = "i8[::1], i8[::1], i8[:,::1], i8[::1]"


@kernel(f"void(i8[::1], i4[::1], i4[::1], {_SUMS}, i8, {_SUMS})")
def roll_up(
    start: Ints,
    above: Codes,
    sign: Codes,
    count: Ints,
    nonzero: Ints,
    sums: Ints,
    key_sum: Ints,
    modulus: int,
    count_up: Ints,
    nonzero_up: Ints,
    sums_up: Ints,
    key_up: Ints,
) -> None:
    """Add finest cells up into all cells that contain them; records are counted where they are subtracted, too."""
    for leaf in range(len(count)):
        for at in range(start[leaf], start[leaf + 1]):
            cell = above[at]
            count_up[cell] += count[leaf]
            if len(nonzero):
                nonzero_up[cell] += nonzero[leaf]
            for c in range(sums.shape[0]):
                sums_up[c, cell] += sign[at] * sums[c, leaf]
            if len(key_sum):
                key = key_up[cell] + key_sum[leaf]
                key_up[cell] = key - modulus if modulus and key >= modulus else key


@kernel("Tuple((i8[::1], i8[::1]))(i8[::1], i8)")
def by_contributor(contributor: Ints, contributors: int) -> tuple[Ints, Ints]:
    """Records ordered by contributor: (start of each contributor, record numbers)."""
    start = np.zeros(contributors + 1, np.int64)
    for c in contributor:
        start[c + 1] += 1
    for c in range(contributors):
        start[c + 1] += start[c]
    place = start[:-1].copy()
    order = np.empty(len(contributor), np.int64)
    for i in range(len(contributor)):
        order[place[contributor[i]]] = i
        place[contributor[i]] += 1
    return start, order


COUNT, NONZERO, TOTAL, OWN, NEGATIVE, UNWAIVED, REQUESTED, TOP = 0, 1, 2, 3, 4, 5, 6, 8
"""Columns of what is known of a cell's contributors: how many, how many of them change the cell's value, what they have
together with weights and without, whether one is negative, the largest without consent, the largest with request 1 and
with request 2, the largest; then, with weights, the weighted amounts of those."""


@kernel("void(i8[:,::1], i8, i8, i8, i8)")
def _insert(known: Ints, cell: int, kept: int, amount: int, weighted: int) -> None:
    """Put one contribution into a cell's list of the largest.

    Which of several equal contributions the list leaves out is nothing: :func:`replicate` goes on with their amount.
    """
    row = known[cell]
    with_weights = len(row) > TOP + kept
    last = TOP + kept - 1
    if amount <= row[last]:
        return
    at = last
    while at > TOP and row[at - 1] < amount:
        row[at] = row[at - 1]
        if with_weights:
            row[at + kept] = row[at - 1 + kept]
        at -= 1
    row[at] = amount
    if with_weights:
        row[at + kept] = weighted


@kernel("void(i8[:,::1], i8, i8, i8, i8, i8, b1, i8, b1)")
def _enter(
    known: Ints, cell: int, kept: int, amount: int, weighted: int, adds: int, consents: bool, asked: int, absolute: bool
) -> None:
    """Enter one contributor's sum into a cell; ``asked`` has bit 0 for request 1 and bit 1 for request 2.

    ``adds`` is what it adds to the cell's value, which is not what the rules look at where there is a shadow variable.
    """
    if amount < 0:
        known[cell, NEGATIVE] = 1
    if absolute:
        amount, weighted = abs(amount), abs(weighted)
    known[cell, COUNT] += 1
    known[cell, NONZERO] += adds != 0
    known[cell, TOTAL] += weighted if known.shape[1] > TOP + kept else amount
    known[cell, OWN] += amount
    _insert(known, cell, kept, amount, weighted)
    # Zero at least: -1 would say that nobody is there who withholds consent or asks for protection.
    if not consents:
        known[cell, UNWAIVED] = max(known[cell, UNWAIVED], amount, 0)
    for request in range(2):
        if asked >> request & 1:
            known[cell, REQUESTED + request] = max(known[cell, REQUESTED + request], amount, 0)


@kernel("void(i8[:,::1], i8, i8, i8)")
def _hold(held: Ints, cell: int, identity: int, amount: int) -> None:
    """Put one contributor into a cell's list of the largest by absolute amount; of equals the smaller identity first.

    Its row has the identities first, then the amounts. It does not depend on the order in which contributors come.
    """
    row = held[cell]
    size = abs(amount)
    at = HOLDERS
    while at > 0:
        other, its_size = row[at - 1], abs(row[HOLDERS + at - 1])
        if other >= 0 and (its_size > size or (its_size == size and other < identity)):
            break
        if at < HOLDERS:
            row[at], row[HOLDERS + at] = other, row[HOLDERS + at - 1]
        at -= 1
    if at < HOLDERS:
        row[at], row[HOLDERS + at] = identity, amount


_RECORDS = "i4[::1], i8[::1], i8[::1], b1[::1], i1[::1], i8[::1], i8[::1]"


@kernel(f"void({_RECORDS}, b1, i8, i8[:,::1], i8[:,::1])")
def contributions_in_finest(
    leaf: Codes,
    amount: Ints,
    weighted_amount: Ints,
    waived: Bools,
    request: Status,
    value: Ints,
    identity: Ints,
    absolute: bool,
    kept: int,
    known: Ints,
    held: Ints,
) -> None:
    """Every record is a contributor of its own: enter it into its finest cell."""
    for i in range(len(leaf)):
        weighted = weighted_amount[i] if len(weighted_amount) else 0
        consents = waived[i] if len(waived) else True
        asked = request[i] if len(request) else 0
        adds = value[i] if len(value) else amount[i]
        _enter(known, leaf[i], kept, amount[i], weighted, adds, consents, asked, absolute)
        if len(identity):
            _hold(held, leaf[i], identity[i], value[i])


_ABOVE, _CELLS = "i8[::1], i4[::1], i4[::1]", "i8[:,::1], i8[:,::1]"


@kernel(f"i8(i8, i8, i8, i8, {_ABOVE}, i8[:,::1], b1[::1], i8[::1], i8)")
def _add_upwards(
    leaf: int,
    amount: int,
    weighted: int,
    value: int,
    up_start: Ints,
    above: Codes,
    sign: Codes,
    sums: Ints,
    seen: Bools,
    touched: Ints,
    n: int,
) -> int:
    """Add a record to the sums of all cells above it; how many cells were touched so far."""
    for u in range(up_start[leaf], up_start[leaf + 1]):
        cell = above[u]
        if not seen[cell]:
            seen[cell] = True
            touched[n] = cell
            n += 1
        sums[cell, 0] += sign[u] * amount
        sums[cell, 1] += sign[u] * weighted
        sums[cell, 2] += sign[u] * value
    return n


@kernel(f"void(i8[::1], i8[::1], {_RECORDS}, {_ABOVE}, b1, b1, i8, {_CELLS}, {_CELLS})")
def contributions(
    start: Ints,
    order: Ints,
    leaf: Codes,
    amount: Ints,
    weighted_amount: Ints,
    waived: Bools,
    request: Status,
    value: Ints,
    identity: Ints,
    up_start: Ints,
    above: Codes,
    sign: Codes,
    absolute: bool,
    merge: bool,
    kept: int,
    known_finest: Ints,
    known: Ints,
    held_finest: Ints,
    held: Ints,
) -> None:
    """Contributor by contributor: sum the records per cell at every level, then enter the sums into the cells.

    With ``merge``, contributors within one finest cell are entered there, to be merged upwards in the end. With
    ``absolute``, what counts is the absolute value of a contributor's sum, not the sum of absolute records.
    """
    cells = len(known)
    sums = np.zeros((cells, 3), np.int64)
    seen = np.zeros(cells, np.bool_)
    touched = np.empty(cells, np.int64)
    for c in range(len(start) - 1):
        if start[c] == start[c + 1]:
            continue
        consents, asked, alone, first = True, 0, merge, leaf[order[start[c]]]
        total, total_weighted, total_value = 0, 0, 0
        for at in range(start[c], start[c + 1]):
            record = order[at]
            consents &= waived[record] if len(waived) else True
            asked |= request[record] if len(request) else 0
            alone &= leaf[record] == first
            total += amount[record]
            total_weighted += weighted_amount[record] if len(weighted_amount) else 0
            total_value += value[record] if len(value) else 0
        if alone:
            adds = total_value if len(value) else total_weighted if len(weighted_amount) else total
            _enter(known_finest, first, kept, total, total_weighted, adds, consents, asked, absolute)
            if len(identity):
                _hold(held_finest, first, identity[c], total_value)
            continue
        n = 0
        for at in range(start[c], start[c + 1]):
            record = order[at]
            weighted = weighted_amount[record] if len(weighted_amount) else 0
            adds = value[record] if len(value) else 0
            n = _add_upwards(
                leaf[record], amount[record], weighted, adds, up_start, above, sign, sums, seen, touched, n
            )
        for t in range(n):
            cell = touched[t]
            adds = sums[cell, 2] if len(value) else sums[cell, 1] if len(weighted_amount) else sums[cell, 0]
            _enter(known, cell, kept, sums[cell, 0], sums[cell, 1], adds, consents, asked, absolute)
            if len(identity):
                _hold(held, cell, identity[c], sums[cell, 2])
            sums[cell] = 0
            seen[cell] = False


@kernel(f"void(i8[::1], i4[::1], i8, {_CELLS}, {_CELLS})")
def merge_up(
    up_start: Ints, above: Codes, kept: int, known_finest: Ints, known: Ints, held_finest: Ints, held: Ints
) -> None:
    """Enter what finest cells know of contributors that no other finest cell has into the cells above."""
    with_weights = known.shape[1] > TOP + kept
    for leaf in range(len(known_finest)):
        if known_finest[leaf, COUNT] == 0:
            continue
        for at in range(up_start[leaf], up_start[leaf + 1]):
            cell = above[at]
            for column in range(NEGATIVE):
                known[cell, column] += known_finest[leaf, column]
            for column in range(NEGATIVE, TOP):
                known[cell, column] = max(known[cell, column], known_finest[leaf, column])
            for i in range(TOP, TOP + kept):
                if known_finest[leaf, i] <= 0:
                    break
                _insert(known, cell, kept, known_finest[leaf, i], known_finest[leaf, i + kept] if with_weights else 0)
            for i in range(HOLDERS if len(held) else 0):
                if held_finest[leaf, i] < 0:
                    break
                _hold(held, cell, held_finest[leaf, i], held_finest[leaf, i + HOLDERS])


@kernel("void(i8[:,::1], i8, i8[:,::1])")
def replicate(known: Ints, kept: int, replicated: Ints) -> None:
    """Largest contributions of the population: a contribution of weight w counts w times, the last one partly.

    Where weights far below one use up the list before all places are filled, the smallest contribution of the list
    stands for those that it left out: none of them is larger.
    """
    cells, length = replicated.shape
    for cell in range(cells):
        filled = 0.0
        share = np.zeros(length, np.float64)
        for i in range(kept):
            amount = known[cell, TOP + i]
            if amount <= 0:
                break
            left = known[cell, TOP + kept + i] / amount
            if i == kept - 1 and known[cell, COUNT] > kept:
                left = max(left, length - filled)
            while left > 1e-12 and filled < length - 1e-12:
                place = int(filled + 1e-12)
                part = min(left, place + 1 - filled)
                if part == 1.0:
                    replicated[cell, place] = amount
                else:
                    share[place] += part * amount
                filled += part
                left -= part
        for i in range(length):
            replicated[cell, i] += int(np.rint(share[i]))
