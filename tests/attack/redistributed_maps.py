"""Attackers of maps without small places: integer programs, remainders, and whoever repeats the method.

- *counts*: of every place, shown or not, the least and most in whole numbers that fit the published map, the threshold
  and the true totals of areas that are published beside it; against the claim and against ``audit``;
- *magnitudes*: totals of areas, and their differences, less what the map shows, against sensitive values; places that
  break a rule before or after the repair;
- *repeating*: a reader who runs the method on every map that may lie behind, which the claim admits it leaves out.

``python -m tests.attack.redistributed_maps --count 2000`` runs all of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import NamedTuple, TypedDict

import numpy as np
import pyarrow as pa
from scipy.optimize import Bounds, LinearConstraint, milp

import discreet as ds
from discreet.errors import DiscreetError
from tests.attack.running import tallied

NEVER = (
    "maps that tell",
    "value maps that tell",
    "wrongly kept by audit",
    "places that break a rule",
    "sensitive places shown as they are",
)
"""What must not be found, not once."""
THRESHOLD = 3


class MapLimits(TypedDict, total=False):
    """Rules of a map of magnitudes besides the threshold."""

    max_share: float
    p: float
    dominance: tuple[int, float]


class Map(NamedTuple):
    """Places with their neighbours and what they hold: for each place the values of its contributors."""

    codes: list[str]
    pairs: list[tuple[str, str]]
    held: list[dict[str, int]]
    areas: dict[str, list[str]]
    hexagons: bool

    def frame(self) -> pa.Table:
        rows = [(c, who, v) for c, inside in zip(self.codes, self.held, strict=True) for who, v in inside.items()]
        place, who, value = zip(*rows, strict=True)
        frame = pa.table({"place": list(place), "firm": list(who), "sales": list(value)})
        if not self.hexagons:
            return frame
        at = [tuple(int(n) for n in code[1:].split(":")) for code in place]
        x, y = [q + r / 2 for q, r in at], [r * 3**0.5 / 2 for _, r in at]
        return frame.drop_columns(["place"]).append_column("x", pa.array(x)).append_column("y", pa.array(y))

    def where(self) -> ds.HexGrid | ds.Adjacency:
        return ds.HexGrid("x", "y", 1.0) if self.hexagons else ds.Adjacency(self.codes, self.pairs)


def random_map(rng: np.random.Generator) -> Map:
    """A small grid, mostly sparse, with areas that may overlap."""
    high, wide = int(rng.integers(1, 4)), int(rng.integers(2, 7))
    hexagons = bool(rng.random() < 0.4)
    at = {(r, c): f"h{c}:{r}" if hexagons else f"p{r}{c}" for r in range(high) for c in range(wide)}
    pairs = [(at[r, c], at[r + 1, c]) for r in range(high - 1) for c in range(wide)]
    pairs += [(at[r, c], at[r, c + 1]) for r in range(high) for c in range(wide - 1)]
    size = int(rng.choice([20, 1000]))
    held, number = [], 0
    for _ in at:
        many = int(rng.choice([0, 1, 2, 3, 5, 8], p=[0.4, 0.15, 0.1, 0.1, 0.15, 0.1]))
        held.append({f"f{number + i}": int(v) for i, v in enumerate(1 + rng.integers(0, size, many) ** 2 // size)})
        number += many
    codes = list(at.values())
    if hexagons:  # only hexagons that somebody is in have a code
        codes = [code for code, inside in zip(codes, held, strict=True) if inside]
        held = [inside for inside in held if inside]
    if rng.random() < 0.5:
        label = rng.integers(0, 2 + len(codes) // 4, len(codes))
        areas = {f"a{k}": [c for c, m in zip(codes, label, strict=True) if m == k] for k in set(label.tolist())}
    else:
        chosen = [[c for c in codes if rng.random() < 0.5] for _ in range(int(rng.integers(1, 3)))]
        areas = {f"a{k}": some for k, some in enumerate(chosen) if some}
    return Map(codes, pairs, held, areas, hexagons)


def published(case: Map, value: str | None, **options: object) -> ds.Release | None:
    """The release of a map that verifies; None where it is refused."""
    where = case.where()
    rules = [ds.MinFrequency(THRESHOLD)] if value is None else [ds.MinContributors(THRESHOLD)]
    try:
        table = ds.tabulate(case.frame(), by={"place": where}, value=value, contributor="firm").assess(*rules)
        release = ds.protect(table, ds.Redistribute(THRESHOLD, areas=case.areas, **options))
    except (DiscreetError, ValueError):
        return None
    return release if release.verify().holds else None


def shown_places(case: Map, release: ds.Release) -> dict[str, int]:
    """What readers see: places that are listed, with their values."""
    columns = release.public.tables[0].columns()
    listed = dict(zip(columns["place"], columns["value"], strict=True))
    return {code: int(listed[code]) for code in case.codes if listed.get(code)}


# ---- counts -------------------------------------------------------------------------------------------------


class Reader:
    """Whole numbers that fit a map of counts: what places held, what each took in from outliers."""

    def __init__(self, case: Map, shown: dict[str, int], outliers: str) -> None:
        n = len(case.codes)
        self.codes = case.codes
        true = {code: len(inside) for code, inside in zip(case.codes, case.held, strict=True)}
        low, high = np.zeros(2 * n), np.full(2 * n, float(sum(true.values())))
        rows, least, most = [], [], []
        for i, code in enumerate(case.codes):
            if code not in shown:
                high[i] = 0 if outliers == "none" else THRESHOLD - 1
                high[n + i] = 0
                continue
            low[i] = 1
            if outliers != "redistribute":
                high[n + i] = 0
            if shown[code] > THRESHOLD:
                rows.append(self._row(n, [i, n + i]))
                least.append(shown[code])
                most.append(np.inf)
        unseen = [i for i, code in enumerate(case.codes) if code not in shown]
        seen = [i for i, code in enumerate(case.codes) if code in shown]
        # All that places showed after outliers were handled is still there.
        rows.append(self._row(n, [*seen, *(n + i for i in seen)]))
        least.append(sum(shown.values()))
        most.append(sum(shown.values()))
        if outliers == "redistribute":
            rows.append(self._row(n, [n + i for i in seen]) - self._row(n, unseen))
            least.append(0)
            most.append(0)
        for members in case.areas.values():
            rows.append(self._row(n, [i for i, code in enumerate(case.codes) if code in members]))
            least.append(sum(true[code] for code in members))
            most.append(least[-1])
        self.bounds = Bounds(low, high)
        self.fits = LinearConstraint(np.array(rows), least, most)
        self.n = n

    @staticmethod
    def _row(n: int, at: list[int]) -> np.ndarray:
        row = np.zeros(2 * n)
        row[at] = 1
        return row

    def ends(self, codes: list[str]) -> tuple[int, int]:
        """The least and most that some places held together."""
        aim = self._row(self.n, [i for i, code in enumerate(self.codes) if code in codes])
        found = [
            milp(sign * aim, constraints=self.fits, bounds=self.bounds, integrality=np.ones(2 * self.n))
            for sign in (1, -1)
        ]
        assert all(one.status == 0 for one in found), [one.message for one in found]
        return round(found[0].fun), round(-found[1].fun)


def regions(case: Map) -> list[list[str]]:
    """Areas, their pairwise overlaps and differences: what published totals speak of."""
    areas = list(case.areas.values())
    found = [*areas]
    for one, two in combinations(areas, 2):
        found += [[c for c in one if c in two], [c for c in one if c not in two], [c for c in two if c not in one]]
    return [some for some in found if some]


def attack_counts(case: Map, release: ds.Release, outliers: str) -> Counter[str]:
    found: Counter[str] = Counter(maps=1)
    shown = shown_places(case, release)
    reader = Reader(case, shown, outliers)
    true = {code: len(inside) for code, inside in zip(case.codes, case.held, strict=True)}
    audit = ds.audit(release).columns()
    kept = {name for name, verdict in zip(audit["cell"], audit["verdict"], strict=True) if verdict == "kept"}
    table = release.custodian.tables.tables[0]
    for code in case.codes:
        if not true[code]:
            continue
        low, high = reader.ends([code])
        assert low <= true[code] <= high, (case, code, low, high)
        found["places told to be small"] += code in shown and high < THRESHOLD
        found["places told exactly"] += code in shown and low == high and true[code] < THRESHOLD
        row = table.row(place=code)
        if table.assessment.unsafe[row]:
            short = true[code] - low < table.assessment.lower[row] or high - true[code] < table.assessment.upper[row]
            found["unsafe places"] += 1
            found["short for the reader"] += int(short)
            found["wrongly kept by audit"] += int(short and any(name.endswith(table.cell_name(row)) for name in kept))
    for some in regions(case):
        unseen = [code for code in some if code not in shown]
        if sum(true[code] for code in unseen):
            low, high = reader.ends(unseen)
            told = low > 0 and high < THRESHOLD
            found["remainders told to be small"] += told
            found["remainders told exactly"] += told and low == high
            found["remainders told to be there"] += low > 0
    found["maps that tell"] = int(
        found["places told to be small"] + found["remainders told to be small"] + found["remainders told to be there"]
        > 0
    )
    return found


# ---- magnitudes ---------------------------------------------------------------------------------------------


def attack_values(case: Map, release: ds.Release, p: float | None) -> Counter[str]:
    """Totals less what is shown: sensitive values (fewer than three firms, or p%) closer than p or ten per cent."""
    found: Counter[str] = Counter(value_maps=1)
    shown = shown_places(case, release)
    near = (10 if p is None else p) / 100
    held = dict(zip(case.codes, case.held, strict=True))

    def sensitive(values: list[int]) -> bool:
        values = sorted(values, reverse=True)
        return len(values) < THRESHOLD or (p is not None and sum(values[2:]) < p / 100 * values[0])

    for some in _atoms(case):
        total = sum(sum(held[code].values()) for code in some)
        unseen = [code for code in some if code not in shown and held[code]]
        for group in [*([code] for code in some if held[code]), *([unseen] if unseen else [])]:
            values = [v for code in group for v in held[code].values()]
            guess = total - sum(shown.get(code, 0) for code in some if code not in group)
            # A remainder that is what the map shows of a place tells nothing besides.
            news = len(group) > 1 or guess != shown.get(group[0], 0)
            close = news and sensitive(values) and abs(guess - sum(values)) < near * max(values)
            found["values told"] += close
            found["values told exactly"] += close and guess == sum(values)
    found["value maps that tell"] = int(found["values told"] > 0)
    return found


def broken(values: list[int], rules: MapLimits) -> bool:
    """Whether a place of these contributors breaks a rule, in fractions."""
    v = sorted((x for x in values if x), reverse=True)
    n, k = rules.get("dominance", (0, 1.0))
    return (
        len(v) < THRESHOLD
        or v[0] > Fraction(str(rules.get("max_share", 1.0))) * sum(v)
        or (n > 0 and sum(v[:n]) >= Fraction(str(k)) * sum(v))
        or 100 * sum(v[2:]) < Fraction(str(rules.get("p") or 0)) * v[0]
    )


def attack_rules(case: Map, release: ds.Release, rules: MapLimits) -> Counter[str]:
    """Places that break a rule in the whole units in which they are published, or that did and show the truth."""
    found: Counter[str] = Counter(ruled_maps=1)
    made = release.custodian.evidence[0].parts["repaired"]
    inside: dict[int, list[int]] = {}
    for place, value in zip(made["place"].tolist(), made["value"].tolist(), strict=True):
        inside.setdefault(place, []).append(value)
    for values in inside.values():
        found["places under rules"] += 1
        found["places that break a rule"] += int(broken(values, rules))
    shown = shown_places(case, release)
    for code, held in zip(case.codes, case.held, strict=True):
        if held and broken(list(held.values()), rules):
            found["sensitive places"] += 1
            found["sensitive places shown as they are"] += int(shown.get(code) == sum(held.values()))
    return found


RULES: tuple[MapLimits, ...] = (
    {"max_share": 0.5},
    {"p": 20.0},
    {"dominance": (1, 0.6)},
    {"dominance": (2, 0.85), "p": 10.0},
)


def _atoms(case: Map) -> Iterator[list[str]]:
    """Parts whose totals follow from those of areas: each area, and differences of nested ones."""
    areas = list(case.areas.values())
    yield from areas
    for one, two in product(areas, areas):
        if set(one) < set(two):
            yield [code for code in two if code not in one]


# ---- repeating the method -----------------------------------------------------------------------------------


def filled_row(counts: tuple[int, ...]) -> tuple[int, ...] | None:
    """Algorithm 1 on a row of places without outliers, written anew."""
    there = [i for i, n in enumerate(counts) if n]
    if sum(counts) < THRESHOLD * len(there):
        return None
    now = list(counts)
    for i in sorted((i for i in there if counts[i] < THRESHOLD), key=lambda i: (counts[i], i)):
        while now[i] < THRESHOLD:
            donors = [j for j in there if counts[j] > THRESHOLD and now[j] > THRESHOLD]
            best = min(donors, key=lambda j: (abs(j - i), -now[j], j))
            units = min(THRESHOLD - now[i], now[best] - THRESHOLD)
            now[i], now[best] = now[i] + units, now[best] - units
    return tuple(now)


def repeated(places: int, most: int) -> Counter[str]:
    """All rows of so many places: of which small places a reader who tries every row is left with small ones only."""
    behind: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for counts in product(range(most + 1), repeat=places):
        after = filled_row(counts)
        if after is not None and max(after) <= most - 2:
            behind.setdefault(after, []).append(counts)
    found: Counter[str] = Counter()
    for maps in behind.values():
        for counts in maps:
            for i, n in enumerate(counts):
                if 0 < n < THRESHOLD:
                    found["small places"] += 1
                    found["told to be small"] += all(one[i] < THRESHOLD for one in maps)
                    found["told exactly"] += all(one[i] == n for one in maps)
    return found


def attack(count: int, seed: int = 0) -> Counter[str]:
    """Random maps, one after the other."""
    found: Counter[str] = Counter()
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        case = random_map(rng)
        if not any(case.held):
            continue
        outliers = str(rng.choice(["suppress", "redistribute", "none"]))
        options = {"outliers": outliers, "outlier_distance": int(rng.integers(1, 4))}
        algorithm = str(rng.choice(["nearest", "equal", "optimal"]))
        release = published(case, None, algorithm=algorithm, **options)
        found["refused"] += release is None
        if release is not None:
            found += attack_counts(case, release, outliers)
        p = [None, 5.0, 20.0][int(rng.integers(3))]
        release = published(case, "sales", p=p, **options)
        if release is not None:
            found += attack_values(case, release, p)
            found += attack_rules(case, release, {} if p is None else {"p": p})
        rules = RULES[int(rng.integers(len(RULES)))]
        release = published(case._replace(areas={}), "sales", **rules, **options)
        if release is not None:
            found += attack_rules(case, release, rules)
    return found


if __name__ == "__main__":
    ended = tallied(__doc__, 2_000, attack, NEVER)
    print("repeating the method on all rows of five places:", dict(repeated(5, 8)))
    raise SystemExit(ended)
