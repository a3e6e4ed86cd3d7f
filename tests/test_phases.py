"""Progress in words: phases, units, and a time left that is steady or not said at all."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from discreet.phases import PHASES, Phases, phase_words
from discreet.progress import Step, as_part, checkpoint, onwards, reporting
from discreet.watching import log_lines

SOURCE = Path(__file__).parent.parent / "src" / "discreet"


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_phase_has_words_and_counts_what_a_person_would_count():
    standing = Phases(Clock()).hear(Step("tabulate", 3, 12))
    assert str(standing) == "Building tables  25 %  3 of 12 tables"
    assert phase_words("North: protect")[0] == "North: protecting unsafe cells"
    assert phase_words("audit: insiders")[0] == "Auditing what contributors can work out"


def test_work_in_one_step_has_no_share_that_would_look_stuck():
    standing = Phases(Clock()).hear(Step("read", 0, 1))
    assert (str(standing), standing.share) == ("Reading records", None)


def test_a_note_says_it_in_units_that_mean_something():
    standing = Phases(Clock()).hear(Step("protect", 730_392, 2_901_046, "312 of 862 unsafe cells"))
    assert str(standing) == "Protecting unsafe cells  25 %  312 of 862 unsafe cells"


def test_even_work_has_a_time_left_that_falls():
    clock, said = Clock(), []
    phases = Phases(clock)
    for second in range(101):
        clock.now = float(second)
        said.append(phases.hear(Step("protect", second, 100)).left)
    assert all(left is None for left in said[:5])
    known = [(second, left) for second, left in enumerate(said) if left is not None]
    assert len(known) > 80
    assert all(left == pytest.approx(100 - second, abs=2) for second, left in known)


def test_uneven_work_has_none():
    """The estimates of the shape that was seen: fast at first, then a hundred times slower."""
    clock = Clock()
    phases = Phases(clock)
    said = []
    for second in range(200):
        clock.now = float(second)
        done = 10 * second if second < 30 else 300 + (second - 30) // 10
        said.append(phases.hear(Step("protect", done, 1_000)).left)
    while_it_changed = said[38:60]
    assert all(left is None for left in while_it_changed)


def test_rates_are_said_once_they_can_be_told():
    clock = Clock()
    phases = Phases(clock)
    phases.hear(Step("verify", 0, 9_000))
    clock.now = 3.0
    assert phases.hear(Step("verify", 4_500, 9_000)).detail == "4,500 of 9,000 certificates, 1,500 a second"


def test_notes_pass_through_parts_and_restarts():
    heard: list[Step] = []
    with reporting(heard.append):
        with as_part("search again", 1, 4):
            checkpoint("protect", 1, 2, "1 of 2 unsafe cells")
        with onwards("North: "):
            checkpoint("protect", 1, 2, "1 of 2 unsafe cells")
    assert heard[0].note == "2 of 4: 1 of 2 unsafe cells"
    assert heard[2] == Step("North: protect", 1, 2, "1 of 2 unsafe cells")


def test_a_log_gets_a_line_when_a_phase_begins_and_few_more():
    clock, lines = Clock(), []
    listen = log_lines(lines.append, clock)
    for done in range(101):
        clock.now = done / 4
        listen(Step("tabulate", done, 100))
    assert lines[0] == "Building tables"
    assert len(lines) == 3
    assert lines[1].startswith("Building tables  ")


@cache
def stages() -> set[str]:
    """Names of stages that the source reports, as far as they are written out."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name in ("checkpoint", "steps", "in_steps", "during", "as_part", "Step") and node.args[0].value:
                found.add(node.args[0].value)
    return found


def test_every_stage_of_verbs_and_methods_has_words():
    attacks = {"Entries", "Slivers", "Cells", "Holes", "margins to withhold", "Least squares"}
    assert {stage.rpartition(": ")[2] for stage in stages()} - attacks <= set(PHASES)
    assert {"protect", "improve", "read", "save"} <= stages()
