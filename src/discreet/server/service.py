"""The service: who asks what, whether it is answered, and that nothing leaves before it is logged."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from discreet.errors import DiscreetError, unknown_name
from discreet.files.published import Heading
from discreet.keys import Key
from discreet.model.public import PublicTable
from discreet.server.account import Account
from discreet.server.answer import Answer, Answers, answered, shown
from discreet.server.dataset import Dataset
from discreet.server.denied import Denied
from discreet.server.encoding import Encoding, encoding_named
from discreet.server.gate import admitted, estimated_cells
from discreet.server.identity import Identity
from discreet.server.means import errors_of, means_of, percentages_of
from discreet.server.problems import problem_of
from discreet.server.purses import PaidAhead
from discreet.server.question import Question, QuestionBody, QuestionRefusal, Selection
from discreet.server.roles import allowed
from discreet.server.selecting import value_at
from discreet.trust.log.entries import AnswerGiven, LogEntry, QuestionRefused

T = TypeVar("T")
KEPT_BYTES = 256 * 2**20
"""Encoded answers that a worker keeps."""
LAST = 2**62
"""The size of what waits for all others."""
KEPT_WORDS = 2_048
"""Bytes of a question up to which it is kept what the gate made of it."""


class Log(Protocol):
    """Where entries go; one is written for good when ``append`` returns."""

    def append(self, entry: LogEntry) -> Awaitable[Any]:
        """Write an entry."""


class Reserves(Protocol):
    """Where cells are counted per day."""

    def reserve(self, holder: str, cells: int, most: int) -> None:
        """Take cells, or refuse."""

    def at_hand(self, holder: str, cells: int, most: int) -> bool:
        """Take cells that were reserved ahead, if there are enough, without waiting for anything."""


class AnsweringEditions(Protocol):
    """Where it is kept which editions answer."""

    def refuse_closed(self, dataset: str, edition: str) -> None:
        """Refuse an edition that does not answer now."""


class Reply(NamedTuple):
    """What is sent: bytes of a format, the digest under which the log has them, and what it answers."""

    content: bytes
    media_type: str
    file_name: str
    digest: str
    kept: bool
    question: Question
    kept_as: tuple[str, ...]


@dataclass
class Workplace:
    """The one thread that computes, and the line before it: small tables first, and not too many.

    Small tables have as many places of their own as large ones: who asks for large ones does not shut others out.
    """

    longest: int = 32
    small: int = 20_000
    """Cells up to which a table is small."""
    _waiting: list[int] = field(default_factory=lambda: [0, 0])
    _number: Any = field(default_factory=count, repr=False)
    _queue: asyncio.PriorityQueue[tuple[int, int, Any]] | None = field(default=None, repr=False)
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "tables"), repr=False)
    _task: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def waiting(self) -> int:
        """How many questions are in line or being computed."""
        return sum(self._waiting)

    async def run(self, size: int, work: Callable[[], T]) -> T:
        """Compute something of some size when its turn comes.

        Raises
        ------
        Denied
            When the line is too long (503).
        """
        line = 0 if size <= self.small else 1
        if self._waiting[line] >= self.longest:
            raise Denied(
                "busy", "Too many questions are waiting.", hint="Ask again in a moment.", status=503, retry_after=2
            )
        self._waiting[line] += 1
        try:
            return await self._line_up(size, work)
        finally:
            self._waiting[line] -= 1

    def later(self, works: Iterable[Callable[[], object]]) -> None:
        """Do things when nobody waits, one after the other."""
        for work in works:
            self._line_up(LAST, work)

    def _line_up(self, size: int, work: Callable[[], T]) -> asyncio.Future[T]:
        loop = asyncio.get_running_loop()
        if self._queue is None:
            self._queue = asyncio.PriorityQueue()
            self._task = loop.create_task(self._work(self._queue))
        done: asyncio.Future[T] = loop.create_future()
        self._queue.put_nowait((size, next(self._number), (work, done)))
        return done

    async def _work(self, queue: asyncio.PriorityQueue[tuple[int, int, Any]]) -> None:
        loop = asyncio.get_running_loop()
        while True:
            _, _, (work, done) = await queue.get()
            if done.cancelled():
                continue
            try:
                found = await loop.run_in_executor(self._thread, work)
            except asyncio.CancelledError:
                done.cancel()
                raise
            except Exception as error:
                if not done.cancelled():
                    done.set_exception(error)
            else:
                if not done.cancelled():
                    done.set_result(found)

    async def close(self) -> None:
        """Let the work in hand end, and take no more."""
        if self._task is not None:
            self._task.cancel()
        self._thread.shutdown(wait=True, cancel_futures=True)


@dataclass
class Service:
    """Data sets, and everything that a question goes through.

    Parameters
    ----------
    datasets
        Opened data sets by name and edition.
    account
        What has been told of them.
    budgets
        Cells per day.
    log
        The log.
    key
        The secret of methods that draw while they answer.
    withdrawn
        Editions that are answered no more, and what to ask instead.
    """

    datasets: Mapping[tuple[str, str], Dataset]
    account: Account
    budgets: Reserves
    log: Log
    key: Key | None = None
    withdrawn: Mapping[tuple[str, str], str] = field(default_factory=dict)
    workplace: Workplace = field(default_factory=Workplace)
    answers: Answers = field(default_factory=Answers)
    paid: PaidAhead = field(default_factory=PaidAhead)
    editions: AnsweringEditions | None = None
    """Which editions answer, looked up at every request; ``withdrawn`` is what was so at the start."""
    at_once: bool = False
    """Whether the store is a file, so that looking something up, and what takes little, needs no thread."""
    later: Sequence[Callable[[], object]] = ()
    """What is done once nobody waits after the start; answers do not depend on it."""
    _encoded: OrderedDict[tuple[str, ...], Reply] = field(default_factory=OrderedDict, repr=False)
    _admitted: OrderedDict[tuple[str, str, str, bytes], tuple[Question, Selection]] = field(
        default_factory=OrderedDict, repr=False
    )
    _bytes: int = 0

    def dataset(self, name: str, edition: str) -> Dataset:
        """A data set by name and edition; ``latest`` is the newest.

        Raises
        ------
        QuestionRefusal
            When there is none, or it was withdrawn (410).
        """
        if (name, edition) in self.datasets and (name, edition) not in self.withdrawn:
            return self.datasets[name, edition]
        editions = sorted((e for n, e in self.datasets if n == name), key=in_order)
        if not editions and not any(n == name for n, _ in self.withdrawn):
            known = sorted({n for n, _ in self.datasets})
            raise QuestionRefusal("unknown-dataset", unknown_name("data set", name[:64], known), status=404)
        if edition == "latest" and editions:
            edition = editions[-1]
        if (name, edition) in self.withdrawn:
            instead = self.withdrawn[name, edition]
            hint = f"Ask for edition {instead!r}." if instead else "Ask the office."
            raise QuestionRefusal("withdrawn", f"Edition {edition!r} is answered no more.", hint=hint, status=410)
        if (name, edition) not in self.datasets:
            raise QuestionRefusal("unknown-edition", unknown_name("edition", edition[:32], editions), status=404)
        return self.datasets[name, edition]

    async def ask(
        self, who: Identity, place: tuple[str, str], body: QuestionBody, format: str | Encoding, request: str
    ) -> Reply:
        """Answer a question, or refuse; either is in the log before this returns.

        Parameters
        ----------
        who
            Who asks.
        place
            Name and edition of the data set.
        body
            The question.
        format
            The format of the answer: a name, or an encoding that is not among those with names.
        request
            The number of the request, for log and operator.
        """
        question: Question | None = None
        try:
            allowed(who, "table.ask").required()
            dataset = self.dataset(*place)
            await self.refuse_closed(dataset)
            encoding = format if isinstance(format, Encoding) else encoding_named(format)
            question, selection = self._through_the_gate(who, dataset, body)
            reply = await self._replied(who, dataset, question, selection, encoding)
        except Exception as error:
            await self._log_refusal(who, place, question, error, request)
            raise
        await self._log_answer(who, dataset, reply, request)
        return reply

    def kept(self, who: Identity, place: tuple[str, str], question: Question, kept_as: tuple[str, ...]) -> Reply | None:
        """What :meth:`ask` would give again, without any work; ``None`` where it would do anything else.

        Parameters
        ----------
        who
            Who asks.
        place
            Name and edition of the data set, as they are asked for now.
        question, kept_as
            What :meth:`ask` said of the same request before.

        Raises
        ------
        DiscreetError
            When there is no such edition any more, or it does not answer now.
        """
        found = self._encoded.get(kept_as)
        if found is None or kept_as[0] != who.holder or not allowed(who, "table.ask"):
            return None
        dataset = self.dataset(*place)
        if (dataset.name, dataset.edition) != (question.dataset, question.edition):
            return None  # the newest edition is another one now
        if self.editions is not None:
            self.editions.refuse_closed(dataset.name, dataset.edition)
        self._encoded.move_to_end(kept_as)
        return found

    async def refuse_closed(self, dataset: Dataset) -> None:
        """Refuse an edition that was withdrawn meanwhile, or is held.

        Raises
        ------
        Denied
            When it does not answer now.
        """
        if self.editions is None:
            return
        if self.at_once:
            self.editions.refuse_closed(dataset.name, dataset.edition)
        else:
            await asyncio.to_thread(self.editions.refuse_closed, dataset.name, dataset.edition)

    async def log_again(self, who: Identity, reply: Reply, request: str) -> None:
        """Log an answer that :meth:`kept` gave; it may leave when this returns."""
        await self._log_answer(who, self.datasets[reply.question.dataset, reply.question.edition], reply, request)

    async def _log_answer(self, who: Identity, dataset: Dataset, reply: Reply, request: str) -> None:
        entry = AnswerGiven(
            **log_fields(who, request),
            action="table.ask",
            dataset=reply.question.dataset,
            edition=reply.question.edition,
            question=reply.question.digest,
            answer=reply.digest,
            method=dataset.method.kind,
            signed=who.signed,
        )
        await self.log.append(entry)

    def _through_the_gate(self, who: Identity, dataset: Dataset, body: QuestionBody) -> tuple[Question, Selection]:
        """What the gate makes of a question: always the same, and so kept like answers, per project."""
        words = (who.holder, dataset.name, dataset.edition, msgspec.json.encode(body))
        found = self._admitted.get(words)
        if found is None:
            found = admitted(dataset, body)
            if len(words[3]) <= KEPT_WORDS:
                self._admitted[words] = found
            while len(self._admitted) > self.answers.most:
                self._admitted.popitem(last=False)
        return found

    async def log_denied(self, error: Denied, request: str, serial: str | None = None) -> None:
        """Log that a proof of identity, or a signature, did not hold."""
        await self.log.append(QuestionRefused(action="table.ask", rule=error.kind, request=request, serial=serial))

    async def _replied(
        self, who: Identity, dataset: Dataset, question: Question, selection: Selection, encoding: Encoding
    ) -> Reply:
        """The bytes of an answer; what this project had before, it gets again without work."""
        kept_as = (who.holder, question.digest, selection.words, encoding.media_type)
        found = self._encoded.get(kept_as)
        if found is not None:
            self._encoded.move_to_end(kept_as)
            return found
        size = estimated_cells(dataset, question)

        def work() -> Reply:
            table = self._table(who, dataset, question, selection, size)
            catalogue = dataset.catalogue
            heading = Heading(catalogue.agency, source=catalogue.title, units=self._units(dataset, question))
            content = encoding.encoded(table, heading, dataset.shortcut.written)
            name = f"{dataset.name}-{question.digest[:12]}{encoding.suffix}"
            digest = hashlib.sha256(content).hexdigest()
            return Reply(content, encoding.media_type, name, digest, False, question, kept_as)

        at_once = self.at_once and self._takes_little(who, dataset, question, selection, size)
        reply = work() if at_once else await self.workplace.run(size, work)
        self._keep(kept_as, reply._replace(kept=True))
        return reply

    def _takes_little(
        self, who: Identity, dataset: Dataset, question: Question, selection: Selection, size: int
    ) -> bool:
        """Whether an answer takes less than handing it to a thread, and waits for nothing; its cells are paid then."""
        if selection.measure != "sum" or not dataset.shortcut.is_small(question, size):
            return False
        if not self.answers.charged(who.holder, dataset.without_area(question).digest):
            return False
        if self.answers.get(who.holder, question) is None:
            if not self.budgets.at_hand(who.holder, size, dataset.policy.budget_cells):
                return False
            self.paid.put(who.holder, question.digest)
        return True

    def _table(
        self, who: Identity, dataset: Dataset, question: Question, selection: Selection, size: int
    ) -> PublicTable:
        answer = self._answer(who, dataset, question, size)
        found = shown(dataset, answer, selection)
        if selection.measure == "percent":
            totals = [str(dataset.hierarchies[name].total) for name in answer.table.variables]
            return percentages_of(found, value_at(answer.table, totals))
        if selection.measure == "rse" and dataset.facts.errors is not None:
            return errors_of(found, dataset.facts.errors)
        if selection.measure == "mean":
            counts = replace(question, value=None)
            found = means_of(found, shown(dataset, self._answer(who, dataset, counts, size), selection))
        return found

    def _answer(self, who: Identity, dataset: Dataset, question: Question, size: int) -> Answer:
        """The protected table, from those that this project had or made anew."""
        found = self.answers.get(who.holder, question)
        if found is None:
            if not self.paid.take(who.holder, question.digest):
                self.budgets.reserve(who.holder, size, dataset.policy.budget_cells)
            whole = dataset.without_area(question).digest
            charged = self.answers.charged(who.holder, whole)
            found = answered(dataset, question, self.account, self.key, charged=charged)
            self.answers.put(who.holder, found)
            self.answers.put_charged(who.holder, whole)
        return found

    def _keep(self, kept_as: tuple[str, ...], reply: Reply) -> None:
        before = self._encoded.pop(kept_as, None)
        self._encoded[kept_as] = reply
        self._bytes += len(reply.content) - (0 if before is None else len(before.content))
        while self._bytes > KEPT_BYTES:
            self._bytes -= len(self._encoded.popitem(last=False)[1].content)

    @staticmethod
    def _units(dataset: Dataset, question: Question) -> str:
        return "" if question.value is None else dataset.catalogue.values[question.value].unit

    async def _log_refusal(
        self, who: Identity, place: tuple[str, str], question: Question | None, error: Exception, request: str
    ) -> None:
        """Log that nothing was answered; what is wrong with the log itself cannot be logged."""
        kind = error.kind if isinstance(error, Denied) else problem_of(error).kind
        rule = kind if isinstance(error, DiscreetError) else "unexpected"
        known = place if place in self.datasets else (None, None)
        entry = QuestionRefused(
            **log_fields(who, request),
            action="table.ask",
            rule=rule,
            dataset=known[0],
            edition=known[1],
            question=None if question is None else question.digest,
        )
        await self.log.append(entry)


def in_order(edition: str) -> list[tuple[int, str]]:
    """Editions in the order in which they came: 2021.9 before 2021.10."""
    return [(int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", edition)]


def log_fields(who: Identity, request: str) -> dict[str, Any]:
    """Who did something, as entries say it."""
    subject = who.name or "public"
    role = sorted(who.roles)[0].replace(" ", "_").lower()
    return {"subject": subject, "request": request, "role": role, "serial": who.serial, "purpose": who.purpose}
