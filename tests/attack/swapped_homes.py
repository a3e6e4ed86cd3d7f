"""An attacker of record swapping: integer programs over all populations that may lie behind the published tables.

The reader knows the tables, that homes of one person exchanged areas with homes of the same profile in the same
region, how many homes each area has of each profile (unless the audit leaves that out), and how many pairs moved. For
every cell the least and most that it can have held is found in whole numbers, and compared with what ``audit`` calls
kept. A swap that changed no cell must not pass.

``python -m tests.attack.swapped_homes --count 1000`` runs it.
"""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pyarrow as pa
from scipy.optimize import Bounds, LinearConstraint, milp

import discreet as ds
from discreet.errors import DiscreetError
from tests.attack.running import tallied

NEVER = ("changed no cell and passed", "wrongly kept by audit", "profiles left out though shown")
"""What must not be found, not once."""
AREAS = {"N": ["N1", "N2"], "S": ["S1", "S2", "S3"]}
AREA = ds.Hierarchy.from_nested(AREAS)
JOBS, SEXES = ["a", "b"], ["m", "f"]
BY = {"area": AREA, "job": ds.Hierarchy.flat(JOBS), "sex": ds.Hierarchy.flat(SEXES)}
EVERY = list(product(AREA.base_codes, SEXES, JOBS))


def homes(rng: np.random.Generator) -> pa.Table:
    n = int(rng.integers(4, 25))
    area = rng.choice(AREA.base_codes, n)
    return pa.table(
        {
            "home": np.arange(n),
            "area": area,
            "region": [a[0] for a in area],
            "job": rng.choice(JOBS, n, p=[0.7, 0.3]),
            "sex": rng.choice(SEXES, n),
        }
    )


def published(frame: pa.Table, rate: float, variables: list[list[str]], key: ds.Key) -> ds.Release | None:
    specs = [ds.TableSpec(by={v: BY[v] for v in some}, cells="all", name="_".join(some)) for some in variables]
    method = ds.Swap("area", "home", within="region", profile=["sex"], rate=rate)
    try:
        tables = ds.tabulate(ds.Microdata(frame), specs=specs).assess(ds.MinFrequency(2))
        release = ds.protect(tables, method, key=key)
    except DiscreetError:
        return None
    return release if release.verify().holds else None


def cells_of(release: ds.Release) -> list[tuple[int, dict[str, str], int]]:
    """Table, codes and published count of every cell."""
    found = []
    for number, table in enumerate(release.public.tables):
        columns = table.columns()
        names = [name for name in columns if name in BY]
        for row, value in enumerate(columns["value"]):
            found.append((number, {name: columns[name][row] for name in names}, int(value or 0)))
    return found


def inside(codes: dict[str, str]) -> list[int]:
    """Which kinds of homes (area, sex, job) a cell counts."""
    found = []
    for k, (area, sex, job) in enumerate(EVERY):
        own = {"area": area, "sex": sex, "job": job}
        if all(c == "Total" or c == own[v] or own[v] in AREAS.get(c, ()) for v, c in codes.items()):
            found.append(k)
    return found


