"""``python -m discreet`` is the command ``discreet``."""

from __future__ import annotations

import sys

from discreet.stopping import Stopped, ignore, install, sentence


def start() -> None:
    """Run the command line in a process of its own: signals are handled from here to the end."""
    try:
        install()
        from discreet.cli import main

        main()
    except Stopped as stop:  # before the command had begun or after it had ended
        ignore()
        sys.stderr.write(f"{sentence(stop)}\n")
        sys.exit(stop.exit_code)
    finally:
        ignore()


if __name__ == "__main__":
    start()
