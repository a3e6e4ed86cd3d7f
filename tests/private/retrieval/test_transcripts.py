"""Questions of the schemes of the source, as a server reads them: lengths, heads, distributions, repetitions.

Each is also asked with its chance taken away, and the observer must notice.
"""

from __future__ import annotations

import itertools
import secrets

import numpy as np
import pytest
from scipy.stats import kstest

from discreet.private.retrieval import damgard_jurik, hidden_orders, residues
from discreet.private.retrieval.boxes import HEAD as BOX_HEAD
from discreet.private.retrieval.boxes import as_entries
from discreet.private.retrieval.frames import HEAD
from discreet.private.retrieval.hidden_orders import GentryRamzan
from discreet.private.retrieval.lattice import LatticeScheme, answer_lattice, columns_of, make_hint
from discreet.private.retrieval.lattice_parameters import parameters
from discreet.private.retrieval.residues import KushilevitzOstrovsky
from discreet.private.retrieval.selecting import LipmaaScheme, SternScheme
from discreet.private.retrieval.two_servers import TwoServerXor, answer_xor
from discreet.private.retrieval.weighted_sums import WeightedSum
from tests.private.retrieval import observer

gmpy2 = pytest.importorskip("gmpy2")
BITS = 512
BYTES = BITS // 8
ENTRIES = 24
CLIENTS = {
    "ko": lambda: KushilevitzOstrovsky(ENTRIES, 3, insecure_bits=BITS),
    "stern": lambda: SternScheme(ENTRIES, 3, dimensions=2, insecure_bits=BITS),
    "lipmaa": lambda: LipmaaScheme(ENTRIES, 3, dimensions=2, insecure_bits=BITS),
    "gr": lambda: GentryRamzan(ENTRIES, 3, dimensions=2, insecure_bits=BITS),
    "sum": lambda: WeightedSum(ENTRIES, 1000, insecure_bits=BITS),
}
SAME = [7] * 42
MIXED = [*range(24), *[0, 7, 7, 23, 1, 12] * 3]


def questions(name, indices):
    """Of one client; for sums, weights of 0 and 1 with the 1 at the entry."""
    client = CLIENTS[name]()
    if name == "sum":
        return client, [client.query([int(at == k) for at in range(ENTRIES)]).messages[0] for k in indices]
    return client, [client.query(k).messages[0] for k in indices]


def numbers_of(name, client, message):
    """All numbers of a question that are drawn anew, each with what it is a remainder of."""
    if name == "sum":
        body = message[HEAD.size + 8 :]
    else:
        body = message[HEAD.size + BOX_HEAD.size + 4 * len(client.sides) :]
    if name == "gr":
        found = in_numbers(body, BYTES)
        return [*((one, 2**BITS) for one in found[::2]), *zip(found[1::2], found[::2], strict=True)]
    modulus, body = int.from_bytes(body[:BYTES], "big"), body[BYTES:]
    if name == "lipmaa":
        first = 2 * BYTES * (client.sides[0] - 1)
        lists = ((2, body[:first]), (3, body[first:]))
    else:
        lists = ((1 if name == "ko" else 2, body),)
    return [(one, modulus**power) for power, part in lists for one in in_numbers(part, power * BYTES)]


def in_numbers(body, width):
    return [int.from_bytes(body[at : at + width], "big") for at in range(0, len(body), width)]


def findings(name, indices):
    """What a server could hold against a scheme after so many questions; a false alarm has a chance of 1e-6."""
    client, messages = questions(name, indices)
    drawn = [pair for message in messages for pair in numbers_of(name, client, message)]
    found = observer.lengths(messages) + observer.heads(messages, HEAD.size + BOX_HEAD.size if name != "sum" else 32)
    if len({number for number, _ in drawn}) < len(drawn):
        found.append("a number occurs twice")
    # Moduli of hidden orders have their two highest bits set; remainders are anywhere below theirs.
    places = [gmpy2.mpfr(number) / modulus for number, modulus in drawn if modulus != 2**BITS]
    if kstest([float(one) for one in places], "uniform").pvalue < 1e-6:
        found.append("numbers are not anywhere")
    low = b"".join((number >> 8).to_bytes(3 * BYTES, "big")[-31:] for number, _ in drawn)  # moduli are odd
    return found + observer.bytes_look_uneven([bytes(HEAD.size) + low])


@pytest.mark.parametrize("indices", [SAME, MIXED], ids=["one entry", "many entries"])
@pytest.mark.parametrize("name", CLIENTS)
def test_a_server_sees_chance_of_one_length_whatever_is_asked(name, indices):
    assert findings(name, indices) == []


@pytest.mark.parametrize("name", ["stern", "lipmaa", "sum"])
def test_a_mask_that_is_used_twice_is_noticed(name, monkeypatch):
    drawn = secrets.randbits(BITS - 8) | 1
    monkeypatch.setattr(damgard_jurik, "random_unit", lambda _: drawn)
    assert "a number occurs twice" in findings(name, MIXED)


def test_numbers_of_residues_that_are_used_twice_are_noticed(monkeypatch):
    kept: dict[int, itertools.cycle] = {}
    plain = residues.random_unit

    def again(modulus):
        return next(kept.setdefault(modulus, itertools.cycle([plain(modulus) for _ in range(300)])))

    monkeypatch.setattr(residues, "random_unit", again)
    assert "a number occurs twice" in findings("ko", MIXED)


def test_numbers_of_residues_that_are_small_are_noticed(monkeypatch):
    monkeypatch.setattr(residues, "random_unit", lambda _: 2 + secrets.randbelow(2**200))
    assert "numbers are not anywhere" in findings("ko", MIXED)


def test_a_hidden_group_that_is_used_twice_is_noticed(monkeypatch):
    plain, kept = GentryRamzan._group, {}
    monkeypatch.setattr(
        hidden_orders.GentryRamzan,
        "_group",
        lambda self, prime, exponent: kept.get(prime) or kept.setdefault(prime, plain(self, prime, exponent)),
    )
    assert "a number occurs twice" in findings("gr", MIXED)


def test_schemes_of_today_give_every_entry_of_24():
    database = [secrets.token_bytes(3) for _ in range(ENTRIES)]
    entries, seed = as_entries(database), bytes(range(32))
    xor = TwoServerXor(ENTRIES, 3)
    hint = make_hint(columns_of(entries, 1), seed, parameters("lwe-1", 64))
    lattice = LatticeScheme(ENTRIES, 3, per_column=1, seed=seed, hint=hint, insecure_dimension=64)
    for index, entry in enumerate(database):
        asked = xor.query(index)
        assert xor.decode(asked, [answer_xor(entries, message) for message in asked.messages]) == entry
        asked = lattice.query(index)
        assert lattice.decode(asked, [answer_lattice(entries, asked.messages[0], per_column=1)]) == entry


def test_entries_of_other_lengths_are_filled_up_to_one_length():
    entries = as_entries([b"one", b"three", b""])
    assert entries.shape == (3, 5)
    assert [bytes(row) for row in np.asarray(entries)] == [b"one\0\0", b"three", bytes(5)]
