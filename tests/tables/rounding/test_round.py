"""Rounding: figures of cards 003-03, 003-05 and 003-07, limits and bad input."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import DiscreetError, InputError, NeedsError, OutputError, ParameterError, ProtectionError
from discreet.keys import VARIABLE, Key
from discreet.model.public import in_rows_of
from discreet.tables.rounding.rules import up_semi_controlled
from tests.tables.rounding.making import inside, table

SMALL = [[20, 50, 10], [8, 19, 22], [17, 32, 12]]
PEOPLE = """North East,29225,31368,13856,46737,34565,26028
North West,78129,96285,25673,148741,3432,170982
Yorkshire and Humberside,46119,62650,2342,106427,32223,76546
East Midlands,43201,50145,23443,69903,23434,69912
West Midlands,61046,70771,23878,107939,432,131385
East,47376,59684,24532,82528,34233,72827
London,49053,61758,17635,93176,3423,107388
South East,50949,72410,34223,89136,4567,118792
South West,44718,75145,35980,83883,56356,63507
Wales,49579,45809,34989,60399,6454,88934
Scotland,61327,63351,36789,87889,5643,119035"""


def facts(release):
    return release.custodian.evidence[0].facts


def people() -> list[ds.Table]:
    """Three breakdowns of the same population by region (card 003-03, data B)."""
    rows = [line.split(",") for line in PEOPLE.splitlines()]
    names = [row[0] for row in rows]
    region = ds.Hierarchy.from_nested({"England": names[:9], "Wales": None, "Scotland": None}, total="Great Britain")
    made = []
    for k, (name, parts) in enumerate({"sex": ("m", "f"), "age": ("young", "adult"), "build": ("thin", "fat")}.items()):
        cells = [(row[0], part, int(row[1 + 2 * k + i])) for row in rows for i, part in enumerate(parts)]
        frame = pa.table(
            {n: list(c) for n, c in zip(("region", name, "people"), zip(*cells, strict=True), strict=True)}
        )
        by = {"region": region, name: ds.Hierarchy.flat(parts)}
        made.append(ds.Table.from_cells(frame, by=by, value="people", name=name, compute_totals=True))
    return made


def test_small_two_way_table_has_the_least_weight():
    done = ds.protect(table(SMALL).assess(), ds.Round(5))
    assert facts(done)["worst_violation"] == 0
    assert facts(done)["objective"] == facts(done)["least_objective"] == pytest.approx(-0.6)
    assert done.verify().holds


@pytest.mark.parametrize(
    ("base", "apart", "together"), [(3, -14 / 3, -4.0), (5, -11.2, -9.6), (10, -15.6, -14.8), (100, -13.1, -12.0)]
)
def test_population_table_with_and_without_equalities(base, apart, together):
    tables = people()
    alone = [facts(ds.protect(t.assess(), ds.Round(base)))["objective"] for t in tables]
    assert sum(alone) == pytest.approx(apart)
    done = ds.protect(ds.TableSet(tables).assess(), ds.Round(base))
    assert facts(done)["worst_violation"] == 0
    assert facts(done)["objective"] == pytest.approx(together)
    assert done.verify().holds  # all three breakdowns add up to the same rounded totals


def test_smallest_table_without_zero_restricted_rounding():
    inner = np.zeros((2, 2, 2), int)
    for cell in ((0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)):
        inner[cell] = 1
    done = ds.protect(table(inner).assess(), ds.Round(2))
    assert facts(done)["worst_violation"] == facts(done)["least_violation"] == 1
    assert done.verify().holds


def test_three_to_the_fifth_reaches_a_proven_violation_of_one():
    rng = np.random.default_rng(1)
    inner = np.where(rng.random((3,) * 5) < 0.25, rng.integers(1, 5, (3,) * 5), 0)
    found = facts(ds.protect(table(inner).assess(), ds.Round(5, objective="none")))
    assert (found["worst_violation"], found["least_violation"]) == (1, 1)


def test_no_effort_still_gives_an_additive_table_with_its_bound():
    rng = np.random.default_rng(2)
    inner = rng.integers(0, 5, (3,) * 5)
    done = ds.protect(table(inner).assess(), ds.Round(5, effort=0))
    assert done.verify().holds
    assert facts(done)["least_violation"] == 0
    assert facts(done)["worst_violation"] <= 2


@pytest.mark.parametrize("limit", [{"effort": 0}, {"time_limit": 0}])
@pytest.mark.parametrize("shape", [(30, 30), (6, 5, 4), (90, 90), (20, 20, 20)])
def test_a_limit_that_strikes_leaves_an_additive_table_with_violation_bound_and_gap(shape, limit):
    random = np.random.default_rng(5)
    inner = np.where(random.random(shape) < 0.7, random.integers(1, 12, shape), 0)
    done = ds.protect(table(inner, counts=True).assess(), ds.Round(3, levels=False, **limit))
    assert done.verify().holds
    found = facts(done)
    assert 0 <= found["least_violation"] <= found["worst_violation"] <= 2
    assert found["least_objective"] <= found["objective"]
    if inner.size > 500:  # annealing alone comes near what each cell for itself would have
        assert found["objective"] <= 0.5 * found["least_objective"] < 0
    assert done.replay().public.tables[0].value.tolist() == done.public.tables[0].value.tolist()


def test_large_networks_have_the_least_weight():
    random = np.random.default_rng(6)
    done = ds.protect(table(random.integers(0, 60, (80, 80)), counts=True).assess(), ds.Round(5, levels=False))
    assert facts(done)["worst_violation"] == 0
    assert facts(done)["objective"] == pytest.approx(facts(done)["least_objective"], abs=1e-5)


def test_scaling_values_and_base_together_changes_nothing():
    one = ds.protect(table(SMALL).assess(), ds.Round(5))
    two = ds.protect(table(np.array(SMALL) * 7).assess(), ds.Round(35))
    assert np.array_equal(7 * inside(one, (3, 3)), inside(two, (3, 3)))


def test_base_one_rounds_fractional_data():
    done = ds.protect(table(np.array(SMALL) / 5).assess(), ds.Round(1))
    plain = ds.protect(table(SMALL).assess(), ds.Round(5))
    assert np.array_equal(inside(done, (3, 3)) * 5, inside(plain, (3, 3)))
    assert done.public.tables[0].decimals == 0  # what is published is whole, and the true values have no say in it


def test_more_steps_find_what_one_step_cannot():
    inner = np.zeros((2, 2, 2), int)
    for cell in ((0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)):
        inner[cell] = 1
    done = ds.protect(table(inner).assess(), ds.Round(2, steps=2))
    assert done.verify().holds
    assert all(v >= 0 for v in done.public.tables[0].value.tolist())


def test_negative_values_are_rounded_down_to_a_true_floor():
    done = ds.protect(table([[-7, 3], [4, -1]]).assess(), ds.Round(5, rule="conventional"))
    assert inside(done, (2, 2)).tolist() == [[-5, 5], [5, 0]]
    assert done.verify().holds


# ---- controlled by flows ------------------------------------------------------------------------------------


def test_one_of_the_parts_1_1_8_goes_up():
    ups = np.zeros(3)
    for seed in range(300):
        done = ds.protect(table([[1, 1, 8]]).assess(), ds.Round(10, rule="controlled_fifty_fifty", insecure_seed=seed))
        rounded = inside(done, (1, 3))[0]
        assert rounded.sum() == 10
        ups += rounded > 0
    assert np.all(np.abs(ups / 300 - 1 / 3) < 0.12)


@pytest.mark.parametrize("rule", ["controlled_unbiased", "controlled_fifty_fifty"])
def test_networks_are_always_rounded_to_neighbours(rule):
    rng = np.random.default_rng(3)
    for number in range(60):
        shape = tuple(rng.integers(1, 7, 2))
        base = int(rng.choice([2, 3, 5, 10]))
        inner = rng.integers(0, 25, shape)
        done = ds.protect(table(inner).assess(), ds.Round(base, rule=rule, insecure_seed=number))
        assert done.verify().holds
        assert np.abs(inside(done, shape) - inner).max() < base
        assert facts(done)["worst_violation"] == 0


@pytest.mark.parametrize("hierarchical", [0, 1])
def test_one_hierarchical_variable_is_still_a_network(hierarchical):
    tree = ds.Hierarchy.from_nested({"A": ["A1", "A2", "A3"], "B": {"B1": ["B1a", "B1b"], "B2": None}})
    flat = ds.Hierarchy.flat(["x", "y", "z"])
    rng = np.random.default_rng(4)
    for seed in range(20):
        inner = rng.integers(0, 30, (6, 3))
        both = (tree, flat) if hierarchical == 0 else (flat, tree)
        given = table(inner if hierarchical == 0 else inner.T, hierarchies=both).assess()
        done = ds.protect(given, ds.Round(5, rule="controlled_unbiased", insecure_seed=seed))
        assert facts(done)["worst_violation"] == 0
        assert done.verify().holds


def test_unbiased_controlled_rounding_keeps_means():
    runs, total = 400, np.zeros((3, 3))
    for seed in range(runs):
        done = ds.protect(table(SMALL).assess(), ds.Round(5, rule="controlled_unbiased", insecure_seed=seed))
        total += inside(done, (3, 3))
    assert np.all(np.abs(total / runs - np.array(SMALL)) < 4 * 2.5 / np.sqrt(runs))


def test_three_way_tables_are_refused_with_a_hint():
    with pytest.raises(NeedsError, match=r"two-way.*rule='controlled'"):
        ds.protect(table(np.ones((2, 2, 2), int)).assess(), ds.Round(5, rule="controlled_unbiased", insecure_seed=1))


# ---- semi-controlled ----------------------------------------------------------------------------------------


def test_semi_controlled_rounding_keeps_the_total_and_the_mean_absolute_deviation():
    rng = np.random.default_rng(6)
    inner = rng.integers(0, 12, (20, 15))
    inner[0, 0] += -int(inner.sum()) % 3
    done = ds.protect(table(inner).assess(), ds.Round(3, rule="semi", insecure_seed=2))
    rounded = inside(done, inner.shape)
    assert rounded.sum() == inner.sum()
    deviation = np.abs(rounded - inner).mean()
    assert abs(deviation - 4 / 3 * (inner % 3 > 0).mean()) <= 4 / 3 / inner.size + 1e-12
    assert np.all(rounded[inner % 3 == 0] == inner[inner % 3 == 0])
    assert np.abs(rounded - inner).max() < 3
    assert done.verify().holds


def test_semi_controlled_rounding_by_row_changes_no_row_by_a_base():
    inner = np.random.default_rng(7).integers(0, 12, (20, 15))
    done = ds.protect(table(inner).assess(), ds.Round(3, rule="semi", control=("v0",), insecure_seed=2))
    assert np.abs(inside(done, inner.shape).sum(axis=1) - inner.sum(axis=1)).max() < 3


def test_semi_controlled_rounding_has_no_bias():
    rng = np.random.default_rng(8)
    values = rng.integers(0, 9, 300)
    total = np.zeros(300)
    runs = 3000
    for _ in range(runs):
        up = up_semi_controlled(values % 3, 3, np.zeros(300, np.int64), rng.random(300), rng.random(1))
        total += (values // 3 + up) * 3 - values
    assert np.abs(total / runs).max() < 4 * np.sqrt(2) / np.sqrt(runs)
    assert abs(int(((values // 3 + up) * 3 - values).sum())) < 3


# ---- secrets ------------------------------------------------------------------------------------------------


def test_same_content_gets_the_same_draw_in_another_order_of_categories(monkeypatch):
    monkeypatch.setenv(VARIABLE, Key.from_seed(3).text)
    inner = np.random.default_rng(9).integers(0, 30, (5, 4))
    rows, columns = ds.Hierarchy.flat(list("abcde")), ds.Hierarchy.flat(list("wxyz"))
    for rule in ("unbiased", "controlled_unbiased", "controlled_fifty_fifty", "semi"):
        one = ds.protect(table(inner, hierarchies=(rows, columns)).assess(), ds.Round(5, rule=rule, levels=False))
        turned = ds.Hierarchy.flat(list("edcba"))
        two = ds.protect(
            table(inner[::-1], hierarchies=(turned, columns)).assess(), ds.Round(5, rule=rule, levels=False)
        )
        assert np.array_equal(inside(one, (5, 4)), inside(two, (5, 4))[::-1]), rule


def test_a_cell_is_rounded_alike_in_another_table(monkeypatch):
    monkeypatch.setenv(VARIABLE, Key.from_seed(4).text)
    frame = pa.table({"a": ["x", "y", "x", "z"] * 7, "b": ["u", "v", "v", "v"] * 7})
    a, b = ds.Hierarchy.flat(["x", "y", "z"]), ds.Hierarchy.flat(["u", "v"])
    wide = ds.protect(ds.tabulate(frame, by={"a": a, "b": b}).assess(), ds.Round(5, rule="unbiased", levels=False))
    thin = ds.protect(ds.tabulate(frame, by={"a": a}).assess(), ds.Round(5, rule="unbiased", levels=False))
    shown = wide.public.tables[0]
    assert shown.value[shown.codes[:, 1] == 0].tolist() == thin.public.tables[0].value.tolist()


def test_a_key_is_made_and_kept_with_the_custodian_only(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    done = ds.protect(table(SMALL).assess(), ds.Round(5, rule="unbiased", levels=False))
    done.save(tmp_path / "out")
    file = tmp_path / "out" / "custodian" / "key.txt"
    assert file.stat().st_mode & 0o777 == 0o600
    secret = file.read_text().strip()
    others = [p for p in (tmp_path / "out").rglob("*") if p.is_file() and p != file]
    assert all(secret not in p.read_text(errors="ignore") for p in others)
    assert secret not in repr(done.custodian.key)
    again = ds.load(tmp_path / "out").replay()
    assert np.array_equal(again.public.tables[0].value, done.public.tables[0].value)


def test_replay_with_another_key_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, Key.from_seed(1).text)
    ds.protect(table(SMALL).assess(), ds.Round(5, rule="unbiased", levels=False)).save(tmp_path / "out")
    monkeypatch.setenv(VARIABLE, Key.from_seed(2).text)
    with pytest.raises(InputError, match="another key"):
        ds.load(tmp_path / "out").replay()


def test_a_seed_marks_the_release_and_nothing_is_written(tmp_path):
    done = ds.protect(table(SMALL).assess(), ds.Round(5, rule="unbiased", levels=False, insecure_seed=1))
    assert any("seed" in text for text in done.verify().not_considered)
    with pytest.raises(OutputError, match="insecure_seed"):
        done.save(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_key_files_that_others_may_read_are_refused(tmp_path):
    file = tmp_path / "key"
    file.write_text(Key.from_seed(1).text)
    file.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        ds.protect(table(SMALL).assess(), ds.Round(5, rule="unbiased", key_file=str(file)))
    file.chmod(0o600)
    file.write_text("not a key")
    with pytest.raises(InputError, match="does not hold a key"):
        ds.protect(table(SMALL).assess(), ds.Round(5, rule="unbiased", key_file=str(file)))


# ---- levels and bad input -----------------------------------------------------------------------------------


def counts() -> ds.Table:
    inner = np.random.default_rng(1).integers(0, 9, (4, 5))
    return table(inner, counts=True)


def test_a_base_below_the_minimum_frequency_does_not_protect():
    given = counts().assess(ds.MinFrequency(4))
    with pytest.raises(ProtectionError, match=r"to multiples of 3: .* Take base=5, which was tried and works"):
        ds.protect(given, ds.Round(3))
    done = ds.protect(given, ds.Round(3, levels=False))
    assert any("protection levels" in text for text in done.verify().not_considered)


def test_levels_are_proved_where_the_base_suffices():
    done = ds.protect(counts().assess(ds.MinFrequency(3)), ds.Round(5))
    assert any("keeps its protection level" in text for text in done.verify().proved)
    assert done.audit().short == 0


@pytest.mark.parametrize(
    "options",
    [
        {"base": 0},
        {"base": -1},
        {"base": "x"},
        {"base": True},
        {"base": float("nan")},
        {"base": 5, "steps": 0},
        {"base": 5, "effort": -1},
        {"base": 5, "control": ("a",)},
        {"base": 5, "rule": "semi", "steps": 2},
    ],
)
def test_impossible_parameters_are_refused(options):
    with pytest.raises(ParameterError, match=r"not allowed|is for"):
        ds.Round(**options)


def test_a_base_that_does_not_fit_the_unit_is_refused():
    with pytest.raises(InputError, match="smallest unit"):
        ds.protect(table(SMALL).assess(), ds.Round(0.5))


def test_what_is_already_published_cannot_be_rounded():
    first = ds.protect(table(SMALL, name="first").marked({("a0", "b0"): "P"}).assess(), ds.Suppress())
    with pytest.raises(DiscreetError, match="already published"):
        ds.protect(table(SMALL, name="second").assess(), ds.Round(5), already_published=first)
    rounded = ds.protect(table(SMALL, name="first").assess(), ds.Round(5))
    with pytest.raises(InputError, match="altered values"):
        ds.protect(
            table(SMALL, name="second").marked({("a0", "b0"): "P"}).assess(), ds.Suppress(), already_published=rounded
        )


@pytest.mark.parametrize("shape", [(5, 4), (3, 3, 3)])
def test_the_objective_total_counts_all_cells_and_never_deviates_more(shape):
    made = table(np.random.default_rng(4).integers(0, 25, shape), counts=True).assess()
    near, total = (ds.protect(made, ds.Round(100, objective=o, levels=False)) for o in ("nearest", "total"))
    off = [int(np.abs(in_rows_of(made, r.public.tables[0]).value - made.value).sum()) for r in (near, total)]
    assert off[1] <= off[0]
    facts = total.custodian.evidence[0].facts
    if facts["worst_violation"] == 0:
        assert off[1] == round(100 * facts["objective"]) + int((made.value % 100).sum())


@pytest.mark.parametrize("effort", [None, 0])
def test_the_summary_says_how_near_the_rounding_is_to_the_best(effort):
    ones = np.zeros((2, 2, 2), int)
    for place in ((0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)):
        ones[place] = 1
    done = ds.protect(table(ones, counts=True).assess(), ds.Round(2, levels=False, effort=effort))
    known = "no rounding has less" if effort is None else "any rounding has at least 0"
    assert f"the worst sum lies 1 step beyond its neighbouring multiples; {known}" in done.summary()
