"""Linear regression over vertically split records: one owner has some columns of all persons, another the rest.

Products of columns of two owners need a third party that deals random numbers and sees nothing else (a matrix triple).
Rows must be matched before, which tells both owners whom they share.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import InputError, ParameterError
from discreet.private.joint.account import (
    ACCOUNTS_KEPT,
    NO_ACCOUNTS,
    accounted,
    agreed_on_accounts,
    require_account,
    whole_records,
)
from discreet.private.joint.coarse import KEPT, cut_off, powers_of, require_open
from discreet.private.joint.design import OwnerRows, level_codes, plain_columns
from discreet.private.joint.fits import PERSONS, JointFit
from discreet.private.joint.fixed_point import (
    SCALE_BITS,
    Halves,
    from_bytes,
    from_halves,
    minus,
    plus,
    to_bytes,
    to_halves,
)
from discreet.private.joint.leading import OwnDirections, require_nobody_leads
from discreet.private.joint.products import Numbers, product
from discreet.private.joint.safety import (
    RevealLimits,
    require_freedom,
    require_independent,
    require_low_leverage,
    require_no_small,
    shown_cells,
)
from discreet.private.joint.small_cells import Parts, small_counts
from discreet.private.joint.values import require_spread
from discreet.private.parties.conversation import Desk, conversation, plan_of
from discreet.private.parties.digests import digest_of
from discreet.private.parties.places import MeetingPlace
from discreet.private.parties.randomness import derived_key, key_stream
from discreet.private.parties.rounds import PartyTask, Talk, TalkRound, count_told
from discreet.private.parties.together import run_together
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.frames import Transcript

DEALER = "dealer"
MOST_PERSONS = 2**31


@dataclass(frozen=True)
class VerticalTerms:
    """What owners and dealer agree on.

    Parameters
    ----------
    columns
        Columns of each of the two owners that enter the model, by owner.
    outcome
        That of the first owner's columns that is explained.
    limits, scale_bits
        What may be revealed; bits behind the point.
    """

    columns: Mapping[str, Sequence[str]]
    outcome: str
    limits: RevealLimits = field(default_factory=RevealLimits)
    scale_bits: int = SCALE_BITS

    def __post_init__(self) -> None:
        if len(self.columns) != 2 or DEALER in self.columns or not all(self.columns.values()):
            raise ParameterError(
                "Columns of two owners are joined.", hint="Give two, neither called 'dealer', each with a column."
            )
        names = [name for one in self.columns.values() for name in one]
        if len(set(names)) < len(names):
            raise ParameterError("Two columns have the same name.", hint="Rename one.")
        first = next(iter(self.columns))
        if self.outcome not in self.columns[first]:
            raise ParameterError(f"The outcome {self.outcome!r} is no column of {first}.", hint="The first has it.")
        if not 16 <= self.scale_bits <= 48:
            raise ParameterError(f"scale_bits={self.scale_bits} is not allowed.", hint="Use 16 to 48.")

    @property
    def names(self) -> dict[str, list[str]]:
        """Columns of each owner, the outcome last."""
        return {
            owner: [name for name in one if name != self.outcome] + [self.outcome] * (self.outcome in one)
            for owner, one in self.columns.items()
        }

    @property
    def sizes(self) -> tuple[int, int]:
        """Columns of both, the intercept with those of the first."""
        one, other = self.names.values()
        return len(one) + 1, len(other)


def join_columns(
    owners: Mapping[str, Any],
    outcome: str,
    *,
    match: str,
    limits: RevealLimits | None = None,
    scale_bits: int = SCALE_BITS,
) -> JointFit:
    """Least squares of an outcome on the columns of two owners who have the same persons.

    A third party deals random numbers and sees nothing of the records. All run in this process.

    Parameters
    ----------
    owners
        Records of two owners, by name; the first has the outcome. All columns but ``match`` enter the model.
    outcome
        Column of the first owner.
    match
        Column with the persons' identifiers, which both have in the same order.
    limits
        What may be revealed.
    scale_bits
        Bits behind the point of each factor, modulo 2^128.

    Raises
    ------
    ProtocolError
        ``other records`` when persons or their order differ; ``collinear columns``; ``not safe to reveal``.

    Examples
    --------
    >>> import numpy as np
    >>> import discreet as ds
    >>> rng = np.random.default_rng(1)
    >>> x, z, rest = rng.normal(size=(3, 50))
    >>> tax = {"person": np.arange(50), "income": 1 + 2 * x - z + rest / 100, "x": x}
    >>> health = {"person": np.arange(50), "z": z}
    >>> fit = ds.private.join_columns({"tax": tax, "health": health}, "income", match="person")
    >>> dict(zip(fit.columns, fit.coefficients.round(1).tolist()))
    {'(Intercept)': 1.0, 'x': 2.0, 'z': -1.0}
    """
    columns = {name: [column for column in _all_columns(data) if column != match] for name, data in owners.items()}
    terms = VerticalTerms(columns, outcome, limits or RevealLimits(), scale_bits)
    everybody: dict[str, Any] = {**owners, DEALER: None}
    record = Transcript()
    talks = {
        name: conversation(name, vertical_task(name, data, match, terms), record=record)
        for name, data in everybody.items()
    }
    found = run_together(talks, record)[next(iter(owners))]
    assert found is not None
    return replace(found, transcript=record)


def join_columns_as(
    me: str,
    data: Any,
    terms: VerticalTerms,
    place: MeetingPlace,
    *,
    match: str = "",
    account: str | Path | None = None,
    without_account: bool = False,
) -> JointFit | None:
    """One of three parties in places of their own: an owner of columns, or the dealer, who has no records.

    Parameters
    ----------
    me
        Name of an owner, or ``"dealer"``.
    data
        Its records; ``None`` for the dealer.
    terms
        What all agree on.
    place
        Where they meet.
    match
        Column with the persons' identifiers, which both have in the same order.
    account, without_account
        As in :func:`join_as`; the dealer has no records to keep account of.

    Returns
    -------
    JointFit
        For owners; ``None`` for the dealer.

    Examples
    --------
    >>> import discreet as ds
    >>> terms = ds.private.VerticalTerms({"tax": ["income", "x"], "health": ["z"]}, "income")
    >>> terms.sizes  # ds.private.join_columns_as("tax", records, terms, place, match="person")
    (3, 1)
    """
    record = Transcript()
    task = vertical_task(me, data, match, terms)
    if me == DEALER:
        task = agreed_on_accounts(task, not without_account)
    else:
        require_account(account, without_account)
        task = accounted(task, account, terms.limits.min_cell)
    found = place.meet(me, task, record)
    return (
        None
        if found is None
        else replace(found, transcript=record, accounts=NO_ACCOUNTS if without_account else ACCOUNTS_KEPT)
    )


def vertical_task(me: str, data: Any, match: str, terms: VerticalTerms) -> PartyTask[JointFit | None]:
    """What an owner or the dealer agrees on, and what it does then."""
    agreed = {
        "columns": terms.names,
        "outcome": terms.outcome,
        "scale bits": terms.scale_bits,
        **asdict(terms.limits),
    }
    plan = plan_of("joint columns 1", [*terms.columns, DEALER], agreed)
    if me == DEALER:
        return PartyTask(plan, partial(_deal, terms=terms), b"")
    if me not in terms.columns:
        raise ParameterError(f"{me!r} is no owner.", hint=f"The terms name {', '.join(terms.columns)}.")
    keys, columns = _own_columns(data, match, terms.names[me])
    digest = digest_of([*keys, *columns.values()])
    work = partial(_own, keys=keys, columns=columns, terms=terms)
    return PartyTask(plan, work, digest, lambda: whole_records(columns))


def _all_columns(data: Any) -> list[str]:
    return [str(name) for name in (data if isinstance(data, Mapping) else data.columns)]


def _own_columns(data: Any, match: str, names: Sequence[str]) -> tuple[list[str], dict[str, Numbers]]:
    columns = plain_columns(data, [match, *names])
    keys = level_codes(columns[match], match)
    if len(set(keys)) < len(keys):
        raise ProtocolError("duplicate record", "A person occurs twice.", hint="Keep one record a person.")
    plain = {}
    for name in names:
        values = columns[name]
        if values.dtype.kind not in "biuf" or not np.isfinite(values.astype(np.float64)).all():
            raise InputError(f"Column {name!r} has no number in some rows.", hint="Code it as numbers.")
        plain[name] = values.astype(np.float64)
    return keys, plain


def _deal(desk: Desk, terms: VerticalTerms) -> Talk[JointFit | None]:
    """The dealer: seeds to both, and to the second what makes the triple right. It hears how many rows there are."""
    one, other = desk.parties[:2]
    heard = yield TalkRound("rows", {}, frozenset([one, other]))
    rows, again = (count_told(heard[name], name) for name in (one, other))
    if rows != again or not 0 < rows < MOST_PERSONS:
        raise _other_records(other)
    p, q = terms.sizes
    seeds = {name: desk.draws.take(32, "triple", name) for name in (one, other)}
    A, B = _drawn(seeds[one], "factor", rows * p), _drawn(seeds[other], "factor", rows * q)
    rest = minus(product(A, B, rows), _drawn(seeds[one], "part", p * q))
    yield TalkRound("triple", {one: seeds[one], other: seeds[other] + to_bytes(rest)})
    yield TalkRound("persons", {})
    yield TalkRound("hidden columns", {})
    if terms.limits.min_cell > 1:
        yield from small_counts(desk, None, range(1, terms.limits.min_cell), "small cells", 0)
    yield TalkRound("parts of products", {})
    yield TalkRound("own products", {})
    return None


def _drawn(seed: bytes, what: str, count: int) -> Halves:
    return np.frombuffer(key_stream(derived_key(seed, what), 16 * count), "<u8").reshape(count, 2).astype(np.uint64)


def _own(desk: Desk, keys: list[str], columns: dict[str, Numbers], terms: VerticalTerms) -> Talk[JointFit | None]:
    one, other = desk.parties[:2]
    first, rows, bits, names = desk.me == one, len(keys), terms.scale_bits, terms.names
    peer, (width, q) = other if first else one, terms.sizes
    require_freedom(rows, width + q - 1, terms.limits)
    _require_own_safe(columns, terms.limits, desk.me)
    for name, values in columns.items():
        require_open(name, values, q if first else width, desk.me)
    yield from _same_rows(peer, rows)
    heard = yield TalkRound("triple", {}, frozenset([DEALER]))
    Z = np.stack([np.ones(rows)] * first + [columns[name] for name in names[desk.me]], axis=1)
    flags = np.asarray(np.isin(Z, (0, 1)).all(axis=0), dtype=np.bool_)
    theirs_flags = yield from _same_persons(desk, peer, keys, flags.tobytes(), q if first else width)
    block = Z.T @ Z
    powers = powers_of(np.diag(block), rows, flags)
    X = to_halves(np.ldexp(Z, -powers), 2, bits)
    _require_room(np.ldexp(np.diag(block), -2 * powers), rows, bits)
    seed, rest = heard[DEALER][:32], heard[DEALER][32:]
    hidden = minus(X, _drawn(seed, "factor", X.shape[0]))
    told = yield TalkRound("hidden columns", {peer: to_bytes(hidden)}, frozenset([peer]))
    theirs = from_bytes(told[peer], rows * (q if first else width), peer)
    if first:
        part = plus(product(_drawn(seed, "factor", rows * width), theirs, rows), _drawn(seed, "part", width * q))
    else:
        part = plus(product(theirs, X, rows), from_bytes(rest, width * q, DEALER))
    both = np.outer(flags, theirs_flags) if first else np.outer(theirs_flags, flags)
    yield from _no_small_pairs(desk, part, both, np.diag(block)[flags], rows, terms)
    part = cut_off(part, bits, first)
    told = yield TalkRound("parts of products", {peer: to_bytes(part)}, frozenset([peer]))
    cross = from_halves(plus(part, from_bytes(told[peer], width * q, peer)), KEPT).reshape(width, q)
    told = yield TalkRound("own products", {peer: block.astype("<f8").tobytes()}, frozenset([peer]))
    size = q if first else width
    if len(told[peer]) != 8 * size * size:
        raise ProtocolError("wrong length", f"{peer} sent products of another size.")
    its = np.frombuffer(told[peer], "<f8").reshape(size, size).astype(np.float64)
    if not np.isfinite(its).all() or not np.array_equal(its, its.T) or (np.diag(its) < 0).any():
        raise ProtocolError("tampered", f"{peer} sent what are no products of columns.")
    theirs_powers = powers_of(np.diag(its), rows, theirs_flags.astype(bool))
    ups, downs = (powers, theirs_powers) if first else (theirs_powers, powers)
    cross = np.ldexp(cross, ups[:, None] + downs[None, :])
    blocks = (block, its) if first else (its, block)
    _require_products(cross, *(np.sqrt(np.diag(one)) for one in blocks))
    whole = np.block([[block, cross], [cross.T, its]]) if first else np.block([[its, cross], [cross.T, block]])
    desk.opened += [("products of columns of both", cross.size), ("own products", block.size + its.size)]
    labels = ["(Intercept)", *names[one], *names[other]]
    return _fitted(whole, labels, terms.outcome, rows, tuple(desk.opened))


def _require_own_safe(columns: Mapping[str, Numbers], limits: RevealLimits, me: str) -> None:
    """Stop before this owner's products show small cells of its own columns, or one person stands out in them."""
    X = np.stack([np.ones(len(next(iter(columns.values())))), *columns.values()], axis=1)
    ones = np.ones(len(X))
    flags = np.asarray(np.isin(X, (0, 1)).all(axis=0), dtype=np.bool_)
    own = OwnerRows(("(Intercept)", *columns), flags, X, ones, ones, ones)
    cells = shown_cells(own, False)
    require_no_small(int(((cells > 0) & (cells < limits.min_cell)).sum()), limits)
    gram = X.T @ X
    require_independent(gram, own.names)
    require_low_leverage(own, gram, limits, me)
    require_nobody_leads(OwnDirections(X, ones, ones), limits, me)


