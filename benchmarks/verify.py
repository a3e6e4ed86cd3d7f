"""Checking a large release again: certificates and proofs of a plain table, against a fixed rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.registry import Measure, Timing, apart, case, timed

CODES = 300
CERTIFICATES = 200_000
RATE = 5e6
"""Entries of certificates that are to be checked in a second."""


def release_of(codes: int, certificates: int, insiders: str | None) -> Any:
    """A table of ``codes`` times ``codes`` finest cells, all unsafe and withheld, with boxes as certificates.

    A box changes two rows and two columns of the finest cells, and a certificate is two boxes with a corner in common.
    Every cell has four contributors of its own, and is proved by a certificate that begins there, both ways.
    """
    import numpy as np

    import discreet as ds
    from discreet.model.arrays import pointers
    from discreet.model.claims.suppression import suppression_claim
    from discreet.model.custodian import TableCustodian
    from discreet.model.evidence import Certificates, Evidence, Proofs
    from discreet.model.table import Assessment, CellStatus, Holders

    tree = ds.Hierarchy.flat([f"c{i}" for i in range(codes)])
    side = codes + 1
    random = np.random.default_rng(1)
    inner = random.integers(100, 1000, (codes, codes))
    value = np.zeros((side, side), np.int64)
    value[1:, 1:] = inner
    value[0], value[:, 0] = value.sum(axis=0), value.sum(axis=1)
    value[0, 0] = inner.sum()
    unsafe = np.zeros((side, side), np.bool_)
    unsafe[1:, 1:] = True
    cells = side * side
    none = np.zeros(cells, np.int64)
    level = unsafe.ravel().astype(np.int64)
    table = ds.Table(
        spec=ds.TableSpec({"a": tree, "b": tree}, "v", cells="all"),
        codes=np.column_stack(np.divmod(np.arange(cells), side)).astype(np.int32),
        value=value.ravel(),
        decimals=0,
        empty=np.zeros(cells, np.bool_),
        holders=Holders(none + 4, np.arange(3 * cells).reshape(-1, 3), np.full((cells, 3), 20)),
        manual=np.where(unsafe.ravel(), CellStatus.UNSAFE, 0).astype(np.int8),
        manual_lower=level,
        manual_upper=level,
        assessment=Assessment((), "", {}, unsafe.ravel(), none, level, level, none),
    )
    count = max(certificates, codes * codes)
    at = np.arange(count) % (codes * codes)
    down, right = random.integers(1, codes, (2, 2, count))
    r, c = at // codes, at % codes
    rows = [np.where(i & 1, (r + down[k]) % codes, r) for k in range(2) for i in (0, 1, 0, 1)]
    columns = [np.where(j, (c + right[k]) % codes, c) for k in range(2) for j in (0, 0, 1, 1)]
    places = np.column_stack([(i + 1) * side + j + 1 for i, j in zip(rows, columns, strict=True)])
    # Boxes that meet in more than their corner become one box, so that no certificate changes a cell twice.
    apart_ = (down[0] != down[1]) & (right[0] != right[1])
    amount = np.column_stack([np.full(count, sign) for sign in (1, -1, -1, 1) * 2])
    amount[:, 0] += apart_
    keep = np.ones((count, 8), np.bool_)
    keep[:, 4] = False
    keep[~apart_, 5:] = False
    proofs = codes * codes
    evidence = Evidence(
        method={"method": "suppress", "insiders": insiders},
        claim=suppression_claim(insiders, None, universes=False, unnamed=False, uncounted=False),
        decimals=0,
        certificates=Certificates(
            start=pointers(keep.sum(axis=1)),
            denominator=np.ones(count, np.int64),
            both=np.ones(count, np.bool_),
            entry_table=np.zeros(int(keep.sum()), np.int64),
            entry_row=places[keep],
            amount=amount[keep].astype(np.int64),
        ),
        proofs=Proofs(
            table=np.zeros(proofs, np.int64),
            row=places[:proofs, 0].copy(),
            start=2 * np.arange(proofs + 1),
            certificate=np.repeat(np.arange(proofs), 2),
            use=np.tile(np.array([0, 1], np.int8), proofs),
        ),
    )
    status = np.where(unsafe.ravel(), CellStatus.UNSAFE, CellStatus.SAFE).astype(np.int8)
    return TableCustodian(ds.TableSet([table]), (status,), (evidence,), {})


def checked(codes: int, certificates: int, insiders: str | None) -> Timing:
    """Time of checking claim, certificates and proofs of such a release, relations included."""
    from discreet.verify.evidence import check_evidence
    from discreet.verify.known import Ground
    from discreet.verify.rules import Recheck
    from discreet.verify.verdict import Verdict

    custodian = release_of(codes, certificates, insiders)
    rechecks = [Recheck(table) for table in custodian.tables]

    def run() -> Verdict:
        verdict = Verdict()
        check_evidence(verdict, Ground(custodian), custodian.evidence[0], rechecks)
        return verdict.require()

    entries = len(custodian.evidence[0].certificates.amount)
    return timed(run, lambda verdict: (entries, verdict.proved))


@case("verify")
def verify(scale: float) -> Sequence[Measure]:
    """Certificates of about seven entries each, against outsiders only and against insiders too."""
    measures = []
    for insiders in (None, "nonzero", "full"):
        timing = apart(checked, max(2, round(CODES * scale**0.5)), round(CERTIFICATES * scale), insiders)
        entries, _ = timing.answer
        settings = (
            f"insiders={insiders}: {entries:,} entries, {entries / timing.warm_cpu / 1e6:.1f} million in a CPU second; "
            f"CPU s warm (cold) {timing.warm_cpu:.2f} ({timing.cold_cpu:.2f}); the peer is the limit"
        )
        measures.append(Measure(f"CPU s, insiders={insiders}", timing.warm_cpu, entries / RATE, 1.0, settings))
    return measures
