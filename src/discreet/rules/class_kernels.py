"""Compiled loops over classes: what the sensitive values of each say.

A *class* is all records that agree in their keys. Its values stand in ``value[start[c] : start[c + 1]]``, each once,
with the number of records in ``count``. Value 0 is an empty field.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel


@kernel("void(i8[::1], i8[::1], b1[::1], f8[::1])")
def distinct_values(start: Any, value: Any, known: Any, found: Any) -> None:
    """How many known values each class has."""
    for c in range(len(start) - 1):
        many = 0
        for at in range(start[c], start[c + 1]):
            if known[value[at]]:
                many += 1
        found[c] = many


@kernel("void(i8[::1], i8[::1], i8[::1], b1[::1], f8[::1])")
def effective_values(start: Any, value: Any, count: Any, known: Any, found: Any) -> None:
    """The exponential of the entropy of each class, with or without values that are not known: the lesser of both."""
    for c in range(len(start) - 1):
        records, inner, all_records, all_inner = 0.0, 0.0, 0.0, 0.0
        for at in range(start[c], start[c + 1]):
            n = float(count[at])
            all_records += n
            all_inner += n * np.log(n)
            if known[value[at]]:
                records += n
                inner += n * np.log(n)
        if records == 0.0:
            found[c] = 0.0
        else:
            one = np.log(records) - inner / records
            other = np.log(all_records) - all_inner / all_records
            found[c] = np.exp(min(one, other))


@kernel("void(i8[::1], i8[::1], i8[::1], b1[::1], i8, f8[::1])")
def dominance(start: Any, value: Any, count: Any, known: Any, least: int, found: Any) -> None:
    """The commonest value against all from the ``least``-th commonest on, with or without values that are not known:
    the greater of both; infinite where there are fewer values."""
    for c in range(len(start) - 1):
        found[c] = 0.0
        for only_known in range(2):
            size = 0
            for at in range(start[c], start[c + 1]):
                if not only_known or known[value[at]]:
                    size += 1
            if size < least:
                found[c] = np.inf
                continue
            counts = np.empty(size, np.int64)
            place = 0
            for at in range(start[c], start[c + 1]):
                if not only_known or known[value[at]]:
                    counts[place] = count[at]
                    place += 1
            counts = counts[np.argsort(counts, kind="mergesort")]
            tail = 0
            for i in range(size - least + 1):
                tail += counts[i]
            found[c] = max(found[c], counts[size - 1] / tail)


@kernel("void(i8[::1], i8[::1], i8[::1], f8[::1], i8[::1], f8[::1], f8[::1])")
def moved_earth(start: Any, value: Any, count: Any, share: Any, parent: Any, length: Any, found: Any) -> None:
    """How far the values of each class are from those of all records: mass moved times way, along a tree.

    Nodes ``0 .. len(share) - 1`` are the values; ``parent`` comes after each of its children and is -1 at the top.
    """
    mass = np.zeros(len(parent))
    for c in range(len(start) - 1):
        records = 0.0
        for at in range(start[c], start[c + 1]):
            records += count[at]
        for node in range(len(parent)):
            mass[node] = -share[node] if node < len(share) else 0.0
        for at in range(start[c], start[c + 1]):
            mass[value[at]] += count[at] / records
        way = 0.0
        for node in range(len(parent)):
            if parent[node] >= 0:
                way += abs(mass[node]) * length[node]
                mass[parent[node]] += mass[node]
        found[c] = way


@kernel("void(i8[::1], i8[::1], i8[::1], f8[::1], f8, b1, f8[::1])")
def likeliest_gain(start: Any, value: Any, count: Any, share: Any, beta: float, enhanced: bool, found: Any) -> None:
    """By how much the share of a value in each class exceeds that in all records, as a share of the latter: the most.

    ``enhanced`` measures it against the lesser of ``beta`` and minus the logarithm of the share in all records.
    """
    for c in range(len(start) - 1):
        records = 0.0
        for at in range(start[c], start[c + 1]):
            records += count[at]
        most = 0.0
        for at in range(start[c], start[c + 1]):
            usual = share[value[at]]
            gain = (count[at] / records - usual) / usual
            if gain <= 0.0:
                continue
            if enhanced:
                gain = gain / min(beta, -np.log(usual)) * beta
            most = max(most, gain)
        found[c] = most


@kernel("void(i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[::1])")
def gathered(group: Any, value: Any, count: Any, start: Any, value_of: Any, count_of: Any) -> None:
    """Values with their counts, class by class; ``start`` has a place more than there are classes."""
    start[:] = 0
    for i in range(len(group)):
        start[group[i] + 1] += 1
    for c in range(len(start) - 1):
        start[c + 1] += start[c]
    for i in range(len(group)):
        place = start[group[i]]
        value_of[place] = value[i]
        count_of[place] = count[i]
        start[group[i]] += 1
    for c in range(len(start) - 1, 0, -1):
        start[c] = start[c - 1]
    start[0] = 0
