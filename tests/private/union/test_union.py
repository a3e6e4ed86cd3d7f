"""The union of two files, by the checks of its card.

| check of the card | test |
|---|---|
| 1 union of random pairs, with all borders | test_the_union_is_that_of_the_files |
| 2 keys commute and can be taken off | test_keys_commute_and_can_be_taken_off |
| 3 step 6 shows nothing of step 3, one length, all distinct | test_the_helper_recognises_none_of_its_fields |
| 4 orders are independent | test_orders_are_independent |
| 5 without salt check 3 fails | test_without_salt_equal_data_show |
| 6 filler outside the group | test_what_is_no_point_ends_the_run |
| 7 invalid point, row count, duplicate, version | test_what_is_no_point_ends_the_run and those below it |
| 8 no plain value in any message | test_no_identifier_or_value_of_the_other_is_in_any_message |
| 9 10,000 by 10,000 | `python -m benchmarks union` |
"""

from __future__ import annotations

import hashlib
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("cryptography")
pytest.importorskip("rbcl")

import rbcl

import discreet as ds
from discreet.errors import InputError, ParameterError
from discreet.private import ProtocolError, UnionTerms
from discreet.private.parties.conversation import conversation
from discreet.private.parties.randomness import SecretDraws
from discreet.private.parties.rounds import TalkRound
from discreet.private.parties.together import run_together
from discreet.private.retrieval.frames import Transcript
from discreet.private.union import group, protocol, records
from discreet.private.union.protocol import union_task
from tests.private.parties import listening

TERMS = UnionTerms(("id",), ("x",), min_records=0)


def file_of(names, values=None):
    return {"id": list(names), "x": values if values is not None else list(names)}


def whole(values):
    """Whole numbers, also where there are none."""
    return np.array(list(values), dtype=np.int64)


def example():
    """The example of the card: 12 and 10 records, 4 of them shared with other data."""
    a = file_of([f"id{k}" for k in range(12)], [f"A's value {k}" for k in range(12)])
    b = file_of([f"id{k}" for k in range(8, 18)], [f"B's value {k}" for k in range(8, 18)])
    return {"A": a, "B": b}


def kind_of(do) -> str:
    with pytest.raises(ProtocolError) as caught:
        do()
    return caught.value.kind


def run(files, terms=TERMS, meddle=None, change=None):
    """Both results, with a carrier or a holder that does something else."""
    names, record = tuple(files), Transcript()
    talks = {}
    for name, data in files.items():
        task = union_task(names, name, data, terms)
        if change is not None and name in change:
            task = changed(task, change[name])
        talks[name] = conversation(name, task, record=record)
    return run_together(talks, record, meddle=meddle), record


def changed(task, alter):
    """A holder that alters what it says: ``alter(what, body)``."""
    from dataclasses import replace

    def work(desk):
        talk, heard = task.work(desk), None
        try:
            while True:
                said = next(talk) if heard is None else talk.send(heard)
                says = {to: alter(said.what, body) for to, body in said.says.items()}
                heard = yield TalkRound(said.what, says, said.hears)
        except StopIteration as stop:
            return stop.value

    return replace(task, work=work)


def test_the_example_of_the_card():
    found = ds.private.unite(example(), ["id"], ["x"])
    own = [f"A's value {k}" for k in range(12)]
    assert (found.own, found.other, found.union, found.shared) == (12, 10, 18, 4)
    assert sorted(row["x"] for row in found.rows) == sorted(own + [f"B's value {k}" for k in range(12, 18)])
    helper = run(example())[0]["B"]
    assert helper.rows is None
    assert helper.chance == 4 / 10
    assert helper.summary() == (
        "own records 10; the other's 12; union 18; shared 4\n"
        "Data differ from record to record: they may identify by themselves. Protect them before use."
    )


@settings(max_examples=60, deadline=None)
@given(st.sets(st.integers(0, 15)), st.sets(st.integers(0, 15)))
def test_the_union_is_that_of_the_files(a, b):
    files = {"A": file_of([f"p{k}" for k in a], whole(a)), "B": file_of([f"p{k}" for k in b], whole(-k for k in b))}
    both, _ = run(files)
    assert sorted(row["x"] for row in both["A"].rows) == sorted([*a, *(-k for k in b - a)])
    for found in both.values():
        assert (found.union, found.shared) == (len(a | b), len(a & b))
    assert both["A"].seal == both["B"].seal


