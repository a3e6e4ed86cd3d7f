"""The tree of the log is the one of RFC 6962, in the writer's way and in the judge's."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.trust.log.tree import EMPTY, Frontier, Tree, leaf_hash
from discreet.trust.log_verify.merkle import LogTree, continues, leads_to_root

VECTOR = [bytes.fromhex(text) for text in ("", "00", "10", "2021", "3031", "40414243")]
VECTOR += [bytes.fromhex(text) for text in ("5051525354555657", "606162636465666768696a6b6c6d6e6f")]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
"""The roots of the first leaves of the test vectors that certificate transparency's reference code has."""


def by_definition(leaves: list[bytes]) -> bytes:
    """MTH of RFC 6962, section 2.1, word by word."""
    n = len(leaves)
    if n == 0:
        return sha256(b"").digest()
    if n == 1:
        return sha256(b"\x00" + leaves[0]).digest()
    k = 1
    while k * 2 < n:
        k *= 2
    return sha256(b"\x01" + by_definition(leaves[:k]) + by_definition(leaves[k:])).digest()


def path_by_definition(m: int, leaves: list[bytes]) -> list[bytes]:
    """PATH of RFC 6962, section 2.1.1."""
    n = len(leaves)
    if n == 1:
        return []
    k = 1
    while k * 2 < n:
        k *= 2
    if m < k:
        return [*path_by_definition(m, leaves[:k]), by_definition(leaves[k:])]
    return [*path_by_definition(m - k, leaves[k:]), by_definition(leaves[:k])]


def proof_by_definition(m: int, leaves: list[bytes], whole: bool = True) -> list[bytes]:
    """SUBPROOF of RFC 6962, section 2.1.2."""
    n = len(leaves)
    if m == n:
        return [] if whole else [by_definition(leaves)]
    k = 1
    while k * 2 < n:
        k *= 2
    if m <= k:
        return [*proof_by_definition(m, leaves[:k], whole), by_definition(leaves[k:])]
    return [*proof_by_definition(m - k, leaves[k:], False), by_definition(leaves[:k])]


def grown(leaves: list[bytes]) -> tuple[Tree, Frontier, LogTree]:
    tree, frontier, judge = Tree(), Frontier(), LogTree()
    for leaf in leaves:
        tree.append(leaf_hash(leaf))
        frontier.append(leaf_hash(leaf))
        judge.add(leaf)
    return tree, frontier, judge


def test_roots_are_those_of_the_known_vectors():
    for size in range(1, 9):
        tree, frontier, judge = grown(VECTOR[:size])
        assert tree.root(size).hex() == frontier.root().hex() == judge.root() == ROOTS[size - 1]
    assert EMPTY.hex() == LogTree().root() == sha256(b"").hexdigest()


LEAVES = [f"leaf {number}".encode() for number in range(40)]


def test_roots_and_proofs_are_those_of_the_definition_for_all_sizes_up_to_40():
    tree, _, _ = grown(LEAVES)
    for size in range(41):
        _, frontier, judge = grown(LEAVES[:size])
        root = by_definition(LEAVES[:size])
        assert tree.root(size) == frontier.root() == bytes.fromhex(judge.root()) == root
        assert [peak.hex() for peak in frontier.peaks] == judge.frontier()
        for index in range(size):
            path = tree.inclusion(index, size)
            assert path == path_by_definition(index, LEAVES[:size])
            assert leads_to_root(leaf_hash(LEAVES[index]), index, size, path, root)


def test_consistency_proofs_hold_for_all_pairs_up_to_40_and_for_no_other_roots():
    tree, _, _ = grown(LEAVES)
    roots = [by_definition(LEAVES[:size]) for size in range(41)]
    for second in range(41):
        for first in range(second + 1):
            path = tree.consistency(first, second)
            if first:
                assert path == proof_by_definition(first, LEAVES[:second])
            assert continues(first, second, path, roots[first], roots[second])
            other = roots[first - 1] if first else roots[1]
            assert not continues(first, second, path, other, roots[second])
            if 0 < first < second:
                assert not continues(first, second, path, roots[first], roots[second - 1])
                assert not continues(first, second, path[:-1], roots[first], roots[second])
                assert not continues(first, second, [*path, roots[0]], roots[first], roots[second])
                assert not continues(second, first, path, roots[second], roots[first])


def test_no_entry_is_proved_in_another_place_or_with_another_path():
    tree, _, _ = grown(LEAVES[:13])
    root = tree.root(13)
    for index in range(13):
        path, leaf = tree.inclusion(index, 13), tree.leaf(index)
        wrong = [other for other in range(-1, 15) if other != index and leads_to_root(leaf, other, 13, path, root)]
        assert wrong == []
        assert not leads_to_root(leaf, index, 13, path[:-1], root)
        assert not leads_to_root(leaf, index, 13, [*path, root], root)
        assert not leads_to_root(root, index, 13, path, root)


@settings(max_examples=50, deadline=None)
@given(leaves=st.lists(st.binary(max_size=40), max_size=70), data=st.data())
def test_any_leaves_any_proof(leaves: list[bytes], data: st.DataObject):
    tree, frontier, judge = grown(leaves)
    root = by_definition(leaves)
    assert tree.root(len(leaves)) == frontier.root() == bytes.fromhex(judge.root()) == root
    first = data.draw(st.integers(0, len(leaves)))
    assert continues(first, len(leaves), tree.consistency(first, len(leaves)), by_definition(leaves[:first]), root)


def test_a_frontier_has_one_subtree_a_digit():
    with pytest.raises(ValueError, match="one subtree for each"):
        Frontier(3, [EMPTY])
