"""A forger of releases of records: edits bytes and meaning of every file, renews the seal, and asks the checker.

What it says of the truth is worked out here, from the files, without the checker: a forgery may pass only where the
public files are as they were and every claim is still true. Run

    python -m tests.attack.forged_records --count 10000

for the full figures.
"""

from __future__ import annotations

import csv
import io
import json
import random
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

import discreet as ds
from tests.attack.forged_blanks import FORGERS_OF_BLANKS, FORGERS_OF_PAIRS
from tests.attack.forged_groups import FORGERS_OF_GROUPS, FORGERS_OF_RANKS
from tests.attack.forged_levels import FORGERS_OF_LEVELS
from tests.attack.forged_moves import FORGERS_OF_NOISE, FORGERS_OF_SWAPS
from tests.attack.forged_randomised import FORGERS_OF_PRAM
from tests.attack.forged_tails import FORGERS_OF_TAILS
from tests.attack.forging import reseal
from tests.attack.record_folders import KEYS, RELEASES, Folder, edit_both, edit_json, read_arrow, read_json, write_arrow
from tests.attack.running import asked

Forger = Callable[[Path, random.Random], bool | None]
"""Edits a folder; whether the checker must refuse it, or nothing where nothing was changed."""


def rarest(folder: Path, keys: tuple[str, ...] = KEYS) -> int:
    """How often the rarest combination of keys occurs in the public file."""
    with (folder / "public" / "records.csv").open(encoding="utf-8", newline="") as stream:
        return min(Counter(tuple(row[key] for key in keys) for row in csv.DictReader(stream)).values())


# ---- meaning ----------------------------------------------------------------------------------------------------


def public_value(folder: Path, draw: random.Random) -> bool | None:
    """One value of the public csv file becomes another one."""
    path = folder / "public" / "records.csv"
    rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))
    i, k = draw.randrange(1, len(rows)), draw.randrange(len(rows[0]))
    other = rows[draw.randrange(1, len(rows))][k] if draw.random() < 0.7 else draw.choice(["", "Ann 3", "0", "x"])
    if other == rows[i][k]:
        return None
    rows[i][k] = other
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8")
    return True


def public_rows(folder: Path, draw: random.Random) -> bool | None:
    """A row of the public csv file goes, comes twice, or changes places with another."""
    path = folder / "public" / "records.csv"
    head, *lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    before, i, j = list(lines), draw.randrange(len(lines)), draw.randrange(len(lines))
    way = draw.randrange(3)
    if way == 0:
        del lines[i]
    elif way == 1:
        lines.insert(j, lines[i])
    else:
        lines[i], lines[j] = lines[j], lines[i]
    if lines == before:
        return None
    path.write_text(head + "".join(lines), encoding="utf-8")
    return True


def public_columns(folder: Path, draw: random.Random) -> bool | None:
    """The public csv file gets a column with the names, or another heading."""
    path = folder / "public" / "records.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    if draw.random() < 0.5:
        names = ["name", *(f"Ann {i}" for i in range(len(lines) - 1))]
        lines = [f"{line},{name}" for line, name in zip(lines, names, strict=True)]
    else:
        names = lines[0].split(",")
        names[draw.randrange(len(names))] = "note"
        lines[0] = ",".join(names)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return True


def public_parquet(folder: Path, draw: random.Random) -> bool | None:
    """The Parquet file gets a value, a column, metadata or a row that it must not have."""
    import pyarrow.parquet as pq

    path = folder / "public" / "records.parquet"
    table = pq.read_table(path)
    way = draw.randrange(4)
    if way == 0:
        table = table.append_column("name", pa.array([f"Ann {i}" for i in range(len(table))]))
    elif way == 1:
        table = table.replace_schema_metadata({"who": "Ann 3 lives in N1"})
    elif way == 2:
        table = pa.concat_tables([table, table.slice(draw.randrange(len(table)), 1)])
    else:
        values = table["sex"].to_pylist()
        i = draw.randrange(len(values))
        values[i] = next(other for other in values if other != values[i])
        table = table.set_column(table.column_names.index("sex"), "sex", pa.array(values))
    pq.write_table(table, path, compression="zstd")
    return True


def extra_file(folder: Path, draw: random.Random) -> bool | None:
    """A file lies in the folder that no release has."""
    place = draw.choice(["public/names.csv", "public/records.txt", "custodian/step_9.arrow", "restricted/a.csv"])
    (folder / place).parent.mkdir(exist_ok=True)
    (folder / place).write_text("Ann 3 lives in N1\n")
    return True


