"""A heap of numbered items in two arrays, for searches in compiled code; both functions give its new size."""

from __future__ import annotations

from discreet.jit import kernel
from discreet.model.arrays import Codes, Floats


@kernel("i8(f8[::1], i4[::1], i8, f8, i8)")
def push(key: Floats, item: Codes, size: int, new_key: float, new_item: int) -> int:
    """Put an item onto a heap; equal keys come out in the order of their items."""
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if key[above] < new_key or (key[above] == new_key and item[above] <= new_item):
            break
        key[at], item[at] = key[above], item[above]
        at = above
    key[at], item[at] = new_key, new_item
    return size + 1


@kernel("i8(f8[::1], i4[::1], i8, f8, i8)")
def put_first(key: Floats, item: Codes, size: int, new_key: float, new_item: int) -> int:
    """Let an item take the place of the first, and sink to where it belongs; a pop and a push in one."""
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        right = below + 1
        if right < size and (key[right] < key[below] or (key[right] == key[below] and item[right] < item[below])):
            below = right
        if new_key < key[below] or (new_key == key[below] and new_item <= item[below]):
            break
        key[at], item[at] = key[below], item[below]
        at = below
    key[at], item[at] = new_key, new_item
    return size


@kernel("i8(f8[::1], i4[::1], i8)")
def pop(key: Floats, item: Codes, size: int) -> int:
    """Take the first item off a heap; it stands behind the heap's new end."""
    size -= 1
    last_key, last_item = key[size], item[size]
    key[size], item[size] = key[0], item[0]
    return put_first(key, item, size, last_key, last_item) if size else size
