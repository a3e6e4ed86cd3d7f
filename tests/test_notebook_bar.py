"""The progress bar of a notebook: it comes late, is drawn seldom, and goes with its cell."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from discreet import notebook_bar, progress
from discreet.notebook_bar import NotebookBar, bar_markup
from discreet.progress import Step, checkpoint, listen_by_default, reporting, steps


class Screen:
    """Remembers what was shown."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def __call__(self, markup: str) -> Screen:
        self.shown.append(markup)
        return self

    def update(self, content: str) -> None:
        self.shown.append(content)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def bar():
    screen, clock = Screen(), Clock()
    return NotebookBar(screen, clock), screen, clock


@pytest.fixture(autouse=True)
def _nobody_listens_afterwards():
    yield
    listen_by_default(None)


def test_quick_work_has_no_bar(bar):
    line, screen, clock = bar
    for done in range(10):
        clock.now = 0.05 * done
        line(Step("protect", done, 10))
    line.end()
    assert screen.shown == []


def test_a_bar_appears_after_a_moment_is_drawn_seldom_and_goes(bar):
    line, screen, clock = bar
    for done in range(101):
        clock.now = 0.02 * done
        line(Step("protect", done, 100))
    assert 4 <= len(screen.shown) <= 6
    assert screen.shown[0] == '<div><progress value="0.4000"></progress> protect: 40% &middot; 1 s</div>'
    line.end()
    assert screen.shown[-1] == ""


def test_the_next_cell_begins_anew(bar):
    line, screen, clock = bar
    line(Step("a", 0, 2))
    clock.now = 1.0
    line(Step("a", 1, 2))
    line.end()
    seen = len(screen.shown)
    clock.now = 1.5
    line(Step("b", 0, 2))
    assert len(screen.shown) == seen


def test_markup_names_the_stage_and_stays_text():
    assert bar_markup(Step("<b>", 1, 4), 75) == (
        '<div><progress value="0.2500"></progress> &lt;b&gt;: 25% &middot; 1 min 15 s</div>'
    )
    assert bar_markup(Step("reading", 5, 0), 3) == "<div><progress></progress> reading &middot; 3 s</div>"
    assert 'value="1.0000"' in bar_markup(Step("x", 9, 4), 1)


def test_who_listens_by_default_hears_what_nobody_else_does():
    heard: list[Step] = []
    other: list[Step] = []
    listen_by_default(heard.append)
    list(steps("mine", [1, 2]))
    with reporting(other.append):
        checkpoint("theirs", 1, 1)
    assert [step.stage for step in heard] == ["mine"] * 3
    assert [step.stage for step in other] == ["theirs"]


def test_parts_and_stages_are_heard_too():
    heard: list[Step] = []
    listen_by_default(heard.append)
    with progress.as_part("all", 0, 2), progress.onwards("first "):
        checkpoint("x", 1, 2)
    assert heard[-1] == Step("all", 1_000, 2_000)


def fake_ipython(monkeypatch, kernel: object) -> list[tuple[str, object]]:
    registered: list[tuple[str, object]] = []
    events = SimpleNamespace(register=lambda name, function: registered.append((name, function)))
    shell = SimpleNamespace(kernel=kernel, events=events)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    return registered


def test_only_a_kernel_gets_a_bar(monkeypatch):
    registered = fake_ipython(monkeypatch, None)
    assert notebook_bar.watch() is False
    monkeypatch.delitem(sys.modules, "IPython")
    assert notebook_bar.watch() is False
    assert registered == []


def test_in_a_kernel_the_bar_listens_and_ends_with_the_cell(monkeypatch):
    registered = fake_ipython(monkeypatch, object())
    drawn: list[object] = []
    handle = SimpleNamespace(update=drawn.append)
    shown = SimpleNamespace(HTML=lambda text: text, display=lambda text, display_id: drawn.append(text) or handle)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    monkeypatch.setattr(notebook_bar, "PATIENCE", 0.0)
    assert notebook_bar.watch() is True
    checkpoint("protect", 1, 2)
    ((name, end),) = registered
    assert name == "post_run_cell"
    end("the result of the cell")
    assert [str(text)[:25] for text in drawn] == ['<div><progress value="0.5', ""]
