"""A worker from the settings of a server: the only process that reads the keys of editions."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import ParameterError
from discreet.keys import Key
from discreet.server.config import SOCKET, read_config
from discreet.server.extracts.working import ExtractWorker
from discreet.server.store.store import Store
from discreet.server.worker import opened_files
from discreet.trust import SigningKey
from discreet.trust.log.client import LogClient


@contextmanager
def worker_of(path: str | Path, say: Callable[[str], None]) -> Iterator[ExtractWorker]:
    """A worker, ready to work.

    Parameters
    ----------
    path
        The settings of the server.
    say
        Where to tell what happens.

    Raises
    ------
    ParameterError
        When the settings name no files for extracts, or a key is not that of its file.
    """
    config = read_config(path)
    if config.extracts is None:
        raise ParameterError("The settings have no [extracts].", hint="Add [extracts] with folder and files.")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a dump of memory would hold records and keys
    files = {}
    for (place, file), part in zip(opened_files(config).items(), config.extracts.files, strict=True):
        key = Key.from_file(config.path(part.key))
        if key.fingerprint != file.manifest.key:
            raise ParameterError(
                f"{part.key!r} is not the key that {file.name!r} was built with.", hint="Give that one."
            )
        files[place] = (file, key)
    signer = SigningKey.from_file(config.path(config.extracts.signing_key))
    store_place = config.store if "://" in config.store else config.path(config.store)
    folder = config.path(config.extracts.folder)
    with Store.open(store_place) as store, LogClient(config.path(config.run) / SOCKET) as log:
        yield ExtractWorker(store, files, folder, signer, log, say)
