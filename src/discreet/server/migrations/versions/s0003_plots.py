"""The account of plots."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Bring the schema up."""
    op.create_table(
        "plot_charge",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("edition_id", sa.Integer(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("mu_squared", sa.Float(precision=53), nullable=False),
        sa.Column("charged", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("mu_squared >= 0", name=op.f("ck_plot_charge_mu_squared")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_plot_charge_project_id")),
        sa.ForeignKeyConstraint(["edition_id"], ["dataset_edition.id"], name=op.f("fk_plot_charge_edition_id")),
        sa.PrimaryKeyConstraint("project_id", "edition_id", "request", name=op.f("pk_plot_charge")),
    )