def _no_small_pairs(
    desk: Desk, part: Halves, both: Numbers, ones: Numbers, rows: int, terms: VerticalTerms
) -> Talk[None]:
    """Stop before products of columns of both are opened that count few persons.

    A product of two columns of 0 and 1 is a count, of which each owner has a part: its upper bits, and a carry where
    the lower ones of both parts are not 0.
    """
    limit, shift = terms.limits.min_cell, 2 * terms.scale_bits
    if limit < 2:
        return
    chosen = part[np.asarray(both).ravel().astype(bool)]
    bits = 128 - shift
    low = np.array([int(lower) + (int(upper) << 64) for lower, upper in chosen], dtype=object)
    first = desk.me == desk.parties[0]
    counts = [(one >> shift) + (first and one % 2**shift != 0) for one in low]
    along = np.asarray(ones, dtype=np.int64)
    wide = len(counts) // max(1, len(along))
    own = np.repeat(along, wide) if first else np.tile(along, wide)
    tested: list[int] = []
    for one, n in zip(counts, own.tolist(), strict=True):
        # The four cells of two such columns, each in two parts.
        mine = (one, n - one, -one, rows - n + one) if first else (one, -one, n - one, one - n)
        tested += [value % 2**bits for value in mine]
    parts: Parts = np.array(tested, dtype=np.uint64)
    small = yield from small_counts(desk, parts, range(1, limit), "small cells", len(parts), bits)
    require_no_small(small, terms.limits)


