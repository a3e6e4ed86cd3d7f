"""A look before asking: whether a table would be answered, and why not.

A look is asking without getting the answer, and without the charge to the account: the same work, the same cells of
the day's budget, an entry in the log. It tells one thing, whether asking would be refused and with which words, so that
nobody learns by looking what asking would not tell, nor for less. Who asks next for what they looked at pays no second
time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.errors import DiscreetError
from discreet.server.account import Account, Margin, MarginReading
from discreet.server.answer import answered, shown
from discreet.server.dataset import Dataset
from discreet.server.denied import Denied
from discreet.server.gate import admitted, estimated_cells
from discreet.server.identity import Identity
from discreet.server.problems import problem_of
from discreet.server.question import Question, QuestionBody, Selection
from discreet.server.roles import allowed
from discreet.server.service import Service, log_fields
from discreet.trust.log.entries import QuestionRefused

ACTION = "table.look"
NOTHING_AGAINST = "only-looked"
"""The rule that the log has of a look at a table that would be answered."""


@dataclass(frozen=True)
class OnlyChecked:
    """An account that says what a charge would be refused for, and charges nothing."""

    account: Account

    def has(self, dataset: str, edition: str, table: str) -> bool:
        """Whether a table was charged before."""
        return self.account.has(dataset, edition, table)

    def check(
        self, dataset: str, edition: str, readings: Sequence[MarginReading], room: Mapping[Margin, float]
    ) -> None:
        """Refuse what could not be charged."""
        self.account.check(dataset, edition, readings, room)

    def charge(
        self, dataset: str, edition: str, table: str, readings: Sequence[MarginReading], room: Mapping[Margin, float]
    ) -> None:
        """The same: nothing is entered."""
        self.account.check(dataset, edition, readings, room)


async def why_not(
    service: Service, who: Identity, place: tuple[str, str], body: QuestionBody, request: str
) -> DiscreetError | None:
    """Why a question would be refused now; nothing where it would be answered.

    Parameters
    ----------
    service
        What would answer.
    who
        Who looks.
    place
        Name and edition of the data set.
    body
        The question.
    request
        The number of the request, for the log.

    Raises
    ------
    DiscreetError
        When the log does not take the entry: then nothing is told.
    """
    question: Question | None = None
    try:
        allowed(who, "table.ask").required()
        dataset = service.dataset(*place)
        await service.refuse_closed(dataset)
        question, selection = admitted(dataset, body)
        await _try(service, who, dataset, question, selection)
    except DiscreetError as error:
        await service.log.append(_entry(service, who, place, question, request, _kind(error)))
        return error
    except Exception:
        await service.log.append(_entry(service, who, place, question, request, "unexpected"))
        raise
    await service.log.append(_entry(service, who, place, question, request, NOTHING_AGAINST))
    return None


def _entry(
    service: Service, who: Identity, place: tuple[str, str], question: Question | None, request: str, rule: str
) -> QuestionRefused:
    """What the log has of a look: no answer was given, and why not."""
    known = place if place in service.datasets else (None, None)
    digest = None if question is None else question.digest
    about: dict[str, Any] = {"dataset": known[0], "edition": known[1], "question": digest}
    return QuestionRefused(**log_fields(who, request), **about, action=ACTION, rule=rule)


def _kind(error: DiscreetError) -> str:
    return error.kind if isinstance(error, Denied) else problem_of(error).kind


async def _try(service: Service, who: Identity, dataset: Dataset, question: Question, selection: Selection) -> None:
    """Do all that asking does but for the charge, and forget the answer."""
    questions = [question]
    if selection.measure == "mean":
        questions.append(replace(question, value=None))
    wanted = [one for one in questions if service.answers.get(who.holder, one) is None]
    size, account = estimated_cells(dataset, question), OnlyChecked(service.account)

    def work() -> None:
        for one in wanted:
            service.budgets.reserve(who.holder, size, dataset.policy.budget_cells)
            service.paid.put(who.holder, one.digest)
            shown(dataset, answered(dataset, one, account, service.key), selection)

    if wanted:
        await service.workplace.run(size, work)
