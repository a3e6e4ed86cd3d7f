"""The command line: parses, calls, prints."""

from discreet.cli.main import main

__all__ = ["main"]
