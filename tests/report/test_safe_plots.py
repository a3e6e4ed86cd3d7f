"""Safe plots: the checks of the card on plots by jackknife-calibrated noise."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from threading import Thread

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError
from discreet.keys import Key
from discreet.report.safe_plots import drawing
from discreet.report.safe_plots.curves import bin_counts, bin_edges, in_order, kernel_sums, nearest, rungs
from discreet.report.safe_plots.influence import bins_influence, kernels_influence, smoothed
from discreet.report.safe_plots.publishing import cost, publish, records_mark
from discreet.report.safe_plots.request import PlotRequest, plot_request
from discreet.report.safe_plots.summaries import mass_classes, protected_quantiles

SAMPLE = np.array([-21, -15, -11, -9, -7, -3, 3, 7, 9, 11, 15, 21, 51], float)
"""The thirteen values of the paper."""
KEY = Key.from_seed(25)


def line(width: float, low: float = -60, high: float = 120, points: int = 181, **more) -> PlotRequest:
    return plot_request("density", "x", (low, high), width=width, points=points, **more)


def sums(request: PlotRequest, values) -> np.ndarray:
    assert request.width is not None
    return kernel_sums(request, request.width, np.asarray(values, float).reshape(len(values), -1), None)


def exact_sums(grid, values, bandwidths) -> np.ndarray:
    """The definition, written down again."""
    z = np.exp(-0.5 * ((grid[:, None] - values) / bandwidths) ** 2) / bandwidths
    return z.sum(axis=1) / math.sqrt(2 * math.pi)


def modes(grid, curve) -> list[float]:
    inner = (curve[1:-1] > curve[:-2]) & (curve[1:-1] > curve[2:]) & (curve[1:-1] > curve.max() * 1e-4)
    return grid[1:-1][inner].round(1).tolist()


# ---- figures of the card ------------------------------------------------------------------------------------


def test_the_likelihood_of_a_neighbouring_count_is_that_of_the_paper():
    request = plot_request("histogram", "x", (0, 10), width=1)
    assert bins_influence(request).likelihood == pytest.approx(0.6065, abs=5e-5)
    assert bins_influence(request).mu == pytest.approx(math.sqrt(2))


def test_noise_of_local_bandwidths_is_never_below_that_of_figure_6():
    request = plot_request("density", "x", (0, 1e6), width=50_000, local=10, points=201)
    assert 3 / (math.sqrt(2 * math.pi) * 50_000) == pytest.approx(2.394e-5, abs=5e-9)
    influence = kernels_influence(request, (50_000.0,))
    assert influence.noise >= 2.394e-5
    # The paper's noise would leave an attacker 3.97 to 7.60; the bound is what we calibrate on.
    assert influence.delta2 / 2.394e-5 == pytest.approx(7.60, abs=0.02)
    assert influence.mu <= math.sqrt(2) + 1e-9


@pytest.mark.parametrize(("width", "wanted"), [(4.16, [-9.0, 9.0, 51.0]), (8.32, [-2.9, 2.9, 51.0]), (16.64, [0.1])])
def test_modes_of_the_thirteen_values(width, wanted):
    request = line(width, points=1001, low=-40, high=60)
    assert modes(np.linspace(-40, 60, 1001), sums(request, SAMPLE)) == pytest.approx(wanted, abs=0.11)


def test_modes_with_local_bandwidths():
    request = line(2, local=2, points=1001, low=-40, high=60)
    assert modes(np.linspace(-40, 60, 1001), sums(request, SAMPLE)) == pytest.approx([-8.9, 8.9], abs=0.11)
    found = modes(np.linspace(-40, 60, 1001), sums(replace(request, trim=1), SAMPLE))
    assert found[0] == pytest.approx(-8.8, abs=0.15)
    assert found[-1] == pytest.approx(8.8, abs=0.15)


def test_local_bandwidths_are_those_of_the_paper():
    assert np.maximum(2 * nearest(SAMPLE[:, None]), 2).tolist() == [12, 8, 4, 4, 4, 8, 8, 4, 4, 4, 8, 12, 60]


# ---- what one record can do ---------------------------------------------------------------------------------


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_leaving_one_record_out_changes_no_number_by_more_than_the_bound(seed):
    random = np.random.default_rng(seed)
    values = random.choice([random.normal(0, 3, 9), random.lognormal(1, 1, 9), random.integers(0, 4, 9)]).astype(float)
    fewer = np.delete(values, random.integers(9))
    edges = bin_edges((-5.0, 5.0), 0.7)
    assert np.abs(bin_counts(values, None, edges) - bin_counts(fewer, None, edges)).max() <= 1
    plain, local = line(0.5, -10, 30, 201), line(0.5, -10, 30, 201, local=3)
    peak = 1 / (math.sqrt(2 * math.pi) * 0.5)
    # The card bounds N f(y) for densities f; sums of kernels leave out the factor N / (N - 1).
    assert np.abs(sums(plain, values) - sums(plain, fewer)).max() <= peak * (1 + 1e-9)
    assert np.abs(sums(local, values) - sums(local, fewer)).max() <= 3 * peak * (1 + 1e-9)


@pytest.mark.parametrize("points", [101, 181, 401])
def test_delta2_of_one_bandwidth_is_the_largest_that_brute_force_finds(points):
    request = line(4.0, points=points)
    grid = np.linspace(-60, 120, points)
    worst = max(
        np.linalg.norm(exact_sums(grid, np.array([a]), 4.0) - exact_sums(grid, np.array([b]), 4.0))
        for a in np.linspace(-30, 0, 7)
        for b in np.linspace(60, 90, 7)
    )
    influence = kernels_influence(request, (4.0,))
    assert influence.delta2 == pytest.approx(worst, rel=1e-6)
    assert influence.mu == pytest.approx(worst / influence.noise, rel=1e-6)


def test_delta2_holds_where_the_grid_is_as_coarse_as_the_bandwidth():
    request = line(1.0, 0, 100, 101)
    grid = np.linspace(0, 100, 101)
    worst = max(
        np.linalg.norm(exact_sums(grid, np.array([30 + a]), 1.0) - exact_sums(grid, np.array([60 + b]), 1.0))
        for a in np.linspace(0, 1, 21)
        for b in np.linspace(0, 1, 21)
    )
    assert worst <= kernels_influence(request, (1.0,)).delta2 <= 1.001 * worst


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_moving_a_record_never_exceeds_the_bound_of_local_bandwidths(seed):
    random = np.random.default_rng(seed)
    request = line(0.5, -25, 25, 201, local=float(random.choice([1, 5, 50])), trim=int(random.integers(0, 3)))
    values = random.uniform(-20, 20, random.integers(3, 12))
    if random.random() < 0.5:
        values[1] = values[0] + 1e-4
    moved = values.copy()
    moved[0] = random.choice([random.uniform(-20, 20), values[-1] + 1e-4])
    change = np.linalg.norm(sums(request, values) - sums(request, moved))
    assert change <= kernels_influence(request, (0.5,)).delta2


def test_two_close_pairs_reach_twice_a_single_kernel():
    request = line(0.5, -30, 30, 601, local=50)
    before = np.array([-20, -20.0001, 20])
    after = np.array([20.0001, -20.0001, 20])
    n0 = math.sqrt(1 / (2 * math.sqrt(math.pi) * 0.5 * 0.1))
    change = np.linalg.norm(sums(request, before) - sums(request, after))
    assert change / n0 == pytest.approx(2.828, abs=1e-3)
    assert change < kernels_influence(request, (0.5,)).delta2


def test_delta2_in_two_dimensions_is_what_brute_force_finds():
    request = plot_request("density2d", ["x", "y"], [(0, 40), (0, 20)], width=(1.0, 0.5), points=81)
    far = [sums(request, np.array([one])) for one in ([10.0, 5.0], [30.0, 15.0])]
    assert np.linalg.norm(far[0] - far[1]) == pytest.approx(kernels_influence(request, (1.0, 0.5)).delta2, rel=2e-3)


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_moving_a_record_in_two_dimensions_never_exceeds_the_bound(seed):
    random = np.random.default_rng(seed)
    request = plot_request(
        "contours", ["x", "y"], [(0, 20), (0, 20)], width=(1.0, 1.0), points=31, local=20, trim=int(random.integers(2))
    )
    turn = 2 * np.pi * np.arange(7) / 7
    ring = np.column_stack([10 + 5 * np.cos(turn), 10 + 5 * np.sin(turn)]) + random.normal(0, 0.3, (7, 2))
    values = np.vstack([[10.0, 10.0], ring])
    moved = values.copy()
    moved[0] = random.uniform(0, 20, 2)
    assert np.linalg.norm(sums(request, values) - sums(request, moved)) <= kernels_influence(request, (1, 1)).delta2


# ---- numbers ------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.sampled_from([1.0, 2.5]))
@settings(max_examples=30, deadline=None)
def test_sums_of_kernels_are_those_of_the_definition(seed, weight):
    random = np.random.default_rng(seed)
    values, grid = random.normal(20, 15, 40), np.linspace(-60, 120, 181)
    found = kernel_sums(line(3.0), (3.0,), values[:, None], np.full(40, weight))
    wanted = weight * exact_sums(grid, values, 3.0)
    assert np.abs(found - wanted).max() <= 1e-4 * 40 * weight / (math.sqrt(2 * math.pi) * 3)


def test_sums_in_two_dimensions_are_those_of_the_definition():
    random = np.random.default_rng(3)
    values = random.uniform(0, 10, (50, 2))
    request = plot_request("density2d", ["x", "y"], [(0, 10), (0, 10)], width=(0.8, 0.8), points=21)
    grid = np.linspace(0, 10, 21)
    x, y = (np.exp(-0.5 * ((grid[:, None] - values[:, i]) / 0.8) ** 2) / (0.8 * math.sqrt(2 * math.pi)) for i in (0, 1))
    assert np.abs(sums(request, values) - x @ y.T).max() <= 2e-3 / (2 * math.pi * 0.64) * 50


def test_the_nearest_in_two_dimensions_is_that_of_all_pairs():
    values = np.random.default_rng(5).integers(0, 30, (200, 2)).astype(float)
    apart = np.hypot(*(values[:, None, i] - values[None, :, i] for i in (0, 1)))
    np.fill_diagonal(apart, np.inf)
    assert np.allclose(nearest(values), apart.min(axis=1))


@pytest.mark.parametrize("factor", [0.3, 8.0, 200.0])
def test_the_short_way_through_crowds_gives_the_bandwidths_of_all_pairs(factor):
    random = np.random.default_rng(6)
    crowd = np.vstack(
        [random.normal(0, 1, (150, 2)), random.normal(4, 0.01, (150, 2)), [[1e15, -1e15], [9, 9], [9, 9]]]
    )
    least = np.array([0.2, 0.1])
    apart = np.hypot(*((crowd[:, None, i] - crowd[None, :, i]) / least[i] for i in (0, 1)))
    np.fill_diagonal(apart, np.inf)
    ratio = np.maximum(factor * apart.min(axis=1), 1)
    wanted = np.ceil(np.log(ratio) / np.log(1.05) - 1e-9)
    found = rungs(in_order(crowd, None)[0], least, factor, 1.05)
    order = np.lexsort(crowd.T[::-1])
    assert found.tolist() == wanted[order].astype(int).tolist()
    assert 0 in found
    assert len(set(found.tolist())) > 2


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("trim", [1, 3, 20])
def test_the_largest_kernels_are_left_out_and_no_others(dimension, trim):
    random = np.random.default_rng(trim)
    values = random.integers(0, 12, (25, dimension)).astype(float)  # with ties
    names, limits = ["x", "y"][:dimension], [(0.0, 10.0)] * dimension
    kind = "density" if dimension == 1 else "density2d"
    request = plot_request(kind, names, limits, width=(1.0,) * dimension, points=21, trim=trim)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 10, 21)] * dimension, indexing="ij"), axis=-1)
    apart = ((grid[..., None, :] - values) ** 2).sum(axis=-1)
    kernels = np.sort(np.exp(-apart / 2), axis=-1)[..., : len(values) - trim] / (2 * np.pi) ** (dimension / 2)
    assert np.abs(sums(request, values) - kernels.sum(axis=-1)).max() < 2e-3 * len(values) / (2 * np.pi)


def test_records_in_any_order_have_the_same_sums_and_the_same_noise():
    random = np.random.default_rng(4)
    values, weights = random.integers(0, 20, (300, 2)).astype(float), random.integers(1, 3, 300).astype(float)
    turned = random.permutation(300)
    for kind, more in (("density2d", {}), ("contours", {"local": 3.0})):
        request = plot_request(
            kind, ["x", "y"], [(0, 20), (0, 20)], width=(1, 1), points=41, weighted="w", largest_weight=2.0, **more
        )
        one, two = publish(request, values, weights, KEY), publish(request, values[turned], weights[turned], KEY)
        assert (one.values == two.values).all()
        assert records_mark(values, weights) == records_mark(values[turned], weights[turned])
        assert records_mark(values, weights) != records_mark(values, weights[::-1])


def test_values_outside_the_limits_are_in_the_outer_bins():
    assert bin_counts(np.array([-1e300, 0.5, 1.5, 2.0, 1e300]), None, np.array([0.0, 1.0, 2.0])).tolist() == [2, 3]


def test_smoothing_five_times_has_the_weights_of_the_paper():
    smoother = smoothed(np.eye(201), 5)
    assert (smoother[100, 95:106] * 243).round(9).tolist() == [1, 5, 15, 30, 45, 51, 45, 30, 15, 5, 1]
    assert math.sqrt((smoother[100] ** 2).sum()) == pytest.approx(0.3894, abs=5e-5)
    assert np.allclose(smoother.sum(axis=1), 1)


def test_noise_has_the_deviation_that_is_printed():
    """Card 003-13, check 2: over 2,000 plots."""
    values = np.random.default_rng(0).normal(0, 1, (200, 1))
    request, curve = plot_request("histogram", "x", (-3, 3), width=0.64), line(0.4, -3, 3, 31)
    truth = bin_counts(values[:, 0], None, bin_edges((-3.0, 3.0), 0.64))
    smooth_truth = smoothed(sums(curve, values), 5)
    errors, smooth = [], []
    for seed in range(2000):
        key = Key.from_seed(seed)
        errors.append(publish(request, values, None, key).values - truth)
        found = publish(curve, values, None, key)
        smooth.append(found.values * found.total - smooth_truth)
    assert np.std(errors) == pytest.approx(1, rel=0.03)
    assert abs(np.mean(errors)) < 0.03
    noise = kernels_influence(curve, (0.4,)).noise
    assert np.std(np.array(smooth)[:, 8:-8]) / noise == pytest.approx(0.3894, rel=0.03)
    assert np.std(np.array(smooth)[:, 0]) / noise == pytest.approx(
        math.sqrt((smoothed(np.eye(31), 5)[0] ** 2).sum()), rel=0.08
    )


def test_published_numbers_lie_on_a_lattice_that_hides_how_they_were_drawn():
    values = np.random.default_rng(0).normal(0, 1, (200, 1))
    found = publish(plot_request("histogram", "x", (-3, 3), width=0.64), values, None, KEY).values
    assert (found * 1024 == np.round(found * 1024)).all()


# ---- the same request, the account --------------------------------------------------------------------------


def test_the_same_request_has_the_same_noise_and_another_has_other():
    values = np.random.default_rng(0).normal(0, 1, (200, 1))
    request = plot_request("histogram", "x", (-3, 3), width=0.6)
    one, two = publish(request, values, None, KEY), publish(request, values[::-1], None, KEY)
    assert (one.values == two.values).all()
    other = publish(replace(request, noise=1.0, limits=((-3.0, 3.6),)), values, None, KEY)
    truth = [bin_counts(values[:, 0], None, plot.axes[0]) for plot in (one, other)]
    assert not np.isclose(one.values[:9] - truth[0][:9], other.values[:9] - truth[1][:9]).any()
    assert (publish(request, values, None, Key.from_seed(1)).values != one.values).any()


def test_one_record_more_gets_fresh_noise_everywhere():
    values = np.random.default_rng(0).normal(0, 1, (200, 1))
    request = plot_request("histogram", "x", (-3, 3), width=0.6)
    one, two = publish(request, values, None, KEY), publish(request, values[1:], None, KEY)
    assert (one.values != two.values).sum() == len(one.values)


def test_overlapping_requests_are_charged_and_repeats_are_not():
    account = ds.PlotAccount(limit=5)
    values = np.random.default_rng(0).normal(0, 1, (200, 1))
    request = plot_request("histogram", "x", (-3, 3), width=0.6)
    left = [publish(request, values, None, KEY, account=account).left for _ in range(3)]
    assert left == pytest.approx([3, 3, 3])
    assert publish(replace(request, limits=((-3.0, 3.6),)), values, None, KEY, account=account).left == pytest.approx(1)
    with pytest.raises(ProtectionError, match=r"costs 2 of the account, and 1 is left"):
        publish(replace(request, limits=((-3.6, 3.0),)), values, None, KEY, account=account)
    assert account.left == pytest.approx(1)
    # Other records under the same name are another request.
    account = ds.PlotAccount(limit=3)
    publish(request, values, None, KEY, account=account, version="1")
    with pytest.raises(ProtectionError):
        publish(request, values[1:], None, KEY, account=account, version="1")


def test_two_requests_at_once_never_take_more_than_there_is():
    account, refused = ds.PlotAccount(limit=3), []

    def ask(place: int) -> None:
        try:
            account.charge(f"request {place}", 2.0)
        except ProtectionError:
            refused.append(place)

    threads = [Thread(target=ask, args=(place,)) for place in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(refused) == 7
    assert account.left == pytest.approx(1)


@pytest.mark.parametrize("limit", [0, -1, float("nan"), True, "3"])
def test_an_account_has_a_limit(limit):
    with pytest.raises(ParameterError, match="limit"):
        ds.PlotAccount(limit=limit)


@pytest.mark.parametrize("kind", ["histogram", "density", "box", "density2d", "contours"])
def test_a_protected_width_is_charged_too(kind):
    names = ["x", "y"] if kind in ("density2d", "contours") else ["x"]
    limits = [(-3, 3)] * len(names)
    values = np.random.default_rng(0).normal(0, 1, (2000, len(names)))
    request = plot_request(kind, names, limits)
    plot = publish(request, values, None, KEY)
    own = 0 if kind == "box" else 2 * len(names)
    assert plot.mu**2 == pytest.approx(2 + own) == pytest.approx(cost(request))
    if kind == "histogram":
        assert plot.width is not None
        assert plot.width[0] == pytest.approx(2 * 1.35 * 2000 ** (-1 / 3), rel=0.3)
    if kind == "density":
        assert plot.width is not None
        assert plot.width[0] == pytest.approx(0.9 * 2000 ** (-1 / 5), rel=0.3)


# ---- nothing raw --------------------------------------------------------------------------------------------


def numbers_in(plain) -> list[float]:
    if isinstance(plain, dict):
        return [found for one in plain.values() for found in numbers_in(one)]
    if isinstance(plain, list):
        return [found for one in plain for found in numbers_in(one)]
    return [plain] if isinstance(plain, float) else []


@pytest.mark.parametrize("kind", ["histogram", "density", "box", "density2d", "contours"])
def test_no_field_holds_the_smallest_the_largest_or_a_quartile(kind):
    random = np.random.default_rng(7)
    table = pa.table({"pay": random.lognormal(8, 1, 501), "age": random.uniform(15, 90, 501)})
    names = ["pay", "age"] if kind in ("density2d", "contours") else ["pay"]
    limits = [(0, 20_000), (0, 100)][: len(names)]
    plot = ds.safe_plot(table, names, kind, limits=limits, points=31 if len(names) > 1 else None, key=KEY)
    shown = set(numbers_in(json.loads(json.dumps(plot.to_dict()))))
    for name in names:
        values = table[name].to_numpy()
        secret = [values.min(), values.max(), *np.quantile(values, [0.25, 0.5, 0.75]), values.std(), values.std(ddof=1)]
        assert not any(math.isclose(one, two, rel_tol=1e-9) for one in secret for two in shown)
    assert 501 not in [round(one, 9) for one in shown]
    assert plot.records is None


@pytest.mark.parametrize("kind", ["histogram", "density"])
def test_the_largest_record_changes_neither_limits_nor_width(kind):
    values = np.random.default_rng(7).lognormal(8, 1, 501)
    larger = values.copy()
    larger[values.argmax()] *= 10
    plots = [
        ds.safe_plot(pa.table({"pay": one}), "pay", kind, limits=(0, 20_000), width=500, key=KEY)
        for one in (values, larger)
    ]
    assert (plots[0].axes[0] == plots[1].axes[0]).all()
    assert plots[0].width == plots[1].width


def test_classes_of_contours_depend_on_the_perturbed_grid_only():
    values = np.random.default_rng(1).normal(0, 1, (3000, 2))
    request = plot_request("contours", ["x", "y"], [(-3, 3), (-3, 3)], width=(0.4, 0.4), points=41, levels=5)
    plot = publish(request, values, None, KEY)
    limits, classes = mass_classes(plot.values * plot.total, request.levels)
    assert (classes == plot.classes).all()
    assert np.allclose(limits / plot.total, plot.class_limits)
    assert set(plot.to_rows()[0]) == {"at", "and", "class"}
    shown = np.maximum(plot.values, 0)
    for place, share in enumerate(request.levels):
        assert shown[classes <= place].sum() / shown.sum() == pytest.approx(share, abs=0.02)


def test_quantiles_of_a_box_lie_in_their_bands():
    values = np.random.default_rng(1).normal(50, 10, 4000)
    plot = ds.safe_plot(pa.table({"x": values}), "x", "box", limits=(0, 100), key=KEY)
    assert plot.quantiles is not None
    truth = np.quantile(values, plot.quantiles.shares)
    assert np.abs(plot.quantiles.values - truth).max() < 1.6
    assert (plot.quantiles.low <= plot.quantiles.values).all()
    assert (plot.quantiles.values <= plot.quantiles.high).all()


def test_bands_of_quantiles_hold_ninety_five_times_in_a_hundred():
    random = np.random.default_rng(2)
    counts = np.array([50.0, 200.0, 400.0, 200.0, 50.0])
    edges = np.linspace(0, 5, 6)
    truth = protected_quantiles(edges, counts, 0, (0.25, 0.5, 0.75)).values
    held = []
    for _ in range(600):
        found = protected_quantiles(edges, counts + random.normal(0, 5, 5), 5, (0.25, 0.5, 0.75))
        held.append((found.low - 1e-9 <= truth) & (truth <= found.high + 1e-9))
    assert np.mean(held) > 0.93


# ---- bad input ----------------------------------------------------------------------------------------------


def frame(values) -> pa.Table:
    return pa.table({"x": np.asarray(values, float), "w": np.ones(len(values)), "y": np.arange(len(values)) + 0.5})


@pytest.mark.parametrize("kind", ["histogram", "density", "box"])
def test_five_records_are_not_drawn(kind):
    with pytest.raises(ProtectionError, match="fewer than 10 records"):
        ds.safe_plot(frame([1, 2, 3, 4, 5]), "x", kind, limits=(0, 10), key=KEY)


@pytest.mark.parametrize("kind", ["histogram", "density", "box"])
def test_a_constant_is_not_drawn(kind):
    account = ds.PlotAccount(limit=10)
    with pytest.raises(ProtectionError, match="'x' is the same in all records") as error:
        ds.safe_plot(frame([7] * 20), "x", kind, limits=(0, 10), key=KEY, account=account)
    assert "7" not in str(error.value)
    assert account.left == 10


def test_weights_are_used_or_refused_and_never_left_aside():
    data = frame(np.linspace(0, 10, 50))
    with pytest.raises(NeedsError, match="weights 'w'"):
        ds.safe_plot(ds.Microdata(data, weight="w"), "x", limits=(0, 10), width=1, key=KEY)
    with pytest.raises(NeedsError, match="largest_weight="):
        ds.safe_plot(data, "x", limits=(0, 10), width=1, weight="w", key=KEY)
    with pytest.raises(ParameterError, match=r"above largest_weight=0.5"):
        ds.safe_plot(data, "x", limits=(0, 10), width=1, weight="w", largest_weight=0.5, key=KEY)
    with pytest.raises(ParameterError, match="trim does not go with weights"):
        ds.safe_plot(data, "x", "density", limits=(0, 10), width=1, weight="w", largest_weight=2, trim=1, key=KEY)
    plot = ds.safe_plot(data, "x", limits=(0, 10), width=1, weight="w", largest_weight=2.0, key=KEY)
    assert plot.influence.noise == 2
    assert plot.mu == pytest.approx(math.sqrt(2))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"limits": None}, "no limits"),
        ({"limits": (10, 0)}, "limits"),
        ({"limits": (0, float("inf"))}, "limits"),
        ({"limits": "ab"}, "limits"),
        ({"width": 0}, "width=0"),
        ({"width": -1}, "width=-1"),
        ({"width": float("nan")}, "width=nan"),
        ({"width": "raw"}, "width='raw'"),
        ({"width": 1e-5}, "more than 1000 bins"),
        ({"kind": "scatter"}, "no plot 'scatter'"),
        ({"kind": "density", "width": 0.01, "points": 11}, "apart"),
        ({"kind": "density", "points": 5}, "points=5"),
        ({"kind": "density", "trim": -1}, "trim=-1"),
        ({"kind": "density", "smooth": 1.5}, "smooth=1.5"),
        ({"kind": "density", "local": 2, "width": "protected"}, "local needs"),
        ({"noise": 0.5}, "noise=0.5"),
        ({"noise": 0}, "noise=0"),
        ({"trim": 1}, "trim are for densities"),
        ({"log": True}, "cannot begin at 0"),
        ({"kind": "contours"}, "shows 2 variables"),
        ({"missing": "guess"}, "missing='guess'"),
    ],
)
def test_bad_requests_say_what_is_allowed(options, text):
    data = frame(np.linspace(0, 10, 50))
    given_ = {"kind": "histogram", "limits": (0, 10), "width": 1.0, "key": KEY, **options}
    with pytest.raises(ParameterError, match=text):
        ds.safe_plot(data, "x", **given_)


@pytest.mark.parametrize("levels", [1, [0.5], [0.5, 0.5], [0.1, 1.2], [0.9, 0.1]])
def test_bad_levels(levels):
    with pytest.raises(ParameterError, match="levels"):
        ds.safe_plot(frame(range(50)), ["x", "y"], "contours", limits=[(0, 50)] * 2, levels=levels, key=KEY)


def test_gaps_are_refused_or_left_out_and_never_counted():
    data = pa.table({"x": [None, *np.linspace(0, 10, 30)]})
    with pytest.raises(InputError, match="no number") as error:
        ds.safe_plot(data, "x", limits=(0, 10), width=1, key=KEY)
    assert "31" not in str(error.value)
    plot = ds.safe_plot(data, "x", limits=(0, 10), width=1, key=KEY, missing="drop", show_records=True)
    assert plot.records == 30
    assert any("left out" in note for note in plot.notes)


def test_logarithmic_axes_take_values_below_zero_to_the_outer_bin():
    values = np.concatenate([[-5.0, 0.0], np.random.default_rng(1).lognormal(3, 1, 500)])
    plot = ds.safe_plot(frame(values), "x", limits=(0.1, 1e4), width=0.5, log=True, key=KEY)
    assert plot.to_rows()[0]["from"] == pytest.approx(0.1)
    assert plot.to_rows()[-1]["to"] == pytest.approx(1e4)
    assert plot.total == pytest.approx(502, abs=20)


def test_an_empty_range_and_heavy_ties_are_drawn_as_anything_else():
    plot = ds.safe_plot(frame(np.linspace(0, 10, 60)), "x", "density", limits=(1000, 1010), width=1, key=KEY)
    assert np.abs(plot.values).max() < 5 * plot.noise.max() + 1e-9
    tied = ds.safe_plot(
        frame([1.0] * 500 + [2.0] * 500), "x", "density", limits=(0, 3), width=0.2, local=5, trim=3, key=KEY
    )
    assert np.isfinite(tied.values).all()


@pytest.mark.parametrize("kind", ["histogram", "density", "box", "density2d", "contours"])
def test_every_plot_has_drawing_legend_band_note_and_csv(kind):
    names = ["x", "y"] if kind in ("density2d", "contours") else ["x"]
    data = frame(np.random.default_rng(1).normal(20, 5, 300))
    limits = [(0, 40), (0, 300)][: len(names)]
    plot = ds.safe_plot(data, names, kind, limits=limits, points=21 if len(names) > 1 else None, key=KEY)
    assert plot.image().startswith("<svg")
    assert "standard deviation" in plot.image()
    assert "within the band is noise" in plot._repr_html_()
    assert len(plot.to_csv().splitlines()) == len(plot.to_rows()) + 1
    assert plot.protection()["mu"] == plot.mu
    assert plot.band.shape == plot.values.shape


def test_counts_below_zero_are_zero_in_the_drawing_only(monkeypatch):
    data = frame(np.linspace(0, 1, 50))
    figures = []

    def kept(draw: Callable[[Figure], None], *_rest: object) -> str:
        figures.append(Figure())
        draw(figures[-1])
        return "<svg/>"

    monkeypatch.setattr(drawing, "drawn", kept)
    for kind in ("histogram", "density"):
        plot = ds.safe_plot(data, "x", kind, limits=(0, 100), width=1, key=KEY)
        assert plot.values.min() < 0
        assert min(row["count" if kind == "histogram" else "density"] for row in plot.to_rows()) < 0
        plot.image()
    bars, line = figures[0].axes[0].patches, figures[1].axes[0].lines[0].get_ydata()
    assert len(bars) == 100
    assert min(bar.get_height() for bar in bars) == 0
    assert np.min(line) == 0


def test_the_accuracy_of_histograms_is_that_of_the_card():
    """Efficiency of the protected histogram beside the plain one, as distance of distribution functions (item 2)."""
    random, edges, at = np.random.default_rng(2), np.linspace(-2.88, 2.88, 10), np.linspace(-4, 4, 801)
    request = plot_request("histogram", "x", (-2.88, 2.88), width=0.64)
    true = np.array([(1 + math.erf(place / math.sqrt(2))) / 2 for place in at])

    def distribution(counts: np.ndarray) -> np.ndarray:
        share = np.concatenate([[0.0], np.cumsum(counts)]) / counts.sum()
        return np.interp(at, edges, share, 0.0, 1.0)

    apart = np.zeros((4, len(at)))
    for seed in range(3000):
        values = random.normal(0, 1, (100, 1))
        shown = distribution(publish(request, values, None, Key.from_seed(seed)).values)
        plain = distribution(bin_counts(values[:, 0], None, edges))
        sample = np.searchsorted(np.sort(values[:, 0]), at, side="right") / 100
        apart += [(plain - true) ** 2, (shown - true) ** 2, (plain - sample) ** 2, (shown - sample) ** 2]
    whole = apart.sum(axis=1)
    assert whole[0] / whole[1] == pytest.approx(0.849, abs=0.02)
    assert whole[2] / whole[3] == pytest.approx(0.597, abs=0.03)
