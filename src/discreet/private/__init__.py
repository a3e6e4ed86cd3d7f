"""Protocols between parties: look up published cells without telling which, models and unions of files nobody shows.

Examples
--------
>>> import discreet as ds
>>> ds.private.simulate([b"alpha", b"beta", b"gamma"], 1, "xor").entry.rstrip(b"\\0")
b'beta'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazy import names_from

if TYPE_CHECKING:
    from discreet.private.joint.account import new_account
    from discreet.private.joint.fits import JointFit
    from discreet.private.joint.loglinear import JointTable, TableFit
    from discreet.private.joint.plan_file import JointPlan
    from discreet.private.joint.safety import RevealLimits
    from discreet.private.joint.simulation import JointOwner, JointOwners, join, join_as
    from discreet.private.joint.vertical import VerticalTerms, join_columns, join_columns_as
    from discreet.private.parties.identity import PartyCredentials
    from discreet.private.parties.meeting import AsHost, AtCoordinator, coordinate
    from discreet.private.parties.shared_folder import SharedFolder
    from discreet.private.parties.statements import PartyStatement, party_statements
    from discreet.private.problems import ProtocolError
    from discreet.private.retrieval.client import PublishedCell, RetrievalClient, retrieve
    from discreet.private.retrieval.cost import (
        RetrievalAdvice,
        RetrievalCost,
        RetrievalOption,
        advise,
        retrieval_cost,
    )
    from discreet.private.retrieval.database import Database, build_database, load_database
    from discreet.private.retrieval.frames import Transcript
    from discreet.private.retrieval.server import RetrievalServer
    from discreet.private.retrieval.simulation import SimulatedRetrieval, simulate
    from discreet.private.retrieval.statements import RetrievalStatement, statements
    from discreet.private.retrieval.web import retrieval_app, serve_retrieval
    from discreet.private.retrieval.weighted_sums import WeightedSum
    from discreet.private.union.protocol import UnionResult, UnionTerms
    from discreet.private.union.run_log import new_union_log
    from discreet.private.union.simulation import union_sizes, unite, unite_as

__all__ = [
    "AsHost",
    "AtCoordinator",
    "Database",
    "JointFit",
    "JointOwner",
    "JointOwners",
    "JointPlan",
    "JointTable",
    "PartyCredentials",
    "PartyStatement",
    "ProtocolError",
    "PublishedCell",
    "RetrievalAdvice",
    "RetrievalClient",
    "RetrievalCost",
    "RetrievalOption",
    "RetrievalServer",
    "RetrievalStatement",
    "RevealLimits",
    "SharedFolder",
    "SimulatedRetrieval",
    "TableFit",
    "Transcript",
    "UnionResult",
    "UnionTerms",
    "VerticalTerms",
    "WeightedSum",
    "advise",
    "build_database",
    "coordinate",
    "join",
    "join_as",
    "join_columns",
    "join_columns_as",
    "load_database",
    "new_account",
    "new_union_log",
    "party_statements",
    "retrieval_app",
    "retrieval_cost",
    "retrieve",
    "serve_retrieval",
    "simulate",
    "statements",
    "union_sizes",
    "unite",
    "unite_as",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_from(
        __name__,
        {
            "joint.account": ["new_account"],
            "joint.fits": ["JointFit"],
            "joint.loglinear": ["JointTable", "TableFit"],
            "joint.plan_file": ["JointPlan"],
            "joint.safety": ["RevealLimits"],
            "joint.simulation": ["JointOwner", "JointOwners", "join", "join_as"],
            "joint.vertical": ["VerticalTerms", "join_columns", "join_columns_as"],
            "parties.identity": ["PartyCredentials"],
            "parties.meeting": ["AsHost", "AtCoordinator", "coordinate"],
            "parties.shared_folder": ["SharedFolder"],
            "parties.statements": ["PartyStatement", "party_statements"],
            "problems": ["ProtocolError"],
            "retrieval.client": ["PublishedCell", "RetrievalClient", "retrieve"],
            "retrieval.cost": ["RetrievalAdvice", "RetrievalCost", "RetrievalOption", "advise", "retrieval_cost"],
            "retrieval.database": ["Database", "build_database", "load_database"],
            "retrieval.frames": ["Transcript"],
            "retrieval.server": ["RetrievalServer"],
            "retrieval.simulation": ["SimulatedRetrieval", "simulate"],
            "retrieval.statements": ["RetrievalStatement", "statements"],
            "retrieval.web": ["retrieval_app", "serve_retrieval"],
            "retrieval.weighted_sums": ["WeightedSum"],
            "union.protocol": ["UnionResult", "UnionTerms"],
            "union.run_log": ["new_union_log"],
            "union.simulation": ["union_sizes", "unite", "unite_as"],
        },
    )
