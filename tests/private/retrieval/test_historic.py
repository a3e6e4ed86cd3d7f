"""The schemes of the source: every entry comes back, messages are as long as the formulas say, bad input is refused."""

from __future__ import annotations

import inspect
import secrets

import numpy as np
import pytest

from discreet.errors import InputError, ParameterError
from discreet.private.problems import ProtocolError
from discreet.private.retrieval import hidden_orders, residues, selecting, weighted_sums
from discreet.private.retrieval.boxes import HEAD as BOX_HEAD
from discreet.private.retrieval.boxes import as_entries, box_sides
from discreet.private.retrieval.cost import lipmaa_query_bits, retrieval_cost
from discreet.private.retrieval.damgard_jurik import DamgardJurik
from discreet.private.retrieval.frames import HEAD, Asked
from discreet.private.retrieval.selecting import stern_pieces

gmpy2 = pytest.importorskip("gmpy2")
BITS = 512
DATABASE = [secrets.token_bytes(3) for _ in range(24)]
ENTRIES = as_entries(DATABASE)
PARTS = {
    "ko": (residues.KushilevitzOstrovsky, residues.answer_residues),
    "stern": (selecting.SternScheme, selecting.answer_stern),
    "lipmaa": (selecting.LipmaaScheme, selecting.answer_lipmaa),
    "gr": (hidden_orders.GentryRamzan, hidden_orders.answer_hidden),
}


def client_of(name, **options):
    return PARTS[name][0](24, 3, insecure_bits=BITS, **options)


def answered(name, asked):
    return PARTS[name][1](ENTRIES, asked.messages[0], insecure_bits=BITS)


CASES = [
    ("ko", {"dimensions": 1}, range(24)),
    ("stern", {"s": 1, "dimensions": 2}, range(24)),
    ("stern", {"s": 1, "dimensions": 1}, (0, 23)),
    ("stern", {"s": 2, "dimensions": 3}, (0, 11, 23)),
    ("stern", {"s": 3, "dimensions": 2}, (5,)),
    ("lipmaa", {"s": 1, "sides": (4, 3, 2)}, range(24)),
    ("lipmaa", {"s": 2, "dimensions": 3}, (0, 13, 23)),
    ("lipmaa", {"s": 1, "dimensions": 1}, (7,)),
    ("gr", {"dimensions": 1}, range(24)),
    ("gr", {"dimensions": 2}, (0, 12, 23)),
    ("ko", {"sides": (24, 1)}, (17,)),
]


@pytest.mark.parametrize(("name", "options", "indices"), CASES, ids=lambda value: str(value)[:40])
def test_every_entry_comes_back(name, options, indices):
    client = client_of(name, **options)
    for index in indices:
        asked = client.query(index)
        assert client.decode(asked, [answered(name, asked)]) == DATABASE[index]


def test_recursion_of_residues_gives_the_entry():
    client = residues.KushilevitzOstrovsky(6, 1, dimensions=2, insecure_bits=128)
    entries = as_entries([b"a", b"b", b"c", b"d", b"e", b"f"])
    for index in range(6):
        asked = client.query(index)
        answer = residues.answer_residues(entries, asked.messages[0], insecure_bits=128)
        assert client.decode(asked, [answer]) == bytes(entries[index])


@pytest.mark.parametrize("name", ["stern", "lipmaa", "gr"])
def test_entries_longer_than_a_chunk_come_back(name):
    long = [secrets.token_bytes(150) for _ in range(4)]
    client = PARTS[name][0](4, 150, dimensions=2, insecure_bits=BITS)
    asked = client.query(3)
    answer = PARTS[name][1](as_entries(long), asked.messages[0], insecure_bits=BITS)
    assert client.decode(asked, [answer]) == long[3]


def body_bytes(message, sides):
    return len(message) - HEAD.size - BOX_HEAD.size - 4 * len(sides)


