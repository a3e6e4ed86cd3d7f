"""Unions and joint models between processes of their own over mutual TLS: CPU seconds of each party."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.registry import Measure, case, scratch

UNION_TARGET, IDENTIFIERS_TARGET, CARD_TARGET = 240.0, 25.0, 20.0
SUM_TARGET, ROUND_TARGET, AGREEMENT = 1.0, 0.050, 1e-9
Part = Callable[[str, Any], dict[str, Any]]
"""What a party does at a place; gives figures."""


def certificates(folder: Path, names: Sequence[str]) -> None:
    """An authority, and a certificate for each name."""
    from discreet.trust.authority import Authority
    from discreet.trust.holders import Holder

    ca = Authority.create(folder / "ca", "Bench Office", by="Otto")
    ca.export(folder / "public")
    for name in [*names, "coordinator"]:
        server = name == "coordinator"
        holder = Holder(name, hosts=("localhost",)) if server else Holder(name, email=f"{name}@example.org")
        number = ca.request("server" if server else "user", holder, approved_by="Rosa", days=30)
        issued = ca.issue(number, by="Otto")
        (folder / f"{name}.pem").write_bytes(issued.certificate)
        (folder / f"{name}.key").touch(mode=0o600)
        (folder / f"{name}.key").write_bytes(issued.key_pem)


def _credentials(folder: Path, name: str) -> Any:
    from discreet.private import PartyCredentials

    return PartyCredentials(folder / f"{name}.pem", folder / f"{name}.key", folder / "public")


def _carry(folder: Path, names: Sequence[str], told: Any) -> None:
    from discreet.private import coordinate

    coordinate(names, _credentials(folder, "coordinator"), port=0, patience=600, ready=told.send)


def _take_part(folder: Path, name: str, port: int, part: Part, told: Any) -> None:
    from discreet.private import AtCoordinator

    os.environ["OMP_NUM_THREADS"] = "1"
    place = AtCoordinator(f"localhost:{port}", _credentials(folder, name), patience=600)
    started = time.perf_counter()
    found = part(name, place)
    told.send({**found, "wall": time.perf_counter() - started})


def between(names: Sequence[str], part: Part) -> dict[str, dict[str, Any]]:
    """Run a protocol between processes; figures of each party."""
    spawn = get_context("spawn")
    with scratch() as folder:
        certificates(folder, names)
        here, there = spawn.Pipe()
        carrying = spawn.Process(target=_carry, args=(folder, list(names), there))
        carrying.start()
        port, pipes, processes = here.recv(), {}, [carrying]
        for name in names:
            pipes[name], end = spawn.Pipe()
            processes.append(spawn.Process(target=_take_part, args=(folder, name, port, part, end)))
            processes[-1].start()
            end.close()
        found = {name: pipe.recv() for name, pipe in pipes.items()}
        for process in processes:
            process.join()
    return found


def _cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.process_time()
    found = work()
    return time.process_time() - started, found


def union_part(name: str, place: Any, *, records: int) -> dict[str, Any]:
    """One holder of two, half of whose records are shared; 56 bytes of data."""
    from discreet.private import UnionTerms, unite_as

    first = 0 if name == "A" else records // 2
    data = {"id": [f"person {k:09d}" for k in range(first, first + records)], "x": ["x" * 54] * records}
    cpu, found = _cpu(lambda: unite_as(name, data, ("A", "B"), place, UnionTerms(("id",), ("x",)), without_log=True))
    if found.union != records * 3 // 2:
        raise AssertionError("The union has another size.")
    return {"cpu": cpu}


def sizes_part(name: str, place: Any, *, records: int) -> dict[str, Any]:
    """One holder of three, half of whose records the next has, too."""
    from discreet.private.union.simulation import sizes_task

    first = "ABC".index(name) * records // 2
    data = {"id": list(range(first, first + records))}
    cpu, found = _cpu(lambda: place.meet(name, sizes_task(["A", "B", "C"], name, data, ["id"], 10)))
    if found["union"] != records * 2:
        raise AssertionError("The union has another size.")
    return {"cpu": cpu}


def sum_part(name: str, place: Any, *, cells: int) -> dict[str, Any]:
    """One owner of three that add up a table."""
    import numpy as np

    from discreet.private.joint.sums import secure_sum
    from discreet.private.parties.conversation import plan_of
    from discreet.private.parties.rounds import PartyTask

    own = np.random.default_rng("ABC".index(name)).integers(0, 1000, cells).astype(float)
    task = PartyTask(plan_of("sum", ["A", "B", "C"], {}), lambda desk: secure_sum(desk, own, "cells"), b"")
    cpu, found = _cpu(lambda: place.meet(name, task))
    truth = sum(np.random.default_rng(k).integers(0, 1000, cells) for k in range(3))
    if not np.array_equal(found, truth):
        raise AssertionError("The sum is another one.")
    return {"cpu": cpu}


def _owner(name: str, rows: int, columns: int) -> dict[str, Any]:
    import numpy as np

    rng = np.random.default_rng(10 + "ABC".index(name))
    X = rng.normal(size=(rows, columns))
    y = (rng.random(rows) < 1 / (1 + np.exp(-X[:, :5].sum(axis=1) / 3))).astype(int)
    return {**{f"x{k}": X[:, k] for k in range(columns)}, "y": y}


def newton_part(name: str, place: Any, *, rows: int, columns: int) -> dict[str, Any]:
    """One owner of three that fit a logit; what a round adds to its own work."""
    from discreet.private import join_as
    from discreet.private.joint import newton

    times: dict[str, list[float]] = {"began": [], "cpu": [], "wall": []}
    plain = newton._own_step

    def watched(*given: Any) -> Any:
        before = time.process_time(), time.perf_counter()
        times["began"] += before
        found = plain(*given)
        times["cpu"].append(time.process_time() - before[0])
        times["wall"].append(time.perf_counter() - before[1])
        return found

    newton._own_step = watched
    here = join_as(name, _owner(name, rows, columns), ["A", "B", "C"], place, without_account=True)
    fit = here.logit("y ~ " + " + ".join(f"x{k}" for k in range(columns)))
    cpu = time.process_time() - times["began"][0] - sum(times["cpu"])
    return {"cpu": cpu / fit.rounds, "rounds": fit.rounds, "beta": fit.coefficients.tolist()}


def _pooled(rows: int, columns: int) -> Any:
    import numpy as np

    owners = [_owner(name, rows, columns) for name in "ABC"]
    y = np.concatenate([one["y"] for one in owners])
    X = np.stack([np.concatenate([one[f"x{k}"] for one in owners]) for k in range(columns)], axis=1)
    X = np.concatenate([np.ones((len(y), 1)), X], axis=1)
    beta = np.zeros(X.shape[1])
    for _ in range(30):
        mu = 1 / (1 + np.exp(-X @ beta))
        beta += np.linalg.solve((X * (mu * (1 - mu))[:, None]).T @ X, X.T @ (y - mu))
    return beta


def _most(found: dict[str, dict[str, Any]], what: str = "cpu") -> float:
    return max(float(one[what]) for one in found.values())


def _words(what: str, found: dict[str, dict[str, Any]]) -> str:
    cpu = json.dumps({name: round(one["cpu"], 2) for name, one in found.items()})
    return f"{what}; processes over mutual TLS; CPU s {cpu}; wall {_most(found, 'wall'):.1f} s on a shared machine"


@case("union")
def union(scale: float) -> Sequence[Measure]:
    """2 x 100,000 records with 56 data bytes in 4 minutes; 10,000 x 10,000 in 20 s; 3 x 100,000 identifiers in 25 s."""
    card, large = int(10_000 * scale), int(100_000 * scale)
    small = between(["A", "B"], partial(union_part, records=card))
    big = between(["A", "B"], partial(union_part, records=large))
    three = between(["A", "B", "C"], partial(sizes_part, records=large))
    both = sum(one["cpu"] for one in big.values())
    return [
        Measure(
            f"union of {card:,} and {card:,}, CPU s of both",
            sum(one["cpu"] for one in small.values()),
            CARD_TARGET,
            1.0,
            _words("3 blocks a record, half of the records shared", small),
        ),
        Measure(
            f"union of {large:,} and {large:,}, CPU s of both one after the other",
            both,
            UNION_TARGET,
            1.0,
            _words("the same", big),
        ),
        Measure(
            f"sizes of three files of {large:,}, CPU s an owner",
            _most(three),
            IDENTIFIERS_TARGET,
            1.0,
            _words("identifiers through three keys", three),
        ),
    ]


@case("joint")
def joint(scale: float) -> Sequence[Measure]:
    """A sum of a million cells in 1 s CPU an owner; a Newton round of 50 columns in 50 ms; the pooled fit to 1e-9."""
    import numpy as np

    cells, rows, columns = int(1_000_000 * scale), max(2_000, int(100_000 * scale)), 49
    added = between(["A", "B", "C"], partial(sum_part, cells=cells))
    fitted = between(["A", "B", "C"], partial(newton_part, rows=rows, columns=columns))
    apart = max(float(np.abs(np.array(one["beta"]) - _pooled(rows, columns)).max()) for one in fitted.values())
    words = _words(f"3 owners of {rows:,} rows, {columns + 1} columns, CPU beside local work, a round", fitted)
    return [
        Measure(
            f"secure sum of {cells:,} cells, CPU s an owner", _most(added), SUM_TARGET, 1.0, _words("shares", added)
        ),
        Measure("Newton round, CPU s beside local work", _most(fitted), ROUND_TARGET, 1.0, words),
        Measure("largest difference from the pooled fit, against 1e-9", apart / AGREEMENT, 1.0, 1.0, f"{apart:.1e}"),
    ]
