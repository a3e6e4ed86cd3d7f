"""Settings of batch files that a careless reading would make weaker than they are meant."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from discreet.argus.cell_keys import cell_key_record, magnitude_record
from discreet.argus.commands import SafetyRule
from discreet.argus.parse import read_batch
from discreet.argus.rules import TableRules, table_rules
from discreet.argus.translate import translate
from discreet.errors import DiscreetError, ParameterError
from discreet.files.argus.rda import RdaVariable, read_metadata

PLAIN = "Size 1 2\n <RECODEABLE>\nVar2 7 9\n <NUMERIC>\n"
HELD = f"{PLAIN}Firm 20 4\n <HOLDING>\n"


def rules(folder: Path, metadata: str, *given: tuple[str, tuple[float, ...]]) -> list[dict[str, object]]:
    (folder / "m.rda").write_text(metadata)
    command = SafetyRule(1, given)
    found = table_rules(command, read_metadata(folder / "m.rda"), "t", True, "job.arb")
    return [{k: v for k, v in record.items() if k != "tables"} for record in found.records]


FREQ = ("FREQ", (3.0, 30.0))


def test_the_first_frequency_counts_records_and_the_second_holdings(tmp_path: Path) -> None:
    assert rules(tmp_path, HELD, FREQ, ("FREQ", (4.0, 20.0))) == [
        {"kind": "min_frequency", "n": 3, "range": 30, "zeros": True},
        {"kind": "min_contributors", "n": 4, "range": 20, "zeros": True},
    ]


def test_without_holdings_every_frequency_counts_records(tmp_path: Path) -> None:
    """Holdings that the metadata do not name cannot be counted; records can."""
    assert [r["kind"] for r in rules(tmp_path, PLAIN, FREQ)] == ["min_frequency"]
    assert [r["kind"] for r in rules(tmp_path, PLAIN, FREQ, FREQ)] == ["min_frequency", "min_frequency"]


def test_rules_of_zero_keep_their_place_and_ask_for_nothing(tmp_path: Path) -> None:
    found = rules(tmp_path, HELD, ("FREQ", (0.0, 0.0)), FREQ)
    assert found == [{"kind": "min_contributors", "n": 3, "range": 30, "zeros": True}]


ASKED = f"{HELD}Ask 25 1\n <REQUEST> 1 2\nW 27 3\n <WEIGHT>\n"
SMALLEST = 1e-6


@pytest.mark.parametrize(
    ("rule", "record"),
    [
        (("P", (2.5, 2.0)), {"kind": "p_percent", "p": 2.5, "coalition": 2, "level": "record"}),
        (("P", (0.5,)), {"kind": "p_percent", "p": 0.5, "coalition": 1, "level": "record", "below_one": True}),
        (("NK", (3.0, 75.0)), {"kind": "dominance", "n": 3, "k": 75, "level": "record"}),
        (("NK", (3.0, 0.0)), {"kind": "dominance", "n": 3, "k": 0, "level": "record"}),
        (("ZERO", (0.5,)), {"kind": "zero_unsafe", "range": 0.5}),
        (("FREQ", (3.0, 0.0)), {"kind": "min_frequency", "n": 3, "range": SMALLEST, "zeros": True, "below_one": True}),
        (
            ("REQ", (10.0, 0.0, 0.0)),
            {"kind": "request", "p1": 10, "p2": 100, "n": 1, "range": 20, "level": "record"},
        ),
    ],
)
def test_rules_are_written_as_they_are_meant(
    tmp_path: Path, rule: tuple[str, tuple[float, ...]], record: dict[str, object]
) -> None:
    assert rules(tmp_path, ASKED, rule) == [record]


@pytest.mark.parametrize(
    ("metadata", "magnitudes", "given", "said"),
    [
        (HELD, True, [("P", (10.0,))] * 5, "at most 2 for records and 2 for holdings"),
        (HELD, True, [FREQ] * 3, "at most 1 for records and 1 for holdings"),
        (HELD, True, [("NK", (2.5, 75.0))], "a whole number up to"),
        (HELD, True, [("NK", (-0.5, 75.0))], "a whole number up to"),
        (HELD, True, [("FREQ", (1e9 + 1, 30.0))], "a whole number up to"),
        (HELD, False, [("P", (10.0,))], "P for a table of counts"),
        (HELD, False, [("NK", (3.0, 75.0))], "NK for a table of counts"),
        (HELD, True, [("REQ", (10.0, 10.0, 2.0))], "a variable with <REQUEST> in the metadata"),
        (HELD, True, [("WGT", (1.0,))], "a variable with <WEIGHT> in the metadata"),
    ],
)
def test_rules_that_cannot_be_meant_are_refused(
    tmp_path: Path, metadata: str, magnitudes: bool, given: list[tuple[str, tuple[float, ...]]], said: str
) -> None:
    (tmp_path / "m.rda").write_text(metadata)
    with pytest.raises(DiscreetError, match=said):
        table_rules(SafetyRule(1, tuple(given)), read_metadata(tmp_path / "m.rda"), "t", magnitudes, "job.arb")


def test_settings_among_the_rules(tmp_path: Path) -> None:
    (tmp_path / "m.rda").write_text(ASKED)
    metadata = read_metadata(tmp_path / "m.rda")

    def found(*given: tuple[str, tuple[float, ...]]) -> TableRules:
        return table_rules(SafetyRule(1, given), metadata, "t", True, "job.arb")

    assert found(("MAN", (0.0,))).manual_range == SMALLEST
    assert found(("MAN", (30.0,))).manual_range == 30.0
    assert found(("WGT", (1.0,)), ("MIS", (1.0,))).weighted
    assert [found(*pair).least for pair in ([FREQ], [FREQ, ("FREQ", (2.0, 1.0))], [("FREQ", (2.0, 1.0)), FREQ])] == [
        3
    ] * 3


LINKED = """<OPENMICRODATA> "records.asc"
<OPENMETADATA> "records.rda"
<SPECIFYTABLE> "Size"|"Var2"||
<SAFETYRULE> P(10,1){first}
<SPECIFYTABLE> "Region"|"Var2"||
<SAFETYRULE> P(10,1){second}
<READMICRODATA>
<SUPPRESS> MOD(0)
<WRITETABLE> (1,5,,"one.tab")
<WRITETABLE> (2,5,,"two.tab")
"""


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("|MIS(1)", "|MIS(1)", True),
        ("|MIS(1)", "|MIS(0)", False),
        ("|MIS(1)", "", False),
        ("|MAN(30)", "|MAN(30)", True),
        ("|MAN(30)", "|MAN(20)", False),
        ("|MAN(20)", "|MAN(30)", False),
        ("|MIS(1)|MAN(30)", "|MIS(1)|MAN(31)", False),
    ],
)
def test_linked_tables_have_the_same_settings(tmp_path: Path, first: str, second: str, same: bool) -> None:
    (tmp_path / "records.rda").write_text("Size 1 2\n <RECODEABLE>\nRegion 4 2\n <RECODEABLE>\nVar2 7 9\n <NUMERIC>\n")
    (tmp_path / "records.asc").write_text(" 1  2     12.50\n 2 11    200.00\n")
    (tmp_path / "job.arb").write_text(LINKED.format(first=first, second=second))
    batch = read_batch(tmp_path / "job.arb")
    if same:
        assert translate(batch, tmp_path).jobs
    else:
        with pytest.raises(DiscreetError, match="linked tables with different MIS or MAN"):
            translate(batch, tmp_path)


@pytest.mark.parametrize(("extra", "good"), [("0", True), ("0.5", True), ("-0.5", False), ("-1", False), ("x", False)])
def test_the_least_noise_is_at_least_zero(tmp_path: Path, extra: str, good: bool) -> None:
    (tmp_path / "m.rda").write_text("Pay 1 4\n <NUMERIC>\n <CKM> V\n <SCALING> N(0.1)\n")
    metadata = read_metadata(tmp_path / "m.rda")
    if good:
        made = cell_key_record(("a.txt", "", extra), "Pay", metadata, str, [])
        assert made["magnitudes"]["extra"] == float(extra)
    else:
        with pytest.raises(ParameterError, match=re.escape(f"{extra!r} as its least noise")):
            cell_key_record(("a.txt", "", extra), "Pay", metadata, str, [])


@pytest.mark.parametrize(
    ("kind", "scaling", "said"),
    [
        ("T(x)", "N(0.1)", r"<CKM> of Pay is 'T\(x\)'"),
        ("V", "F(0.03,0.3,1000)", r"<SCALING> of Pay is 'F\(0.03,0.3,1000\)'"),
        ("V", "N(a)", r"<SCALING> of Pay is 'N\(a\)'"),
        ("V", "N", "<SCALING> of Pay is 'N'"),
    ],
)
def test_noise_of_a_magnitude_is_described_in_full(kind: str, scaling: str, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        magnitude_record(RdaVariable("Pay", cell_key=(("ckm", kind), ("scaling", scaling))))
