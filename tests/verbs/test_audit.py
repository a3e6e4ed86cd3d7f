"""What ``ds.audit`` says of releases, tables and sets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.attack import WorstInsider
from discreet.verbs.audit import EXACT_UP_TO
from tests.attack.brute_force import ends, outsider
from tests.attack.test_insiders import survey
from tests.attack.test_intervals import pattern


def marked(table: ds.Table, share: float = 0.5) -> ds.Table:
    """A table with a random pattern around its unsafe cells."""
    assessed = table.assess(ds.PPercent(15))
    chosen = (np.random.default_rng(0).random(len(table)) < share) & ~table.empty
    manual = np.where(chosen & ~assessed.unsafe, 3, 0).astype(np.int8)
    return assessed.with_(manual=manual)


def test_an_unsafe_cell_short_of_its_level_is_named():
    table = pattern([50, 1, 70, 1, 90, 10, 11, 12, 13], "UMVMMVVVV").assess(manual_range=20)
    audit = ds.audit(table)
    assert audit.short == 1
    assert audit.columns()["verdict"][0] == "short"
    assert "short of their level: 1" in audit.summary()


def test_the_audit_of_a_pattern_equals_that_of_the_release_it_came_from():
    release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    columns = release.audit().columns()
    assert columns["verdict"] == ["kept"] * 4
    assert columns["required_upper"][1] == 208


def test_a_cell_published_in_one_table_is_known_in_the_other():
    """The same region totals, withheld in one table and published in the other."""
    region = ds.Hierarchy.flat(["N", "S"])
    size = ds.Hierarchy.flat(["small", "big"])
    one = pa.table({"region": ["Total", "N", "S"], "value": [10, 4, 6], "status": ["V", "M", "M"]})
    frame = pa.table({"region": ["N", "N", "S", "S"], "size": ["small", "big"] * 2, "value": [1, 3, 2, 4]})
    first = ds.Table.from_cells(one, by={"region": region}, name="first")
    second = ds.Table.from_cells(frame, by={"region": region, "size": size}, compute_totals=True, name="second")
    assert len(ds.audit(first.assess()).intervals.cells) == 2
    assert len(ds.audit(ds.TableSet([first, second]).assess()).intervals.cells) == 0


def test_only_releases_and_tables_can_be_audited():
    with pytest.raises(ds.DiscreetError, match="Cannot audit a list"):
        ds.audit([1, 2])


@pytest.mark.parametrize(
    "wrong",
    [
        {"insiders": "some"},
        {"insiders": True},
        {"sample": 0},
        {"sample": 2.5},
        {"sample": True},
        {"coalitions": 2},
        {"known_within": 0},
        {"known_within": -5},
        {"known_within": float("nan")},
        {"known_within": True},
        {"known_within": "ten"},
    ],
)
def test_impossible_parameters_are_refused(wrong):
    name = next(iter(wrong))
    with pytest.raises(ds.DiscreetError, match=f"{name}=.* is not allowed"):
        ds.audit(pattern([1] * 9, "V" * 9), **wrong)


def test_insiders_are_counted_and_never_named():
    table = marked(survey(0, 80, codes=6))
    full, weak, none = (ds.audit(table, insiders=insiders) for insiders in ("full", "nonzero", None))
    assert full.short_insiders >= full.short > 0
    assert full.short_insiders > full.recoverable_insiders > 0
    assert weak.recoverable_insiders == full.recoverable_insiders
    assert (weak.short_insiders, none.short_insiders, none.recoverable_insiders) == (0, 0, 0)
    assert none.insiders is None
    verdicts = full.columns()["insiders"]
    assert verdicts.count("recoverable by an insider") == full.recoverable_insiders
    assert verdicts.count("short against an insider") == full.short_insiders - full.recoverable_insiders
    assert verdicts.count("not attacked") == len(verdicts) - full.sampled[1]
    assert f"short of their level against an insider: {full.short_insiders}" in full.summary()
    assert f"that an insider can work out exactly: {weak.recoverable_insiders}" in weak.summary()
    assert full.summary().count("not considered") == 1  # two who pool what they know
    assert "not considered: contributors and holdings who know their own contributions (not asked" in none.summary()


def test_a_table_without_contributors_has_no_insiders_and_says_so():
    audit = ds.audit(pattern([50, 1, 70, 1, 90, 10, 11, 12, 13], "UMVMMVVVV").assess(manual_range=20))
    assert audit.insiders is None
    assert len(audit.attackers) == 1
    assert "(the tables carry no contributors)" in audit.summary()


def test_contributors_whose_number_alone_is_known_are_insiders_where_they_are_alone():
    table = pattern([50, 10, 70, 10, 90, 10, 11, 12, 13], "UMVMUVVVV")
    single = np.full(len(table), 5)
    single[table.row(region="r0", trade="t0")] = 1
    held = table.with_(contributions={"holding": _counts(table, single)}).assess(manual_range=5)
    audit = ds.audit(held)
    verdicts = dict(zip(audit.columns()["cell"], audit.columns()["insiders"], strict=True))
    assert verdicts["region=r0, trade=t0"] == "kept"
    assert verdicts["region=r1, trade=t1"] == "recoverable by an insider"
    assert (audit.short, audit.recoverable, audit.recoverable_insiders) == (0, 0, 1)


def _counts(table: ds.Table, count: np.ndarray) -> object:
    from discreet.model.table import Contributions

    return Contributions(count, table.value, np.zeros((len(table), 2), np.int64), np.zeros(len(table), np.bool_))


def test_a_sample_looks_at_some_unsafe_cells_and_finds_what_a_full_audit_finds():
    table = marked(survey(1, 200, codes=12))
    full = ds.audit(table)
    part = ds.audit(table, sample=8, seed=3)
    assert part.sampled == (8, full.sampled[1])
    assert full.sampled[0] == full.sampled[1] > 8
    rows = dict(
        zip(
            full.columns()["cell"],
            zip(full.columns()["verdict"], full.columns()["insiders"], strict=True),
            strict=True,
        )
    )
    columns = part.columns()
    assert len(columns["cell"]) == 8
    assert all(columns["unsafe"])
    for cell, *verdict in zip(columns["cell"], columns["verdict"], columns["insiders"], strict=True):
        assert tuple(verdict) == rows[cell]
    assert "a random sample of 8 unsafe cells" in part.summary()
    assert ds.audit(table, sample=8, seed=4).columns()["cell"] != columns["cell"]
    assert ds.audit(table, sample=10**6).sampled == full.sampled


def test_ends_are_exact_where_asked_and_by_default_for_small_tables():
    table = marked(survey(1, 200, codes=12))
    default, quick = ds.audit(table), ds.audit(table, exact=False)
    assert len(default.intervals.cells) <= EXACT_UP_TO
    assert (default.intervals.exact, quick.intervals.exact) == (True, False)
    assert quick.columns()["verdict"] == default.columns()["verdict"]
    assert quick.columns()["insiders"] == default.columns()["insiders"]
    width = quick.intervals.upper - quick.intervals.lower
    assert (width <= default.intervals.upper - default.intervals.lower + 1e-6).all()


def test_a_table_without_withheld_cells_is_an_empty_audit():
    audit = ds.audit(pattern([3] * 9, "V" * 9).assess(ds.ZeroUnsafe()))
    assert audit.counts() == dict.fromkeys(audit.counts(), 0)
    assert audit.columns()["cell"] == []


def test_what_nobody_has_judged_is_not_audited():
    """No problems would be found in it, because nothing says what a problem is."""
    made = pattern([1] * 9, "V" * 9).with_(manual=None)
    with pytest.raises(ds.DiscreetError, match="has not been assessed"):
        ds.audit(made)
    with pytest.raises(ds.DiscreetError, match="nothing says which cells are unsafe"):
        ds.audit(made.assess())
    beside = made.with_(spec=made.spec.with_(name="judged", period="1")).assess(ds.ZeroUnsafe())
    audit = ds.audit(ds.TableSet([made.assess(), beside]))
    assert f"NOT JUDGED: no rule says which cells of table {made.name} are unsafe" in audit.summary()


def test_insiders_findings_are_numbers_in_order_of_harm():
    assert sorted(WorstInsider) == [
        WorstInsider.NOT_ATTACKED,
        WorstInsider.KEPT,
        WorstInsider.SHORT,
        WorstInsider.RECOVERABLE,
    ]


# ---- the attackers that a release names ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [
        ds.Suppress(insiders=None),
        ds.Suppress(insiders="nonzero"),
        ds.Suppress(),
        ds.Suppress(coalitions=True),
        ds.Suppress(insiders="nonzero", coalitions=True, known_within=60),
        ds.Suppress(known_within=60),
    ],
)
def test_a_release_is_audited_against_the_attackers_that_it_claims(method):
    accept = ({"class": "impossible", "reason": "r", "name": "n"}, {"class": "undecided", "reason": "r", "name": "n"})
    release = ds.protect(survey(0, 40).assess(ds.PPercent(15)), replace(method, accept=accept))
    found = ds.audit(release)
    claim = release.custodian.evidence[0].claim
    assert found.attackers == claim.attackers
    accepted = len(release.custodian.evidence[0].accepted)
    assert found.short <= accepted
    assert max(found.short_insiders, found.short_together, found.recoverable_together) <= accepted
    assert (found.together is not None) == method.coalitions


def test_who_knows_cells_to_within_some_per_cent_finds_narrower_intervals():
    table = marked(survey(3))
    wide, narrow = ds.audit(table, exact=True), ds.audit(table, exact=True, known_within=50)
    assert "to within 50 % of its value" in narrow.summary()
    one, two = wide.intervals, narrow.intervals
    assert ((two.upper - two.lower) <= (one.upper - one.lower) + 1e-6).all()
    assert ((two.upper - two.lower) < (one.upper - one.lower)).any()
    assert (two.upper <= 1.5 * two.value + 1e-6).all()
    system = narrow.system
    for at in np.flatnonzero(system.unsafe[two.cells])[:5].tolist():
        low, high = ends(system, outsider(system, np.isin(np.arange(len(system)), two.cells)), int(two.cells[at]))
        assert (two.lower[at], two.upper[at]) == pytest.approx((low, high), rel=1e-4, abs=1e-3)


def test_two_together_are_counted_and_named_as_attackers():
    table = marked(survey(0, 40), 0.7)
    alone, both = (ds.audit(table, insiders="full", coalitions=both) for both in (False, True))
    assert alone.together is None
    assert both.short_together >= both.short_insiders == alone.short_insiders
    assert both.recoverable_together >= both.recoverable_insiders
    assert both.short_together > alone.short_insiders
    assert both.counts()["short_together"] == both.short_together
    assert f"against two together: {both.short_together}" in both.summary()
    assert "not considered" not in both.summary()
    words = both.columns()["coalitions"]
    assert words.count("recoverable by two together") == both.recoverable_together
    weak = ds.audit(table, insiders="nonzero", coalitions=True)
    assert (weak.short_together, weak.recoverable_together) == (0, both.recoverable_together)


def test_coalitions_need_insiders():
    with pytest.raises(ds.DiscreetError, match="leaves them out"):
        ds.audit(marked(survey(3)), insiders=None, coalitions=True)


def test_a_sampled_audit_is_not_a_complete_one():
    release = ds.protect(survey(0, 40).assess(ds.PPercent(15)), ds.Suppress(insiders=None))
    assert ds.audit(release).complete
    assert not ds.audit(release, sample=3).complete
    assert not ds.audit(release, exact=False).complete
