"""Decision-theoretic risk: what it costs to release records, if an intruder has a list of identities.

After Lebanon, Scannapieco, Fouad and Bertino (2006): the loss of a record is how much harm its disclosed values do,
over the number of persons in the list who are consistent with them.
"""

from discreet.measures.decision.agreement import Jaro, jaro
from discreet.measures.decision.dominance import DictionaryDominance, dominates
from discreet.measures.decision.policies import (
    Policy,
    RiskCurve,
    best_policy,
    independent_attributes,
    is_policy,
    min_risk,
    policy_count,
    risk_curve,
)
from discreet.measures.decision.problem import DecisionProblem, decision_problem
from discreet.measures.decision.release import release_problem
from discreet.measures.decision.risk import (
    DecisionRisk,
    DictionaryRisks,
    decision_risk,
    problem_risk,
    risk_over_dictionaries,
)
from discreet.measures.decision.sensitivity import Sensitivity
from discreet.measures.decision.uncertain import UncertainPolicy, policy_over_dictionaries

__all__ = [
    "DecisionProblem",
    "DecisionRisk",
    "DictionaryDominance",
    "DictionaryRisks",
    "Jaro",
    "Policy",
    "RiskCurve",
    "Sensitivity",
    "UncertainPolicy",
    "best_policy",
    "decision_problem",
    "decision_risk",
    "dominates",
    "independent_attributes",
    "is_policy",
    "jaro",
    "min_risk",
    "policy_count",
    "policy_over_dictionaries",
    "problem_risk",
    "release_problem",
    "risk_curve",
    "risk_over_dictionaries",
]
