"""Noise, dropped and swapped records and maps that are not what they say, each forged with care."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.model.table import CellStatus
from tests.verify.forging import UNSAFE, WORDING, Forge, Forgery, made, refused_for

# ---- noise --------------------------------------------------------------------------------------------------


def noisy(f: Forgery, row: int, by: int) -> None:
    """Move a cell with all its sums, and what the records are said to add up to."""
    f.move(row, by)
    f.part("altered", value=np.concatenate(f.published))


def test_a_single_contributor_whose_value_moved_too_little():
    """The true value is published of a company that is alone in a cell."""
    forgery = Forgery("noise")
    alone = (forgery.table.contributions["holding"].count == 1) & forgery.finest() & (forgery.true > 100)
    row = forgery.rows(alone)[0]
    noisy(forgery, row, int(forgery.true[row] - forgery.published[0][row]))
    found = [message for message in forgery.reasons() if "single contributor" in message]
    assert found, forgery.verdict()
    assert any(forgery.table.cell_name(row) in where for m in found for where in forgery.reasons()[m])


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_value_that_moved_further_than_the_factors_allow(sign):
    def forge(f: Forgery) -> None:
        row = f.rows(f.finest() & (f.true > 1000))[0]
        noisy(f, row, int(f.true[row] - f.published[0][row]) + sign * int(f.true[row]) // 2)

    refused_for("noise", forge, "a value moved further than the factors allow")


@pytest.mark.parametrize("by", [-1, 1])
def test_counts_that_noise_changed(by):
    def forge(f: Forgery) -> None:
        noisy(f, f.rows(f.finest() & (f.published[0] > 2))[0], by)

    refused_for("noise-counts", forge, "a value moved further than the factors allow", alone=True)


@pytest.mark.parametrize("by", [-1, 1])
def test_a_value_that_is_not_what_the_records_add_up_to(by):
    def forge(f: Forgery) -> None:
        value = f.evidence.parts["altered"]["value"].copy()
        value[2] += by
        f.part("altered", value=value)

    refused_for("noise", forge, "a value is not what the records add up to")
    refused_for("swap", forge, "a value is not what the records add up to")


@pytest.mark.parametrize("by", [-1, 1])
def test_own_shares_without_weights_are_the_values(by):
    def forge(f: Forgery) -> None:
        own = f.evidence.parts["altered"]["own"].copy()
        own[0] += by
        f.part("altered", own=own)

    refused_for("noise", forge, "own shares are not the values of a table without weights", alone=True)


@pytest.mark.parametrize("change", [{"a": 1}, {"a": 0.9}, {"b": 1.05}, {"b": 1.1}, {"b": 2}, {"b": 2.5}])
def test_factors_that_lie_elsewhere(change):
    refused_for("noise", lambda f: f.method(**change), "factors do not lie where they must", alone=True)


def test_there_is_one_sum_for_every_cell():
    def shorter(f: Forgery) -> None:
        f.part("altered", value=f.evidence.parts["altered"]["value"][1:])

    refused_for("noise", shorter, "there is not one sum for every cell", alone=True)
    refused_for("drop-add", shorter, "there is not one table with what moved in every cell", alone=True)
    refused_for("swap", shorter, "there is not one sum for every cell, or a table without the area", alone=True)


@pytest.mark.parametrize("change", [{"p": 90}, {"limit": 0.01}])
def test_figures_of_a_claim_about_noise_are_counted_anew(change):
    refused_for("noise", lambda f: f.method(**change), WORDING, alone=True)


# ---- dropped and added records ------------------------------------------------------------------------------


def dropped(f: Forgery, row: int, by: int) -> None:
    """One record more or less in a finest cell, published so and said so."""
    f.move(row, by)
    moved = f.evidence.parts["altered"]["moved"].copy()
    moved[row] += by
    f.part("altered", moved=moved)


def test_a_subsample_that_adds_a_record():
    """One is added and one more is dropped, so that the number is that of the claim."""

    def forge(f: Forgery) -> None:
        moved = f.evidence.parts["altered"]["moved"]
        still = f.rows(f.finest() & (moved == 0) & (f.true > 3))
        dropped(f, still[0], 1)
        dropped(f, still[1], -1)

    refused_for("drop-q", forge, "not exactly so many records were dropped as stated", alone=True)


@pytest.mark.parametrize("by", [-1, 1])
def test_a_subsample_of_another_size(by):
    def forge(f: Forgery) -> None:
        moved = f.evidence.parts["altered"]["moved"]
        row = f.rows(f.finest() & ((moved < 0) if by > 0 else (moved == 0)) & (f.true > 3))[0]
        dropped(f, row, by)

    refused_for("drop-q", forge, "not exactly so many records were dropped as stated", alone=True)


@pytest.mark.parametrize("sign", [-1, 1])
def test_more_records_moved_than_the_cap_allows(sign):
    def forge(f: Forgery) -> None:
        row = f.rows(f.finest() & (f.true > 5) & (f.true <= 10))[0]
        moved = f.evidence.parts["altered"]["moved"]
        dropped(f, row, 2 * sign - int(moved[row]))

    assert len(refused_for("drop-add", forge, "more records moved than the cap allows", alone=True)) == 1


def test_a_cap_may_be_reached():
    forgery = Forgery("drop-add")
    row = forgery.rows(forgery.finest() & (forgery.true > 5) & (forgery.true <= 10))[0]
    dropped(forgery, row, 1 - int(forgery.evidence.parts["altered"]["moved"][row]))
    assert set(forgery.reasons()) <= {WORDING}


def test_a_count_that_is_not_that_of_the_records_that_are_left():
    def forge(f: Forgery) -> None:
        f.move(f.rows(f.finest() & (f.true > 5))[0], 1)

    message = "a count is not that of the records that are left"
    assert len(refused_for("drop-add", forge, message, alone=True)) == 1
    assert len(refused_for("drop-q", forge, message, alone=True)) == 1


@pytest.mark.parametrize("by", [-1, 1])
def test_records_move_in_finest_cells_only(by):
    def forge(f: Forgery) -> None:
        moved = f.evidence.parts["altered"]["moved"].copy()
        moved[0] = by
        f.part("altered", moved=moved)

    found = refused_for("drop-add", forge, "records moved in a cell that is a sum of others", alone=True)
    assert len(found) == 1


def test_nobody_is_dropped_who_is_not_there():
    def forge(f: Forgery) -> None:
        row = f.rows(f.finest() & (f.true == f.true[f.finest()].min()))[0]
        dropped(f, row, -int(f.published[0][row]) - 1)

    assert len(refused_for("drop-q", forge, "more records were dropped than there are")) == 1


@pytest.mark.parametrize("stated", [True, False])
@pytest.mark.parametrize("by", [-1, 1])
def test_the_number_of_records_is_that_of_the_table(stated, by):
    """Also where the cell file leaves the number of records out: those of a count are the count."""

    def forge(f: Forgery) -> None:
        if not stated:
            f.cells(records=None)
        records = f.evidence.parts["altered"]["records"].copy()
        records[0] += by
        f.part("altered", records=records)

    refused_for("drop-q", forge, "the number of records of a cell is not that of the table", alone=True)


def test_a_cap_that_rests_on_records_nobody_states():
    """A thousand records would allow for three dropped ones; the table has four, and the number was left out."""

    def forge(f: Forgery) -> None:
        f.cells(records=None)
        row = f.rows(f.finest() & (f.true > 3))[0]
        records = f.evidence.parts["altered"]["records"].copy()
        records[row] = 1000
        f.part("altered", records=records)
        dropped(f, row, -3 - int(f.evidence.parts["altered"]["moved"][row]))

    refused_for("drop-add", forge, "the number of records of a cell is not that of the table", alone=True)


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("by", [-2, 2])
def test_confidence_intervals_are_those_of_their_standard_errors(end, by):
    def forge(f: Forgery) -> None:
        f.intervals[0][end][f.rows(f.intervals[0][1] - f.intervals[0][0] > 9)[0]] += by

    found = refused_for("drop-intervals", forge, "a confidence interval is not that of its standard error", alone=True)
    assert len(found) == 1


def test_confidence_intervals_need_replicate_weights():
    message = "there are confidence intervals without replicate weights"
    refused_for("drop-intervals", lambda f: f.method(replicates=()), message)

    def no_ends(f: Forgery) -> None:
        f.method(replicates=())
        f.intervals.clear()

    refused_for("drop-intervals", no_ends, message)

    def no_errors(f: Forgery) -> None:
        no_ends(f)
        altered = {k: v for k, v in f.evidence.parts["altered"].items() if k != "error"}
        f.set(parts={**f.evidence.parts, "altered": altered})

    refused_for("drop-intervals", no_errors, message)


def test_confidence_intervals_have_the_coverage_that_was_asked_for():
    message = "the confidence intervals are missing, or their coverage is not the one asked for"
    refused_for("drop-intervals", lambda f: f.intervals.clear(), message)
    refused_for("drop-intervals", lambda f: f.facts(coverage=0.99), message)


def test_the_total_of_all_weights_stays():
    def forge(f: Forgery) -> None:
        row = f.rows(f.finest())[0]
        f.move(row, 10_000)
        f.intervals = [
            tuple(end + (f.published[0] - made("drop-intervals").custodian.published[0]) for end in f.intervals[0])
        ]

    refused_for("drop-intervals", forge, "the total of all weights changed", alone=True)


@pytest.mark.parametrize("name", ["drop-add", "redistribute"])
def test_what_averages_out_or_the_threshold_tells_is_admitted(name):
    def forge(f: Forgery) -> None:
        claim = f.evidence.claim
        kept = tuple(t for t in claim.not_considered if not t.startswith(("The noise depends", "what the threshold")))
        f.set(claim=type(claim)(**{**vars(claim), "not_considered": kept}))

    forgery = Forgery(name)
    forge(forgery)
    assert any("does not admit" in message for message in forgery.reasons())


# ---- swapping -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [-1, 1])
def test_whole_areas_keep_what_they_hold(by):
    """A person more or less in one area, with all sums: the whole of all areas changes."""

    def forge(f: Forgery) -> None:
        f.move(f.rows(f.finest() & (f.published[0] > 2))[0], by)
        f.part("altered", value=f.published[0].copy())

    found = refused_for("swap", forge, "what a whole broader area holds changed", alone=True)
    assert any("area=Total, kind=Total" in where for where in found)


@pytest.mark.parametrize("change", [{"moved": 3}, {"moved": -2}, {"moved": 1000}, {"alone": -1}])
def test_numbers_of_households_fit_together(change):
    def forge(f: Forgery) -> None:
        f.part("households", **{name: np.array([n], np.int64) for name, n in change.items()})

    refused_for("swap", forge, "the numbers of households do not fit together", alone=True)


# ---- maps ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("units", [1, 2])
def test_a_place_with_fewer_units_than_the_threshold(units):
    def forge(f: Forgery) -> None:
        shown = f.rows(f.finest() & (f.published[0] == 3))
        f.move(shown[0], units - 3)
        f.move(f.rows(f.finest() & (f.published[0] > 3))[0], 3 - units)

    forgery = Forgery("redistribute")
    forge(forgery)
    found = forgery.reasons()
    assert "an occupied place holds fewer units than the threshold" in found
    assert "what moved does not lead from the original to the published counts" in found


def test_a_threshold_of_one_is_no_map():
    for name in ("redistribute", "redistribute-values"):
        refused_for(name, lambda f: f.method(threshold=1), "there is not one map", alone=True)


@pytest.mark.parametrize("by", [-1, 1])
@pytest.mark.parametrize("name", ["redistribute", "redistribute-values"])
def test_maps_add_up_to_their_total(name, by):
    def forge(f: Forgery) -> None:
        f.published[0][f.rows(~f.finest())[0]] += by

    refused_for(name, forge, "published values do not add up", alone=True)


def test_a_suppressed_place_needs_a_word_for_it():
    """Where nothing may be left out, every place that was occupied still is."""

    def forge(f: Forgery) -> None:
        f.method(outliers="none")
        row = f.rows(f.finest() & (f.published[0] == 3))[0]
        f.move(row, -3)

    refused_for("redistribute", forge, "other places are occupied than before")


@pytest.mark.parametrize("by", [-1, 1])
def test_moves_are_as_long_as_stated(by):
    def forge(f: Forgery) -> None:
        steps = f.evidence.parts["moves"]["steps"].copy()
        steps[0] += by
        f.part("moves", steps=steps)

    refused_for("redistribute", forge, "a move is said to be shorter or longer than it is", alone=True)


def test_a_move_of_nothing():
    def forge(f: Forgery) -> None:
        moves = {name: np.append(column, column[0]) for name, column in f.evidence.parts["moves"].items()}
        moves["units"][-1] = 0
        f.part("moves", **moves)

    refused_for("redistribute", forge, "a move is of nothing", alone=True)


@pytest.mark.parametrize("part", ["contributions", "repaired"])
def test_contributions_add_up_to_the_map(part):
    def forge(f: Forgery) -> None:
        value = f.evidence.parts[part]["value"].copy()
        value[0] += 1
        f.part(part, value=value)

    what = "original" if part == "contributions" else "published"
    refused_for("redistribute-values", forge, f"the contributions do not add up to the {what} map")


def test_other_contributors_than_before():
    def forge(f: Forgery) -> None:
        who = f.evidence.parts["repaired"]["contributor"].copy()
        who[0] = 10**6
        f.part("repaired", contributor=who)

    refused_for("redistribute-values", forge, "other contributors are in the map than before")


def test_places_with_too_few_contributors_or_a_broken_rule():
    refused_for(
        "redistribute-values",
        lambda f: f.method(threshold=10**4),
        "an occupied place has fewer contributors than the threshold",
    )
    refused_for("redistribute-values", lambda f: f.method(max_share=0.01), "a place breaks a rule")
    refused_for("redistribute-values", lambda f: f.method(p=5000), "a place breaks a rule")


def test_a_total_that_is_not_kept():
    def forge(f: Forgery) -> None:
        f.method(outliers="none")
        row = f.rows(f.finest() & (f.published[0] > 0))[0]
        f.move(row, 7)
        place = int(
            np.flatnonzero(
                np.array(f.table.spec.hierarchies[0].base_codes) == f.table.spec_codes(f.table.codes[row].tolist())[0]
            )[0]
        )
        repaired = f.evidence.parts["repaired"]
        value = repaired["value"].copy()
        value[np.flatnonzero(repaired["place"] == place)[0]] += 7
        f.part("repaired", value=value)

    refused_for("redistribute-values", forge, "the total is not kept")


def test_statuses_of_altered_tables_are_not_those_of_withheld_ones():
    """A cell that the rules call unsafe stays unsafe, whatever is published."""

    def forge(f: Forgery) -> None:
        f.status[0][f.rows(f.status[0] == UNSAFE)[0]] = CellStatus.SAFE

    refused_for("adjust", forge, "a cell is unsafe under the stated rules but not marked unsafe")


# ---- parts of evidence that are missing ---------------------------------------------------------------------


def without(part: str, column: str) -> Forge:
    def forge(f: Forgery) -> None:
        kept = {name: values for name, values in f.evidence.parts[part].items() if name != column}
        f.set(parts={**f.evidence.parts, part: kept})

    return forge


def twice(f: Forgery) -> None:
    """The same table once more, under another name."""
    f.tables.append(f.table.with_(spec=f.table.spec.with_(name="again")))
    f.published.append(f.published[0].copy())
    f.status.append(f.status[0].copy())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("redistribute", "there is not one map"),
        ("redistribute-values", "there is not one map"),
        ("drop-add", "there is not one table with what moved in every cell"),
    ],
)
def test_methods_of_one_table_have_one(name, message):
    def forge(f: Forgery) -> None:
        twice(f)
        for part, columns in f.evidence.parts.items():
            if all(len(column) == len(f.table) for column in columns.values()):
                f.part(part, **{name: np.tile(column, 2) for name, column in columns.items()})

    refused_for(name, forge, message)


def test_magnitudes_need_their_contributions():
    refused_for("cell-key-values", without("cells", "total"), "it is not stated how magnitudes are changed")


def test_swaps_are_between_areas_of_every_table():
    message = "there is not one sum for every cell, or a table without the area"
    refused_for("swap", lambda f: f.method(area="nowhere"), message, alone=True)
    refused_for("swap-linked", lambda f: f.method(area="kind"), message, alone=True)


@pytest.mark.parametrize("by", [-1, 1])
def test_tables_of_swapped_records_add_up(by):
    def forge(f: Forgery) -> None:
        f.published[0][f.rows(f.finest() & (f.published[0] > 2))[0]] += by
        f.part("altered", value=f.published[0].copy())

    refused_for("swap", forge, "published values do not add up", alone=True)


def test_weighted_tables_say_how_many_records_there_are():
    message = "the number of records of a cell is not that of the table"
    refused_for("drop-intervals", lambda f: f.cells(records=None), message)


@pytest.mark.parametrize("left", ["ends", "errors", "coverage"])
def test_each_trace_of_confidence_intervals_needs_replicate_weights(left):
    """All but one of them are gone."""

    def forge(f: Forgery) -> None:
        f.method(replicates=())
        if left != "ends":
            f.intervals.clear()
        if left != "errors":
            without("altered", "error")(f)
        if left != "coverage":
            f.set(facts={name: value for name, value in f.evidence.facts.items() if name != "coverage"})

    refused_for("drop-intervals", forge, "there are confidence intervals without replicate weights")


def test_an_outlier_that_moved_by_nothing():
    def forge(f: Forgery) -> None:
        moves = f.evidence.parts["moves"]
        nothing = {name: column[:1].copy() for name, column in moves.items()}
        nothing["units"][0] = 0
        f.part("outlier_moves", **nothing)

    refused_for("redistribute", forge, "a move is of nothing", alone=True)


@pytest.mark.parametrize("name", ["round-unbiased", "cell-key"])
def test_an_empty_cell_has_no_value_below_zero_either(name):
    def forge(f: Forgery) -> None:
        f.published[0][f.rows(f.table.empty)[0]] = -5

    assert len(refused_for(name, forge, "an empty cell got a value")) == 1


@pytest.mark.parametrize("by", [-1, 1])
def test_original_small_counts_add_up(by):
    def forge(f: Forgery) -> None:
        value = f.table.value.copy()
        value[0] += by
        f.cells(value=value)

    refused_for("small-count", forge, "true values do not add up")


@pytest.mark.parametrize("sign", [-1, 1])
def test_an_empty_cell_of_small_counts_stays_empty(sign):
    def forge(f: Forgery) -> None:
        empty = f.table.empty.copy()
        row = f.rows(f.finest() & (f.published[0] > 0))[0]
        empty[row] = True
        f.published[0][row] *= sign
        f.cells(empty=empty)

    assert len(refused_for("small-count", forge, "an empty cell got a value")) == 1


def test_a_step_that_no_counts_have():
    for step in (2, 0, -1):
        forgery = Forgery("cell-key")
        forgery.facts(noise={**forgery.evidence.facts["noise"], "step": step})
        assert not forgery.verdict().holds