def _same_rows(peer: str, rows: int) -> Talk[None]:
    body = rows.to_bytes(8, "big")
    heard = yield TalkRound("rows", {peer: body, DEALER: body}, frozenset([peer]))
    if heard[peer] != body:
        raise _other_records(peer)


def _other_records(peer: str) -> ProtocolError:
    return ProtocolError(
        "other records", f"{peer} has other persons, or another order of them.", hint="Match and sort them first."
    )


def _same_persons(desk: Desk, peer: str, keys: list[str], own_flags: bytes, size: int) -> Talk[Numbers]:
    """Stop unless both have the same persons in the same order; nobody else can test guesses.

    Gives which columns of the other are of 0 and 1.
    """
    text = b"".join(len(one).to_bytes(4, "big") + one for one in (key.encode() for key in keys))
    own = hmac.digest(desk.envelopes.pair_key(peer, "persons"), hashlib.sha256(text).digest(), "sha256")
    heard = yield TalkRound("persons", {peer: own + own_flags}, frozenset([peer]))
    if not hmac.compare_digest(heard[peer][: len(own)], own):
        raise _other_records(peer)
    flags = heard[peer][len(own) :]
    if len(flags) != size or set(flags) - {0, 1}:
        raise ProtocolError("wrong length", f"{peer} has another number of columns.")
    return np.frombuffer(flags, np.uint8).astype(np.float64)


