"""Forged cells, statuses, levels and evidence: what every release must have, whatever protects it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError
from discreet.model.custodian import TableCustodian
from discreet.model.evidence import UP, Acceptance, Certificates
from discreet.model.table import CellStatus
from discreet.verify import check_release
from tests.verify.forging import BY, firms, linked, made, magnitude


@cache
def suppressed() -> ds.Release:
    return ds.protect(magnitude(), ds.Suppress())


def refused(custodian: TableCustodian) -> dict[str, list[str]]:
    """Messages of all refusals, with what they name; the public part follows from the custodian's."""
    found: dict[str, list[str]] = {}
    for refusal in check_release(custodian, custodian.public()).refused:
        found.setdefault(refusal.message, []).append(refusal.where)
    return found


def forged(**changes: object) -> TableCustodian:
    return replace(suppressed().custodian, **changes)


def with_table(**columns: object) -> TableCustodian:
    return forged(tables=ds.TableSet([suppressed().custodian.tables.tables[0].with_(**columns)]))


def with_status(row: int, status: CellStatus) -> TableCustodian:
    mine = suppressed().custodian.status[0].copy()
    mine[row] = status
    return forged(status=(mine,))


def cell(row: int) -> str:
    table = suppressed().custodian.tables.tables[0]
    return f"{table.name}: {table.cell_name(row)}"


def first(status: CellStatus) -> int:
    return int(np.flatnonzero(suppressed().custodian.status[0] == status)[0])


# ---- statuses and levels ------------------------------------------------------------------------------------


def test_the_honest_release_holds():
    assert refused(forged()) == {}


@pytest.mark.parametrize("status", [CellStatus.SAFE, CellStatus.SECONDARY])
def test_an_unsafe_cell_is_called_unsafe(status):
    row = first(CellStatus.UNSAFE)
    found = refused(with_status(row, status))
    assert found["a cell is unsafe under the stated rules but not marked unsafe"] == [cell(row)]


@pytest.mark.parametrize("of", [CellStatus.SAFE, CellStatus.UNSAFE])
def test_nothing_is_published_by_force_that_is_not_marked_so(of):
    row = first(of)
    found = refused(with_status(row, CellStatus.FORCED))
    assert found["a cell is published by force without being marked so"] == [cell(row)]


def test_what_is_marked_to_be_published_by_force_is_so():
    table = ds.tabulate(firms(), by=BY, value="value", contributor="company")
    release = ds.protect(table.marked({("South", "x"): "P"}).assess(ds.PPercent(15)), ds.Suppress())
    assert refused(release.custodian) == {}
    status = release.custodian.status[0].copy()
    row = int(np.flatnonzero(status == CellStatus.FORCED)[0])
    status[row] = CellStatus.SAFE
    found = refused(replace(release.custodian, status=(status,)))
    assert found == {"a cell is published by force without being marked so": [f"{table.name}: area=South, kind=x"]}


def test_empty_is_what_is_empty():
    row = first(CellStatus.SAFE)
    found = refused(with_status(row, CellStatus.EMPTY))
    assert found["a cell's status does not fit whether it is empty"] == [cell(row)]
    empty = np.zeros(len(suppressed().custodian.status[0]), np.bool_)
    empty[row] = True
    assert cell(row) in refused(with_table(empty=empty))["a cell's status does not fit whether it is empty"]


def test_the_verdict_says_what_else_decides_on_levels():
    table = magnitude()
    assert table.assessment is not None
    options = {**table.assessment.options, "manual_range": 2.5}
    odd = table.with_(assessment=replace(table.assessment, profile="argus", options=options))
    verdict = check_release(forged(tables=ds.TableSet([odd])), suppressed().public)
    assert not any("profile" in text for text in suppressed().verify().proved)
    assert any(text.endswith("; profile=argus; manual_range=2.5") for text in verdict.proved)


def test_what_a_rule_looks_at_is_in_the_cell_file():
    contributions = {"record": suppressed().custodian.tables.tables[0].contributions["holding"]}
    found = refused(with_table(contributions=contributions, holders=None))
    assert found["what rule p_percent looks at is not in the cell file"] == [
        suppressed().custodian.tables.tables[0].name
    ]


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_levels_are_at_least_those_of_the_rules(side):
    """One unit less is refused, one more is not a lie about the rules."""
    table = suppressed().custodian.tables.tables[0]
    row = int(
        np.flatnonzero((suppressed().custodian.status[0] == CellStatus.UNSAFE) & (getattr(table.assessment, side) > 1))[
            0
        ]
    )
    for by in (-1, 1):
        level = getattr(table.assessment, side).copy()
        level[row] += by
        found = refused(with_table(assessment=replace(table.assessment, **{side: level})))
        message = f"the stated {side} protection level is below the rules'"
        assert found.get(message, []) == ([cell(row)] if by < 0 else [])