def step_value(folder: Path, draw: random.Random) -> bool | None:
    """A value after a step becomes another one that the column has."""
    path = folder / "custodian" / f"step_{draw.randrange(4)}.arrow"
    table = read_arrow(path)
    name = table.column_names[0]
    values = table[name].to_pylist()
    i, j = draw.randrange(len(values)), draw.randrange(len(values))
    if values[i] == values[j]:
        return None
    values[i] = values[j]
    write_arrow(path, pa.table({name: pa.array(values, table[name].type)}))
    return True


def original_value(folder: Path, draw: random.Random) -> bool | None:
    """A value of the original becomes another one; what a column is recoded from may change within its class."""
    path = folder / "custodian" / "original.arrow"
    table = read_arrow(path)
    name = draw.choice([n for n in table.column_names if n not in ("name", "home")])
    values = table[name].to_pylist()
    i, j = draw.randrange(len(values)), draw.randrange(len(values))
    if values[i] == values[j]:
        return None
    old, new = values[i], values[j]
    values[i] = new
    column = pa.array(values, table[name].type)
    write_arrow(path, table.set_column(table.column_names.index(name), name, column))
    classes = {
        "age": lambda x: x >= 50,
        "region": lambda x: x[0],
        "income": lambda x: min(max(x, 1000), 20000),
    }
    return name not in classes or classes[name](old) != classes[name](new)


def row_order(folder: Path, draw: random.Random) -> bool | None:
    """Two public rows are said to be other original ones."""
    path = folder / "custodian" / "order.arrow"
    rows = read_arrow(path)["row"].to_pylist()
    i, j = draw.sample(range(len(rows)), 2)
    if draw.random() < 0.5:
        rows[i] = rows[j]
    else:
        rows[i], rows[j] = rows[j], rows[i]
    write_arrow(path, pa.table({"row": pa.array(rows, pa.int64())}))
    return True


def rule_number(folder: Path, draw: random.Random) -> bool | None:
    """The rule claims another number, fewer or other keys, or a size."""
    k, keys = draw.randrange(2, 25), draw.sample(KEYS, draw.randrange(1, 4))
    rule = {"kind": "k_anonymity", "k": k, "keys": keys, "missing": "category"}
    if draw.random() < 0.3:
        rule["keys"] = [*keys, draw.choice(["name", "wealth", keys[0]])]

    def edit(description: Any, log: Any) -> None:
        description["rules"] = log["rules"] = [rule]

    edit_both(folder, edit)
    if len(rule["keys"]) != len(keys):
        return True
    return rarest(folder, tuple(keys)) < k


def method_parameter(folder: Path, draw: random.Random) -> bool | None:
    """A step is said to have been another one, in both files and in its claim."""
    number = draw.randrange(4)
    parameter, value = {
        0: ("intervals", draw.choice([[49], [51], [50, 70], [49.5]])),
        1: ("level", draw.choice([0, 2])),
        2: ("top", draw.choice([19_999, 20_001, 10**9])),
        3: ("map", draw.choice([{"m": "man"}, {"m": "man", "f": "man"}, {"m": "woman", "f": "man"}])),
    }[number]

    def edit(description: Any, log: Any) -> None:
        step = description["steps"][number]
        before = json.dumps(step["method"][parameter])
        step["method"][parameter] = log["protect"][number][parameter] = value
        statement = step["claim"]["statement"]
        if parameter == "intervals":
            listed = ", ".join(repr(str(begin)) if isinstance(begin, str) else f"'{begin}'" for begin in value)
            statement = statement.replace("'50'", listed)
        elif parameter == "level":
            statement = statement.replace("level 1", f"level {value}")
        elif parameter == "top":
            tail = step["facts"]["tails"][0]
            now = sum(income > value for income in incomes)
            statement = statement.replace(f"20,000 ({tail['records']} of", f"{value:,} ({now} of")
            statement = statement.replace("became 20,000", f"became {value:,}")
            tail.update(limit=value, value=float(value), records=now)
        elif parameter == "map":
            statement = statement.replace("2 codes have", "1 code has" if len(value) == 1 else "2 codes have")
        step["claim"]["statement"] = statement
        assert before != json.dumps(value)

    incomes = read_arrow(folder / "custodian" / "original.arrow")["income"].to_pylist()
    edit_both(folder, edit)
    if parameter == "intervals" and len(value) == 1:
        return True  # the names of the intervals tell where they begin
    if parameter == "top":
        return any(min(max(x, 1000), 20000) != min(max(x, 1000), value) for x in incomes)
    return True


def description_field(folder: Path, draw: random.Random) -> bool | None:
    """A field of the description becomes something that it must not be."""
    way = draw.randrange(9 if read_json(folder, "records.json")["hierarchies"] else 8)

    def edit(data: Any) -> None:
        if way == 0:
            data["keeps_order"] = True
        elif way == 1:
            data["name"] = "records2"
        elif way == 2:
            data["rows"] += 1
        elif way == 3:
            data["columns"][0]["role"] = ""
        elif way == 4:
            data["steps"].pop()
        elif way == 5:
            data["steps"][0]["claim"]["statement"] = "Nobody can be recognised."
        elif way == 6:
            data["note"] = "Ann 3 lives in N1"
        elif way == 7:
            data["columns"][2]["type"] = "bool"
        else:
            hierarchy = data["hierarchies"][sorted(data["hierarchies"])[0]]
            hierarchy["groupings"] = hierarchy["groupings"][:1]

    edit_json(folder, "records.json", edit)
    return True


