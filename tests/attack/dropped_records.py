"""Attackers of drop/add-up-to-q: counting, asking again under other names, averaging, subtracting universes.

- *reader*: for every count, all true counts from which at most q records up or down lead to it, one by one, against
  what ``audit`` says; the same for q records dropped of the universe;
- *other names*: the same cells asked by a variable twice, with one that has a single code, or in another order must
  have the same noise, or it averages out for nothing;
- *averaging*: the mean of a cell over tables with other variables, which the claim admits;
- *slivers*: universes that differ by one record, subtracted from each other.

``python -m tests.attack.dropped_records --count 1000`` runs all of it.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa

import discreet as ds
from discreet.errors import DiscreetError
from tests.attack.running import tallied

NEVER = ("wrongly kept by audit", "other_noise", "other noise when turned")
"""What must not be found, not once."""
CODES = {"area": ["N", "S", "W"], "sex": ["m", "f"], "one": ["x"], "job": ["a", "b", "c"], "twin": ["N", "S", "W"]}
BY = {name: ds.Hierarchy.flat(codes) for name, codes in CODES.items()}


def people(rng: np.random.Generator, n: int) -> pa.Table:
    columns = {name: rng.choice(codes, n).tolist() for name, codes in CODES.items()}
    return pa.table({"id": np.arange(n), **columns, "twin": columns["area"]})


def answered(frame: pa.Table, variables: list[str], key: ds.Key, **options: object) -> ds.Release | None:
    """The answer to a question, if it verifies."""
    spec = ds.TableSpec(by={v: BY[v] for v in variables}, cells="all")
    try:
        table = ds.tabulate(ds.Microdata(frame), specs=[spec]).assess(ds.MinFrequency(3))
        release = ds.protect(table, ds.DropAdd("id", **options), key=key)
    except DiscreetError:
        return None
    return release if release.verify().holds else None


def counts(release: ds.Release) -> dict[tuple[str, ...], int]:
    """Published counts by their codes."""
    columns = release.public.tables[0].columns()
    names = [name for name in columns if name in CODES]
    return {tuple(columns[n][row] for n in names): int(v or 0) for row, v in enumerate(columns["value"])}


def cap(n: int, rate: Fraction, rounding: str) -> int:
    """q, counted anew."""
    if n == 0:
        return 0
    q = 0
    while q < rate * n if rounding == "ceil" else q <= rate * n:
        q += 1
    return q


def attack_reader(rng: np.random.Generator) -> Counter[str]:
    found: Counter[str] = Counter()
    frame = people(rng, int(rng.integers(1, 60)))
    rate, rounding = str(rng.choice(["0.01", "0.1", "0.3", "0.45"])), str(rng.choice(["ceil", "above"]))
    q = int(rng.integers(1, 4)) if rng.random() < 0.3 else None
    least = int(rng.choice([1, 1, 2, 4]))
    options = {"subsample": q} if q else {"rate": rate, "rounding": rounding, "min_cell": least}
    variables = [["area", "sex"], ["area"], ["area", "sex", "job"]][int(rng.integers(3))]
    release = answered(frame, variables, ds.Key(rng.bytes(32)), **options)
    if release is None:
        return Counter(refused=1)
    shown = counts(release)
    share = Fraction(rate)

    def readings(c: int) -> list[int]:
        if q:
            return list(range(c, c + q + 1))
        return [n for n in range(2 * c + 4) if abs(c - n) <= cap(n, share, rounding) and (n == 0 or n >= least)]

    audit = ds.audit(release).columns()
    kept = {name for name, verdict in zip(audit["cell"], audit["verdict"], strict=True) if verdict == "kept"}
    table = release.custodian.tables.tables[0]
    finest = [codes for codes in shown if "Total" not in codes]
    for codes, value in shown.items():
        row = table.row(**dict(zip(variables, codes, strict=True)))
        true = int(table.value[row])
        if not table.assessment.unsafe[row]:
            continue
        under = [one for one in finest if all(c in ("Total", o) for c, o in zip(codes, one, strict=True))]
        low, high = (sum(end(readings(shown[one])) for one in under) for end in (min, max))
        if q:
            low, high = value + (q if len(under) == len(finest) else 0), value + q
        assert low <= true <= high, (codes, low, true, high)
        short = true - low < table.assessment.lower[row] or high - true < table.assessment.upper[row]
        found["unsafe cells"] += 1
        found["short for the reader"] += int(short)
        found["wrongly kept by audit"] += int(short and any(name.endswith(table.cell_name(row)) for name in kept))
    found["answers"] += 1
    return found


def attack_names(rng: np.random.Generator) -> Counter[str]:
    """The same cells by other names."""
    frame, key = people(rng, int(rng.integers(30, 200))), ds.Key(rng.bytes(32))
    asked = (["area"], ["area", "one"], ["twin"], ["area", "twin"], ["one", "area"], ["twin", "one", "area"])
    answers = []
    for variables in asked:
        release = answered(frame, variables, key, rate=0.1)
        assert release is not None
        shown = counts(release)
        at = variables.index("area") if "area" in variables else variables.index("twin")
        answers.append(
            tuple(sum(v for c, v in shown.items() if "Total" not in c and c[at] == a) for a in CODES["area"])
        )
    found: Counter[str] = Counter(questions=len(asked), other_noise=sum(one != answers[0] for one in answers))
    turned = [answered(frame, some, key, rate=0.1) for some in (["area", "sex"], ["sex", "area"])]
    one, two = (counts(release) for release in turned if release is not None)
    found["other noise when turned"] += sum(one[a, s] != two[s, a] for a, s in product(CODES["area"], CODES["sex"]))
    return found


def attack_averages(rng: np.random.Generator) -> Counter[str]:
    """The mean over tables by other variables: exact where it rounds to the truth."""
    frame, key = people(rng, int(rng.integers(60, 300))), ds.Key(rng.bytes(32))
    found: Counter[str] = Counter()
    sums: dict[str, list[int]] = {a: [] for a in CODES["area"]}
    for variables in (["area"], ["area", "sex"], ["area", "job"], ["area", "sex", "job"]):
        release = answered(frame, variables, key, rate=0.02)
        assert release is not None
        for codes, value in counts(release).items():
            if codes[0] != "Total" and all(c == "Total" for c in codes[1:]):
                sums[codes[0]].append(value)
        found["averages admitted"] += any(
            "averages out" in t for t in release.custodian.evidence[0].claim.not_considered
        )
        found["answers averaged"] += 1
    true = Counter(frame["area"].to_pylist())
    for area, values in sums.items():
        found["averaged cells"] += 1
        found["exact by averaging"] += round(sum(values) / len(values)) == true[area]
    return found


def attack_slivers(rng: np.random.Generator, tries: int = 8) -> Counter[str]:
    """Universes without one record: cells that show the truth of the difference, against one in 2q + 1."""
    frame, key = people(rng, int(rng.integers(40, 120))), ds.Key(rng.bytes(32))
    whole = answered(frame, ["area", "sex"], key, rate=0.05)
    assert whole is not None
    all_of = counts(whole)
    found: Counter[str] = Counter()
    for i in rng.choice(len(frame), tries, replace=False).tolist():
        rest = answered(frame.filter(pa.array(np.arange(len(frame)) != i)), ["area", "sex"], key, rate=0.05)
        assert rest is not None
        row = frame.slice(i, 1).to_pylist()[0]
        away = counts(rest)
        right = 0
        for codes in all_of:
            if "Total" in codes:
                continue
            truth = int(codes == (row["area"], row["sex"]))
            right += all_of[codes] - away[codes] == truth
            found["sliver cells"] += 1
            true = int(
                whole.custodian.tables.tables[0].value[
                    whole.custodian.tables.tables[0].row(area=codes[0], sex=codes[1])
                ]
            )
            found["expected right, in millions"] += round(1e6 / (2 * cap(true, Fraction(1, 20), "ceil") + 1))
        found["right"] += right
        found["whole slivers"] += 1
        found["wholly right"] += right == 6
    return found


def attack(count: int, seed: int = 0) -> Counter[str]:
    """All attacks, one population after the other; the dearer ones every tenth time."""
    found: Counter[str] = Counter()
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        found += attack_reader(rng)
        if number % 10 == 0:
            found += attack_names(rng)
            found += attack_averages(rng)
            found += attack_slivers(rng)
    return found


if __name__ == "__main__":
    ended = tallied(__doc__, 1_000, attack, NEVER)
    raise SystemExit(ended)