def test_messages_have_the_lengths_of_the_formulas():
    width = BITS // 8
    ko = client_of("ko", dimensions=2)
    assert body_bytes(ko.query(0).messages[0], ko.sides) == width + width * sum(ko.sides)
    assert sum(ko.sides) * BITS == pytest.approx(
        retrieval_cost("ko", 25, 24, bits=BITS, dimensions=2).query
    )  # 24 entries in a box of 5 x 5
    asked = ko.query(1)
    assert len(answered("ko", asked)) - HEAD.size == 24 * BITS**2 / 8
    stern = client_of("stern", s=1, dimensions=2)
    asked = stern.query(0)
    assert body_bytes(asked.messages[0], stern.sides) == width + 2 * width * sum(stern.sides)
    assert (
        8 * (len(answered("stern", asked)) - HEAD.size) == retrieval_cost("stern", 24, 8, bits=BITS, dimensions=2).reply
    )
    for s, units in ((1, 16), (2, 22)):
        lipmaa = client_of("lipmaa", s=s, sides=(4, 3, 2))
        asked = lipmaa.query(5)
        sent = body_bytes(asked.messages[0], lipmaa.sides) - width
        assert 8 * sent == lipmaa_query_bits((4, 3, 2), s, BITS) == units * BITS
        reply = retrieval_cost("lipmaa", 24, 8, bits=BITS, s=s, dimensions=3).reply
        assert 8 * (len(answered("lipmaa", asked)) - HEAD.size) == reply == (s + 3) * BITS
    for dimensions in (1, 2):
        gr = client_of("gr", dimensions=dimensions)
        asked = gr.query(0)
        formula = retrieval_cost("gr", 24, 8, bits=BITS, dimensions=dimensions)
        assert 8 * body_bytes(asked.messages[0], gr.sides) == formula.query
        chunks = 6 if dimensions == 2 else 1  # 512 bits are 5.02 chunks of 102: a sixth is sent
        assert 8 * (len(answered("gr", asked)) - HEAD.size) == chunks * BITS


def test_a_lone_ciphertext_takes_two_pieces_and_a_block_takes_fewer():
    assert stern_pieces(1, 2, 2) == [1, 2]
    assert stern_pieces(100, 2, 2)[-1] == 150


@pytest.mark.parametrize("name", PARTS)
def test_questions_for_different_entries_have_one_length(name):
    client = client_of(name)
    assert len({len(client.query(index).messages[0]) for index in (0, 7, 23)}) == 1


@pytest.mark.parametrize("name", ["ko", "stern", "lipmaa", "gr"])
def test_two_questions_for_one_entry_share_no_number(name):
    client = client_of(name)
    first, second = (numbers_of(name, client, client.query(5)) for _ in range(2))
    assert len(first) == len(second) > 1
    assert not set(first) & set(second)


