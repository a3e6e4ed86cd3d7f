"""What ``<SUPPRESS>`` becomes."""

from __future__ import annotations

from pathlib import Path

from discreet.argus.commands import Protect
from discreet.argus.methods import method_record
from discreet.argus.rules import TableRules
from discreet.recipe.batch import run_batch


def record(method: str, *numbers: float | None, **options: object) -> dict[str, object]:
    return method_record(Protect(1, method, 1, numbers), [TableRules(least=4)], False, [], **options)  # type: ignore[arg-type]


def test_numbers_become_settings() -> None:
    assert record("MOD", 5, 1, 1, 1)["settings"] == {"singletons": "sums", "least_contributors": 4}
    assert record("MOD", 5, 0, 0, 0)["settings"] == {"singletons": "none"}
    assert record("MOD", None, None, None, None, None, 0.95, 1.05)["settings"] == {
        "singletons": "sums", "least_contributors": 4, "carried": 5.0,
    }  # fmt: skip
    assert record("MOD", 5, 1, 1, 0)["settings"] == {"singletons": "sums", "least_contributors": 0}
    assert record("GH", 40, 1, 0)["settings"] == {"singletons": "none", "known_within": 40}
    assert record("OPT", 2)["time_limit"] == 120
    assert record("RND", 5) == {"method": "round", "base": 5}
    assert record("RND", 2.5, 1, 3, 1, 1, 1) == {
        "method": "round", "base": 2.5, "steps": 2, "time_limit": 180, "effort": 0,
    }  # fmt: skip


def test_few_contributors_are_those_of_the_frequency_rule() -> None:
    """Without one, τ-ARGUS protects sums of single contributors only."""
    without = method_record(Protect(1, "MOD", 1, (5, 1, 1, 1)), [TableRules()], False, [])
    assert without["settings"] == {"singletons": "sums", "least_contributors": 0}


def test_an_encoding_that_was_guessed_stands_in_the_log(job: Path) -> None:
    (job.parent / "region.cdl").write_bytes("Nr,Nördlich\n".encode("latin-1"))
    done = run_batch(job)
    note = "region.cdl is not UTF-8 and was read as Latin-1."
    assert f"note: {note}" in done.log
    assert note in done.runs[0].release.custodian.log["notes"]
    assert done.runs[1].release.custodian.log["inputs"].keys() >= {"region.cdl", "region2.hrc", "stand_in.asc"}
