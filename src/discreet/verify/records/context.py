"""What checks of records look at: columns before and after a step, and what the step says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.keys import Key
from discreet.model.claims.base import Claim
from discreet.model.evidence import Evidence
from discreet.model.records import RecordSet
from discreet.verify.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class CheckedStep:
    """One step from records to records.

    ``original`` says what the columns are; ``before`` holds all of them as the step found them, ``changed`` those that
    it changed. ``earlier`` is what steps before say of themselves; ``key`` the secret one, where the custodian has it.
    """

    verdict: Verdict
    original: RecordSet
    before: Mapping[str, pa.ChunkedArray]
    changed: Mapping[str, pa.ChunkedArray]
    evidence: Evidence
    earlier: tuple[Evidence, ...] = ()
    key: Key | None = None

    @property
    def method(self) -> Mapping[str, Any]:
        """The method as plain data."""
        return self.evidence.method

    @property
    def kind(self) -> str:
        """The method's name."""
        return str(self.evidence.claim.method)

    def refuse(self, message: str, where: str = "") -> None:
        """Add a reason against the step."""
        self.verdict.refuse(self.kind, message, where)

    def claims(self, expected: Claim) -> None:
        """The step claims what it may, word for word."""
        if self.evidence.claim != expected:
            self.verdict.refuse("claim", f"{self.kind} does not claim what it may")
        self.verdict.not_considered += expected.not_considered


def distinct_pairs(before: pa.ChunkedArray, after: pa.ChunkedArray) -> list[tuple[Any, Any]]:
    """Every pair of an old and a new value that stands in some row."""
    import pyarrow as pa

    pairs = pa.table({"before": before, "after": after}).group_by(["before", "after"]).aggregate([])
    return list(zip(pairs["before"].to_pylist(), pairs["after"].to_pylist(), strict=True))
