"""``python -m discreet.trust.log FOLDER KEY SOCKET`` is the logger."""

from __future__ import annotations

import sys

from discreet.trust.log.process import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
