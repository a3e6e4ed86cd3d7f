"""The contract that every method must pass. A method that is not in here does not exist."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numba
import numpy as np
import pytest

import discreet as ds
from discreet.errors import Cancelled, DiscreetError, ParameterError
from discreet.keys import VARIABLE
from discreet.methods.base import TablePublisher
from discreet.methods.registry import METHODS as ALL_METHODS
from discreet.methods.registry import method_from_record
from discreet.model.claims.altered import KNOWN_LEVELS
from discreet.model.claims.base import NO_LEVELS, NOT_ADDITIVE
from discreet.model.evidence import Certificates
from discreet.model.public import altered_table, in_rows_of
from discreet.model.tableset import as_set
from discreet.progress import Step, reporting
from discreet.relations import build_system
from discreet.verify import check_release
from tests.battery.cases import (
    ADJUSTING,
    BAD_PARAMETERS,
    HOME,
    INPUTS,
    LEVELS,
    MAPS,
    METHODS,
    NOT_FOR,
    ONLY_FOR,
    STUCK,
    input_for,
)


def home(method: str) -> str:
    return HOME.get(method, "hierarchical")


@cache
def alters(method: str) -> bool:
    return METHODS[method](home(method)).alters


def takes(method: str, given: str) -> bool:
    """Whether an input is for a method."""
    return given in ONLY_FOR.get(method, set(INPUTS) - set(MAPS)) and (method, given) not in NOT_FOR


PAIRS = [(method, given) for method in METHODS for given in INPUTS if takes(method, given)]
every_method = pytest.mark.parametrize("method", METHODS)
every_pair = pytest.mark.parametrize(("method", "given"), PAIRS)
"""Every method with every input that is for it."""
every_altering_pair = pytest.mark.parametrize(("method", "given"), [pair for pair in PAIRS if alters(pair[0])])
every_withholding_pair = pytest.mark.parametrize(("method", "given"), [pair for pair in PAIRS if not alters(pair[0])])


def every_method_for(given: str) -> pytest.MarkDecorator:
    """Every method that takes an input."""
    return pytest.mark.parametrize("method", [method for method in METHODS if takes(method, given)])


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv(VARIABLE, "5ec4e7" * 10 + "5ec4")


@cache
def tables(method: str, given: str) -> ds.Table | ds.TableSet:
    return input_for(method, given)


@cache
def release(method: str, given: str) -> ds.Release:
    return ds.protect(tables(method, given), METHODS[method](given))


@cache
def progress(method: str) -> tuple[Step, ...]:
    """What a method reports of its work at home."""
    seen: list[Step] = []
    with reporting(seen.append):
        ds.protect(tables(method, home(method)), METHODS[method](home(method)))
    return tuple(seen)


def claims_levels(done: ds.Release) -> bool:
    return not {NO_LEVELS, KNOWN_LEVELS} & set(done.custodian.evidence[0].claim.not_considered)


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_every_method_is_in_the_battery():
    kinds = {kind for kind, cls in ALL_METHODS.items() if issubclass(cls, TablePublisher)}
    assert {make("hierarchical").kind for make in METHODS.values()} == kinds
    assert set(BAD_PARAMETERS) == kinds


@every_pair
def test_claims_hold(method, given):
    verdict = release(method, given).verify()
    assert verdict.holds, verdict
    assert verdict.proved
    assert verdict.attackers
    assert verdict.not_considered


@pytest.mark.parametrize(("method", "given"), NOT_FOR)
def test_what_a_method_cannot_take_is_refused_in_words(method, given):
    with pytest.raises(DiscreetError, match=NOT_FOR[method, given]) as refused:
        ds.protect(tables(method, given), METHODS[method](given))
    assert refused.value.hint


@every_method
def test_methods_say_whether_they_claim_levels(method):
    assert claims_levels(release(method, home(method))) == (method in LEVELS)


@pytest.mark.parametrize(("method", "given"), [pair for pair in PAIRS if pair[0] in LEVELS])
def test_an_attacker_finds_no_unsafe_cell_within_its_level(method, given):
    audit = release(method, given).audit()
    assert not audit.not_audited
    assert audit.short == 0
    assert audit.recoverable == 0


@pytest.mark.parametrize("method", [method for method in METHODS if method not in LEVELS])
def test_what_readers_of_a_method_without_levels_can_tell_holds_the_truth_or_nobody_looked(method):
    """Whatever an audit says, it says of whom; one that did not look never holds."""
    audit = release(method, home(method)).audit()
    if audit.not_audited:
        assert not audit.holds
        assert audit.summary().startswith("NOT AUDITED")
        return
    found = audit.intervals
    seen = found.looked_at
    assert np.array_equal(seen, audit.system.unsafe[found.cells])
    assert np.all(found.lower[seen] <= found.value[seen])
    assert np.all(found.value[seen] <= found.upper[seen])
    assert len(audit.attackers) == 1
    assert "not considered" in audit.summary()


@pytest.mark.parametrize(
    ("method", "given"), [pair for pair in PAIRS if pair[1] in (home(pair[0]), "three_way", "counts_linked")]
)
def test_same_input_gives_the_same_files(method, given, tmp_path):
    """From the records on; the replay below does it from the cells, for every input."""
    release(method, given).save(tmp_path / "one")
    ds.protect(input_for(method, given), METHODS[method](given)).save(tmp_path / "two")
    assert files(tmp_path / "one") == files(tmp_path / "two")


@pytest.mark.parametrize("part", range(2))
def test_the_number_of_threads_does_not_matter(part, tmp_path):
    """Releases of this process, with its threads, are those of a process that has another number of them."""
    names = list(METHODS)[part::2]
    program = (
        "import sys; from tests.battery.cases import HOME, METHODS, input_for; import discreet as ds\n"
        "home = lambda name: HOME.get(name, 'hierarchical')\n"
        "for name in sys.argv[2:]:\n"
        "    print(ds.protect(input_for(name, home(name)), METHODS[name](home(name))).save(f'{sys.argv[1]}/{name}'))"
    )
    threads = "1" if numba.get_num_threads() > 1 else "2"
    settings = dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "ARROW_NUM_THREADS"), threads)
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "other"), *names],
        env={**os.environ, **settings},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [release(name, home(name)).save(tmp_path / "mine" / name) for name in names]


@every_withholding_pair
def test_published_values_are_the_originals_and_withheld_ones_are_gone(method, given):
    done = release(method, given)
    for number, (public, table) in enumerate(zip(done.public.tables, as_set(tables(method, given)), strict=True)):
        hidden = done.custodian.withheld(number)
        assert np.array_equal(public.shown, ~hidden & ~table.empty)
        assert not public.value[~public.shown].any()
        exact = table.value[public.shown] / 10**table.decimals
        assert np.allclose(public.value[public.shown] / 10**public.decimals, exact, atol=0.5 / 10**public.decimals)
        assert hidden[table.unsafe].all()


@every_altering_pair
def test_altered_values_are_marked_in_the_whole_table_and_add_up_where_claimed(method, given):
    done = release(method, given)
    assert sum(int(done.custodian.withheld(number).sum()) for number in range(len(done.public.tables))) == 0
    system = build_system(tables(method, given))
    published = np.zeros(len(system), np.int64)
    finest = max(system.decimals, *(public.decimals for public in done.public.tables))
    for number, (public, table) in enumerate(zip(done.public.tables, as_set(tables(method, given)), strict=True)):
        assert set(public.status) == {"A"}
        whole = in_rows_of(table, public).value
        published[system.of[number]] = whole * 10 ** (finest - public.decimals)
        assert np.all((whole >= 0) | (table.attacker_bounds()[0] < 0))
    if NOT_ADDITIVE not in done.verify().not_considered:
        assert not np.any(system.matrix @ published)


@every_altering_pair
def test_nobody_can_tell_a_cell_that_became_zero_from_one_that_was_empty(method, given):
    """What is public is the same where the cells that became zero were empty from the beginning."""
    custodian = release(method, given).custodian
    for number, (table, public) in enumerate(zip(custodian.tables, custodian.public().tables, strict=True)):
        gone = custodian.published[number] == 0
        if custodian.intervals is not None:
            gone &= (custodian.intervals[number][0] == 0) & (custodian.intervals[number][1] == 0)
        gone[0] = False  # the grand total is always published
        ends = None if custodian.intervals is None else custodian.intervals[number]
        twin, values = table.with_(empty=gone), custodian.published[number]
        if len(public) < len(table):
            assert table.spec.cells == "nonempty"
            twin, values = (
                table.with_(codes=table.codes[~gone], value=table.value[~gone], empty=gone[~gone]),
                values[~gone],
            )
            ends = None if ends is None else tuple(column[~gone] for column in ends)
        other = altered_table(twin, values, custodian.decimals, ends, custodian.coverage)
        assert pickle.dumps(other) == pickle.dumps(public)


@every_method_for("all_cells")
def test_structural_zeros_stay_empty(method):
    table = as_set(tables(method, "all_cells")).tables[0]
    public = release(method, "all_cells").public.tables[0]
    assert table.empty.any()
    assert not public.value[table.empty].any()
    assert np.array_equal(public.empty, np.zeros(len(table), bool) if alters(method) else table.empty)


@every_method_for("forced")
def test_forced_cells_are_published(method):
    table = as_set(tables(method, "forced")).tables[0]
    public = release(method, "forced").public.tables[0]
    assert public.shown[[table.row(trade="A1"), table.row(region="North")]].all()


@every_method_for("weighted")
def test_weights_are_honoured(method):
    table = as_set(tables(method, "weighted")).tables[0]
    frame = table.source.source
    total = float(np.dot(frame["turnover"].to_numpy(), frame["weight"].to_numpy()))
    assert table.values[0] == pytest.approx(total, rel=1e-12)
    public = release(method, "weighted").public.tables[0]
    assert public.shown.any()
    if not alters(method):
        assert public.value[public.shown].tolist() == [round(v) for v in table.values[public.shown].tolist()]


@every_method_for("one_pattern")
def test_one_pattern_is_the_same_in_every_variable(method):
    done = release(method, "one_pattern")
    assert np.array_equal(done.custodian.withheld(0), done.custodian.withheld(1))


@every_pair
def test_the_log_replays_to_the_same_release(method, given, tmp_path):
    first = release(method, given)
    first.save(tmp_path / "first")
    ds.load(tmp_path / "first").replay().save(tmp_path / "second")
    assert files(tmp_path / "first") == files(tmp_path / "second")


@every_method
def test_false_claims_are_refused(method):
    done = release(method, home(method))
    evidence = done.custodian.evidence[0]
    if claims_levels(done):
        lying = replace(done.custodian, evidence=(replace(evidence, certificates=Certificates.none()),))
        assert not check_release(lying, done.public).holds
    silent = replace(done.custodian, evidence=())
    assert not check_release(silent, done.public).holds
    if alters(method):
        size = len(done.custodian.published[0])
        for row in dict.fromkeys([0, 3, size // 3, size // 2, size - 1]):  # forged releases lie in every row
            first = done.custodian.published[0].copy()
            first[row] += 3
            lying = replace(done.custodian, published=(first, *done.custodian.published[1:]))
            assert not check_release(lying, lying.public()).holds, row
        unaltered = replace(done.custodian, published=None)
        assert not check_release(unaltered, unaltered.public()).holds


@pytest.mark.parametrize(("kind", "parameters"), [(k, p) for k, several in BAD_PARAMETERS.items() for p in several])
def test_bad_parameters_are_refused(kind, parameters):
    known = "cost|algorithm|parameter|rule|objective|power|setting|additive|magnifier|base|pre_rounded|shape|rounding"
    with pytest.raises(ParameterError, match=f"no ({known}|outliers)|base=1 is not allowed"):
        method_from_record({"method": kind, **parameters})


@every_method
def test_a_method_survives_its_own_record(method):
    made = METHODS[method](home(method))
    assert method_from_record(made.record()) == made


@every_method
def test_progress_is_reported_and_runs_to_its_end(method):
    seen = progress(method)
    stages = {step.stage for step in seen}
    assert stages
    for stage in stages:
        mine = [step for step in seen if step.stage == stage]
        for before, after in pairwise(mine):
            assert after.done >= before.done or before.done == before.total, "goes back only to begin anew"
        assert mine[-1].done == mine[-1].total


@every_method
@pytest.mark.parametrize("when", [1, 5, 20])
def test_cancelling_leaves_nothing_behind(method, when, tmp_path):
    when, calls = min(when, len(progress(method))), 0

    def stop(step: Step) -> None:
        nonlocal calls
        calls += 1
        if calls == when:
            raise Cancelled

    with pytest.raises(Cancelled), reporting(stop):
        ds.protect(tables(method, home(method)), METHODS[method](home(method))).save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@every_method
def test_no_confidential_value_reaches_a_public_byte(method, tmp_path):
    """Unusual numbers and words are planted in every field that only the custodian may see."""
    base = as_set(tables(method, home(method))).tables[0]
    canary = 777_000_000_000 + np.arange(len(base), dtype=np.int64) * 13
    holding = base.contributions["holding"]
    table = base.with_(
        cost=canary + 0.5,
        key_sum=canary + 10**12,
        upper_bound=canary + 10**15,
        notes=("canary-note",),
        contributions={"holding": replace(holding, count=holding.count + 888_000_000)},
    ).with_(assessment=replace(base.assessment, rules=({"kind": "canary-rule"},)))
    done = ds.protect(table, METHODS[method](home(method)))
    done.save(tmp_path / "out")
    public = b"".join(files(tmp_path / "out" / "public").values()).decode()
    private = b"".join(files(tmp_path / "out" / "custodian").values())
    for secret in ("canary", "777000000", "888000", "p_percent"):
        assert secret not in public
    assert b"canary" in private
    assert b"5ec4e75ec4e7" not in private + public.encode()
    if alters(method):
        return
    withheld = {str(v) for v in base.value[done.custodian.withheld(0)].tolist()}
    published = {str(v) for v in base.value[~done.custodian.withheld(0)].tolist()}
    shown = {line.split(",")[-2] for line in public.splitlines()[1:]}
    assert withheld
    assert not (withheld - published) & shown


@every_method
def test_an_unassessed_table_is_refused(method):
    with pytest.raises(DiscreetError, match=r"not been assessed.*assess"):
        ds.protect(ds.examples.small_table(), METHODS[method](home(method)))


@pytest.mark.parametrize("method", [method for method in METHODS if method in LEVELS | ADJUSTING])
def test_what_cannot_be_protected_is_not_published(method):
    """Every other cell is forced to be published, or the base is too small: no alternative table is left."""
    table = ds.examples.small_table()
    others = [table.spec_codes(c) for c in table.codes.tolist() if c != [1, 3]]
    stuck = table.marked(dict.fromkeys(others, "P")).assess(ds.PPercent(10))
    with pytest.raises(DiscreetError, match=r"cannot be protected.*trade=retail, region=South"):
        ds.protect(stuck, METHODS[method](STUCK))
