"""Verbs on nouns are methods with a signature and a docstring, and say what the functions behind them say."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from typing import Any

import pytest

import discreet as ds
from discreet.attack.series import SeriesLinks
from discreet.attack.series_comparison import SeriesComparison, SeriesCurve
from discreet.measures.decision.policies import RiskCurve
from discreet.measures.decision.risk import DecisionRisk
from discreet.model import doors
from discreet.model.pivot import Pivot
from discreet.model.public import PublicRelease, PublicTable
from discreet.verify import check_release

NOUNS = (
    *(ds.Table, ds.TableSet, ds.Microdata, ds.Pattern, ds.NoiseTable, ds.Release),
    *(PublicRelease, PublicTable, Pivot),
    *(SeriesLinks, SeriesComparison, SeriesCurve, RiskCurve, DecisionRisk),
)
ONLY_FOR_TABLES = {"profile", "missing_safe", "manual_range", "unrelated", "attacks"}
"""Options of ``ds.assess`` that records do not have, and of ``ds.risk`` that only releases have."""
ONLY_FOR_RECORDS = {"columns", "most", "holdout"}
"""Options of ``ds.audit`` that tables do not have."""
Case = tuple[type, str, str]


def verbs() -> list[Case]:
    """Noun, method and function of every method that goes through a door."""
    found = []
    for noun in NOUNS:
        for name, method in inspect.getmembers(noun, inspect.isfunction):
            if not name.startswith("_"):
                behind = re.findall(r"\bdoors\.(\w+)\(", inspect.getsource(method))
                found += [(noun, name, function) for function in behind]
    return found


VERBS = verbs()
every_verb = pytest.mark.parametrize(
    ("noun", "method", "function"), VERBS, ids=[f"{noun.__name__}.{method}" for noun, method, _ in VERBS]
)


def is_static(noun: type, method: str) -> bool:
    return isinstance(inspect.getattr_static(noun, method), staticmethod)


def parameters(function: Any, *, without_first: bool) -> list[tuple[str, Any, Any]]:
    """Name, kind and default of every parameter."""
    taken = list(inspect.signature(function).parameters.values())[1 if without_first else 0 :]
    return [(one.name, one.kind, one.default) for one in taken]


def described(function: Any) -> dict[str, str]:
    """What a docstring says of every parameter."""
    text = inspect.getdoc(function) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL)
    said: dict[str, str] = {}
    for names, words in re.findall(
        r"^(\S[^\n]*)\n((?:(?: +[^\n]*)?\n?)+)", section[1] if section else "", re.MULTILINE
    ):
        said |= {name.strip(" *"): " ".join(words.split()) for name in names.split(",")}
    return said


def test_every_door_leads_somewhere_and_is_used():
    assert {function for _, _, function in VERBS} == set(dir(doors))
    assert len(VERBS) >= 28
    for function in dir(doors):
        assert callable(getattr(doors, function))


def test_there_is_no_other_door():
    with pytest.raises(AttributeError, match="has no attribute 'window'"):
        _ = doors.window


@every_verb
def test_a_method_takes_what_its_function_takes(noun, method, function):
    static = is_static(noun, method)
    taken = parameters(getattr(noun, method), without_first=not static)
    behind = parameters(getattr(doors, function), without_first=not static)
    if noun is ds.Microdata:
        behind = [one for one in behind if one[0] not in ONLY_FOR_TABLES]
    if noun in (ds.Table, ds.TableSet) and function == "audit":
        behind = [one for one in behind if one[0] not in ONLY_FOR_RECORDS]
    assert taken == behind


@every_verb
def test_a_method_passes_on_all_that_it_is_given(noun, method, function, monkeypatch):
    behind, answer = inspect.signature(getattr(doors, function)), object()
    seen: list[inspect.BoundArguments] = []

    def spy(*args: Any, **options: Any) -> object:
        seen.append(behind.bind(*args, **options))
        return answer

    monkeypatch.setitem(vars(doors), function, spy)
    static = is_static(noun, method)
    subject = object.__new__(noun)
    args, options, wanted = [], {}, {}
    for name, kind, _ in parameters(getattr(noun, method), without_first=not static):
        given = object()
        if kind is inspect.Parameter.VAR_POSITIONAL:
            args, wanted[name] = [*args, given], (given,)
        elif kind is inspect.Parameter.VAR_KEYWORD:
            options["further"], wanted[name] = given, {"further": given}
        elif kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
            args, wanted[name] = [*args, given], given
        else:
            options[name] = wanted[name] = given
    result = getattr(subject, method)(*args, **options)
    (bound,) = seen
    received = dict(bound.arguments)
    if not static:
        assert received.pop(next(iter(behind.parameters))) is subject
    assert received == wanted
    assert result is (None if method == "write" and noun is ds.Pattern else answer)


@every_verb
def test_a_method_says_everything(noun, method, function):
    text = getattr(noun, method).__doc__ or ""
    assert ">>> " in text, "there is no example"
    said, behind = described(getattr(noun, method)), described(getattr(doors, function))
    names = [name for name, _, _ in parameters(getattr(noun, method), without_first=not is_static(noun, method))]
    assert sorted(said) == sorted(names)
    for name in set(said) & set(behind) - {"rules"}:
        assert said[name] == behind[name], f"{name} is described in other words by the function"


def test_the_nouns_import_no_verb():
    loaded = "import discreet, sys; print(*(name for name in sys.modules if name.startswith('discreet.')))"
    names = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.split()
    rooms = {name.split(".")[1] for name in names}
    assert rooms.isdisjoint({"verbs", "report", "tables", "records", "attack", "rules", "files", "verify"})
    assert "model" in rooms


def test_the_checker_opens_no_door(tmp_path, monkeypatch):
    # The checker shares no code with what it checks, by no way round.
    release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    release.save(tmp_path / "out")
    monkeypatch.setattr(doors, "_HOMES", {})
    assert ds.check_folder(tmp_path / "out").holds
    assert check_release(release.custodian, release.public).holds
    with pytest.raises(AttributeError, match="has no attribute 'summary'"):
        release.summary()


def test_tab_completion_shows_the_verbs():
    assert {"assess", "audit", "from_cells", "pattern", "recode", "repair", "to_frame"} <= set(dir(ds.Table))
    assert {"audit", "save", "summary", "to_frame", "utility", "verify"} <= set(dir(ds.Release))
    assert {"image", "maximum_entropy", "shuffled"} <= set(dir(ds.NoiseTable))
