"""For analysts: estimates from records published with blanks at random and noise, and from synthetic copies.

Examples
--------
>>> import discreet as ds, pyarrow as pa
>>> seen = pa.table({"y": [1.0, 2.0, 2.5, 4.5, None], "x": [0, 1, 2, 3, None]})
>>> ds.analyse.ipw(seen, "y", "x", probabilities=[1, 1, 0.5, 0.5, 1]).coefficients.round(6).tolist()
[0.731707, 1.146341]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazy import names_from

if TYPE_CHECKING:
    from discreet.analyse.copies import CombinedEstimate, combine_copies
    from discreet.analyse.designs import retention_probabilities
    from discreet.analyse.estimators import bsimex, ipw, simex
    from discreet.analyse.formulas import ModelFormula
    from discreet.analyse.results import CorrectedFit, SimulationPath, WeightDiagnostics
    from discreet.analyse.survey_means import SurveyMean, survey_mean

__all__ = [
    "CombinedEstimate",
    "CorrectedFit",
    "ModelFormula",
    "SimulationPath",
    "SurveyMean",
    "WeightDiagnostics",
    "bsimex",
    "combine_copies",
    "ipw",
    "retention_probabilities",
    "simex",
    "survey_mean",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_from(
        __name__,
        {
            "copies": ["CombinedEstimate", "combine_copies"],
            "designs": ["retention_probabilities"],
            "estimators": ["bsimex", "ipw", "simex"],
            "formulas": ["ModelFormula"],
            "results": ["CorrectedFit", "SimulationPath", "WeightDiagnostics"],
            "survey_means": ["SurveyMean", "survey_mean"],
        },
    )
