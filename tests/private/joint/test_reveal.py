"""What curious owners would work out of opened sums: of codes that look like numbers, of one person far out, and of
two runs that differ by a record. The attackers read transcripts and share no code with the checks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, ParameterError
from discreet.private.joint import vertical
from discreet.private.joint.account import accounted, new_account
from discreet.private.joint.models import regression_task
from discreet.private.joint.newton import NewtonTerms
from discreet.private.joint.safety import RevealLimits
from discreet.private.joint.sums import WAYS, all_say_yes
from discreet.private.parties.conversation import conversation, plan_of
from discreet.private.parties.rounds import PartyTask
from discreet.private.parties.together import run_together
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.frames import Transcript
from tests.private.joint.pooled import people
from tests.private.parties import listening

NAMES = "ABC"


def opened(record: Transcript, what: str) -> list[float] | None:
    """A sum as any owner reads it off the parts that all show; ``None`` where it was not opened."""
    parts = {one.sender: one.body[32:] for one in record.messages if one.what == f"{what}: parts"}
    if not parts:
        return None
    numbers = [
        [int.from_bytes(body[k : k + 16], "little") for k in range(0, len(body) - 16, 16)] for body in parts.values()
    ]
    totals = [sum(column) % 2**128 for column in zip(*numbers, strict=True)]
    return [(one - 2**128 if one >> 127 else one) / 2**40 for one in totals]


def refused(owners, model="linear", formula="z ~ x", limits=None) -> str:
    """The words of a refusal before X'X is opened."""
    together = ds.private.join(owners, limits=limits)
    with pytest.raises(ProtocolError) as caught:
        getattr(together, model)(formula)
    assert caught.value.kind == "not safe to reveal"
    assert opened(together.transcript, "X'X") is None
    return str(caught.value)


@pytest.mark.parametrize("few", [1, 2])
@pytest.mark.parametrize(("usual", "rare"), [(1, 0), (0, 1), (1, 2), (2, 0)])
def test_numbers_that_are_codes_are_counted_as_codes(usual, rare, few):
    owners = people(NAMES)
    for one in owners.values():
        one["f"] = np.full(200, usual)
    owners["B"]["f"][:few] = rare
    assert "cells of fewer than 3" in refused(owners, "logit", "y ~ x + f")


def test_persons_of_one_outcome_among_a_number_that_is_a_code_are_counted():
    owners = people(NAMES)
    for one in owners.values():
        one["f"] = np.where(np.arange(200) < 30, 2, 1)
        one["y"][:30] = 0
    owners["C"]["y"][0] = 1
    assert "cells of fewer than 3" in refused(owners, "logit", "y ~ x + f")


@pytest.mark.parametrize("both", [(0, 0), (0, 1), (1, 0)])
def test_pairs_of_numbers_that_are_codes_are_counted(both):
    """Each code has many persons, and one pair of codes has one person: n, two sums and a sum of products show it."""
    owners = people(NAMES)
    kept = [pair for pair in ((0, 0), (0, 1), (1, 0), (1, 1)) if pair != both]
    for one in owners.values():
        one["f"], one["h"] = np.array([kept[k % 3] for k in range(200)]).T
    owners["B"]["f"][0], owners["B"]["h"][0] = both
    assert "cells of fewer than 3" in refused(owners, "linear", "z ~ f + h")


@pytest.mark.parametrize("model", ["linear", "logit", "poisson"])
def test_an_outcome_of_0_and_1_is_counted_by_codes_in_every_model(model):
    owners = people(NAMES)
    for one in owners.values():
        one["y"][one["g"] == "b"] = 0
    owners["B"]["y"][np.flatnonzero(owners["B"]["g"] == "b")[0]] = 1
    assert "cells of fewer than 3" in refused(owners, model, "y ~ g")


def test_numbers_that_are_codes_of_many_are_no_problem():
    owners = people(NAMES)
    for one in owners.values():
        one["f"], one["s"] = np.arange(200) % 2, 1 + np.arange(200) % 5
    assert ds.private.join(owners).logit("y ~ x + f + s").persons == 600


@pytest.mark.parametrize("column", ["x", "z"])
@pytest.mark.parametrize("value", [1e3, -1e5])
def test_a_person_far_out_is_not_revealed(column, value):
    owners = people(NAMES)
    owners["B"][column][7] = value
    assert "persons are far out" in refused(owners)


