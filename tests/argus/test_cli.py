"""The commands ``discreet argus`` and ``discreet links``."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.test_cli import discreet


def test_a_batch_runs_and_prints_its_log_book(ready: Path) -> None:
    done = discreet("argus", ready, ready.parent / "log.txt")
    assert done.exit_code == 0, done.output
    assert "The claims hold." in done.stdout
    assert (ready.parent / "log.txt").read_text() in done.stdout
    found = json.loads(discreet("argus", ready, "--json").stdout)
    assert found["releases"][0]["holds"]
    assert found["files"] == [str(ready.parent / "safe.txt")]


def test_a_batch_becomes_a_recipe_and_a_recipe_a_batch(ready: Path) -> None:
    done = discreet("argus", ready, "--convert")
    assert done.stdout == "Written: t.toml\n"
    assert discreet("argus", ready, "--convert").exit_code == 6
    other = ready.parent / "other"
    other.mkdir()
    assert discreet("argus", ready.parent / "t.toml", "--convert", "--output", other).exit_code == 0
    assert '<WRITETABLE> (1,3,,"safe.txt")' in (other / "t.arb").read_text()
    assert discreet("run", ready.parent / "t.toml").exit_code == 0


def test_exit_codes_are_ours_or_theirs(ready: Path) -> None:
    assert discreet("argus", ready.parent / "nothing.arb").exit_code == 3
    text = ready.read_text()
    ready.write_text(text.replace('"safe.txt"', '"../safe.txt"'))
    assert discreet("argus", ready).exit_code == 2
    (ready.parent / "a.hst").write_text("y;b;u\nTotal;b;p\nx;b;p\ny;Total;p\n")
    ready.write_text(text.replace("<SUPP", '<APRIORI> "a.hst",1,";"\n<SUPP'))
    assert discreet("argus", ready).exit_code == 4
    ready.write_text(text.replace("MOD(1)", "RND(1)"))
    assert discreet("argus", ready, "--strict-argus").exit_code == 2
    (ready.parent / "t.tab").write_text("x")
    ready.write_text(text)
    failed = discreet("argus", ready, "--strict-argus")
    assert failed.exit_code == 3
    assert "t.arb, line 5: t.tab, line 1: found '1 field'" in failed.stderr


def test_links_of_a_batch(job: Path) -> None:
    lines = (
        job.read_text()
        .split("<SUPPRESS>")[0]
        .replace("<READ", '<SPECIFYTABLE> "IndustryCode""Region"|"Var2"||\n<SAFETYRULE> P(10)\n<READ')
    )
    job.write_text(lines + "<SUPPRESS> MOD(0)\n")
    done = discreet("links", job)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("Cluster 1: Var2_by_Size_Region, Var2_by_IndustryCode_Region")
    assert json.loads(discreet("links", job, "--json").stdout)["links"][0]["shared"] == ["Region"]