@pytest.mark.parametrize(
    ("a", "b"), [(range(6), range(6, 12)), (range(3), range(9)), (range(9), range(3)), (range(4), range(4)), ((), ())]
)
def test_borders(a, b):
    files = {"A": file_of([f"p{k}" for k in a], whole(a)), "B": file_of([f"p{k}" for k in b], whole(-k for k in b))}
    found = run(files)[0]["A"]
    assert sorted(row["x"] for row in found.rows) == sorted([*a, *(-k for k in set(b) - set(a))])


def test_keys_commute_and_can_be_taken_off():
    draws = SecretDraws()
    a, b = group.secret_scalar(draws, "a"), group.secret_scalar(draws, "b")
    points = group.random_points(draws, 20, "points")
    assert group.times(a, group.times(b, points)) == group.times(b, group.times(a, points))
    back = group.times(group.inverse(a), group.times(group.inverse(b), group.times(a, group.times(b, points))))
    assert back == points


def fields_of(body: bytes, rows: int, blocks: int) -> list[bytes]:
    pieces = listening.in_pieces(body[32 * rows :])
    return [b"".join(pieces[k * blocks : (k + 1) * blocks]) for k in range(rows)]


def helper_view(record, own, other, union):
    """What the helper sees in steps 1 and 5, and what it sent in step 3: data fields."""
    (first,) = listening.said(record, "1: own records", to="B")
    (third,) = listening.said(record, "3: records", to="A")
    (fifth,) = listening.said(record, "5: union", to="B")
    blocks = len(third.body) // 32 // own - 1
    return (
        fields_of(first.body, other, blocks),
        fields_of(third.body, own, blocks),
        fields_of(fifth.body, union, blocks),
    )


def equal_data():
    return {
        "A": file_of([f"p{k}" for k in range(40)], ["same"] * 40),
        "B": file_of([f"p{k}" for k in range(20, 60)], ["same"] * 40),
    }


def recognised(record) -> list[str]:
    """Fields that look alike, to the helper or to anybody."""
    first, third, fifth = helper_view(record, 40, 40, 60)
    found = listening.repeated([b"".join(first), b"".join(third), b"".join(fifth)], 32)
    return found + (["lengths differ"] if len({len(one) for one in (*first, *third, *fifth)}) > 1 else [])


def test_the_helper_recognises_none_of_its_fields():
    _, record = run(equal_data())
    assert recognised(record) == []
    (last,) = listening.said(record, "8: data", to="A")
    assert listening.repeated([last.body], 32) == []


def test_without_salt_equal_data_show(monkeypatch):
    """The negative of the check above; the protocol itself stops over points that occur twice."""
    monkeypatch.setattr(protocol, "salts_for", lambda draws, n, blocks: [bytes(8 * blocks)] * n)
    assert kind_of(lambda: run(equal_data())) == "duplicate record"
    monkeypatch.setattr(protocol, "_require_distinct", lambda points, *_: points)
    _, record = run(equal_data())
    assert recognised(record) == ["a block occurs twice"]


def test_orders_are_independent(monkeypatch):
    keys = {}
    plain = group.secret_scalar

    def kept(draws, *purpose):
        keys.setdefault(purpose, []).append(plain(draws, *purpose))
        return keys[purpose][-1]

    monkeypatch.setattr(protocol, "secret_scalar", kept)
    assert order_findings(*run(equal_data()), keys) == []
    keys.clear()
    monkeypatch.setattr(SecretDraws, "order", lambda self, count, *purpose: np.arange(count))
    assert order_findings(*run(equal_data()), keys) != []


def order_findings(_, record, keys) -> list[str]:
    """Follow every record of A through step 2 with the helper's key, which only this test has."""
    _, helper_key = keys["key", "identifiers"]
    (first,), (second,) = listening.said(record, "1: own records"), listening.said(record, "2: own identifiers")
    sent = listening.in_pieces(first.body[: 32 * 40])
    came = listening.in_pieces(second.body)
    where = {rbcl.crypto_scalarmult_ristretto255(helper_key, point): k for k, point in enumerate(sent)}
    return listening.same_order(range(40), [where[point] for point in came])


