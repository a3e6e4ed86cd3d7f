"""Reports as single HTML pages: one for the custodian with everything, one for the public with what it may see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazy import names_from

if TYPE_CHECKING:
    from discreet.report.custodian import custodian_report
    from discreet.report.public import public_report
    from discreet.report.records import records_report
    from discreet.report.risk_page import risk_report

__all__ = ["custodian_report", "public_report", "records_report", "risk_report"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_from(
        __name__,
        {
            "custodian": ["custodian_report"],
            "public": ["public_report"],
            "records": ["records_report"],
            "risk_page": ["risk_report"],
        },
    )
