"""Tables that share more than their cells: cycles of variables, and the unseen table behind them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.model.claims.base import CYCLE
from discreet.model.table import CellStatus
from discreet.relations.cycles import cycles, reduced
from discreet.verify.check import check_release
from discreet.verify.cycles import _joined_by_a_tree, has_open_cycle
from discreet.verify.known import Ground


def flat(name: str, size: int = 2) -> ds.Hierarchy:
    return ds.Hierarchy.flat([f"{name}{i}" for i in range(size)])


def records(size: int = 40, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    codes = {v: [f"{v}{i}" for i in rng.integers(0, 2, size)] for v in "abcd"}
    return pa.table({**codes, "v": rng.integers(1, 90, size)})


def tables(*spans: str, value: str | None = None, data: ds.Microdata | None = None, **by: ds.Hierarchy) -> ds.TableSet:
    specs = [
        ds.TableSpec(by={v: by.get(v, flat(v)) for v in span}, value=value, name=f"{value or 'count'}_{span}")
        for span in spans
    ]
    made = ds.tabulate(data or ds.Microdata(records()), specs=specs)
    return ds.TableSet([t.assess(ds.MinFrequency(4)) for t in made])


@pytest.mark.parametrize(
    ("spans", "cycle"),
    [
        (("ab", "bc", "ac"), (0, 1, 2)),
        (("ab", "bc", "cd", "ad"), (0, 1, 2, 3)),
        (("adb", "bc", "ac"), (0, 1, 2)),
        (("ab", "bc"), None),
        (("ab", "bc", "cd"), None),
        (("ab", "ac", "ad"), None),
        (("abc", "ab", "bc", "ac"), None),
    ],
)
def test_cycles_of_variables_are_found(spans: tuple[str, ...], cycle: tuple[int, ...] | None) -> None:
    found = cycles(tables(*spans))
    assert [c.tables for c in found] == ([] if cycle is None else [cycle])


def test_tables_of_different_values_form_no_cycle_of_one_value() -> None:
    data = ds.Microdata(records())
    both = [*tables("ab", "bc", data=data), *tables("ac", value="v", data=data)]
    assert cycles(ds.TableSet(both)) == []


hypergraphs = st.lists(st.sets(st.sampled_from("abcdef"), min_size=1, max_size=4), min_size=1, max_size=6)


@given(hypergraphs)
@settings(deadline=None, max_examples=400)
def test_what_is_left_in_the_end_and_the_heaviest_tree_agree_on_cycles(edges: list[set[str]]) -> None:
    acyclic = not reduced([{(v, b"") for v in edge} for edge in edges])
    assert acyclic == _joined_by_a_tree([{(v, frozenset()) for v in edge} for edge in edges])


def test_the_unseen_table_adds_up_to_every_table_of_its_cycle() -> None:
    whole = tables("ab", "bc", "ac")
    release = ds.protect(whole, ds.Suppress(insiders=None))
    (unseen,) = release.custodian.already.tables
    assert unseen.unseen
    assert unseen.table.variables == ("a", "b", "c")
    assert unseen.table.value[0] == 40
    assert release.verify().holds
    assert CYCLE not in release.verify().not_considered
    assert [table.name for table in release.public.tables] == ["count_ab", "count_bc", "count_ac"]


def test_a_saved_release_keeps_the_unseen_table_and_shows_nothing_of_it(tmp_path) -> None:
    release = ds.protect(tables("ab", "bc", "ac"), ds.Suppress(insiders=None))
    release.save(tmp_path / "out")
    loaded = ds.load(tmp_path / "out")
    assert loaded.verify().holds
    assert loaded.custodian.already.tables[0].unseen
    assert sorted(path.stem for path in (tmp_path / "out" / "public").iterdir()) == ["count_ab", "count_ac", "count_bc"]


def test_levels_of_detail_that_differ_share_the_finer_one() -> None:
    rng = np.random.default_rng(3)
    fine = ds.Hierarchy.from_parents({"A0": "Total", "A1": "Total", "a0": "A0", "a1": "A0", "a2": "A1"})
    coarse = flat("A")
    which = rng.integers(0, 3, 60)
    frame = pa.table(
        {
            "a": [f"a{i}" for i in which],
            "b": [f"b{i}" for i in rng.integers(0, 2, 60)],
            "c": [f"c{i}" for i in rng.integers(0, 2, 60)],
        }
    )
    coarser = frame.set_column(0, "a", pa.array(["A0" if i < 2 else "A1" for i in which]))
    one, two = ds.Microdata(frame), ds.Microdata(coarser)
    whole = ds.TableSet([*tables("ab", "bc", data=one, a=fine), *tables("ac", data=two, a=coarse)])
    (cycle,) = cycles(whole)
    assert cycle.by is not None
    assert cycle.by["a"].base_codes == fine.base_codes
    # The tables come from different files, so that nobody can say what the unseen table is.
    assert CYCLE in ds.protect(whole, ds.Suppress(insiders=None)).verify().not_considered


def test_ready_made_tables_that_form_a_cycle_say_what_is_left_out() -> None:
    whole = ds.TableSet([table.with_(source=None) for table in tables("ab", "bc", "ac")])
    verdict = ds.protect(whole, ds.Suppress(insiders=None)).verify()
    assert verdict.holds
    assert CYCLE in verdict.not_considered


def forged(release: ds.Release, **changes: object) -> list[str]:
    custodian = release.custodian
    (unseen,) = custodian.already.tables
    changed = replace(unseen, **{k: v for k, v in changes.items() if k == "status"})
    columns = {k: v for k, v in changes.items() if k != "status"}
    changed = replace(changed, table=changed.table.with_(**columns))
    already = replace(custodian.already, tables=(changed,))
    return [str(r) for r in check_release(replace(custodian, already=already), release.public).refused]


def test_an_unseen_table_that_loosens_its_bounds_is_refused() -> None:
    release = ds.protect(tables("ab", "bc", "ac"), ds.Suppress(insiders=None))
    size = len(release.custodian.already.tables[0].table)
    loose = forged(release, lower_bound=np.full(size, -1000, np.int64))
    assert any("an unseen table states more than values" in message for message in loose)
    shown = forged(release, status=np.ones(size, np.int8))
    assert any("is negative or not withheld" in message for message in shown)


def test_an_unseen_table_with_negative_cells_is_refused() -> None:
    release = ds.protect(tables("ab", "bc", "ac"), ds.Suppress(insiders=None))
    table = release.custodian.already.tables[0].table
    value = table.value.copy()
    for codes in product((0, 1), repeat=3):  # margins stay what they are
        position = [h.position(f"{v}{i}") for (v, h), i in zip(table.spec.by.items(), codes, strict=True)]
        value[table.find(np.array([position], np.int32))[0]] += 30 * (-1) ** sum(codes)
    assert any("is negative or not withheld" in message for message in forged(release, value=value))


def test_a_release_that_drops_the_unseen_table_must_admit_it() -> None:
    release = ds.protect(tables("ab", "bc", "ac"), ds.Suppress(insiders=None))
    custodian = replace(release.custodian, already=ds.model.already.AlreadyPublished())
    refused = [str(r) for r in check_release(custodian, release.public).refused]
    assert any("form a cycle" in message for message in refused)


@pytest.mark.parametrize("what", ["contributions", "empty", "below zero", "shown"])
def test_one_cell_of_an_unseen_table_that_says_more_is_refused(what: str) -> None:
    release = ds.protect(tables("ab", "bc", "ac"), ds.Suppress(insiders=None))
    unseen = release.custodian.already.tables[0]
    one = np.arange(len(unseen.table)) == 5
    nothing = np.zeros(len(one), np.int64)
    said = ds.model.table.Contributions(nothing, nothing, nothing[:, None], one)
    changes: dict[str, dict[str, object]] = {
        "contributions": {"contributions": {"holding": said}},
        "empty": {"empty": one},
        "below zero": {"value": np.where(one, -1, unseen.table.value)},
        "shown": {"status": np.where(one, CellStatus.SAFE, unseen.status).astype(np.int8)},
    }
    message = "an unseen table states more than values"
    if what in ("below zero", "shown"):
        message = "a cell of an unseen table is negative or not withheld"
    assert f"unseen: {message} ({unseen.table.name})" in forged(release, **changes[what])


def test_an_unseen_table_without_a_cell_that_is_seen_settles_no_cycle() -> None:
    custodian = ds.protect(tables("ab", "bc", "ac"), ds.Suppress(insiders=None)).custodian
    assert not has_open_cycle(Ground(custodian))
    (unseen,) = custodian.already.tables
    base = [h.position(f"{v}0") for v, h in unseen.table.spec.by.items()]
    total = [h.position("Total") for h in unseen.table.spec.hierarchies]
    for k in range(3):  # what the table without the k-th variable says of the first codes of the others
        margin = [total[i] if i == k else base[i] for i in range(3)]
        rows = ~(unseen.table.codes == margin).all(axis=1)
        smaller = replace(unseen, table=unseen.table.at(rows), status=unseen.status[rows])
        changed = replace(custodian, already=replace(custodian.already, tables=(smaller,)))
        assert has_open_cycle(Ground(changed))
