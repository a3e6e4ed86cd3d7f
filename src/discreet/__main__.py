"""``python -m discreet`` is the command ``discreet``."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from discreet.stopping import Stopped, ignore, install, sentence


def start() -> None:
    """Run the command line in a process of its own: signals are handled from here to the end."""
    try:
        try:
            install()
            from discreet.cli import main

            main()
        finally:
            ignore()
    except Stopped as stop:  # before the command had begun, or after it had ended
        _end(stop)
    except KeyboardInterrupt:  # before signals were handled
        _end(Stopped(signal.SIGINT))


def _end(stop: Stopped) -> NoReturn:
    ignore()
    sys.stderr.write(f"{sentence(stop)}\n")
    sys.stderr.flush()
    sys.exit(stop.exit_code)


if __name__ == "__main__":
    start()
