"""Who learns what in unions and joint models, and under which assumption; tested on transcripts."""

from __future__ import annotations

from dataclasses import astuple, dataclass


@dataclass(frozen=True)
class PartyStatement:
    """What one protocol tells one party.

    Parameters
    ----------
    protocol
        Its name.
    who
        Which party.
    learns
        What it learns of the others' records.
    assumption
        What must be true for it to learn no more.
    parties
        How parties must behave.
    """

    protocol: str
    who: str
    learns: str
    assumption: str
    parties: str


_FOLLOW = "follow the protocol, whatever they make of what they see (semi-honest)"
_DDH = "Diffie-Hellman decisions are hard in ristretto255 (about 2^126), SHA-512 as random oracle; not quantum-safe"
_CARRIED = "names of parties, columns and terms, lengths, rounds, times, and how the run ended"
_SEALED = "X25519, HKDF-SHA256, ChaCha20-Poly1305; greetings signed by certificates"
_OPENED = "what is opened to all, which is listed in each result, and what it can compute from that and its own records"
PARTY_STATEMENTS = (
    PartyStatement("union", "initiator", "how many records the helper has, how many are shared, the data of the "
                   "helper's other records in random order, the length of its longest record", _DDH, _FOLLOW),
    PartyStatement("union", "helper", "how many records the initiator has, how many are shared, the length of its "
                   "longest record", _DDH, _FOLLOW),
    PartyStatement("union with a total", "both", "besides: the total of one column of the helper over shared records, "
                   "unless few sets of records can be the shared ones; for the helper, up to 32 bits about which are",
                   _DDH, _FOLLOW),
    PartyStatement("sizes", "every holder", "how many records each has, each two share, and all have together; "
                   "of all lists hidden under all keys, which points occur in which", _DDH, _FOLLOW),
    PartyStatement("sum by shares", "K - 2 owners together", "the total, and so the others' total",
                   "none for shares: they are pure chance; ChaCha20 where they are drawn from a seed", _FOLLOW),
    PartyStatement("sum by masks", "K - 2 owners together", "the total, and so the others' total",
                   "X25519, HKDF-SHA256, ChaCha20", _FOLLOW),
    PartyStatement("sum by ring", "one owner alone", "the total; but the two neighbours of an owner together learn "
                   "its part", "none: what passes on is pure chance", _FOLLOW),
    PartyStatement("search for small cells", "every owner", "how many cells are small, not which; the first two "
                   "together could learn counts of each owner up to the limit", _DDH,
                   f"{_FOLLOW}; the first two do not work together"),
    PartyStatement("joint model", "every owner", f"{_OPENED}; which columns of numbers are of 0 and 1, or of whole "
                   "numbers below 10, at all owners; how many steps of distance few persons reach, not in which column",
                   "that of its sums and of its search for small cells",
                   _FOLLOW),
    PartyStatement("joint model", "every owner, before X'X is opened", "that no owner has fewer persons than min_cell "
                   "with more than most_own_leverage of its sums of squares in any direction of columns (and of an "
                   "outcome that is not binary); so they have no more of the sums of all, or of all but some. Not "
                   "looked at before: persons of several owners together; the leverage of a person in the pool, which "
                   "is looked at before outcomes enter; values within a code. Not looked at: if most_own_leverage is "
                   "1; or if the outcome is binary, all columns are codes and all weights are equal, where cells are "
                   "counted. If min_cell is 1, nothing is looked at before X'X but how many persons there are: no "
                   "cell, nobody far out, no direction", "none: each owner looks at home", _FOLLOW),
    PartyStatement("joint models, several runs", "every owner", "nothing of changes of fewer than min_cell persons "
                   "of a column, if accounts are kept; those records, if not. Each result says which",
                   "hashes are keyed BLAKE2b", "keep one account each, and never a new "
                   "one: one that is not there is refused, and begun by name only"),
    PartyStatement("joint table, sparse", "every owner", "besides: how many cells each owner occupies, and which "
                   "cells anybody does, also where the table is then refused", _DDH, _FOLLOW),
    PartyStatement("joint table, sparse", "first owner", "besides: how many cells each set of owners occupies "
                   "together, not which cells", _DDH, _FOLLOW),
    PartyStatement("joint columns", "both owners", "that they have the same persons; which columns are of 0 and 1; "
                   "sums of products of all columns, those of columns of both to 26 bits", "ChaCha20",
                   f"{_FOLLOW}; the dealer works with neither"),
    PartyStatement("joint columns", "dealer", "how many persons there are", "ChaCha20", "as above"),
    PartyStatement("all", "coordinator, or whoever carries files", _CARRIED, _SEALED,
                   "any: altered, repeated and missing messages end the run; a last word that some are not told leaves "
                   "them without the result that others have, which their error says"),
)  # fmt: skip


def party_statements() -> tuple[PartyStatement, ...]:
    """Who learns what in unions and joint models, under which assumption.

    Examples
    --------
    >>> import discreet as ds
    >>> [one.learns for one in ds.private.party_statements() if one.who == "dealer"]
    ['how many persons there are']
    """
    return PARTY_STATEMENTS


def party_statements_table() -> str:
    """The statements as a table in Markdown, as the documentation shows it."""
    heads = ("protocol", "who", "learns", "no more than that, if", "parties")
    rows = [heads, ("---",) * len(heads), *(astuple(one) for one in PARTY_STATEMENTS)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
