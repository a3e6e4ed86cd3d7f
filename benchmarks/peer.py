"""The engine of τ-ARGUS as a peer (pytauargus), in an environment, a process and a folder of its own.

Make an environment with it (``python -m venv peer && peer/bin/pip install pytauargus``) and name its interpreter in
``DISCREET_BENCH_PEER``; left out, the interpreter of the benchmarks is used where pytauargus is installed beside them.
The peer gets the same cells, unsafe cells and levels as a ready-made table.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

VARIABLE = "DISCREET_BENCH_PEER"
SETTINGS = "MOD(1,5,1,1,1)"
"""The modular engine with all its singleton options."""
OPTIMUM = "OPT(1,1)"
"""The optimising engine, with a minute to search."""
MISSING = f"pytauargus is missing: name an interpreter that has it in {VARIABLE} for the comparison."
WITHHELD = ("9", "11", "12")
"""Statuses of withheld cells in the peer's output: unsafe as given, and two kinds of secondaries."""
PROGRAM = """
import sys, time
from pytauargus.engine import run_batch
started = time.process_time()
run_batch(sys.argv[1])
print("\\nseconds", time.process_time() - started)
"""


def interpreter() -> str | None:
    """The interpreter that has the peer, if there is one."""
    if os.environ.get(VARIABLE):
        return os.environ[VARIABLE]
    return sys.executable if importlib.util.find_spec("pytauargus") is not None else None


def suppressed_by_peer(table: Any, folder: Path, settings: str) -> tuple[float, Any]:
    """CPU seconds of an engine of the peer, and which rows of the table it withholds."""
    import numpy as np

    python = interpreter()
    if python is None:
        raise RuntimeError(MISSING)
    write_for_peer(table, folder, settings)
    # The peer looks for its files, and leaves its own, where it is started.
    ran = subprocess.run(
        [python, "-c", PROGRAM, str(folder / "run.arb")], cwd=folder, capture_output=True, text=True, check=True
    )
    seconds = float(ran.stdout.rsplit("seconds", 1)[1])
    position = [{code: i for i, code in enumerate(h.codes)} for h in table.spec.hierarchies]
    rows, letters = [], []
    for line in (folder / "out.txt").read_text().splitlines():
        fields = [field.strip().strip('"') for field in line.split(",")]
        if fields[0] in position[0]:
            rows.append([places[code] for places, code in zip(position, fields, strict=False)])
            letters.append(fields[-1])
    at = table.find(np.array(rows, np.int32))
    hidden = np.zeros(len(table), np.bool_)
    hidden[at[(at >= 0) & np.isin(letters, WITHHELD)]] = True
    return seconds, hidden


def write_for_peer(table: Any, folder: Path, settings: str) -> None:
    """The table as the peer's files: cells with statuses and levels, metadata, hierarchies and a batch."""
    meta = ['<SEPARATOR> ";"', "<SAFE> S", "<UNSAFE> U", "<PROTECT> P"]
    for name, hierarchy in table.spec.by.items():
        meta += [name, "<RECODEABLE>", "<TOTCODE> Total"]
        if len(hierarchy.groupings) > 1:
            meta += ["<HIERARCHICAL>", f'<HIERCODELIST> "{name}.hrc"', '<HIERLEADSTRING> "@"']
        parts = {g.parent: [code for code, _ in g.parts] for g in hierarchy.groupings}
        (folder / f"{name}.hrc").write_text("\n".join(_indented(parts, "Total", 0)) + "\n")
    meta += ["value", "<NUMERIC>", "freq", "<FREQUENCY>", "stat", "<STATUS>"]
    meta += ["lpl", "<NUMERIC> <LOWERPL>", "upl", "<NUMERIC> <UPPERPL>"]
    (folder / "t.rda").write_text("\n".join(meta) + "\n")
    count, lower, upper = table.holders.count, table.assessment.lower, table.assessment.upper
    with (folder / "t.tab").open("w") as stream:
        for row in range(len(table)):
            status = [count[row], "U" if table.unsafe[row] else "S", lower[row], upper[row]]
            codes = table.spec_codes(table.codes[row].tolist())
            stream.write(";".join(str(field) for field in [*codes, table.value[row], *status]) + "\n")
    variables = "".join(f'"{name}"' for name in table.variables)
    (folder / "run.arb").write_text(
        f'<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"\n'
        f'<SPECIFYTABLE> {variables}|"value"||"value"\n<SAFETYRULE>\n'
        f'<READTABLE> 0\n<SUPPRESS> {settings}\n<WRITETABLE> (1,3,AS+,"out.txt")\n'
    )


def _indented(parts: dict[str, list[str]], code: str, depth: int) -> list[str]:
    lines = []
    for part in parts.get(code, []):
        lines += ["@" * depth + part, *_indented(parts, part, depth + 1)]
    return lines
