"""Attacks by many plots: other bins, bandwidths and limits tell what the account allows, and no more."""

from __future__ import annotations

from math import erf, sqrt

import numpy as np
import pytest

import discreet as ds
from discreet.errors import ProtectionError
from discreet.keys import Key
from discreet.report.safe_plots import publishing
from discreet.report.safe_plots.request import PlotRequest, plot_request

LOW, HIGH, STEP = -3.0, 3.0, 0.15
GRID = np.linspace(LOW, HIGH, 41)
KNOWN = np.clip(np.random.default_rng(8).normal(0, 1, 60), LOW + 0.01, HIGH - 0.01)
HERE, THERE = -1.03, 1.61
"""Two values that the last record can have; the attacker knows all others and must tell which it is."""
LIMIT = 8.0


def shown(request: PlotRequest, last: float) -> np.ndarray:
    """What a plot would show without noise, from its definition."""
    values = np.append(KNOWN, last)
    if request.kind == "histogram":
        assert request.width is not None
        low, high = request.limits[0]
        return np.histogram(
            np.clip(values, low, high), np.linspace(low, high, round((high - low) / request.width[0]) + 1)
        )[0]
    assert request.width is not None
    width = request.width[0]
    return np.exp(-0.5 * ((GRID[:, None] - values) / width) ** 2).sum(axis=1) / (sqrt(2 * np.pi) * width)


def questions() -> list[PlotRequest]:
    """Many plots of the same records, no two alike."""
    lines = [plot_request("density", "x", (LOW, HIGH), width=0.3 + k / 50, points=41, smooth=0) for k in range(20)]
    bins = [plot_request("histogram", "x", (LOW, HIGH + k), width=0.5) for k in range(1, 20)]
    return [plot for pair in zip(bins, lines, strict=False) for plot in pair]


def verdict(seed: int, last: float) -> tuple[bool, int]:
    """Whether the best test takes the record to be ``THERE``, after as many plots as the account gives."""
    account, key = ds.PlotAccount(limit=LIMIT), Key.from_seed(seed)
    score, many = 0.0, 0
    for request in questions():
        try:
            found = publishing.publish(request, np.append(KNOWN, last)[:, None], None, key, account=account)
        except ProtectionError:
            break
        one, two = shown(request, HERE), shown(request, THERE)
        numbers = found.values * (1 if request.kind == "histogram" else found.total)
        deviation = found.noise[0] * (1 if request.kind == "histogram" else found.total)
        score += float(((numbers - (one + two) / 2) * (two - one)).sum() / deviation**2)
        many += 1
    return score > 0, many


def test_a_sequence_of_plots_tells_no_more_than_the_account_says() -> None:
    """The best test of two values errs as often as mu = sqrt(8) says: noise of different plots is independent, and none
    of it can be had twice."""
    tries = [(verdict(seed, last), last) for seed in range(250) for last in (HERE, THERE)]
    assert {many for (_, many), _ in tries} == {4}
    right = np.mean([guess == (last == THERE) for (guess, _), last in tries])
    at_most = (1 + erf(sqrt(LIMIT) / 2 / sqrt(2))) / 2
    assert right < at_most + 3 * sqrt(0.25 / len(tries))
    assert right > at_most - 0.08, "the plots lie on top of each other: they would tell more, or nothing, of others"


def test_noise_of_different_plots_is_independent() -> None:
    """The same counts under other names, limits that change no bin, other records: no noise comes twice."""
    values = np.append(KNOWN, HERE)[:, None]
    plain = plot_request("histogram", "x", (LOW, HIGH), width=0.5)
    others = [
        plot_request("histogram", "y", (LOW, HIGH), width=0.5),
        plot_request("histogram", "x", (LOW, HIGH), width=0.5000001),
        plot_request("histogram", "x", (LOW, HIGH), width=0.5, noise=1.0000001),
    ]
    drawn = []
    for seed in range(300):
        plots = [publishing.publish(one, values, None, Key.from_seed(seed)) for one in (plain, *others)]
        drawn.append([plot.values - shown(plain, HERE) for plot in plots])
    noise = np.array(drawn).transpose(1, 0, 2).reshape(4, -1)
    correlation = np.corrcoef(noise) - np.eye(4)
    assert np.abs(correlation).max() < 4 / sqrt(noise.shape[1])


@pytest.mark.parametrize(
    "options", [{"noise": 1}, {"noise": 1.0}, {"local": 0}, {"width": (0.5,)}, {"limits": (-3, 3)}]
)
def test_a_request_that_is_written_another_way_is_the_same_request(options: dict) -> None:
    plain = plot_request("histogram", "x", (LOW, HIGH), width=0.5)
    given = {"limits": (LOW, HIGH), "width": 0.5, **options}
    assert plot_request("histogram", "x", given.pop("limits"), **given).canonical == plain.canonical
    zero = plot_request("histogram", "x", (-0.0, HIGH), width=0.5)
    assert zero.canonical == plot_request("histogram", "x", (0.0, HIGH), width=0.5).canonical


@pytest.mark.parametrize("weighted", [False, True])
def test_neither_order_nor_last_digits_bring_fresh_noise(monkeypatch: pytest.MonkeyPatch, weighted: bool) -> None:
    """Threads and engines add up in other orders: the same request would be had with two kinds of noise, uncharged."""
    random = np.random.default_rng(4)
    values, weights = random.normal(0, 1, (500, 2)), random.uniform(0.1, 3, 500)
    more = {"weighted": "w", "largest_weight": 3.0} if weighted else {}
    request = plot_request("density2d", ["x", "y"], [(-3, 3)] * 2, width=(0.4, 0.4), points=31, **more)
    given = weights if weighted else None
    account = ds.PlotAccount(limit=2)
    one = publishing.publish(request, values, given, Key.from_seed(1), account=account)
    order = random.permutation(500)
    true = publishing.kernel_sums

    def other_digits(*args: object) -> np.ndarray:
        found = true(*args)  # type: ignore[arg-type]
        return found * (1 + 1e-9 * random.standard_normal(found.shape))

    monkeypatch.setattr(publishing, "kernel_sums", other_digits)
    two = publishing.publish(
        request, values[order], weights[order] if weighted else None, Key.from_seed(1), account=account
    )
    assert np.abs(one.values - two.values).max() < one.noise.max() / 100
    assert account.left == pytest.approx(0, abs=1e-9), "it was charged once"
