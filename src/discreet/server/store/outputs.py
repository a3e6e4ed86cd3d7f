"""Outputs that analysts hand in: turns, files, remarks and decisions. Nothing is ever removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, insert, select, update

from discreet.errors import InputError
from discreet.server.denied import Denied
from discreet.server.store.database import new_id, read, written
from discreet.server.store.part import StorePart, plain_text
from discreet.server.store.tables import OUTPUT, OUTPUT_FILE, OUTPUT_REMARK

T, F, K = OUTPUT, OUTPUT_FILE, OUTPUT_REMARK
CHECKERS = 2
"""People who decide on every turn, neither of them of the project."""
DECISIONS = ("approve", "return", "refuse")
LONGEST = 4_000


class OutputFile(NamedTuple):
    """A file that is handed in: what it is, how it is read, and what was found."""

    name: str
    kind: str
    digest: str
    content: bytes
    reading: str
    findings: str


@dataclass(frozen=True)
class FileRow:
    """A file as it is kept, without its content."""

    id: int
    output_id: int
    turn: int
    name: str
    kind: str
    digest: str
    reading: str
    findings: str


@dataclass(frozen=True)
class RemarkRow:
    """What somebody said of a turn."""

    turn: int
    principal_id: int
    kind: str
    words: str
    made: int


@dataclass(frozen=True)
class OutputRow:
    """An output with everything that was said of it."""

    id: int
    project_id: int
    requested_by: int
    title: str
    state: str
    turn: int
    handed_in: int
    remarks: tuple[RemarkRow, ...]

    def decided(self) -> dict[int, str]:
        """Who decided what on this turn."""
        return {one.principal_id: one.kind for one in self.remarks if one.turn == self.turn and one.kind in DECISIONS}

    def released_at(self) -> int:
        """When it was released; 0 where it was not."""
        return max((one.made for one in self.remarks if one.kind == "release"), default=0)

    def seen_by(self, principal_id: int) -> tuple[RemarkRow, ...]:
        """Remarks that somebody may see: a checker sees those of the other one after their own decision."""
        mine = principal_id in self.decided() or principal_id == self.requested_by
        over = len(self.decided()) >= CHECKERS
        return tuple(
            one
            for one in self.remarks
            if over
            or one.turn < self.turn
            or one.principal_id in (principal_id, self.requested_by)
            or (mine and principal_id != self.requested_by)
        )


class Outputs(StorePart):
    """Outputs, and what became of them."""

    def hand_in(self, project_id: int, requested_by: int, title: str, files: Sequence[OutputFile]) -> int:
        """Hand an output in; its number."""
        values = {"project_id": project_id, "requested_by": requested_by, "title": plain_text(title, "title", 200)}

        def work(connection: Connection) -> int:
            number = new_id(connection, insert(T).values(**values, state="open", turn=1, handed_in=self.now()))
            _add_files(connection, number, 1, files)
            return number

        return written(self.engine, work)

    def next_turn(self, number: int, principal_id: int, files: Sequence[OutputFile]) -> None:
        """Hand other files in, after the output was returned.

        Raises
        ------
        Denied
            When it is not the analyst's turn.
        """

        def work(connection: Connection) -> None:
            row = _row(connection, number, lock=True)
            if row.state != "returned" or row.requested_by != principal_id:
                raise Denied("not-your-turn", "It is not your turn.", hint="Wait until the checkers return it.")
            connection.execute(update(T).where(T.c.id == number).values(state="open", turn=row.turn + 1))
            _add_files(connection, number, row.turn + 1, files)

        written(self.engine, work)

    def comment(self, number: int, principal_id: int, words: str) -> None:
        """Say something."""
        _plain(words)
        written(self.engine, lambda connection: self._remark(connection, number, principal_id, "comment", words))

    def decide(self, number: int, principal_id: int, decision: str, words: str, turn: int) -> OutputRow:
        """Decide on a turn, once, with a reason; the second decision moves it on.

        Raises
        ------
        Denied
            When it is not open or in another turn, one's own, decided by the same person before, or by two already.
        """
        _plain(words)
        if decision not in DECISIONS:
            raise InputError("There is no such decision.", hint=f"Choose {', '.join(DECISIONS)}.")

        def work(connection: Connection) -> OutputRow:
            row = _row(connection, number, lock=True)
            before = row.decided()
            if row.state != "open" or row.turn != turn:
                raise Denied("not-open", "This output is not to be decided on now.", hint="See its state.")
            if principal_id == row.requested_by:
                raise Denied("own", "Nobody decides on what is their own.", hint="Two others decide.")
            if principal_id in before or len(before) >= CHECKERS:
                raise Denied("decided", "You, or two others, have decided on this turn.", hint="See its state.")
            self._remark(connection, number, principal_id, decision, words)
            kinds = {*before.values(), decision}
            if len(before) + 1 == CHECKERS:
                state = {"approve": "approved", "refuse": "refused"}.get(decision) if len(kinds) == 1 else None
                connection.execute(update(T).where(T.c.id == number).values(state=state or "returned"))
            return _row(connection, number)

        return written(self.engine, work)

    def withdraw(self, number: int, principal_id: int) -> None:
        """Take an output back that was not released.

        Raises
        ------
        Denied
            When it is another's, or decided on for good.
        """

        def work(connection: Connection) -> None:
            row = _row(connection, number, lock=True)
            if row.requested_by != principal_id or row.state not in ("open", "returned", "approved"):
                raise Denied("not-yours", "This output cannot be withdrawn by you now.", hint="See its state.")
            connection.execute(update(T).where(T.c.id == number).values(state="withdrawn"))

        written(self.engine, work)

    def send_back(self, number: int, principal_id: int, words: str) -> None:
        """Return what was approved, because another release came in between."""

        def work(connection: Connection) -> None:
            if _row(connection, number, lock=True).state == "approved":
                self._remark(connection, number, principal_id, "comment", words[:LONGEST])
                connection.execute(update(T).where(T.c.id == number).values(state="returned"))

        written(self.engine, work)

    def release(self, number: int, principal_id: int, turn: int, beside: frozenset[int]) -> OutputRow:
        """Release the turn that two checkers approved.

        Parameters
        ----------
        number, principal_id, turn
            Which output, by whom, and which of its turns.
        beside
            Numbers of all outputs that were released when this one was compared with them.

        Raises
        ------
        Denied
            When two did not, or another output was released in between.
        """

        def work(connection: Connection) -> OutputRow:
            row = _row(connection, number, lock=True)
            agreed = [who for who, kind in row.decided().items() if kind == "approve" and who != row.requested_by]
            ready = row.state == "approved" and row.turn == turn and len(agreed) >= CHECKERS
            if not ready or principal_id == row.requested_by:
                raise Denied("four-eyes", "Two checkers must approve of it first.", hint="See its state.")
            # Whoever releases another one waits here, so that no two are released without being compared.
            connection.execute(select(T.c.id).where(T.c.state == "approved").order_by(T.c.id).with_for_update())
            now = connection.execute(select(T.c.id).where(T.c.state == "released")).scalars().all()
            if frozenset(now) != beside:
                raise Denied("changed", "Another output was released meanwhile.", hint="Look again.", status=409)
            self._remark(connection, number, principal_id, "release", "Released.")
            connection.execute(update(T).where(T.c.id == number).values(state="released"))
            return _row(connection, number)

        return written(self.engine, work)

    def _remark(self, connection: Connection, number: int, principal_id: int, kind: str, words: str) -> None:
        row = _row(connection, number, lock=True)
        values = {"output_id": number, "turn": row.turn, "principal_id": principal_id, "kind": kind}
        connection.execute(insert(K).values(**values, words=words, made=self.now()))

    def find(self, number: int) -> OutputRow:
        """An output with its remarks.

        Raises
        ------
        InputError
            When there is none of this number.
        """
        return read(self.engine, lambda connection: _row(connection, number))

    def listed(self, *, released: bool | None = None) -> list[OutputRow]:
        """All outputs, the last first; released ones only, or all others."""

        def work(connection: Connection) -> list[OutputRow]:
            asked = select(T.c.id).order_by(T.c.id.desc())
            if released is not None:
                asked = asked.where((T.c.state == "released") == released)
            return [_row(connection, number) for number in connection.execute(asked).scalars().all()]

        return read(self.engine, work)

    def files(self, number: int, turn: int | None = None) -> list[FileRow]:
        """Files of an output, of one turn or of all, without their contents."""
        asked = select(*(F.c[name] for name in FILE)).where(F.c.output_id == number).order_by(F.c.id)
        asked = asked if turn is None else asked.where(F.c.turn == turn)
        return [FileRow(*tuple(row)) for row in read(self.engine, lambda connection: connection.execute(asked).all())]

    def content(self, number: int, file_id: int) -> tuple[FileRow, bytes]:
        """A file of an output.

        Raises
        ------
        InputError
            When there is none.
        """
        asked = select(*(F.c[name] for name in FILE), F.c.content).where(F.c.output_id == number, F.c.id == file_id)
        found = read(self.engine, lambda connection: connection.execute(asked).first())
        if found is None:
            raise InputError("There is no such file.", hint="See the page of the output.")
        return FileRow(*tuple(found)[:-1]), bytes(found[-1])


FILE = ("id", "output_id", "turn", "name", "kind", "digest", "reading", "findings")


def _plain(words: str) -> None:
    for line in words.splitlines() or [""]:
        plain_text(line or " ", "text", LONGEST)
    plain_text(words.replace("\r", "").replace("\n", " ").strip(), "text", LONGEST)


def _add_files(connection: Connection, number: int, turn: int, files: Sequence[OutputFile]) -> None:
    if not files:
        raise InputError("No file was handed in.", hint="Choose at least one.")
    connection.execute(insert(F), [{"output_id": number, "turn": turn, **one._asdict()} for one in files])


def _row(connection: Connection, number: int, *, lock: bool = False) -> OutputRow:
    asked = select(T).where(T.c.id == number)
    found = connection.execute(asked.with_for_update() if lock else asked).first()
    if found is None:
        raise InputError(f"There is no output number {number}.", hint="See the list of outputs.")
    columns = (K.c.turn, K.c.principal_id, K.c.kind, K.c.words, K.c.made)
    remarks = connection.execute(select(*columns).where(K.c.output_id == number).order_by(K.c.id)).all()
    said = tuple(RemarkRow(*tuple(one)) for one in remarks)
    return OutputRow(*(*found, said))