def test_without_the_search_a_person_far_out_could_be_read_off():
    owners = people(NAMES)
    owners["B"]["x"][7] = 123_456.789
    together = ds.private.join(owners, limits=RevealLimits(min_cell=1))
    with pytest.raises(ProtocolError, match="leverage"):
        together.linear("z ~ x")
    shown = opened(together.transcript, "X'X")
    assert shown is not None
    assert np.sqrt(shown[2]) == pytest.approx(123_456.789, rel=1e-6)


def test_a_person_that_hides_among_the_asking_owners_own_is_not_revealed():
    owners = people(NAMES)
    owners["A"]["x"][:5] = 900.0
    owners["B"]["x"][7] = 1000.0
    assert "persons are far out" in refused(owners)
    owners["B"]["x"][7:20] = 1000.0
    owners["C"]["x"][7:20] = 1000.0
    assert ds.private.join(owners).linear("z ~ x").persons == 600


def test_a_long_tail_is_no_person_far_out():
    rng = np.random.default_rng(5)
    owners = {name: {"x": rng.lognormal(10, 0.8, 400), "z": rng.normal(size=400)} for name in NAMES}
    assert ds.private.join(owners).linear("z ~ x").persons == 1200


def test_a_model_that_tells_every_outcome_is_withheld():
    owners = people(NAMES)
    for one in owners.values():
        one["z"] = 3 * one["x"] + 1
    with pytest.raises(ProtocolError, match="fits perfectly"):
        ds.private.join(owners).linear("z ~ x")
    person, x = np.arange(60), np.random.default_rng(1).normal(size=60)
    with pytest.raises(ProtocolError, match="fits perfectly"):
        ds.private.join_columns(
            {"tax": {"person": person, "z": 2 * x}, "health": {"person": person, "x": x}}, "z", match="person"
        )


def solved(fit, x) -> set[tuple[int, ...]]:
    """The attack of an owner of columns: which three persons have a sum of its x that the other's code has."""
    parts = [one.body for one in fit.transcript.messages if one.what == "parts of products"]
    numbers = [[int.from_bytes(body[k : k + 16], "little") for k in range(0, len(body), 16)] for body in parts]
    total = (numbers[0][2] + numbers[1][2]) % 2**128  # columns 1, x, z by code and u
    goal = (total - 2**128 if total >> 127 else total) / 2**26
    order = np.argsort(x)
    rest = goal - x[:, None] - x[None, :]
    place = np.searchsorted(x[order], rest)
    found = set()
    for side in (-1, 0):
        third = order[np.clip(place + side, 0, len(x) - 1)]
        near = np.abs(x[third] - rest) < 5e-8
        found |= {tuple(sorted((int(i), int(j), int(third[i, j])))) for i, j in zip(*np.nonzero(near), strict=True)}
    return {one for one in found if len(set(one)) == 3}


def test_an_owner_of_columns_cannot_solve_for_the_persons_of_a_code(monkeypatch):
    rng = np.random.default_rng(4)
    x, u, rest = rng.normal(size=(3, 400))
    who = sorted(rng.choice(400, 3, replace=False).tolist())
    code = np.isin(np.arange(400), who).astype(float)
    owners = {
        "A": {"person": np.arange(400), "z": x + u + rest, "x": x},
        "B": {"person": np.arange(400), "code": code, "u": u},
    }
    with pytest.raises(ProtocolError, match="could tell which persons have which 'code' of B") as caught:
        ds.private.join_columns(owners, "z", match="person")
    assert caught.value.kind == "not safe to reveal"
    monkeypatch.setattr(vertical, "require_open", lambda *_: None)
    assert tuple(who) in solved(ds.private.join_columns(owners, "z", match="person"), x)


def test_products_are_opened_to_few_digits():
    rng = np.random.default_rng(4)
    x, u, rest = rng.normal(size=(3, 400))
    owners = {"A": {"person": np.arange(400), "z": x + u + rest, "x": x}, "B": {"person": np.arange(400), "u": u}}
    record = ds.private.join_columns(owners, "z", match="person").transcript
    parts = [one.body for one in record.messages if one.what == "parts of products"]
    totals = [
        sum(int.from_bytes(body[k : k + 16], "little") for body in parts) % 2**128 for k in range(0, len(parts[0]), 16)
    ]
    assert all(min(one, 2**128 - one) < 2**36 for one in totals)


