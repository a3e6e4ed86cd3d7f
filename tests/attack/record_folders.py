"""Saved releases of records that forgers work on: one of each kind, in every public format."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

import discreet as ds
from discreet.model.custodian import RecordCustodian

K = 3
KEYS = ("age", "sex", "region")
FORMATS = ("csv", "parquet", "sav", "dta", "xlsx", "asc")
ONLY_CSV = ("groups", "ranks")
"""Kinds of releases that are saved in one format only: what is forged of files is forged of the others."""
Records = ds.Release[RecordCustodian]


@cache
def recoded() -> Records:
    """60 records of which four columns are recoded."""
    draw = random.Random(1)
    rows = 60
    table = pa.table(
        {
            "name": [f"Ann {i}" for i in range(rows)],
            "home": [i // 2 for i in range(rows)],
            "age": [draw.randrange(100) for _ in range(rows)],
            "sex": [draw.choice("mf") for _ in range(rows)],
            "region": [draw.choice(["N1", "N2", "S1", "S2"]) for _ in range(rows)],
            "health": [draw.choice(["good", "bad", None]) for _ in range(rows)],
            "income": [round(draw.lognormvariate(9, 1), 2) for _ in range(rows)],
        }
    )
    tree = ds.Hierarchy.from_nested({"north": ["N1", "N2"], "south": ["S1", "S2"]}, total="All")
    data = ds.Microdata(
        table,
        keys=list(KEYS),
        sensitive="health",
        numeric="income",
        household="home",
        identifier="name",
        hierarchies={"region": tree},
        value_labels={"sex": {"m": "male", "f": "female"}},
    )
    steps = [
        ds.Recode("age", intervals=[50]),
        ds.Recode("region", level=1),
        ds.Recode("income", top=20_000, bottom=1_000),
        ds.Recode("sex", map={"m": "man", "f": "woman"}),
    ]
    return ds.protect(data, steps, rules=[ds.KAnonymity(K)])


def households() -> ds.Microdata:
    """Some 80 members of 40 households."""
    draw = random.Random(2)
    rows: dict[str, list[Any]] = {name: [] for name in ("id", "home", "area", "region", "sex", "band", "income", "tax")}
    for home in range(40):
        area, band = draw.choice(["N1", "N2", "S1", "S2"]), draw.choice("ab")
        for _ in range(draw.randrange(1, 4)):
            income = draw.randrange(1, 5000) if draw.random() < 0.8 else 0
            tax = round(draw.uniform(1, 900), 2)
            member = (len(rows["id"]), home, area, area[0], draw.choice("mf"), band, income, tax)
            for name, value in zip(rows, member, strict=True):
                rows[name].append(value)
    return ds.Microdata(pa.table(rows), identifier="id", household="home", numeric=["income", "tax"], strata=["band"])


KEY = ds.Key(bytes(range(32)))


@cache
def swapped() -> Records:
    """Households that exchanged areas."""
    return ds.protect(households(), ds.Swap("area", "home", within="region", profile=["sex"], rate=0.5), key=KEY)


@cache
def multiplied() -> Records:
    """Incomes and taxes with noise."""
    return ds.protect(households(), ds.MultiplicativeNoise("id", 1.1, 1.2), key=KEY)


@cache
def generalised() -> Records:
    """Keys that went up levels of their hierarchies, and a few records without any."""
    draw = random.Random(4)
    ages = [f"{a:02d}" for a in range(60)]
    table = pa.table(
        {
            "home": [i // 2 for i in range(90)],
            "age": [draw.choice(ages) for _ in range(90)],
            "sex": [draw.choice("mf") if i % 40 else "x" for i in range(90)],
            "health": [draw.choice(["good", "fair", "bad"]) for _ in range(90)],
        }
    )
    hierarchies = {"age": ds.Hierarchy.from_digits(ages, [1, 1])}
    data = ds.Microdata(table, keys=["age", "sex"], sensitive="health", household="home", hierarchies=hierarchies)
    return ds.protect(data, ds.Generalise(3, rules=[ds.LDiversity(2)], outliers=0.1), key=KEY)


@cache
def randomised() -> Records:
    """Areas and sexes drawn anew, areas with a matrix for each stratum."""
    sexes = {"m": {"m": 0.75, "f": 0.25}, "f": {"f": 0.8, "m": 0.2}}
    return ds.protect(households(), ds.Pram({"area": "4F(0.7)", "sex": sexes}, publish=["sex"]), key=KEY)


@cache
def coded_tails() -> Records:
    """Incomes and taxes of which the tops became their means, in both columns at once."""
    return ds.protect(
        households(), ds.Recode(["income", "tax"], top_quantile=0.8, coded_as="mean", together=True), key=KEY
    )


def neighbours() -> ds.Microdata:
    """60 people in pairs; some do not say where they live."""
    draw = random.Random(3)
    rows = 60
    table = pa.table(
        {
            "name": [f"Ann {i}" for i in range(rows)],
            "home": [i // 2 for i in range(rows)],
            "age": [draw.randrange(30, 34) for _ in range(rows)],
            "sex": [draw.choice("mf") for _ in range(rows)],
            "region": [draw.choice(["N", "N", "S", "W", None]) for _ in range(rows)],
            "health": [draw.choice(["good", "bad", None]) for _ in range(rows)],
            "income": [draw.randrange(1, 5000) for _ in range(rows)],
        }
    )
    roles = {"sensitive": "health", "numeric": "income", "household": "home", "identifier": "name"}
    return ds.Microdata(table, keys=list(KEYS), **roles)


@cache
def blanked() -> Records:
    """Fields are empty so that all keys together occur three times."""
    return ds.protect(neighbours(), ds.LocalSuppress(K, importance={"sex": 2.0}), key=KEY)


@cache
def blanked_pairs() -> Records:
    """Fields are empty so that any two keys together occur three times."""
    return ds.protect(neighbours(), ds.LocalSuppress(K, size=2), key=KEY)


@cache
def averaged() -> Records:
    """Incomes and taxes that became the means of groups within bands."""
    return ds.protect(households(), ds.Microaggregate(["income", "tax"], K), key=KEY)


@cache
def exchanged() -> Records:
    """Incomes and taxes that went to records with ranks nearby, within bands."""
    return ds.protect(households(), ds.RankSwap(["income", "tax"], 0.2), key=KEY)


RELEASES: dict[str, Callable[[], Records]] = {
    "recode": recoded,
    "swap": swapped,
    "noise": multiplied,
    "generalise": generalised,
    "pram": randomised,
    "tails": coded_tails,
    "blanks": blanked,
    "pairs": blanked_pairs,
    "groups": averaged,
    "ranks": exchanged,
}
"""True releases by their kind."""


# ---- files ------------------------------------------------------------------------------------------------------


def read_arrow(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as source:
        return pa.ipc.open_file(source).read_all()


def write_arrow(path: Path, table: pa.Table) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def read_json(folder: Path, name: str) -> Any:
    return json.loads((folder / "custodian" / name).read_text(encoding="utf-8"))


def write_json(folder: Path, name: str, data: Any) -> None:
    text = json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    (folder / "custodian" / name).write_text(text, encoding="utf-8")


def edit_json(folder: Path, name: str, edit: Callable[[Any], None]) -> None:
    data = read_json(folder, name)
    edit(data)
    write_json(folder, name, data)


def edit_both(folder: Path, edit: Callable[[Any, Any], None]) -> None:
    """Edit records.json and log.json so that they still say the same."""
    description, log = (read_json(folder, name) for name in ("records.json", "log.json"))
    edit(description, log)
    write_json(folder, "records.json", description)
    write_json(folder, "log.json", log)


def formats_of(kind: str) -> tuple[str, ...]:
    """The public formats of a kind of release."""
    return ("csv",) if kind in ONLY_CSV else FORMATS


class Folder:
    """A true release that is forged again and again."""

    def __init__(self, folder: Path, kind: str = "recode") -> None:
        self.folder, self.kind = folder, kind
        RELEASES[kind]().save(folder, formats=list(formats_of(kind)))
        self.true = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        assert ds.check_folder(folder).holds

    def restore(self) -> None:
        for path in self.folder.rglob("*"):
            if path.is_file() and path.relative_to(self.folder).as_posix() not in self.true:
                path.unlink()
        if (self.folder / "restricted").is_dir():
            (self.folder / "restricted").rmdir()
        for name, data in self.true.items():
            path = self.folder / name
            if not path.is_file() or path.read_bytes() != data:
                path.write_bytes(data)
                path.chmod(0o644 if name.startswith("public/") else 0o600)
