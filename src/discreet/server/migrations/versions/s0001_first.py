"""The first schema: people, editions, projects, questions, accounts, approvals."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Bring the schema up."""
    _people()
    _editions_and_projects()
    _questions_and_accounts()
    _approvals()


def _people() -> None:
    op.create_table(
        "principal",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("made", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("state IN ('active', 'suspended', 'closed')", name=op.f("ck_principal_state")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_principal")),
        sa.UniqueConstraint("email", name=op.f("uq_principal_email")),
        sa.UniqueConstraint("name", name=op.f("uq_principal_name")),
    )
    op.create_table(
        "certificate",
        sa.Column("serial", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("principal_id", sa.Integer(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("not_before", sa.BigInteger(), nullable=False),
        sa.Column("not_after", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("changed", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("purpose IN ('client', 'signature')", name=op.f("ck_certificate_purpose")),
        sa.CheckConstraint("state IN ('valid', 'suspended', 'revoked')", name=op.f("ck_certificate_state")),
        sa.ForeignKeyConstraint(["principal_id"], ["principal.id"], name=op.f("fk_certificate_principal_id")),
        sa.PrimaryKeyConstraint("serial", name=op.f("pk_certificate")),
        sa.UniqueConstraint("fingerprint", name=op.f("uq_certificate_fingerprint")),
    )
    op.create_index(op.f("ix_certificate_principal_id"), "certificate", ["principal_id"], unique=False)
    op.create_table(
        "role_of",
        sa.Column("principal_id", sa.Integer(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("granted_by", sa.Integer(), nullable=False),
        sa.Column("second_by", sa.Integer(), nullable=False),
        sa.Column("granted", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "granted_by <> second_by AND granted_by <> principal_id AND second_by <> principal_id",
            name=op.f("ck_role_of_eyes"),
        ),
        sa.ForeignKeyConstraint(["granted_by"], ["principal.id"], name=op.f("fk_role_of_granted_by")),
        sa.ForeignKeyConstraint(["principal_id"], ["principal.id"], name=op.f("fk_role_of_principal_id")),
        sa.ForeignKeyConstraint(["second_by"], ["principal.id"], name=op.f("fk_role_of_second_by")),
        sa.PrimaryKeyConstraint("principal_id", "role", name=op.f("pk_role_of")),
    )
    op.create_table(
        "session",
        sa.Column("token_digest", sa.Text(), nullable=False),
        sa.Column("principal_id", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=True),
        sa.Column("auth_level", sa.Integer(), nullable=False),
        sa.Column("started", sa.BigInteger(), nullable=False),
        sa.Column("last_used", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["principal_id"], ["principal.id"], name=op.f("fk_session_principal_id")),
        sa.PrimaryKeyConstraint("token_digest", name=op.f("pk_session")),
    )
    op.create_index(op.f("ix_session_principal_id"), "session", ["principal_id"], unique=False)


def _editions_and_projects() -> None:
    op.create_table(
        "dataset_edition",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("dataset", sa.Text(), nullable=False),
        sa.Column("edition", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("key_fingerprint", sa.Text(), nullable=False),
        sa.Column("key_version", sa.Integer(), nullable=False),
        sa.Column("registered", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("state IN ('open', 'held', 'withdrawn')", name=op.f("ck_dataset_edition_state")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dataset_edition")),
        sa.UniqueConstraint("dataset", "edition", name=op.f("uq_dataset_edition_dataset_edition")),
    )
    op.create_table(
        "project",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("requested_by", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("licence", sa.Text(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("state IN ('draft', 'active', 'suspended', 'closed')", name=op.f("ck_project_state")),
        sa.ForeignKeyConstraint(["requested_by"], ["principal.id"], name=op.f("fk_project_requested_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_project")),
        sa.UniqueConstraint("name", name=op.f("uq_project_name")),
    )
    op.create_table(
        "project_member",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("principal_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["principal_id"], ["principal.id"], name=op.f("fk_project_member_principal_id")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_project_member_project_id")),
        sa.PrimaryKeyConstraint("project_id", "principal_id", name=op.f("pk_project_member")),
    )
    op.create_table(
        "project_grant",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("edition_id", sa.Integer(), nullable=False),
        sa.Column("variables", sa.Text(), nullable=False),
        sa.Column("finest_geography", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["edition_id"], ["dataset_edition.id"], name=op.f("fk_project_grant_edition_id")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_project_grant_project_id")),
        sa.PrimaryKeyConstraint("project_id", "edition_id", name=op.f("pk_project_grant")),
    )


def _questions_and_accounts() -> None:
    op.create_table(
        "question",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("edition_id", sa.Integer(), nullable=False),
        sa.Column("principal_id", sa.Integer(), nullable=True),
        sa.Column("project_id", sa.Integer(), nullable=True),
        sa.Column("decision", sa.Text(), nullable=False),
        sa.Column("cells", sa.BigInteger(), nullable=False),
        sa.Column("asked", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["edition_id"], ["dataset_edition.id"], name=op.f("fk_question_edition_id")),
        sa.ForeignKeyConstraint(["principal_id"], ["principal.id"], name=op.f("fk_question_principal_id")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_question_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_question")),
    )
    op.create_index(op.f("ix_question_digest"), "question", ["digest"], unique=False)
    op.create_index(op.f("ix_question_principal_id"), "question", ["principal_id"], unique=False)
    op.create_table(
        "refinement",
        sa.Column("edition_id", sa.Integer(), nullable=False),
        sa.Column("margin", sa.Text(), nullable=False),
        sa.Column("read_by", sa.Text(), nullable=False),
        sa.Column("precision", sa.Float(precision=53), nullable=False),
        sa.CheckConstraint("precision >= 0", name=op.f("ck_refinement_precision")),
        sa.ForeignKeyConstraint(["edition_id"], ["dataset_edition.id"], name=op.f("fk_refinement_edition_id")),
        sa.PrimaryKeyConstraint("edition_id", "margin", "read_by", name=op.f("pk_refinement")),
    )
    op.create_table(
        "charged_table",
        sa.Column("edition_id", sa.Integer(), nullable=False),
        sa.Column("table_digest", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["edition_id"], ["dataset_edition.id"], name=op.f("fk_charged_table_edition_id")),
        sa.PrimaryKeyConstraint("edition_id", "table_digest", name=op.f("pk_charged_table")),
    )
    op.create_table(
        "budget",
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("cells", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("cells >= 0", name=op.f("ck_budget_cells")),
        sa.PrimaryKeyConstraint("holder", "day", name=op.f("pk_budget")),
    )
    op.create_table(
        "nonce",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("first_seen", sa.BigInteger(), nullable=False),
        sa.Column("kept_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_nonce")),
    )
    op.create_index(op.f("ix_nonce_kept_until"), "nonce", ["kept_until"], unique=False)


def _approvals() -> None:
    op.create_table(
        "approval",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("requested_by", sa.Integer(), nullable=False),
        sa.Column("requested", sa.BigInteger(), nullable=False),
        sa.Column("used", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["requested_by"], ["principal.id"], name=op.f("fk_approval_requested_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_approval")),
    )
    op.create_index("ix_approval_action_subject", "approval", ["action", "subject"], unique=False)
    op.create_table(
        "approval_vote",
        sa.Column("approval_id", sa.Integer(), nullable=False),
        sa.Column("principal_id", sa.Integer(), nullable=False),
        sa.Column("agrees", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("voted", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["approval_id"], ["approval.id"], name=op.f("fk_approval_vote_approval_id")),
        sa.ForeignKeyConstraint(["principal_id"], ["principal.id"], name=op.f("fk_approval_vote_principal_id")),
        sa.PrimaryKeyConstraint("approval_id", "principal_id", name=op.f("pk_approval_vote")),
    )
