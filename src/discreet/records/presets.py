"""Lists of methods for surveys of a kind, to read, to print and to change before they run.

Examples
--------
>>> import discreet as ds
>>> [step.kind for step in ds.presets.wealth_survey(["income", "debts"], unusual=50, camouflage=50)]
['redraw', 'round_randomly']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.errors import ParameterError, listed
from discreet.methods.base import RecordMethod
from discreet.records.recode import Recode
from discreet.records.redraw import Redraw
from discreet.records.round_randomly import MONEY, Bases, RoundRandomly

__all__ = ["wealth_survey"]

NEGATIVE = -9
"""What negative amounts become where only that they are negative may be known."""


def wealth_survey(
    money: Sequence[str],
    *,
    coarsen: Mapping[str, Mapping[str, Any]] | None = None,
    top: Mapping[str, float] | None = None,
    negative: Sequence[str] = (),
    totals: Mapping[str, Sequence[str]] | None = None,
    unusual: int = 200,
    by: Sequence[str] = (),
    flags: str | None = None,
    camouflage: int = 150,
    predictors: Sequence[str] = (),
    bases: float | Bases = MONEY,
    round_other: Mapping[str, float | Bases] | None = None,
    key_file: str | None = None,
) -> list[RecordMethod]:
    """The methods that a survey of incomes, assets and debts goes through, in their order.

    Codes become fewer and other columns are top-coded; the money of unusual households, and of others beside them, is
    drawn anew (:class:`discreet.Redraw`); money is top-coded where that is asked for, and rounded at random
    (:class:`discreet.RoundRandomly`). The order is that of Kennickell and Lane (2006) on the Survey of Consumer
    Finances; the numbers of records, bounds and small bases are choices of this package, because theirs are secret.

    Leave records out with ``Microdata(leave_out=...)``, and columns by giving them the role ``identifier``.

    Parameters
    ----------
    money
        Columns of money, in the order in which they are drawn anew; totals may be among them.
    coarsen
        Per column old codes with their new ones, or new codes with lists and ranges of old ones. Every code must be
        named.
    top
        Per column the largest number that is shown; larger ones become it.
    negative
        Columns of money whose negative numbers become -9.
    totals
        Totals and their parts, such as ``{"networth": ["assets", "-debts"]}``.
    unusual, by, flags, camouflage, predictors
        Which records are drawn anew, and what models go by; see :class:`discreet.Redraw`. Nothing is drawn where
        ``unusual`` and ``camouflage`` are 0 and there are no flags.
    bases, round_other
        Sizes and bases of money, and bases of other columns, such as ``{"acres": 5}``.
    key_file
        File of the secret key; the variable ``DISCREET_KEY`` or a new key otherwise.

    Examples
    --------
    >>> import discreet as ds
    >>> steps = ds.presets.wealth_survey(
    ...     ["income", "assets", "debts", "networth"], top={"age": 95}, totals={"networth": ["assets", "-debts"]}
    ... )
    >>> for step in steps:
    ...     print(step.kind)
    recode
    redraw
    round_randomly
    """
    money, added = tuple(money), {name: tuple(parts) for name, parts in (totals or {}).items()}
    drawn = tuple(name for name in money if name not in added)
    coded = [*negative, *(name for name in top or {} if name in money)]
    _refuse_coded_parts(coded, added)
    steps: list[RecordMethod] = [_coarser(name, codes) for name, codes in (coarsen or {}).items()]
    steps += [Recode(name, top=limit) for name, limit in (top or {}).items() if name not in money]
    if unusual or camouflage or flags is not None:
        steps.append(
            Redraw(
                drawn,
                unusual=unusual,
                by=tuple(by),
                flags=flags,
                camouflage=camouflage,
                predictors=tuple(predictors),
                totals=added,
                key_file=key_file,
            )
        )
    steps += [Recode(name, top=limit) for name, limit in (top or {}).items() if name in money]
    steps += [Recode(name, bottom=0, bottom_code=NEGATIVE) for name in negative]
    keep = (NEGATIVE,) if negative else ()
    steps.append(RoundRandomly(drawn, bases, dict(round_other or {}), keep, added, key_file=key_file))
    return steps


def _coarser(name: str, codes: Mapping[str, Any]) -> Recode:
    """Old codes to new ones, or new codes with their old ones."""
    if all(isinstance(old, str) for old in codes.values()):
        return Recode(name, map=dict(codes), complete=True)
    return Recode(name, groups=dict(codes), complete=True)


def _refuse_coded_parts(coded: Sequence[str], totals: Mapping[str, Sequence[str]]) -> None:
    """A total of amounts that are no longer there would give them away, and could not be added up."""
    parts = {part.removeprefix("-") for named in totals.values() for part in named}
    wrong = [name for name in coded if name in parts or name in totals]
    if wrong:
        raise ParameterError(
            f"{listed(wrong)}: a column that is coded cannot be a total or a part of one.",
            hint="Leave the total out of totals= and out of the file, or do not code the column.",
        )
