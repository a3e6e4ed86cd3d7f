"""What the table server must not forget: who may what, what was asked, and how much was told of each margin."""

from __future__ import annotations

from importlib.util import find_spec

from discreet.errors import missing_extra

for name in ("alembic", "sqlalchemy"):  # alembic is needed when the schema changes, and takes half a second to load
    if find_spec(name) is None:
        raise missing_extra(name, "server", "The table server")
