"""Answers: the protected table of a question, and nothing that was not protected.

An answer is ``protect(data, method, tables=[spec])`` and nothing else, or a sum of cells of one table that was
protected so; what is charged to the account is worked out of the true table before the answer leaves.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from threading import Lock

import numpy as np

from discreet.errors import listed
from discreet.keys import Key
from discreet.model.arrays import Floats
from discreet.model.public import PublicTable
from discreet.model.table import Table
from discreet.server.account import Account, Margin, MarginReading
from discreet.server.dataset import Dataset
from discreet.server.hypercube import summed
from discreet.server.question import Question, QuestionRefusal, Selection
from discreet.server.refinement import readings_of, room_of
from discreet.server.selecting import selected, without_codes
from discreet.verbs.protect import protect
from discreet.verbs.tabulate import tabulate


@dataclass(frozen=True)
class Answer:
    """A protected table, and the areas of it that are not answered."""

    question: Question
    table: PublicTable
    refused: tuple[str, ...] = ()


@dataclass
class Answers:
    """What a server keeps of answers, by project: that somebody else has asked before is not to be noticed.

    The one who asks first waits longer. Were answers shared between projects, everybody could tell what others ask.
    """

    most: int = 4096
    _kept: OrderedDict[tuple[str, str], Answer] = field(default_factory=OrderedDict)
    _charged: OrderedDict[tuple[str, str], None] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def get(self, project: str, question: Question) -> Answer | None:
        """An answer that a project had before."""
        with self._lock:
            found = self._kept.get((project, question.digest))
            if found is not None:
                self._kept.move_to_end((project, question.digest))
            return found

    def put(self, project: str, answer: Answer) -> None:
        """Keep an answer."""
        with self._lock:
            self._kept[project, answer.question.digest] = answer
            while len(self._kept) > self.most:
                self._kept.popitem(last=False)

    def charged(self, project: str, table: str) -> bool:
        """Whether a table was charged when this project asked for it, or for a part of it."""
        with self._lock:
            return (project, table) in self._charged

    def put_charged(self, project: str, table: str) -> None:
        """Keep that a table was charged when this project asked."""
        with self._lock:
            self._charged[project, table] = None
            while len(self._charged) > 16 * self.most:
                self._charged.popitem(last=False)


def answered(
    dataset: Dataset, question: Question, account: Account, key: Key | None = None, *, charged: bool = False
) -> Answer:
    """The answer to an admitted question.

    Parameters
    ----------
    dataset
        The data set.
    question
        The question in its canonical form.
    account
        Where readings are charged before the answer is given.
    key
        The secret of methods that draw while they answer.
    charged
        Whether the one who asks had it charged before; see :func:`charge`.

    Raises
    ------
    QuestionRefusal
        When the account has no room for it, or all of its areas are too small or too sparse.
    """
    if dataset.policy.mode == "hypercube":
        return _from_hypercube(dataset, question, key)
    straight = _straight(dataset, question, account) if charged else None
    if straight is not None:
        return Answer(question, straight)
    data, spec = dataset.asked(question)
    release = protect(data, dataset.method, tables=[spec], key=key)
    true, public = release.custodian.tables[0], release.public.tables[0]
    if not charged:
        dataset.shortcut.compare(question, public)
    refused = _refused(dataset, question, true)
    charge(dataset, question, account, true, charged=charged)
    if refused:
        public = without_codes(public, str(dataset.geography), refused)
    return Answer(question, replace(public, name=spec.name), tuple(sorted(refused)))


def _straight(dataset: Dataset, question: Question, account: Account) -> PublicTable | None:
    """The same table on the short way, where that leads to it and the account has it."""
    if not dataset.shortcut.leads(question):
        return None
    if not account.has(dataset.name, dataset.edition, dataset.without_area(question).digest):
        return None
    return dataset.shortcut.table(question)


def charge(
    dataset: Dataset, question: Question, account: Account, true: Table | None = None, *, charged: bool = False
) -> None:
    """Charge the table of a question to the account, once for everybody.

    The table of one area is charged as that of all areas of its kind: all of them together read the areas above. What
    that comes to is counted again for everybody who asks, though it is entered once: were it faster for the second
    person, they could tell that somebody had asked before.

    Parameters
    ----------
    dataset
        The data set.
    question
        The question.
    account
        Where readings are kept.
    true
        The true table, where it was made already.
    charged
        Whether the same person had it charged before. Then the account is asked only whether it is still there.
    """
    whole = dataset.without_area(question)
    if charged and account.has(dataset.name, dataset.edition, whole.digest):
        return
    if true is None or whole != question:
        data, spec = dataset.asked(whole)
        true = tabulate(data, specs=[spec]).tables[0]
    readings, room = charges(dataset, whole, true)
    account.charge(dataset.name, dataset.edition, whole.digest, readings, room)


def charges(dataset: Dataset, question: Question, table: Table) -> tuple[list[MarginReading], dict[Margin, float]]:
    """What a table adds to the account, and how much room its margins have."""
    levels = [dataset.levels[name][level - 1] for name, level in question.variables]
    readings = list(readings_of(table, levels, question.value, question.universe))
    margins = {reading.margin for reading in readings}
    return readings, {margin: room_of(margin, dataset.levels, dataset.facts.most_precision) for margin in margins}


def _from_hypercube(dataset: Dataset, question: Question, key: Key | None) -> Answer:
    """An answer that is a sum of published cells; there is nothing to average, and so nothing is charged."""
    whole = dataset.hypercube(question.universe, question.value, key)
    refused = dataset.refused[question.universe] if dataset.geography in question.names else frozenset()
    return Answer(question, summed(dataset, whole, question, refused), tuple(sorted(refused)))


# ---- areas ------------------------------------------------------------------------------------------------


def _refused(dataset: Dataset, question: Question, table: Table) -> frozenset[str]:
    """Areas of a table that are not answered: too small, too near to another universe, or too sparse."""
    geography, sparse = dataset.geography, dataset.policy.most_sparse
    if geography is None or geography not in question.names:
        if sparse is not None and _sparseness(table, dataset.policy.sparse_below, None)[0] > sparse:
            raise QuestionRefusal(
                "sparse", "The table has too many small counts.", hint="Ask for fewer or coarser variables."
            )
        return frozenset()
    k = table.variables.index(geography)
    hierarchy = table.spec.hierarchies[k]
    refused = {code for code in dataset.refused[question.universe] if code in hierarchy.index}
    if sparse is not None:
        shares = _sparseness(table, dataset.policy.sparse_below, k)
        refused |= {hierarchy.codes[i] for i in np.flatnonzero(shares > sparse).tolist()}
    if str(hierarchy.total) in refused or not set(hierarchy.base_codes) - refused:
        raise QuestionRefusal(
            "sparse", "No area of the table can be answered.", hint="Ask for fewer or coarser variables."
        )
    return frozenset(refused)


def _sparseness(table: Table, below: int, k: int | None) -> Floats:
    """Share of small counts among the finest cells that are not empty: of each area, or of the whole."""
    assert table.records is not None
    finest = np.ones(len(table), np.bool_)
    for j, hierarchy in enumerate(table.spec.hierarchies):
        if j != k:
            finest &= hierarchy.base[table.codes[:, j]]
    rows = np.flatnonzero(finest & (table.records > 0))
    area = table.codes[rows, k] if k is not None else np.zeros(len(rows), np.int64)
    size = len(table.spec.hierarchies[k]) if k is not None else 1
    small = np.bincount(area, table.records[rows] < below, size)
    return small / np.maximum(np.bincount(area, minlength=size), 1)


def shown(dataset: Dataset, answer: Answer, selection: Selection) -> PublicTable:
    """What was asked to be shown of an answer.

    Raises
    ------
    QuestionRefusal
        When a group has a code that is not answered (its sum would not be what it says), or none of the codes that
        were selected is.
    """
    for name, groups in selection.groups.items():
        if name == dataset.geography:
            for group, members in groups.items():
                gone = sorted(set(members) & set(answer.refused))
                if gone:
                    raise QuestionRefusal(
                        "group-members",
                        f"Group {group!r} has {gone[0]!r}, which is not answered.",
                        hint="Leave it out of the group.",
                    )
    totals = {name: str(dataset.hierarchies[name].total) for name in answer.question.names}
    return selected(answer.table, _without_refused(dataset, answer, selection), totals)


def _without_refused(dataset: Dataset, answer: Answer, selection: Selection) -> Selection:
    """A selection without areas that are not answered: codes without cells stand for zero."""
    name = str(dataset.geography)
    wanted = selection.select.get(name)
    if wanted is None or not set(wanted) & set(answer.refused):
        return selection
    left = tuple(code for code in wanted if code not in answer.refused)
    if not left:
        raise QuestionRefusal(
            "small-area",
            f"{listed(wanted)} {'is' if len(wanted) == 1 else 'are'} not answered: too few records, or too near to "
            "another universe.",
            hint="Ask for larger areas, or another universe.",
        )
    return replace(selection, select={**selection.select, name: left})


__all__ = ["Answer", "Answers", "answered", "charge", "charges", "shown"]
