"""The command line: parses, calls, prints."""

from discreet.cli.machine import completion, doctor
from discreet.cli.main import main

for command in (doctor, completion):
    main.add_command(command)

__all__ = ["main"]
