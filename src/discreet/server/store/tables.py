"""The tables of the database. Times are whole seconds since 1970 (UTC); secrets are here as digests only.

The steps from one schema to the next are in ``server/migrations``; a test sees that they lead here.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

REVISIONS = ("0001", "0002", "0003", "0004", "0005")
"""All schemas, the first to the newest."""
NEWEST = REVISIONS[-1]

METADATA = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def _number() -> Column[Any]:
    return Column("id", Integer, primary_key=True)


def _to(name: str, table: str, **options: Any) -> Column[Any]:
    return Column(name, Integer, ForeignKey(f"{table}.id"), nullable=False, **options)


def _text(name: str, **options: Any) -> Column[Any]:
    return Column(name, Text, nullable=False, **options)


def _time(name: str) -> Column[Any]:
    return Column(name, BigInteger, nullable=False)


def _one_of(column: str, *words: str) -> CheckConstraint:
    return CheckConstraint(f"{column} IN ({', '.join(repr(word) for word in words)})", name=column)


PRINCIPAL = Table(
    "principal",
    METADATA,
    _number(),
    _text("name", unique=True),
    _text("email", unique=True),
    _text("state"),
    _time("made"),
    _one_of("state", "active", "suspended", "closed"),
)

CERTIFICATE = Table(
    "certificate",
    METADATA,
    Column("serial", Text, primary_key=True),
    _text("fingerprint", unique=True),
    _to("principal_id", "principal", index=True),
    _text("purpose"),
    _time("not_before"),
    _time("not_after"),
    _text("state"),
    _time("changed"),
    _one_of("state", "valid", "suspended", "revoked"),
    _one_of("purpose", "client", "signature"),
)

ROLE_OF = Table(
    "role_of",
    METADATA,
    _to("principal_id", "principal", primary_key=True),
    Column("role", Text, primary_key=True),
    _to("granted_by", "principal"),
    _to("second_by", "principal"),
    _time("granted"),
    CheckConstraint(
        "granted_by <> second_by AND granted_by <> principal_id AND second_by <> principal_id", name="eyes"
    ),
)

PROJECT = Table(
    "project",
    METADATA,
    _number(),
    _text("name", unique=True),
    _to("requested_by", "principal"),
    _text("state"),
    _text("licence"),
    _time("expires"),
    _one_of("state", "draft", "active", "suspended", "closed"),
)

PROJECT_MEMBER = Table(
    "project_member",
    METADATA,
    _to("project_id", "project", primary_key=True),
    _to("principal_id", "principal", primary_key=True),
)

DATASET_EDITION = Table(
    "dataset_edition",
    METADATA,
    _number(),
    _text("dataset"),
    _text("edition"),
    _text("state"),
    _text("key_fingerprint"),
    Column("key_version", Integer, nullable=False),
    _time("registered"),
    UniqueConstraint("dataset", "edition"),
    _one_of("state", "open", "held", "withdrawn"),
)

PROJECT_GRANT = Table(
    "project_grant",
    METADATA,
    _to("project_id", "project", primary_key=True),
    _to("edition_id", "dataset_edition", primary_key=True),
    _text("variables"),
    Column("finest_geography", Integer),
)

QUESTION = Table(
    "question",
    METADATA,
    _number(),
    _text("digest", index=True),
    _text("spec"),
    _to("edition_id", "dataset_edition"),
    Column("principal_id", Integer, ForeignKey("principal.id"), index=True),
    Column("project_id", Integer, ForeignKey("project.id")),
    _text("decision"),
    Column("cells", BigInteger, nullable=False),
    _time("asked"),
)

REFINEMENT = Table(
    "refinement",
    METADATA,
    _to("edition_id", "dataset_edition", primary_key=True),
    Column("margin", Text, primary_key=True),
    Column("read_by", Text, primary_key=True),
    Column("precision", Float(53), nullable=False),
    CheckConstraint("precision >= 0", name="precision"),
)

CHARGED_TABLE = Table(
    "charged_table",
    METADATA,
    _to("edition_id", "dataset_edition", primary_key=True),
    Column("table_digest", Text, primary_key=True),
)

BUDGET = Table(
    "budget",
    METADATA,
    Column("holder", Text, primary_key=True),
    Column("day", Text, primary_key=True),
    Column("cells", BigInteger, nullable=False),
    CheckConstraint("cells >= 0", name="cells"),
)

NONCE = Table(
    "nonce",
    METADATA,
    Column("digest", Text, primary_key=True),
    _time("first_seen"),
    Column("kept_until", BigInteger, nullable=False, index=True),
)

SESSION = Table(
    "session",
    METADATA,
    Column("token_digest", Text, primary_key=True),
    _to("principal_id", "principal", index=True),
    Column("fingerprint", Text),
    Column("auth_level", Integer, nullable=False),
    _time("started"),
    _time("last_used"),
)

APPROVAL = Table(
    "approval",
    METADATA,
    _number(),
    _text("action"),
    _text("subject"),
    _to("requested_by", "principal"),
    _time("requested"),
    Column("used", BigInteger),
    Index("ix_approval_action_subject", "action", "subject"),
)

APPROVAL_VOTE = Table(
    "approval_vote",
    METADATA,
    _to("approval_id", "approval", primary_key=True),
    _to("principal_id", "principal", primary_key=True),
    Column("agrees", Integer, nullable=False),
    _text("reason"),
    _time("voted"),
)

# From the second schema on: sign-in without a certificate, and limits that several workers share.

BUCKET = Table(
    "bucket",
    METADATA,
    Column("holder", Text, primary_key=True),
    Column("tokens", Float(53), nullable=False),
    Column("filled", Float(53), nullable=False),
)

OUTSIDE_IDENTITY = Table(
    "outside_identity",
    METADATA,
    Column("issuer", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    _to("principal_id", "principal"),
)

PASSKEY = Table(
    "passkey",
    METADATA,
    Column("credential", Text, primary_key=True),
    _to("principal_id", "principal", index=True),
    Column("public_key", LargeBinary, nullable=False),
    Column("uses", BigInteger, nullable=False),
    _time("made"),
)

ONE_TIME = Table(
    "one_time",
    METADATA,
    Column("digest", Text, primary_key=True),
    _text("purpose"),
    _text("payload"),
    Column("kept_until", BigInteger, nullable=False, index=True),
)

# Outputs that analysts hand in to be checked: files of every turn, and what was said of them.

OUTPUT = Table(
    "output",
    METADATA,
    _number(),
    _to("project_id", "project", index=True),
    _to("requested_by", "principal", index=True),
    _text("title"),
    _text("state"),
    Column("turn", Integer, nullable=False),
    _time("handed_in"),
    _one_of("state", "open", "returned", "approved", "released", "refused", "withdrawn"),
)

OUTPUT_FILE = Table(
    "output_file",
    METADATA,
    _number(),
    _to("output_id", "output", index=True),
    Column("turn", Integer, nullable=False),
    _text("name"),
    _text("kind"),
    _text("digest"),
    Column("content", LargeBinary, nullable=False),
    _text("reading"),
    _text("findings"),
    UniqueConstraint("output_id", "turn", "name"),
)

OUTPUT_REMARK = Table(
    "output_remark",
    METADATA,
    _number(),
    _to("output_id", "output", index=True),
    Column("turn", Integer, nullable=False),
    _to("principal_id", "principal"),
    _text("kind"),
    _text("words"),
    _time("made"),
    _one_of("kind", "comment", "approve", "return", "refuse", "release"),
)

# From the third schema on: the account of plots.

PLOT_CHARGE = Table(
    "plot_charge",
    METADATA,
    _to("project_id", "project", primary_key=True),
    _to("edition_id", "dataset_edition", primary_key=True),
    Column("request", Text, primary_key=True),
    Column("mu_squared", Float(53), nullable=False),
    _time("charged"),
    CheckConstraint("mu_squared >= 0", name="mu_squared"),
)

# From the fifth schema on: extracts. Records are in none of these tables.

APPLICATION_STATES = (
    "draft",
    "submitted",
    "identity check",
    "review",
    "more information",
    "approved",
    "refused",
    "active",
    "expired",
    "renewed",
    "suspended",
    "revoked",
)

APPLICATION = Table(
    "application",
    METADATA,
    _to("project_id", "project", primary_key=True),
    _to("edition_id", "dataset_edition"),
    _text("state"),
    Column("turn", Integer, nullable=False),
    Column("renewing", Integer, nullable=False),
    _text("form"),
    _text("licence"),
    Column("months", Integer, nullable=False),
    _time("changed"),
    _one_of("state", *APPLICATION_STATES),
)

APPLICATION_EVENT = Table(
    "application_event",
    METADATA,
    _number(),
    Column("project_id", Integer, ForeignKey("application.project_id"), nullable=False, index=True),
    Column("turn", Integer, nullable=False),
    _to("principal_id", "principal"),
    _text("kind"),
    _text("words"),
    _time("made"),
)

LICENCE_ACCEPTANCE = Table(
    "licence_acceptance",
    METADATA,
    _to("project_id", "project", primary_key=True),
    _to("principal_id", "principal", primary_key=True),
    Column("condition", Text, primary_key=True),
    Column("version", Text, primary_key=True),
    _time("accepted"),
)

RECIPIENT_KEY = Table(
    "recipient_key",
    METADATA,
    _to("principal_id", "principal", primary_key=True),
    _text("public_key"),
    _time("added"),
)

EXTRACT = Table(
    "extract",
    METADATA,
    _number(),
    _to("project_id", "project", index=True),
    _to("edition_id", "dataset_edition"),
    _to("requested_by", "principal", index=True),
    _text("definition"),
    _text("digest"),
    _text("variables"),
    Column("rows", BigInteger, nullable=False),
    _text("recipient"),
    _text("state"),
    Column("progress", Float(53), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("lease", Text),
    Column("lease_until", BigInteger),
    _text("reason"),
    _time("requested"),
    Column("file", Text),
    Column("content", Text),
    Column("size", BigInteger),
    Column("link_expires", BigInteger),
    Column("destroyed", BigInteger),
    CheckConstraint("rows >= 0", name="rows"),
    _one_of("state", "queued", "running", "ready", "expired", "failed", "refused", "withdrawn"),
    Index("ix_extract_state_lease_until", "state", "lease_until"),
)
