"""Counts by the package cell_key_perturbation, run by an interpreter that has it: ``python THIS FOLDER``.

It stands by itself and prints one line of JSON: seconds of the first and of the best run by
the clock and of the processors, peak memory, digest.
"""

from __future__ import annotations

import hashlib
import json
import resource
import sys
import time
from pathlib import Path

import pandas as pd
from cell_key_perturbation.create_perturbed_table import create_perturbed_table

BY = ["area", "sex", "occupation"]


def perturbed(folder: Path) -> pd.DataFrame:
    """From the file to a frame of codes and counts, without the empty cells that the other side does not list."""
    data = pd.read_parquet(folder / "keyed.parquet")
    noise = pd.read_csv(folder / "noise.csv")
    found = create_perturbed_table(data, noise, BY[:1], BY[1:], "record_key", threshold=0)
    kept = found[found["pre_sdc_count"] > 0]
    return kept[[*BY, "count"]].reset_index(drop=True)


def digest_of(frame: pd.DataFrame) -> str:
    """The digest that the benchmarks take of a frame."""
    ordered = frame.astype(str).assign(count=frame["count"].astype("int64")).sort_values([*BY, "count"])
    digest = hashlib.sha256()
    for name in ordered.columns:
        digest.update(json.dumps([name, *ordered[name].astype(str).tolist()]).encode())
    return digest.hexdigest()


def main() -> None:
    """Run twice and print."""
    folder = Path(sys.argv[1])
    seconds, cpu = [], []
    for _ in range(2):
        started, worked = time.perf_counter(), time.process_time()
        frame = perturbed(folder)
        seconds.append(time.perf_counter() - started)
        cpu.append(time.process_time() - worked)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    times = {"cold": seconds[0], "warm": min(seconds), "cold_cpu": cpu[0], "warm_cpu": min(cpu)}
    print(json.dumps({**times, "peak": peak, "digest": digest_of(frame)}))


if __name__ == "__main__":
    main()
