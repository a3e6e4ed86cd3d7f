"""Releases checked by the independent checker, and against their records."""

from __future__ import annotations

from typing import Any

from discreet.model.custodian import RecordCustodian
from discreet.model.microdata import Microdata
from discreet.model.release import Release
from discreet.verbs.with_records import check_original, check_with_records
from discreet.verify import Verdict, check_records, check_release
from discreet.watching import watched


@watched
def verify(release: Release[Any], data: Microdata | None = None) -> Verdict:
    """Re-check every claim of a release with the independent checker.

    Parameters
    ----------
    release
        The release.
    data
        The records: the cells, and what the method took from the records, are then made anew and compared.
    """
    if isinstance(release.custodian, RecordCustodian):
        found = check_records(release.custodian, release.public)
        return found if data is None else check_original(found, release.custodian, data)
    verdict = check_release(release.custodian, release.public)
    return verdict if data is None else check_with_records(verdict, release, data)
