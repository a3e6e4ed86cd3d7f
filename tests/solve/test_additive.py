"""Additive tables nearest to noisy ones: the fast way through relations finds what the sums over inner cells find."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import discreet as ds
from discreet.relations import build_system
from discreet.relations.interior import interior
from discreet.solve.additive import restored

AREA = ds.Hierarchy.from_parents({"N": "T", "S": "T", "n1": "N", "n2": "N", "n3": "N", "s1": "S", "s2": "S"}, total="T")
AGE = ds.Hierarchy.flat(["young", "middle", "old"])
SEX = ds.Hierarchy.flat(["m", "f"])


def system_of(seed: int, records: int):
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    lists = {"area": ["n1", "n2", "n3", "s1", "s2"], "age": ["young", "middle", "old"], "sex": ["m", "f"]}
    chances = {name: rng.dirichlet(np.full(len(codes), 0.7)) for name, codes in lists.items()}
    people = pa.table({name: rng.choice(codes, records, p=chances[name]) for name, codes in lists.items()})
    linked = (
        [{"area": AREA, "age": AGE, "sex": SEX}]
        if seed % 2
        else [{"area": AREA, "age": AGE}, {"area": AREA, "sex": SEX}]
    )
    made = ds.tabulate(ds.Microdata(people), specs=[ds.TableSpec(by=by, name=f"t{k}") for k, by in enumerate(linked)])
    return build_system(made)


@pytest.mark.parametrize("seed", [1, 3, 5, 6, 7, 9, 11])
def test_relations_and_sums_give_the_same_fit(seed):
    system = system_of(seed, 60)
    rng = np.random.default_rng(seed)
    noisy = np.maximum(system.value + rng.integers(-5, 6, len(system)), 0).astype(np.float64)
    cover = interior(system).sums.T.tocsr()
    assert cover.data.min() > 0
    plain = restored(noisy, cover)
    fast = restored(noisy, cover, relations=csr_array(system.matrix))
    assert fast.value == pytest.approx(plain.value, abs=1e-8)
    assert fast.possible.tolist() == plain.possible.tolist()
    assert fast.rounds == plain.rounds
    assert np.abs(system.matrix @ fast.value).max() < 1e-8
    assert fast.value.min() >= 0


def test_a_cascade_of_several_rounds_is_the_same():
    import pyarrow as pa

    rng = np.random.default_rng(2)
    lists = {"a": [f"a{k}" for k in range(25)], "b": [f"b{k}" for k in range(8)], "c": ["x", "y"]}
    chances = {name: rng.dirichlet(np.full(len(codes), 0.6)) for name, codes in lists.items()}
    people = pa.table({name: rng.choice(codes, 400, p=chances[name]) for name, codes in lists.items()})
    by = {name: ds.Hierarchy.flat(codes) for name, codes in lists.items()}
    system = build_system(ds.tabulate(ds.Microdata(people), by=by))
    noisy = np.maximum(system.value + rng.integers(-5, 6, len(system)), 0).astype(np.float64)
    cover = interior(system).sums.T.tocsr()
    plain, fast = (restored(noisy, cover, relations=r) for r in (None, csr_array(system.matrix)))
    assert fast.rounds == plain.rounds > 2
    assert fast.value == pytest.approx(plain.value, abs=1e-8)


def test_numbers_that_add_up_stay():
    system = system_of(1, 200)
    cover = interior(system).sums.T.tocsr()
    found = restored(system.value.astype(np.float64), cover, relations=csr_array(system.matrix))
    assert found.value == pytest.approx(system.value)
