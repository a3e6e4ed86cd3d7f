"""What the table server must not forget: who may what, what was asked, and how much was told of each margin."""

from __future__ import annotations

from discreet.errors import missing_extra

try:
    import alembic
    import sqlalchemy
except ImportError as error:
    raise missing_extra(str(error.name), "server", "The table server") from None
