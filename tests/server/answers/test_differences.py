"""What a table says beyond its cells, through HTTP: differences of universes, and rows that show one category only."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from discreet.server.dataset import Dataset
from tests.server.answers.test_http import Server
from tests.server.answers.test_threats import LIMIT, told
from tests.server.census import made, people

VARIABLES = ("sex", "marital", "education", "labour", "birth")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, list[dict[str, Any]]]:
    folder: Path = tmp_path_factory.mktemp("small")
    return made(folder, records=6_000, areas=12), people(folder)


def test_tables_of_two_universes_subtracted_show_no_sliver(
    small: tuple[Dataset, list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack of card 002 as the catalogue leaves it: everybody less adults, cell by cell, here and in areas.

    No account stops this attacker. Keys of cells do not hide *where* the difference has somebody: cells that are equal
    have nobody, others somebody (docs/design/0013). How many there are is known no more often than the owner allows.
    """
    dataset, records = small
    assert dataset.areas is not None
    tables = there = known = singles = isolated = 0
    with Server(dataset) as server:
        monkeypatch.setattr(server.account, "charge", lambda *_: None)
        for area, some in product([None, *dataset.areas.codes[-6:]], combinations(VARIABLES, 3)):
            if area is not None and (area in dataset.refused["all"] or area in dataset.refused["adults"]):
                continue
            if area is not None and not any(person["area"] == area for person in records):
                continue  # a larger area; its records stand under those below
            here = [person for person in records if area in (None, person["area"])]
            children = Counter(tuple(person[name] for name in some) for person in here if person["age"] < 18)
            everybody, adults = (told(server, *some, area=area, universe=one) for one in ("all", "adults"))
            tables += 1
            for cell in product(*({person[name] for person in here} for name in some)):
                found = everybody.get(cell, 0) - adults.get(cell, 0)
                there += children[cell] > 0
                known += found == children[cell] > 0
                singles += children[cell] == 1
                isolated += found == 1 == children[cell]
                assert children[cell] or found == 0
    assert tables > 30
    assert singles > 100
    assert known / there <= LIMIT
    assert isolated / singles <= LIMIT / 5


def test_a_row_that_shows_one_category_is_no_proof_of_it(
    small: tuple[Dataset, list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows whose persons all seem to have one code: about as many are of several, and most true ones do not look so.

    No account stops this attacker. What holds for everybody anyway (children are single) is among the right ones.
    """
    dataset, records = small
    truly = said = right = 0
    with Server(dataset) as server:
        monkeypatch.setattr(server.account, "charge", lambda *_: None)
        for three in combinations(VARIABLES, 3):
            shown = told(server, *three)
            true = Counter(tuple(person[name] for name in three) for person in records)
            codes = [sorted({cell[k] for cell in true}) for k in range(3)]
            for k in range(3):
                for rest in others(codes, k):
                    seen = [code for code in codes[k] if shown.get((*rest[:k], code, *rest[k:]))]
                    there = [code for code in codes[k] if true[(*rest[:k], code, *rest[k:])]]
                    truly += len(there) == 1
                    said += len(seen) == 1
                    right += len(seen) == 1 and seen == there
    assert truly > 300
    assert said > 300
    assert 0 < right / said < 0.6
    assert right / truly < 0.6


def others(codes: list[list[str]], k: int) -> product[tuple[str, ...]]:
    """All codes of the variables but one."""
    return product(*(codes[j] for j in range(len(codes)) if j != k))
