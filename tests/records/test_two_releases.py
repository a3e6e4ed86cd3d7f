"""Two releases of the same records under one key: together they tell no more than chance would have it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds

KEY = ds.Key(bytes(range(32)))
ROWS = 1000


def firms() -> ds.Microdata:
    draw = np.random.default_rng(1)
    first = draw.normal(size=ROWS)
    sales, costs = np.exp(8 + first), np.exp(8 + 0.6 * first + 0.8 * draw.normal(size=ROWS))
    table = pa.table({"id": np.arange(ROWS), "sales": np.round(sales, 2), "costs": np.round(costs, 2)})
    return ds.Microdata(table, identifier="id", numeric=["sales", "costs"])


def released(method: ds.Method, name: str = "sales") -> np.ndarray:
    release = ds.protect(firms(), method, key=KEY)
    assert release.verify().holds
    return release.custodian.released[name].to_numpy()


def ranks(values: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(values))


def normal_scores(values: np.ndarray) -> np.ndarray:
    from scipy.special import ndtri

    return ndtri((ranks(values) + 0.5) / len(values))


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        (ds.Shuffle(["sales"]), ds.Shuffle(["sales"], exact=False), "sales"),
        (ds.Shuffle(["sales"]), ds.Shuffle(["sales"], scale="product_moment"), "sales"),
        (ds.Shuffle(["sales"]), ds.Shuffle(["sales", "costs"]), "costs"),
    ],
)
def test_shuffled_places_of_two_releases_tell_nothing_of_the_values(one, other, told):
    """Exact draws have no part in common with the values: with the same draws, what was taken away could be seen."""
    difference = normal_scores(released(one)) - normal_scores(released(other))
    values = normal_scores(firms().source[told].to_numpy())
    assert abs(np.corrcoef(difference, values)[0, 1]) < 0.15


def test_shuffled_places_of_a_part_and_of_all_tell_nothing_of_the_values():
    part = firms().with_(source=firms().source.slice(0, ROWS // 2))
    release = ds.protect(part, ds.Shuffle(["sales"]), key=KEY)
    assert release.verify().holds
    difference = normal_scores(released(ds.Shuffle(["sales"]))[: ROWS // 2]) - normal_scores(
        release.custodian.released["sales"].to_numpy()
    )
    assert abs(np.corrcoef(difference, normal_scores(part.source["sales"].to_numpy()))[0, 1]) < 0.2


def test_two_shares_of_exchanged_ranks_do_not_tell_the_rank():
    """With the same draws, values lie twice as far away by twice the share: the line through both tells the rank."""
    near, far = (ranks(released(ds.RankSwap(["sales"], share))) for share in (0.1, 0.2))
    guessed = np.abs(2 * near - far - ranks(firms().source["sales"].to_numpy())) <= ROWS // 400
    assert guessed.mean() < 0.06


def test_two_bounds_of_values_drawn_anew_do_not_tell_the_value():
    """With the same draws, values moved in proportion to their bounds."""
    true = firms().source["sales"].to_numpy()
    moved = [
        released(ds.Redraw(["sales"], camouflage=ROWS, least=bound, most=bound)) / true - 1 for bound in (0.1, 0.2)
    ]
    assert abs(np.corrcoef(*moved)[0, 1]) < 0.15


def test_noise_of_residuals_is_drawn_anew_where_its_size_is_another():
    first = ds.Microaggregate(["sales", "costs"], 5, "sum")
    draws = [
        ds.protect(firms(), ds.MaskResidual(first, "local", partitions=cells, most_linked=1), key=KEY)
        .custodian.steps[0]
        .evidence.parts["records"]["second_value_0"]
        for cells in (1, 2)
    ]
    assert abs(np.corrcoef(*(ranks(noise) for noise in draws))[0, 1]) < 0.3


def test_dither_of_another_width_is_drawn_anew():
    added = [
        ds.protect(firms(), ds.MicroaggregatedSwap(["sales"], dither=width), key=KEY)
        .custodian.steps[0]
        .evidence.parts["records"]["added_0"]
        for width in (1, 2)
    ]
    assert abs(np.corrcoef(*added)[0, 1]) < 0.15


def test_jitter_of_another_size_is_drawn_anew():
    """Otherwise the two limits at which a value is emptied would tell both the value and its jitter."""
    emptied = [
        np.isnan(released(ds.BlankValues({"sales": 0.5}, jitter={"sales": size})).astype(float))
        for size in (1e9, 2e9)  # a toss, whatever the value
    ]
    assert abs(np.corrcoef(*emptied)[0, 1]) < 0.15
