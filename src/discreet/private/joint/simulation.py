"""Owners in one process, ``ds.private.join(owners).logit("y ~ x1 + x2")``; or one of several, in its own place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.errors import ParameterError
from discreet.private.joint.account import ACCOUNTS_KEPT, NO_ACCOUNTS, accounted, require_account
from discreet.private.joint.design import Levels
from discreet.private.joint.models import JointModels, Result, agreed_terms
from discreet.private.joint.newton import NewtonTerms
from discreet.private.joint.safety import RevealLimits
from discreet.private.joint.sums import SumWay
from discreet.private.parties.conversation import conversation
from discreet.private.parties.places import MeetingPlace
from discreet.private.parties.rounds import PartyTask
from discreet.private.parties.together import run_together
from discreet.private.retrieval.frames import Transcript


def join(
    owners: Mapping[str, Any],
    *,
    levels: Levels | None = None,
    sums: SumWay = "shares",
    limits: RevealLimits | None = None,
    scale_bits: int = 40,
    two_owners: bool = False,
) -> JointOwners:
    """Owners of records with the same columns, for models of all records that nobody sees together.

    All owners run in this process, each as it would alone; for owners in several places see :func:`join_as`. Nobody
    keeps account of models here, which results say: whoever runs this has the records of all.

    Parameters
    ----------
    owners
        Records of each owner, by its name: frames, or mappings of columns.
    levels
        Codes of coded columns, the reference first; left out, all owners must have the same codes.
    sums
        How to add up: ``"shares"``, ``"masks"`` or ``"ring"``.
    limits
        What may be revealed.
    scale_bits
        Bits behind the point in sums modulo 2^128.
    two_owners
        Let two owners add up, of which each sees the other's part: for teaching.

    Raises
    ------
    ProtocolError
        ``too few parties`` for less than three owners; later what the owners find.

    Examples
    --------
    >>> import numpy as np
    >>> import discreet as ds
    >>> rng = np.random.default_rng(1)
    >>> owners = {name: {"x": rng.normal(size=100), "y": rng.integers(0, 2, 100)} for name in "ABC"}
    >>> fit = ds.private.join(owners).logit("y ~ x")
    >>> fit.columns, fit.persons
    (('(Intercept)', 'x'), 300)
    """
    if not isinstance(owners, Mapping):
        raise ParameterError(
            f"Owners are given by their names, not as {type(owners).__name__}.", hint='Write {"north": records, ...}.'
        )
    return JointOwners(dict(owners), levels or {}, agreed_terms(list(owners), sums, limits, scale_bits, two_owners))


def join_as(
    me: str,
    data: Any,
    owners: Sequence[str],
    place: MeetingPlace,
    *,
    levels: Levels | None = None,
    sums: SumWay = "shares",
    limits: RevealLimits | None = None,
    scale_bits: int = 40,
    account: str | Path | None = None,
    without_account: bool = False,
) -> JointOwner:
    """One of several owners, each in its own place, for models of all records.

    Every owner calls this with its own records and the same of everything else, and then the same model; each gets the
    same result.

    Parameters
    ----------
    me
        This owner's name, as its certificate has it.
    data
        Its records.
    owners
        Names of all owners, in one order.
    place
        Where they meet: :class:`AtCoordinator` or :class:`SharedFolder`.
    levels, sums, limits, scale_bits
        As in :func:`join`.
    account
        File in which this owner keeps account of its models: a run that together with an earlier one would show
        changed records, or the part of an owner, is refused. :func:`new_account` begins it; one that is not there is
        refused.
    without_account
        Keep no account, for tries with made-up records: all owners must say so, and the result does.

    Raises
    ------
    ParameterError
        When neither an account is named nor that there is none.
    InputError
        Of the model, before anybody is asked, when there is no such account.

    Examples
    --------
    >>> import discreet as ds
    >>> place = ds.private.AtCoordinator("example.org:8462", ds.private.PartyCredentials("a.pem", "a.key", "public"))
    >>> here = ds.private.join_as("A", {"x": [1.0], "y": [1]}, ["A", "B", "C"], place, account="models.account")
    >>> here.names  # here.logit("y ~ x") would now wait for the others
    ('A', 'B', 'C')
    """
    if me not in owners or len(set(owners)) < len(owners):
        raise ParameterError(f"{me!r} is not one of the owners, or one is named twice.", hint="Name each once.")
    require_account(account, without_account)
    terms = agreed_terms(owners, sums, limits, scale_bits)
    return JointOwner(me, data, owners, place, levels or {}, terms, account)


class JointOwners(JointModels):
    """Owners in one process that fit models together; made by :func:`join`."""

    needs_levels = False

    def __init__(self, owners: Mapping[str, Any], levels: Levels, terms: NewtonTerms) -> None:
        super().__init__(tuple(owners), levels, terms)
        self._owners = owners
        self.transcript = Transcript()
        """Every message of the last model."""

    def _run(self, build: Callable[[Any], PartyTask[Result]]) -> Result:
        self.transcript = record = Transcript()
        talks = {name: conversation(name, build(data), record=record) for name, data in self._owners.items()}
        results = run_together(talks, record)
        return replace(results[next(iter(results))], transcript=record)


class JointOwner(JointModels):
    """One owner that fits models with others in other places; made by :func:`join_as`."""

    def __init__(
        self,
        me: str,
        data: Any,
        owners: Sequence[str],
        place: MeetingPlace,
        levels: Levels,
        terms: NewtonTerms,
        account: str | Path | None,
    ) -> None:
        super().__init__(owners, levels, terms)
        self.me, self._data, self._place, self._account = me, data, place, account
        self.transcript = Transcript()
        """What this owner was told while the last model was fitted."""

    def _run(self, build: Callable[[Any], PartyTask[Result]]) -> Result:
        self.transcript = record = Transcript()
        task = accounted(build(self._data), self._account, self._terms.limits.min_cell)
        found = self._place.meet(self.me, task, record)
        return replace(found, transcript=record, accounts=NO_ACCOUNTS if self._account is None else ACCOUNTS_KEPT)
