"""Synthesis of a file of mixed columns by trees, against scikit-learn's, or against the noise of drawing records."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from benchmarks.registry import Measure, Timing, apart, case, timed

LIMIT = 4.0
"""CPU seconds for 100,000 records of twelve columns."""
ABOVE_NOISE = 1.29
"""1.1 times what scikit-learn's trees are above the noise of drawing records, as measured once (0.0128 / 0.0109)."""


def mixed_file(rows: int) -> Any:
    """Twelve columns: codes of 2 to 100 kinds, ages, hours, incomes with gaps, weights."""
    import numpy as np
    import pyarrow as pa

    draw = np.random.default_rng(20_261_118)
    age = np.clip(draw.gamma(4, 11, rows), 0, 104).astype(int)
    sex = draw.choice(["m", "f"], rows)
    area = np.minimum(draw.geometric(0.04, rows), 100)
    school = np.clip(age // 20 + draw.integers(0, 4, rows), 0, 6)
    job = school * 3 + draw.integers(0, 7, rows)
    marital = np.where(age < 16, "single", draw.choice(["single", "married", "divorced", "widowed"], rows))
    income = np.round(draw.lognormal(9 + school * 0.2 + (sex == "m") * 0.2, 0.6, rows), 2)
    income = np.where(draw.random(rows) < 0.05, np.nan, np.where(age < 16, 0.0, income))
    hours = np.where(age < 16, 0, np.clip(np.round(draw.normal(38, 8, rows)), 0, 80)).astype(int)
    rooms = np.clip(draw.poisson(3, rows) + (income > 20_000), 1, 9)
    return pa.table(
        {
            "age": age,
            "sex": sex,
            "area": [f"a{code}" for code in area],
            "school": [f"s{code}" for code in school],
            "job": [f"j{code}" for code in job],
            "marital": marital,
            "income": pa.array(income, from_pandas=True),
            "hours": hours,
            "rooms": rooms,
            "tenure": np.where(draw.random(rows) < 0.3 + 0.05 * rooms, "own", "rent"),
            "health": draw.choice(["1", "2", "3", "4", "5"], rows),
            "value": np.round(draw.gamma(4, 50, rows) + 20 * rooms, 3),
        }
    )


def grouped(table: Any, like: Any) -> list[Any]:
    """Columns as small numbers: codes, and tenths of numbers by the quantiles of one file; gaps by themselves."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    found = []
    for name in like.column_names:
        if pa.types.is_string(like[name].type):
            words = pc.unique(like[name])
            found.append(np.asarray(pc.index_in(table[name], words).to_numpy()))
            continue
        values = np.asarray(like[name].drop_null().to_numpy(), float)
        cuts = np.unique(np.quantile(values, np.linspace(0.1, 0.9, 9)))
        gaps = np.asarray(table[name].is_null().to_numpy())
        place = np.searchsorted(cuts, np.asarray(table[name].fill_null(0).to_numpy(), float), side="right")
        found.append(np.where(gaps, len(cuts) + 1, place))
    return found


def two_way_distance(table: Any, like: Any) -> float:
    """The mean, over pairs of columns, of half the sum of differences between shares of cells."""
    import numpy as np

    one, other = grouped(table, like), grouped(like, like)
    distances = []
    for i in range(len(one)):
        for j in range(i):
            size = int(max(one[j].max(), other[j].max())) + 1
            pairs = [np.bincount(columns[i] * size + columns[j]) for columns in (one, other)]
            longest = max(len(pair) for pair in pairs)
            shares = [np.pad(pair, (0, longest - len(pair))) / pair.sum() for pair in pairs]
            distances.append(float(np.abs(shares[0] - shares[1]).sum() / 2))
    return float(np.mean(distances))


def ours(rows: int) -> Timing:
    """Every column drawn by trees; the answer is the mean distance, and how many values of few records came out."""
    import pyarrow as pa

    import discreet as ds
    from discreet.engine.record_set import read_record_set

    table = mixed_file(rows)
    records = read_record_set(ds.Microdata(table))
    key, method = ds.Key(bytes(range(32))), ds.Synthesise()

    def judged(outcome: Any) -> tuple[float, int]:
        made = pa.table({name: outcome.changed[name] for name in table.column_names})
        fine = [one for one in outcome.evidence.facts["models"] if one.get("fine")]
        return two_way_distance(made, table), sum(one["met"] for one in fine)

    return timed(lambda: method.run(records, key), judged, repeats=2)


def noise(rows: int) -> float:
    """The mean distance of records drawn with replacement."""
    import numpy as np

    table = mixed_file(rows)
    return two_way_distance(table.take(np.random.default_rng(1).integers(0, rows, rows)), table)


def theirs(rows: int) -> Timing:
    """The same sequence by trees of scikit-learn with leaves of five; a value is that of a record of the leaf."""
    import numpy as np
    import pyarrow as pa
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    table = mixed_file(rows)

    def synthesised() -> Any:
        draw = np.random.default_rng(2)
        before: list[Any] = []
        after: list[Any] = []
        made = {}
        for name in table.column_names:
            column = table[name].combine_chunks()
            coded = pa.types.is_string(column.type)
            if coded:
                values = np.asarray(column.dictionary_encode().indices.to_numpy(zero_copy_only=False), np.float32)
            else:
                values = np.asarray(column.fill_null(-1).to_numpy(zero_copy_only=False), np.float32)
            donor = draw.integers(0, rows, rows)
            if before:
                kind = DecisionTreeClassifier if coded else DecisionTreeRegressor
                tree = kind(min_samples_leaf=5, random_state=1).fit(np.column_stack(before), values)
                leaf, at = (tree.apply(np.column_stack(some)) for some in (before, after))
                order = np.argsort(leaf, kind="stable")
                start = np.searchsorted(leaf[order], at)
                size = np.searchsorted(leaf[order], at, side="right") - start
                donor = order[start + (draw.random(rows) * size).astype(int)]
            before.append(values)
            after.append(values[donor])
            made[name] = column.take(pa.array(donor))
        return pa.table(made)

    return timed(synthesised, lambda made: two_way_distance(made, table), repeats=1)


@case("synthesis")
def synthesis(scale: float) -> Sequence[Measure]:
    """Trees for 12 columns of 100,000 records in 4 s, pairs of columns as near as scikit-learn's, nothing replayed."""
    rows = int(100_000 * scale)
    found, floor = apart(ours, rows), apart(noise, rows)
    distance, replayed = found.answer
    settings = f"{rows:,} records of 12 columns, leaves of 5; cold {found.cold_cpu:.1f} CPU s; distance of records "
    settings += f"drawn with replacement {floor:.4f}; {replayed} values of few records released where there is room"
    measures = [Measure("trees, CPU s against the limit", found.warm_cpu, LIMIT * scale, 1.0, settings)]
    if find_spec("sklearn") is None:
        note = "scikit-learn is not installed: distance against that of records drawn with replacement"
        return [*measures, Measure("mean two-way distance, against noise", distance, floor, ABOVE_NOISE, note)]
    peer = apart(theirs, rows)
    return [
        *measures,
        Measure("mean two-way distance, against scikit-learn", distance, peer.answer, 1.1, settings),
        Measure("trees, CPU s against scikit-learn", found.warm_cpu, peer.warm_cpu, 1.0, settings),
    ]
