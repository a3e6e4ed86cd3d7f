"""The command line: parses, calls, prints."""

from discreet.cli.authority import ca
from discreet.cli.extracts import extracts
from discreet.cli.joint import joint
from discreet.cli.log import log
from discreet.cli.machine import completion, doctor
from discreet.cli.main import main
from discreet.cli.pir import pir
from discreet.cli.risk import risk
from discreet.cli.server import server
from discreet.cli.serving import dataset, serve
from discreet.cli.signing import sign, signing_key
from discreet.cli.union import union
from discreet.cli.utility import utility

for command in (
    doctor,
    completion,
    signing_key,
    sign,
    risk,
    utility,
    pir,
    joint,
    union,
    ca,
    log,
    dataset,
    serve,
    server,
    extracts,
):
    main.add_command(command)

__all__ = ["main"]