def test_no_identifier_or_value_of_the_other_is_in_any_message():
    files = {
        "A": file_of([f"person-{k}" for k in range(30)], [f"income-{k}" for k in range(30)]),
        "B": file_of([f"person-{k}" for k in range(20, 50)], [f"illness-{k}" for k in range(20, 50)]),
    }
    _, record = run(files)
    values = [value.encode() for one in files.values() for column in one.values() for value in column]
    bodies = [one.body for one in record.messages if one.what != "greeting"]
    assert listening.plain_values(bodies, values) == []
    for what in ("1: own", "2: own", "3: records", "5: union", "8: data"):
        body = listening.said(record, what)[0].body
        # Of a point the last byte is below 128 and the first is even; all between is even.
        assert listening.repeated([body], 32) == []
    assert listening.repeated([one.body for one in listening.carried(record) if one.what != "greeting"]) == []


def test_identifiers_cannot_be_guessed_without_the_key(monkeypatch):
    files = equal_data()

    def guesses(session):
        text = lambda name: b"".join(  # noqa: E731
            len(part).to_bytes(4, "big") + part for part in (f"discreet union 2 {session}".encode(), name.encode())
        )
        return [rbcl.crypto_core_ristretto255_from_hash(hashlib.sha512(text(f"p{k}")).digest()) for k in range(100)]

    sessions = []
    monkeypatch.setattr(
        protocol,
        "_hashed",
        lambda desk, own, key, plain=protocol._hashed: sessions.append(desk.session.hex()) or plain(desk, own, key),
    )
    _, record = run(files)
    sent = listening.in_pieces(listening.said(record, "1: own records")[0].body)
    assert listening.guessed_identifiers(sent, guesses(sessions[0])) == []
    one = (1).to_bytes(32, "little")
    monkeypatch.setattr(protocol, "secret_scalar", lambda draws, *purpose: one)
    _, record = run(files)
    sent = listening.in_pieces(listening.said(record, "1: own records")[0].body)
    assert listening.guessed_identifiers(sent, guesses(sessions[-1])) != []


def test_two_runs_have_nothing_in_common():
    def points(record):
        return {one for m in record.messages if m.what[0].isdigit() for one in listening.in_pieces(m.body)}

    one, other = (points(run(equal_data())[1]) for _ in range(2))
    assert len(one) == 300
    assert not one & other


def test_lengths_tell_sizes_and_nothing_else():
    files = equal_data()
    other = {
        "A": file_of([f"q{k}" for k in range(40)], ["else"] * 40),
        "B": file_of([f"q{k}" for k in range(20, 60)], ["more"] * 40),
    }
    one, two = (
        [(message.sender, message.what, len(message.body)) for message in run(given)[1].messages]
        for given in (files, other)
    )
    assert one == two


NO_POINT = bytes([1]) + bytes(31)
"""Odd first byte: no point of the group."""


@pytest.mark.parametrize(
    "step", ["1: own records", "2: own identifiers", "3: records of the other", "5: union", "8: data"]
)
@pytest.mark.parametrize("bad", [NO_POINT, bytes(32)], ids=["no point", "neutral element"])
def test_what_is_no_point_ends_the_run(step, bad):
    alter = lambda what, body: body[:-32] + bad if what == step else body  # noqa: E731
    name = "A" if step[0] in "15" else "B"
    assert kind_of(lambda: run(example(), change={name: alter})) == "element outside the group"


@pytest.mark.parametrize(
    "step", ["1: own records", "2: own identifiers", "3: records of the other", "5: union", "8: data"]
)
def test_another_number_of_rows_ends_the_run(step):
    alter = lambda what, body: body[:-32] if what == step else body  # noqa: E731
    name = "A" if step[0] in "15" else "B"
    assert kind_of(lambda: run(example(), change={name: alter})) == "wrong row count"