def asked(answers, way="shares") -> tuple[list[bool], Transcript]:
    """What all say yes to, and the transcript."""
    names, record = [chr(65 + k) for k in range(len(answers))], Transcript()
    plan = plan_of("questions", names, {})
    tasks = {
        name: PartyTask(plan, lambda desk, own=own: all_say_yes(desk, np.array(own), "asked", way), b"")
        for name, own in zip(names, answers, strict=True)
    }
    talks = {name: conversation(name, task, record=record) for name, task in tasks.items()}
    return run_together(talks, record)["A"].tolist(), record


@settings(max_examples=15, deadline=None)
@given(st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=3, max_size=5), st.sampled_from(WAYS))
def test_all_say_yes_where_nobody_says_no(answers, way):
    assert asked(answers, way)[0] == [all(column) for column in zip(*answers, strict=True)]


def test_how_many_say_no_does_not_show():
    """The total is pure chance whether one owner or all of them say no."""
    for answers in ([[False] * 800, [True] * 800, [True] * 800], [[False] * 800] * 3):
        shown = opened(asked(answers)[1], "asked")
        top = np.array([np.floor(one * 2**40 / 2**120) % 256 for one in shown])
        assert len(set(top)) > 200
        assert abs(top.mean() - 127.5) < 4 * 73.9 / np.sqrt(800)


def fitted(owners, accounts, formula="linear: z ~ x + g"):
    """All owners with their accounts; the fit and the transcript."""
    record, levels = Transcript(), {"g": list("abc")}
    for name in owners:
        if not (accounts / name).exists():
            new_account(accounts / name)
    tasks = {
        name: accounted(regression_task(list(owners), formula, one, levels, NewtonTerms()), accounts / name, 3)
        for name, one in owners.items()
    }
    talks = {name: conversation(name, task, record=record) for name, task in tasks.items()}
    return run_together(talks, record)["A"], record


def more(owners, name, count):
    """The same owners, one of which has some more records."""
    extra = people("X", size=50, seed=9)["X"]
    longer = {column: np.append(values, extra[column][:count]) for column, values in owners[name].items()}
    return {**owners, name: longer}


def kind_of(run) -> str:
    with pytest.raises(ProtocolError) as caught:
        run()
    return caught.value.kind


def test_two_runs_that_differ_by_a_record_would_show_it():
    """The attack: any owner takes the sums of the first run off those of the second."""
    owners = people(NAMES)
    before, after = (ds.private.join(one) for one in (owners, more(owners, "B", 1)))
    for together in (before, after):
        together.linear("z ~ x")
    differences = np.subtract(opened(after.transcript, "X'X"), opened(before.transcript, "X'X"))
    secret = people("X", size=50, seed=9)["X"]["x"][0]
    assert differences == pytest.approx([1, secret, secret**2], rel=1e-9)


@pytest.mark.parametrize("count", [1, 2])
def test_an_account_refuses_a_run_that_few_new_records_would_show_in(tmp_path, count):
    owners = people(NAMES)
    fitted(owners, tmp_path)
    assert kind_of(lambda: fitted(more(owners, "B", count), tmp_path)) == "too many runs"
    assert kind_of(lambda: fitted(more(owners, "B", count), tmp_path, "logit: y ~ x")) == "too many runs"


def test_an_account_lets_pass_what_shows_nobody(tmp_path):
    owners = people(NAMES)
    first = fitted(owners, tmp_path)[0]
    assert np.array_equal(fitted(owners, tmp_path)[0].coefficients, first.coefficients)
    assert fitted(more(owners, "B", 20), tmp_path)[0].persons == 620


def test_an_account_sees_a_corrected_value_and_values_that_change_places(tmp_path):
    owners = people(NAMES)
    fitted(owners, tmp_path)
    for column, values in (("x", [0.5]), ("z", owners["C"]["z"][[1, 0]])):
        changed = {name: dict(one) for name, one in owners.items()}
        changed["C"][column] = np.append(values, owners["C"][column][len(values) :])
        assert kind_of(lambda changed=changed: fitted(changed, tmp_path)) == "too many runs"


def test_an_account_refuses_a_run_without_an_owner_that_was_there(tmp_path):
    owners = people("ABCD")
    fitted(owners, tmp_path)
    assert kind_of(lambda: fitted({name: owners[name] for name in NAMES}, tmp_path)) == "too many runs"


