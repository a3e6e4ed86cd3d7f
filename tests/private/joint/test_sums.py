"""Secure sums and joint models, by the checks of their card, on what every party and every carrier sees.

| check of the card | test |
|---|---|
| 1 published table by both routes | test_joint_models: test_the_trial_of_the_card_by_newton, ..._by_margins |
| 2 logistic equals pooled | test_joint_models: test_a_logit_is_that_of_the_pooled_file |
| 3 linear equals least squares | test_joint_models: test_a_linear_model_is_that_of_the_pooled_file |
| 4 uniform intermediates, other transcripts | test_what_passes_is_pure_chance, test_the_same_records_look_... |
| 5 two owners | test_joint_models: test_less_than_three_owners_are_refused |
| 6 overflow and NaN | test_joint_models: test_missing_and_too_large_numbers_stop_... |
| 7 zero patterns, separation | test_joint_models: test_a_pattern_that_each_lacks_..., test_separation_in_the_pool_... |
| 8 sparse equals dense | test_joint_models: test_sparse_and_dense_tables_are_the_same |
| 9 basis of X² | test_joint_models: test_the_trial_of_the_card_by_newton, ..._by_margins |
| 10 dropped owner | test_an_owner_that_leaves_leaves_no_sum, test_an_owner_that_does_not_add_is_found |
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("cryptography")
pytest.importorskip("rbcl")

import discreet as ds
from discreet.private import ProtocolError
from discreet.private.joint import small_cells as small_cells_module
from discreet.private.joint import sums as sums_module
from discreet.private.joint.models import regression_task
from discreet.private.joint.newton import NewtonTerms
from discreet.private.joint.small_cells import small_cells
from discreet.private.joint.sums import WAYS, secure_sum
from discreet.private.parties.conversation import conversation, plan_of
from discreet.private.parties.randomness import SecretDraws
from discreet.private.parties.rounds import PartyTask, TalkRound
from discreet.private.parties.sealing import Envelopes
from discreet.private.parties.together import run_together
from discreet.private.retrieval.frames import Transcript
from tests.private.joint.pooled import people
from tests.private.parties import listening

NAMES = ("A", "B", "C", "D")


def kind_of(do) -> str:
    with pytest.raises(ProtocolError) as caught:
        do()
    return caught.value.kind


def adding(vectors, way, *, change=None, sums=1, names=NAMES, **options):
    """Let owners add up; totals of each, and the transcript."""
    record, talks = Transcript(), {}
    plan = plan_of("sum", names, {"way": way})
    for name, vector in zip(names, vectors, strict=True):

        def work(desk, vector=vector):
            found = []
            for number in range(sums):
                found.append((yield from secure_sum(desk, np.asarray(vector, float), f"sum {number}", way)))
            return found

        task = PartyTask(plan, work, b"")
        if change is not None and name in change:
            task = replace(task, work=changed(work, change[name]))
        talks[name] = conversation(name, task, record=record)
    return run_together(talks, record, **options), record


def changed(work, alter):
    def other(desk):
        talk, heard = work(desk), None
        try:
            while True:
                said = next(talk) if heard is None else talk.send(heard)
                says = {to: alter(said.what, body) for to, body in said.says.items()}
                heard = yield TalkRound(said.what, says, said.hears)
        except StopIteration as stop:
            return stop.value

    return other


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(st.integers(-(2**60), 2**60), min_size=3, max_size=3), min_size=3, max_size=5),
    st.sampled_from(WAYS),
)
def test_a_sum_is_the_sum(vectors, way):
    names = NAMES[: len(vectors)] if len(vectors) < 5 else (*NAMES, "E")
    scaled = [[value / 2**30 for value in one] for one in vectors]
    totals, _ = adding(scaled, way, names=names)
    truth = [sum(column) / 2**30 for column in zip(*vectors, strict=True)]
    for found in totals.values():
        assert np.allclose(found[0], truth, rtol=1e-15, atol=1e-9)


SMALL = [np.arange(2000.0) % (k + 2) for k in range(4)]
"""Counts: nothing is more uneven."""


def hidden(record, way, who="") -> list[bytes]:
    """What an owner, or all of them, is told on the way to a sum, without the total itself."""
    kinds = {"shares": ("shares",), "masks": (), "ring": tuple(f"step {k}" for k in range(1, 4))}[way]
    messages = listening.said(record, "sum", to=who)
    found = [one.body for one in messages if one.what.split(": ")[1] in kinds]
    parts = [one.body[32:] for one in messages if one.what.endswith(": parts")]
    # What each shows goes to all others alike; only all of them together give the total.
    return found + list(dict.fromkeys(parts))


@pytest.mark.parametrize("way", WAYS)
def test_what_passes_is_pure_chance(way):
    _, record = adding(SMALL, way, sums=2)
    for who in "BCD":
        assert listening.uneven(hidden(record, way, who)) == []
        assert listening.repeated(hidden(record, way, who)) == []
        assert listening.small_differences(hidden(record, way, who)) == []
    if way != "ring":
        assert listening.uneven(hidden(record, way)) == []
        assert listening.small_differences(hidden(record, way)) == []


def test_in_a_ring_two_neighbours_see_the_part_of_the_owner_between():
    """What the statements say of the ring, and why it is not the default."""
    _, record = adding(SMALL, "ring")
    before, after = (listening.said(record, f"sum 0: step {k}")[0].body for k in (1, 2))
    low = [np.frombuffer(body, "<u8")[::2] for body in (before, after)]
    assert np.array_equal((low[1] - low[0])[:-1], (SMALL[1] * 2**40).astype(np.uint64))


@pytest.mark.parametrize("way", WAYS)
def test_the_same_records_look_different_again(way):
    one, other = (adding(SMALL, way)[1] for _ in range(2))
    for who in "BCD":
        both = hidden(one, way, who) + hidden(other, way, who)
        assert listening.repeated(both) == []
        assert listening.small_differences(both) == []


def test_two_colluders_of_four_see_pure_chance_of_the_others():
    """A and B put together everything that they see, and take their own parts off: C and D stay hidden."""
    _, record = adding(SMALL, "shares")
    seen = [one.body for who in "AB" for one in listening.said(record, "sum 0: shares", to=who) if one.sender in "CD"]
    numbers = [np.frombuffer(body, "<u8") for body in seen]
    together = [(one + other).tobytes() for one, other in zip(numbers[::2], numbers[1::2], strict=True)]
    assert listening.uneven(seen + together) == []
    parts = {one.sender: one.body[32:] for one in listening.said(record, "sum 0: parts", to="A")}
    assert listening.small_differences([parts["C"], parts["D"]]) == []


@pytest.mark.parametrize("way", ["masks", "shares", "ring"])
def test_masks_that_are_used_twice_show(way, monkeypatch):
    """Negative: the listener notices, and so does the party itself, which refuses to draw twice."""
    plain = SecretDraws.take

    def again(self, length, *purpose):
        self._used.clear()
        return plain(self, length, *("sum 0" if word.startswith("sum ") else word for word in purpose))

    pair = Envelopes.pair_key
    monkeypatch.setattr(SecretDraws, "take", again)
    monkeypatch.setattr(Envelopes, "pair_key", lambda self, other, *purpose: pair(self, other, purpose[0]))
    shifted = [vector.copy() for vector in SMALL]
    record = Transcript()

    def work(desk, vector):
        yield from secure_sum(desk, vector, "sum 0", way)
        yield from secure_sum(desk, vector + 1, "sum 1", way)

    talks = {}
    for name, vector in zip(NAMES, shifted, strict=True):
        task = PartyTask(plan_of("sum", NAMES, {}), lambda desk, vector=vector: work(desk, vector), b"")
        talks[name] = conversation(name, task, record=record)
    run_together(talks, record)
    bodies = hidden(record, way, "B")
    assert listening.small_differences(bodies) or listening.repeated(bodies)


def test_randomness_is_drawn_once():
    draws = SecretDraws()
    draws.take(8, "mask", "1")
    assert kind_of(lambda: draws.take(8, "mask", "1")) == "randomness used twice"


def test_the_same_seed_with_others_gives_other_masks():
    """A run by files that is begun again with somebody else does not open what it hid before."""
    draws = SecretDraws(bytes(32))
    assert draws.bound(b"one").take(16, "mask") != draws.bound(b"other").take(16, "mask")


def test_without_masks_plain_numbers_show(monkeypatch):
    monkeypatch.setattr(sums_module, "_random", lambda desk, count, *purpose: np.zeros((count, 2), np.uint64))
    _, record = adding(SMALL, "ring")
    assert listening.uneven(hidden(record, "ring")) != []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("number", range(4))
def test_an_owner_that_leaves_leaves_no_sum(way, number):
    assert kind_of(lambda: adding(SMALL, way, leaving={"C": number})) == "party left"


@pytest.mark.parametrize("way", WAYS)
def test_an_owner_that_does_not_add_is_found(way, monkeypatch):
    """It says random numbers in the place of its part: the ones do not add up, or its promise is broken."""
    kinds = ("shares", "parts", "step 2")
    alter = lambda what, body: bytes(len(body)) if what.split(": ")[-1] in kinds else body  # noqa: E731
    assert kind_of(lambda: adding(SMALL, way, change={"B": alter})) in ("wrong sum", "tampered")


@pytest.mark.parametrize(("way", "step"), [("shares", "shares"), ("ring", "step 2")])
def test_the_ones_do_not_add_up_when_an_owner_leaves_its_part_out(way, step):
    """The check sum by itself: no promise is broken, and nobody left."""
    alter = lambda what, body: bytes(len(body)) if what.endswith(step) else body  # noqa: E731
    assert kind_of(lambda: adding(SMALL, way, change={"B": alter})) == "wrong sum"


def test_a_part_that_is_chosen_late_is_found():
    """The last owner sees the others' parts and shows another one than it had promised."""
    alter = lambda what, body: body[:-1] + bytes([body[-1] ^ 1]) if what.endswith(": parts") else body  # noqa: E731
    assert kind_of(lambda: adding(SMALL, "shares", change={"D": alter})) == "tampered"


