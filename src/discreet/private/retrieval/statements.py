"""Who learns what in private retrieval, and under which assumption: one statement a scheme, tested on transcripts."""

from __future__ import annotations

from dataclasses import astuple, dataclass

ALL_TELL = "that, when and how often somebody asks, and for how many cells at once"


@dataclass(frozen=True)
class RetrievalStatement:
    """What one scheme keeps from whom.

    Parameters
    ----------
    scheme
        Its name.
    server_learns
        What a server learns of the question.
    client_learns
        What the client learns of the database.
    assumption
        What must be true for that.
    parties
        How parties must behave.
    quantum
        Whether a quantum computer would break it.
    """

    scheme: str
    server_learns: str
    client_learns: str
    assumption: str
    parties: str
    quantum: str


_ASKED = f"nothing but {ALL_TELL}"
_HONEST = "one server that may try to learn, as long as it is not told whether its answers were right"
STATEMENTS = (
    RetrievalStatement(
        "xor",
        _ASKED,
        "the page of the cell",
        "none: either question alone is pure chance",
        "two servers that do not talk to each other",
        "safe",
    ),
    RetrievalStatement(
        "simplepir",
        _ASKED,
        "the column of pages of the cell, and the hint",
        "learning with errors, n = 1184, q = 2^32, σ = 16: 2^131 by the core count of the primal attack, our estimate",
        _HONEST,
        "believed safe",
    ),
    RetrievalStatement(
        "ko",
        _ASKED,
        "the entry",
        "squares cannot be told from other numbers of Jacobi symbol 1 modulo a product of 3072 bits",
        _HONEST,
        "broken",
    ),
    RetrievalStatement("stern", _ASKED, "the entry", "decisional composite residuosity, 3072 bits", _HONEST, "broken"),
    RetrievalStatement("lipmaa", _ASKED, "the entry", "decisional composite residuosity, 3072 bits", _HONEST, "broken"),
    RetrievalStatement(
        "gr",
        _ASKED,
        "the entry",
        "phi-hiding with a prime power of a fifth of 3072 bits",
        _HONEST,
        "broken",
    ),
    RetrievalStatement(
        "sum",
        f"nothing but {ALL_TELL}; it cannot check the weights",
        "any weighted sum it asks for",
        "decisional composite residuosity, 3072 bits",
        _HONEST,
        "broken",
    ),
    RetrievalStatement("download", "that somebody has everything", "everything", "none", "any server", "safe"),
)
"""For each scheme; others on the line see lengths and times only, given TLS."""


def statements() -> tuple[RetrievalStatement, ...]:
    """Who learns what, under which assumption, for each scheme of private retrieval.

    Examples
    --------
    >>> import discreet as ds
    >>> [one.parties for one in ds.private.statements() if one.scheme == "xor"]
    ['two servers that do not talk to each other']
    """
    return STATEMENTS


def statements_table() -> str:
    """The statements as a table in Markdown, as the documentation shows it."""
    heads = ("scheme", "a server learns", "the client learns", "assumption", "parties", "quantum computer")
    rows = [heads, ("---",) * len(heads), *(astuple(one) for one in STATEMENTS)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
