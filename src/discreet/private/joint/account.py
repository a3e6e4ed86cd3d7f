"""An owner's account of models that it took part in: what two of them would show by their difference is refused.

Sums of two runs differ by the records that changed between them. So an owner keeps, for each run, a sketch of every
column that entered: keyed counts and sums by which the number of changed values can be told, and no value.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, ParameterError, listed
from discreet.private.parties.conversation import Desk
from discreet.private.parties.rounds import PartyTask, Talk
from discreet.private.problems import ProtocolError
from discreet.trust.private_folder import alone_with, read_bounded, replace_file, write_new_file

T = TypeVar("T")
ACCOUNTS_KEPT = (
    "kept by every owner: a run that would show fewer than min_cell changed records beside an earlier one is refused"
)
NO_ACCOUNTS = "none: two runs whose records differ by a few show these"
"""What a result says of accounts."""
BUCKETS = 256
KEY_BYTES = 32
LARGEST_ACCOUNT = 500_000_000
LEAST_OWNERS = 3
"""Owners by which two runs must differ, if they do: the difference is the total of those."""
Sketch = NDArray[np.uint64]
"""For each bucket, how many values, and the sum of their hashes modulo 2^64."""


def whole_records(columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The columns, and all of them together: values that change places are changes, too."""
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    together = np.array([repr([_plain(one) for one in row]) for row in rows])
    return {**columns, f"records of {', '.join(sorted(columns))}": together}


class AccountedRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A run that was begun."""

    session: str
    owners: tuple[str, ...]
    columns: dict[str, str]


class ModelAccount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All runs that were begun, and the key of their sketches."""

    version: int
    key: str
    runs: tuple[AccountedRun, ...] = ()


def new_account(file: str | Path) -> None:
    """Begin an owner's account of joint models in a file that is not there yet.

    A name that is mistyped later is then refused: an account that is begun anew has forgotten all earlier runs, and
    the next one could show what changed since.

    Parameters
    ----------
    file
        Where to keep it; for the owner alone.

    Raises
    ------
    OutputError
        When the file exists, or cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import discreet as ds
    >>> with TemporaryDirectory() as folder:
    ...     ds.private.new_account(Path(folder) / "north.account")
    """
    write_new_file(Path(file), msgspec.json.encode(ModelAccount(1, secrets.token_hex(KEY_BYTES))))


def require_account(account: str | Path | None, without_account: bool) -> None:
    """Refuse to begin unless an owner keeps an account, or says that there is to be none.

    Raises
    ------
    ParameterError
        When it says neither, or both.
    """
    if (account is None) == (not without_account):
        raise ParameterError(
            "An owner says where it keeps account of its models: two runs whose records differ by a few show these."
            if account is None
            else "An owner keeps an account or keeps none.",
            hint="Give account=FILE, always the same; or without_account=True, to which all owners must agree.",
        )


def agreed_on_accounts(task: PartyTask[T], kept: bool) -> PartyTask[T]:
    """The same task, to which only those agree who keep accounts, or who keep none, either."""
    term = hashlib.sha256(b"kept" if kept else b"none").hexdigest()
    return replace(task, plan=msgspec.structs.replace(task.plan, terms={**task.plan.terms, "accounts": term}))


def accounted(task: PartyTask[T], file: str | Path | None, least: int) -> PartyTask[T]:
    """The same task, entered in the owner's account once all have greeted and before anything is opened.

    All agree on whether accounts are kept.

    Parameters
    ----------
    task
        What the owner does.
    file
        The account, which :func:`new_account` has begun; for the owner alone. ``None`` keeps none, as all have agreed.
    least
        Values of a column that must have changed since an earlier run, if any has.

    Raises
    ------
    InputError
        When there is no such account, or it is damaged.
    ProtocolError
        ``too many runs``, in the run, when an earlier run and this one together would show changed records, or the
        part of an owner.
    """
    task = agreed_on_accounts(task, file is not None)
    if file is None:
        return task
    account = _read(Path(file))  # one that cannot be read is told before anybody waits
    key = bytes.fromhex(account.key)
    sketches = {name: _sketch(values, key) for name, values in task.columns().items()}

    def work(desk: Desk) -> Talk[T]:
        with alone_with(Path(file)):  # two runs at the same moment must find each other
            _enter(Path(file), account.key, desk, sketches, least)
        return (yield from task.work(desk))

    return replace(task, work=work)


