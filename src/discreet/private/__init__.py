"""Protocols between parties: look up published cells without telling which.

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

__all__ = [
    "Database",
    "ProtocolError",
    "PublishedCell",
    "RetrievalAdvice",
    "RetrievalClient",
    "RetrievalCost",
    "RetrievalOption",
    "RetrievalServer",
    "RetrievalStatement",
    "SimulatedRetrieval",
    "Transcript",
    "WeightedSum",
    "advise",
    "build_database",
    "load_database",
    "retrieval_app",
    "retrieval_cost",
    "retrieve",
    "serve_retrieval",
    "simulate",
    "statements",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_from(
        __name__,
        {
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
        },
    )
