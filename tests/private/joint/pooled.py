"""The same models of the pooled file, by code that shares nothing with the protocols; the trial of the card."""

from __future__ import annotations

import numpy as np

TRIAL = """1,1,1,3,25
1,1,2,11,22
1,2,1,3,26
1,2,2,6,18
2,1,1,12,12
2,1,2,11,10
2,2,1,3,13
2,2,2,6,12"""
"""Agency, status, treatment, poor, not poor: published."""


def trial() -> dict[str, dict[str, np.ndarray]]:
    """Two agencies, one row a pattern."""
    rows = np.array([[int(v) for v in line.split(",")] for line in TRIAL.splitlines()])
    return {
        f"agency {a}": {
            "x1": (part[:, 1] == 1) * 1.0,
            "x2": (part[:, 2] == 1) * 1.0,
            "poor": part[:, 3],
            "n": part[:, 3] + part[:, 4],
        }
        for a in (1, 2)
        for part in [rows[rows[:, 0] == a]]
    }


def trial_cells() -> dict[str, dict[str, list]]:
    """Two agencies, one row a cell of status, treatment and response."""
    found = {f"agency {a}": {"status": [], "treatment": [], "response": [], "count": []} for a in (1, 2)}
    for line in TRIAL.splitlines():
        agency, status, treatment, poor, rest = (int(v) for v in line.split(","))
        for response, count in (("1", poor), ("2", rest)):
            own = found[f"agency {agency}"]
            own["status"].append(str(status))
            own["treatment"].append(str(treatment))
            own["response"].append(response)
            own["count"].append(count)
    return found


def people(names="ABCD", size=200, seed=0) -> dict[str, dict[str, np.ndarray]]:
    """Owners with numbers, codes and outcomes of all kinds."""
    rng = np.random.default_rng(seed)
    found = {}
    for name in names:
        x, g = rng.normal(size=size), rng.choice(["a", "b", "c"], size)
        eta = 0.3 + 0.8 * x - 0.5 * (g == "b")
        found[name] = {
            "x": x,
            "g": g,
            "y": (rng.random(size) < 1 / (1 + np.exp(-eta))).astype(int),
            "count": rng.poisson(np.exp(0.5 + 0.3 * x)),
            "z": 5 + 2 * x + rng.normal(size=size),
            "w": rng.uniform(0.5, 2, size),
        }
    return found


def pooled(owners, column):
    return np.concatenate([np.asarray(one[column]) for one in owners.values()])


def matrix(owners):
    """Intercept, x, b, c."""
    g = pooled(owners, "g")
    return np.stack([np.ones(len(g)), pooled(owners, "x"), g == "b", g == "c"], axis=1).astype(float)


def weighted_least_squares(X, y, w):
    root = np.sqrt(w)
    return np.linalg.lstsq(X * root[:, None], y * root, rcond=None)[0]


def iterated(X, y, model, w=None):
    """Maximum likelihood by iterated weighted least squares; coefficients and standard errors."""
    w = np.ones(len(y)) if w is None else w
    eta = np.log(y + 0.5) if model == "poisson" else np.where(y > 0, 1.0, -1.0)
    for _ in range(60):
        mu = np.exp(eta) if model == "poisson" else 1 / (1 + np.exp(-eta))
        v = mu if model == "poisson" else mu * (1 - mu)
        beta = weighted_least_squares(X, eta + (y - mu) / v, w * v)
        eta = X @ beta
    _, r = np.linalg.qr(X * np.sqrt(w * v)[:, None])
    return beta, np.sqrt((np.linalg.inv(r) ** 2).sum(axis=1))
