"""Retrieval from two servers and on lattices: right answers, exact hints, and what transcripts show."""

from __future__ import annotations

import inspect
import secrets

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.private.problems import ProtocolError
from discreet.private.retrieval import lattice, lattice_noise, two_servers
from discreet.private.retrieval.frames import HEAD
from discreet.private.retrieval.lattice import LatticeScheme, answer_lattice, changed_hint, columns_of, make_hint
from discreet.private.retrieval.lattice_noise import draw_errors, matrix_rows, thresholds
from discreet.private.retrieval.lattice_parameters import VERSIONS, estimate, parameters
from discreet.private.retrieval.two_servers import TwoServerXor, answer_xor
from tests.private.retrieval import observer

SEED = bytes(range(32))
SHORT = 64


def random_entries(count, length, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, length), dtype=np.uint8)


def lattice_client(entries, per_column=1, short=SHORT):
    hint = make_hint(columns_of(entries, per_column), SEED, parameters("lwe-1", short))
    return LatticeScheme(*entries.shape, per_column=per_column, seed=SEED, hint=hint, insecure_dimension=short)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 40), st.integers(1, 20), st.lists(st.integers(0, 10**6), min_size=1, max_size=9), st.integers(0, 99)
)
def test_two_servers_give_every_entry(count, length, drawn, seed):
    entries, indices = random_entries(count, length, seed), [one % count for one in drawn]
    client = TwoServerXor(count, length)
    asked = client.query_many(indices)
    found = client.decode_many(asked, [answer_xor(entries, message) for message in asked.messages])
    assert found == [entries[index].tobytes() for index in indices]


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 20),
    st.sampled_from([1, 2, 4]),
    st.lists(st.integers(0, 10**6), min_size=1, max_size=9),
    st.integers(0, 99),
)
def test_one_server_gives_every_entry(count, length, per_column, drawn, seed):
    entries, indices = random_entries(count, length, seed), [one % count for one in drawn]
    client = lattice_client(entries, per_column, 16)
    asked = client.query_many(indices)
    found = client.decode_many(asked, [answer_lattice(entries, asked.messages[0], per_column=per_column)])
    assert found == [entries[index].tobytes() for index in indices]


@pytest.mark.parametrize("value", [0, 127, 128, 255])
def test_bytes_at_the_ends_of_their_range_come_back_at_full_length(value):
    entries = np.full((3000, 16), value, np.uint8)
    entries[1234] = np.arange(240, 256)
    client = lattice_client(entries, 1, None)
    for index in (1234, 2999):
        asked = client.query(index)
        assert client.decode(asked, [answer_lattice(entries, asked.messages[0], per_column=1)]) == bytes(entries[index])


def test_the_hint_is_the_product_in_whole_numbers():
    entries = random_entries(11, 6)
    columns = columns_of(entries, 2)
    hint = make_hint(columns, SEED, parameters("lwe-1", 16))
    matrix = matrix_rows(SEED, 16, 0, len(columns)).astype(object)
    exact = (columns.T.astype(object) - 128) @ matrix % 2**32
    assert (hint.astype(object) == exact).all()


def test_the_hint_is_exact_at_its_extremes(monkeypatch):
    """Bytes of 0 (centred: -128) and numbers of 2**31 give the largest products; a block of them must not round."""
    monkeypatch.setattr(lattice, "matrix_rows", lambda _seed, n, _first, count: np.full((count, n), 2**31, np.uint32))
    columns = np.zeros((lattice.EXACT_COLUMNS * 2 + 3, 3), np.uint8)
    columns[-1, 0] = 1
    hint = make_hint(columns, SEED, parameters("lwe-1", 16))
    exact = [sum((int(byte) - 128) * 2**31 for byte in column) % 2**32 for column in columns.T]
    assert hint[:, 0].tolist() == exact


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 30), st.data())
def test_a_hint_updated_by_changed_columns_is_the_hint_made_anew(count, data):
    old, chosen = random_entries(count, 5), parameters("lwe-1", 16)
    changed = data.draw(st.lists(st.integers(0, count - 1), unique=True))
    new = old.copy()
    new[changed] = random_entries(len(changed), 5, 1)
    before, after = columns_of(old, 2), columns_of(new, 2)
    numbers = np.flatnonzero((before != after).any(axis=1))
    moved = after[numbers].astype(np.int16) - before[numbers].astype(np.int16)
    updated = changed_hint(make_hint(before, SEED, chosen), numbers, moved, SEED, chosen)
    assert (updated == make_hint(after, SEED, chosen)).all()


