"""Counts stay whole numbers beside tables with decimals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.relations import build_system
from discreet.relations.whole_counts import in_whole_counts
from discreet.verify.check import check_release


def both(seed: int, decimals: int = 2) -> ds.TableSet:
    """A count and a magnitude with decimals of the same records."""
    rng = np.random.default_rng(seed)
    frame = pa.table(
        {
            "g": rng.choice(list("abcd"), 40),
            "h": rng.choice(list("uvw"), 40),
            "v": np.rint(rng.exponential(50, 40) * 10**decimals) / 10**decimals,
        }
    )
    by = {"g": ds.Hierarchy.flat(list("abcd")), "h": ds.Hierarchy.flat(list("uvw"))}
    made = ds.tabulate(ds.Microdata(frame), specs=[ds.TableSpec(by=by), ds.TableSpec(by=by, value="v")])
    return ds.TableSet([table.assess(ds.MinFrequency(4)) for table in made])


@given(st.integers(0, 10_000), st.integers(1, 3))
@settings(deadline=None, max_examples=15)
def test_certificates_move_counts_by_whole_numbers_beside_decimals(seed: int, decimals: int) -> None:
    release = ds.protect(both(seed, decimals), ds.Suppress(insiders=None))
    (evidence,) = release.custodian.evidence
    found = evidence.certificates
    of = np.repeat(np.arange(len(found)), np.diff(found.start))
    counts = found.entry_table == 0
    moved = found.amount[counts] / found.denominator[of[counts]]
    assert (moved % 10**evidence.decimals == 0).all()
    assert release.verify().holds


def test_a_certificate_that_moves_a_count_by_half_a_person_is_refused() -> None:
    release = ds.protect(both(1), ds.Suppress(insiders=None))
    (evidence,) = release.custodian.evidence
    found = evidence.certificates
    entries = slice(int(found.start[0]), int(found.start[1]))
    assert (found.entry_table[entries] == 0).all()
    amount = found.amount.copy()
    amount[entries] += np.sign(amount[entries]) * 50  # a larger move, all relations kept
    changed = replace(evidence, certificates=replace(found, amount=amount))
    verdict = check_release(replace(release.custodian, evidence=(changed,)), release.public)
    assert any("a certificate of a count is not in whole numbers" in str(refusal) for refusal in verdict.refused)


def test_rescaled_relations_levels_and_bounds_are_those_of_whole_counts() -> None:
    tables = both(2)
    system, whole, unit = in_whole_counts(build_system(tables))
    alone = build_system(tables.tables[0])
    cells = system.of[0]
    assert whole[cells].all()
    assert not whole[system.of[1]].any()
    assert set(unit[cells].tolist()) == {100}
    assert (system.value[cells] == alone.value).all()
    assert (system.lower_level[cells] == alone.lower_level).all()
    assert (system.upper_level[cells] == alone.upper_level).all()
    assert not (system.matrix @ system.value).any()
    assert set(np.abs(system.matrix.data).tolist()) == {1}


@pytest.mark.parametrize("method", [ds.Round(base=500, insecure_seed=1), ds.Intervals(insecure_seed=1)])
def test_methods_with_proofs_keep_counts_whole_beside_decimals(method) -> None:
    release = ds.protect(both(3), method)
    assert release.verify().holds
