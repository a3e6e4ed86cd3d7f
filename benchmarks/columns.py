"""Protected answers from a folder of narrow columns: CPU of each question, beside the study's kernel and memory."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.registry import Measure, apart, case, scratch

RECORDS = 10_000_000
SIZES = {
    "sex": 2,
    "age": 101,
    "ethnic": 20,
    "health": 5,
    "tenure": 6,
    "qualification": 8,
    "household": 15,
    "occupation": 90,
    "industry": 88,
}
DISTRICTS, AREAS = 350, 35_000
MODULUS = 256
QUESTIONS: dict[str, float] = {
    "sex age": 6.3,
    "ethnic occupation": 6.5,
    "sex age ethnic": 8.9,
    "sex age ethnic health": 14.4,
    "area sex": 14.6,
}
"""Tables, and the CPU ms of the study's counting kernel alone (without margins, noise and release)."""
REPEATS = 7
TARGET, TARGET_AREA = 15.0, 1.0
"""CPU ms of a protected answer, of the whole country and of one district."""


class Answered(NamedTuple):
    """CPU ms of each question, of its tabulation, of a district's, peak memory in GiB, and digests of the answers."""

    protected: dict[str, float]
    tabulated: dict[str, float]
    district: float
    digests: dict[str, str]
    cells: dict[str, int]


def hierarchies() -> dict[str, Any]:
    """Codes of all variables, areas in their districts."""
    import discreet as ds

    districts = {f"D{i:03}": "Total" for i in range(DISTRICTS)}
    areas = {f"A{i:05}": f"D{i // (AREAS // DISTRICTS):03}" for i in range(AREAS)}
    flat = {name: ds.Hierarchy.flat([f"{name[:2]}{i}" for i in range(size)]) for name, size in SIZES.items()}
    return {"area": ds.Hierarchy.from_parents({**districts, **areas}, total="Total"), **flat}


def people(records: int) -> Any:
    """A census: areas in their order, other variables skewed, record keys from 0 to 255."""
    import numpy as np
    import pyarrow as pa

    draw = np.random.default_rng(24)
    columns: dict[str, Any] = {}
    for name, hierarchy in hierarchies().items():
        codes = hierarchy.base_codes
        if name == "area":
            number = np.sort(draw.integers(0, len(codes), records, dtype=np.int32))
        else:
            number = (len(codes) * draw.random(records, np.float32) ** 1.5).astype(np.int32)
            number = np.minimum(number, len(codes) - 1)
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(number), pa.array(codes))
    columns["rkey"] = pa.array(draw.integers(0, MODULUS, records, dtype=np.int64))
    return pa.table(columns)


def build(folder: Path, records: int) -> float:
    """Write the folder of columns; CPU seconds."""
    import discreet as ds
    from discreet.engine.column_files import write_columns

    data = ds.Microdata(people(records), record_key="rkey")
    started = time.process_time()
    write_columns(data, folder / "columns", variables=hierarchies(), geography="area")
    return time.process_time() - started


def answers(folder: Path, records: int, engine: str, repeats: int) -> Answered:
    """Ask all questions several times."""
    import discreet as ds
    from discreet.model.condition import Condition

    by = hierarchies()
    if engine == "columns":
        data = ds.Microdata(folder / "columns", record_key="rkey", engine="columns")
    else:
        data = ds.Microdata(people(records), record_key="rkey").prepared()
    method = ds.CellKey(modulus=MODULUS)
    specs = {text: ds.TableSpec(by={name: by[name] for name in text.split()}, holders=False) for text in QUESTIONS}

    def cpu(ask: Any) -> float:
        ask()
        found = []
        for _ in range(repeats):
            started = time.process_time()
            ask()
            found.append(time.process_time() - started)
        return 1000 * min(found)

    protected, tabulated, digests, cells = {}, {}, {}, {}
    for text, spec in specs.items():
        protected[text] = cpu(lambda spec=spec: ds.protect(data, method, tables=[spec]))
        tabulated[text] = cpu(lambda spec=spec: ds.tabulate(data, specs=[spec]))
        release = ds.protect(data, method, tables=[spec])
        digests[text] = hashlib.sha256(release.public.tables[0].value.tobytes()).hexdigest()
        cells[text] = len(release.custodian.tables[0])
    codes = tuple(by["area"].covered("D007"))
    one = ds.TableSpec(
        by={name: by[name] for name in ("sex", "age", "ethnic")},
        where=(Condition("area", "in", codes),),
        holders=False,
    )
    return Answered(protected, tabulated, cpu(lambda: ds.protect(data, method, tables=[one])), digests, cells)


@case("columns")
def column_answers(scale: float) -> Sequence[Measure]:
    """Protected tables of 10 million records by two to four variables, and of one district."""
    records = int(RECORDS * scale)
    with scratch() as folder:
        built = apart(build, folder, records)
        ours = apart(answers, folder, records, "columns", REPEATS)
        memory = apart(answers, folder, records, "memory", 2)
    if ours.digests != memory.digests:
        raise ValueError("Columns gave another answer than memory.")
    settings = f"{records:,} records, cell keys, warm, least of {REPEATS}; columns were written in {built:.1f} s CPU"
    measures = [
        Measure(
            f"CPU ms, {text}",
            ours.protected[text],
            TARGET,
            1.0,
            f"{text}: {ours.cells[text]:,} cells, tabulated alone {ours.tabulated[text]:.1f} ms; memory "
            f"{memory.protected[text]:.1f} ms ({memory.tabulated[text]:.1f}); the study's kernel alone {study:.1f} ms; "
            f"peer: the target of {TARGET:g} ms; {settings}",
        )
        for text, study in QUESTIONS.items()
    ]
    measures.append(
        Measure(
            "CPU ms, one district of 100 areas",
            ours.district,
            TARGET_AREA,
            1.0,
            f"sex age ethnic of about {records // DISTRICTS:,} records: memory {memory.district:.1f} ms; peer: the "
            f"target of {TARGET_AREA:g} ms",
        )
    )
    return measures