def test_rows_of_the_public_matrix_do_not_depend_on_how_many_are_made():
    whole = matrix_rows(SEED, 1184, 0, 40)
    assert (matrix_rows(SEED, 1184, 7, 3) == whole[7:10]).all()
    assert not (matrix_rows(bytes(32), 1184, 0, 40) == whole).mean() > 0.01
    assert abs(whole.astype(float).mean() / 2**31 - 1) < 0.02


def test_errors_have_the_discrete_normal_distribution():
    """Chi-square against the exact chances; a false alarm has chance 1e-6."""
    from scipy.stats import chisquare

    deviation, count = 16.0, 200_000
    errors = draw_errors(count, deviation).view(np.int32)
    values = np.arange(-160, 161)
    chances = np.exp(-(values.astype(float) ** 2) / (2 * deviation**2))
    chances /= chances.sum()
    inner = np.abs(values) <= 50
    expected = np.append(chances[inner], chances[~inner].sum()) * count
    counts = np.bincount(errors + 160, minlength=321)
    observed = np.append(counts[inner], counts[~inner].sum())
    assert chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-6


def test_thresholds_of_errors_rise_to_the_end_of_63_bits():
    found = thresholds(16.0)
    assert (np.diff(found.astype(object)) >= 0).all()
    assert len(found) == 160
    assert 2**63 - int(found[-1]) <= 2**6


def test_parameters_have_128_bits_by_our_estimate_and_answers_do_not_fail():
    chosen = VERSIONS["lwe-1"]
    found = chosen.estimate()
    assert (chosen.dimension, chosen.deviation) == (1184, 16.0)
    assert (found.block, round(found.core_bits, 1), round(found.usual_bits, 1)) == (449, 131.1, 161.9)
    assert estimate(1024, 6.4).core_bits < 128  # the usual ones of the literature, in the same careful count
    assert chosen.failure(32_768, 4096) < -350
    assert chosen.failure(65_536, 4096) < -170


def test_the_bound_on_failures_is_one():
    """With errors so large that answers fail, they fail no more often than the bound says."""
    loose = parameters("lwe-1", 16)
    columns, deviation = 64, 3_000.0
    bound = 2.0 ** type(loose)("test", 16, deviation).failure(columns, 1)
    assert 0.001 < bound < 0.5
    errors = np.rint(np.random.default_rng(0).normal(0, deviation, (20_000, columns)))
    wrong = (np.abs(errors @ np.full(columns, 128)) > 2**23).mean()
    assert 0 < wrong <= bound


def test_too_many_columns_and_strange_hints_are_refused():
    with pytest.raises(ParameterError, match="262,144 columns are too many for the parameters 'lwe-1'"):
        VERSIONS["lwe-1"].require_columns(2**18, 4096)
    with pytest.raises(ParameterError, match="The hint is not one of this database"):
        LatticeScheme(4, 4, per_column=1, seed=SEED, hint=np.zeros((4, 16), np.uint32))
    with pytest.raises(ProtocolError, match="Wrong version: The lattice parameters 'lwe-9' are not known here"):
        parameters("lwe-9")
    with pytest.raises(ParameterError, match="insecure_dimension=7 is not allowed"):
        parameters("lwe-1", 7)


# ---- what transcripts show ---------------------------------------------------------------------------------------


def xor_questions(indices, count=4096):
    client = TwoServerXor(count, 8)
    asked = [client.query(index) for index in indices]
    return [[one.messages[server] for one in asked] for server in (0, 1)]


def lattice_questions(indices, count=1500, short=SHORT):
    client = LatticeScheme(
        count, 8, per_column=1, seed=SEED, hint=np.zeros((8, short), np.uint32), insecure_dimension=short
    )
    return [client.query(index).messages[0] for index in indices]


SAME = [1000] * 12
MIXED = [0, 1000, 1499, 3, 77, 1000, 500, 1234, 64, 900, 1000, 2]


@pytest.mark.parametrize("indices", [SAME, MIXED], ids=["one entry", "many entries"])
def test_a_server_sees_chance_of_one_length_whatever_is_asked(indices):
    for messages in (*xor_questions(indices), lattice_questions(indices)):
        assert observer.lengths(messages) == []
        assert observer.bytes_look_uneven(messages) == []
        assert observer.repeats(messages) == []
        assert observer.close_pairs(messages) == []
        assert observer.heads(messages) == []
    assert observer.differences_are_small(lattice_questions(indices)) == []


def test_a_question_on_lattices_cannot_be_solved_as_equations():
    matrix = matrix_rows(SEED, SHORT, 0, 1500)
    assert observer.solved_without_error(lattice_questions([7])[0], matrix) == []


