"""Outputs that analysts hand in to be checked, with their files and what was said of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Bring the schema up."""
    states = "state IN ('open', 'returned', 'approved', 'released', 'refused', 'withdrawn')"
    op.create_table(
        "output",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("requested_by", sa.Integer(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("handed_in", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(states, name=op.f("ck_output_state")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_output_project_id")),
        sa.ForeignKeyConstraint(["requested_by"], ["principal.id"], name=op.f("fk_output_requested_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_output")),
    )
    op.create_index(op.f("ix_output_project_id"), "output", ["project_id"], unique=False)
    op.create_index(op.f("ix_output_requested_by"), "output", ["requested_by"], unique=False)
    _files()
    _remarks()


def _files() -> None:
    op.create_table(
        "output_file",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("output_id", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("reading", sa.Text(), nullable=False),
        sa.Column("findings", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["output_id"], ["output.id"], name=op.f("fk_output_file_output_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_output_file")),
        sa.UniqueConstraint("output_id", "turn", "name", name=op.f("uq_output_file_output_id_turn_name")),
    )
    op.create_index(op.f("ix_output_file_output_id"), "output_file", ["output_id"], unique=False)


def _remarks() -> None:
    kinds = "kind IN ('comment', 'approve', 'return', 'refuse', 'release')"
    op.create_table(
        "output_remark",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("output_id", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("principal_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column("made", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(kinds, name=op.f("ck_output_remark_kind")),
        sa.ForeignKeyConstraint(["output_id"], ["output.id"], name=op.f("fk_output_remark_output_id")),
        sa.ForeignKeyConstraint(["principal_id"], ["principal.id"], name=op.f("fk_output_remark_principal_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_output_remark")),
    )
    op.create_index(op.f("ix_output_remark_output_id"), "output_remark", ["output_id"], unique=False)
