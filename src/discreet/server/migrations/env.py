"""Run by alembic: bring the database of the given connection to a schema."""

from __future__ import annotations

from alembic import context

from discreet.server.store.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
