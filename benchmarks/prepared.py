"""A hundred questions to one file: prepared once, against opened for every question."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from itertools import combinations, islice, product
from pathlib import Path
from typing import Any

from benchmarks.registry import Measure, Timing, apart, case, scratch, timed

QUESTIONS = 100
BY = ("sex", "age_group", "marital", "birth", "education", "labour", "occupation")
WHERE = ((), ("age >= 18",), ("age < 65",), ("sex == 'F'", "age > 30"))


def write_people(folder: Path, records: int, format: str) -> None:
    from discreet.generate import census_population

    population = census_population(records, areas=200)
    population.write(folder, format=format)  # type: ignore[arg-type]
    (folder / "parents.json").write_text(json.dumps({name: population.parents[name] for name in BY}))


def answers(folder: Path, format: str, prepared: bool, keyed: bool) -> Timing:
    """All questions one after the other, tabulated or protected by cell keys; opening and preparing counts."""
    import discreet as ds

    trees = json.loads((folder / "parents.json").read_text())
    by = {name: ds.Hierarchy.from_parents(parents, total="Total") for name, parents in trees.items()}
    asked = islice(product(combinations(BY, 3), WHERE), QUESTIONS)
    specs = [ds.TableSpec(by={name: by[name] for name in names}, where=where) for names, where in asked]
    method, key = ds.CellKey(identifier="person"), ds.Key(bytes(range(32)))

    def run() -> list[Any]:
        data = ds.Microdata(folder / f"records.{format}")
        data = data.prepared() if prepared else data
        if keyed:
            return [ds.protect(data, method, tables=[spec], key=key).public.tables[0].value for spec in specs]
        return [ds.tabulate(data, specs=[spec]).tables[0].value for spec in specs]

    def digest(found: list[Any]) -> str:
        return hashlib.sha256(b"".join(values.tobytes() for values in found)).hexdigest()

    return timed(run, digest, repeats=1)


@case("prepared")
def prepared_questions(scale: float) -> Sequence[Measure]:
    """100 questions by three of seven variables in four universes, to 1 million records."""
    records = int(1_000_000 * scale)
    measures = []
    with scratch() as folder:
        for format, keyed in (("parquet", False), ("csv", False), ("parquet", True)):
            apart(write_people, folder, records, format)
            ours, plain = (apart(answers, folder, format, prepared, keyed) for prepared in (True, False))
            if ours.answer != plain.answer:
                raise ValueError("Prepared records gave another answer.")
            what = "protected by cell keys" if keyed else "tabulated"
            measures.append(
                Measure(
                    f"CPU s, {QUESTIONS} questions {what}, {format}",
                    ours.warm_cpu,
                    plain.warm_cpu,
                    0.5,
                    f"{records:,} records, {format}, {what}: clock s {ours.warm:.1f} against {plain.warm:.1f}; peak "
                    f"GiB {ours.peak:.2f} against {plain.peak:.2f}; peer: the same without prepared()",
                )
            )
    return measures
