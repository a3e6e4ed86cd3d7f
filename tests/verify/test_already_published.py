"""The checker refuses releases that forget or bend what is already published."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.model.already import AlreadyPublished
from discreet.model.public import public_table
from discreet.model.release import Release
from discreet.model.table import CellStatus
from discreet.verify import check_folder, check_release
from discreet.verify.verdict import Verdict
from tests.verbs.test_already_published import OTHER, foreign, released, table

SHARE = ds.Figure("x[row=b, col=q] / x[row=b, col=r]", "1")
SUM = ds.Figure("x[row=c, col=q] + x[row=c, col=r]", "44")


@pytest.fixture(scope="module")
def release() -> Release:
    """A release beside an earlier one, a file and two figures."""
    everything = [(r, c) for r in ("a", "b", "c") for c in ("p", "q", "r")]
    items = {
        "spring": released(table(), everything),
        "file": ds.PublishedCells(foreign([c for c in everything if c != ("c", "p")]), name="file"),
        "share": SHARE,
        "sum": SUM,
    }
    made = ds.protect(table(), ds.Suppress(insiders=None), already_published=items)
    assert made.verify().holds
    return made


def changed(release: Release, **changes: Any) -> Verdict:
    """What the checker says when something of what is already published is another."""
    already = replace(release.custodian.already, **changes)
    return check_release(replace(release.custodian, already=already), release.public)


def test_the_claim_says_together_with_what_it_holds(release):
    verdict = release.verify()
    assert [text.split("'")[1] for text in verdict.together_with[:2]] == ["spring", "file"]
    assert verdict.together_with[2:] == [str(SHARE), str(SUM)]
    assert "anything else that was published before or elsewhere" in verdict.not_considered
    assert "together with figure" in str(verdict)
    assert verdict.to_dict()["together_with"] == verdict.together_with


@pytest.mark.parametrize("part", ["tables", "known", "figures"])
def test_whatever_is_left_out_is_missed(release, part):
    kept = getattr(release.custodian.already, part)
    for number in range(len(kept)):
        verdict = changed(release, **{part: kept[:number] + kept[number + 1 :]})
        assert any("what the claim was made together with" in str(r) for r in verdict.refused)


def test_a_release_that_forgets_everything_cannot_claim_it(release):
    verdict = check_release(replace(release.custodian, already=AlreadyPublished()), release.public)
    assert any("cannot show" in str(refusal) for refusal in verdict.refused)


def marked_as_withheld(release: Release) -> Verdict:
    """A cell that the earlier release published is said to have been withheld."""
    earlier = release.custodian.already.tables[0]
    status = earlier.status.copy()
    status[earlier.table.row()] = CellStatus.SECONDARY
    return changed(release, tables=(replace(earlier, status=status),))


def no_longer_known(release: Release) -> Verdict:
    """A row that the file publishes is left out of what is known."""
    known = release.custodian.already.known[0]
    return changed(release, known=(replace(known, rows=known.rows[1:]),))


def fingerprint_forged(release: Release) -> Verdict:
    known = release.custodian.already.known[0]
    return changed(release, known=(replace(known, fingerprint="0" * 16),))


def rows_out_of_range(release: Release) -> Verdict:
    known = release.custodian.already.known[0]
    return changed(release, known=(replace(known, rows=known.rows + 1000),))


def figure_of_other_cells(release: Release) -> Verdict:
    share, placed = release.custodian.already.figures
    (name, _), (_, codes) = placed.cells
    return changed(release, figures=(share, placed.at(((name, ("c", "p")), (name, codes)))))


def figure_without_cells(release: Release) -> Verdict:
    return changed(release, figures=(release.custodian.already.figures[0], SUM))


def figure_of_another_value(release: Release) -> Verdict:
    share, placed = release.custodian.already.figures
    return changed(release, figures=(share, ds.Figure(placed.formula, "45", cells=placed.cells)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (marked_as_withheld, "what the claim was made together with"),
        (no_longer_known, "not those of its fingerprint"),
        (fingerprint_forged, "not those of its fingerprint"),
        (figure_of_other_cells, "takes another cell for x[col=q, row=c]"),
        (figure_without_cells, "does not name its cells"),
        (figure_of_another_value, "not what its cells give"),
    ],
)
def test_what_is_bent_is_refused(release, change, words):
    verdict = change(release)
    assert any(words in str(refusal) for refusal in verdict.refused), str(verdict)


def test_rows_that_no_table_has_are_an_error(release):
    with pytest.raises(ds.DiscreetError, match="not cells of the release"):
        rows_out_of_range(release)


# ---- certificates that move what is known -------------------------------------------------------------------


def with_pattern(release: Release, hidden: list[tuple[str, str]], already: AlreadyPublished) -> Verdict:
    """The certificates of a release beside other things that are already published, with an honest claim for both."""
    custodian = release.custodian
    evidence = custodian.evidence[0]
    told = already.together_with()
    claim = replace(evidence.claim, together_with=told, statement=STATEMENTS[bool(told)])
    claim = replace(
        claim, not_considered=("anything else that was published before or elsewhere", *claim.not_considered)
    )
    other = replace(custodian, already=already, evidence=(replace(evidence, claim=claim),))
    subject = custodian.tables.tables[0]
    assert sorted(hidden) == sorted(
        subject.spec_codes(subject.codes[row].tolist()) for row in np.flatnonzero(custodian.withheld(0))
    )
    return check_release(other, release.public)


STATEMENTS = {
    False: "Every unsafe cell keeps its protection level over the relations of all tables together.",
    True: "Every unsafe cell, of these tables and of those published before, keeps its protection level over the "
    "relations of all tables and figures together.",
}


def already_of(*items: Any) -> AlreadyPublished:
    accept = tuple({"class": kind, "reason": "t", "name": "t"} for kind in ("revealed", "impossible", "undecided"))
    made = ds.protect(table(), ds.Suppress(insiders=None, accept=accept), already_published=items)
    return made.custodian.already


def test_certificates_may_not_move_known_cells_or_figures():
    """The pattern and its certificates are fine alone, and not beside any of these."""
    alone = ds.protect(table(), ds.Suppress(insiders=None))
    hidden = [("b", "q"), ("b", "p"), ("c", "q"), ("c", "p")]
    assert with_pattern(alone, hidden, AlreadyPublished()).holds
    for item, words in (
        (released(table(), OTHER), "a published cell changes in a certificate (x_by_row_col: row=c, col=p)"),
        (ds.PublishedCells(foreign(OTHER), name="f"), "a published cell changes in a certificate"),
        (ds.Figure("x[row=b, col=q] / x[row=b, col=r]", "0.86"), "certificate changes a published figure"),
        (ds.Figure("x[row=b, col=p] / 3", "2.7"), "certificate changes a published figure"),
    ):
        verdict = with_pattern(alone, hidden, already_of(item))
        assert any(words in str(refusal) for refusal in verdict.refused), f"{item}: {verdict}"
    assert with_pattern(alone, hidden, already_of(ds.Figure("x[row=c, col=r] / x[row=c]", "0.2"))).holds


def test_a_figure_in_the_way_of_the_opposite_only_is_seen():
    """Where a certificate serves both ways, both are checked."""
    alone = ds.protect(table(), ds.Suppress(insiders=None))
    both = alone.custodian.evidence[0].certificates.both
    assert both.any()
    hidden = [("b", "q"), ("b", "p"), ("c", "q"), ("c", "p")]
    # x[b, p] is 8 and moves by 5 both ways; the figure says that it is between 2 and 12.
    one_way = ds.Figure("x[row=b, col=p] + 3", "10", decimals=-1)
    verdict = with_pattern(alone, hidden, already_of(one_way))
    assert any("certificate changes a published figure" in str(refusal) for refusal in verdict.refused)


def test_an_unsafe_cell_that_is_out_needs_an_acceptance():
    first = released(table(unsafe=()), [])
    accept = ({"class": "revealed", "reason": "known", "name": "me"},)
    made = ds.protect(table(), ds.Suppress(accept=accept), already_published=[first])
    assert made.verify().holds
    evidence = replace(made.custodian.evidence[0], accepted=())
    verdict = check_release(replace(made.custodian, evidence=(evidence,)), made.public)
    assert any("nobody accepts that" in str(refusal) for refusal in verdict.refused)


def test_a_cell_that_was_unsafe_before_may_not_be_published_now():
    """The rules of the earlier release still count."""
    first = released(table(), OTHER)
    made = ds.protect(table(unsafe=()), ds.Suppress(insiders=None), already_published=[first])
    subject = made.custodian.tables.tables[0]
    status = made.custodian.status[0].copy()
    status[status == CellStatus.SECONDARY] = CellStatus.SAFE
    shown = replace(made.public, tables=(public_table(subject, np.zeros(len(subject), np.bool_)),))
    verdict = check_release(replace(made.custodian, status=(status,)), shown)
    assert any("an unsafe cell is published in another table" in str(refusal) for refusal in verdict.refused)


# ---- folders ------------------------------------------------------------------------------------------------


def resealed(folder: Path, change: Callable[[dict[str, Any]], None]) -> Verdict:
    """The verdict of a folder whose description was changed and sealed anew."""
    closed = folder / "custodian"
    description = json.loads((closed / "tables.json").read_text(encoding="utf-8"))
    change(description["already_published"])
    (closed / "tables.json").write_text(json.dumps(description), encoding="utf-8")
    return sealed(folder)


def sealed(folder: Path) -> Verdict:
    closed = folder / "custodian"
    manifest = json.loads((closed / "manifest.json").read_text(encoding="utf-8"))
    for name, entry in manifest["files"].items():
        content = (folder / name).read_bytes()
        entry["bytes"], entry["sha256"] = len(content), hashlib.sha256(content).hexdigest()
    (closed / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    seal = hashlib.sha256((closed / "manifest.json").read_bytes()).hexdigest()
    (closed / "manifest.sha256").write_text(seal + "\n", encoding="ascii")
    return check_folder(folder)


CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "table dropped": lambda a: a["tables"].clear(),
    "file dropped": lambda a: a["known"].clear(),
    "figure dropped": lambda a: a["figures"].pop(),
    "figure coarser": lambda a: a["figures"][0].update(decimals=-1, value="0"),
    "figure elsewhere": lambda a: a["figures"][1]["cells"][0].__setitem__(1, ["c", "p"]),
    "figure of no codes": lambda a: a["figures"][1]["cells"][0].__setitem__(1, [["c"], {"p": 1}]),
    "figure unreadable": lambda a: a["figures"][0].update(formula="x[row=b] * x[row=c]"),
    "rows fewer": lambda a: a["known"][0]["rows"].pop(),
    "rows elsewhere": lambda a: a["known"][0].update(rows=[10**6]),
    "rows of another table": lambda a: a["known"][0].update(table="other"),
    "another release": lambda a: a["tables"][0].update(release="winter"),
    "key missing": lambda a: a.pop("figures"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_folders_that_bend_what_is_published_are_refused(release, tmp_path, name):
    release.save(tmp_path / "out")
    assert check_folder(tmp_path / "out").holds
    assert not resealed(tmp_path / "out", CHANGES[name]).holds


def test_an_earlier_cell_file_that_marks_a_known_cell_as_withheld_is_refused(release, tmp_path):
    release.save(tmp_path / "out")
    file = tmp_path / "out" / "custodian" / "spring_x_by_row_col.csv"
    lines = file.read_text(encoding="utf-8").splitlines()
    place = lines[0].split(",").index("status")
    cells = lines[1].split(",")
    assert cells[place] == "V"
    cells[place] = "M"
    file.write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]) + "\n", encoding="utf-8")
    assert not sealed(tmp_path / "out").holds


def test_nothing_of_what_was_published_before_gets_into_the_public_folder(release, tmp_path):
    release.save(tmp_path / "out")
    assert [path.name for path in (tmp_path / "out" / "public").iterdir()] == ["x_by_row_col.csv"]
