"""Changes of what altered releases mean: values, originals, evidence, intervals, claims; none may pass the checker.

``python -m tests.attack.changed_meanings --count 10000`` runs them; a sample is in tests/verify.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np

import discreet as ds
from tests.attack.running import tallied
from tests.verify.forging import RELEASES, UNSAFE, Forgery

NEVER = ("accepted",)
"""What must not be found, not once."""
SIZE = {"cell-key-values": 3}
"""Magnitudes are recomputed in floating point; all others to the unit."""
CHECKED = {
    "cell-key": {"cells": ("contributors", "key_sum")},
    "cell-key-linked": {"cells": ("contributors", "key_sum")},
    "cell-key-whole": {"cells": ("contributors", "key_sum")},
    "cell-key-values": {"cells": ("total",)},
    "small-count": {"inner": ("count", "rounded")},
    "noise": {"altered": ("value", "own")},
    "noise-counts": {"altered": ("value",)},
    "drop-add": {"altered": ("records",)},
    "drop-q": {"altered": ("moved", "records")},
    "swap": {"altered": ("value",)},
    "redistribute": {"moves": ("units", "steps", "source", "target")},
    "redistribute-values": {"contributions": ("value",), "repaired": ("value",)},
}
"""Columns of the evidence of which every entry is checked."""
Change = Callable[[Forgery, str, random.Random], str]


def value_moved(f: Forgery, name: str, rng: random.Random) -> str:
    """One published value, in any row of any table."""
    t = rng.randrange(len(f.published))
    row = rng.randrange(len(f.published[t]))
    by = rng.choice([-1, 1]) * SIZE.get(name, rng.choice([1, 2, 3]))
    f.published[t][row] += by
    return f"{f.tables[t].name}: {f.tables[t].cell_name(row)} {by:+d}"


def two_values_moved(f: Forgery, name: str, rng: random.Random) -> str:
    """Two values against each other, so that a sum or two still holds."""
    one, two = rng.sample(range(len(f.published[0])), 2)
    by = SIZE.get(name, 1)
    f.published[0][one] += by
    f.published[0][two] -= by
    return f"{f.table.cell_name(one)} and {f.table.cell_name(two)}"


def original_changed(f: Forgery, name: str, rng: random.Random) -> str:
    t = rng.randrange(len(f.tables))
    row = rng.randrange(len(f.tables[t]))
    value = f.tables[t].value.copy()
    value[row] += rng.choice([-1, 1])
    f.cells(t, value=value)
    return f.tables[t].cell_name(row)


def column_changed(f: Forgery, name: str, rng: random.Random) -> str:
    """One entry of a column that the evidence rests on."""
    part = rng.choice(sorted(CHECKED[name]))
    column = rng.choice(CHECKED[name][part])
    values = f.evidence.parts[part][column].copy()
    at = rng.randrange(len(values))
    values[at] += rng.choice([-1, 1])
    f.part(part, **{column: values})
    return f"{part}.{column}[{at}]"


def interval_changed(f: Forgery, name: str, rng: random.Random) -> str:
    t, end = rng.randrange(len(f.intervals)), rng.randrange(2)
    row = rng.randrange(len(f.intervals[t][end]))
    f.intervals[t][end][row] += rng.choice([-2, 2])
    return f"end {end} of {f.tables[t].cell_name(row)}"


def unsafe_forgotten(f: Forgery, name: str, rng: random.Random) -> str:
    row = rng.choice(np.flatnonzero(f.status[0] == UNSAFE).tolist())
    f.status[0][row] = ds.model.table.CellStatus.SAFE
    return f.table.cell_name(row)


def claim_overstated(f: Forgery, name: str, rng: random.Random) -> str:
    claim = f.evidence.claim
    changed = rng.choice(
        [
            replace(claim, statement="Nobody can be recognised."),
            replace(claim, statement=claim.statement.replace("Done as stated", "Safe") + " "),
            replace(claim, attackers=(*claim.attackers, "everybody")),
            replace(claim, not_considered=claim.not_considered[1:]),
            replace(claim, not_considered=()),
            replace(claim, together_with=("another release",)),
        ]
    )
    f.set(claim=changed)
    return changed.statement[:40]


def method_exchanged(f: Forgery, name: str, rng: random.Random) -> str:
    """The evidence says that another method made it."""
    kinds = {"adjust", "cell_key", "drop_add", "intervals", "multiplicative_noise", "round", "small_count", "swap"}
    kind = rng.choice(sorted({*kinds, "suppress", "magic"} - {f.evidence.claim.method}))
    f.set(claim=replace(f.evidence.claim, method=kind))
    return kind


CHANGES: dict[Change, Callable[[str], bool]] = {
    value_moved: lambda name: True,
    two_values_moved: lambda name: True,
    original_changed: lambda name: True,
    column_changed: lambda name: name in CHECKED,
    interval_changed: lambda name: name.startswith(("intervals", "drop-intervals")),
    unsafe_forgotten: lambda name: True,
    claim_overstated: lambda name: True,
    method_exchanged: lambda name: True,
}
PAIRS = [(change, name) for change, fits in CHANGES.items() for name in RELEASES if fits(name)]


def attack(count: int, seed: int = 0) -> Counter[str]:
    """So many changes, every kind with every method in turn; what is public follows from what is forged."""
    found: Counter[str] = Counter()
    for number in range(count):
        change, name = PAIRS[(seed + number) % len(PAIRS)]
        forgery = Forgery(name)
        what = change(forgery, name, random.Random(seed + number))
        found["changes"] += 1
        if forgery.verdict().holds:
            found["accepted"] += 1
            print(f"accepted: {name}, {change.__name__} {what}, seed {seed + number}", flush=True)
    return found


if __name__ == "__main__":
    raise SystemExit(tallied(__doc__, 10_000, attack, NEVER))
