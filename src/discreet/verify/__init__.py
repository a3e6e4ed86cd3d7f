"""The independent checker: from plain records, with code of its own, in linear time and without a solver."""

from discreet.verify.check import check_release
from discreet.verify.folder import check_folder
from discreet.verify.records.check import check_records
from discreet.verify.verdict import Refusal, Verdict

__all__ = ["Refusal", "Verdict", "check_folder", "check_records", "check_release"]