@pytest.mark.parametrize("step", ["1: own records", "2: own identifiers", "3: records of the other", "5: union"])
def test_a_hash_twice_ends_the_run(step):
    alter = lambda what, body: body[:32] + body[:32] + body[64:] if what == step else body  # noqa: E731
    name = "A" if step[0] in "15" else "B"
    assert kind_of(lambda: run(example(), change={name: alter})) == "duplicate record"


def test_a_union_without_the_initiators_own_records_ends_the_run():
    def alter(what, body):
        if what != "5: union":
            return body
        stranger = group.random_points(SecretDraws(), 18, "strangers")
        return b"".join(stranger) + body[32 * 18 :]

    assert kind_of(lambda: run(example(), change={"A": alter})) == "wrong row count"


def test_a_field_that_holds_no_data_ends_the_run():
    def alter(what, body):
        if what != "8: data":
            return body
        count = len(body) // 32
        return b"".join(group.random_points(SecretDraws(), count, "fields"))

    assert kind_of(lambda: run(example(), change={"B": alter})) == "tampered"


@pytest.mark.parametrize("number", range(8))
def test_every_message_that_is_altered_ends_the_run(number):
    def meddle(round_number, sender, to, body):
        return body[:-1] + bytes([body[-1] ^ 1]) if round_number == number else body

    assert kind_of(lambda: run(example(), meddle=meddle)) == "tampered"


@pytest.mark.parametrize("number", range(1, 8))
def test_a_message_of_another_round_ends_the_run(number):
    last = {}

    def meddle(round_number, sender, to, body):
        old = last.get((sender, to), body)
        last[sender, to] = body
        return old if round_number == number else body

    assert kind_of(lambda: run(example(), meddle=meddle)) in ("replayed message", "wrong version")


def test_a_message_of_an_earlier_run_ends_the_run():
    kept = {}
    run(example(), meddle=lambda number, sender, to, body: kept.setdefault((number, sender), body))
    assert (
        kind_of(
            lambda: run(
                example(),
                meddle=lambda n, sender, to, body: kept[n, sender] if n == 3 and (n, sender) in kept else body,
            )
        )
        == "tampered"
    )


@pytest.mark.parametrize("number", range(1, 6))
def test_a_message_that_does_not_come_ends_the_run(number):
    assert kind_of(lambda: run(example(), meddle=lambda n, *rest: None if n == number else rest[-1])) == "party left"


def test_another_version_ends_the_run():
    meddle = lambda number, sender, to, body: body[:4] + bytes([9]) + body[5:] if number == 1 else body  # noqa: E731
    assert kind_of(lambda: run(example(), meddle=meddle)) == "wrong version"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"id_columns": ("name",)}, "id columns"),
        ({"data_columns": ("y",)}, "data columns"),
        ({"purpose": "else"}, "purpose"),
        ({"sum_column": "n"}, "sum column"),
    ],
)
def test_other_terms_are_named_before_anything_is_sent(change, named):
    from dataclasses import replace

    files = example()
    for one in files.values():
        one |= {"name": one["id"], "y": one["x"], "n": list(range(len(one["id"])))}
    record, talks = Transcript(), {}
    for name, terms in {"A": TERMS, "B": replace(TERMS, **change)}.items():
        talks[name] = conversation(name, union_task(("A", "B"), name, files[name], terms), record=record)
    with pytest.raises(ProtocolError, match=named) as caught:
        run_together(talks, record)
    assert caught.value.kind == "other plan"
    assert {one.what for one in record.messages} == {"greeting"}


def test_other_kinds_of_values_are_named():
    files = example()
    files["B"]["x"] = list(range(10))
    with pytest.raises(ProtocolError, match="kind of 'x'"):
        run(files)


def test_spelling_does_not_matter_and_rules_have_a_version(monkeypatch):
    assert records.normalised("  Ｍeier\t STRASSE ") == "meier strasse"
    assert records.normalised("Straße") == records.normalised("STRASSE")
    one, other = file_of(["Ada  Lovelace"], [1]), file_of(["ADA LOVELACE "], [2])
    assert run({"A": one, "B": other})[0]["A"].shared == 1


