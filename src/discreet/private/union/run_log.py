"""The list of unions that a holder took part in: one run for each counterpart and purpose, entered as it begins."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from discreet.errors import InputError
from discreet.private.parties.conversation import Desk
from discreet.private.parties.rounds import PartyTask, Talk
from discreet.private.problems import ProtocolError
from discreet.trust.private_folder import alone_with, read_bounded, replace_file, write_new_file

T = TypeVar("T")
LARGEST_LOG = 10_000_000


class LoggedRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A run that was begun."""

    session: str
    other: str
    purpose: str
    begun: str


def new_union_log(file: str | Path) -> None:
    """Begin a holder's list of unions in a file that is not there yet.

    A name that is mistyped later is then refused: a list that is begun anew would let a counterpart ask again.

    Parameters
    ----------
    file
        Where to keep it; for the holder alone.

    Raises
    ------
    OutputError
        When the file exists, or cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import discreet as ds
    >>> with TemporaryDirectory() as folder:
    ...     ds.private.new_union_log(Path(folder) / "unions.jsonl")
    """
    write_new_file(Path(file), b"")


def entered(task: PartyTask[T], file: Path, other: str, purpose: str) -> PartyTask[T]:
    """The same task, entered in the log once the other has greeted and before anything of the records is sent.

    A counterpart that breaks runs off and asks again would learn a size each time; so the beginning counts.

    Raises
    ------
    InputError
        When there is no such log, or it is damaged.
    ProtocolError
        ``too many runs``, in the run, when there was one with this counterpart for this purpose.
    """
    _runs(file)  # one that cannot be read is told before anybody waits

    def work(desk: Desk) -> Talk[T]:
        begun = datetime.now(UTC).isoformat(timespec="seconds")
        with alone_with(file):  # two runs at the same moment must find each other
            _enter(file, LoggedRun(desk.session.hex(), other, purpose, begun))
        return (yield from task.work(desk))

    return replace(task, work=work)


def _enter(file: Path, new: LoggedRun) -> None:
    runs = _runs(file)
    for one in runs:
        if one.session == new.session:
            return  # a run by files that is taken up again
        if (one.other, one.purpose) == (new.other, new.purpose):
            raise ProtocolError(
                "too many runs",
                f"There was a run with {new.other} for this purpose.",
                hint="A second one can show single records. Agree on another purpose, and why it is needed.",
            )
    replace_file(file, b"".join(msgspec.json.encode(one) + b"\n" for one in (*runs, new)))


def _runs(file: Path) -> list[LoggedRun]:
    if not file.exists():
        raise InputError(
            f"There is no log of unions {file.name!r}.",
            hint="Check the name: one that is begun anew has forgotten all earlier unions. The first one is begun by "
            "'discreet union new-log FILE', or ds.private.new_union_log(FILE).",
        )
    try:
        lines = read_bounded(file, "log of unions", LARGEST_LOG).splitlines()
        return [msgspec.json.decode(line, type=LoggedRun) for line in lines]
    except msgspec.MsgspecError:
        raise InputError(f"The log of unions {file.name!r} is damaged.", hint="Nothing is run without it.") from None
