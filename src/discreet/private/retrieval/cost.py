"""What a look-up costs: the source's formulas for its schemes, and what today's send and compute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import ParameterError, unknown_name
from discreet.private.retrieval.lattice_parameters import VERSIONS

WORTH_HIDING = 50_000_000
"""Bytes below which a database is best downloaded."""
FORMULAS = ("ko", "stern", "cms", "lipmaa", "gr")


@dataclass(frozen=True)
class RetrievalCost:
    """Cost of a scheme in bits: once, up, down for one chunk, and payload of a chunk.

    Parameters
    ----------
    setup, query, reply, chunk
        As in the source's table.
    entry
        Bits of an entry.

    Examples
    --------
    >>> cost = retrieval_cost("gr", 10**5, 2000, bits=1024)
    >>> cost.query, round(cost.download), cost.setup
    (2048, 10000, 102400000.0)
    """

    setup: float
    query: float
    reply: float
    chunk: float
    entry: float

    @property
    def download(self) -> float:
        """Bits down for an entry; longer entries in proportion, as the source counts."""
        return self.reply if self.entry <= self.chunk else self.entry * self.reply / self.chunk

    @property
    def whole_chunks(self) -> float:
        """Bits down for an entry in real messages, which have whole chunks."""
        return math.ceil(self.entry / self.chunk) * self.reply

    @property
    def expansion(self) -> float:
        """Bits down for a bit of payload."""
        return self.reply / self.chunk


def retrieval_cost(
    scheme: str,
    entries: float,
    entry_bits: float,
    *,
    bits: int = 3072,
    s: int = 1,
    dimensions: int = 1,
    security: int = 0,
) -> RetrievalCost:
    """The formulas of the source: Kushilevitz-Ostrovsky, Stern, Cachin-Micali-Stadler, Lipmaa, Gentry-Ramzan.

    Parameters
    ----------
    scheme
        ``"ko"``, ``"stern"``, ``"cms"``, ``"lipmaa"`` or ``"gr"``.
    entries, entry_bits
        Size of the database.
    bits
        Length of the modulus.
    s
        Length parameter of Stern and Lipmaa.
    dimensions
        Recursion.
    security
        Security parameter of ``"cms"``.

    Examples
    --------
    >>> cost = retrieval_cost("lipmaa", 10**4, 1e11, bits=1024, s=2)
    >>> round(cost.query / 1e6, 3), cost.expansion
    (30.717, 1.5)
    """
    if scheme not in FORMULAS:
        raise ParameterError(unknown_name("scheme", scheme, FORMULAS))
    if dimensions < 1 or s < 1 or entries < 1 or entry_bits < 1:
        raise ParameterError("Sizes, s and dimensions begin at 1.", hint="Give whole numbers from 1.")
    k, L, side = bits, dimensions, entries ** (1 / dimensions)
    if scheme == "ko":
        return RetrievalCost(k, L * k * side, float(k) ** L, 1, entry_bits)
    if scheme == "stern":
        return RetrievalCost(3 * k, L * (s + 1) * k * side, s * ((s + 1) / s) ** L * k, s * k, entry_bits)
    if scheme == "cms":
        return RetrievalCost(0, security**4 + 2 * security**5, security**5, 1, entry_bits)
    if scheme == "lipmaa":
        return RetrievalCost(3 * k, L * (s + (L + 1) / 2) * k * (side - 1), (s + L) * k, s * k, entry_bits)
    return RetrievalCost(side * k, 2 * L * k, k * 5 ** (L - 1), k / 5, entry_bits)


def lipmaa_query_bits(sides: Sequence[int], s: int, bits: int) -> int:
    """Bits of a question of Lipmaa's scheme with these sides.

    Examples
    --------
    >>> lipmaa_query_bits((4, 3, 2), 1, 1), lipmaa_query_bits((4, 3, 2), 2, 1)
    (16, 22)
    """
    return bits * sum((s + j) * (side - 1) for j, side in enumerate(sides, start=1))


@dataclass(frozen=True)
class RetrievalOption:
    """One way to look an entry up.

    Parameters
    ----------
    scheme
        Its name.
    up, down
        Bytes of a question and of its answer, over all servers.
    setup
        Bytes once a version of the database.
    server_seconds
        Estimated time of one core a question; the machine that the constants were measured on is named in the docs.
    servers
        How many that must not talk to each other.
    dimensions
        Recursion, where there is any.
    needs
        What the server must know of a question; nothing, for data that were protected once and for all.
    """

    scheme: str
    up: float
    down: float
    setup: float
    server_seconds: float
    servers: int = 1
    dimensions: int = 1
    needs: str = "nothing"

    def total(self, queries: int) -> float:
        """Bytes of so many look-ups with all that is fetched once."""
        return self.setup + queries * (self.up + self.down)


XOR_SPEED, LATTICE_SPEED = 15 * 2**30, 5 * 2**30
"""Bytes a second and core that the benchmark demands."""
POWER_SECONDS = 0.0085
"""A power modulo 3072 bits with an exponent of full length."""
PRODUCT_SECONDS = 3e-6
"""A product modulo 3072 bits."""


def options(entries: int, entry_bytes: int, *, servers: int = 1, bits: int = 3072, s: int = 1) -> list[RetrievalOption]:
    """All ways to look up one of so many entries, each with the recursion that sends least."""
    size = entries * entry_bytes
    found = [RetrievalOption("download", 0, 0, size, 0.0)]
    if servers >= 2:
        up = 2 * -(-entries // 8)
        found.append(RetrievalOption("xor", up, 2 * entry_bytes, 0, size / XOR_SPEED, servers=2))
    found.append(_lattice(entries, entry_bytes))
    for scheme in ("ko", "stern", "lipmaa", "gr"):
        most = max(1, min(6, int(math.log2(max(2, entries)))))
        found.append(
            min(
                (_historic(scheme, entries, entry_bytes, bits, s, depth) for depth in range(1, most + 1)),
                key=lambda option: option.up + option.down,
            )
        )
    return found


def _lattice(entries: int, entry_bytes: int) -> RetrievalOption:
    size = entries * entry_bytes
    per_column = 1 << max(0, round(math.log2(max(1.0, math.sqrt(size) / entry_bytes))))
    columns = -(-entries // per_column)
    height = per_column * entry_bytes
    hint = 4 * VERSIONS["lwe-1"].dimension * height
    return RetrievalOption("simplepir", 4 * columns, 4 * height, hint, size / LATTICE_SPEED)


def _historic(scheme: str, entries: int, entry_bytes: int, bits: int, s: int, dimensions: int) -> RetrievalOption:
    cost = retrieval_cost(scheme, entries, 8 * entry_bytes, bits=bits, s=s, dimensions=dimensions)
    longer = bits / 3072
    if scheme == "ko":
        seconds = entries * 8 * entry_bytes * PRODUCT_SECONDS * longer**2
    elif scheme == "gr":
        seconds = entries * 8 * entry_bytes * POWER_SECONDS / 3072 * longer**2
    else:
        powers = entries * math.ceil(8 * entry_bytes / (s * bits))
        seconds = powers * POWER_SECONDS * s * (s + 1) ** 2 * longer**3
    return RetrievalOption(
        scheme, cost.query / 8, cost.whole_chunks / 8, cost.setup / 8, seconds, dimensions=dimensions
    )


@dataclass(frozen=True)
class RetrievalAdvice:
    """Which scheme fits, why, and what all of them cost.

    Examples
    --------
    >>> print(advise(1000, 100).summary().splitlines()[0])
    Download it: the whole database has 100,000 bytes.
    """

    best: RetrievalOption
    reason: str
    options: tuple[RetrievalOption, ...]
    queries: int

    def summary(self) -> str:
        """The advice, and a line for each scheme."""
        lines = [self.reason]
        head = f"{'scheme':<10} {'bytes up':>14} {'bytes down':>14} {'bytes once':>16} {'server s':>10}  servers"
        lines.append(head)
        for one in self.options:
            lines.append(
                f"{one.scheme:<10} {one.up:>14,.0f} {one.down:>14,.0f} {one.setup:>16,.0f} {one.server_seconds:>10,.3f}"
                f"  {one.servers}"
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, object]:
        """The advice for machines."""
        return {
            "best": self.best.scheme,
            "reason": self.reason,
            "queries": self.queries,
            "options": [
                {
                    "scheme": one.scheme,
                    "bytes_up": one.up,
                    "bytes_down": one.down,
                    "bytes_once": one.setup,
                    "server_seconds": one.server_seconds,
                    "servers": one.servers,
                    "dimensions": one.dimensions,
                    "server_needs": one.needs,
                }
                for one in self.options
            ],
        }


PATIENCE = 60.0
"""Seconds of a server for one question beyond which a scheme is not advised."""


def advise(
    entries: int, entry_bytes: int, *, queries: int = 1, servers: int = 1, bits: int = 3072, s: int = 1
) -> RetrievalAdvice:
    """Which scheme fits a database and a number of look-ups, before anything is sent.

    Parameters
    ----------
    entries, entry_bytes
        Size of the database.
    queries
        Look-ups of one version of it.
    servers
        How many servers that do not talk to each other have it.
    bits, s
        Of the schemes on factoring.

    Examples
    --------
    >>> import discreet as ds
    >>> ds.private.advise(262_144, 4096, queries=1000, servers=2).best.scheme
    'xor'
    """
    if min(entries, entry_bytes, queries, servers) < 1:
        raise ParameterError("Sizes and numbers begin at 1.", hint="Give whole numbers from 1.")
    found = tuple(options(entries, entry_bytes, servers=servers, bits=bits, s=s))
    size = entries * entry_bytes
    private = [one for one in found if one.scheme != "download" and one.server_seconds <= PATIENCE]
    least = min(private, key=lambda one: one.total(queries), default=None)
    if size < WORTH_HIDING:
        return RetrievalAdvice(found[0], f"Download it: the whole database has {size:,} bytes.", found, queries)
    if least is None or least.total(queries) >= size:
        reason = f"Download it: {queries:,} look-ups would not send less than the whole database, {size:,} bytes."
        return RetrievalAdvice(found[0], reason, found, queries)
    share = least.total(queries) / size
    reason = (
        f"Use {least.scheme}: {queries:,} look-ups send {least.total(queries):,.0f} bytes, {share:.1%} of the database."
    )
    return RetrievalAdvice(least, reason, found, queries)
