"""Compiled loops of decision-theoretic risk: entries that agree with records, and similar names."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel


@kernel("b1(i8, i8, i8[::1], i8[::1])")
def agrees(code: int, entry: int, starts: Any, agreeing: Any) -> bool:
    """Whether a code of an entry is among those that agree with a published code; they stand in rising order."""
    low, high = starts[code], starts[code + 1]
    while low < high:
        middle = (low + high) >> 1
        if agreeing[middle] < entry:
            low = middle + 1
        else:
            high = middle
    return low < starts[code + 1] and agreeing[low] == entry  # type: ignore[no-any-return]


@kernel(
    "void(i8[:,::1], i8[:,::1], i8[::1], f8[::1], f8, i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[::1],"
    " i8[::1], f8[::1])"
)
def agreeing_weight(
    rows: Any,
    entries: Any,
    person: Any,
    weight: Any,
    everybody: float,
    first_code: Any,
    starts: Any,
    agreeing: Any,
    reach: Any,
    first_list: Any,
    list_starts: Any,
    listed: Any,
    seen: Any,
    found: Any,
) -> None:
    """For every row the weight of the persons with an entry that agrees with it.

    Rows and entries hold numbers of codes, 0 where they are empty, which agrees with all. The codes of attribute ``a``
    begin at ``first_code[a]`` in ``starts`` and ``reach`` (how many entries agree with a code), its lists of entries by
    code at ``first_list[a]`` in ``list_starts``. ``person`` is empty where every entry is a person of its own; ``seen``
    says of each person in which row they were counted last, and begins with -1.
    """
    many = rows.shape[1]
    for row in range(rows.shape[0]):
        narrowest, fewest = -1, np.int64(0)
        for a in range(many):
            if rows[row, a] > 0 and (narrowest < 0 or reach[first_code[a] + rows[row, a]] < fewest):
                narrowest, fewest = a, reach[first_code[a] + rows[row, a]]
        if narrowest < 0:
            found[row] = everybody
            continue
        own = first_code[narrowest] + rows[row, narrowest]
        lists = first_list[narrowest]
        total = 0.0
        for place in range(starts[own] - 1, starts[own + 1]):
            code = agreeing[place] if place >= starts[own] else 0  # entries without a value come first
            for at in range(list_starts[lists + code], list_starts[lists + code + 1]):
                entry = listed[at]
                good = True
                for a in range(many):
                    asked, there = rows[row, a], entries[entry, a]
                    if a == narrowest or asked == 0 or there == 0:
                        continue
                    if not agrees(first_code[a] + asked, there, starts, agreeing):
                        good = False
                        break
                if not good:
                    continue
                if len(person) > 0:
                    if seen[person[entry]] == row:
                        continue
                    seen[person[entry]] = row
                total += weight[entry]
        found[row] = total


@kernel("f8(i4[::1], i4[::1], b1[::1], b1[::1])")
def jaro_similarity(first: Any, second: Any, taken: Any, used: Any) -> float:
    """How similar two texts are, from 0 to 1 (Jaro); ``taken`` and ``used`` have room for their letters."""
    n, m = len(first), len(second)
    if n == m:
        same = True
        for i in range(n):
            if first[i] != second[i]:
                same = False
                break
        if same:
            return 1.0
    if n == 0 or m == 0:
        return 0.0
    window = max(0, max(n, m) // 2 - 1)
    taken[:n] = False
    used[:m] = False
    matches = 0
    for i in range(n):
        for j in range(max(0, i - window), min(m, i + window + 1)):
            if not used[j] and first[i] == second[j]:
                taken[i], used[j] = True, True
                matches += 1
                break
    if matches == 0:
        return 0.0
    displaced, j = 0, 0
    for i in range(n):
        if taken[i]:
            while not used[j]:
                j += 1
            if first[i] != second[j]:
                displaced += 1
            j += 1
    swaps = displaced / 2.0
    return (matches / n + matches / m + (matches - swaps) / matches) / 3.0


@kernel("i8(i4[::1], i4[::1], i8[::1], f8, b1[::1], b1[::1], i8[::1])")
def similar_texts(text: Any, letters: Any, starts: Any, threshold: float, taken: Any, used: Any, found: Any) -> int:
    """List the texts that are similar to one; gives how many there are."""
    many = 0
    n = len(text)
    for other in range(len(starts) - 1):
        m = starts[other + 1] - starts[other]
        if n > 0 and m > 0 and (min(n, m) / max(n, m) + 2.0) / 3.0 < threshold:
            continue  # not even if every letter of the shorter one matched
        if jaro_similarity(text, letters[starts[other] : starts[other + 1]], taken, used) >= threshold:
            found[many] = other
            many += 1
    return many
