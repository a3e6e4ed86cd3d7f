"""Extracts: applications and what became of them, licences, keys of recipients, and the queue."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Bring the schema up."""
    _applications()
    _events()
    op.create_table(
        "licence_acceptance",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("principal_id", sa.Integer(), nullable=False),
        sa.Column("condition", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("accepted", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["principal_id"], ["principal.id"], name=op.f("fk_licence_acceptance_principal_id")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_licence_acceptance_project_id")),
        sa.PrimaryKeyConstraint(
            "project_id", "principal_id", "condition", "version", name=op.f("pk_licence_acceptance")
        ),
    )
    op.create_table(
        "recipient_key",
        sa.Column("principal_id", sa.Integer(), nullable=False),
        sa.Column("public_key", sa.Text(), nullable=False),
        sa.Column("added", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["principal_id"], ["principal.id"], name=op.f("fk_recipient_key_principal_id")),
        sa.PrimaryKeyConstraint("principal_id", name=op.f("pk_recipient_key")),
    )
    _extracts()


def _applications() -> None:
    states = (
        "state IN ('draft', 'submitted', 'identity check', 'review', 'more information', 'approved', 'refused', "
        "'active', 'expired', 'renewed', 'suspended', 'revoked')"
    )
    op.create_table(
        "application",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("edition_id", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("renewing", sa.Integer(), nullable=False),
        sa.Column("form", sa.Text(), nullable=False),
        sa.Column("licence", sa.Text(), nullable=False),
        sa.Column("months", sa.Integer(), nullable=False),
        sa.Column("changed", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(states, name=op.f("ck_application_state")),
        sa.ForeignKeyConstraint(["edition_id"], ["dataset_edition.id"], name=op.f("fk_application_edition_id")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_application_project_id")),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_application")),
    )


def _events() -> None:
    op.create_table(
        "application_event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("principal_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column("made", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["principal_id"], ["principal.id"], name=op.f("fk_application_event_principal_id")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["application.project_id"], name=op.f("fk_application_event_project_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_application_event")),
    )
    op.create_index(op.f("ix_application_event_project_id"), "application_event", ["project_id"], unique=False)


def _extracts() -> None:
    states = "state IN ('queued', 'running', 'ready', 'expired', 'failed', 'refused', 'withdrawn')"
    op.create_table(
        "extract",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("edition_id", sa.Integer(), nullable=False),
        sa.Column("requested_by", sa.Integer(), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("variables", sa.Text(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("recipient", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("progress", sa.Float(53), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("lease", sa.Text(), nullable=True),
        sa.Column("lease_until", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("requested", sa.BigInteger(), nullable=False),
        sa.Column("file", sa.Text(), nullable=True),
        sa.Column("content", sa.Text(), nullable=True),
        sa.Column("size", sa.BigInteger(), nullable=True),
        sa.Column("link_expires", sa.BigInteger(), nullable=True),
        sa.Column("destroyed", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("rows >= 0", name=op.f("ck_extract_rows")),
        sa.CheckConstraint(states, name=op.f("ck_extract_state")),
        sa.ForeignKeyConstraint(["edition_id"], ["dataset_edition.id"], name=op.f("fk_extract_edition_id")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_extract_project_id")),
        sa.ForeignKeyConstraint(["requested_by"], ["principal.id"], name=op.f("fk_extract_requested_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_extract")),
    )
    op.create_index("ix_extract_state_lease_until", "extract", ["state", "lease_until"], unique=False)
    op.create_index(op.f("ix_extract_project_id"), "extract", ["project_id"], unique=False)
    op.create_index(op.f("ix_extract_requested_by"), "extract", ["requested_by"], unique=False)
