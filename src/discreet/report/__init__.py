"""Reports as single HTML pages: one for the custodian with everything, one for the public with what it may see."""

from discreet.report.custodian import custodian_report
from discreet.report.public import public_report
from discreet.report.records import records_report
from discreet.report.risk_page import risk_report

__all__ = ["custodian_report", "public_report", "records_report", "risk_report"]