def _enter(file: Path, key: str, desk: Desk, sketches: Mapping[str, Sketch], least: int) -> None:
    account = _read(file, key)
    for run in account.runs:
        if run.session == desk.session.hex():
            return  # a run by files that is taken up again
        shared = [name for name in sketches if name in run.columns]
        apart = set(run.owners) ^ set(desk.parties)
        if shared and 0 < len(apart) < LEAST_OWNERS:
            raise ProtocolError(
                "too many runs",
                f"An earlier run with columns {listed(shared)} had other owners.",
                hint="Both runs together would show the part of an owner. Use other columns, or the same owners.",
            )
        close = [name for name in shared if 0 < _changed(_decoded(run.columns[name]), sketches[name]) < least]
        if close:
            raise ProtocolError(
                "too many runs",
                f"Since an earlier run fewer than {least} values of {listed(close)} have changed.",
                hint="Both runs together would show them. Go on with the records of the earlier run.",
            )
    columns = {name: base64.b64encode(one.tobytes()).decode() for name, one in sketches.items()}
    new = AccountedRun(desk.session.hex(), desk.parties, columns)
    replace_file(file, msgspec.json.encode(ModelAccount(1, account.key, (*account.runs, new))))


def _sketch(values: NDArray[Any], key: bytes) -> Sketch:
    """Counts and sums of hashes of the values, by bucket."""
    plain, counts = np.unique(values, return_counts=True)
    digests = b"".join(hashlib.blake2b(_plain(one), key=key, digest_size=16).digest() for one in plain.tolist())
    numbers = np.frombuffer(digests, "<u8").reshape(-1, 2).astype(np.uint64)
    found = np.zeros((2, BUCKETS), dtype=np.uint64)
    place = (numbers[:, 0] % np.uint64(BUCKETS)).astype(np.int64)
    np.add.at(found[0], place, counts.astype(np.uint64))
    np.add.at(found[1], place, numbers[:, 1] * counts.astype(np.uint64))
    return found


def _plain(value: Any) -> bytes:
    """A value as bytes; whole numbers look alike in all types of numbers."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(int(value) if isinstance(value, bool) else value).encode()


def _changed(one: Sketch, other: Sketch) -> int:
    """Persons whose values came, went or changed, at least: more in the same bucket may look like fewer."""
    counts = other[0].astype(np.int64) - one[0].astype(np.int64)
    exchanged = (counts == 0) & (one[1] != other[1])
    return int(max(counts.clip(min=0).sum(), -counts.clip(max=0).sum()) + exchanged.sum())


def _decoded(text: str) -> Sketch:
    return np.frombuffer(base64.b64decode(text), np.uint64).reshape(2, BUCKETS)


def _read(file: Path, key: str | None = None) -> ModelAccount:
    if not file.exists():
        raise InputError(
            f"There is no account of models {file.name!r}.",
            hint="Check the name: an account that is begun anew has forgotten all earlier runs. The first one is begun "
            "by 'discreet joint new-account FILE', or ds.private.new_account(FILE).",
        )
    try:
        found = msgspec.json.decode(read_bounded(file, "account of models", LARGEST_ACCOUNT), type=ModelAccount)
        for run in found.runs:
            for text in run.columns.values():
                _decoded(text)
        if found.version != 1 or len(bytes.fromhex(found.key)) != KEY_BYTES or (key or found.key) != found.key:
            raise ValueError("another version or key")
    except (msgspec.MsgspecError, ValueError):
        raise InputError(
            f"The account of models {file.name!r} is damaged.", hint="Nothing is run without it."
        ) from None
    return found