def test_duplicates_inside_a_file_are_refused_before_anything_is_sent():
    files = example()
    files["A"]["id"][0] = files["A"]["id"][1].upper()
    assert kind_of(lambda: run(files)) == "duplicate record"


def test_small_files_are_refused():
    files = example()
    assert kind_of(lambda: run(files, UnionTerms(("id",), ("x",), min_records=11))) == "too small"
    assert kind_of(lambda: ds.private.unite({"A": file_of(["p"]), "B": files["B"]}, ["id"], ["x"])) == "too small"


def test_missing_identifiers_and_columns_of_both_kinds_are_refused():
    with pytest.raises(InputError, match="lack an identifier"):
        run({"A": file_of(["a", None]), "B": file_of(["b"])})
    with pytest.raises(ParameterError, match="overlap"):
        run(example(), UnionTerms(("id",), ("id",)))


def with_numbers(shared: int, numbers: list[int]):
    """Two files that share so many of the helper's records, which have numbers."""
    b = file_of([f"p{k}" for k in range(len(numbers))])
    return {"A": file_of([f"p{k}" for k in range(shared)]), "B": {**b, "n": numbers}}


def test_the_total_over_shared_records():
    files = with_numbers(30, [10**k % 97 for k in range(60)])
    terms = UnionTerms(("id",), ("x",), min_records=0, sum_column="n", min_shared=30)
    both, _ = run(files, terms)
    assert {one.shared_sum for one in both.values()} == {sum(files["B"]["n"][:30])}
    few = UnionTerms(("id",), ("x",), min_records=0, sum_column="n", min_shared=31)
    assert kind_of(lambda: run(files, few)) == "too small"


def test_a_total_that_would_tell_the_helper_who_is_shared_is_not_told(monkeypatch):
    """The attack: the helper knows all values, and looks which sets of its records have that total."""
    numbers = [int(one) for one in np.random.default_rng(2).integers(10**6, 10**7, 16)]
    files = with_numbers(12, numbers)
    terms = UnionTerms(("id",), ("x",), min_records=0, sum_column="n")
    assert kind_of(lambda: run(files, terms)) == "too small"
    monkeypatch.setattr(protocol, "require_choices", lambda *_: None)
    total = run(files, terms)[0]["B"].shared_sum
    sets = [one for one in itertools.combinations(range(16), 12) if sum(numbers[k] for k in one) == total]
    assert sets == [tuple(range(12))]


def test_the_helper_itself_refuses_a_total_over_few_records(monkeypatch):
    files = example()
    files["B"]["n"] = list(range(10))
    record, talks = Transcript(), {}
    for name, least in {"A": 1, "B": 5}.items():
        terms = UnionTerms(("id",), ("x",), min_records=0, sum_column="n", min_shared=least)
        talks[name] = conversation(name, union_task(("A", "B"), name, files[name], terms), record=record)
    assert kind_of(lambda: run_together(talks, record)) == "too small"
    assert listening.said(record, "8: data") == []


def test_made_up_records_hide_sizes_and_are_dropped():
    files = example()
    found = ds.private.unite(files, ["id"], ["x"], pad_to=40)
    assert (found.own, found.other, found.union) == (40, 40, 76)
    plain = ds.private.unite(files, ["id"], ["x"])
    assert sorted(row["x"] for row in found.rows) == sorted(row["x"] for row in plain.rows)


def test_the_commitment_of_a_holder_can_be_opened_by_it():
    found = run(example())[0]["A"]
    digest = union_task(("A", "B"), "A", example()["A"], TERMS).digest
    opened = hashlib.sha256(b"discreet commitment" + bytes.fromhex(found.opening) + digest).hexdigest()
    assert opened == found.commitment


def test_sizes_alone_of_three_files():
    files = {name: {"id": list(range(k, k + 20))} for name, k in {"A": 0, "B": 10, "C": 15}.items()}
    found = ds.private.union_sizes(files, ["id"])
    assert found == {"A": 20, "B": 20, "C": 20, "A&B": 10, "A&C": 5, "B&C": 15, "union": 35}
    files["C"] = {"id": list(range(3))}
    assert kind_of(lambda: ds.private.union_sizes(files, ["id"])) == "too small"
