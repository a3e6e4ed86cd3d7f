"""The judge of the log: own reading, own tree, no code of the writer."""

from discreet.trust.log_verify.check import check_log
from discreet.trust.log_verify.proofs import check_proof
from discreet.trust.log_verify.verdict import LogFault, LogVerdict

__all__ = ["LogFault", "LogVerdict", "check_log", "check_proof"]