def _require_room(squares: Numbers, rows: int, scale_bits: int) -> None:
    """Refuse numbers whose products might not fit: each product is at most the square root of both sums of squares."""
    if squares.max() * rows >= 2.0 ** (127 - 2 * scale_bits):
        raise ProtocolError(
            "number too large", "Products of columns may not fit into 128 bits.", hint="Use larger units."
        )


def _require_products(cross: Numbers, one: Numbers, other: Numbers) -> None:
    """Refuse numbers that cannot be products of columns of these lengths."""
    room = np.outer(one, other)
    if (np.abs(cross) > room * (1 + 1e-6) + 1e-6 * (1 + room.max())).any():
        raise ProtocolError(
            "wrong sum", "Parts of products do not add up to products of these columns.", hint="Start again."
        )


def _fitted(
    whole: Numbers, labels: Sequence[str], outcome: str, rows: int, opened: tuple[tuple[str, int], ...]
) -> JointFit:
    """Least squares from all products."""
    y = labels.index(outcome)
    kept = [k for k in range(len(labels)) if k != y]
    gram, sums, square = whole[np.ix_(kept, kept)], whole[kept, y], whole[y, y]
    names = tuple(labels[k] for k in kept)
    require_independent(gram, names)
    inverse = np.linalg.inv(gram)
    beta = inverse @ sums
    residual = max(square - sums @ beta, 0.0)
    null = square - sums[0] ** 2 / rows
    require_spread(residual, null)
    freedom = rows - len(kept)
    scale = residual / freedom
    logliks = [-0.5 * rows * (np.log(2 * np.pi * one / rows) + 1) for one in (residual, null)]
    formula = f"{outcome} ~ {' + '.join(names[1:])}"
    return JointFit(
        formula, names, beta, inverse * scale, rows, logliks[0], logliks[1], residual, residual, freedom, PERSONS,
        float(np.sqrt(scale)), 1, opened,
    )  # fmt: skip
