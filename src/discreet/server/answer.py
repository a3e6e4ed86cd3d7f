"""Answers: the protected table of a question, and nothing that was not protected.

An answer is ``protect(data, method, tables=[spec])`` and nothing else; what is charged to the account is worked out from
the same table before it leaves.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from threading import Lock

import numpy as np

from discreet.keys import Key
from discreet.model.arrays import Bools, Ints
from discreet.model.public import PublicTable
from discreet.model.table import Table
from discreet.server.account import EVERYWHERE, Account, Entry
from discreet.server.dataset import Dataset
from discreet.server.question import Question, Refusal, Selection
from discreet.server.refinement import Margin, charges_of, margin_text, room_of
from discreet.server.selecting import selected, without_rows
from discreet.server.universes import hidden_rows
from discreet.verbs.protect import protect


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


def answered(dataset: Dataset, question: Question, account: Account, key: Key | None = None) -> Answer:
    """The answer to an admitted question.

    Parameters
    ----------
    dataset
        The data set.
    question
        The question in its canonical form.
    account
        Where refinements are charged before the answer is given.
    key
        The secret of methods that draw while they answer.

    Raises
    ------
    Refusal
        When the account has no room for it, or all of its areas are too small or too sparse.
    """
    data, spec = dataset.asked(question)
    release = protect(data, dataset.method, tables=[spec], key=key)
    true, public = release.custodian.tables[0], release.public.tables[0]
    refused = _refused(dataset, question, true)
    if dataset.policy.mode == "table":
        entries, room = charges(dataset, question, true)
        account.charge(dataset.name, dataset.edition, entries, room, dataset.places)
    if refused:
        public = _hidden(dataset, question, public, refused)
    return Answer(question, replace(public, name=spec.name), tuple(sorted(refused)))


def charges(dataset: Dataset, question: Question, table: Table) -> tuple[list[Entry], dict[Margin, float]]:
    """What a table adds to the account, and how much room its margins have."""
    levels = [dataset.levels[name][level - 1] for name, level in question.variables]
    geography, areas = dataset.geography, dataset.areas
    scope, depth = EVERYWHERE, 0
    if question.area is not None and areas is not None and question.area != areas.total:
        scope, depth = question.area, int(areas.depth[areas.index[question.area]])
    entries = []
    for charge in charges_of(table, levels):
        own = charge.margin
        if scope != EVERYWHERE:
            own = _joined(charge.margin, str(geography), depth)
        subject = f"{question.value or ''}|{own}"
        entries.append(Entry(subject, scope, question.digest, charge.precision))
    if scope != EVERYWHERE:
        entries += _upwards(dataset, question, scope, depth)
    room = {
        entry.margin: room_of(entry.margin.partition("|")[2], dataset.levels, dataset.facts.most_precision)
        for entry in entries
    }
    return entries, room


def _joined(margin: Margin, name: str, depth: int) -> Margin:
    parts = [part.rpartition(":") for part in margin.split(",")] if margin else []
    return margin_text([*(part[0] for part in parts), name], [*(int(part[2]) for part in parts), depth])


def _upwards(dataset: Dataset, question: Question, scope: str, depth: int) -> list[Entry]:
    """What tables of one area add to the areas above it: with its neighbours' they are a refinement of those.

    All areas side by side make one further reading, and so it is charged once, whichever of them is asked.
    """
    assert dataset.areas is not None
    found = []
    table = f"areas:{depth}|{question.universe}|{question.variables}"
    codes, parents = dataset.areas.codes, dataset.areas.parents
    inside = int(dataset.areas.index[scope])
    for above in dataset.places.chain(scope)[1:]:
        place = dataset.areas.index[str(dataset.areas.total) if above == EVERYWHERE else above]
        level = int(dataset.areas.depth[place])
        beside = max(2, int(np.sum(_below(parents, place) & (dataset.areas.depth == dataset.areas.depth[inside]))))
        own = margin_text(
            [*question.names, *([str(dataset.geography)] if level else [])],
            [*(number for _, number in question.variables), *([level] if level else [])],
        )
        scope_above = EVERYWHERE if above == EVERYWHERE else codes[place]
        found.append(Entry(f"{question.value or ''}|{own}", scope_above, table, 1 / beside))
    return found


def _below(parents: Ints, place: int) -> Bools:
    """Which codes stand below one."""
    found = np.zeros(len(parents), np.bool_)
    frontier = np.array([place])
    while len(frontier):
        found[frontier] = True
        frontier = np.flatnonzero(np.isin(parents, frontier) & ~found)
    return found


# ---- areas ------------------------------------------------------------------------------------------------


def _refused(dataset: Dataset, question: Question, table: Table) -> frozenset[str]:
    """Areas of a table that are not answered: too small, too near to another universe, or too sparse."""
    geography, sparse = dataset.geography, dataset.policy.most_sparse
    if geography is None or geography not in question.names:
        if sparse is not None and _sparseness(table, dataset.policy.sparse_below, None)[0] > sparse:
            raise Refusal("sparse", "The table has too many small counts.", hint="Ask for fewer or coarser variables.")
        return frozenset()
    k = table.variables.index(geography)
    hierarchy = table.spec.hierarchies[k]
    refused = {code for code in dataset.refused[question.universe] if code in hierarchy.index}
    if sparse is not None:
        shares = _sparseness(table, dataset.policy.sparse_below, k)
        refused |= {hierarchy.codes[i] for i in np.flatnonzero(shares > sparse).tolist()}
    if str(hierarchy.total) in refused or not set(hierarchy.base_codes) - refused:
        raise Refusal("sparse", "No area of the table can be answered.", hint="Ask for fewer or coarser variables.")
    return frozenset(refused)


def _sparseness(table: Table, below: int, k: int | None) -> np.ndarray:
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


def _hidden(dataset: Dataset, question: Question, table: PublicTable, refused: frozenset[str]) -> PublicTable:
    """A table without the areas that are not answered."""
    k = table.variables.index(str(dataset.geography))
    place = {code: i for i, code in enumerate(table.code_lists[k])}
    gone = np.zeros(len(place), np.bool_)
    gone[[place[code] for code in refused if code in place]] = True
    return without_rows(table, gone[table.codes[:, k]])


def shown(dataset: Dataset, answer: Answer, selection: Selection) -> PublicTable:
    """What was asked to be shown of an answer.

    Raises
    ------
    Refusal
        When a group has a code that is not answered: its sum would not be what it says.
    """
    for name, groups in selection.groups.items():
        if name == dataset.geography:
            for group, members in groups.items():
                gone = sorted(set(members) & set(answer.refused))
                if gone:
                    raise Refusal(
                        "group-members",
                        f"Group {group!r} has {gone[0]!r}, which is not answered.",
                        hint="Leave it out of the group.",
                    )
    totals = {name: str(dataset.hierarchies[name].total) for name in answer.question.names}
    return selected(answer.table, selection, totals)


__all__ = ["Answer", "Answers", "answered", "charges", "hidden_rows", "shown"]
