"""The audit of altered tables is never kinder than attackers who share no code with it."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as ds
from discreet.errors import InputError, ParameterError
from discreet.methods.base import TableMethod
from discreet.methods.outcome import NotAudited, Reading
from discreet.model.noise_table import NoiseTable
from discreet.tables.perturb.cell_key_reading import fewest_origins, origins
from tests.attack.altered_tables import ADJUSTED, Tally, attack_adjusted, attack_counts, marked, people

pytestmark = pytest.mark.filterwarnings("ignore:Only .* can lie behind")


@pytest.mark.parametrize("seed", [0, 3, 7, 15])
def test_no_count_is_called_kept_that_an_attacker_knows_more_closely(seed):
    assert attack_counts(seed).kind == []


def test_the_attackers_pin_counts_and_so_does_the_audit():
    """A change of at most one, whole numbers, and relations: some counts are left no choice."""
    release = ds.protect(people(15, (3, 3), 0.6), ds.CellKey(D=1, V=0.5, js=0))
    audit = ds.audit(release)
    assert int((audit.intervals.recoverable & audit.system.unsafe[audit.intervals.cells]).sum()) > 0
    assert not audit.holds


def test_no_adjusted_cell_is_called_kept_that_an_attacker_knows_more_closely():
    tally = Tally()
    for seed in range(len(ADJUSTED)):
        tally.add(attack_adjusted(seed))
    assert tally.tables >= len(ADJUSTED) // 2
    assert tally.short > 0
    assert tally.kind == []


def test_whole_numbers_pin_what_linear_programs_leave_open():
    """Changes of at most one: linear programs leave halves between counts, whole numbers do not."""
    release = ds.protect(people(2, (2, 2, 2), 1.2), ds.CellKey(D=1, V=0.5, js=0))
    audit = ds.audit(release)
    found = audit.intervals
    seen = found.looked_at
    assert np.all(found.lower[seen] == np.round(found.lower[seen]))
    assert np.all(found.upper[seen] == np.round(found.upper[seen]))


# ---- nobody looked ------------------------------------------------------------------------------------------------


def test_a_method_that_does_not_say_what_readers_can_tell_is_not_audited(monkeypatch, tmp_path):
    from click.testing import CliRunner

    from discreet.cli.main import main

    monkeypatch.setattr(ds.Round, "reading", TableMethod.reading)
    release = ds.protect(people(1, (3, 3), 2.0), ds.Round(5, levels=False))
    audit = ds.audit(release)
    assert audit.not_audited
    assert not audit.holds
    assert not audit.complete
    assert (audit.short, audit.recoverable, audit.counts()["not_audited"]) == (0, 0, 1)
    assert audit.summary().splitlines()[0].startswith("NOT AUDITED: 15 distinct altered cells")
    release.save(tmp_path / "out")
    done = CliRunner().invoke(main, ["audit", str(tmp_path / "out")])
    assert done.exit_code == 7
    assert done.output.startswith("NOT AUDITED")
    from discreet.report import custodian_report

    assert "Not audited." in custodian_report(release, audit=audit)


def test_the_same_method_ends_with_another_code_where_somebody_looked(tmp_path):
    from click.testing import CliRunner

    from discreet.cli.main import main

    ds.protect(people(1, (3, 3), 2.0), ds.Round(2, levels=False)).save(tmp_path / "out")
    assert CliRunner().invoke(main, ["audit", str(tmp_path / "out")]).exit_code == 5


def test_what_nobody_looked_at_is_no_risk_of_zero_in_a_comparison(monkeypatch):
    monkeypatch.setattr(ds.Round, "reading", lambda *_: NotAudited("nobody wrote it"))
    found = ds.compare(people(1, (3, 3), 2.0), [ds.Round(5, levels=False)])
    assert any(note.endswith("not audited: nobody wrote it") for note in found.notes)


def test_a_reading_that_rules_out_the_truth_is_an_error(monkeypatch):
    def wrong(self: ds.Round, system: object, published: np.ndarray, evidence: object) -> Reading:
        return Reading(published + 1, published + 2, "nothing that is true")

    monkeypatch.setattr(ds.Round, "reading", wrong)
    release = ds.protect(people(1, (3, 3), 2.0), ds.Round(5, levels=False))
    with pytest.raises(InputError, match="not what the method makes of the true ones"):
        ds.audit(release)


# ---- cell keys ------------------------------------------------------------------------------------------------------


def test_counts_behind_a_result_follow_the_rows_of_the_noise_table():
    table = NoiseTable.from_probabilities({1: {-1: 0.5, 2: 0.5}, 2: {0: 0.5, 1: 0.5}, 4: {-1: 0.5, 1: 0.5}})
    found = origins(np.arange(6), np.arange(6), table)
    everything = [set(range(a, b + 1)) for a, b in zip(found.lower, found.upper, strict=True)]
    for k, (first, last) in enumerate(zip(found.start[:-1], found.start[1:], strict=True)):
        if last > first:
            everything[k] = set(found.values[first:last].tolist())
    assert everything[0] == {0, 1}
    assert everything[2] == {2}
    assert everything[3] == {1, 2, 3, 4}
    assert everything[4] == {3, 5}
    assert origins(np.array([0]), np.array([0]), table, threshold=4).upper.tolist() == [4]


@pytest.mark.parametrize(
    ("D", "V", "js", "few"), [(1, 0.5, 0, True), (2, 1.0, 1, True), (3, 2.0, 1, False), (5, 3.0, 2, False)]
)
def test_noise_tables_that_pin_counts_are_warned_of_where_they_are_chosen(D, V, js, few, recwarn):
    method = ds.CellKey(D=D, V=V, js=js)
    assert any("pin counts of 1 and 2 exactly" in str(w.message) for w in recwarn) == few
    assert bool(method.warned) == few
    assert (fewest_origins(method.table) <= 3) == few
    release = ds.protect(people(1, (3, 3), 2.0), method)
    assert (method.warned[0] in release.custodian.log["notes"]) if few else not release.custodian.log["notes"]


@pytest.mark.parametrize("modulus", [2, 3, 63])
def test_few_cell_keys_are_refused(modulus):
    with pytest.raises(ParameterError, match="must lie in 64"):
        ds.CellKey(modulus=modulus)
    with pytest.raises(ParameterError, match="must lie in 64"):
        ds.CellKey(noise=NoiseTable.from_probabilities({1: {-1: 0.5, 1: 0.5}}).quantised(modulus))


def test_a_cycle_is_used_with_a_noise_table_or_refused():
    rows = {n: {0: 0.5, (1 if n % 2 else -1): 0.5} for n in range(1, 9)}
    table = NoiseTable.from_probabilities(rows)
    assert ds.CellKey(noise=table, cycle=2).table.rows_of(np.array([8, 9, 10, 11])).tolist() == [8, 7, 8, 7]
    assert ds.CellKey(noise=table).table.cycle == 1
    with pytest.raises(ParameterError, match="cycle=2 is for a noise table of its own"):
        ds.CellKey(cycle=2)
    with pytest.raises(ParameterError, match="uses its last 2 rows in turn"):
        ds.CellKey(noise=ds.CellKey(noise=table, cycle=2).noise, cycle=3)


def test_versions_of_record_keys_are_counted_in_the_claim():
    def said(version: int) -> str:
        import pyarrow as pa

        frame = pa.table({"id": range(40), "area": ["N", "S"] * 20})
        table = ds.tabulate(frame, by={"area": ds.Hierarchy.flat(["N", "S"])}).assess()
        release = ds.protect(table, ds.CellKey(identifier="id", version=version, insecure_seed=1))
        assert release.verify().holds
        return " ".join(release.verify().not_considered)

    assert "this is the first" in said(1)
    assert "under all 4 versions of the record keys" in said(4)
    assert "standard error of 0.87 only" in said(4)
    assert "leave-one-out" in said(1)


@pytest.mark.parametrize("additive", [None, "integer", "least_squares"])
@pytest.mark.parametrize(
    "noise",
    [
        {"small": 0.05},
        {"small": 0.05, "top": 3, "epsilon": [0.5, 0.3]},
        {"small": 0.1, "large": 0.02, "flex_point": 300.0},
        {"small": 0.1, "magnifier": "sum", "compatible": "cellkey"},
        {"small": 0.25},
    ],
)
def test_what_is_told_of_magnitudes_holds_the_truth_and_is_no_open_interval(noise, additive):
    from tests.battery.cases import INPUTS

    release = ds.protect(INPUTS["hierarchical"](), ds.CellKey(magnitudes=noise, additive=additive))
    audit = ds.audit(release)
    found = audit.intervals
    seen = found.looked_at
    assert not audit.not_audited
    assert additive or np.all(found.lower[seen] > 0)
    assert np.all((found.lower[seen] <= found.value[seen]) & (found.value[seen] <= found.upper[seen]))
    if noise["small"] < 0.2:
        assert np.isfinite(found.upper[seen]).all()


# ---- adjustment -----------------------------------------------------------------------------------------------------


def test_readers_who_repeat_an_adjustment_are_named_and_looked_for():
    release = ds.protect(marked(4, (3, 3), 2), ds.Adjust(weight="value"))
    assert any("repeat the method" in text for text in release.verify().not_considered)
    audit = ds.audit(release)
    assert audit.certain is not None
    assert "repeats the adjustment" in audit.summary()
    drawn = ds.protect(marked(4, (3, 3), 2), ds.Adjust(weight="value", randomised=True, insecure_seed=1))
    assert not any("repeat the method" in text for text in drawn.verify().not_considered)
    assert ds.audit(drawn).certain is None


def test_a_table_that_leaves_its_reader_with_the_truth_alone_does_not_hold():
    told = [ds.audit(ds.protect(marked(seed, (3, 2), 2), ds.Adjust(weight="value"))) for seed in range(4)]
    assert any(audit.told for audit in told)
    assert all(not audit.holds for audit in told if audit.told)
