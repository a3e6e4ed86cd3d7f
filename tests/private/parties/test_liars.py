"""A party that says what it should not, with keys that are good: all others end with a named error, or it was a lie
that nobody can see. Never with anything else."""

from __future__ import annotations

import secrets
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

pytest.importorskip("cryptography")

from discreet.errors import DiscreetError
from discreet.private.joint.loglinear import MarginTerms, joint_table, log_linear
from discreet.private.joint.models import regression_task
from discreet.private.joint.newton import NewtonTerms
from discreet.private.joint.vertical import VerticalTerms, vertical_task
from discreet.private.parties.conversation import conversation
from discreet.private.parties.together import run_together
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.frames import Transcript
from discreet.private.union import shared_sums
from discreet.private.union.protocol import UnionTerms, union_task
from discreet.private.union.simulation import sizes_task
from tests.private.joint.pooled import people

NAMES = ("A", "B", "C")
LIES = {
    "nothing": lambda body: b"",
    "less": lambda body: body[:-1],
    "half": lambda body: body[: len(body) // 2],
    "more": lambda body: body + b"\0",
    "twice": lambda body: body + body,
    "zeros": lambda body: bytes(len(body)),
    "ones": lambda body: b"\xff" * len(body),
    "chance": lambda body: secrets.token_bytes(len(body)),
    "words": lambda body: b'["x", "-1", "999999999"]',
    "reversed": lambda body: body[::-1],
}


def tables(sparse):
    levels = {"g": list("abc")}
    return {
        name: joint_table(NAMES, one, ["g"], None, levels, MarginTerms(), sparse) for name, one in people("ABC").items()
    }


def files(names):
    return {name: {"id": [f"p{k}" for k in range(20 + 5 * n)], "x": [0] * (20 + 5 * n)} for n, name in enumerate(names)}


def columns():
    rng = np.random.default_rng(3)
    a, b, c = rng.normal(size=(3, 40))
    terms = VerticalTerms({"A": ["z", "a"], "B": ["b"]}, "z")
    own = {"A": {"id": np.arange(40), "z": a + b + c, "a": a}, "B": {"id": np.arange(40), "b": b}, "dealer": None}
    return {name: vertical_task(name, one, "id", terms) for name, one in own.items()}


def models(sums):
    terms = NewtonTerms(sums, most_rounds=25)
    return {name: regression_task(NAMES, "logit: y ~ x", one, {}, terms) for name, one in people("ABC", 30).items()}


def unions(total=None):
    terms = UnionTerms(("id",), ("x",), sum_column=total, min_shared=1)
    own = files("AB") if total is None else {**files("A"), "B": {"id": [f"p{k}" for k in range(90)], "x": [0] * 90}}
    return {name: union_task(("A", "B"), name, one, terms) for name, one in own.items()}


RUNS = {
    "table": partial(tables, False),
    "sparse table": partial(tables, True),
    "log-linear": lambda: {
        name: log_linear(NAMES, one, [["g"]], None, {"g": list("abc")}, MarginTerms(), None)
        for name, one in people("ABC").items()
    },
    "columns": columns,
    "model by shares": partial(models, "shares"),
    "model by masks": partial(models, "masks"),
    "model by ring": partial(models, "ring"),
    "union": unions,
    "union with a total": partial(unions, "x"),
    "sizes": lambda: {name: sizes_task(NAMES, name, one, ["id"], 5) for name, one in files(NAMES).items()},
}


def lying(task, number, lie, said):
    """The same task, which tells a lie the ``number``-th time it speaks; ``said`` takes down what it said."""

    def work(desk):
        talk, heard, place = task.work(desk), None, 0
        try:
            while True:
                one = talk.send(heard)
                if one.says:
                    if place == number:
                        one = one._replace(says={to: lie(body) for to, body in one.says.items()})
                    place += 1
                    said.append(one.what)
                heard = yield one
        except StopIteration as stop:
            return stop.value

    return replace(task, work=work)


def ending(tasks) -> str:
    """How a run ends: ``"result"``, or the name of the error."""
    record = Transcript()
    try:
        run_together({name: conversation(name, task) for name, task in tasks.items()}, record)
    except ProtocolError as error:
        return error.kind
    except DiscreetError as error:
        return type(error).__name__
    return "result"


def spoken(run: str, who: str) -> int:
    """How often a party speaks in a run."""
    said: list[str] = []
    tasks = RUNS[run]()
    assert ending({**tasks, who: lying(tasks[who], -1, None, said)}) == "result"
    return len(said)


def told(run: str, chance: np.random.Generator, many: int) -> set[str]:
    """Endings of so many lies at random places of a run."""
    found = set()
    for _ in range(many):
        tasks = RUNS[run]()
        who = str(chance.choice(list(tasks)))
        number, lie = int(chance.integers(spoken(run, who))), str(chance.choice(list(LIES)))
        found.add(ending({**tasks, who: lying(tasks[who], number, LIES[lie], [])}))
    return found


@pytest.mark.parametrize("run", RUNS)
def test_a_lie_ends_with_a_name_or_is_not_seen(run, monkeypatch):
    monkeypatch.setattr(shared_sums, "SMALL", 64)
    assert told(run, np.random.default_rng(len(run)), 4)


def test_a_list_of_codes_that_is_none_is_named():
    tasks = RUNS["sparse table"]()
    said: list[str] = []
    ending({**tasks, "C": lying(tasks["C"], -1, None, said)})
    number = said.index("occupied cells: codes")
    for lie in (LIES["chance"], lambda body: body[:-1] + b',"x"]', lambda body: body[:-1] + b',"99"]'):
        assert ending({**tasks, "C": lying(tasks["C"], number, lie, [])}) == "tampered"
