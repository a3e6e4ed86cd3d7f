"""Parties without a connection meet in a folder that somebody carries or copies: the same sealed messages, as files.

A run can be broken off and taken up again. Everything random comes from one seed, which lies with what was received
in a folder of the party's own; what was answered once is never answered in another way.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from discreet.errors import InputError, OutputError
from discreet.private.parties.conversation import RunPlan, conversation, plan_bytes
from discreet.private.parties.identity import CertificateIdentity, PartyCredentials
from discreet.private.parties.randomness import SEED_BYTES
from discreet.private.parties.rounds import Heard, PartyTask, SealedRound
from discreet.private.parties.wire import MOST_BYTES, WireFrame, stopped_by
from discreet.private.problems import KINDS, ProtocolError
from discreet.private.retrieval.frames import Transcript
from discreet.trust.private_folder import (
    OPEN,
    alone_in,
    make_private_folder,
    read_bounded,
    remove_file,
    replace_file,
    require_private_folder,
    write_new_file,
)

T = TypeVar("T")
LOOK_EVERY = 0.05
DAY = 86_400.0
STOP = re.compile(r"stop-(\d+)")


class KeptIdentity:
    """Signs a greeting once, and gives the same signature again when a run is taken up."""

    def __init__(self, plain: CertificateIdentity, folder: Path) -> None:
        self._plain, self._folder = plain, folder
        self.certificate, self.check = plain.certificate, plain.check

    def sign(self, data: bytes) -> bytes:
        """A signature."""
        file = self._folder / f"signature-{hashlib.sha256(data).hexdigest()}"
        if not file.exists():
            replace_file(file, self._plain.sign(data))
        return read_bounded(file, "signature", 4096, secret=True)


@dataclass(frozen=True)
class SharedFolder:
    """A party that meets the others in a folder.

    Parameters
    ----------
    folder
        Where all write sealed messages, which may be copied from place to place by anybody.
    own
        A folder of the party's own, which nobody else may enter: a run that was broken off goes on from there. It is
        made, and what is secret in it is removed at the end.
    credentials
        Of the party; ``None`` for tries in one place, where nobody proves its name.
    patience
        Seconds to wait for a message; the run can be taken up again after that.
    keep
        Keep the run after its end, so that the same again gives the same result again, until :meth:`forget`: for
        whoever writes the result to a file and may be stopped before.

    Examples
    --------
    >>> import discreet as ds
    >>> place = ds.private.SharedFolder("exchange", "own", ds.private.PartyCredentials("a.pem", "a.key", "public"))
    >>> place.patience
    86400.0
    """

    folder: str | Path
    own: str | Path
    credentials: PartyCredentials | None
    patience: float = DAY
    keep: bool = False

    def meet(self, me: str, task: PartyTask[T], record: Transcript | None = None) -> T:
        """Take part in a run as one party, or go on with one.

        Raises
        ------
        ProtocolError
            When there is no result. After ``party unreachable`` the run can be taken up again.
        """
        own, shared = Path(self.own), Path(self.folder)
        if not own.exists():
            make_private_folder(own)
        require_private_folder(own, "party's own folder", "Give a new folder.")
        with contextlib.suppress(FileExistsError):
            shared.mkdir(parents=True)
        with alone_in(own):
            desk = _FolderRun(self, me, task.plan, own, shared)
            return desk.run(task, record)

    def forget(self) -> None:
        """Remove what is secret of a run that was kept: its result is where it belongs."""
        with alone_in(Path(self.own)):
            _close(Path(self.own))


class _FolderRun:
    """One party's work in a folder."""

    def __init__(self, place: SharedFolder, me: str, plan: RunPlan, own: Path, shared: Path) -> None:
        self.place, self.me, self.plan, self.own, self.shared = place, me, plan, own, shared

    def run(self, task: PartyTask[T], record: Transcript | None) -> T:
        if (self.own / "finished").exists():
            _close(self.own)  # whoever was stopped in it
            raise ProtocolError("replayed message", "This run is over.", hint="Use new folders for another run.")
        identity = None
        if self.place.credentials is not None:
            plain = self.place.credentials.identity()
            if plain.name != self.me:
                raise ProtocolError(
                    "refused by a party", f"The certificate is not of {self.me!r}.", hint="Give the party's own."
                )
            identity = KeptIdentity(plain, self.own)
        talk = conversation(self.me, task, seed=self._seed(task), identity=identity, record=record)
        try:
            step = next(talk)
            while True:
                self._say(step)
                step = talk.send(self._heard(step))
        except StopIteration as stop:
            if not self.place.keep:
                _close(self.own)
            result: T = stop.value
            return result
        except ProtocolError as error:
            if error.kind not in ("party unreachable", "refused by a party"):
                self._stop(error.kind)
            raise
        except InputError:
            self._stop("refused by a party")
            raise
        finally:
            talk.close()

    def _seed(self, task: PartyTask[T]) -> bytes:
        """The seed of the run; with other records or another plan it would open what it hides."""
        file = self.own / "seed"
        bound = plan_bytes(task.plan) + task.digest
        if not file.exists():
            seed = secrets.token_bytes(SEED_BYTES)
            replace_file(file, seed + hmac.digest(seed, bound, "sha256"))
        kept = read_bounded(file, "seed", 1024, secret=True)
        seed = kept[:SEED_BYTES]
        if not hmac.compare_digest(kept[SEED_BYTES:], hmac.digest(seed, bound, "sha256")):
            raise ProtocolError(
                "other records",
                "This run was begun with other records or other terms.",
                hint="Go on with the same ones, or begin anew in new folders.",
            )
        return seed

    def _place_of(self, number: int, sender: str, to: str) -> str:
        return f"{number:06d}-{self.plan.parties.index(sender)}-{self.plan.parties.index(to)}"

    def _say(self, step: SealedRound) -> None:
        for to, body in step.says.items():
            file = self.shared / self._place_of(step.number, self.me, to)
            if not file.exists():
                _put(file, body)
            elif read_bounded(file, "message", MOST_BYTES) != body:
                raise ProtocolError(
                    "tampered", f"What {self.me} said in round {step.number} was changed.", hint="Begin anew."
                )

    def _heard(self, step: SealedRound) -> Heard:
        return {name: self._message(step.number, name) for name in sorted(step.hears)}

    def _message(self, number: int, sender: str) -> bytes:
        """A message as it was read first; later changes of the file do not count."""
        name = self._place_of(number, sender, self.me)
        kept = self.own / name
        if not kept.exists():
            self._await(self.shared / name, sender)
            replace_file(kept, read_bounded(self.shared / name, "message", MOST_BYTES))
        return read_bounded(kept, "message", MOST_BYTES, secret=True)

    def _await(self, file: Path, sender: str) -> None:
        end = time.monotonic() + self.place.patience
        while not file.exists():
            for other in self.shared.glob("stop-*"):
                self._stopped(other)
            if time.monotonic() > end:
                raise ProtocolError(
                    "party unreachable",
                    f"{sender} has not written yet.",
                    hint="Run the same command again when its files are there: the run goes on.",
                )
            time.sleep(LOOK_EVERY)

    def _stopped(self, file: Path) -> None:
        found = STOP.fullmatch(file.name)
        if found is None or not int(found[1]) < len(self.plan.parties):
            return
        why = read_bounded(file, "message", 1024).decode(errors="replace")
        name = self.plan.parties[int(found[1])]
        raise stopped_by(WireFrame("stop", name, body=(why if why in KINDS else "refused by a party").encode()))

    def _stop(self, why: str) -> None:
        file = self.shared / f"stop-{self.plan.parties.index(self.me)}"
        with contextlib.suppress(OutputError):  # the error itself is told in any case
            if not file.exists():
                _put(file, why.encode())
        _close(self.own)


def _close(own: Path) -> None:
    """Say that a run is over, and remove its seed and what was received."""
    finished = own / "finished"
    if not finished.exists():
        write_new_file(finished, b"")
    for file in _files(own):
        if file != finished:
            remove_file(file)


def _files(folder: Path) -> Iterator[Path]:
    return (file for file in sorted(folder.iterdir()) if file.is_file())


def _put(file: Path, body: bytes) -> None:
    """Write a file whole, so that nobody reads half of it."""
    new = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with contextlib.suppress(FileNotFoundError):
            new.unlink()
        write_new_file(new, body, OPEN)
        new.replace(file)
    except OSError as error:
        raise OutputError(f"Cannot write {file.name!r}: {error.strerror}.", hint="Check the folder.") from None