class Reader:
    """Homes now (what the tables count), those that came and went, by area, sex and job."""

    def __init__(self, frame: pa.Table, release: ds.Release, pairs: int, knows_profiles: bool) -> None:
        n = len(EVERY)
        rows, ends = [], []

        def equals(terms: dict[int, float], value: float) -> None:
            row = np.zeros(3 * n)
            for at, times in terms.items():
                row[at] += times
            rows.append(row)
            ends.append(value)

        for _, codes, value in cells_of(release):
            equals(dict.fromkeys(inside(codes), 1.0), value)
        area, sex = frame["area"].to_pylist(), frame["sex"].to_pylist()
        for place, which in product(AREA.base_codes, SEXES):
            mine = [k for k, one in enumerate(EVERY) if one[:2] == (place, which)]
            # Profiles are kept: as many homes of each came as went.
            equals({**{n + k: 1.0 for k in mine}, **{2 * n + k: -1.0 for k in mine}}, 0)
            if knows_profiles:
                equals(dict.fromkeys(mine, 1.0), sum((a, s) == (place, which) for a, s in zip(area, sex, strict=True)))
        for region, which, job in product(AREAS, SEXES, JOBS):
            mine = [k for k, one in enumerate(EVERY) if one[0] in AREAS[region] and one[1:] == (which, job)]
            equals({**{n + k: 1.0 for k in mine}, **{2 * n + k: -1.0 for k in mine}}, 0)
        equals({n + k: 1.0 for k in range(n)}, 2 * pairs)
        came = np.zeros((n, 3 * n))
        came[np.arange(n), np.arange(n)], came[np.arange(n), n + np.arange(n)] = 1, -1
        self.fits = [
            LinearConstraint(np.array(rows), ends, ends),
            LinearConstraint(came, np.zeros(n), np.full(n, np.inf)),
        ]
        self.bounds = Bounds(np.zeros(3 * n), np.full(3 * n, float(len(frame))))
        self.n = n

    def ends(self, codes: dict[str, str]) -> tuple[int, int]:
        aim = np.zeros(3 * self.n)
        for k in inside(codes):
            aim[k], aim[self.n + k], aim[2 * self.n + k] = 1, -1, 1
        found = [
            milp(sign * aim, constraints=self.fits, bounds=self.bounds, integrality=np.ones(3 * self.n))
            for sign in (1, -1)
        ]
        assert all(one.status == 0 for one in found), [one.message for one in found]
        return round(found[0].fun), round(-found[1].fun)


def attack(count: int, seed: int = 0) -> Counter[str]:
    """Random populations, one after the other."""
    found: Counter[str] = Counter()
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        frame = homes(rng)
        variables = [["area", "job"], ["area", "sex"], ["area", "sex", "job"]][: int(rng.integers(1, 4))]
        release = published(frame, float(rng.choice([0.05, 0.2, 0.5])), variables, ds.Key(rng.bytes(32)))
        if release is None:
            found["refused"] += 1
            continue
        found["releases"] += 1
        audit = ds.audit(release)
        same = all(
            np.array_equal(table.value, shown)
            for table, shown in zip(release.custodian.tables, release.custodian.published, strict=True)
        )
        found["changed no cell"] += same
        found["changed no cell and passed"] += same and audit.holds
        columns = audit.columns()
        kept = {name for name, verdict in zip(columns["cell"], columns["verdict"], strict=True) if verdict == "kept"}
        # Profiles that the tables do not show are left out by the audit, which must say so.
        left_out = any("households of each profile" in text for text in audit.not_considered)
        found["profiles left out"] += left_out
        shown = any("sex" in some for some in variables)
        found["profiles left out though shown"] += left_out and shown
        reader = Reader(frame, release, release.custodian.evidence[0].facts["moved"] // 2, not left_out)
        for which, codes, _ in cells_of(release):
            table = release.custodian.tables.tables[which]
            row = table.row(**codes)
            if not table.assessment.unsafe[row]:
                continue
            low, high = reader.ends(codes)
            true = int(table.value[row])
            assert low <= true <= high, (number, codes, low, true, high)
            short = true - low < table.assessment.lower[row] or high - true < table.assessment.upper[row]
            found["unsafe cells"] += 1
            found["published as they are"] += int(release.custodian.published[which][row] == true)
            found["short for the reader"] += int(short)
            found["told exactly"] += int(low == high)
            named = any(name.endswith(table.cell_name(row)) for name in kept)
            found["wrongly kept by audit"] += int(short and named)
            found["told exactly, kept by audit"] += int(low == high and named)
    return found


if __name__ == "__main__":
    ended = tallied(__doc__, 1_000, attack, NEVER)
    raise SystemExit(ended)
