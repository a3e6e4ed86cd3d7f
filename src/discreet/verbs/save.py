"""Releases to disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.errors import ParameterError
from discreet.files.published.heading import Heading
from discreet.files.record_folder import write_records
from discreet.files.sealing import refuse_foreign, sign_release
from discreet.files.table_folder import write_tables
from discreet.model.custodian import RecordCustodian
from discreet.model.release import Release
from discreet.trust import SigningKey
from discreet.verify import check_folder
from discreet.watching import watched


@watched
def save(
    release: Release[Any],
    folder: str | Path,
    *,
    report: bool | str = False,
    formats: Sequence[str] = ("csv",),
    restricted: Sequence[str] = (),
    heading: Heading | None = None,
    sign: str | Path | None = None,
    replace: bool = False,
) -> str:
    """Write a release: ``public/`` for the world, ``custodian/`` (mode 0700) for the house.

    All or nothing: what was in the folder before stays until the new release is complete, and a folder that is
    not a release of ours is never touched. The same release, made again, takes the place of the one that is there;
    another one does so only with ``replace=True``.

    Parameters
    ----------
    release
        The release.
    folder
        Where it goes.
    report
        Write ``custodian/report.html`` too; a text is taken as the page. Records in the format ``"asc"`` get
        ``custodian/mu_argus_report.html`` besides.
    formats
        Formats of the public files: ``"csv"`` (always), ``"xlsx"``, ``"jsonstat"``, ``"sdmx-csv"``, ``"sdmx-json"``,
        ``"px"``, ``"parquet"``, ``"sav"``, ``"dta"``.
    restricted
        Transmissions to offices that may see confidential values, in ``restricted/`` (mode 0700): ``"sdmx-csv"`` or
        ``"sdmx-json"`` with true values and ``CONF_STATUS``.
    heading
        Agency, units, source and time that some formats state.
    sign
        File of the office's signing key (``discreet signing-key`` makes one): the release is signed with it, so that
        nobody else can change it unnoticed.
    replace
        Let it take the place of another release, whose evidence goes with it.

    Returns
    -------
    str
        The seal: the digest of the list of all files. Keep it elsewhere: whoever may write into the folder can change
        files and seal them anew, and ``discreet verify --seal`` finds that out.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     seal = ds.save(release, f"{parent}/out", formats=["px"])
    ...     print(ds.check_folder(f"{parent}/out", seal=seal).holds)
    True
    """
    refuse_foreign(Path(folder))
    key = None if sign is None else SigningKey.from_file(sign)
    custodian = release.custodian
    page = _page(release) if report is True else report
    extra = {"custodian/report.html": page} if page else {}
    if isinstance(custodian, RecordCustodian):
        if page and "asc" in formats:
            extra |= _mu_argus_page(release)
        if restricted or heading is not None:
            raise ParameterError("restricted= and heading= are for tables, and this is a release of records.")
        return write_records(Path(folder), release.public, custodian, extra, formats, key, replace=replace)
    return write_tables(
        Path(folder), release.public, custodian, extra, formats, restricted, heading, key, replace=replace
    )


def _mu_argus_page(release: Release[Any]) -> dict[str, str]:
    """The report with the sections of μ-ARGUS's own, for safe files in its format."""
    from discreet.report.mu_argus import NAME, mu_argus_report

    return {f"custodian/{NAME}": mu_argus_report(release)}


def _page(release: Release[Any]) -> str:
    """The custodian's report, which takes long to import."""
    from discreet.report import custodian_report, records_report

    if isinstance(release.custodian, RecordCustodian):
        from discreet.verbs.audit_records import audit_for_report

        return records_report(release, audit=audit_for_report(release))
    from discreet.verbs.prices import prices_for_report

    return custodian_report(release, prices=prices_for_report(release))


def sign(folder: str | Path, key: str | Path) -> None:
    """Sign a saved release with an office's key; one that does not prove its claims is not signed.

    Parameters
    ----------
    folder
        The release.
    key
        File of the signing key, in PEM; ``discreet signing-key`` makes one.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> from discreet.trust import make_keys
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     keys = make_keys(f"{parent}/office.key")
    ...     seal = release.save(f"{parent}/out")
    ...     ds.sign(f"{parent}/out", f"{parent}/office.key")
    ...     print(ds.check_folder(f"{parent}/out", public_key=f"{parent}/office.key.pub").holds)
    True
    """
    signing = SigningKey.from_file(key)
    check_folder(folder).require()
    sign_release(Path(folder), signing)
