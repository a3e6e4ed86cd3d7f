"""The settings of a server: one strict file, and everything that it refuses to start with."""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path
from typing import Literal

import msgspec

from discreet.errors import InputError, ParameterError
from discreet.keys import Key
from discreet.recipe.mistakes import explained

LARGEST = 2**20
LOOPBACK = ("127.0.0.1", "::1", "localhost")

SOCKET = "log.sock"
"""Where the logger listens, in the folder of what runs."""


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
    signed: Literal["required", "optional"] = "optional"
    """Whether questions must be signed; a signature that is there is checked in any case."""
    minimum: str = "1.3"


class SignInPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How browsers sign in: by certificate in any case, and by what is named here."""

    issuer: str | None = None
    """The address of an identity provider (OpenID Connect)."""
    client_id: str | None = None
    client_secret: str | None = None
    """File of the secret that the provider shares with this server."""
    passkeys: bool = False
    title: str = "discreet"
    """What browsers show when they ask for a passkey."""


class DatasetPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A data set that is served."""

    folder: str
    signed_by: str | None = None
    key: str | None = None
    """Key file of methods that draw while they answer."""


class ExtractFilePart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A file that extracts are taken from."""

    folder: str
    key: str
    """Key file that it was built with; only the jobs read it."""
    signed_by: str | None = None


class ExtractsPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Extracts: where sealed ones lie until they are fetched, what signs them, and what they are taken from."""

    folder: str
    signing_key: str
    files: list[ExtractFilePart]


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
    sign_in: SignInPart | None = None
    retrieval: str | None = None
    """Folder of a database for private retrieval, as ``discreet pir build`` makes it; public."""
    extracts: ExtractsPart | None = None
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
        When plain HTTP would leave this machine, TLS is older than 1.3, or others may read a secret.
        :func:`refuse_untrusted` refuses the rest.
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
    _check_sign_in(config)
    secrets = [config.log.key, *(part.key for part in config.datasets if part.key)]
    secrets += [] if config.tls is None else [config.tls.key]
    secrets += [config.sign_in.client_secret] if config.sign_in and config.sign_in.client_secret else []
    folders = [part.folder for part in config.datasets]
    if config.extracts is not None:
        secrets += [config.extracts.signing_key, *(part.key for part in config.extracts.files)]
        folders += [config.extracts.folder, *(part.folder for part in config.extracts.files)]
    for name in secrets:
        refuse_readable(config.path(name))
    for name in folders:
        refuse_open_folder(config.path(name))


def _check_sign_in(config: ServerConfig) -> None:
    """Refuse sign-in over plain HTTP, or with half of what an identity provider takes."""
    part = config.sign_in
    if part is None:
        return
    if config.tls is None or not config.listen.origin.startswith("https://"):
        raise ParameterError(
            "[sign_in] needs [tls], and the address that browsers know the server by.",
            hint='Add [tls], and origin = "https://tables.example.org" to [listen].',
        )
    given = [name is not None for name in (part.issuer, part.client_id, part.client_secret)]
    if any(given) and not all(given):
        raise ParameterError(
            "issuer, client_id and client_secret of [sign_in] belong together.", hint="Give all of them, or none."
        )


def refuse_untrusted(config: ServerConfig) -> None:
    """Refuse to serve where certificates could not be checked, or the root's key lies about.

    Raises
    ------
    TrustRefusal
        When a list of revoked certificates is missing, expired or forged, or a root key lies beside what is named.
    """
    if config.tls is None:
        return
    from discreet.trust.authority_folder import ROOT_KEY
    from discreet.trust.refusals import TrustRefusal, WhyRefused
    from discreet.trust.trusted import TrustedAuthorities

    named = [config.path(name) for name in (config.tls.certificate, config.tls.key, config.log.key, "server.toml")]
    if any(os.path.lexists(path.parent / ROOT_KEY) for path in named):
        raise TrustRefusal(
            WhyRefused.ROOT_KEY_PRESENT,
            "The root key of the authority lies beside the files of this server.",
            hint="Split it (discreet ca split), and keep the authority on another machine.",
        )
    crls = None if config.tls.crls is None else config.path(config.tls.crls)
    TrustedAuthorities.read(config.path(config.tls.authorities), crls)


def refuse_open_folder(folder: Path) -> None:
    """Refuse the folder of a data set that everybody on this machine may enter: it holds records.

    Raises
    ------
    ParameterError
        When it is so. One that is missing is refused when it is opened.
    """
    if os.name == "posix" and folder.is_dir() and stat.S_IMODE(folder.stat().st_mode) & 0o007:
        raise ParameterError(
            f"Everybody on this machine may enter the data set {folder.name!r}.",
            hint=f"Run: chmod o-rwx {folder.name}",
        )


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


def answering_key(config: ServerConfig) -> Key | None:
    """The secret of methods that draw while they answer, where the settings name one."""
    return next((Key.from_file(config.path(part.key)) for part in config.datasets if part.key), None)
