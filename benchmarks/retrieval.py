"""Private retrieval from 1 GiB on one core: speed of both schemes beside plain reading, the hint, batches of four."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from benchmarks.registry import Measure, apart, case

PAGE, PER_COLUMN = 4096, 8
GIB = 2**30
REPEATS = 7
XOR_TARGET, LATTICE_TARGET, HINT_TARGET = 15.0, 5.0, 120.0
BITS = 3072


def least(run: Callable[[], Any], repeats: int = REPEATS) -> float:
    """The least CPU seconds of several runs, after one that compiles."""
    run()
    times = []
    for _ in range(repeats):
        started = time.process_time()
        run()
        times.append(time.process_time() - started)
    return min(times)


def answering(size: int) -> dict[str, float]:
    """CPU seconds of answers from a database of so many bytes; every answer is decoded and compared."""
    import numpy as np

    from discreet.private.retrieval.lattice import LatticeScheme, answer_lattice, columns_of, make_hint
    from discreet.private.retrieval.lattice_parameters import parameters
    from discreet.private.retrieval.two_servers import TwoServerXor, answer_xor
    from discreet.private.retrieval.xor_kernels import read_all

    pages = np.random.default_rng(1).integers(0, 2**64, size // 8, np.uint64).view(np.uint8).reshape(-1, PAGE)
    found = {"read": least(lambda: read_all(pages.reshape(-1).view(np.uint64)))}
    xor, indices = TwoServerXor(*pages.shape), [0, 7, len(pages) // 2, len(pages) - 1]
    for name, wanted in (("xor", indices[:1]), ("xor 4", indices)):
        asked = xor.query_many(wanted)
        found[name] = least(lambda message=asked.messages[0]: answer_xor(pages, message))  # type: ignore[misc]
        answers = [answer_xor(pages, message) for message in asked.messages]
        if xor.decode_many(asked, answers) != [pages[index].tobytes() for index in wanted]:
            raise AssertionError("Two servers gave other pages.")
    # A short secret makes the hint quick here; the server's work does not depend on it.
    seed, short = secrets.token_bytes(32), parameters("lwe-1", 16)
    hint = make_hint(columns_of(pages, PER_COLUMN), seed, short)
    one = LatticeScheme(*pages.shape, per_column=PER_COLUMN, seed=seed, hint=hint, insecure_dimension=16)
    for name, wanted in (("lattice", indices[:1]), ("lattice 4", indices)):
        asked = one.query_many(wanted)
        message = asked.messages[0]
        found[name] = least(lambda message=message: answer_lattice(pages, message, per_column=PER_COLUMN))  # type: ignore[misc]
        answer = answer_lattice(pages, message, per_column=PER_COLUMN)
        if one.decode_many(asked, [answer]) != [pages[index].tobytes() for index in wanted]:
            raise AssertionError("One server gave other pages.")
    return found


def hinting(size: int, share: float) -> tuple[float, float]:
    """CPU seconds of the hint at full parameters for a share of the columns, and of a client's question."""
    import numpy as np

    from discreet.private.retrieval.lattice import LatticeScheme, make_hint
    from discreet.private.retrieval.lattice_parameters import VERSIONS

    chosen, height = VERSIONS["lwe-1"], PAGE * PER_COLUMN
    columns = max(1, int(size / height * share))
    data = np.random.default_rng(1).integers(0, 256, (columns, height), np.uint8)
    started = time.process_time()
    hint = make_hint(data, bytes(32), chosen)
    seconds = time.process_time() - started
    client = LatticeScheme(size // PAGE, PAGE, per_column=PER_COLUMN, seed=bytes(32), hint=hint)
    return seconds, least(lambda: client.query(1), 3)


@case("retrieval")
def retrieval(scale: float) -> Sequence[Measure]:
    """1 GiB, one core: XOR 15 GiB/s, lattices 5 GiB/s, hint in 120 s CPU; batches of four in 2 and 2.5 times one."""
    size = int(GIB * scale) // (PAGE * PER_COLUMN) * PAGE * PER_COLUMN
    took = apart(answering, size)
    share = 1.0 if scale == 1 else max(scale, 1 / 16)
    hint, question = apart(hinting, GIB, share)
    speeds = ", ".join(f"{name} {size / GIB / seconds:.1f}" for name, seconds in took.items() if " 4" not in name)
    words = f"{size / GIB:g} GiB in pages of {PAGE}; GiB/s: {speeds}; asking on lattices takes {question:.2f} s"
    whole = f"{share:g} of 1 GiB took {hint:.1f} CPU s with all threads of the product"
    return [
        Measure("XOR, CPU s a GiB, against 15 GiB/s", took["xor"] * GIB / size, 1 / XOR_TARGET, 1.0, words),
        Measure("XOR against plain reading", took["xor"], took["read"], 24 / 15),
        Measure("XOR, four against one", took["xor 4"], took["xor"], 2.0),
        Measure("lattices, CPU s a GiB, against 5 GiB/s", took["lattice"] * GIB / size, 1 / LATTICE_TARGET, 1.0),
        Measure("lattices, four against one", took["lattice 4"], took["lattice"], 2.5),
        Measure("hint of 1 GiB, CPU s", hint / share, HINT_TARGET, 1.0, whole),
    ]


def historic(scheme: str, entries: int, length: int) -> tuple[float, float, float, int, int]:
    """CPU seconds of client and server, and bytes, for one entry at 3072 bits, which must come back right."""
    from discreet.private.retrieval.boxes import as_entries
    from discreet.private.retrieval.hidden_orders import GentryRamzan
    from discreet.private.retrieval.residues import KushilevitzOstrovsky
    from discreet.private.retrieval.selecting import LipmaaScheme, SternScheme
    from discreet.private.retrieval.server import historic_answer

    kinds: dict[str, Any] = {
        "ko": KushilevitzOstrovsky,
        "stern": SternScheme,
        "lipmaa": LipmaaScheme,
        "gr": GentryRamzan,
    }
    data = as_entries([secrets.token_bytes(length) for _ in range(entries)])
    times = [time.process_time()]
    client = kinds[scheme](entries, length, bits=BITS)
    asked = client.query(entries // 2)
    times.append(time.process_time())
    answer = historic_answer(data, asked.messages[0], None)
    times.append(time.process_time())
    if client.decode(asked, [answer]) != data[entries // 2].tobytes():
        raise AssertionError(f"{scheme} gave another entry.")
    times.append(time.process_time())
    asking, answering_, reading = (after - before for before, after in pairwise(times))
    return asking, answering_, reading, len(asked.messages[0]), len(answer)


@case("retrieval-historic")
def retrieval_historic(scale: float) -> Sequence[Measure]:
    """The schemes of the source at 3072 bits, 100 entries of 64 bytes: right, with their cost."""
    entries = max(9, int(100 * scale))
    measures = []
    for scheme in ("ko", "stern", "lipmaa", "gr"):
        asking, server, reading, up, down = apart(historic, scheme, entries, 64)
        words = (
            f"{scheme}: {entries} entries of 64 bytes, {BITS} bits; client {asking:.2f} s to ask, {reading:.2f} s to "
            f"read, server {server:.2f} s, {up:,} bytes up, {down:,} down"
        )
        measures.append(Measure(f"{scheme}, CPU s in all, against 600", asking + server + reading, 600.0, 1.0, words))
    return measures
