"""The rule on linkage, against guessing by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError
from discreet.rules.linkage import MaxLinked, right_guesses, tried_rows
from discreet.verify.records.check import check_records

SMALL = st.integers(-3, 3)


def by_hand(original, released):
    """Every released row is compared with every original one."""
    chances = []
    for i, row in enumerate(released):
        apart = [sum((a - b) ** 2 for a, b in zip(row, other, strict=True)) for other in original]
        best = [j for j, far in enumerate(apart) if far <= min(apart) + 1e-9]
        chances.append(1 / len(best) if i in best else 0.0)
    return chances


@given(st.lists(st.tuples(SMALL, SMALL, SMALL, SMALL), min_size=1, max_size=25))
@settings(max_examples=150, deadline=None)
def test_equally_near_ones_share_the_guess(rows):
    original, released = (np.array([row[i : i + 2] for row in rows], np.float64) for i in (0, 2))
    found = right_guesses(original, released, np.arange(len(rows)))
    assert found.tolist() == pytest.approx(by_hand(original, released))


def firms(rows=300, seed=1, **roles):
    rng = np.random.default_rng(seed)
    x = np.round(np.exp(rng.normal(size=rows)) * 1000).astype(int)
    y = np.round(x * np.exp(rng.normal(size=rows) * 0.3)).astype(int)
    table = pa.table({"x": x, "y": y, "kind": rng.choice(["a", "b"], rows)})
    return ds.Microdata(table, **{"numeric": ["x", "y"], **roles})


def test_the_release_says_and_proves_how_many_are_found_again():
    release = ds.protect(firms(), ds.Microaggregate(k=3), rules=[ds.MaxLinked(0.4)])
    assert release.custodian.log["notes"][0].startswith("microaggregate: right guesses 100.0% to ")
    verdict = release.verify()
    assert verdict.holds
    assert any("is right in at most 40.0% of up to 20,000 records" in text for text in verdict.proved)
    assert any("other ways to find records again" in text for text in verdict.not_considered)


def test_the_checker_guesses_by_itself():
    release = ds.protect(firms(), ds.Microaggregate(k=3), rules=[ds.MaxLinked(0.4)])
    custodian = release.custodian
    lie = dataclasses.replace(custodian, rules=({**custodian.rules[0], "share": 0.1},))
    refused = check_records(lie, lie.public()).refused
    assert any("of guesses are right, more than the rule on linkage allows" in one.message for one in refused)
    other = dataclasses.replace(custodian, rules=({**custodian.rules[0], "columns": ["z"]},))
    assert any(
        "names columns that are not there" in one.message for one in check_records(other, other.public()).refused
    )


@pytest.mark.parametrize("sample", [50, 20_000])
def test_checker_and_rule_agree_to_the_last_guess(sample):
    """The stated share is the least with which the checker holds."""
    release = ds.protect(firms(), ds.Microaggregate(k=2), rules=[ds.MaxLinked(1, sample=sample)])
    custodian = release.custodian
    rule = MaxLinked(1, ("x", "y"), sample)
    from discreet.engine.record_set import with_identity

    share = rule.links(with_identity(custodian.original), custodian.released).share
    for stated, holds in ((share, True), (share - 1e-6, False)):
        lie = dataclasses.replace(custodian, rules=({**custodian.rules[0], "share": stated},))
        assert check_records(lie, lie.public()).holds == holds


def test_a_release_above_the_limit_is_refused():
    with pytest.raises(ProtectionError, match=r"% of right guesses by 'x', 'y', at most 1.0% wanted"):
        ds.protect(firms(), ds.Microaggregate(k=3), rules=[ds.MaxLinked(0.01)])


def test_a_step_that_raises_the_risk_above_the_limit_is_refused_by_name():
    data = firms()
    steps = [ds.Microaggregate(["x", "y"], 100, "simple")]
    release = ds.protect(data, steps, rules=[ds.MaxLinked(0.05)])
    assert release.verify().holds

    class Undone(ds.Microaggregate):
        """Gives the values back that a step before took."""

        def run(self, records, key=None):
            outcome = super().run(records, key)
            first = data.source
            changed = {name: pa.chunked_array([first[name].cast(pa.float64()).combine_chunks()]) for name in ("x", "y")}
            return dataclasses.replace(outcome, changed=changed)

    with pytest.raises(ProtectionError, match=r"Step microaggregate raises the share of right guesses from 0"):
        ds.protect(data, [*steps, Undone(["x", "y"], 3)], rules=[ds.MaxLinked(0.05)])


def test_rows_that_are_tried_do_not_depend_on_their_order():
    identity = np.array([5, -3, 9, 2, 7], np.int64)
    chosen = tried_rows(identity, 3)
    turned = tried_rows(identity[::-1], 3)
    assert sorted(identity[chosen]) == sorted(identity[::-1][turned])
    assert tried_rows(identity, 9).tolist() == [0, 1, 2, 3, 4]


def test_gaps_and_codes_for_unknown_count_as_the_mean():
    table = pa.table({"x": [1, None, 99, 5, 7, 9, 11, 13], "y": [1, 2, 3, 4, 5, 6, 7, 8]})
    data = ds.Microdata(table, numeric=["x", "y"], missing_codes={"x": ["99"]})
    release = ds.protect(data, ds.RankSwap(["y"], share=0.5, insecure_seed=3), rules=[ds.MaxLinked(1)])
    assert release.verify().holds


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        (lambda: ds.MaxLinked(1.5), ParameterError, "share=1.5 is not allowed. Give a number from 0 to 1"),
        (lambda: ds.MaxLinked(sample=0), ParameterError, "sample=0 is not allowed"),
        (lambda: ds.MaxLinked(columns=["none"]), InputError, "none"),
        (lambda: ds.MaxLinked(columns=["kind"]), InputError, "Column 'kind' holds string, not numbers"),
    ],
)
def test_bad_rules(rule, error, message):
    with pytest.raises(error, match=message):
        ds.protect(firms(), ds.Microaggregate(["x", "y"], 3), rules=[rule()])


def test_columns_must_be_known():
    with pytest.raises(NeedsError, match="MaxLinked needs to know which columns an intruder has"):
        ds.protect(firms(numeric=[]), ds.Microaggregate(["x", "y"], 3), rules=[ds.MaxLinked()])


def test_one_file_has_nothing_to_be_compared_with():
    with pytest.raises(NeedsError, match="compares a release with its original"):
        firms().assess(ds.MaxLinked())