def numbers_of(name, client, asked: Asked):
    body = asked.messages[0][HEAD.size + BOX_HEAD.size + 4 * len(client.sides) :]
    width = {"ko": 1, "gr": 1, "stern": client.bits and 2, "lipmaa": 2}[name] * BITS // 8
    if name in ("ko", "stern", "lipmaa"):
        body = body[BITS // 8 :]  # the modulus is the same
    if name == "lipmaa":
        body = body[: 2 * BITS // 8 * (client.sides[0] - 1)]
    return [body[at : at + width] for at in range(0, len(body), width)]


def test_all_numbers_of_residues_have_jacobi_symbol_one_and_one_is_no_square():
    client = client_of("ko")
    p, q = client._primes
    found = []
    for index in (0, 9):
        numbers = [int.from_bytes(one, "big") for one in numbers_of("ko", client, client.query(index))]
        assert {gmpy2.jacobi(number, client.modulus) for number in numbers} == {1}
        found.append([place for place, number in enumerate(numbers) if gmpy2.legendre(number, p) == -1])
        assert all(gmpy2.legendre(number, p) == gmpy2.legendre(number, q) for number in numbers)
    assert found == [[0], [9]]


def test_a_line_of_zeros_is_not_the_constant_one():
    entries = np.zeros((24, 3), np.uint8)
    client = client_of("ko")
    answer = residues.answer_residues(entries, client.query(0).messages[0], insecure_bits=BITS)
    body = answer[HEAD.size :]
    assert len({body[at : at + BITS // 8] for at in range(0, len(body), BITS // 8)}) == 24


def test_the_hidden_order_is_divided_by_the_prime_power_of_the_entry_and_no_other():
    client = client_of("gr")
    (group,) = client.query(4).kept
    order = (group.factor - 1) * (group.modulus // group.factor - 1)
    powers = [prime**exponent for prime, exponent in client._powers[0]]
    assert [at for at, power in enumerate(powers) if order % power == 0] == [4]
    assert group.modulus.bit_length() == BITS
    assert all(
        power > 2 ** (BITS // 5) > power // prime for power, (prime, _) in zip(powers, client._powers[0], strict=True)
    )


@pytest.mark.parametrize("t", [1, 2, 3, 4])
def test_encrypted_numbers_add_and_multiply(t):
    key = DamgardJurik(128)
    plain, modulus = key.modulus**t, key.modulus ** (t + 1)
    a, b = secrets.randbelow(plain), secrets.randbelow(plain)
    one, other = key.encrypt(a, t), key.encrypt(b, t)
    assert key.decrypt(one, t) == a
    assert key.decrypt(one * other % modulus, t) == (a + b) % plain
    assert key.decrypt(pow(one, 12345, modulus), t) == a * 12345 % plain
    assert key.encrypt(a, t) != one


# ---- bad input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PARTS)
def test_short_keys_are_refused_on_both_sides(name):
    with pytest.raises(ParameterError, match=r"A modulus of 1024 bits is not allowed\. Use a multiple of 16 from 2048"):
        PARTS[name][0](24, 3, bits=1024)
    with pytest.raises(ProtocolError, match="Key too short: The modulus has 512 bits; 2048 are the least"):
        PARTS[name][1](ENTRIES, client_of(name).query(0).messages[0])


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("index", [-1, 24])
def test_an_index_out_of_range_is_refused_before_anything_is_sent(name, index):
    with pytest.raises(ProtocolError, match="Index out of range: There are 24 entries") as error:
        client_of(name).query(index)
    assert str(index) not in str(error.value).replace("24 entries", "")


@pytest.mark.parametrize("name", PARTS)
def test_numbers_outside_the_group_are_refused(name):
    client = client_of(name)
    message = client.query(3).messages[0]
    width = {"ko": 1, "stern": 2, "lipmaa": 3, "gr": 1}[name] * BITS // 8
    start = HEAD.size + BOX_HEAD.size + 4 * len(client.sides)
    modulus = message[start : start + BITS // 8]
    for last in (bytes(width), b"\xff" * width, modulus.rjust(width, b"\0")):
        with pytest.raises(ProtocolError, match="Element outside the group") as error:
            PARTS[name][1](ENTRIES, message[:-width] + last, insecure_bits=BITS)
        assert error.value.kind == "element outside the group"


def test_a_number_with_the_wrong_jacobi_symbol_is_refused():
    client = client_of("ko")
    wrong = next(n for n in range(2, 1000) if gmpy2.jacobi(n, client.modulus) == -1)
    message = client.query(3).messages[0][:-64] + wrong.to_bytes(64, "big")
    with pytest.raises(ProtocolError, match="wrong Jacobi symbol"):
        residues.answer_residues(ENTRIES, message, insecure_bits=BITS)


@pytest.mark.parametrize("name", PARTS)
def test_questions_for_another_database_or_cut_short_are_refused(name):
    message = client_of(name).query(3).messages[0]
    with pytest.raises(
        ProtocolError, match="Other database: The query is for 24 entries of 3 bytes; there are 23 of 3"
    ):
        PARTS[name][1](ENTRIES[:-1], message, insecure_bits=BITS)
    with pytest.raises(ProtocolError, match="Wrong length"):
        PARTS[name][1](ENTRIES, message[:-1], insecure_bits=BITS)
    with pytest.raises(ProtocolError, match="Wrong length"):
        PARTS[name][1](ENTRIES, message + b"x", insecure_bits=BITS)
    with pytest.raises(ProtocolError, match="Wrong version: The message has version 9"):
        PARTS[name][1](ENTRIES, message[:4] + b"\x09" + message[5:], insecure_bits=BITS)
    with pytest.raises(ProtocolError, match="This is not a message of private retrieval"):
        PARTS[name][1](ENTRIES, b"hello", insecure_bits=BITS)


@pytest.mark.parametrize("name", PARTS)
def test_damaged_answers_are_refused_or_give_no_longer_entry(name):
    client = client_of(name)
    asked = client.query(2)
    answer = answered(name, asked)
    for damaged in (answer[:-64] + bytes(64), answer[: HEAD.size] + b"\xff" * (len(answer) - HEAD.size)):
        with pytest.raises(ProtocolError, match="Damaged answer"):
            client.decode(asked, [damaged])
    with pytest.raises(ProtocolError, match="Wrong length"):
        client.decode(asked, [answer[:-1]])


def test_impossible_boxes_and_lengths_are_refused():
    with pytest.raises(ParameterError, match=r"dimensions=9 is not allowed for 24 entries\. Use 1 to 4"):
        client_of("lipmaa", dimensions=9)
    with pytest.raises(ParameterError, match="A box of 2 x 3 does not hold 24 entries"):
        client_of("lipmaa", sides=(2, 3))
    with pytest.raises(ParameterError, match="s=0 is not allowed"):
        client_of("stern", s=0)
    with pytest.raises(InputError, match="The database is empty"):
        as_entries([])
    with pytest.raises(ParameterError, match="places in a dimension are too many"):
        hidden_orders.GentryRamzan(10_000, 3, insecure_bits=256)


@pytest.mark.parametrize("entries", [1, 2, 7, 24, 100, 1001])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_boxes_hold_all_entries_with_little_room_to_spare(entries, dimensions):
    if dimensions > 1 and 2**dimensions > entries:
        return
    sides = box_sides(entries, dimensions)
    assert entries <= np.prod(sides) <= entries * 2 + 4
    assert max(sides) - min(sides) <= 2


def test_servers_take_a_message_and_a_database_and_no_index():
    for _, answer in PARTS.values():
        assert list(inspect.signature(answer).parameters) == ["entries", "message", "insecure_bits"]


def test_too_much_work_is_refused_before_it_is_begun():
    entries = np.zeros((300, 5000), np.uint8)
    client = residues.KushilevitzOstrovsky(300, 5000, dimensions=2, insecure_bits=BITS)
    with pytest.raises(ProtocolError, match="Too much work"):
        residues.answer_residues(entries, client.query(0).messages[0], insecure_bits=BITS)


# ---- weighted sums ---------------------------------------------------------------------------------------------------


def test_a_secret_weighted_sum_is_the_plain_one():
    values, weights = [5, 0, 1_000_000, 17], [3, 9, 0, 2]
    client = weighted_sums.WeightedSum(4, 10**6, insecure_bits=BITS)
    asked = client.query(weights)
    assert client.decode(asked, [weighted_sums.answer_sum(values, asked.messages[0], insecure_bits=BITS)]) == 49


def test_sums_that_could_wrap_around_are_refused():
    client = weighted_sums.WeightedSum(4, 2**300, insecure_bits=BITS)
    with pytest.raises(ParameterError, match="would wrap around"):
        client.query([2**215] * 4)
    asked = weighted_sums.WeightedSum(2, 10, insecure_bits=BITS)
    question = asked.query([1, 1])
    answer = weighted_sums.answer_sum([10, 11], question.messages[0], insecure_bits=BITS)
    with pytest.raises(ProtocolError, match="The sum is larger than the bound"):
        asked.decode(question, [answer])
    with pytest.raises(ProtocolError, match="Other database"):
        weighted_sums.answer_sum([10], question.messages[0], insecure_bits=BITS)
    with pytest.raises(ProtocolError, match="Key too short"):
        weighted_sums.answer_sum([10, 10], question.messages[0])
    with pytest.raises(ParameterError, match="3 weights are given for 2 values"):
        asked.query([1, 2, 3])