def test_a_table_without_rules_is_not_known_to_be_safe():
    found = refused(with_table(assessment=None))
    assert "no rules are stated, so nothing is known to be safe" in found


def test_no_cell_stands_twice():
    table = suppressed().custodian.tables.tables[0]
    codes = table.codes.copy()
    codes[5] = codes[4]
    assert "a cell stands twice in the cell file" in refused(with_table(codes=codes))


@pytest.mark.parametrize("by", [-1, 1])
def test_values_add_up_wherever_they_stand(by):
    for row in range(len(suppressed().custodian.status[0])):
        value = suppressed().custodian.tables.tables[0].value.copy()
        value[row] += by
        assert "a relation does not add up" in refused(with_table(value=value)), row


@pytest.mark.parametrize("by", [-1, 1])
def test_cells_that_mean_the_same_agree(by):
    """The other table is by area alone: its cells change with their total, so that it adds up for itself."""
    release = ds.protect(linked(), ds.Suppress())
    both, area = release.custodian.tables.tables
    value = area.value.copy()
    for codes in (("N1",), ("North",), ("Total",)):
        value[area.row(area=codes[0])] += by
    custodian = replace(release.custodian, tables=ds.TableSet([both, area.with_(value=value)]))
    found = refused(custodian)
    assert "cells that mean the same differ" in found
    assert "a relation does not add up" not in found
    assert any(where.startswith("area: area=N1") for where in found["cells that mean the same differ"])


@pytest.mark.parametrize("by", [-1, 1])
def test_equations_between_variables_hold(by):
    frame = firms()
    home = np.asarray(frame["value"]) // 3
    frame = frame.append_column("home", pa.array(home)).append_column(
        "export", pa.array(np.asarray(frame["value"]) - home)
    )
    tables = ds.tabulate(frame, by={"kind": BY["kind"]}, value=["value", "home", "export"], contributor="company")
    release = ds.protect(ds.TableSet(tables.tables, ["value = home + export"]).assess(ds.PPercent(5)), ds.Suppress())
    parts = list(release.custodian.tables.tables)
    value = parts[1].value.copy()
    value[[parts[1].row(kind="x"), parts[1].row(kind="Total")]] += by
    parts[1] = parts[1].with_(value=value)
    found = refused(replace(release.custodian, tables=ds.TableSet(parts, ["value = home + export"])))
    assert "'value = home + export' does not hold" in found
    assert "a relation does not add up" not in found


# ---- evidence -----------------------------------------------------------------------------------------------


def test_unsafe_cells_need_evidence():
    found = refused(forged(evidence=()))
    many = int((suppressed().custodian.status[0] == CellStatus.UNSAFE).sum())
    assert f"no evidence protects {many} unsafe cells" in found


def test_altered_values_have_one_method_that_says_how():
    custodian = made("adjust").custodian
    assert "values are altered, and there is no method that says how" in refused(replace(custodian, evidence=()))
    twice = refused(replace(custodian, evidence=custodian.evidence * 2))
    assert "'adjust' is no method that comes before tables are made" in twice


@pytest.mark.parametrize("other", ["adjust", "swap", ""])
def test_what_comes_before_tables_is_claimed_by_the_method_that_did_it(other):
    """The claim's words fit a recoding; only the name of the method does not."""
    spec = ds.TableSpec({"area": BY["area"], "whole": ds.Hierarchy.flat(["<128", "128+"])}, name="t")
    steps = [ds.Recode("whole", intervals=[128]), ds.Suppress()]
    custodian = ds.protect(ds.Microdata(firms()), steps, tables=[spec], rules=[ds.MinFrequency(3)]).custodian
    assert refused(custodian) == {}
    first, last = custodian.evidence
    lie = replace(first, method={**first.method, "method": other})
    found = refused(replace(custodian, evidence=(lie, last)))
    assert found == {"'recode' is no method that comes before tables are made": [""]}


