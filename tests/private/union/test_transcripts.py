"""What holders of a union see of each other beyond the checks in ``test_union``: distributions, totals, sizes, and the
card's thousand pairs."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("cryptography")
pytest.importorskip("rbcl")

from discreet.private.parties.conversation import conversation
from discreet.private.parties.randomness import SecretDraws
from discreet.private.parties.together import run_together
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.frames import Transcript
from discreet.private.union import codes, group, protocol, shared_sums
from discreet.private.union.protocol import UnionTerms, union_task
from discreet.private.union.simulation import sizes_task
from tests.private.parties import listening
from tests.private.union.test_union import (
    TERMS,
    equal_data,
    example,
    file_of,
    helper_view,
    run,
    whole,
    with_numbers,
)

ONE = (1).to_bytes(32, "little")


@pytest.mark.parametrize("tenth", range(10))
def test_the_union_of_a_thousand_random_pairs(tenth):
    rng = np.random.default_rng(tenth)
    for number in range(100):
        a, b = (set(rng.choice(8, rng.integers(0, 6), replace=False).tolist()) for _ in range(2))
        if number < 4:  # nothing shared, one in the other, and an empty helper
            a, b = [({0, 1}, {2, 3}), ({0, 1}, {0, 1, 2}), ({0, 1, 2}, {0, 1}), ({0, 1}, set())][number]
        files = {"A": file_of([f"p{k}" for k in a], whole(a)), "B": file_of([f"p{k}" for k in b], whole(-k for k in b))}
        found = run(files)[0]["A"]
        assert sorted(row["x"] for row in found.rows) == sorted([*a, *(-k for k in b - a)])
        assert (found.union, found.shared) == (len(a | b), len(a & b))


def keys_of(monkeypatch, module):
    """All secret numbers that are drawn from now on, by their purposes."""
    found: dict[tuple[str, ...], list[bytes]] = {}
    plain = group.secret_scalar

    def kept(draws, *purpose):
        found.setdefault(purpose, []).append(plain(draws, *purpose))
        return found[purpose][-1]

    monkeypatch.setattr(module, "secret_scalar", kept)
    return found


def step_six(record, key, own, other, union):
    """What the helper has when its key is off, and what it saw and sent before."""
    first, third, fifth = helper_view(record, own, other, union)
    sixth = [b"".join(group.times(group.inverse(key), listening.in_pieces(one))) for one in fifth]
    return first, third, sixth


def test_with_its_key_off_the_helper_recognises_no_field(monkeypatch):
    keys = keys_of(monkeypatch, protocol)
    _, record = run(equal_data())
    first, third, sixth = step_six(record, keys["key", "data"][1], 40, 40, 60)
    assert listening.repeated([b"".join(one) for one in (first, third, sixth)], 32) == []
    assert {len(one) for one in (*first, *third, *sixth)} == {len(first[0])}


def test_without_salt_it_recognises_the_initiators_equal_data(monkeypatch):
    keys = keys_of(monkeypatch, protocol)
    monkeypatch.setattr(protocol, "salts_for", lambda draws, n, blocks: [bytes(8 * blocks)] * n)
    monkeypatch.setattr(protocol, "_require_distinct", lambda points, *_: points)
    _, record = run(equal_data())
    first, _, sixth = step_six(record, keys["key", "data"][1], 40, 40, 60)
    assert set(first) & set(sixth)


def inner(record, steps=("1: own", "2: own", "3: records", "5: union", "8: data")):
    """The middle of all points of each message: the ends of a point are not any byte."""
    return {
        what: [point[1:31] for point in listening.in_pieces(listening.said(record, what)[0].body)] for what in steps
    }


def test_points_look_like_any_points():
    files = {name: file_of([f"{name}{k}" for k in range(180)], ["same"] * 180) for name in "AB"}
    for points in inner(run(files)[1]).values():
        assert listening.uneven([b"".join(points)]) == []


def test_points_without_a_key_do_not(monkeypatch):
    plain = group.secret_scalar
    monkeypatch.setattr(
        protocol, "secret_scalar", lambda draws, *purpose: ONE if purpose[-1] == "data" else plain(draws, *purpose)
    )
    files = {name: file_of([f"{name}{k}" for k in range(180)], ["same"] * 180) for name in "AB"}
    found = inner(run(files)[1])
    for what in ("1: own", "3: records", "5: union", "8: data"):
        assert listening.uneven([b"".join(found[what])]) != []


def test_greetings_and_what_is_carried_hold_no_value_either():
    files = {
        "A": file_of([f"person-{k}" for k in range(30)], [f"income-{k}" for k in range(30)]),
        "B": file_of([f"person-{k}" for k in range(20, 50)], [f"illness-{k}" for k in range(20, 50)]),
    }
    _, record = run(files)
    values = [value.encode() for one in files.values() for column in one.values() for value in column]
    assert any(one.what == "greeting" for one in record.messages)
    assert listening.plain_values([one.body for one in record.messages], values) == []


def test_another_version_of_spelling_is_named_before_anything_is_sent(monkeypatch):
    record, talks = Transcript(), {}
    for name, version in {"A": protocol.NORMALISER, "B": protocol.NORMALISER + 1}.items():
        monkeypatch.setattr(protocol, "NORMALISER", version)
        talks[name] = conversation(name, union_task(("A", "B"), name, example()[name], TERMS), record=record)
    with pytest.raises(ProtocolError, match="normaliser") as caught:
        run_together(talks, record)
    assert caught.value.kind == "other plan"
    assert {one.what for one in record.messages} == {"greeting"}


# ---- totals ------------------------------------------------------------------------------------------------------


TOTAL = UnionTerms(("id",), ("x",), min_records=0, sum_column="n", min_shared=5)


def ciphers(record, rows):
    """The encrypted values of step 3 and the encrypted total of step 5, as points."""
    third, fifth = (listening.said(record, what)[0].body for what in ("3: records", "5: union"))
    return listening.in_pieces(third[-64 * rows :]), listening.in_pieces(fifth[:64])


def test_a_total_shows_lengths_alone(monkeypatch):
    monkeypatch.setattr(shared_sums, "SMALL", 2**8)
    records = [run(with_numbers(30, values), TOTAL)[1] for values in ([7] * 60, list(range(100, 160)), [7] * 60)]
    shapes = [[(one.sender, one.what, len(one.body)) for one in record.messages] for record in records]
    assert shapes[0] == shapes[1] == shapes[2]
    points = [point for record in records for part in ciphers(record, 60) for point in part]
    assert len(points) == 3 * 122
    assert listening.repeated([b"".join(points)], 32) == []
    guesses = [shared_sums.number_point(value) for value in range(2000)]
    assert listening.guessed_identifiers(points, guesses) == []
    assert listening.uneven([b"".join(point[1:31] for point in points)]) == []


def test_values_under_one_mask_show_which_are_equal(monkeypatch):
    """The negative: the chance of one value serves all of them."""
    monkeypatch.setattr(shared_sums, "SMALL", 2**8)
    plain = group.secret_scalar
    monkeypatch.setattr(
        shared_sums, "secret_scalar", lambda draws, *purpose: ONE if purpose[0] == "value" else plain(draws, *purpose)
    )
    values, _ = ciphers(run(with_numbers(30, [7] * 60), TOTAL)[1], 60)
    assert listening.repeated([b"".join(values)], 32) == ["a block occurs twice"]


# ---- sizes alone -------------------------------------------------------------------------------------------------


def sized(spelling="person"):
    """Three holders of 40 records each, 20 of them in all three."""
    record, names = Transcript(), ("A", "B", "C")
    files = {
        name: {"id": [f"{spelling}-{k}" for k in range(20)] + [f"{spelling}-{name}{k}" for k in range(20)]}
        for name in names
    }
    talks = {
        name: conversation(name, sizes_task(names, name, one, ["id"], 5), record=record) for name, one in files.items()
    }
    return run_together(talks, record)["A"], record, [text.encode() for one in files.values() for text in one["id"]]


def hops(record):
    """Lists on their way, by step and sender."""
    found = {}
    for one in listening.said(record, "sizes: hop"):
        found[one.what, one.sender] = listening.in_pieces(one.body)
    return found


def test_sizes_show_no_identifier_and_no_point_twice_on_the_way():
    found, record, identifiers = sized()
    assert (found["A&B"], found["union"]) == (20, 80)
    assert listening.plain_values([one.body for one in record.messages], identifiers) == []
    passed = hops(record)
    assert len(passed) == 6
    assert listening.repeated([b"".join(points) for points in passed.values()], 32) == []
    assert listening.uneven([b"".join(point[1:31] for points in passed.values() for point in points)]) == []
    shapes = [
        [(one.sender, one.what, len(one.body)) for one in other.messages] for other in (record, sized("somebody")[1])
    ]
    assert len(shapes[0]) == len(shapes[1])
    assert [one for one in shapes[0] if one[1] != "greeting"] == [one for one in shapes[1] if one[1] != "greeting"]


def test_sizes_under_one_key_show_who_is_shared(monkeypatch):
    monkeypatch.setattr(codes, "secret_scalar", lambda draws, *purpose: ONE)
    passed = hops(sized()[1])
    assert listening.repeated([b"".join(points) for points in passed.values()], 32) == ["a block occurs twice"]


def test_lists_of_sizes_change_their_order_at_every_hop(monkeypatch):
    def orders():
        keys = keys_of(monkeypatch, codes)
        passed = hops(sized()[1])
        (drawn,) = keys.values()
        found = []
        for (what, sender), points in passed.items():
            if what == "sizes: hop 1":
                after = passed["sizes: hop 2", "ABCA"["ABC".index(sender) + 1]]
                places = [{group.times(key, [one])[0]: k for k, one in enumerate(points)} for key in drawn]
                (known,) = [one for one in places if after[0] in one]
                found += listening.same_order(range(40), [known[one] for one in after])
        return found

    assert orders() == []
    monkeypatch.setattr(SecretDraws, "order", lambda self, count, *purpose: np.arange(count))
    assert len(orders()) == 3


def test_codes_that_are_joined_show_on_the_way_neither_codes_nor_who_shares_them():
    import discreet as ds

    names = [f"district {k}" for k in range(12)]
    owners = {name: {"g": np.repeat(names[first : first + 8], 9)} for name, first in zip("ABC", (0, 2, 4), strict=True)}
    table = ds.private.join(owners, levels={"g": names}).table(["g"], sparse=True)
    for name in "ABC":
        told = [
            one.body
            for what in ("hop", "back")
            for one in listening.said(table.transcript, f"occupied cells: {what}", to=name)
        ]
        assert len(told) == (2 if name == "A" else 3)
        assert listening.repeated([b"".join(told)], 32) == []
        assert listening.plain_values(told, [name.encode() for name in names]) == []


def test_the_first_owner_learns_which_owners_share_how_many_cells_as_stated():
    import discreet as ds

    names = [f"district {k}" for k in range(12)]
    owners = {name: {"g": np.repeat(names[first : first + 8], 9)} for name, first in zip("ABC", (0, 2, 4), strict=True)}
    table = ds.private.join(owners, levels={"g": names}).table(["g"], sparse=True)
    held = {
        one.sender: set(listening.in_pieces(one.body))
        for one in listening.said(table.transcript, "occupied cells: hidden")
    }
    assert len(held["B"] & held["C"]) == 4  # lists of C and of A, which these hold at the end
    stated = [one.learns for one in ds.private.party_statements() if one.who == "first owner"]
    assert stated == ["besides: how many cells each set of owners occupies together, not which cells"]
