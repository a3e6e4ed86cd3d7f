"""Patterns are audited and completed together with what is already published."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, ParameterError, ProtectionError
from discreet.model.release import Release
from discreet.relations import build_system
from discreet.report.repeat import python_steps
from tests.verbs.test_already_published import COLUMNS, OTHER, ROWS, SQUARE, keeps_levels, released, table


def pattern(cells, name: str = "theirs") -> ds.Pattern:
    """A pattern that withholds some cells."""
    frame = pa.table({"row": [r for r, _ in cells], "col": [c for _, c in cells]})
    return ds.read_pattern(frame, variables=["row", "col"], all_are="secondary", name=name)


def hidden(release: Release) -> set[tuple[str, ...]]:
    shown = release.custodian.tables.tables[0]
    rows = np.flatnonzero(release.custodian.withheld(0))
    return {tuple(shown.spec_codes(shown.codes[row].tolist())) for row in rows.tolist()}


def published_file(tmp_path, cells) -> ds.PublishedCells:
    values = table()
    lines = [f"{r},{c},{values.value[values.row(row=r, col=c)]}" for r, c in cells]
    (tmp_path / "notice.csv").write_text("\n".join(["row,col,value", *lines]))
    return ds.PublishedCells(tmp_path / "notice.csv")


def test_a_pattern_that_is_safe_alone_is_not_beside_an_earlier_release():
    alone = ds.repair(table(), pattern(SQUARE))
    assert alone.held
    first = released(table(), OTHER)
    found = ds.audit(table(), pattern=pattern(SQUARE), already_published={"first": first})
    assert found.short == 1
    assert not found.holds
    assert "together with release 'first'" in found.summary()
    done = ds.repair(table(), pattern(SQUARE), already_published={"first": first})
    assert not done.held
    assert hidden(done.release) == {*SQUARE, *OTHER}
    assert set(done.added.to_pydict()["reason"]) == {"protects x_by_row_col: row=b, col=q"}
    assert done.release.verify().holds
    assert keeps_levels(done.release)
    assert ds.audit(done.release).holds
    assert "together with release 'first'" in done.summary()


def test_a_safe_pattern_beside_an_earlier_release_is_not_changed():
    first = released(table(), [(r, c) for r in ROWS for c in COLUMNS])
    done = ds.repair(table(), pattern(OTHER), ds.Suppress(effort=0), already_published=[first])
    assert done.held
    assert done.added.num_rows == 0
    assert "limit_struck_at" not in done.release.custodian.log["effort"]


@pytest.mark.parametrize("seed", range(8))
def test_any_pattern_beside_any_release_is_completed_or_refused(seed):
    """Two random patterns: what comes out keeps its levels by brute force and verifies."""
    rng = np.random.default_rng(seed)
    cells = [(r, c) for r in ROWS for c in COLUMNS]
    first = released(table(), [("b", "q"), *(cell for cell in cells if rng.random() < 0.75)])
    given = pattern([cell for cell in cells if rng.random() < 0.3] or [("b", "q")])
    if not keeps_levels(first):
        with pytest.raises(ProtectionError, match="revealed by what is already published"):
            ds.repair(table(), given, ds.Suppress(insiders=None), already_published=[first])
        return
    done = ds.repair(table(), given, ds.Suppress(insiders=None), already_published=[first])
    assert done.release.verify().holds
    assert keeps_levels(done.release)
    assert set(given.cells(status="secondary")) <= hidden(done.release)
    assert done.held == (ds.audit(table(), pattern=given, already_published=[first], insiders=None).holds)


def test_the_log_and_the_folder_keep_both_and_replay(tmp_path):
    first = released(table(), OTHER)
    given = pattern(SQUARE)
    done = ds.repair(table(), given, already_published={"first": first})
    done.release.save(tmp_path / "one")
    loaded = ds.load(tmp_path / "one")
    assert loaded.custodian.log["pattern"]["digest"] == given.digest
    assert loaded.custodian.log["already_published"] == list(loaded.custodian.already.together_with())
    again = loaded.replay()
    assert again.custodian.log["pattern"] == loaded.custodian.log["pattern"]
    again.save(tmp_path / "two")
    for path in sorted((tmp_path / "one").rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes(), path


def test_the_steps_say_both_and_run():
    first, given = released(table(), OTHER), pattern(SQUARE)
    release = ds.repair(table(), given, already_published={"first": first}).release
    steps = python_steps(release.custodian.tables, release.custodian.log)
    assert "# pattern is 'theirs'" in steps
    assert "#   release 'first', table 'x_by_row_col'" in steps
    scope = {"table": table().with_(assessment=None), "pattern": given, "already": {"first": first}}
    exec(compile(steps, "steps", "exec"), scope)
    assert hidden(scope["release"]) == hidden(release)


def test_cells_that_are_unsafe_in_an_earlier_release_only_are_withheld_and_said():
    first = released(table(), OTHER)
    nothing = pattern([("c", "r")])
    found = ds.audit(table(unsafe=()), pattern=nothing, already_published=[first])
    assert found.counts()["published"] == 1
    done = ds.repair(table(unsafe=()), nothing, already_published=[first])
    added = done.added.to_pydict()
    reasons = dict(zip(zip(added["row"], added["col"], strict=True), added["reason"], strict=True))
    assert reasons["b", "q"] == "unsafe in another table, and the pattern did not withhold it"
    del reasons["b", "q"]
    assert set(reasons.values()) == {"protects x_by_row_col: row=b, col=q"}
    assert hidden(done.release) == {*OTHER, ("c", "r")}
    forced = pa.table({"row": ["b"], "col": ["q"], "status": ["forced"]})
    with pytest.raises(InputError, match="forced to be published in one place and unsafe in another"):
        ds.repair(table(unsafe=()), ds.read_pattern(forced, variables=["row", "col"]), already_published=[first])


def test_revealed_cells_are_accepted_from_a_file_and_a_pattern_with_them_was_not_safe(tmp_path):
    notice = published_file(tmp_path, [("b", "q")])
    with pytest.raises(ProtectionError, match=r"revealed: file 'notice\.csv' published it"):
        ds.repair(table(), pattern(SQUARE), already_published=[notice])
    (tmp_path / "accept.csv").write_text("class,reason,name\nrevealed,out since May,A. Officer\n")
    method = ds.Suppress(accept=str(tmp_path / "accept.csv"))
    done = ds.repair(table(), pattern(SQUARE), method, already_published=[notice])
    assert not done.held
    assert (done.audit.revealed, len(done.audit.published)) == (1, 0)
    assert "unsafe cells that were published before: 1" in done.summary()
    assert done.release.verify().holds
    assert done.release.custodian.evidence[0].accepted[0].name == "A. Officer"
    assert hidden(done.release) == set(SQUARE)


def test_hints_preferences_and_distance_are_about_the_tables_of_now():
    first = released(table(), [(r, c) for r in ROWS for c in COLUMNS])
    never = ds.Suppress(hints={("b", "p"): "never", ("a", "q"): "never"}, insiders=None)
    assert hidden(ds.protect(table(), never, already_published=[first])) == set(SQUARE)
    unnamed = pattern(SQUARE)
    prefer = ds.Suppress(prefer=unnamed, prefer_share=0.0, insiders=None)
    assert hidden(ds.protect(table(), prefer, already_published=[first])) == set(SQUARE)
    wrong = ds.Suppress(hints=[{"table": "release 1: x", "cell": ["a", "p"], "times": 2}])
    with pytest.raises(ParameterError, match="no table 'release 1: x'"):
        ds.protect(table(), wrong, already_published=[first])


def test_distance_counts_figures_as_nothing_and_what_is_withheld_stays_near():
    first = released(table(), [(r, c) for r in ROWS for c in COLUMNS])
    figure = ds.Figure("x[row=a, col=p] / x[row=a]", "0.25")
    release = ds.protect(table(), ds.Suppress(cost="distance", insiders=None), already_published=[first, figure])
    assert release.verify().holds
    assert keeps_levels(release)
    system = build_system(table(), release.custodian.already)
    cost = system.cost("distance")
    assert len(system.figure_of)
    assert (cost[~system.now] == 0).all()
    assert (cost[system.now & ~system.unsafe] >= 1).all()
    assert (cost[system.unsafe] == 0).all()


def test_a_release_says_itself_what_it_is_published_with():
    release = ds.protect(table(), ds.Suppress())
    with pytest.raises(ParameterError, match="says itself what it is published together with"):
        ds.audit(release, already_published=[release])
