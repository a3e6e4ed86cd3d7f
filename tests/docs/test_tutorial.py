"""The tutorial, the pages with examples and the README do what they show."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import discreet

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path: str) -> list[tuple[str, str]]:
    return BLOCK.findall((ROOT / path).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("docs/tutorial.md", 12),
        ("docs/records.md", 5),
        ("docs/already-published.md", 3),
        ("docs/methods/cell-key.md", 3),
        ("docs/methods/small-counts.md", 1),
        ("docs/index.md", 1),
        ("docs/which-method.md", 1),
        ("docs/gallery.md", 6),
        ("docs/how-to/table-officer.md", 3),
        ("docs/how-to/file-officer.md", 4),
        ("docs/how-to/tiers.md", 1),
        ("docs/how-to/safe-plots.md", 1),
        ("docs/how-to/synthetic-files.md", 4),
        ("docs/how-to/linkage.md", 6),
        ("docs/how-to/series-linkage.md", 3),
        ("docs/how-to/decision-risk.md", 4),
        ("docs/how-to/research-data-centre.md", 3),
        ("docs/how-to/methodologist.md", 3),
        ("docs/methods/adjust.md", 1),
        ("docs/methods/drop-add.md", 1),
        ("docs/methods/intervals.md", 1),
        ("docs/methods/multiplicative-noise.md", 2),
        ("docs/methods/generalise.md", 2),
        ("docs/methods/pram.md", 3),
        ("docs/methods/recode.md", 6),
        ("docs/methods/redistribute.md", 1),
        ("docs/methods/round.md", 2),
        ("docs/methods/suppress.md", 1),
        ("docs/methods/swap.md", 2),
        ("docs/methods/local-suppression.md", 2),
        ("docs/methods/microaggregation.md", 2),
        ("docs/methods/rank-swap.md", 2),
        ("docs/methods/mask-residual.md", 2),
        ("docs/methods/add-noise.md", 1),
        ("docs/methods/random-rounding.md", 1),
        ("docs/methods/redraw.md", 1),
        ("docs/how-to/wealth-survey.md", 3),
        ("docs/how-to/population-risk.md", 6),
        ("docs/how-to/utility.md", 4),
        ("docs/how-to/private-retrieval.md", 2),
        ("docs/how-to/joint-models.md", 1),
        ("docs/how-to/private-union.md", 1),
        ("docs/methods/shuffle.md", 1),
        ("docs/methods/ipso.md", 1),
        ("docs/methods/reweight.md", 1),
        ("docs/methods/synthesise.md", 2),
        ("docs/methods/microaggregated-swap.md", 1),
        ("docs/methods/blank-values.md", 3),
        ("docs/methods/engines.md", 3),
        ("docs/methods/structure.md", 1),
        ("docs/coordination.md", 4),
        ("docs/argus.md", 5),
        ("docs/mu-argus.md", 6),
        ("docs/compare.md", 4),
        ("docs/report.md", 2),
        ("docs/utility.md", 2),
        ("docs/attackers.md", 5),
        ("docs/risk.md", 5),
        ("docs/check-output.md", 1),
        ("docs/formats.md", 4),
        ("docs/redesign.md", 2),
        ("docs/migration.md", 11),
    ],
)
def test_pages_print_what_they_show(page, least, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    printed, checked = "", 0
    for kind, text in blocks(page):
        if kind == "python":
            assert printed == "", f"{page} does not show this output: {printed}"
            with contextlib.redirect_stdout(io.StringIO()) as stream:
                exec(compile(text, page, "exec"), names)
            printed = stream.getvalue()
        elif kind == "output":
            assert printed == text
            printed = ""
            checked += 1
    assert checked >= least


@pytest.mark.parametrize("page", ["docs/migration.md", "docs/formats.md", "docs/redesign.md", "docs/mu-argus.md"])
def test_names_in_the_tables_of_a_page_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    names = re.findall(r"\bds\.([A-Za-z_]+)(?:\.([a-z_]+))?", text)
    assert len(names) > 5
    for name, method in names:
        assert hasattr(discreet, name), name
        assert not method or hasattr(getattr(discreet, name), method), (name, method)


def test_the_readme_example_runs(tmp_path, monkeypatch):
    pytest.importorskip("jinja2")
    monkeypatch.chdir(tmp_path)
    (code,) = [text for kind, text in blocks("README.md") if kind == "python"]
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        exec(compile(code, "README.md", "exec"), {})
    assert "The claims hold." in stream.getvalue()
    assert (tmp_path / "out" / "custodian" / "report.html").is_file()


PAGES_WITH_LINKS = [
    "README.md",
    "CONTRIBUTING.md",
    *(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")),
]


@pytest.mark.parametrize("page", sorted(PAGES_WITH_LINKS))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert ((ROOT / page).parent / target).exists(), target
