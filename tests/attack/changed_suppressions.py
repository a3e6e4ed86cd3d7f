"""Changes of what a release of suppressed tables means, as if all digests were recomputed, and of single bytes.

None may pass the checker.

``python -m tests.attack.changed_suppressions --count 10000`` runs them; a sample is in tests/verify.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import discreet as ds
from discreet.model.arrays import NO_LOWER, pointers
from discreet.model.claims.suppression import suppression_claim
from discreet.model.custodian import TableCustodian
from discreet.model.evidence import DOWN, MOVES, UP, Acceptance, Proofs
from discreet.model.public import PublicRelease, public_table
from discreet.model.release import Release
from discreet.model.table import CellStatus
from discreet.verify import check_folder, check_release
from tests.attack.running import tallied
from tests.battery.cases import INPUTS

NEVER = ("accepted", "not named", "true one refused")
"""What must not be found, not once."""


@cache
def release(given: str = "hierarchical") -> Release:
    return ds.protect(INPUTS[given](), ds.Suppress())


class Draft:
    """A release that can be rewritten, public part and digests included."""

    def __init__(self, original: Release, rng: random.Random) -> None:
        self.rng = rng
        self.tables = list(original.custodian.tables.tables)
        self.equations = original.custodian.tables.equations
        self.status = [s.copy() for s in original.custodian.status]
        self.evidence = original.custodian.evidence[0]
        self.public: dict[int, object] = {}

    def pick(self, wanted: Callable[[int], np.ndarray]) -> tuple[int, int]:
        """A random table and row among those wanted."""
        choices = [(t, int(r)) for t in range(len(self.tables)) for r in np.flatnonzero(wanted(t))]
        return self.rng.choice(choices)

    def unsafe(self, t: int) -> np.ndarray:
        return self.status[t] == CellStatus.UNSAFE

    def hidden(self, t: int) -> np.ndarray:
        return self.unsafe(t) | (self.status[t] == CellStatus.SECONDARY)

    def name(self, t: int, r: int) -> str:
        return self.tables[t].cell_name(r)

    def verdict(self) -> ds.verify.Verdict:
        tables = ds.TableSet(self.tables, self.equations)
        custodian = TableCustodian(tables, tuple(self.status), (self.evidence,), {})
        shown = [self.public.get(t) or public_table(table, self.hidden(t)) for t, table in enumerate(self.tables)]
        return check_release(custodian, PublicRelease(tuple(shown)))

    def proofs(self, keep: np.ndarray, entries: np.ndarray | None = None) -> None:
        """Keep some proofs only, and of their entries those marked."""
        p = self.evidence.proofs
        marked = np.ones(len(p.certificate), np.bool_) if entries is None else entries
        at = [i for k in keep.tolist() for i in range(p.start[k], p.start[k + 1]) if marked[i]]
        lengths = np.array([int(marked[p.start[k] : p.start[k + 1]].sum()) for k in keep.tolist()], np.int64)
        kept = Proofs(p.table[keep], p.row[keep], pointers(lengths), p.certificate[at], p.use[at])
        self.evidence = replace(self.evidence, proofs=kept)

    def certificates(self, **changes: np.ndarray) -> None:
        self.evidence = replace(self.evidence, certificates=replace(self.evidence.certificates, **changes))


def primary_removed(d: Draft) -> str:
    t, r = d.pick(d.unsafe)
    d.status[t][r] = d.rng.choice([CellStatus.SAFE, CellStatus.SECONDARY])
    proofs = d.evidence.proofs
    d.proofs(np.flatnonzero((proofs.table != t) | (proofs.row != r)))
    return d.name(t, r)


def level_lowered(d: Draft) -> str:
    side = d.rng.choice(["lower", "upper"])
    t, r = d.pick(lambda t: d.unsafe(t) & (getattr(d.tables[t].assessment, side) > 0))
    assessment = d.tables[t].assessment
    levels = getattr(assessment, side).copy()
    levels[r] -= d.rng.randint(1, int(levels[r]))
    d.tables[t] = d.tables[t].with_(assessment=replace(assessment, **{side: levels}))
    return d.name(t, r)


def proof_dropped(d: Draft) -> str:
    proofs = d.evidence.proofs
    at = d.rng.randrange(len(proofs))
    t, r = int(proofs.table[at]), int(proofs.row[at])
    d.proofs(np.flatnonzero(np.arange(len(proofs)) != at))
    return d.name(t, r)


def use_dropped(d: Draft) -> str:
    """A cell has no certificate any more for one of its levels."""
    proofs = d.evidence.proofs
    at = d.rng.choice(np.flatnonzero(proofs.use != MOVES).tolist())
    number = int(np.searchsorted(proofs.start, at, side="right")) - 1
    mine = np.repeat(np.arange(len(proofs)), np.diff(proofs.start)) == number
    d.proofs(np.arange(len(proofs)), ~(mine & (proofs.use == proofs.use[at])))
    return d.name(int(proofs.table[number]), int(proofs.row[number]))


def certificate_exchanged(d: Draft) -> str:
    """A proof takes a certificate that does not change its cell."""
    c, proofs = d.evidence.certificates, d.evidence.proofs
    at = d.rng.randrange(len(proofs.certificate))
    number = int(np.searchsorted(proofs.start, at, side="right")) - 1
    t, r = int(proofs.table[number]), int(proofs.row[number])
    changes = np.repeat(np.arange(len(c)), np.diff(c.start))[(c.entry_table == t) & (c.entry_row == r)]
    certificate = proofs.certificate.copy()
    certificate[at] = d.rng.choice(np.setdiff1d(np.arange(len(c)), changes).tolist())
    d.evidence = replace(d.evidence, proofs=replace(proofs, certificate=certificate))
    return d.name(t, r)


def direction_flipped(d: Draft) -> str:
    proofs = d.evidence.proofs
    one_way = ~d.evidence.certificates.both[proofs.certificate] & (proofs.use != MOVES)
    at = d.rng.choice(np.flatnonzero(one_way).tolist())
    use = proofs.use.copy()
    use[at] = UP + DOWN - use[at]
    d.evidence = replace(d.evidence, proofs=replace(proofs, use=use))
    number = int(np.searchsorted(proofs.start, at, side="right")) - 1
    return d.name(int(proofs.table[number]), int(proofs.row[number]))


def both_ways_claimed_wrongly(d: Draft) -> str:
    """A certificate is said to hold with the opposite sign too, where a cell would fall below zero."""
    c = d.evidence.certificates
    which = np.repeat(np.arange(len(c)), np.diff(c.start))
    value = np.array([d.tables[t].value[r] for t, r in zip(c.entry_table, c.entry_row, strict=True)])
    at = d.rng.choice(np.flatnonzero((c.amount > value * c.denominator[which]) & ~c.both[which]).tolist())
    both = c.both.copy()
    both[which[at]] = True
    d.certificates(both=both)
    return d.name(int(c.entry_table[at]), int(c.entry_row[at]))


def holder_shared(d: Draft) -> str:
    """Somebody turns out to be alone in a cell of every certificate of a level."""
    c, proofs = d.evidence.certificates, d.evidence.proofs
    number = d.rng.choice(np.flatnonzero(np.diff(proofs.start)).tolist())
    mine = np.arange(proofs.start[number], proofs.start[number + 1])
    mine = mine[proofs.use[mine] == proofs.use[mine[0]]]
    t, r = int(proofs.table[number]), int(proofs.row[number])
    changed = np.isin(np.repeat(np.arange(len(c)), np.diff(c.start)), proofs.certificate[mine])
    for i, table in enumerate(d.tables):
        rows = c.entry_row[changed & (c.entry_table == i)]
        rows = rows[(rows != r) | (i != t)]
        holders = table.holders
        count, identity = holders.count.copy(), holders.identity.copy()
        count[rows], identity[rows, 0], identity[rows, 1:] = 1, 12345, -1
        d.tables[i] = table.with_(holders=replace(holders, count=count, identity=identity))
    return d.name(t, r)


def accepted_cell_invented(d: Draft) -> str:
    t, r = d.pick(lambda t: ~d.unsafe(t))
    cell = d.tables[t].spec_codes(d.tables[t].codes[r].tolist())
    accepted = Acceptance(d.tables[t].name, cell, "because", "me")
    d.evidence = replace(
        d.evidence,
        accepted=[accepted],
        claim=suppression_claim("full", None, universes=False, unnamed=False, uncounted=False, accepted=1),
    )
    return ", ".join(cell)


def published_cell_in_support(d: Draft) -> str:
    c = d.evidence.certificates
    t, r = d.pick(lambda t: ~d.hidden(t) & ~d.tables[t].empty)
    number = d.rng.randrange(len(c))
    at = int(c.start[number + 1])
    start = c.start.copy()
    start[number + 1 :] += 1
    d.certificates(
        start=start,
        entry_table=np.insert(c.entry_table, at, t),
        entry_row=np.insert(c.entry_row, at, r),
        amount=np.insert(c.amount, at, d.rng.choice([-1, 1])),
    )
    return d.name(t, r)


def secondary_published(d: Draft) -> str:
    c = d.evidence.certificates
    used = {(int(t), int(r)) for t, r in zip(c.entry_table, c.entry_row, strict=True)}
    t, r = d.rng.choice(sorted(cell for cell in used if d.status[cell[0]][cell[1]] == CellStatus.SECONDARY))
    d.status[t][r] = CellStatus.SAFE
    return d.name(t, r)


def bound_broken_by_one_unit(d: Draft) -> str:
    """What is known of a cell is one unit more than a certificate allows."""
    c = d.evidence.certificates
    at = d.rng.choice(np.flatnonzero((c.amount < 0) & (np.repeat(c.denominator, np.diff(c.start)) == 1)).tolist())
    t, r = int(c.entry_table[at]), int(c.entry_row[at])
    table = d.tables[t]
    bound = np.full(len(table), NO_LOWER) if table.lower_bound is None else table.lower_bound.copy()
    bound[r] = table.value[r] + c.amount[at] + 1
    d.tables[t] = table.with_(lower_bound=bound)
    return d.name(t, r)


def amount_changed_by_one_unit(d: Draft) -> str:
    c = d.evidence.certificates
    amount = c.amount.copy()
    amount[d.rng.randrange(len(amount))] += d.rng.choice([-1, 1])
    d.certificates(amount=amount)
    return ""


def certificate_below_level(d: Draft) -> str:
    """All moves of a certificate shrink alike, so that relations still hold, but a level is missed."""
    c, proofs = d.evidence.certificates, d.evidence.proofs
    number = d.rng.choice(np.unique(proofs.certificate[proofs.use != MOVES]).tolist())
    denominator = c.denominator.copy()
    denominator[number] *= 10**9
    d.certificates(denominator=denominator)
    return ""


def value_put_back(d: Draft) -> str:
    t, r = d.pick(d.hidden)
    table = public_table(d.tables[t], d.hidden(t))
    full = public_table(d.tables[t], np.zeros(len(d.tables[t]), np.bool_))
    value, shown = table.value.copy(), table.shown.copy()
    value[r] = full.value[r]
    shown[r] = d.rng.random() < 0.9
    d.public[t] = replace(table, value=value, shown=shown)
    return d.name(t, r)


def published_value_changed(d: Draft) -> str:
    t, r = d.pick(lambda t: ~d.hidden(t) & ~d.tables[t].empty)
    table = public_table(d.tables[t], d.hidden(t))
    value = table.value.copy()
    value[r] += d.rng.choice([-1, 1])
    d.public[t] = replace(table, value=value)
    return d.name(t, r)


def original_value_changed(d: Draft) -> str:
    t, r = d.pick(lambda t: ~d.tables[t].empty)
    value = d.tables[t].value.copy()
    value[r] += d.rng.choice([-1, 1])
    d.tables[t] = d.tables[t].with_(value=value)
    return ""


def claim_overstated(d: Draft) -> str:
    claim = d.evidence.claim
    changed = d.rng.choice(
        [
            replace(claim, statement="Nobody can be recognised."),
            replace(claim, attackers=(*claim.attackers, "insiders: know their own contributions")),
            replace(claim, not_considered=claim.not_considered[:-1]),
            replace(claim, method="magic"),
        ]
    )
    d.evidence = replace(d.evidence, claim=changed)
    return ""


MUTATIONS = [
    claim_overstated,
    primary_removed,
    level_lowered,
    proof_dropped,
    use_dropped,
    certificate_exchanged,
    direction_flipped,
    both_ways_claimed_wrongly,
    holder_shared,
    accepted_cell_invented,
    published_cell_in_support,
    secondary_published,
    bound_broken_by_one_unit,
    amount_changed_by_one_unit,
    certificate_below_level,
    value_put_back,
    published_value_changed,
    original_value_changed,
]


def attack(count: int, seed: int = 0) -> Counter[str]:
    """Make so many changes in turn, and count those that pass or whose cell the refusal does not name."""
    rng, found = random.Random(seed), Counter[str]()
    for given in ("hierarchical", "linked"):
        found["true one refused"] += not Draft(release(given), rng).verdict().holds
    for trial in range(count):
        turn, kind = divmod(trial, len(MUTATIONS))
        mutate = MUTATIONS[kind]
        draft = Draft(release("linked" if turn % 10 == 0 else "hierarchical"), rng)
        cell = mutate(draft)
        verdict = draft.verdict()
        found["changes"] += 1
        if verdict.holds:
            found["accepted"] += 1
            print(f"{mutate.__name__} {cell}", flush=True)
        elif cell and not any(cell in str(refusal) for refusal in verdict.refused):
            found["not named"] += 1
            print(f"{mutate.__name__} {cell}: {verdict}", flush=True)
    return found


def changed_bytes(folder: Path, count: int, seed: int) -> list[str]:
    """Change so many bytes of a saved release, one at a time: those that the checker takes."""
    rng = random.Random(seed)
    content = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    taken = []
    for _ in range(count):
        path = rng.choice(list(content))
        data = bytearray(content[path])
        at = rng.randrange(len(data))
        data[at] = (data[at] + rng.randrange(1, 256)) % 256
        path.write_bytes(data)
        if check_folder(folder).holds:
            taken.append(f"{path.name}, byte {at}")
        path.write_bytes(content[path])
    return taken


def attack_both(count: int, seed: int = 0) -> Counter[str]:
    """So many changes of meaning, and as many of bytes."""
    found = attack(count, seed)
    with TemporaryDirectory() as place:
        ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress()).save(Path(place) / "out")
        taken = changed_bytes(Path(place) / "out", count, seed)
    print(*taken, sep="\n")
    found["bytes"] += count
    found["accepted"] += len(taken)
    return found


if __name__ == "__main__":
    raise SystemExit(tallied(__doc__, 10_000, attack_both, NEVER))
