"""Releases back from disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.errors import VerificationError
from discreet.folders import as_one
from discreet.model.release import Release
from discreet.verify import check_folder
from discreet.verify.folder import read_custodian, refuse_unsaved
from discreet.verify.records.files import read_record_custodian
from discreet.watching import watched


@watched
def load(folder: str | Path) -> Release[Any]:
    """Read a saved release back; one that does not prove its claims is refused.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     seal = release.save(f"{parent}/out")
    ...     print(ds.load(f"{parent}/out").pattern().digest == release.pattern().digest)
    True
    """
    folder = Path(folder)
    refuse_unsaved(folder)

    def read(place: Path) -> Release[Any]:
        verdict = check_folder(place)
        if not verdict.holds:
            raise VerificationError(
                f"The release in {folder.name!r} was refused: {verdict.refused[0]}.",
                hint=f"Run: discreet verify {folder.name}",
            )
        if (place / "custodian" / "records.json").is_file():
            records = read_record_custodian(place)
            return Release(records.public(), records)
        custodian = read_custodian(place)
        return Release(custodian.public(), custodian)

    return as_one(folder, read)
