"""Sign-in without a certificate (OIDC, passkeys), and limits that several workers share."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Bring the schema up."""
    _sign_in()
    _limits()


def _sign_in() -> None:
    op.create_table(
        "outside_identity",
        sa.Column("issuer", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("principal_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["principal_id"], ["principal.id"], name=op.f("fk_outside_identity_principal_id")),
        sa.PrimaryKeyConstraint("issuer", "subject", name=op.f("pk_outside_identity")),
    )
    op.create_table(
        "passkey",
        sa.Column("credential", sa.Text(), nullable=False),
        sa.Column("principal_id", sa.Integer(), nullable=False),
        sa.Column("public_key", sa.LargeBinary(), nullable=False),
        sa.Column("uses", sa.BigInteger(), nullable=False),
        sa.Column("made", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["principal_id"], ["principal.id"], name=op.f("fk_passkey_principal_id")),
        sa.PrimaryKeyConstraint("credential", name=op.f("pk_passkey")),
    )
    op.create_index(op.f("ix_passkey_principal_id"), "passkey", ["principal_id"], unique=False)
    op.create_table(
        "one_time",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("kept_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_one_time")),
    )
    op.create_index(op.f("ix_one_time_kept_until"), "one_time", ["kept_until"], unique=False)


def _limits() -> None:
    op.create_table(
        "bucket",
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("tokens", sa.Float(precision=53), nullable=False),
        sa.Column("filled", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("holder", name=op.f("pk_bucket")),
    )
