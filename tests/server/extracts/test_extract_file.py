"""The file that extracts are taken from, and extracts of it: acceptance checks of card 003-31 about data."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import DiscreetError, InputError, ParameterError, ProtectionError
from discreet.keys import Key
from discreet.server.denied import Denied
from discreet.server.extracts.file import ExtractFile, open_file
from discreet.server.extracts.serials import households_of
from discreet.server.extracts.taking import estimate
from discreet.server.extracts.tracing import by_marks, by_serials
from tests.server.extracts.made import KEY, PLAN, RATE, build, census, packed, rows_of, wanted


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("extracts")


@pytest.fixture(scope="module")
def source(folder: Path) -> pa.Table:
    return census(folder)


@pytest.fixture(scope="module")
def file(folder: Path, source: pa.Table) -> ExtractFile:
    return build(folder)


def kept(file: ExtractFile) -> list[dict[str, Any]]:
    """Rows of the file with their codes, read by hand."""
    rows = pq.read_table(file.folder / "records.parquet").to_pylist()
    book = json.loads((file.folder / "codebook.json").read_bytes())
    lists = {one["name"]: one["values"] for one in book["variables"] if one["values"] is not None}
    for row in rows:
        for name, values in lists.items():
            row[name] = None if row[name] < 0 else values[row[name]]
    return rows


def households(rows: list[dict[str, Any]], key: str = "_household") -> dict[Any, list[dict[str, Any]]]:
    found: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found


def test_households_are_whole_and_weights_add_up(file: ExtractFile, source: pa.Table, tmp_path: Path) -> None:
    """Check 1, end to end."""
    sizes = Counter(Counter(source["household"].to_pylist()).values())
    drawn = Counter(len(members) for members in households(kept(file)).values())
    for size, count in drawn.items():
        assert count <= sizes[size]
    every = len(set(source["household"].to_pylist()))
    assert abs(sum(drawn.values()) / 0.25 - every) <= 4
    rows = rows_of(tmp_path, file, wanted(file, "age"))
    assert sum(float(row["weight"]) for row in rows) == pytest.approx(len(source), rel=0.05)


def test_no_area_is_smaller_than_the_threshold(file: ExtractFile, source: pa.Table) -> None:
    """Check 3: populations counted here from the whole census, also of both levels and strata together."""
    merged = {
        name: {
            part: code for code, words in about.names.items() if code.startswith("merged-") for part in _parts(words)
        }
        for name, about in file.variables.items()
        if name in ("region", "district", "birth")
    }
    counts: dict[str, Counter[Any]] = {}
    for name, new in merged.items():
        codes = source[name].cast(pa.string()).to_pylist()
        counts[name] = Counter(new.get(code, code) for code in codes)
    shown = kept(file)
    for name, population in counts.items():
        released = {row[name] for row in shown}
        assert released <= set(population)
        assert min(population[code] for code in released) >= 2_000
    assert all(len({row["region"] for row in shown if row["district"] == code}) == 1 for code in counts["district"])
    strata = Counter(row["_stratum"] for row in shown)
    assert min(strata.values()) / 0.25 >= 2_000 * 0.95
    assert len(strata) > len({row["district"] for row in shown}) - 1


def _parts(words: str) -> list[str]:
    return words.removeprefix("together: ").split(", ")


def test_with_all_areas_suppressed_none_remains(folder: Path, source: pa.Table) -> None:
    """Check 3, second half: not in columns, and not in strata."""
    file = build(folder, {"threshold = 2000": "suppress = true"}, "suppressed")
    assert not {"region", "district", "area"} & set(file.variables)
    assert {row["_stratum"] for row in kept(file)} == {1}


def rank_correlation(one: list[int], other: list[int]) -> float:
    ranks = [np.argsort(np.argsort(column)) for column in (one, other)]
    return float(np.corrcoef(*ranks)[0, 1])


@pytest.mark.parametrize("key", [KEY, Key(bytes(range(2, 34))), Key(bytes(range(3, 35)))], ids=["1", "2", "3"])
def test_order_tells_nothing_of_the_source(key: Key, source: pa.Table, tmp_path: Path) -> None:
    """Check 4: of all households, in the file and in an extract, rank correlation with the source below 3/sqrt(n).

    Incomes are places in the source here, so that every row says where it was. Households are what is shuffled, and n
    is their number: members of one stand together in the source and in what is made of it.
    """
    places = source.set_column(
        source.column_names.index("income"), "income", pa.array(np.arange(len(source), dtype=np.int64))
    )
    pq.write_table(places, tmp_path / "records.parquet")
    file = build(tmp_path, {"top = 60000": f"top = {len(source)}"}, "places", key=key)
    before = sorted(row["income"] for row in kept(file))
    assert len(set(before)) == len(before) > 4_000  # the order of the source itself would be 1
    rows = rows_of(tmp_path, file, wanted(file, "income"), key=key)
    for sequence, household in ((kept(file), "_household"), (rows, "serial")):
        first: dict[int, int] = {}
        for row in sequence:
            first.setdefault(int(row[household]), int(row["income"]))
        limit = 3 / np.sqrt(len(first))
        assert len(first) > 1_500
        assert abs(rank_correlation(list(range(len(first))), list(first.values()))) < limit
        assert abs(rank_correlation(list(first), list(first.values()))) < limit


def test_the_exchange_keeps_households_per_area_and_its_rate_is_nowhere(
    file: ExtractFile, folder: Path, source: pa.Table, tmp_path: Path
) -> None:
    """Check 5: in no byte of the folder of the file, nor of an extract; households per unit as without swapping."""
    plain = build(folder, {f"[swap]\nrate = {RATE}\n": ""}, "plain")
    per_unit = [Counter(members[0]["district"] for members in households(kept(one)).values()) for one in (file, plain)]
    assert per_unit[0] == per_unit[1]
    moved = sum(row["district"] != other["district"] for row, other in zip(kept(file), kept(plain), strict=True))
    assert moved > 100
    out = packed(tmp_path, file, wanted(file, "age", "district", strata=True))
    for path in [*file.folder.iterdir(), *out.iterdir()]:
        content = path.read_bytes()
        for form in (str(RATE), f"{RATE:.2%}", f"{RATE:.3%}", "12.3"):
            assert form.encode() not in content or path.suffix in (".parquet", ".csv")
    assert str(RATE) in PLAN


def test_strata_do_not_show_who_was_exchanged(file: ExtractFile) -> None:
    """A household in an area of which nobody else of its stratum is would be one that moved."""
    areas: dict[int, set[str]] = {}
    for row in kept(file):
        areas.setdefault(row["_stratum"], set()).add(row["district"])
    assert all(len(found) == 1 for found in areas.values())


def test_two_extracts_agree_on_everybody(file: ExtractFile, tmp_path: Path) -> None:
    """Check 6: joined by the secret key, common variables are equal, and nothing is drawn anew."""
    names = ("age", "sex", "income")
    found = []
    for number, principal, more in ((1, 7, "district"), (2, 7, "education"), (3, 8, "marital")):
        rows = rows_of(tmp_path, file, wanted(file, *names, more), number, principal)
        serial = np.array([int(row["serial"]) for row in rows])
        homes = households_of(KEY, f"sample/1990.1/{number}", serial)
        found.append({(home, row["person"]): row for home, row in zip(homes.tolist(), rows, strict=True)})
    for one, other in ((0, 1), (0, 2)):
        common = set(found[one]) & set(found[other])
        assert len(common) > 4_000
        assert all(found[one][who][name] == found[other][who][name] for who in common for name in names)
    assert set(found[0]) == set(found[1])  # one user has the same households in all extracts


def test_extracts_cannot_be_laid_side_by_side(file: ExtractFile, tmp_path: Path) -> None:
    """An attacker with two extracts: serials never meet, and neither do places of rows."""
    first = rows_of(tmp_path, file, wanted(file, "age", "income"), 1)
    second = rows_of(tmp_path, file, wanted(file, "age", "income"), 2)
    serials = [{row["serial"] for row in rows} for rows in (first, second)]
    assert len(serials[0] & serials[1]) == 0
    same = sum(
        one["age"] == other["age"] and one["income"] == other["income"]
        for one, other in zip(first, second, strict=True)
    )
    chance = sum(count**2 for count in Counter((row["age"], row["income"]) for row in first).values()) / len(first)
    assert same < 3 * chance
    ranks = [np.argsort(np.argsort([int(row["serial"]) for row in rows])) for rows in (first, second)]
    assert abs(np.corrcoef(ranks[0], ranks[1])[0, 1]) < 5 / np.sqrt(len(first))


def test_a_leak_of_1000_rows_tells_whose_it_is(file: ExtractFile, tmp_path: Path) -> None:
    """Check 9: by serials; and by what the leak lacks where serials, order and all columns but some are gone."""
    rows = rows_of(tmp_path, file, wanted(file, "age", "sex", "income", "district", "education"), 5, 42)
    draw = np.random.default_rng(1)
    leak = [rows[place] for place in draw.choice(len(rows), 1_000, replace=False)]
    extracts = {number: 40 + number % 5 for number in range(1, 40)} | {5: 42}
    found = by_serials(file, KEY, np.array([int(row["serial"]) for row in leak]), extracts)
    assert (found[0].extract, found[0].principal, found[0].share) == (5, 42, 1.0)
    assert found[1].fitting < 3
    names = ["age", "sex", "income", "district", "education"]
    table = pa.table({name: [row[name] for row in sorted(leak, key=lambda row: row["income"])] for name in names})
    suspects = by_marks(file, KEY, table, range(1, 60))
    assert suspects[0].principal == 42
    assert suspects[0].fitting == suspects[0].rows > 500
    assert suspects[1].fitting < suspects[1].rows
    with pytest.raises(InputError, match="no variable"):
        by_marks(file, KEY, pa.table({"x": ["1"]}), [1])


def test_a_top_code_bounds_every_extract(file: ExtractFile, source: pa.Table, tmp_path: Path) -> None:
    """Check 10."""
    assert max(source["age"].to_pylist()) > 85
    assert max(source["income"].to_pylist()) > 60_000
    for number, where in enumerate(([], ["age >= 80"], ["income > 50000"]), 1):
        rows = rows_of(tmp_path, file, wanted(file, "age", "income", where=where), number)
        assert max(int(row["age"]) for row in rows) <= 85
        assert max(int(row["income"]) for row in rows) <= 60_000


def test_no_name_of_anybody_and_no_household_number_leaves(file: ExtractFile, source: pa.Table, tmp_path: Path) -> None:
    rows = rows_of(tmp_path, file, wanted(file, "age"))
    assert not {"person", "household", "record_key", "area"} & set(file.variables)
    old = set(source["household"].to_pylist())
    assert not old & {int(row["serial"]) for row in rows}
    assert {row["person"] for row in rows} <= {str(number) for number in range(1, 8)}


def test_cases_and_shares_choose_and_the_estimate_is_an_upper_bound(file: ExtractFile, tmp_path: Path) -> None:
    every = kept(file)
    young = wanted(file, "age", "sex", where=["age < 10", "sex == 'F'"])
    size = estimate(file, young)
    assert size.rows == sum(row["age"] < 10 and row["sex"] == "F" for row in every)
    rows = rows_of(tmp_path, file, young, 1)
    assert {(int(row["age"]) < 10, row["sex"]) for row in rows} == {(True, "F")}
    assert 0.9 * size.rows < len(rows) <= size.rows
    together = rows_of(tmp_path, file, wanted(file, "age", "sex", where=["age < 10"], households=True), 2)
    for members in households(together, "serial").values():
        assert min(int(row["age"]) for row in members) < 10
    assert max(int(row["age"]) for row in together) > 20
    half = rows_of(tmp_path, file, wanted(file, "age", share=0.5), 3)
    assert sum(float(row["weight"]) for row in half) == pytest.approx(20_000, rel=0.07)


def test_a_plan_with_a_limit_for_records_that_are_alone(folder: Path, source: pa.Table, tmp_path: Path) -> None:
    file = build(folder, {"most_rows = 100000": "most_rows = 100000\nmost_unique = 0.02"}, "unique")
    assert estimate(file, wanted(file, "age", "sex", "marital", "district", "birth")).unique > 0.02
    with pytest.raises(Denied, match="alone with their keys"):
        rows_of(tmp_path, file, wanted(file, "age", "sex", "marital", "district", "birth"))
    assert rows_of(tmp_path, file, wanted(file, "sex", "income"), 2)


def test_too_many_rows_and_none_are_refused(folder: Path, source: pa.Table, tmp_path: Path) -> None:
    file = build(folder, {"most_rows = 100000": "most_rows = 100"}, "few")
    with pytest.raises(Denied, match="larger than the licence"):
        rows_of(tmp_path, file, wanted(file, "age"))
    with pytest.raises(Denied, match="No record"):
        rows_of(tmp_path, file, wanted(file, "age", where=["age > 200"]), 2)


def test_syntax_codebook_and_parquet_come_along(file: ExtractFile, tmp_path: Path) -> None:
    out = packed(tmp_path, file, wanted(file, "sex", "age", "district", strata=True))
    assert {path.name for path in out.iterdir()} == {
        *("data.csv", "codebook.txt", "definition.json", "licence.txt", "citation.txt", "manifest.json"),
        *("manifest.sig", "read.sps", "read.do", "read.sas", "read.R"),
    }
    for name in ("read.sps", "read.sas", "read.R"):
        text = (out / name).read_text()
        assert "Women" in text
        assert '""quoted' not in text
        assert "stratum" in text
    book = (out / "codebook.txt").read_text()
    assert "at least 2,000 persons" in book
    assert "recoded: top 85" in book
    other = packed(tmp_path, file, wanted(file, "sex", "age", file="parquet"), 2)
    table = pq.read_table(other / "data.parquet")
    assert table.column_names == ["serial", "person", "weight", "sex", "age"]
    assert set(table["sex"].to_pylist()) == {"F", "M"}


def test_a_changed_file_another_key_and_a_changed_folder_are_refused(
    file: ExtractFile, folder: Path, source: pa.Table, tmp_path: Path
) -> None:
    with pytest.raises(ProtectionError, match="not the key"):
        rows_of(tmp_path, file, wanted(file, "age"), key=Key(bytes(32)))
    other = build(folder, name="changed")
    path = other.folder / "records.parquet"
    path.chmod(0o600)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="has been changed"):
        rows_of(tmp_path, other, wanted(other, "age"), 2)
    with pytest.raises(InputError, match="has been changed"):
        open_file(other.folder, hashes=True)
    book = other.folder / "codebook.json"
    book.chmod(0o600)
    book.write_bytes(book.read_bytes().replace(b"2000", b"2001"))
    with pytest.raises(InputError, match=r"codebook.json .* has been changed"):
        open_file(other.folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"year = 1990": "year = 2024"}, "younger than 10 years"),
        ({"density = 0.25": "density = 0"}, "no share"),
        ({'levels = ["region", "district", "area"]': "levels = []"}, "names no level"),
        ({"age = { label": "person = { label"}, "names somebody|cannot be the name"),
        ({"age = { label": "serial = { label"}, "cannot be the name"),
        ({'household = "household"\n': ""}, "names no household"),
        (
            {'method = "recode"\ncolumn = "age"\ntop = 85': 'method = "microaggregate"\ncolumns = ["income"]\nk = 3'},
            "not used for extracts",
        ),
        ({"threshold = 2000": "threshold = 0"}, "at least 1"),
        ({"[swap]": "[swop]"}, "swop"),
        ({"marital = {}": "with = {}"}, "cannot be the name"),
        ({"marital = {}": '"marital-status" = {}'}, "cannot be the name"),
        ({"marital = {}": "AGE = {}"}, "capitals"),
    ],
)
def test_bad_plans_are_refused(folder: Path, source: pa.Table, change: dict[str, str], words: str) -> None:
    with pytest.raises((ParameterError, InputError), match=words):
        build(folder, change, "bad")
    assert not (folder / "bad").exists()


def test_a_seed_is_no_key_and_an_edition_never_changes(folder: Path, source: pa.Table, file: ExtractFile) -> None:
    with pytest.raises(ParameterError, match="guess"):
        build(folder, name="seeded", key=Key.from_seed(1))
    with pytest.raises(DiscreetError, match="never changes"):
        build(folder)


def test_an_edition_with_another_threshold_shows_the_same_exchange(
    file: ExtractFile, folder: Path, source: pa.Table
) -> None:
    """Two exchanges of the same households would give each other away: who differs between editions was moved."""
    other = build(folder, {"threshold = 2000": "threshold = 4000", "1990.1": "1990.2"}, "later")
    pairs = Counter((one["district"], two["district"]) for one, two in zip(kept(file), kept(other), strict=True))
    merged = dict(pairs.keys())
    assert len(merged) == len(pairs)  # every area of the one edition became one area of the other
    assert len(set(merged.values())) < len(merged)


def test_two_keys_for_the_same_records_are_refused(
    file: ExtractFile, folder: Path, source: pa.Table, store: Any
) -> None:
    from discreet.server.serving import register_file
    from discreet.server.store.failures import StoreConflict

    register_file(store, file)
    register_file(store, file)
    other = build(folder, {"1990.1": "1990.3"}, f"another-{store.engine.dialect.name}", key=Key(bytes(range(5, 37))))
    with pytest.raises(StoreConflict, match="another key"):
        register_file(store, other)


def test_exact_counts_are_not_told(file: ExtractFile) -> None:
    """With exact counts of chosen cases, a user would find the households that mark their extracts, and add them."""
    sizes = [estimate(file, wanted(file, "age", where=[f"income > {limit}"])) for limit in range(10_000, 20_000, 100)]
    assert len({one.about for one in sizes}) < len({one.rows for one in sizes}) / 3
