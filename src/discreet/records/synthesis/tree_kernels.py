"""Trees that say which records are alike in one column, given others: grown, gone through, and drawn from.

Predictors are numbers of bins from 0 to 255. A node keeps, as 256 bits, which bins go to the left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel


@kernel("void(i8[::1], f8[::1], i8)")
def _sort_by(places: Any, key: Any, many: Any) -> None:
    """Sort the first places by their keys; equal keys stand by place, so that nothing depends on the order of rows."""
    if many > 32:
        ordered = places[:many][np.argsort(places[:many], kind="mergesort")]
        places[:many] = ordered[np.argsort(key[ordered], kind="mergesort")]
        return
    for i in range(1, many):
        place = places[i]
        at = i
        while at > 0 and (
            key[places[at - 1]] > key[place] or (key[places[at - 1]] == key[place] and places[at - 1] > place)
        ):
            places[at] = places[at - 1]
            at -= 1
        places[at] = place


@kernel("i8(u1[::1], i4[::1], i8, i8, i8[::1], i8[::1])")
def _count_bins(bins: Any, rows: Any, start: Any, end: Any, count: Any, there: Any) -> Any:
    """How often each bin occurs in a node, and which do; ``count`` must hold zeros."""
    many = 0
    for i in range(start, end):
        found = bins[rows[i]]
        if count[found] == 0:
            there[many] = found
            many += 1
        count[found] += 1
    return many


@kernel("Tuple((f8, i8))(i8[::1], i8, i8[::1], f8[::1], i8, f8, i8)")
def _best_of_sums(there: Any, many: Any, count: Any, total: Any, rows: Any, whole: Any, least: Any) -> Any:
    """The best cut between bins in their order, for a column of numbers: how good it is, and after how many bins."""
    best, cut = -1.0, np.int64(0)
    left, number = 0.0, 0
    for place in range(many - 1):
        left += total[there[place]]
        number += count[there[place]]
        if number < least:
            continue
        if rows - number < least:
            break
        right = whole - left
        found = left * left / number + right * right / (rows - number)
        if found > best:
            best, cut = found, np.int64(place + 1)
    return best, cut


@kernel("Tuple((f8, i8))(i8[::1], i8, i8[::1], i4[::1], i8[::1], i8[::1], f8, i8, i8)")
def _best_of_codes(
    there: Any, many: Any, count: Any, codes: Any, left: Any, right: Any, squares: Any, rows: Any, least: Any
) -> Any:
    """The same for a column of codes, by the sum of squared counts.

    ``codes`` stand bin by bin; ``right`` counts all codes of the node, and ``squares`` are theirs; ``left`` holds
    zeros.
    """
    best, cut, number, squares_left = -1.0, np.int64(0), 0, 0.0
    for place in range(many - 1):
        for i in range(number, number + count[there[place]]):
            code = codes[i]
            squares_left += 2 * left[code] + 1
            squares -= 2 * (right[code] - left[code]) - 1
            left[code] += 1
        number += count[there[place]]
        if number >= least and rows - number >= least:
            found = squares_left / number + squares / (rows - number)
            if found > best:
                best, cut = found, np.int64(place + 1)
    for i in range(number):
        left[codes[i]] = 0
    return best, cut


@kernel("void(u1[::1], i4[::1], i8, i8, i4[::1], i8[::1], i8, i8[::1], i8[::1], i4[::1])")
def _group_codes(
    bins: Any,
    rows: Any,
    start: Any,
    end: Any,
    codes: Any,
    there: Any,
    many: Any,
    count: Any,
    first: Any,
    grouped: Any,
) -> None:
    """Put the codes of a node bin by bin."""
    at = 0
    for place in range(many):
        first[there[place]] = at
        at += count[there[place]]
    for i in range(start, end):
        found = bins[rows[i]]
        grouped[first[found]] = codes[rows[i]]
        first[found] += 1


@kernel("void(u1[::1], i4[::1], i8, i8, f8[::1], i4[::1], i8, i8[::1], i8, f8[::1])")
def _sum_bins(
    bins: Any,
    rows: Any,
    start: Any,
    end: Any,
    values: Any,
    codes: Any,
    largest: Any,
    there: Any,
    many: Any,
    total: Any,
) -> None:
    """The sum of each bin of a node: of numbers, or how often the largest code occurs where there are codes."""
    for place in range(many):
        total[there[place]] = 0.0
    if largest < 0:
        for i in range(start, end):
            total[bins[rows[i]]] += values[rows[i]]
    else:
        for i in range(start, end):
            if codes[rows[i]] == largest:
                total[bins[rows[i]]] += 1.0


@kernel("void(u8[::1], i8[::1], i8, i8, b1, b1)")
def _keep_bins(word: Any, there: Any, many: Any, cut: Any, ordered: Any, mostly_left: Any) -> None:
    """Which bins go left: the first ones; those that the node never saw go where most of its records go."""
    word[:] = 0
    if ordered:
        for found in range(there[cut - 1] + 1):
            word[found >> 6] |= np.uint64(1) << np.uint64(found & 63)
    elif mostly_left:
        word[:] = ~np.uint64(0)
        for place in range(cut, many):
            word[there[place] >> 6] &= ~(np.uint64(1) << np.uint64(there[place] & 63))
    else:
        for place in range(cut):
            word[there[place] >> 6] |= np.uint64(1) << np.uint64(there[place] & 63)


@kernel("Tuple((f8, f8, f8, i8))(i4[::1], i8, i8, f8[::1], i4[::1], i8, i8[::1])")
def _as_one_leaf(rows: Any, start: Any, end: Any, values: Any, codes: Any, size: Any, right: Any) -> Any:
    """A node as one leaf: the sum of its numbers, of squares, what is left open, and its most frequent code.

    Codes are counted in ``right``, which must hold zeros; -1 stands for no code where there are numbers.
    """
    summed, squared, largest = 0.0, 0.0, np.int64(0)
    if size == 0:
        for i in range(start, end):
            value = values[rows[i]]
            summed += value
            squared += value * value
        return summed, squared, squared - summed * summed / max(end - start, 1), np.int64(-1)
    for i in range(start, end):
        code = codes[rows[i]]
        squared += 2.0 * right[code] + 1.0
        right[code] += 1
    for i in range(start, end):
        code = np.int64(codes[rows[i]])
        if right[code] > right[largest] or (right[code] == right[largest] and code < largest):
            largest = code
    return summed, squared, (end - start) - squared / max(end - start, 1), largest


@kernel("i8(u1[::1], i4[::1], i8, i8, u8[::1], i4[::1])")
def _part(bins: Any, rows: Any, start: Any, end: Any, word: Any, spare: Any) -> Any:
    """Put the records of a node that go left before the others, all in their order; where the others begin."""
    low, high = start, 0
    for i in range(start, end):
        row = rows[i]
        found = bins[row]
        if word[found >> 6] >> np.uint64(found & 63) & np.uint64(1):
            rows[low] = row
            low += 1
        else:
            spare[high] = row
            high += 1
    rows[low:end] = spare[:high]
    return low


@kernel(
    "Tuple((f8, i8))(u1[:,::1], b1[::1], i4[::1], i8, i8, f8[::1], i4[::1], Tuple((f8, f8, f8, i8)), i8[::1], i8[::1],"
    " i4[::1], u8[::1], i8, f8)"
)
def _best_cut(
    bins: Any,
    ordered: Any,
    rows: Any,
    start: Any,
    end: Any,
    values: Any,
    codes: Any,
    leaf: Any,
    left: Any,
    right: Any,
    grouped: Any,
    word: Any,
    least: Any,
    worth: Any,
) -> Any:
    """The best cut of a node by any predictor that is worth more than so much, and the predictor, -1 for none."""
    best, of, n = worth, np.int64(-1), end - start
    count, there, first = np.zeros(256, np.int64), np.zeros(256, np.int64), np.zeros(256, np.int64)
    total, key = np.zeros(256), np.zeros(256)
    for f in range(bins.shape[0]):
        line = bins[f]
        many = _count_bins(line, rows, start, end, count, there)
        if many > 1:
            if leaf[3] < 0 or not ordered[f]:
                _sum_bins(line, rows, start, end, values, codes, leaf[3], there, many, total)
            for place in range(many):
                at = there[place]
                key[at] = at if ordered[f] else total[at] / count[at]
            _sort_by(there, key, many)
            if leaf[3] < 0:
                good, cut = _best_of_sums(there, many, count, total, n, leaf[0], least)
            else:
                _group_codes(line, rows, start, end, codes, there, many, count, first, grouped)
                good, cut = _best_of_codes(there, many, count, grouped, left, right, leaf[1], n, least)
            if cut > 0 and good > best:
                best, of, number = good, np.int64(f), 0
                for place in range(cut):
                    number += count[there[place]]
                _keep_bins(word, there, many, cut, ordered[f], 2 * number >= n)
        for place in range(many):
            count[there[place]] = 0
    return best, of


@kernel(
    "Tuple((i4[::1], u8[:,::1], i4[::1], i4[::1], i4[::1], i4[::1]))(u1[:,::1], b1[::1], f8[::1], i4[::1], i8, i8, f8)"
)
def grown(bins: Any, ordered: Any, values: Any, codes: Any, size: Any, least: Any, gain: Any) -> Any:
    """Grow a tree until no cut is worth ``gain`` of the whole, or leaves would have fewer than ``least`` records.

    Parameters
    ----------
    bins
        A row for each predictor, a column for each record.
    ordered
        Whether the bins of a predictor have an order; those without are put in that of what they say of the column.
    values, codes
        The column: numbers where ``size`` is 0, codes below ``size`` otherwise.

    Returns
    -------
    tuple
        Per node the predictor (-1 for a leaf), the bins that go left, the first child, where its records begin and
        end; and the records in the order of nodes.
    """
    rows = bins.shape[1]
    most = max(2 * (rows // least) + 1, 3)
    predictor, goes_left = np.full(most, -1, np.int32), np.zeros((most, 4), np.uint64)
    child, begin, stop = np.zeros(most, np.int32), np.zeros(most, np.int32), np.zeros(most, np.int32)
    order, spare = np.arange(rows).astype(np.int32), np.empty(rows, np.int32)
    grouped = np.empty(rows if size else 1, np.int32)
    left, right = np.zeros(max(size, 1), np.int64), np.zeros(max(size, 1), np.int64)
    stop[0] = rows
    nodes, node, whole = 1, 0, 0.0
    while node < nodes:
        start, end = np.int64(begin[node]), np.int64(stop[node])
        leaf = _as_one_leaf(order, start, end, values, codes, size, right)
        whole = leaf[2] if node == 0 else whole
        if end - start >= 2 * least and leaf[2] > 1e-12 * (1.0 + leaf[1]):
            worth = leaf[1] - leaf[2] if size == 0 else (end - start) - leaf[2]
            _, of = _best_cut(
                bins,
                ordered,
                order,
                start,
                end,
                values,
                codes,
                leaf,
                left,
                right,
                grouped,
                goes_left[node],
                least,
                worth + gain * whole,
            )
            if of >= 0:
                low = _part(bins[of], order, start, end, goes_left[node], spare)
                predictor[node], child[node] = of, nodes
                begin[nodes], stop[nodes] = start, low
                begin[nodes + 1], stop[nodes + 1] = low, end
                nodes += 2
        if size:
            for i in range(start, end):
                right[codes[order[i]]] = 0
        node += 1
    return predictor[:nodes], goes_left[:nodes], child[:nodes], begin[:nodes], stop[:nodes], order


@kernel("i4[::1](i4[::1], u8[:,::1], i4[::1], u1[:,::1])")
def leaves_of(predictor: Any, goes_left: Any, child: Any, bins: Any) -> Any:
    """The leaf that each record comes to."""
    found = np.empty(bins.shape[1], np.int32)
    for row in range(bins.shape[1]):
        node = 0
        while predictor[node] >= 0:
            at = bins[predictor[node], row]
            to_left = goes_left[node, at >> 6] >> np.uint64(at & 63) & np.uint64(1)
            node = child[node] if to_left else child[node] + 1
        found[row] = node
    return found
