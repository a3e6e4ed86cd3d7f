"""The log of the table server: a signed hash chain with a Merkle tree, written by one process.

A server starts the logger with :func:`start_logger`, appends with :class:`LogClient` or :class:`AsyncLogClient`, and
lets an answer leave only when the append has returned. ``discreet.trust.log_verify`` judges what was written.
"""

from discreet.trust.log.client import AsyncLogClient, LogClient
from discreet.trust.log.entries import (
    ENTRY_KINDS,
    AnswerGiven,
    CertificateChanged,
    DatasetChanged,
    DecisionTaken,
    EntryRefused,
    KeyChanged,
    LogEntry,
    LogRepaired,
    QuestionAsked,
    QuestionRefused,
    RoleChanged,
    ServerStarted,
    ServerStopped,
    SignedIn,
    SignedOut,
)
from discreet.trust.log.lines import Receipt, SignedHead, TreeHead
from discreet.trust.log.process import LoggerProcess, start_logger
from discreet.trust.log.reader import LogConsistency, LogInclusion, LogReader
from discreet.trust.log.recovery import LogDamaged
from discreet.trust.log.writer import LogBusy, LogUnavailable, LogWriter, create_log

__all__ = [
    "ENTRY_KINDS",
    "AnswerGiven",
    "AsyncLogClient",
    "CertificateChanged",
    "DatasetChanged",
    "DecisionTaken",
    "EntryRefused",
    "KeyChanged",
    "LogBusy",
    "LogClient",
    "LogConsistency",
    "LogDamaged",
    "LogEntry",
    "LogInclusion",
    "LogReader",
    "LogRepaired",
    "LogUnavailable",
    "LogWriter",
    "LoggerProcess",
    "QuestionAsked",
    "QuestionRefused",
    "Receipt",
    "RoleChanged",
    "ServerStarted",
    "ServerStopped",
    "SignedHead",
    "SignedIn",
    "SignedOut",
    "TreeHead",
    "create_log",
    "start_logger",
]