def test_the_first_line_says_whether_the_claims_hold():
    assert suppressed().verify().headline() == "The claims hold."
    custodian = forged(evidence=())
    refusals = check_release(custodian, custodian.public())
    assert refusals.headline() == "REFUSED for 1 reason."


def test_a_method_that_withholds_alters_nothing_and_the_other_way_round():
    adjusted, plain = made("adjust").custodian, suppressed().custodian
    for custodian, evidence in ((adjusted, plain.evidence), (plain, adjusted.evidence)):
        found = refused(replace(custodian, evidence=evidence))
        kind = evidence[0].claim.method
        assert f"what {kind!r} claims does not fit whether values are altered" in found


def test_altered_values_together_with_earlier_releases_are_not_known_to_fit(tmp_path):
    """No method that alters values looks at what was published before, so none may claim to."""
    custodian = replace(made("adjust").custodian, already=before(tmp_path).already)
    assert "the altered values do not fit the tables" in refused(custodian)


@pytest.mark.parametrize("change", ["shorter", "fractions"])
def test_altered_values_are_one_whole_number_for_every_cell(change):
    custodian = made("adjust").custodian
    column = custodian.published[0]
    wrong = column[1:] if change == "shorter" else column.astype(np.float64)
    with pytest.raises(InputError, match="not one whole number for every cell"):
        check_release(replace(custodian, published=(wrong,)), made("adjust").public)


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("change", ["shorter", "fractions"])
def test_intervals_are_two_whole_numbers_for_every_cell(end, change):
    custodian = made("intervals").custodian
    ends = list(custodian.intervals[0])
    ends[end] = ends[end][1:] if change == "shorter" else ends[end].astype(np.float64)
    with pytest.raises(InputError, match="not two whole numbers for every cell"):
        check_release(replace(custodian, intervals=(tuple(ends),)), made("intervals").public)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cell": ("N1", "q")}, "an accepted cell is not in the tables"),
        ({"table": "other"}, "an accepted cell is not in the tables"),
        ({"reason": " "}, "a cell is accepted without a reason or by nobody"),
        ({"name": ""}, "a cell is accepted without a reason or by nobody"),
        ({}, "a cell is accepted twice"),
        ({"cell": ("Total", "Total")}, "an accepted cell is not an unsafe one that is withheld"),
    ],
)
def test_acceptances_are_of_unsafe_cells_with_reason_and_name(change, message):
    custodian = suppressed().custodian
    table = custodian.tables.tables[0]
    unsafe = table.spec_codes(table.codes[first(CellStatus.UNSAFE)].tolist())
    good = Acceptance(table.name, unsafe, "agreed", "N. N.")
    accepted = (replace(good, **change),) if change else (good, good)
    evidence = replace(custodian.evidence[0], accepted=accepted)
    assert message in refused(forged(evidence=(evidence,)))


def test_certificates_of_other_lengths_are_not_read():
    custodian = suppressed().custodian
    honest = custodian.evidence[0].certificates
    for changes in (
        {"amount": honest.amount[:-1]},
        {"entry_row": honest.entry_row[:-1]},
        {"entry_table": honest.entry_table[:-1]},
        {"both": honest.both[:-1]},
        {"both": honest.both.astype(np.int64)},
        {"denominator": honest.denominator[:-1]},
        {"entry_row": honest.entry_row.astype(np.float64)},
        {"entry_row": honest.entry_row[:, None]},
        {"start": honest.start + 1},
        {"start": honest.start[::-1].copy()},
        {"entry_row": np.where(np.arange(len(honest.entry_row)) == 0, len(custodian.status[0]), honest.entry_row)},
        {"entry_row": np.where(np.arange(len(honest.entry_row)) == 0, -1, honest.entry_row)},
        {"entry_table": honest.entry_table + 1},
        {"entry_table": honest.entry_table - 1},
    ):
        wrong = Certificates(**{**vars(honest), **changes})
        found = refused(forged(evidence=(replace(custodian.evidence[0], certificates=wrong),)))
        assert "the certificates are not well formed" in found, changes


@pytest.mark.parametrize("denominator", [0, -1])
def test_denominators_are_positive(denominator):
    custodian = suppressed().custodian
    honest = custodian.evidence[0].certificates
    values = honest.denominator.copy()
    values[0] = denominator
    evidence = replace(custodian.evidence[0], certificates=replace(honest, denominator=values))
    assert "a certificate has a denominator that is not positive" in refused(forged(evidence=(evidence,)))


