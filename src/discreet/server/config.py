"""The settings of a server: one strict file, and everything that it refuses to start with."""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path
from typing import Literal

import msgspec

from discreet.errors import InputError, ParameterError
from discreet.recipe.mistakes import explained

LARGEST = 2**20
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class ListenPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Where the server listens, and with how many workers."""

    host: str = "127.0.0.1"
    port: int = 8443
    workers: int = 2
    origin: str = ""
    """The address that browsers know it by: ``https://tables.example.org``."""
    user: str | None = None
    """The user of the system that workers run as; one that cannot read the records that data sets are made of."""
    queue: int = 32
    """Questions that wait in each worker before further ones are sent away."""


class TlsPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The server's certificate, and whose certificates it takes."""

    certificate: str
    key: str
    authorities: str
    """The folder ``public`` of the authority, or a file of certificates."""
    crls: str | None = None
    clients: Literal["required", "optional"] = "required"
    minimum: str = "1.3"


class DatasetPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A data set that is served."""

    folder: str
    signed_by: str | None = None
    key: str | None = None
    """Key file of methods that draw while they answer."""


class LogPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The log."""

    folder: str
    key: str


class ServerConfig(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """All settings."""

    version: Literal[1]
    datasets: list[DatasetPart]
    log: LogPart
    store: str
    """File of the SQLite database, or the URL of a PostgreSQL one."""
    run: str
    """Folder for sockets and counters, of this user alone."""
    listen: ListenPart = msgspec.field(default_factory=ListenPart)
    tls: TlsPart | None = None
    folder: str = ""
    """Where the file lies; paths are relative to it."""

    def path(self, name: str) -> Path:
        """A path of the settings."""
        return Path(self.folder, name)


def read_config(path: str | Path) -> ServerConfig:
    """Read and check the settings of a server.

    Raises
    ------
    InputError
        When there is no such file, or it cannot be read.
    ParameterError
        When something in it is unknown, not allowed or not safe to start with.
    """
    path = Path(path)
    if not path.is_file() or path.stat().st_size > LARGEST:
        raise InputError(f"There are no settings {path.name!r}.", hint="Check the name and the folder.")
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "it is not UTF-8"
        raise InputError(f"{path.name!r} is not valid TOML: {reason}.", hint="Correct it there.") from None
    if "folder" in raw:
        raise ParameterError("folder is not for the file: paths are relative to it.", hint="Leave folder out.")
    try:
        found = msgspec.convert({**raw, "folder": str(path.resolve().parent)}, ServerConfig)
    except msgspec.ValidationError as error:
        raise explained(str(error), raw, ServerConfig, "file of settings") from None
    check_config(found)
    return found


def check_config(config: ServerConfig) -> None:
    """Refuse settings that it is not safe to start with.

    Raises
    ------
    ParameterError
        When plain HTTP would leave this machine, TLS is older than 1.3, or others may read a secret. The context of TLS
        refuses the rest: no list of revoked certificates, an expired one, the root's key beside them.
    """
    if not config.datasets:
        raise ParameterError("The settings name no data set.", hint="Add [[datasets]] with folder = ...")
    if not 0 <= config.listen.port < 65_536 or config.listen.workers < 1 or config.listen.queue < 1:
        raise ParameterError("port, workers or queue of [listen] is out of range.", hint="Correct [listen].")
    if config.tls is None:
        if config.listen.host not in LOOPBACK:
            raise ParameterError(
                f"Without [tls] a server answers this machine only, and host is {config.listen.host!r}.",
                hint='Add [tls], or write host = "127.0.0.1".',
            )
    elif config.tls.minimum != "1.3":
        raise ParameterError(
            f"minimum = {config.tls.minimum!r} of [tls] is not allowed.", hint='Write "1.3", or leave it out.'
        )
    secrets = [config.log.key, *(part.key for part in config.datasets if part.key)]
    for name in secrets if config.tls is None else [*secrets, config.tls.key]:
        refuse_readable(config.path(name))


def refuse_readable(path: Path) -> None:
    """Refuse a secret that is missing, or that others may read.

    Raises
    ------
    ParameterError
        When it is so.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        raise ParameterError(f"The file {path.name!r} cannot be read.", hint="Check its name and owner.") from None
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise ParameterError(f"Others may read the secret {path.name!r}.", hint=f"Run: chmod 600 {path.name}")
