"""Loops of the checker over certificates and proofs, against the same said plainly, on small random cases."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.verify import kernels
from discreet.verify.kernels import EVERYBODY, MOST

CASES = 250
ROWS, PEOPLE, HOLDERS = 6, 5, 2


def plain(kernel: Any) -> Any:
    """A kernel as plain Python."""
    return kernel.py_func


# ---- what is noted ----------------------------------------------------------------------------------------------


def test_so_many_of_a_kind_are_noted_and_none_twice():
    problems, count = np.zeros((3 * MOST, 2), np.int64), 0
    for where in [*range(MOST - 1), 0, *range(MOST - 1)]:
        count = plain(kernels.note)(problems, count, 1, where)
    assert count == MOST - 1
    for where in range(MOST - 1, MOST + 5):
        count = plain(kernels.note)(problems, count, 1, where)
    assert problems[:count].tolist() == [[1, where] for where in range(MOST)]
    assert plain(kernels.note)(problems, count, 2, 0) == MOST + 1


def test_a_list_of_pairs_grows_when_it_is_full():
    pairs = np.array([[1, 2]])
    assert plain(kernels.append)(pairs, 1, 3, 4)[:2].tolist() == [[1, 2], [3, 4]]
    roomy = np.zeros((2, 2), np.int64)
    assert plain(kernels.append)(roomy, 1, 3, 4) is roomy


# ---- who rules certificates out ---------------------------------------------------------------------------------


def random_people(rng: np.random.Generator) -> dict[str, Any]:
    """Who contributes to the rows, and how far these can fall for each; some rows have one contributor."""
    sole = np.where(rng.random(ROWS) < 0.3, rng.integers(0, PEOPLE, ROWS), -1)
    holder = rng.integers(-1, PEOPLE, (ROWS, HOLDERS)).astype(np.int32)
    return {
        "whole": rng.random(ROWS) < 0.2,
        "cell": rng.integers(0, ROWS, ROWS),
        "sole": sole,
        "holder": holder,
        "left": rng.integers(0, 5, (ROWS, HOLDERS)),
        "general": rng.integers(0, 9, ROWS),
    }


def random_certificates(rng: np.random.Generator, number: int) -> tuple[np.ndarray, ...]:
    start = np.concatenate(([0], np.cumsum(rng.integers(1, 4, number))))
    row = np.concatenate([rng.permutation(ROWS)[: b - a] for a, b in itertools.pairwise(start)])
    return start, rng.integers(1, 4, number), row, rng.integers(-6, 7, len(row))


def who_sees(known: dict[str, Any], changes: list[tuple[int, int]], d: int, full: bool) -> Iterator[tuple[int, int]]:
    """Insiders who rule changes out, each with the cell of whose proofs that does not count, or -1."""
    rigid = any(known["whole"][r] and a for r, a in changes)
    for r, a in changes:
        if a and known["sole"][r] >= 0:
            yield int(known["sole"][r]), -1
        elif a < 0:
            by = math.ceil(Fraction(-a, d)) if full or rigid else 1
            spared = int(known["cell"][r]) if full and not rigid else -1
            if by > known["general"][r]:
                yield EVERYBODY, spared
            for k in range(HOLDERS):
                if known["holder"][r, k] >= 0 and by > known["left"][r, k]:
                    yield int(known["holder"][r, k]), spared


@pytest.mark.parametrize("full", [True, False])
def test_everybody_is_listed_who_sees_that_a_certificate_cannot_be(full):
    rng = np.random.default_rng(11 + full)
    for _ in range(CASES):
        number = int(rng.integers(1, 4))
        start, denominator, row, amount = random_certificates(rng, number)
        known, wanted = random_people(rng), rng.random((number, 2)) < 0.7
        found = np.zeros((number, 2, 2), np.int64)
        pairs, count = plain(kernels.rule_out)(
            start, denominator, row, amount, wanted, full, *known.values(), found, np.zeros((1, 2), np.int64), 0
        )
        total = 0
        for c, opposite in np.argwhere(wanted).tolist():
            part = slice(start[c], start[c + 1])
            signed = (-amount if opposite else amount)[part].tolist()
            changes = list(zip(row[part].tolist(), signed, strict=True))
            mine = [tuple(pair) for pair in pairs[slice(*found[c, opposite])].tolist()]
            assert Counter(mine) == Counter(who_sees(known, changes, int(denominator[c]), full))
            total += len(mine)
        assert total == count


# ---- proofs of which some insider rules out all -----------------------------------------------------------------


@pytest.mark.parametrize("use", [-1, 0, 1])
def test_a_proof_is_bad_where_one_attacker_rules_out_all_that_count(use):
    rng, answers = np.random.default_rng(21 + use), Counter[bool]()
    for _ in range(2 * CASES):
        number, proofs = int(rng.integers(1, 4)), int(rng.integers(1, 3))
        known = random_people(rng)
        found, pairs = np.zeros((number, 2, 2), np.int64), []
        for c in range(number):
            for s in range(2):
                some = [(int(rng.integers(-1 if rng.random() < 0.2 else 0, 3)), int(rng.integers(-1, 3))) for _ in "ab"]
                found[c, s] = len(pairs), len(pairs) + 2
                pairs += some
        start = np.concatenate(([0], np.cumsum(rng.integers(0, 3, proofs))))
        taken = rng.integers(0, number, start[-1])
        uses, opposite = rng.integers(0, 2, start[-1]).astype(np.int8), rng.random(start[-1]) < 0.5
        needed, target = rng.random(proofs) < 0.8, rng.integers(0, ROWS, proofs)
        largest, least = rng.integers(-1, PEOPLE, proofs), rng.integers(0, 4, proofs)
        bad, seen = np.zeros(proofs, np.bool_), np.zeros(PEOPLE, np.int32)
        args = (use, start, taken, uses, opposite, needed, target, known["cell"], known["sole"], known["holder"])
        array = np.array(pairs, np.int64)
        plain(kernels.check_families)(*args, known["left"], largest, least, found, array, seen, bad)
        assert not seen.any()
        for p in range(proofs):
            own = int(known["cell"][target[p]])
            lists = []
            for i in range(start[p], start[p + 1]):
                if use in (-1, uses[i]):
                    mine = [pairs[j] for j in range(*found[taken[i], int(opposite[i])])]
                    counts = {who for who, cell in mine if cell != own}
                    lists += [] if EVERYBODY in counts else [counts]
            expected = bool(needed[p]) and _some_attacker(lists, known, int(target[p]), int(largest[p]), int(least[p]))
            assert bad[p] == expected
            answers[expected] += 1
    assert min(answers.values()) > 50


def _some_attacker(lists: list[set[int]], known: dict[str, Any], target: int, largest: int, least: int) -> bool:
    if not lists:
        return True
    holders = zip(known["holder"][target].tolist(), known["left"][target].tolist(), strict=True)
    spared = {who for who, left in holders if left < least} | {largest, int(known["sole"][target])}
    return bool(set.intersection(*lists) - spared)
