"""Generalisation of a million records: the same levels for all, and codes of their own for every class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.registry import Measure, Timing, apart, case, timed

SIX_KEYS = ("age", "sex", "area", "marital", "birth", "education")
REGION = 3
"""Codes of areas are cut to the region before: ``"G01"``."""


def prepared(rows: int) -> Any:
    """A census with six keys that all have hierarchies, as records that were read already."""
    import pyarrow as pa
    import pyarrow.compute as pc

    import discreet as ds
    from discreet.engine.record_set import read_record_set

    made = ds.generate.census_population(rows)
    columns = {name: made.records[name].cast(pa.string()) for name in (*SIX_KEYS, "labour")}
    columns["age"] = made.records["age"].cast(pa.int64())
    columns["area"] = pc.utf8_slice_codeunits(columns["area"], 0, REGION)
    trees = {name: ds.Hierarchy.from_parents(made.parents[name]) for name in SIX_KEYS if name not in ("age", "area")}
    trees["age"] = ds.Hierarchy.from_columns(
        [[f"{a // w * w}-{a // w * w + w - 1}" for a in range(100)] for w in (20, 5)] + [[str(a) for a in range(100)]]
    )
    trees["area"] = ds.Hierarchy.flat(sorted(columns["area"].unique().to_pylist()))
    data = ds.Microdata(pa.table(columns), keys=list(SIX_KEYS), sensitive="labour", hierarchies=trees)
    return read_record_set(data)


def generalised(rows: int, algorithm: str, values: bool) -> Timing:
    """Keys of a census with every combination at least five times, and with rules on sensitive values where asked."""
    import discreet as ds

    records = prepared(rows)
    rules = (ds.LDiversity(2), ds.LDiversity(2, form="entropy"), ds.TCloseness(0.9)) if values else ()
    ordered = ("age",) if algorithm == "local" else ()
    method = ds.Generalise(5, rules=rules, algorithm=algorithm, ordered=ordered)  # type: ignore[arg-type]

    def run() -> Any:
        evidence = method.run(records).evidence
        return evidence.facts["losses"]["loss"], dict(evidence.effort), evidence.facts["suppressed"]

    return timed(run, lambda found: found, repeats=2)


def divided(rows: int) -> Timing:
    """Numbered codes of a census divided into classes of at least five."""
    import discreet as ds
    from discreet.records.class_judges import judges_of
    from discreet.records.generalising import cells_to_divide, divided_cells, key_scale

    records = prepared(rows)
    method = ds.Generalise(5, algorithm="local", ordered=("age",))
    judges = judges_of([ds.KAnonymity(5)], SIX_KEYS, records)
    scales = tuple(key_scale(method, records, name) for name in SIX_KEYS)

    def run() -> Any:
        return len(divided_cells(cells_to_divide(scales, judges)[0], 0)[0])

    return timed(run, lambda found: found, repeats=2)


@case("generalise")
def generalise(scale: float) -> Sequence[Measure]:
    """A million records with six keys, k = 5: a lattice in 0.6 s of processor, local recoding at a twentieth of its
    loss, and l, entropy-l and t of all nodes in 3 s."""
    rows = int(1_000_000 * scale)
    lattice, local = apart(generalised, rows, "lattice", False), apart(generalised, rows, "local", False)
    values, cut = apart(generalised, rows, "lattice", True), apart(divided, rows)
    loss, effort, suppressed = lattice.answer
    settings = (
        f"census of {rows:,} persons, keys {', '.join(SIX_KEYS)}: {effort['cell']:,} combinations, "
        f"{effort['generalisation']:,} nodes; loss {loss:.4g}, {suppressed:,} suppressed"
    )
    told = (
        f"census of {rows:,} persons; loss {local.answer[0]:.4g}, {cut.answer:,} classes; from texts to texts, counted "
        f"again, {local.warm_cpu:.2f} CPU s"
    )
    return [
        Measure("lattice, CPU s, against the limit", lattice.warm_cpu, 0.6, 1.0, settings),
        Measure("local recoding, codes to classes, CPU s, against the limit", cut.warm_cpu, 0.2, 1.0, told),
        Measure("local recoding, loss, against that of the lattice", local.answer[0], loss, 0.05, told),
        Measure("l, entropy-l and t of all nodes, CPU s, against the limit", values.warm_cpu, 3.0, 1.0, settings),
    ]
