"""What was asked: each question with who asked it and what became of it. No value of any answer is here."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select

from discreet.server.store.database import new_id, read, written
from discreet.server.store.editions import edition_in
from discreet.server.store.part import StorePart, plain_text
from discreet.server.store.tables import DATASET_EDITION, QUESTION

T, E = QUESTION, DATASET_EDITION


@dataclass(frozen=True)
class QuestionRow:
    """A question as it is kept."""

    id: int
    digest: str
    spec: str
    dataset: str
    edition: str
    principal_id: int | None
    project_id: int | None
    decision: str
    cells: int
    asked: int


class Questions(StorePart):
    """Questions that were asked."""

    def enter(
        self,
        dataset: str,
        edition: str,
        *,
        digest: str,
        spec: str,
        decision: str,
        cells: int,
        principal_id: int | None = None,
        project_id: int | None = None,
    ) -> int:
        """Enter a question with its decision (``answered``, or why not); its number.

        Parameters
        ----------
        dataset, edition
            What was asked.
        digest, spec
            ``Question.digest`` and ``Question.canonical``.
        decision
            One word: ``answered``, or the kind of the refusal.
        cells
            How many cells it has at most.
        principal_id, project_id
            Who asked, and for which project; none for the public.
        """
        values = {
            "digest": plain_text(digest, "digest", 128),
            "spec": plain_text(spec, "question", 65_536),
            "decision": plain_text(decision, "decision", 64),
            "cells": cells,
            "principal_id": principal_id,
            "project_id": project_id,
            "asked": self.now(),
        }

        def work(connection: Connection) -> int:
            row = edition_in(connection, dataset, edition)
            return new_id(connection, insert(T).values(edition_id=row.id, **values))

        return written(self.engine, work)

    def of(self, principal_id: int, most: int = 100) -> list[QuestionRow]:
        """What somebody asked, the last first."""
        kept = (T.c.principal_id, T.c.project_id, T.c.decision, T.c.cells, T.c.asked)
        asked = select(T.c.id, T.c.digest, T.c.spec, E.c.dataset, E.c.edition, *kept).join(E)
        asked = asked.where(T.c.principal_id == principal_id).order_by(T.c.id.desc()).limit(most)
        found = read(self.engine, lambda connection: connection.execute(asked).all())
        return [QuestionRow(*tuple(row)) for row in found]