def test_an_account_holds_no_value_and_is_for_its_owner(tmp_path):
    owners = people(NAMES)
    for one in owners.values():
        one["x"] = np.round(one["x"], 6)
    fitted(owners, tmp_path)
    text = (tmp_path / "A").read_text()
    assert not any(f"{value:.6f}".rstrip("0") in text for value in owners["A"]["x"])
    assert (tmp_path / "A").stat().st_mode & 0o077 == 0
    other = json.loads((tmp_path / "B").read_text())
    assert other["key"] != json.loads(text)["key"]


@pytest.mark.parametrize("damage", [b"", b"{}", b"no account"])
def test_nothing_is_run_without_a_good_account(tmp_path: Path, damage):
    owners = people(NAMES)
    fitted(owners, tmp_path)
    (tmp_path / "A").write_bytes(damage)
    with pytest.raises(InputError, match="is damaged"):
        fitted(owners, tmp_path)


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_code_is_no_code(missing):
    owners = people(NAMES)
    owners["A"]["g"] = [missing, *owners["A"]["g"][1:].tolist()]
    with pytest.raises(InputError, match="'g' has no code in 1 rows"):
        ds.private.join(owners, levels={"g": list("abc")}).linear("z ~ g")
    with pytest.raises(InputError, match="'g' has no code in 1 rows"):
        ds.private.join(owners, levels={"g": list("abc")}).table(["g"])


def test_owners_may_be_microdata_and_must_have_names_and_records():
    import pandas as pd

    owners = people(NAMES)
    frames = {name: ds.Microdata(pd.DataFrame(one)) for name, one in owners.items()}
    assert ds.private.join(frames).linear("z ~ x + g").persons == 600
    with pytest.raises(ParameterError, match="by their names"):
        ds.private.join(list(owners.values()))
    owners["A"] = {name: values[:0] for name, values in owners["A"].items()}
    with pytest.raises(InputError, match="has no records"):
        ds.private.join(owners, levels={"g": list("abc")}).linear("z ~ x + g")


def test_the_sparse_way_tells_how_many_cells_each_owner_occupies_as_stated():
    codes = [f"c{k}" for k in range(40)]
    owners = {name: {"g": np.repeat(codes[:count], 9)} for name, count in zip(NAMES, (5, 11, 23), strict=True)}
    table = ds.private.join(owners, levels={"g": codes}).table(["g"], sparse=True)
    hops = [one for one in table.transcript.messages if "hop 1" in one.what]
    assert {one.sender: len(one.body) // 32 for one in hops} == {"A": 5, "B": 11, "C": 23}
    stated = [one.learns for one in ds.private.party_statements() if one.protocol == "joint table, sparse"]
    assert any("how many cells each owner occupies" in one for one in stated)


def test_nothing_but_the_number_of_persons_is_looked_at_with_cells_of_one_as_stated():
    """Codes, a person far out and one who leads alone: X'X is opened, and only then somebody refuses."""
    (told,) = [one.learns for one in ds.private.party_statements() if one.who == "every owner, before X'X is opened"]
    assert "If min_cell is 1, nothing is looked at before X'X but how many persons there are" in told
    owners = people(NAMES)
    owners["B"]["x"][7] = 1e5
    owners["B"]["g"][:] = "a"
    owners["B"]["g"][0] = "b"
    together = ds.private.join(owners, limits=RevealLimits(min_cell=1), levels={"g": list("abc")})
    with pytest.raises(ProtocolError, match="leverage"):
        together.linear("z ~ x + g")
    kinds = {one.what.split(":")[0] for one in listening.said(together.transcript)}
    assert kinds == {"persons, cut off", "kinds of columns", "X'X"}


def test_models_of_codes_alone_with_numbers_as_outcome_are_looked_at_as_stated():
    """All columns are codes, the outcome is not binary: one person may lead its products with a code."""
    (told,) = [one.learns for one in ds.private.party_statements() if one.who == "every owner, before X'X is opened"]
    assert "or if the outcome is binary, all columns are codes and all weights are equal" in told
    owners = people(NAMES)
    owners["A"]["g"][:] = "a"
    owners["A"]["g"][0] = "b"
    for name in "BC":
        owners[name]["g"] = np.repeat(["a", "b", "c"], [80, 60, 60])
    with pytest.raises(ProtocolError, match="Among the records of A alone"):
        ds.private.join(owners, levels={"g": list("abc")}).linear("z ~ g")
    assert ds.private.join(owners, levels={"g": list("abc")}).linear("y ~ g").persons == 600
