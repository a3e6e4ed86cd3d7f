"""Cell keys and small counts that are not what they say: for every refusal a release that is forged with care."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import discreet as ds
from tests.verify.forging import WORDING, Forgery, made, refused_for

# ---- cell keys ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [-1, 1])
def test_counts_are_what_their_cell_keys_stand_for(by):
    for row in range(len(made("cell-key").custodian.published[0])):
        forgery = Forgery("cell-key")
        if forgery.table.empty[row] or forgery.published[0][row] + by < 0:
            continue
        forgery.published[0][row] += by
        assert set(forgery.reasons()) == {"a value is not what its cell key stands for"}


@pytest.mark.parametrize("by", [-3, 3])
def test_magnitudes_are_what_their_cell_keys_stand_for(by):
    for row in range(len(made("cell-key-values").custodian.published[0])):
        forgery = Forgery("cell-key-values")
        forgery.published[0][row] += by
        assert set(forgery.reasons()) == {"a value is not what its cell key stands for"}


@pytest.mark.parametrize("name", ["cell-key", "cell-key-whole"])
@pytest.mark.parametrize("by", [-1, 1])
def test_cell_keys_are_the_sums_of_record_keys(name, by):
    """Whole record keys and fractional ones; the published value is the one of the forged key."""

    def forge(f: Forgery) -> None:
        key = f.evidence.parts["cells"]["key_sum"].copy()
        row = f.rows(f.table.value > 0)[3]
        key[row] = (key[row] + by) % f.evidence.facts["noise"]["modulus"]
        f.part("cells", key_sum=key)

    assert refused_for(name, forge, "a cell key is not the sum of the record keys") == [
        made(name).public.tables[0].name
    ]


@pytest.mark.parametrize("by", [-1, 1])
def test_cell_keys_go_with_the_number_of_records(by):
    def forge(f: Forgery) -> None:
        count = f.evidence.parts["cells"]["contributors"].copy()
        count[0] += by
        f.part("cells", contributors=count)

    refused_for("cell-key", forge, "the number of records of a cell is not that of the table")


@pytest.mark.parametrize("key", [-1, "modulus"])
def test_cell_keys_lie_in_the_noise_table(key):
    def forge(f: Forgery) -> None:
        column = f.evidence.parts["cells"]["key_sum"].copy()
        column[0] = f.evidence.facts["noise"]["modulus"] if key == "modulus" else key
        f.part("cells", key_sum=column)

    refused_for("cell-key", forge, "a cell key or count lies outside the noise table")


@pytest.mark.parametrize("key", [-1, 10**15])
def test_cell_keys_of_magnitudes_lie_between_zero_and_one(key):
    def forge(f: Forgery) -> None:
        column = f.evidence.parts["cells"]["key_sum"].copy()
        column[0] = key
        f.part("cells", key_sum=column)

    refused_for("cell-key-values", forge, "a cell key lies outside 0 .. 1")


def test_every_cell_has_a_key():
    def shorter(f: Forgery) -> None:
        f.part("cells", key_sum=f.evidence.parts["cells"]["key_sum"][1:])

    message = "there is not one cell key for every cell"
    refused_for("cell-key", shorter, message, alone=True)

    def without(f: Forgery) -> None:
        cells = {k: v for k, v in f.evidence.parts["cells"].items() if k != "contributors"}
        f.set(parts={**f.evidence.parts, "cells": cells})

    refused_for("cell-key", without, message, alone=True)


@pytest.mark.parametrize("by", [-1, 1])
def test_contributions_of_magnitudes_add_up_to_their_value(by):
    def forge(f: Forgery) -> None:
        total = f.evidence.parts["cells"]["total"].copy()
        total[0] += by
        f.part("cells", total=total)

    refused_for("cell-key-values", forge, "the contributions of a cell are not those of its value")


def test_it_is_stated_how_magnitudes_change():
    refused_for("cell-key-values", lambda f: f.method(magnitudes=None), "it is not stated how magnitudes are changed")


@pytest.mark.parametrize("fact", ["moved_most", "moved_sum"])
@pytest.mark.parametrize("by", [-1, 1])
def test_what_moved_for_additivity_is_what_is_stated(fact, by):
    def forge(f: Forgery) -> None:
        f.facts(**{fact: str(int(f.evidence.facts[fact]) + by)})

    refused_for("cell-key-additive", forge, "values moved further for additivity than stated, or less", alone=True)


def test_additive_values_stay_at_least_zero():
    def forge(f: Forgery) -> None:
        rows = f.rows(f.finest() & (f.published[0] == f.published[0][f.finest()].min()))
        f.move(rows[0], -int(f.published[0][rows[0]]) - 1)

    assert len(refused_for("cell-key-additive", forge, "a value became negative")) == 1


def turned(noise: dict) -> dict:
    """The first row with more than two entries has two of its limits the wrong way round."""
    start, upper = noise["start"], list(noise["upper"])
    at = next(a for a, b in itertools.pairwise(start) if b - a > 2)
    upper[at], upper[at + 1] = upper[at + 1], upper[at]
    return {**noise, "upper": upper}


@pytest.mark.parametrize(
    "change",
    [
        lambda n: {**n, "upper": list(n["upper"])[:-1]},
        lambda n: {**n, "change": list(n["change"])[:-1]},
        lambda n: {**n, "values": list(n["values"])[:-1]},
        lambda n: {**n, "start": [1, *n["start"][1:]]},
        lambda n: {**n, "start": [*n["start"][:-1], n["start"][-1] + 1]},
        lambda n: {**n, "modulus": n["modulus"] + 1},
        lambda n: {**n, "upper": [-1, *n["upper"][1:]]},
        turned,
    ],
)
def test_a_noise_table_that_is_none(change):
    def forge(f: Forgery) -> None:
        f.facts(noise=change(f.evidence.facts["noise"]))

    forgery = Forgery("cell-key")
    forge(forgery)
    (found,) = forgery.reasons()
    assert found.startswith("what is stated of the method cannot be used")


def test_a_claim_with_the_moments_of_another_noise_table():
    def forge(f: Forgery) -> None:
        noise = dict(f.evidence.facts["noise"])
        noise["change"] = [2 * c for c in noise["change"]]
        f.facts(noise=noise)

    forgery = Forgery("cell-key")
    forge(forgery)
    assert {WORDING, "a value is not what its cell key stands for"} <= set(forgery.reasons())


# ---- small counts -------------------------------------------------------------------------------------------

BASE = 4


@pytest.mark.parametrize("left", [1, 2, BASE - 1])
def test_a_small_count_that_was_forgotten(left):
    """An inner cell stays what it was, and so does everything above it: consistent, but for the small count."""

    def forge(f: Forgery) -> None:
        inner = f.evidence.parts["inner"]
        place = next(i for i, n in enumerate(inner["count"].tolist()) if n == left and inner["rounded"][i] != n)
        codes = [sorted_codes[int(inner[f"code{k}"][place])] for k, sorted_codes in enumerate(listing(f))]
        row = f.table.row(**dict(zip(f.table.variables, codes, strict=True)))
        f.move(row, int(inner["count"][place] - inner["rounded"][place]))
        rounded = inner["rounded"].copy()
        rounded[place] = inner["count"][place]
        f.part("inner", rounded=rounded)

    found = refused_for("small-count", forge, "a small count is published", alone=True)
    assert found


def listing(f: Forgery) -> list[list[str]]:
    from discreet.model.inner import inner_codes

    return [list(codes) for codes in inner_codes(ds.TableSet(f.tables)).values()]


@pytest.mark.parametrize("to", ["above", "below", "base from large", "zero from large"])
def test_an_inner_cell_that_changed_as_it_must_not(to):
    def forge(f: Forgery) -> None:
        inner = f.evidence.parts["inner"]
        small = (inner["count"] > 0) & (inner["count"] < BASE)
        large = inner["count"] > BASE
        place = f.rows(large if "large" in to else small)[0]
        new = {"above": BASE + 1, "below": -1, "base from large": BASE, "zero from large": 0}[to]
        codes = [words[int(inner[f"code{k}"][place])] for k, words in enumerate(listing(f))]
        row = f.table.row(**dict(zip(f.table.variables, codes, strict=True)))
        f.move(row, new - int(inner["rounded"][place]))
        rounded = inner["rounded"].copy()
        rounded[place] = new
        f.part("inner", rounded=rounded)

    message = f"1 inner cell changed without being small, or to something else than 0 or {BASE}"
    forgery = Forgery("small-count")
    forge(forgery)
    assert message in forgery.reasons()


@pytest.mark.parametrize("column", ["count", "rounded"])
def test_an_inner_cell_that_stands_in_no_cell_of_the_table(column):
    """A combination that the table does not have holds people, who are in no total."""

    def forge(f: Forgery) -> None:
        lists = listing(f)
        inner = f.evidence.parts["inner"]
        width = len(lists)
        there = {tuple(int(inner[f"code{k}"][i]) for k in range(width)) for i in range(len(inner["count"]))}
        free = next(c for c in np.ndindex(*(len(words) for words in lists)) if c not in there)
        amounts = {"count": 0, "rounded": 0, column: 5}
        amounts = {"count": 5, "rounded": 5} if column == "count" else amounts
        more = {f"code{k}": np.append(inner[f"code{k}"], free[k]) for k in range(width)}
        more |= {name: np.append(inner[name], amount) for name, amount in amounts.items()}
        f.part("inner", **more)

    what = "original" if column == "count" else "published"
    refused_for("small-count", forge, f"inner cells are missing among the {what} counts")


@pytest.mark.parametrize("column", ["count", "rounded"])
@pytest.mark.parametrize("by", [-1, 1])
def test_counts_are_the_sums_of_their_inner_cells(column, by):
    def forge(f: Forgery) -> None:
        values = f.evidence.parts["inner"][column].copy()
        values[f.rows(values > 5)[0]] += by
        f.part("inner", **{column: values})

    what = "original" if column == "count" else "published"
    refused_for("small-count", forge, f"a {what} count is not the sum of its inner cells")


@pytest.mark.parametrize("by", [-1, 1])
def test_an_inner_cell_that_an_earlier_publication_fixed(by):
    def forge(f: Forgery) -> None:
        inner = f.evidence.parts["inner"]
        place = f.rows(inner["count"] > BASE)[0]
        codes = [words[int(inner[f"code{k}"][place])] for k, words in enumerate(listing(f))]
        f.method(pre_rounded=[[*codes, int(inner["rounded"][place]) + by]])

    refused_for("small-count", forge, "an inner cell is not what an earlier publication fixed")


def test_an_inner_cell_that_was_published_as_zero_before():
    def forge(f: Forgery) -> None:
        inner = f.evidence.parts["inner"]
        place = f.rows(inner["rounded"] == BASE)[0]
        codes = [words[int(inner[f"code{k}"][place])] for k, words in enumerate(listing(f))]
        f.method(pre_rounded=[[*codes, 0]])

    refused_for("small-count", forge, "an inner cell is not what an earlier publication fixed", alone=True)


@pytest.mark.parametrize("base", [1, 0, 4.0, "4"])
def test_a_base_that_is_none(base):
    message = "the base or the tables are not such that this checker knows them"
    refused_for("small-count", lambda f: f.method(base=base), message, alone=True)