@pytest.mark.parametrize("way", WAYS)
def test_the_carrier_sees_lengths_only(way):
    one, other = (adding([vector * k for vector in SMALL], way)[1] for k in (1, 100_000))
    sizes = [[(m.sender, m.what, len(m.body)) for m in listening.carried(record)] for record in (one, other)]
    assert sizes[0] == sizes[1]
    sealed = [m.body[9:] for m in listening.carried(one) if m.what != "greeting" and len(m.body) > 100]
    assert listening.uneven(sealed) == []
    assert listening.repeated(sealed) == []


@pytest.mark.parametrize("meddling", ["alter", "drop", "repeat", "swap"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_carrier_that_meddles_ends_the_run(meddling, number):
    last = {}

    def meddle(round_number, sender, to, body):
        before = last.get((sender, to))
        last[sender, to] = body
        if round_number != number or (sender, to) != ("B", "C"):
            return body
        if meddling == "alter":
            return body[:-1] + bytes([body[-1] ^ 1])
        if meddling == "drop":
            return None
        return before if meddling == "repeat" else last.get(("A", "C"), body)

    kind = kind_of(lambda: adding(SMALL, "shares", meddle=meddle))
    assert kind in {"alter": ("tampered",), "drop": ("party left",), "swap": ("tampered",)}.get(
        meddling, ("replayed message", "wrong version")
    )


def test_no_number_of_an_owner_is_in_any_message_of_a_model():
    owners = people()
    together = ds.private.join(owners)
    together.logit("y ~ x + g")
    values = [text for one in owners.values() for x in one["x"][:50] for text in listening.spellings(float(x))]
    sums = [text for one in owners.values() for text in listening.spellings(float(one["x"].sum()))]
    bodies = [one.body for one in together.transcript.messages if one.what != "greeting"]
    assert listening.plain_values(bodies, values + sums) == []


def test_every_sum_of_a_model_has_masks_of_its_own():
    together = ds.private.join(people(), sums="masks")
    together.logit("y ~ x + g")
    parts = [one for one in listening.said(together.transcript, "step") if one.what.endswith(": parts")]
    own = [one.body[32:] for one in parts if one.sender == "B" and one.receiver == "A"]
    assert len(own) >= 4
    assert listening.small_differences(own) == []


def looked_for(counts, limit, names=NAMES):
    """How many cells each owner is told are small, and the transcript."""
    record, talks = Transcript(), {}
    plan = plan_of("cells", names, {})
    for name, own in zip(names, counts, strict=True):
        work = lambda desk, own=own: small_cells(desk, np.asarray(own, float), limit, "cells")  # noqa: E731
        talks[name] = conversation(name, PartyTask(plan, work, b""), record=record)
    return run_together(talks, record), record


@settings(max_examples=30, deadline=None)
@given(
    st.integers(3, 4).flatmap(
        lambda k: st.lists(st.lists(st.integers(0, 6), min_size=4, max_size=4), min_size=k, max_size=k)
    ),
    st.integers(1, 5),
)
def test_small_cells_are_counted(counts, limit):
    told, _ = looked_for(counts, limit, NAMES[: len(counts)])
    truth = 0
    for cell in zip(*counts, strict=True):
        views = [sum(cell), *(sum(cell) - own for own in cell)]
        truth += sum(0 < view < limit for view in views)
    assert set(told.values()) == {truth}


def test_the_search_for_small_cells_shows_no_count():
    """Parts are pure chance, points occur once, and an order that only one party knows stands between."""
    rng = np.random.default_rng(1)
    _, record = looked_for(rng.integers(0, 3, (4, 300)), 3)
    assert listening.uneven([one.body for one in listening.said(record, "cells: parts")]) == []
    compared = [one.body for what in ("cells: hidden", "cells: compared") for one in listening.said(record, what)]
    assert listening.repeated(compared, 32) == []
    assert {one.receiver for one in listening.said(record, "cells: parts")} == {"A", "B"}
    assert [len(one.body) for one in listening.said(record, "cells: how many")] == [8, 8, 8]


def test_without_an_order_of_its_own_the_search_shows_which_cells_are_small(monkeypatch):
    """The negative: who compares learns which, when the rows come in the order of the cells."""
    found = []
    plain = small_cells_module._matches

    def which(body, key, tests, limit, sender):
        rows = [body[k : k + 32 * limit] for k in range(0, len(body), 32 * limit)]
        found.append([plain(row, key, 1, limit, sender) for row in rows])
        return plain(body, key, tests, limit, sender)

    monkeypatch.setattr(small_cells_module, "_matches", which)
    counts = np.zeros((4, 100), int)
    counts[:, :50] = 10
    counts[2, 70:] = 1
    looked_for(counts, 3)
    monkeypatch.setattr(SecretDraws, "order", lambda self, count, *purpose: np.arange(count))
    looked_for(counts, 3)
    hidden_order, plain_order = (np.flatnonzero(one) for one in found)
    assert plain_order.tolist()[:30] == list(range(70, 100))
    assert hidden_order.tolist() != plain_order.tolist()


def test_a_refused_model_has_opened_nothing_but_that_it_is_refused():
    owners = people()
    for name, one in owners.items():
        one["rare"] = np.where(np.arange(200) < (name == "A"), "yes", "no")
    together = ds.private.join(owners, levels={"rare": ["no", "yes"]})
    assert kind_of(lambda: together.logit("y ~ x + rare")) == "not safe to reveal"
    kinds = {one.what.split(":")[0] for one in listening.said(together.transcript)}
    assert kinds == {"persons, cut off", "kinds of columns", "small cells"}


def test_owners_with_other_terms_are_named():
    owners, record, talks = people("ABC"), Transcript(), {}
    for name, bits in {"A": 40, "B": 40, "C": 48}.items():
        task = regression_task("ABC", "linear: z ~ x", owners[name], {}, NewtonTerms(scale_bits=bits))
        talks[name] = conversation(name, task, record=record)
    with pytest.raises(ProtocolError, match="scale bits") as caught:
        run_together(talks, record)
    assert caught.value.kind == "other plan"
    assert {one.what for one in record.messages} == {"greeting"}


def test_greetings_hold_names_of_terms_and_no_codes():
    owners = people("ABC")
    for one in owners.values():
        one["g"] = np.where(one["g"] == "a", "a very rare illness", one["g"])
    together = ds.private.join(owners)
    together.logit("y ~ x + g")
    greetings = [one.body for one in together.transcript.messages if one.what == "greeting"]
    assert listening.plain_values(greetings, [b"a very rare illness"]) == []
    assert all(b"coding of 'g'" in body for body in greetings)
