"""Weights, simulation and extrapolation: against other code, closed forms, and what happens to bad input."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.analyse.extrapolation import curve
from discreet.analyse.models import MODELS, fit_many, fits_with_noise, fitted, pieces
from discreet.errors import InputError, ParameterError
from discreet.model.blanking import Blanking, KeptRange
from discreet.model.public import PublicRelease

I = np.arange(1, 61)  # noqa: E741
X, Z = np.sin(I * 1.7) * 3 + I / 20, np.cos(I * 0.9) * 2
WEIGHTS = 1 + (I % 7) / 2
OUTCOMES = {
    "linear": 1.5 + 0.8 * X - 0.5 * Z + np.sin(I * 5.3) * 1.2,
    "logit": ((0.4 * X - 0.3 * Z + np.sin(I * 3.1) * 2.5) > 0.5).astype(float),
    "poisson": np.floor(np.exp(0.2 + 0.25 * X - 0.2 * Z) + (I % 3)),
}
FRAMES = {model: pa.table({"x": X, "z": Z, "y": y}) for model, y in OUTCOMES.items()}
STATSMODELS = {  # GLM of statsmodels 0.15.0 with var_weights; HC0 errors times the root of 60 / 57
    "linear": (
        [1.4854966443136703, 0.7480829884137864, -0.6011479603903633],
        [0.12953285956059518, 0.04649074631372675, 0.07781079733642604],
    ),
    "logit": (
        [-0.20017281067579662, 0.1447286412366112, -0.09939995343667593],
        [0.34783018101404595, 0.12236957441370691, 0.21136707470580923],
    ),
    "poisson": (
        [0.5499970753261053, 0.20250731148335113, -0.17152922952262062],
        [0.09086216063275197, 0.02349335525225366, 0.034102613454751775],
    ),
}
LINEAR = FRAMES["linear"]


@pytest.mark.parametrize("model", STATSMODELS)
def test_weighted_fits_are_those_of_statsmodels(model):
    fit = ds.analyse.ipw(FRAMES[model], "y", ["x", "z"], model=model, probabilities=1 / WEIGHTS)
    coefficients, errors = STATSMODELS[model]
    assert fit.coefficients == pytest.approx(coefficients, rel=1e-10)
    assert fit.standard_errors == pytest.approx(errors, rel=1e-9)


@pytest.mark.parametrize("model", STATSMODELS)
def test_weights_of_the_sample_count_like_those_for_blanking(model):
    frame = FRAMES[model].append_column("w", pa.array(WEIGHTS))
    one = ds.analyse.ipw(frame, "y", ["x", "z"], model=model, probabilities=np.ones(60), weight="w")
    two = ds.analyse.ipw(frame, "y", ["x", "z"], model=model, probabilities=1 / WEIGHTS)
    assert one.coefficients == pytest.approx(two.coefficients, rel=1e-12)
    assert one.standard_errors == pytest.approx(two.standard_errors, rel=1e-12)
    assert one.weights.largest == 1


@pytest.mark.parametrize("model", STATSMODELS)
def test_without_noise_and_limits_all_estimators_are_the_plain_fit(model):
    """Card 003-14, check 1."""
    told = {"probabilities": np.ones(60)}
    plain = ds.analyse.ipw(FRAMES[model], "y", ["x", "z"], model=model, **told)
    silent = {"noise": {"x": 0.0}, "bootstrap": None, "model": model}
    for fit in (
        ds.analyse.simex(FRAMES[model], "y", ["x", "z"], **silent),
        ds.analyse.bsimex(FRAMES[model], "y", ["x", "z"], **silent, **told),
    ):
        assert fit.coefficients == pytest.approx(plain.naive, abs=1e-10)
    assert plain.coefficients == pytest.approx(plain.naive, abs=1e-10)
    if model == "linear":
        exact = np.linalg.lstsq(np.column_stack([np.ones(60), X, Z]), OUTCOMES["linear"], rcond=None)[0]
        assert plain.coefficients == pytest.approx(exact, abs=1e-10)


def test_large_numbers_lose_no_digits():
    frame = pa.table({"x": X * 1e-3 + 1e6, "z": Z * 1e9, "y": OUTCOMES["linear"]})
    fit = ds.analyse.ipw(frame, "y", ["x", "z"], probabilities=np.ones(60))
    plain = ds.analyse.ipw(LINEAR, "y", ["x", "z"], probabilities=np.ones(60))
    assert fit["x"] == pytest.approx(plain["x"] * 1e3, rel=1e-6)
    assert fit["z"] == pytest.approx(plain["z"] / 1e9, rel=1e-9)


def slow_simex(frame: pa.Table, weights: np.ndarray, variance: float, draws: int) -> np.ndarray:
    """The same by other means: one fit after the other by QR, curves by polyfit."""
    x, z, y = (frame[name].to_numpy() for name in ("x", "z", "y"))
    draw, root = np.random.default_rng(99), np.sqrt(weights)
    path = []
    for level in (0, 0.5, 1, 1.5, 2):
        found = []
        for _ in range(draws if level else 1):
            noisy = x + np.sqrt(level * variance) * draw.standard_normal(len(x))
            design = np.column_stack([np.ones(len(x)), noisy, z])
            q, r = np.linalg.qr(design * root[:, None])
            found.append(np.linalg.solve(r, q.T @ (y * root)))
        path.append(np.mean(found, axis=0))
    return np.array([np.polyval(np.polyfit((0, 0.5, 1, 1.5, 2), column, 2), -1) for column in np.array(path).T])


def test_simulation_and_extrapolation_against_a_slow_loop():
    fit = ds.analyse.bsimex(
        LINEAR, "y", ["x", "z"], probabilities=1 / WEIGHTS, noise={"x": 0.8}, draws=3000, bootstrap=None
    )
    slow = slow_simex(LINEAR, WEIGHTS, 0.8, 3000)
    assert fit.coefficients == pytest.approx(slow, abs=0.01)  # simulation error of both: some 0.003
    assert fit.path.coefficients[0] == pytest.approx(STATSMODELS["linear"][0], rel=1e-10)


def test_the_path_falls_as_the_closed_form_says():
    """One regressor: noise of level l makes the slope b s / (s + (1 + l) u), and the rational curve finds b again."""
    draw = np.random.default_rng(5)
    many, inside = 40_000, 0.5
    x = draw.normal(size=many)
    frame = pa.table({"x": x + np.sqrt(inside) * draw.normal(size=many), "y": 2 * x + draw.normal(size=many)})
    fit = ds.analyse.simex(frame, "y", "x", noise={"x": inside}, draws=5, bootstrap=None, extrapolation="rational")
    expected = 2 / (1 + (1 + fit.path.levels) * inside)
    assert fit.path.coefficients[:, 1] == pytest.approx(expected, abs=0.025)
    assert fit["x"] == pytest.approx(2, abs=0.06)
    assert abs(fit.naive[1] - 2 / (1 + inside)) < 3 * fit.naive_errors[1]  # card 003-14, check 4
    quadratic = ds.analyse.simex(frame, "y", "x", noise={"x": inside}, draws=5, bootstrap=None)
    linear = ds.analyse.simex(frame, "y", "x", noise={"x": inside}, draws=5, bootstrap=None, extrapolation="linear")
    assert fit.notes == ("no rational curve for 'intercept': quadratic in its place",)  # noise does not move it
    errors = [abs(one["x"] - 2) for one in (fit, quadratic, linear)]
    assert errors == sorted(errors)
    assert errors[2] < abs(fit.naive[1] - 2)


@given(st.floats(-5, 5), st.floats(-5, 5), st.floats(1.3, 6), st.sampled_from(["linear", "quadratic", "rational"]))
@settings(max_examples=40, deadline=None)
def test_curves_of_their_own_kind_are_found_exactly(a, b, c, kind):
    def truth(x: np.ndarray) -> np.ndarray:
        return {"linear": a + b * x, "quadratic": a + b * x + c * x * x, "rational": a + b / (c + x)}[kind]

    levels = np.array([0, 0.5, 1, 1.5, 2])
    found = curve(levels, truth(levels)[:, None], kind, np.array([-1.0]))
    assert found[0, 0] == pytest.approx(float(truth(np.array([-1.0]))[0]), abs=2e-3 * (1 + abs(b)))


def test_noise_of_several_regressors_with_covariance():
    draw = np.random.default_rng(6)
    many = 30_000
    true = draw.multivariate_normal([0, 0], [[1, 0.3], [0.3, 1]], many)
    spread = np.array([[0.3, 0.2], [0.2, 0.4]])
    seen = true + draw.multivariate_normal([0, 0], spread, many)
    y = true @ [1.0, -1.0] + draw.normal(size=many)
    frame = pa.table({"a": seen[:, 0], "b": seen[:, 1], "y": y})
    stated = {"a": {"a": 0.3, "b": 0.2}, "b": {"a": 0.2, "b": 0.4}}
    both = ds.analyse.simex(frame, "y", ["a", "b"], noise=stated, draws=5, bootstrap=None)
    alone = ds.analyse.simex(frame, "y", ["a", "b"], noise={"a": 0.3, "b": 0.4}, draws=5, bootstrap=None)
    # The expected path is (S + (1 + l) U)^-1 S b: its quadratic curve, without any simulation.
    covariance = np.array([[1, 0.3], [0.3, 1]])
    for fit, added in ((both, spread), (alone, np.diag(np.diag(spread)))):
        path = [np.linalg.solve(covariance + spread + l * added, covariance @ [1.0, -1.0]) for l in fit.path.levels]  # noqa: E741
        assert fit.path.coefficients[:, 1:] == pytest.approx(np.array(path), abs=0.04)
    for other in (alone["a"], both.naive[1]):
        assert abs(both["a"] - 1) < abs(other - 1)


@pytest.mark.parametrize(("model", "slope"), [("logit", 1.0), ("poisson", 0.5)])
def test_logit_and_poisson_are_corrected_through_the_same_door(model, slope):
    """Card 003-14, check 8: blanking by a column outside the model, and noise in the regressor."""
    draw = np.random.default_rng(7)
    many = 20_000
    x = draw.normal(size=many)
    if model == "logit":
        y = (draw.random(many) < 1 / (1 + np.exp(-slope * x))).astype(float)
    else:
        y = draw.poisson(np.exp(0.3 + slope * x)).astype(float)
    z = y + draw.normal(size=many)
    ends = KeptRange(None, float(np.quantile(z, 0.8)), 1.5 if model == "logit" else 4.0)
    chance = ds.analyse.retention_probabilities(pa.table({"z": z}), blanking=Blanking(("z",), {"z": ends}, {}))
    kept = draw.random(many) < chance
    gaps = ~kept
    frame = pa.table(
        {
            "x": pa.array(x + np.sqrt(0.3) * draw.normal(size=many), mask=gaps),
            "y": pa.array(y, mask=gaps),
            "z": pa.array(z, mask=gaps),
        }
    )
    told = Blanking(("x", "y", "z"), {"z": ends}, {"x": 0.3})
    fit = ds.analyse.bsimex(frame, "y", "x", model=model, blanking=told, draws=5, bootstrap=None)
    weighted = ds.analyse.ipw(frame, "y", "x", model=model, blanking=told)
    assert fit.path.coefficients[0] == pytest.approx(weighted.coefficients, rel=1e-8)
    assert abs(fit["x"] - slope) < 0.5 * abs(weighted["x"] - slope)
    assert fit["x"] == pytest.approx(slope, abs=0.12)
    assert abs(weighted["x"] - slope) < abs(weighted.naive[1] - slope)


# ---- which weights ---------------------------------------------------------------------------------------------

TOLD = Blanking(
    ("x", "y", "z"),
    {"y": KeptRange(None, 4.0, 2.0), "x": KeptRange(-2.0, 2.0, 1.0), "z": KeptRange(None, 1.0, 2.0)},
    {"x": 0.2},
)


def chances(name: str) -> np.ndarray:
    return ds.analyse.retention_probabilities(LINEAR, name, blanking=TOLD)


def test_limits_of_regressors_need_no_weight_and_those_of_other_columns_do():
    only_outcome = ds.analyse.ipw(LINEAR, "y", ["x", "z"], blanking=TOLD)
    assert only_outcome.weights.probabilities == pytest.approx(chances("y"))
    also_z = ds.analyse.ipw(LINEAR, "y", "x", blanking=TOLD)
    assert also_z.weights.probabilities == pytest.approx(chances("y") * chances("z"))
    assert ds.analyse.retention_probabilities(LINEAR, blanking=TOLD) == pytest.approx(
        chances("y") * chances("z") * chances("x")
    )


def test_a_blanking_of_columns_outside_the_model_does_not_matter():
    frame = LINEAR.append_column("other", pa.array(X))
    told = Blanking(("other",), {"other": KeptRange(None, 1.0, 1.0)}, {})
    assert ds.analyse.ipw(frame, "y", ["x", "z"], blanking=told).weights.largest == 1


def test_probabilities_against_draws():
    """A fifth of a million draws: the share that stays between the limits."""
    draw = np.random.default_rng(2).standard_normal(200_000)
    told = Blanking(("a",), {"a": KeptRange(-1.0, 2.5, 1.7)}, {})
    values = [-4.0, -1.0, 0.3, 2.5, 6.0, None]
    found = ds.analyse.retention_probabilities(pa.table({"a": values}), "a", blanking=told)
    for value, chance in itertools.islice(zip(values, found, strict=True), 5):
        share = np.mean((value + 1.7 * draw > -1) & (value + 1.7 * draw < 2.5))
        assert abs(share - chance) < 0.005
    assert np.isnan(found[5])


def test_trimmed_weights_are_counted():
    whole = ds.analyse.ipw(LINEAR, "y", ["x", "z"], blanking=TOLD)
    cut = ds.analyse.ipw(LINEAR, "y", ["x", "z"], blanking=TOLD, trim=2)
    assert cut.weights.largest == 2 < whole.weights.largest
    assert cut.weights.trimmed == int((whole.weights.weights > 2).sum()) > 0
    assert f"{cut.weights.trimmed} trimmed" in cut.summary()
    assert cut.weights.effective > whole.weights.effective
    many = len(LINEAR)
    assert whole.weights.effective == pytest.approx(
        sum(whole.weights.weights) ** 2 / sum(w * w for w in whole.weights.weights)
    )
    assert 1 <= whole.weights.effective <= many
    assert whole.weights.top_share == pytest.approx(max(whole.weights.weights) / sum(whole.weights.weights))


def test_codes_for_unknown_of_a_release_are_no_values():
    draw = np.random.default_rng(1)
    x = draw.integers(0, 50, 400)
    table = pa.table({"x": np.where(np.arange(400) % 9 == 0, 99, x), "y": x * 10 + draw.integers(0, 40, 400)})
    data = ds.Microdata(table, numeric=["x", "y"], missing_codes={"x": ["99"]})
    release = ds.protect(data, ds.BlankValues({"y": 0.9}, jitter={"y": 100}, insecure_seed=1))
    fit = ds.analyse.ipw(release, "y", "x")
    shown = release.public.records.columns.to_pydict()
    assert fit.used == sum(a not in (None, 99) and b is not None for a, b in zip(shown["x"], shown["y"], strict=True))
    assert fit.records == 400


def test_a_file_and_the_published_numbers_give_what_the_release_gives(tmp_path):
    draw = np.random.default_rng(1)
    x = np.round(draw.normal(size=500), 3)
    data = ds.Microdata(pa.table({"x": x, "y": np.round(x + draw.normal(size=500), 3)}), numeric=["x", "y"])
    method = ds.BlankValues({"y": 0.9}, jitter={"y": 1}, noise={"x": 0.5})
    release = ds.protect(data, method, key=ds.Key(bytes(32)))
    release.save(tmp_path / "out")
    told = ds.read_blanking(tmp_path / "out" / "public" / "records.blanking.json")
    one = ds.analyse.bsimex(tmp_path / "out" / "public" / "records.csv", "y", "x", blanking=told, bootstrap=3)
    for same in (release, release.public, release.public.records):
        two = ds.analyse.bsimex(same, "y", "x", bootstrap=3)
        assert two.coefficients.tolist() == one.coefficients.tolist()
        assert two.standard_errors.tolist() == one.standard_errors.tolist()


# ---- standard errors, results --------------------------------------------------------------------------------------


def test_bootstrap_errors_are_those_of_a_slow_bootstrap():
    """Noise of one regressor: standard errors of the loop above over samples of its own."""
    fit = ds.analyse.bsimex(
        LINEAR, "y", ["x", "z"], probabilities=1 / WEIGHTS, noise={"x": 0.5}, draws=20, bootstrap=150
    )
    draw, found = np.random.default_rng(3), []
    for _ in range(150):
        rows = draw.integers(0, 60, 60)
        found.append(slow_simex(LINEAR.take(pa.array(rows)), WEIGHTS[rows], 0.5, 20))
    assert fit.standard_errors == pytest.approx(np.std(found, axis=0, ddof=1), rel=0.35)  # 4 errors of each: 0.33


def test_the_same_seed_gives_the_same_estimates_and_another_one_others():
    def fit(seed: int) -> list[float]:
        found = ds.analyse.simex(LINEAR, "y", ["x", "z"], noise={"x": 0.5}, draws=5, bootstrap=3, seed=seed)
        return [*found.coefficients, *found.standard_errors]

    assert fit(1) == fit(1)
    assert fit(1) != fit(2)


def test_bootstrap_samples_without_a_fit_are_drawn_again_and_counted():
    rare = np.zeros(60)
    rare[:2] = 1
    frame = LINEAR.append_column("rare", pa.array(rare))
    fit = ds.analyse.simex(frame, "y", ["x", "rare"], noise={"x": 0.1}, draws=2, bootstrap=30)
    assert any("had no fit and" in note for note in fit.notes)
    assert np.isfinite(fit.standard_errors).all()


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_samples_shared_out_give_the_same_errors_also_where_some_have_no_fit(backend):
    joblib = pytest.importorskip("joblib", reason="joblib is not installed (discreet[jobs])")
    rare = np.zeros(60)
    rare[:2] = 1
    frame = LINEAR.append_column("rare", pa.array(rare))
    asked = {"noise": {"x": 0.1}, "draws": 2, "bootstrap": 12}
    alone = ds.analyse.simex(frame, "y", ["x", "rare"], **asked)
    with joblib.parallel_config(backend=backend):
        shared = ds.analyse.simex(frame, "y", ["x", "rare"], **asked, jobs=2)
    assert any("had no fit and" in note for note in alone.notes)
    assert shared.notes == alone.notes
    assert shared.standard_errors.tobytes() == alone.standard_errors.tobytes()
    with pytest.raises(ParameterError, match="jobs="):
        ds.analyse.simex(frame, "y", "x", **asked, jobs=0)


def test_fits_in_pieces_are_the_fits_of_all():
    designs = np.stack([np.column_stack([np.ones(60), X + 0.1 * k, Z]) for k in range(5)])
    whole = fit_many("poisson", designs, OUTCOMES["poisson"], WEIGHTS)
    for place in range(5):
        assert fitted("poisson", designs[place], OUTCOMES["poisson"], WEIGHTS) == pytest.approx(whole[place], rel=1e-9)
    noise = np.random.default_rng(1).normal(size=(4, 60, 2))
    levels, columns = np.array([0.5, 2.0]), np.array([1, 2])
    for model in MODELS:
        found = fits_with_noise(model, (designs[0], OUTCOMES[model], WEIGHTS), noise, columns, levels)
        for (at, level), b in itertools.product(enumerate(levels), range(4)):
            noisy = designs[0] + np.column_stack([np.zeros(60), np.sqrt(level) * noise[b]])
            assert found[at, b] == pytest.approx(fitted(model, noisy, OUTCOMES[model], WEIGHTS), rel=1e-7)
    assert [(s.start, s.stop) for s in pieces(5, 1_000_000)] == [(0, 3), (3, 5)]


def test_results_show_numbers_frames_and_pictures(tmp_path):
    fit = ds.analyse.bsimex(LINEAR, "y", ["x", "z"], blanking=TOLD, draws=5, bootstrap=4)
    text = fit.summary()
    for words in (
        "linear model of y, corrected for both; 60 of 60 records complete",
        "std. error",
        "quadratic extrapolation",
    ):
        assert words in text
    assert repr(fit) == text
    frame = fit.to_frame()
    assert frame.column_names == ["coefficient", "estimate", "standard_error", "weighted", "naive", "naive_error"]
    assert frame["coefficient"].to_pylist() == ["intercept", "x", "z"]
    assert frame["weighted"].to_pylist() == fit.path.coefficients[0].tolist()
    assert 'aria-label="Coefficients by level of noise' in fit.plot(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<svg xmlns")
    assert "Records by weight" in fit.plot(what="weights")
    weighted = ds.analyse.ipw(LINEAR, "y", "x", blanking=TOLD)
    assert "Records by weight" in weighted.plot()
    assert "weighted" not in weighted.to_frame().column_names
    equal = ds.analyse.ipw(LINEAR, "y", "x", probabilities=np.ones(60))
    assert "as good as 60.0 records" in equal.plot()
    with pytest.raises(ParameterError, match="There is no plot 'extrapolation' of ipw"):
        weighted.plot(what="extrapolation")
    with pytest.raises(ParameterError, match=r"Cannot draw 'a\.png'\. Use a name that ends in \.svg"):
        weighted.plot(tmp_path / "a.png")
    with pytest.raises(ParameterError, match=r"There is no coefficient 'w'\. There are intercept, x"):
        weighted["w"]
    assert "–" in ds.analyse.simex(LINEAR, "y", "x", noise={"x": 0.1}, draws=2, bootstrap=None).summary()


def test_few_records_with_most_of_the_weight_are_noted():
    uneven = np.ones(60)
    uneven[:2] = 0.001
    fit = ds.analyse.ipw(LINEAR, "y", "x", probabilities=uneven)
    assert fit.notes == ("few records carry most of the weight: look at the weights, and think of trim=",)


# ---- what is refused ----------------------------------------------------------------------------------------------

ONES = np.ones(60)
GAPS = pa.table({"x": pa.array([None] * 60, pa.float64()), "y": OUTCOMES["linear"]})
IPW, SIMEX = ds.analyse.ipw, ds.analyse.simex


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (
            InputError,
            "nothing is left to analyse. Every record was blanked",
            lambda: IPW(GAPS, "y", "x", probabilities=ONES),
        ),
        (
            InputError,
            "2 records have a probability of being kept that is not above 0 and at most 1",
            lambda: IPW(LINEAR, "y", "x", probabilities=[0, 1.01, *ONES[2:]]),
        ),
        (
            InputError,
            "1 record has a probability of being kept that is not above 0",
            lambda: IPW(LINEAR, "y", "x", probabilities=[np.nan, *ONES[1:]]),
        ),
        (
            InputError,
            "a probability of being kept below 1e-06",
            lambda: IPW(LINEAR, "y", "x", probabilities=[1e-7, *ONES[1:]]),
        ),
        (
            ParameterError,
            "probabilities= has 59 numbers, and there are 60 records",
            lambda: IPW(LINEAR, "y", "x", probabilities=ONES[1:]),
        ),
        (InputError, "no column 'p'", lambda: IPW(LINEAR, "y", "x", probabilities="p")),
        (
            ParameterError,
            r"Nothing says how likely records were to be kept. Give blanking=ds.read_blanking",
            lambda: IPW(LINEAR, "y", "x"),
        ),
        (ParameterError, "blanking= takes what ds.read_blanking", lambda: IPW(LINEAR, "y", "x", blanking=["no"])),
        (ParameterError, "trim=0.5 is not allowed", lambda: IPW(LINEAR, "y", "x", probabilities=ONES, trim=0.5)),
        (
            InputError,
            "The outcome 'y' is the same in every record",
            lambda: IPW(LINEAR.set_column(2, "y", pa.array(ONES)), "y", "x", probabilities=ONES),
        ),
        (
            InputError,
            "is the same in every record",
            lambda: IPW(LINEAR.set_column(2, "y", pa.array(ONES)), "y", "x", model="logit", probabilities=ONES),
        ),
        (InputError, "values other than 0 and 1", lambda: IPW(LINEAR, "y", "x", model="logit", probabilities=ONES)),
        (
            InputError,
            "separate the outcomes 0 and 1",
            lambda: IPW(
                LINEAR.append_column("b", pa.array((X > 1).astype(float))), "b", "x", model="logit", probabilities=ONES
            ),
        ),
        (
            InputError,
            "Poisson model has negative values. Give counts",
            lambda: IPW(LINEAR, "y", "x", model="poisson", probabilities=ONES),
        ),
        (
            InputError,
            "the design is singular. Leave one of them out",
            lambda: IPW(LINEAR.append_column("twice", pa.array(2 * X - 3)), "y", ["x", "twice"], probabilities=ONES),
        ),
        (
            InputError,
            "never varies: the design is singular. Leave out 'one'",
            lambda: IPW(LINEAR.append_column("one", pa.array(ONES)), "y", ["x", "one"], probabilities=ONES),
        ),
        (
            InputError,
            "3 records have values of all of 'y', 'x', 'z', and a model with 3 coefficients needs at least 4",
            lambda: IPW(LINEAR.slice(0, 3), "y", ["x", "z"], probabilities=ONES[:3]),
        ),
        (
            ParameterError,
            "Nothing says how much noise 'x' has: the noise variance is unknown",
            lambda: SIMEX(LINEAR, "y", "x"),
        ),
        (
            ParameterError,
            "Nothing says how much noise 'z' has",
            lambda: ds.analyse.bsimex(LINEAR, "y", "z", blanking=TOLD),
        ),
        (
            ParameterError,
            "The noise of 'x' is -1. Give a variance of at least 0",
            lambda: SIMEX(LINEAR, "y", "x", noise={"x": -1}),
        ),
        (ParameterError, "no regressor 'w'", lambda: SIMEX(LINEAR, "y", "x", noise={"w": 1})),
        (ParameterError, "no regressor 'w'", lambda: SIMEX(LINEAR, "y", "x", noise={"x": {"w": 1}})),
        (
            ParameterError,
            "not symmetric, or not that of any noise",
            lambda: SIMEX(LINEAR, "y", ["x", "z"], noise={"x": {"x": 1, "z": 0.5}, "z": {"z": 1}}),
        ),
        (
            ParameterError,
            "not symmetric, or not that of any noise",
            lambda: SIMEX(LINEAR, "y", ["x", "z"], noise={"x": {"x": 1, "z": 9}, "z": {"x": 9, "z": 1}}),
        ),
        (
            ParameterError,
            "levels= has 2, and a quadratic extrapolation needs 3",
            lambda: SIMEX(LINEAR, "y", "x", noise={"x": 1}, levels=[0, 1]),
        ),
        (
            ParameterError,
            r"levels=\[0.5, 1, 2\] is not allowed. Give rising numbers that begin with 0",
            lambda: SIMEX(LINEAR, "y", "x", noise={"x": 1}, levels=[0.5, 1, 2]),
        ),
        (
            ParameterError,
            "extrapolation='cubic' is not known",
            lambda: SIMEX(LINEAR, "y", "x", noise={"x": 1}, extrapolation="cubic"),
        ),
        (
            ParameterError,
            "draws=0 is not allowed. Give a whole number of at least 1",
            lambda: SIMEX(LINEAR, "y", "x", noise={"x": 1}, draws=0),
        ),
        (
            ParameterError,
            "bootstrap=1 is not allowed. Give a whole number of at least 2",
            lambda: SIMEX(LINEAR, "y", "x", noise={"x": 1}, bootstrap=1),
        ),
        (ParameterError, "seed=-1 is not allowed", lambda: SIMEX(LINEAR, "y", "x", noise={"x": 1}, seed=-1)),
        (ParameterError, "no model 'probit'", lambda: IPW(LINEAR, "y", "x", model="probit", probabilities=ONES)),
        (
            ParameterError,
            "needs an outcome and other columns as regressors",
            lambda: IPW(LINEAR, "y", ["x", "y"], probabilities=ONES),
        ),
        (
            ParameterError,
            "needs an outcome and other columns as regressors",
            lambda: IPW(LINEAR, "y", [], probabilities=ONES),
        ),
        (InputError, "no column 'w'", lambda: IPW(LINEAR, "y", "w", probabilities=ONES)),
        (
            InputError,
            "Column 'job' holds string, not numbers. Make columns of 0 and 1 of codes",
            lambda: IPW(LINEAR.append_column("job", pa.array(["a"] * 60)), "y", "job", probabilities=ONES),
        ),
        (
            InputError,
            "The weight 'x' has values that are not above 0",
            lambda: IPW(LINEAR, "y", "z", weight="x", probabilities=ONES),
        ),
        (ParameterError, "The release holds tables, not records", lambda: IPW(PublicRelease(()), "y", "x")),
        (InputError, "no column 'w'", lambda: ds.analyse.retention_probabilities(LINEAR, "w", blanking=TOLD)),
        (
            ParameterError,
            "Nothing says how likely records were to be kept",
            lambda: ds.analyse.retention_probabilities(LINEAR),
        ),
    ],
)
def test_bad_input_is_refused_in_words(error, message, call):
    with pytest.raises(error, match=message):
        call()


def test_a_nearly_separated_outcome_is_refused_and_a_hard_one_is_fitted():
    x = np.arange(60.0)
    near = (x > 29).astype(float)
    near[29] = 0.5  # no outcome at all
    with pytest.raises(InputError, match="values other than 0 and 1"):
        IPW(pa.table({"x": x, "y": near}), "y", "x", model="logit", probabilities=ONES)
    near[29], near[30] = 1, 0
    hard = IPW(pa.table({"x": x, "y": near}), "y", "x", model="logit", probabilities=ONES)
    assert hard["x"] > 1
    quasi = np.column_stack([np.repeat([0, 1], 30), np.arange(60) % 2])
    frame = pa.table({"a": quasi[:, 0], "y": np.where(quasi[:, 0] == 1, 1, quasi[:, 1])})
    with pytest.raises(InputError, match="separate the outcomes 0 and 1"):
        IPW(frame, "y", "a", model="logit", probabilities=ONES)
