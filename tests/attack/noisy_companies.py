"""An attacker of multiplicative noise, who has a pencil and the publication; nothing of the package but its doors.

Three attacks on random small surveys:

- *least move*: cells of one company must lie as far from the truth as the claim says, or the release must not verify;
- *second variable*: whoever knows one variable of a company (its staff) divides it out of another (its sales);
- *reader*: all true values that the published one can stand for, tried one by one, against what ``audit`` says.

``python -m tests.attack.noisy_companies --count 3000`` runs all of it.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
import pyarrow as pa

import discreet as ds
from discreet.errors import DiscreetError
from tests.attack.running import tallied

NEVER = ("short", "exact", "wrongly kept by audit")
"""What must not be found, not once."""
KEY_SIZE = 32
NEAR = Fraction(1, 100)
"""Sales that are known to within so much count as known."""


class Survey(NamedTuple):
    """Records by column, and the zone of the factors."""

    columns: dict[str, list[int]]
    areas: int
    kinds: int
    a: str
    b: str
    weighted: bool

    def frame(self) -> pa.Table:
        named = {name: [f"{name}{code}" for code in self.columns[name]] for name in ("area", "kind")}
        return pa.table({**self.columns, **named, "weight": [n / 2 for n in self.columns["halves"]]})

    def by(self) -> dict[str, ds.Hierarchy]:
        return {
            "area": ds.Hierarchy.flat([f"area{i}" for i in range(self.areas)]),
            "kind": ds.Hierarchy.flat([f"kind{i}" for i in range(self.kinds)]),
        }

    def inside(self, area: str, kind: str) -> list[int]:
        """Records of a cell."""
        rows = zip(self.columns["area"], self.columns["kind"], strict=True)
        return [i for i, (x, y) in enumerate(rows) if area in ("Total", f"area{x}") and kind in ("Total", f"kind{y}")]


def survey(rng: np.random.Generator) -> Survey:
    """A small survey: some values tiny, some huge, some zero; few companies a cell."""
    records = int(rng.integers(3, 16))
    size = rng.choice([4, 30, 1000, 10**7])
    a, b = [("1.1", "1.2"), ("1.05", "1.15"), ("1.3", "1.7"), ("1.02", "1.9")][int(rng.integers(4))]
    columns = {
        "id": list(range(records)),
        "company": rng.integers(0, max(records // 2, 2), records).tolist(),
        "area": rng.integers(0, 3, records).tolist(),
        "kind": rng.integers(0, 2, records).tolist(),
        "sales": rng.integers(0, size, records).tolist(),
        "staff": rng.integers(1, 200, records).tolist(),
        "halves": rng.integers(2, 9, records).tolist(),
    }
    return Survey(columns, 3, 2, a, b, bool(rng.random() < 0.3))


def published(case: Survey, values: tuple[str, ...], key: ds.Key, **options: object) -> ds.Release | None:
    """The release; None where the method refuses the survey."""
    data = ds.Microdata(case.frame(), contributor="company", weight="weight" if case.weighted else None)
    specs = [ds.TableSpec(by=case.by(), value=value, name=value) for value in values]
    tables = ds.tabulate(data, specs=specs).assess(ds.PPercent(10))
    try:
        return ds.protect(tables, ds.MultiplicativeNoise("id", float(case.a), float(case.b), **options), key=key)
    except (DiscreetError, TypeError):
        return None


def cells(release: ds.Release, number: int) -> list[tuple[str, str, Fraction]]:
    """Codes and published value of every cell of a table, as a reader sees them."""
    frame = release.public.tables[number].columns()
    return list(zip(frame["area"], frame["kind"], [Fraction(str(v)) for v in frame["value"]], strict=True))


def least_moves(case: Survey, release: ds.Release, value: str, number: int) -> Counter[str]:
    """Cells of one company that lie closer to the truth than the least factor says."""
    found: Counter[str] = Counter()
    share = Fraction(case.a) - 1
    for area, kind, shown in cells(release, number):
        rows = case.inside(area, kind)
        amounts = [case.columns[value][i] for i in rows]
        weights = [Fraction(case.columns["halves"][i], 2) if case.weighted else 1 for i in rows]
        true = sum(x * w for x, w in zip(amounts, weights, strict=True))
        owners = {case.columns["company"][i] for i, amount in zip(rows, amounts, strict=True) if amount}
        if len(owners) != 1:
            continue
        found["cells"] += 1
        found["exact"] += shown == true
        found["short"] += abs(shown - true) < share * sum(amounts)
    return found


def second_variable(case: Survey, release: ds.Release) -> Counter[str]:
    """Cells of one record whose sales follow from its known staff to within a hundredth."""
    found: Counter[str] = Counter()
    sales = {(x, y): shown for x, y, shown in cells(release, 0)}
    for area, kind, shown in cells(release, 1):
        rows = case.inside(area, kind)
        if len(rows) != 1 or case.columns["sales"][rows[0]] < 1000 or shown == 0 or case.weighted:
            continue
        guess = sales[area, kind] * case.columns["staff"][rows[0]] / shown
        true = case.columns["sales"][rows[0]]
        found["pairs"] += 1
        found["computed"] += abs(guess - true) <= NEAR * true
    return found


def readings(case: Survey, shown: int, records: int) -> set[int]:
    """True values of a cell of one company with one or two records that may be published so."""
    low, high = Fraction(case.a) - 1, Fraction(case.b) - 1

    def moves(x: int) -> set[int]:
        return set(range(-((-low * x) // 1), -((-high * x) // 1) + 1)) if x else {0}

    most = int(Fraction(shown + records) / (1 - high)) + 2
    if records == 1:
        return {x for x in range(most + 1) if any(x + s * m == shown for m in moves(x) for s in (1, -1))}
    found = set()
    for x, y in product(range(most + 1), repeat=2):
        if x <= y and x + y <= most and x + y not in found:
            sums = {m + n for m in moves(x) for n in moves(y)}
            if shown - x - y in sums or x + y - shown in sums:
                found.add(x + y)
    return found


def reader(case: Survey, release: ds.Release) -> Counter[str]:
    """Cells of one company that the reader's list leaves short of their level, and what ``audit`` says of them."""
    found: Counter[str] = Counter()
    table = release.custodian.tables.tables[0]
    audit = ds.audit(release).to_frame("pyarrow").to_pydict()
    kept = [name for name, verdict in zip(audit["cell"], audit["verdict"], strict=True) if verdict == "kept"]
    for area, kind, shown in cells(release, 0):
        rows = case.inside(area, kind)
        owners = {case.columns["company"][i] for i in rows}
        row = table.row(area=area, kind=kind)
        if len(owners) != 1 or len(rows) > 2 or shown > 60 or not table.assessment.unsafe[row]:
            continue
        true = sum(case.columns["sales"][i] for i in rows)
        left = readings(case, int(shown), len(rows))
        assert true in left, (case, area, kind, shown)
        short = true - min(left) < table.assessment.lower[row] or max(left) - true < table.assessment.upper[row]
        found["read"] += 1
        found["short for the reader"] += int(short)
        found["wrongly kept by audit"] += int(short and any(name.endswith(table.cell_name(row)) for name in kept))
    return found


def attack(count: int, seed: int = 0) -> Counter[str]:
    """Random surveys, one after the other."""
    found: Counter[str] = Counter()
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        case, key = survey(rng), ds.Key(rng.bytes(KEY_SIZE))
        release = published(case, ("sales", "staff"), key)
        if release is None or not release.verify().holds:
            found["refused"] += 1
            continue
        found["releases"] += 1
        moved = least_moves(case, release, "sales", 0) + least_moves(case, release, "staff", 1)
        found += moved
        found["releases with a short cell"] += moved["short"] > 0
        found += second_variable(case, release)
        apart = published(case, ("sales", "staff"), key, factors="variable")
        if apart is not None and apart.verify().holds:
            found["pairs drawn apart"] += second_variable(case, apart)["pairs"]
            found["computed, drawn apart"] += second_variable(case, apart)["computed"]
        alone = published(case, ("sales",), key)
        if alone is not None and not case.weighted:
            found += reader(case, alone)
    return found


if __name__ == "__main__":
    ended = tallied(__doc__, 3_000, attack, NEVER)
    raise SystemExit(ended)
