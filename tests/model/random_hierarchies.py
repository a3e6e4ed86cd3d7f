"""Random hierarchies with everything a hierarchy may have, and what follows from them by brute force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import strategies as st

from discreet import Hierarchy


@st.composite
def trees(draw: st.DrawFn, most: int = 9, prefix: str = "") -> Hierarchy:
    """Unbalanced trees; levels with a single child are common."""
    size = draw(st.integers(1, most - 1))
    above = [draw(st.integers(0, i)) for i in range(size)]
    names = ["Total", *(f"{prefix}n{i}" for i in range(1, size + 1))]
    return Hierarchy.from_parents({names[i + 1]: names[parent] for i, parent in enumerate(above)}, "Total")


@st.composite
def hierarchies(draw: st.DrawFn, most: int = 9) -> Hierarchy:
    """Trees with further sums: overlapping groups, differences, and a second way to make up the total."""
    tree = draw(trees(most))
    base = list(tree.base_codes)
    for kind in draw(st.lists(st.sampled_from(["group", "difference", "balance", "partition"]), max_size=2)):
        name = f"{kind}{len(tree)}"
        if kind == "group":
            parts = draw(st.lists(st.sampled_from(base), min_size=1, unique=True))
            tree = tree.with_grouping(name, parts)
        elif kind == "difference":
            code = draw(st.sampled_from(tree.codes))
            if 0 < len(tree.covered(code)) < len(base) and set(tree.covered(code).values()) == {1}:
                tree = tree.with_grouping(name, ["Total"], minus=[code])
        elif kind == "balance" and len(base) > 1:
            one, two = draw(st.permutations(base))[:2]
            tree = tree.with_grouping(name, [one], minus=[two])
        elif kind == "partition":
            tree = second_partition(tree, draw(st.permutations(base)), draw(st.integers(1, len(base))), name)
    return tree


def second_partition(tree: Hierarchy, base: Sequence[str], pieces: int, name: str) -> Hierarchy:
    """The total made up once more, of other groups of base codes."""
    cuts = sorted({0, len(base), *(len(base) * i // pieces for i in range(pieces))})
    groups = [base[a:b] for a, b in pairwise(cuts)]
    for number, group in enumerate(groups):
        tree = tree.with_grouping(f"{name}-{number}", group)
    return tree.with_grouping("Total", [f"{name}-{number}" for number in range(len(groups))])


def cover_of(hierarchy: Hierarchy, code: str) -> dict[str, int]:
    """Base codes that a code sums, found by walking down from it."""
    sums = {g.parent: g.parts for g in reversed(hierarchy.groupings)}
    found: Counter[str] = Counter()

    def walk(current: str, sign: int) -> None:
        if current not in sums:
            found[current] += sign
        for part, own in sums.get(current, ()):
            walk(part, sign * own)

    walk(code, 1)
    return {base: sign for base, sign in found.items() if sign}
