"""Releases back from disk."""

from __future__ import annotations

from pathlib import Path

from discreet.errors import VerificationError
from discreet.model.release import PublicRelease, Release, public_table
from discreet.verify import check_folder
from discreet.verify.folder import read_custodian


def load(folder: str | Path) -> Release:
    """Read a saved release back; one that does not prove its claims is refused."""
    folder = Path(folder)
    verdict = check_folder(folder)
    if not verdict.holds:
        raise VerificationError(
            f"The release in {folder.name!r} was refused: {verdict.refused[0]}.",
            hint=f"Run: discreet verify {folder.name}",
        )
    custodian = read_custodian(folder)
    shown = [public_table(table, custodian.withheld(number)) for number, table in enumerate(custodian.tables)]
    return Release(PublicRelease(tuple(shown)), custodian)