def test_proofs_name_cells_and_certificates_that_are_there():
    custodian = suppressed().custodian
    honest, many = custodian.evidence[0].proofs, len(custodian.evidence[0].certificates)
    rows = len(custodian.status[0])
    for column, value in (
        ("row", rows),
        ("row", -1),
        ("table", 1),
        ("table", -1),
        ("certificate", many),
        ("certificate", -1),
        ("use", 3),
        ("use", UP - 1),
    ):
        changed = getattr(honest, column).copy()
        changed[0] = value
        evidence = replace(custodian.evidence[0], proofs=replace(honest, **{column: changed}))
        found = refused(forged(evidence=(evidence,)))
        assert "a proof names a cell or certificate that is not there" in found, (column, value)


def test_proofs_of_other_lengths_are_not_read():
    custodian = suppressed().custodian
    honest = custodian.evidence[0].proofs
    for column in ("table", "row", "certificate", "use", "start"):
        wrong = replace(honest, **{column: getattr(honest, column)[:-1]})
        found = refused(forged(evidence=(replace(custodian.evidence[0], proofs=wrong),)))
        assert "the proofs are not well formed" in found, column


def test_proofs_are_in_whole_numbers():
    custodian = suppressed().custodian
    honest = custodian.evidence[0].proofs
    for column in ("table", "row", "certificate", "use", "start"):
        wrong = replace(honest, **{column: getattr(honest, column).astype(np.float64)})
        found = refused(forged(evidence=(replace(custodian.evidence[0], proofs=wrong),)))
        assert "the proofs are not well formed" in found, column


@pytest.mark.parametrize("decimals", [-1, 41])
def test_units_of_the_evidence_fit_those_of_the_tables(decimals):
    evidence = replace(suppressed().custodian.evidence[0], decimals=decimals)
    assert "the units of the evidence do not fit those of the tables" in refused(forged(evidence=(evidence,)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"insiders": "some"}, "what the method says of insiders is not known to this checker"),
        ({"coalitions": 1}, "what the method says of contributors or sums together is not known to this checker"),
        ({"joint": "yes"}, "what the method says of contributors or sums together is not known to this checker"),
        ({"known_within": float("inf")}, "what the method says everybody knows of a cell is not a percentage"),
        ({"known_within": True}, "what the method says everybody knows of a cell is not a percentage"),
    ],
)
def test_parameters_that_no_checker_knows(change, message):
    evidence = suppressed().custodian.evidence[0]
    assert message in refused(forged(evidence=(replace(evidence, method={**evidence.method, **change}),)))


# ---- what is known from before ------------------------------------------------------------------------------


def before(folder) -> TableCustodian:
    """A release beside a file that already publishes two of its cells."""
    table = magnitude()
    safe = [r for r in range(len(table)) if not table.unsafe[r]][:2]
    lines = [
        "area,kind,value",
        *(",".join([*table.spec_codes(table.codes[r].tolist()), str(int(table.value[r]))]) for r in safe),
    ]
    path = folder / "known.csv"
    path.write_text("\n".join(lines) + "\n")
    return ds.protect(table, ds.Suppress(), already_published=[ds.PublishedCells(str(path))]).custodian


def test_files_that_were_published_are_those_of_their_fingerprint(tmp_path):
    custodian = before(tmp_path)
    assert refused(custodian) == {}
    (known,) = custodian.already.known
    for rows in (known.rows[:-1], np.append(known.rows[:-1], known.rows[-1] + 1)):
        already = replace(custodian.already, known=(replace(known, rows=rows),))
        message = "the cells that a file publishes are not those of its fingerprint"
        assert message in refused(replace(custodian, already=already))


@pytest.mark.parametrize("change", ["beyond", "negative", "fractions", "table"])
def test_known_cells_are_cells_of_the_release(tmp_path, change):
    custodian = before(tmp_path)
    (known,) = custodian.already.known
    size = len(custodian.status[0])
    wrong = {
        "beyond": {"rows": np.array([size])},
        "negative": {"rows": np.array([-1, 2])},
        "fractions": {"rows": known.rows.astype(np.float64)},
        "table": {"table": "other"},
    }[change]
    already = replace(custodian.already, known=(replace(known, **wrong),))
    with pytest.raises(InputError, match="not cells of the release"):
        check_release(replace(custodian, already=already), custodian.public())