def household_split(folder: Path, draw: random.Random) -> bool | None:
    """Somebody is said to live with others."""
    path = folder / "custodian" / "original.arrow"
    table = read_arrow(path)
    homes = table["home"].to_pylist()
    i, j = draw.sample(range(len(homes)), 2)
    if homes[i] == homes[j]:
        return None
    homes[i] = homes[j]
    write_arrow(path, table.set_column(1, "home", pa.array(homes, pa.int64())))
    return True


ANY: tuple[Forger, ...] = (
    public_value,
    public_rows,
    public_columns,
    public_parquet,
    extra_file,
    row_order,
    description_field,
    household_split,
)
"""What can be forged of every release of records."""
FORGERS: dict[str, dict[str, Forger]] = {
    "recode": {f.__name__: f for f in (*ANY, step_value, original_value, rule_number, method_parameter)},
    "tails": {f.__name__: f for f in ANY} | dict(FORGERS_OF_TAILS),
    "swap": {f.__name__: f for f in ANY} | FORGERS_OF_SWAPS,
    "noise": {f.__name__: f for f in ANY} | FORGERS_OF_NOISE,
    "generalise": {f.__name__: f for f in ANY} | FORGERS_OF_LEVELS,
    "pram": {f.__name__: f for f in ANY} | FORGERS_OF_PRAM,
    "blanks": {f.__name__: f for f in ANY} | FORGERS_OF_BLANKS,
    "pairs": dict(FORGERS_OF_PAIRS),
    "groups": FORGERS_OF_GROUPS,
    "ranks": FORGERS_OF_RANKS,
}
"""Forgers of each kind of release."""


# ---- bytes ------------------------------------------------------------------------------------------------------


def changed_bytes(data: bytes, draw: random.Random) -> bytes:
    """One byte changed, added or taken, or the end cut off."""
    at, way = draw.randrange(len(data)), draw.randrange(4)
    if way == 0:
        return data[:at] + bytes([(data[at] + draw.randrange(1, 256)) % 256]) + data[at + 1 :]
    if way == 1:
        return data[:at] + bytes([draw.randrange(256)]) + data[at:]
    return data[:at] + data[at + 1 :] if way == 2 else data[:at]


# ---- the attack -------------------------------------------------------------------------------------------------


def forge_meaning(release: Folder, seed: int) -> str | None:
    """One forgery of meaning, sealed anew; what was wrong about the verdict, or nothing."""
    draw = random.Random(seed)
    forgers = FORGERS[release.kind]
    name = draw.choice(list(forgers))
    try:
        wrong = forgers[name](release.folder, draw)
        if wrong is None:
            return None
        reseal(release.folder)
        holds = ds.check_folder(release.folder).holds
        return f"{release.kind}, seed {seed}: {name} was accepted" if holds and wrong else None
    finally:
        release.restore()


def forge_bytes(release: Folder, seed: int) -> str | None:
    """One change of bytes, of a public file with a new seal, of any file without."""
    draw = random.Random(seed)
    sealed_anew = draw.random() < 0.5
    names = [name for name in release.true if not sealed_anew or name.startswith("public/")]
    name = draw.choice(names)
    data = changed_bytes(release.true[name], draw)
    if data == release.true[name]:
        return None
    try:
        (release.folder / name).write_bytes(data)
        if sealed_anew:
            reseal(release.folder)
        holds = ds.check_folder(release.folder).holds
    except ds.DiscreetError:
        return None  # no release any more, and said so
    finally:
        release.restore()
    return f"{release.kind}, seed {seed}: a change of {name} was accepted" if holds else None


def main() -> int:
    """Forge every kind of release as often as asked, and say what was accepted."""
    given = asked(__doc__, 10_000)
    accepted = []
    for kind in RELEASES:
        with tempfile.TemporaryDirectory() as place:
            release = Folder(Path(place) / "out", kind)
            for seed in range(given.seed, given.seed + given.count):
                for forge in (forge_meaning, forge_bytes):
                    found = forge(release, seed)
                    if found is not None:
                        accepted.append(found)
                        print(found, flush=True)
        print(f"{kind}: {given.count} forgeries of meaning and {given.count} of bytes", flush=True)
    print(f"{len(accepted)} accepted")
    return 1 if accepted else 0


if __name__ == "__main__":
    raise SystemExit(main())
