"""Records of fixed and free format."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.files.argus.rda import ArgusMetadata, RdaVariable, read_metadata
from discreet.files.argus.records import read_argus_records, request_codes, write_argus_records

RDA = "Size 1 2 99\n <RECODEABLE>\nVar2 4 8\n <NUMERIC>\n <DECIMALS> 2\nRequest 13 1\n <REQUEST> 1 2\n"
FREE = '<SEPARATOR> ";"\nSize 2 99\n <RECODEABLE>\nVar2 8\n <NUMERIC>\n'


def metadata_of(tmp_path: Path, text: str) -> ArgusMetadata:
    path = tmp_path / "meta.rda"
    path.write_text(text)
    return read_metadata(path)


def read(tmp_path: Path, rda: str, records: str | bytes, notes: list[str] | None = None) -> dict[str, list[object]]:
    path = tmp_path / "data.asc"
    path.write_bytes(records.encode() if isinstance(records, str) else records)
    result: dict[str, list[object]] = read_argus_records(path, metadata_of(tmp_path, rda), notes=notes).to_pydict()
    return result


def test_leading_blanks_of_codes_stay_and_trailing_ones_go(tmp_path: Path) -> None:
    found = read(tmp_path, RDA, " 1     12.5 1\n1      12.5 2\n10      1e3\n")
    assert found["Size"] == [" 1", "1", "10"]
    assert found["Var2"] == [12.5, 12.5, 1000.0]


def test_a_decimal_comma_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    assert read(tmp_path, RDA, " 1     12,5 1\r\n 2     13,5 1\r\n")["Var2"] == [12.5, 13.5]


def test_numbers_that_floats_cannot_hold_stay_exact(tmp_path: Path) -> None:
    rda = "Size 1 1\n<RECODEABLE>\nV 3 18\n<NUMERIC>\n"
    assert read(tmp_path, rda, "a 999999999999999.01\nb               0.02\n")["V"][0] == Decimal("999999999999999.01")
    assert read(tmp_path, rda, "a 123456789012345678\n")["V"] == [123456789012345678]


def test_positions_count_characters_in_utf_8_and_in_latin_1(tmp_path: Path) -> None:
    rda = "Name 1 3\n<RECODEABLE>\nV 4 2\n<NUMERIC>\n"
    notes: list[str] = []
    for content in ("éà 12\nzzž 3\n".encode(), "éà 12\nzz  3\n".encode("latin-1"), "中文 12\na   3\n".encode()):
        assert read(tmp_path, rda, content, notes)["V"] == [12, 3]
    assert notes == ["data.asc is not UTF-8 (line 1) and was read as Latin-1."]


def test_free_format_takes_quotes_and_ignores_empty_lines(tmp_path: Path) -> None:
    found = read(tmp_path, FREE, '" 1";12,5\n\n"a;b";3\n')
    assert found == {"Size": [" 1", "a;b"], "Var2": [12.5, 3.0]}


def test_request_codes_become_parameter_sets(tmp_path: Path) -> None:
    path = tmp_path / "data.asc"
    path.write_text(" 1     12.5 1\n 1     12.5 2\n 1     12.5 0\n")
    table = read_argus_records(path, metadata_of(tmp_path, RDA))
    assert request_codes(table["Request"].combine_chunks(), ("1", "2")).to_pylist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("rda", "records", "message"),
    [
        (
            RDA,
            " 1     12.5 1\n 2      x.5 1\n",
            "data.asc, line 2: what stands in 'Var2' cannot be read; expected a number",
        ),
        (RDA, " 1     12.5 1\n 2\n", "data.asc, line 2: found 'a record of 2 characters'; expected at least 11, which"),
        (
            RDA,
            " 1     12.5 1\n 2          1\n",
            "data.asc, line 2: what stands in 'Var2' cannot be read; expected a number",
        ),
        (RDA, "1" * 40_000, "data.asc, line 1: found '40,000 characters'; expected at most 32,000 in a record."),
        (FREE, "a;1\n\nb\n", "data.asc, line 3: found '1 field'; expected 2 fields separated by ';'"),
        (FREE, "a;1\n\nb;x\n", "data.asc, line 3: what stands in 'Var2' cannot be read; expected a number"),
        (FREE, "a;1\n" + "b" * 40_000 + ";2\n", "data.asc, line 2: found '40,003 bytes'; expected at most 32,000"),
        (FREE, "a;1e99\n", "data.asc, line 1: what stands in 'Var2' cannot be read; expected a number below 10^18"),
        (
            "A 1 1\n<RECODEABLE>\nV 2 3 999\n<NUMERIC>\n",
            "a 12\nb999\n",
            "data.asc, line 2: what stands in 'V' cannot be read; expected a number that is not its missing code.",
        ),
    ],
)
def test_bad_records_name_file_and_line_and_no_value(tmp_path: Path, rda: str, records: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, rda, records)
    assert caught.value.message.startswith(message)


code = st.text("aB1 é中", min_size=1, max_size=4).map(str.rstrip).filter(bool)
number = st.integers(-(10**8), 10**9).map(lambda n: Decimal(n).scaleb(-2))


@given(st.lists(st.tuples(code, code, number), min_size=1, max_size=20), st.sampled_from(["", ";", ",", "\t"]))
@settings(max_examples=80, deadline=None)
def test_records_survive_the_round_trip(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, Decimal]], separator: str
) -> None:
    starts = (1, 6, 11) if not separator else (0, 0, 0)
    one, two, amount = (
        RdaVariable("one", starts[0], 4, recodeable=True),
        RdaVariable("two", starts[1], 4, recodeable=True),
        RdaVariable("amount", starts[2], 14, numeric=True),
    )
    metadata = ArgusMetadata((one, two, amount), separator=separator)
    columns = {name: [row[k] for row in rows] for k, name in enumerate(("one", "two", "amount"))}
    path = tmp_path_factory.mktemp("asc") / "data.asc"
    write_argus_records(columns, metadata, path)
    found = read_argus_records(path, metadata).to_pydict()
    assert found["one"] == columns["one"]
    assert found["two"] == columns["two"]
    assert [Decimal(str(x)) for x in found["amount"]] == columns["amount"]