def test_both_questions_to_two_servers_differ_in_the_entry_alone():
    (first,), (second,) = xor_questions([1234])
    together = np.unpackbits(
        np.frombuffer(first[HEAD.size :], np.uint8) ^ np.frombuffer(second[HEAD.size :], np.uint8), bitorder="little"
    )
    assert np.flatnonzero(together).tolist() == [1234]


# ---- the same with something taken away: the observer must notice ----------------------------------------------------


def test_a_mask_that_is_used_twice_is_noticed(monkeypatch):
    mask = secrets.token_bytes(512)
    monkeypatch.setattr(two_servers, "draw_mask", lambda _: mask)
    for messages in xor_questions(MIXED):
        assert observer.close_pairs(messages)
        assert observer.repeats(messages)


def test_a_mask_without_chance_is_noticed(monkeypatch):
    monkeypatch.setattr(two_servers, "draw_mask", lambda entries: bytes(entries // 8))
    assert observer.bytes_look_uneven(xor_questions(MIXED)[1])


def test_a_question_without_a_secret_is_noticed(monkeypatch):
    monkeypatch.setattr(lattice, "draw_secret", lambda n: np.zeros(n, np.uint32))
    assert observer.bytes_look_uneven(lattice_questions(MIXED))


def test_a_question_without_errors_is_noticed(monkeypatch):
    monkeypatch.setattr(lattice, "draw_errors", lambda count, _: np.zeros(count, np.uint32))
    message, *others = lattice_questions(MIXED)
    assert observer.bytes_look_uneven([message, *others]) == []  # bytes alone do not tell
    assert observer.solved_without_error(message, matrix_rows(SEED, SHORT, 0, 1500))


def test_a_secret_that_is_used_twice_is_noticed(monkeypatch):
    kept = lattice_noise.draw_secret(SHORT)
    monkeypatch.setattr(lattice, "draw_secret", lambda _: kept)
    assert observer.differences_are_small(lattice_questions(MIXED))


def test_a_head_that_names_the_entry_is_noticed():
    messages = [b"DPIR" + index.to_bytes(4, "little") + bytes(16) for index in (7, 1000)]
    assert observer.heads(messages)


# ---- bad input ---------------------------------------------------------------------------------------------------


def test_servers_take_a_message_and_a_database_and_no_index():
    for answer in (answer_xor, answer_lattice):
        assert not {"index", "indices", "i"} & set(inspect.signature(answer).parameters)


@pytest.mark.parametrize("index", [-1, 50])
def test_an_index_out_of_range_is_refused_before_anything_is_sent(index):
    entries = random_entries(50, 8)
    for client in (TwoServerXor(50, 8), lattice_client(entries)):
        with pytest.raises(ProtocolError, match="Index out of range: There are 50 entries"):
            client.query(index)


def test_questions_of_another_length_or_beyond_the_last_entry_are_refused():
    entries = random_entries(50, 8)
    xor, one = TwoServerXor(50, 8).query(3).messages[0], lattice_client(entries).query(3).messages[0]
    for answer, message in ((answer_xor, xor), (lambda e, m: answer_lattice(e, m, per_column=1), one)):
        with pytest.raises(ProtocolError, match="Wrong length: The query has"):
            answer(entries, message + b"x")
        with pytest.raises(ProtocolError, match="Wrong version: The message has version 2"):
            answer(entries, message[:4] + b"\x02" + message[5:])
        with pytest.raises(ProtocolError, match="Wrong version: The message is of kind"):
            answer(entries, message[:7] + b"\x00" + message[8:])
    with pytest.raises(ProtocolError, match="asks for entries beyond the last"):
        answer_xor(entries, xor[:-1] + b"\xff")
    with pytest.raises(ProtocolError, match="No such scheme: The message is of scheme number 5"):
        answer_lattice(entries, xor, per_column=1)


def test_answers_that_are_missing_or_cut_short_are_refused():
    entries = random_entries(50, 8)
    client = TwoServerXor(50, 8)
    asked = client.query(3)
    answers = [answer_xor(entries, message) for message in asked.messages]
    with pytest.raises(ProtocolError, match="Damaged answer: 1 of 2 answers came"):
        client.decode(asked, answers[:1])
    with pytest.raises(ProtocolError, match="Wrong length: The answer has"):
        client.decode(asked, [answers[0], answers[1][:-1]])
    other = lattice_client(entries)
    question = other.query(3)
    with pytest.raises(ProtocolError, match="Wrong length: The answer has"):
        other.decode(question, [answer_lattice(entries, question.messages[0], per_column=1)[:-4]])
