"""Progress and cancellation of long work.

A long loop calls :func:`steps` around its iterable (or :func:`checkpoint` inside it). Whoever started the
work listens by ``with reporting(listener)``; a listener cancels by raising :class:`discreet.errors.Cancelled`, and
asks for the best that there is so far by raising :class:`discreet.errors.Enough`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Step(NamedTuple):
    """Where the work stands: ``done`` of ``total`` in the stage called ``stage``.

    ``note`` says the same in units that mean something to a person, where ``done`` does not: "3 of 12 unsafe cells".
    """

    stage: str
    done: int
    total: int
    note: str = ""


PARTS = 1_000
"""Steps that a part of a stage is reported in."""
Listener = Callable[[Step], None]
_listener: ContextVar[Listener | None] = ContextVar("discreet_progress", default=None)

_by_default: Listener | None = None


def listen_by_default(listener: Listener | None) -> None:
    """Send progress that nobody else listens to this way: to the bar of a notebook."""
    global _by_default
    _by_default = listener


def _who_listens() -> Listener | None:
    return _listener.get() or _by_default


@contextmanager
def reporting(listener: Listener) -> Iterator[None]:
    """Send the progress of all work inside the block to ``listener``."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def listened_to() -> bool:
    """Whether anybody hears of the progress of work that is done here."""
    return _listener.get() is not None


@contextmanager
def hearing(hear: Callable[[Step, Listener | None], None]) -> Iterator[None]:
    """Let ``hear`` take every step of the block, with whoever listened before."""
    before = _who_listens()
    with reporting(lambda step: hear(step, before)):
        yield


def checkpoint(stage: str, done: int, total: int, note: str = "") -> None:
    """Report progress; the listener may raise ``Cancelled`` here."""
    listener = _who_listens()
    if listener is not None:
        listener(Step(stage, done, total, note))


def steps(stage: str, items: Iterable[T]) -> Iterator[T]:
    """Iterate over ``items`` and report after each."""
    total = len(items) if isinstance(items, Sized) else 0
    checkpoint(stage, 0, total)
    for done, item in enumerate(items, start=1):
        yield item
        checkpoint(stage, done, total)


@contextmanager
def during(stage: str) -> Iterator[None]:
    """Report work of one step: that it has begun, and that it is done."""
    checkpoint(stage, 0, 1)
    yield
    checkpoint(stage, 1, 1)


@contextmanager
def onwards(before: str = "") -> Iterator[None]:
    """Let stages inside the block never go back, and end at their total, however often the work starts again.

    ``before`` is put before their names, to tell work apart that is done twice.
    """
    listener = _who_listens()
    if listener is None:
        yield
        return
    last: dict[str, Step] = {}

    def forward(step: Step) -> None:
        stage = f"{before}{step.stage}"
        furthest = max(step.done, last[stage].done if stage in last else 0)
        last[stage] = Step(stage, furthest, max(step.total, furthest), step.note)
        listener(last[stage])

    with reporting(forward):
        yield
    for step in last.values():
        if step.done < step.total:
            listener(step._replace(done=step.total, note=""))


@contextmanager
def as_part(stage: str, number: int, count: int) -> Iterator[None]:
    """Report all stages inside the block as the part with a number, from 0 on, of so many parts of one stage.

    Where one stage follows another, the part never goes back.
    """
    listener = _who_listens()
    if listener is None:
        yield
        return

    furthest = 0.0

    def rescaled(step: Step) -> None:
        nonlocal furthest
        furthest = max(furthest, min(step.done / step.total, 1.0) if step.total else 0.0)
        part = f"{number + 1} of {count}"
        note = f"{part}: {step.note}" if step.note else part
        listener(Step(stage, int(PARTS * (number + furthest)), PARTS * count, note))

    with reporting(rescaled):
        yield
    listener(Step(stage, PARTS * (number + 1), PARTS * count))
