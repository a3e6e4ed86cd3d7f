"""Better groups from given ones: members change places, move, and whole groups dissolve while the loss falls.

The loss is the sum of squared distances from the middles of the groups. All groups keep ``k`` to ``2k - 1`` members.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel
from discreet.records.microaggregation.tree_kernels import LEAF, build_tree, leaf_count, nearly_nearest

LITTLE = 1e-10
"""Smaller gains, as a share of the loss of a record, are rounding."""


@kernel("i4[:,::1](f8[:,::1], i8, i8)")
def neighbours(points: Any, wanted: int, most_leaves: int) -> Any:
    """For every record those nearest to it; found in the nearest leaves of a tree."""
    records, columns = points.shape
    leaves = leaf_count(records)
    nodes = 2 * leaves - 1
    place, at = np.empty(leaves * LEAF, np.int64), np.empty(records, np.int64)
    alive, start = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    low, high = np.empty((nodes, columns)), np.empty((nodes, columns))
    build_tree(points, np.arange(records), leaves, place, at, alive, low, high, start)
    found, away = np.empty(wanted, np.int64), np.empty(wanted)
    result = np.full((records, wanted), -1, np.int32)
    for i in range(len(place)):
        # In the order of the leaves: records that lie together are asked for together.
        record = place[i]
        if record < 0:
            continue
        many = nearly_nearest(points, points[record], record, wanted, most_leaves, place, alive, low, high, found, away)
        for j in range(many):
            result[record, j] = found[j]
    return result


@kernel("i8[::1](f8[:,::1])")
def tree_order(points: Any) -> Any:
    """Records in an order in which near ones stand together, as the leaves of a tree hold them."""
    records, columns = points.shape
    leaves = leaf_count(records)
    nodes = 2 * leaves - 1
    place, at = np.empty(leaves * LEAF, np.int64), np.empty(records, np.int64)
    alive, start = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    low, high = np.empty((nodes, columns)), np.empty((nodes, columns))
    build_tree(points, np.arange(records), leaves, place, at, alive, low, high, start)
    return place[place >= 0]


@kernel("f8(f8[:,::1], i8, i8, f8[:,::1], i8[::1], i8, i8)")
def exchange_gain(points: Any, one: int, other: int, total: Any, size: Any, mine: int, theirs: int) -> Any:
    """By how much the loss falls when two records change places."""
    dot = square = 0.0
    for c in range(points.shape[1]):
        apart = points[one, c] - points[other, c]
        dot += apart * (total[theirs, c] / size[theirs] - total[mine, c] / size[mine])
        square += apart * apart
    return 2 * dot + square * (1.0 / size[mine] + 1.0 / size[theirs])


@kernel("f8(f8[:,::1], i8, f8[:,::1], i8[::1], i8, i8)")
def move_gain(points: Any, one: int, total: Any, size: Any, mine: int, theirs: int) -> Any:
    """By how much the loss falls when a record moves to another group."""
    near = far = 0.0
    a, b = size[mine], size[theirs]
    for c in range(points.shape[1]):
        far += (points[one, c] - total[mine, c] / a) ** 2
        near += (points[one, c] - total[theirs, c] / b) ** 2
    return a / (a - 1.0) * far - b / (b + 1.0) * near


@kernel("void(f8[:,::1], i8, i8, i8, i8[::1], i8[:,::1], i8[::1], i8[::1], f8[:,::1])")
def move_record(
    points: Any, one: int, mine: int, theirs: int, group: Any, member: Any, slot: Any, size: Any, total: Any
) -> None:
    """Move a record to another group."""
    last = member[mine, size[mine] - 1]
    member[mine, slot[one]], slot[last] = last, slot[one]
    size[mine] -= 1
    member[theirs, size[theirs]], slot[one] = one, size[theirs]
    size[theirs] += 1
    group[one] = theirs
    for c in range(points.shape[1]):
        total[mine, c] -= points[one, c]
        total[theirs, c] += points[one, c]


@kernel("void(f8[:,::1], i8, i8, i8, i8, i8[::1], i8[:,::1], i8[::1], f8[:,::1])")
def exchange_records(
    points: Any, one: int, other: int, mine: int, theirs: int, group: Any, member: Any, slot: Any, total: Any
) -> None:
    """Let two records change places."""
    member[mine, slot[one]], member[theirs, slot[other]] = other, one
    slot[one], slot[other] = slot[other], slot[one]
    group[one], group[other] = theirs, mine
    for c in range(points.shape[1]):
        apart = points[one, c] - points[other, c]
        total[mine, c] -= apart
        total[theirs, c] += apart


@kernel("b1(f8[:,::1], i8, i8, i4[:,::1], i8[::1], i8[:,::1], i8[::1], i8[::1], f8[:,::1], f8, i8[::1])")
def _dissolved(
    points: Any,
    k: int,
    mine: int,
    near: Any,
    group: Any,
    member: Any,
    slot: Any,
    size: Any,
    total: Any,
    least: float,
    touched: Any,
) -> bool:
    """Give every member of a group to its best neighbouring group, if that pays; otherwise all stay."""
    columns, many = points.shape[1], size[mine]
    before = 0.0
    for i in range(many):
        for c in range(columns):
            before += (points[member[mine, i], c] - total[mine, c] / many) ** 2
    people = member[mine, :many].copy()
    cost, done = 0.0, 0
    for i in range(many):
        one = people[i]
        best, chosen = np.inf, -1
        for j in range(near.shape[1]):
            if near[one, j] < 0:
                break
            theirs = group[near[one, j]]
            if theirs == mine or size[theirs] >= 2 * k - 1:
                continue
            away, b = 0.0, size[theirs]
            for c in range(columns):
                away += (points[one, c] - total[theirs, c] / b) ** 2
            if b / (b + 1.0) * away < best:
                best, chosen = b / (b + 1.0) * away, theirs
        if chosen < 0 or cost + best > before - least:
            break
        cost += best
        move_record(points, one, mine, chosen, group, member, slot, size, total)
        touched[i] = chosen
        done += 1
    if done == many:
        return True
    for i in range(done - 1, -1, -1):
        move_record(points, people[i], touched[i], mine, group, member, slot, size, total)
    return False


@kernel("void(f8[:,::1], i8[::1], i8[:,::1], i8[::1], i8[::1], f8[:,::1])")
def enter_members(points: Any, group: Any, member: Any, slot: Any, size: Any, total: Any) -> None:
    """Fill the lists of members of groups, the place of each record in its list, and the sizes and sums of groups."""
    for record in range(len(group)):
        mine = group[record]
        member[mine, size[mine]], slot[record] = record, size[mine]
        size[mine] += 1
        for c in range(points.shape[1]):
            total[mine, c] += points[record, c]


@kernel("f8(f8[:,::1], i8, f8[:,::1], i8[::1], i8, i8, f8[::1])")
def _towards(points: Any, one: int, total: Any, size: Any, mine: int, theirs: int, slope: Any) -> Any:
    """What exchanges of a record with members of another group have in common.

    The gain by a member ``y`` is this, and ``|y|² (1/a + 1/b) - y · slope``: one product for each member.
    """
    a, b = 1.0 / size[mine], 1.0 / size[theirs]
    common = 0.0
    for c in range(points.shape[1]):
        x = points[one, c]
        apart = total[theirs, c] * b - total[mine, c] * a
        common += x * (2 * apart + x * (a + b))
        slope[c] = 2 * (apart + x * (a + b))
    return common


@kernel("f8(f8[:,::1], i8, f8[::1])")
def _along(points: Any, record: int, slope: Any) -> Any:
    total = 0.0
    for c in range(points.shape[1]):
        total += points[record, c] * slope[c]
    return total


@kernel("void(f8[:,::1], f8[::1], i8, i8, f8, i4[:,::1], i8[::1], i8[:,::1], i8[::1], f8[:,::1], i8[::1], i8, i8[::1])")
def _find_change(
    points: Any,
    length: Any,
    k: int,
    one: int,
    least: float,
    near: Any,
    group: Any,
    member: Any,
    size: Any,
    total: Any,
    seen: Any,
    stamp: int,
    chosen: Any,
) -> None:
    """The best change of a record: the group that it goes to, and who comes in its place; -1 where there is none."""
    mine, gain = group[one], least
    chosen[0] = chosen[1] = -1
    slope = np.empty(points.shape[1])
    for j in range(near.shape[1]):
        if near[one, j] < 0:
            break
        theirs = group[near[one, j]]
        if theirs == mine or seen[theirs] == stamp:
            continue
        seen[theirs] = stamp
        if size[mine] > k and size[theirs] < 2 * k - 1:
            found = move_gain(points, one, total, size, mine, theirs)
            if found > gain:
                gain, chosen[0], chosen[1] = found, theirs, -1
        common = _towards(points, one, total, size, mine, theirs, slope)
        times = 1.0 / size[mine] + 1.0 / size[theirs]
        for i in range(size[theirs]):
            other = member[theirs, i]
            found = common + length[other] * times - _along(points, other, slope)
            if found > gain:
                # Differences of large numbers are inexact: what looks like a gain is worked out again.
                found = exchange_gain(points, one, other, total, size, mine, theirs)
                if found > gain:
                    gain, chosen[0], chosen[1] = found, theirs, other


@kernel("void(i8, i8[:,::1], i8[::1], b1[::1])")
def _wake(mine: int, member: Any, size: Any, again: Any) -> None:
    """Let all members of a group look again."""
    for i in range(size[mine]):
        again[member[mine, i]] = True


@kernel("i8(f8[:,::1], i8, i8[::1], i4[:,::1], i8)")
def improve_groups(points: Any, k: int, group: Any, near: Any, most_passes: int) -> int:
    """Change groups in place while the loss falls; give back the number of passes.

    A record looks at the groups of those near to it, and takes the best exchange or move. Whoever shares a group with
    one that changed looks again in the next pass.
    """
    records, columns = points.shape
    groups = group.max() + 1
    member, slot = np.full((groups, 2 * k), -1, np.int64), np.empty(records, np.int64)
    size, total = np.zeros(groups, np.int64), np.zeros((groups, columns))
    enter_members(points, group, member, slot, size, total)
    length = (points**2).sum(axis=1)
    least = LITTLE * length.sum() / records
    active, again = np.ones(records, np.bool_), np.zeros(records, np.bool_)
    touched, seen, chosen = np.empty(2 * k, np.int64), np.zeros(groups, np.int64), np.empty(2, np.int64)
    passes = stamp = 0
    while passes < most_passes:
        passes += 1
        changes = 0
        again[:] = False
        for one in range(records):
            if not active[one]:
                continue
            mine, stamp = group[one], stamp + 1
            _find_change(points, length, k, one, least, near, group, member, size, total, seen, stamp, chosen)
            if chosen[0] < 0:
                continue
            if chosen[1] >= 0:
                exchange_records(points, one, chosen[1], mine, chosen[0], group, member, slot, total)
            else:
                move_record(points, one, mine, chosen[0], group, member, slot, size, total)
            changes += 1
            _wake(mine, member, size, again)
            _wake(chosen[0], member, size, again)
        for mine in range(groups):
            if size[mine] != k or not (again[member[mine, 0]] or passes == 1):
                continue
            if _dissolved(points, k, mine, near, group, member, slot, size, total, least, touched):
                changes += 1
                for j in range(k):
                    _wake(touched[j], member, size, again)
        if not changes:
            break
        active[:] = again
    return passes


@kernel("i8[::1](f8[:,::1], i8[::1], i8)")
def best_runs(points: Any, order: Any, k: int) -> Any:
    """The group of every record when records in a row are cut into runs of ``k`` to ``2k - 1`` at the least loss.

    That is the optimum of a single column, in the order of its values (Hansen and Mukherjee 2003).
    """
    records, columns = points.shape
    best, cut = np.full(records + 1, np.inf), np.zeros(records + 1, np.int64)
    best[0] = 0.0
    middle = np.empty(columns)
    for end in range(k, records + 1):
        # Welford's way, backwards: no differences of large sums.
        middle[:] = 0.0
        loss = 0.0
        for start in range(end - 1, max(end - 2 * k, -1), -1):
            many = end - start
            for c in range(columns):
                apart = points[order[start], c] - middle[c]
                middle[c] += apart / many
                loss += apart * (points[order[start], c] - middle[c])
            if many >= k and best[start] + loss < best[end]:
                best[end], cut[end] = best[start] + loss, start
    group = np.empty(records, np.int64)
    end, number = records, 0
    while end > 0:
        for i in range(cut[end], end):
            group[order[i]] = number
        number += 1
        end = cut[end]
    return group


@kernel("i8[::1](f8[:,::1], i8)")
def halved_order(points: Any, k: int) -> Any:
    """Records in a row that keeps near ones near: halves of the column that varies most, halved again."""
    records, columns = points.shape
    order = np.arange(records)
    stack = np.empty((128, 2), np.int64)
    stack[0, 0], stack[0, 1], depth = 0, records, 1
    while depth:
        depth -= 1
        start, end = stack[depth, 0], stack[depth, 1]
        if end - start < 2 * k:
            continue
        widest, most = 0, -1.0
        for c in range(columns):
            mean = spread = 0.0
            for i in range(start, end):
                mean += points[order[i], c]
            mean /= end - start
            for i in range(start, end):
                spread += (points[order[i], c] - mean) ** 2
            if spread > most:
                widest, most = c, spread
        values = np.empty(end - start)
        for i in range(start, end):
            values[i - start] = points[order[i], widest]
        piece = order[start:end].copy()
        sort = np.argsort(values, kind="mergesort")
        for i in range(end - start):
            order[start + i] = piece[sort[i]]
        half = start + ((end - start) // (2 * k)) * k
        stack[depth, 0], stack[depth, 1] = start, half
        stack[depth + 1, 0], stack[depth + 1, 1] = half, end
        depth += 2
    return order
