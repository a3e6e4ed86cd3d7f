"""The command line: parses, calls, prints."""

from discreet.cli.machine import completion, doctor
from discreet.cli.main import main
from discreet.cli.risk import risk
from discreet.cli.signing import sign, signing_key

for command in (doctor, completion, signing_key, sign, risk):
    main.add_command(command)

__all__ = ["main"]
