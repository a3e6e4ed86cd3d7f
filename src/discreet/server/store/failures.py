"""Errors of the database in our words: no SQL, no value, no password, no address."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import exc

from discreet.errors import DiscreetError, ParameterError

T = TypeVar("T")


class StoreError(DiscreetError):
    """The database does not serve. Nothing is taken as done; asking again is safe."""

    exit_code = 10


class StoreUnavailable(StoreError):
    """The database cannot be reached, is locked for too long, or was lost on the way."""


class StoreConflict(StoreError):
    """What was to be written contradicts what is there."""


class StoreBusy(Exception):
    """Another transaction came in between; the same may go well when it is tried again. Never leaves the store."""


BUSY = ("40001", "40P01")
"""What PostgreSQL calls transactions that must be tried again: not serialisable, deadlock."""


def _said(error: exc.SQLAlchemyError) -> Exception:
    state = getattr(getattr(error, "orig", None), "sqlstate", None) or ""
    if state in BUSY:
        return StoreBusy()
    if isinstance(error, exc.IntegrityError):
        return StoreConflict(
            "The database refuses an entry that contradicts others.",
            hint="It is there already, or it names what is not there.",
        )
    if isinstance(error, exc.DataError):
        return ParameterError("A value cannot be kept in the database.", hint="Use plain text and whole numbers.")
    if isinstance(error, exc.OperationalError | exc.InterfaceError | exc.TimeoutError | exc.DisconnectionError):
        return StoreUnavailable(
            "The database cannot be used now; nothing was entered that would be relied on.",
            hint="Try again. If that does not help: is it running, is there space, and may this user write to it?",
        )
    return StoreError("The database refused.", hint="See its own log; `discreet server migrate` brings its schema up.")


def in_our_words(work: Callable[[], T]) -> T:
    """Do work, and turn errors of the database into ours, without the original: it has statements and values in it."""
    failure: Exception
    try:
        return work()
    except exc.SQLAlchemyError as error:
        failure = _said(error)
    except (UnicodeEncodeError, OverflowError):
        failure = ParameterError("A value cannot be kept in the database.", hint="Use plain text and whole numbers.")
    raise failure  # out here, where no other error stands behind it
