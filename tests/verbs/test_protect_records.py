"""Records, specs and a method in one call; keys that are none."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import ParameterError

AREA = ds.Hierarchy.flat(["N", "S", "W"])


def firms() -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "id": range(60),
            "area": rng.choice(AREA.base_codes, 60),
            "sales": np.rint(rng.lognormal(4, 1, 60)).astype(int),
        }
    )


def test_records_are_tabulated_assessed_and_protected():
    spec = ds.TableSpec(by={"area": AREA}, value="sales")
    release = ds.protect(ds.Microdata(firms()), ds.Suppress(), tables=spec, rules=[ds.MinContributors(15)])
    table = ds.tabulate(firms(), by={"area": AREA}, value="sales").assess(ds.MinContributors(15))
    assert release.public.tables[0].status == ds.protect(table, ds.Suppress()).public.tables[0].status
    assert release.verify().holds


def test_specs_belong_to_records_and_records_need_them():
    spec = ds.TableSpec(by={"area": AREA})
    with pytest.raises(ParameterError, match="without a table"):
        ds.protect(ds.Microdata(firms()), ds.Suppress())
    with pytest.raises(ParameterError, match="are for records"):
        ds.protect(ds.tabulate(firms(), by={"area": AREA}).assess(), ds.Suppress(), tables=[spec])


@pytest.mark.parametrize("key", [7, "secret", b"0" * 32])
def test_what_is_no_key_is_refused(key):
    spec = ds.TableSpec(by={"area": AREA})
    with pytest.raises(ParameterError, match=r"is no key.*ds\.Key"):
        ds.protect(ds.Microdata(firms()), ds.DropAdd("id"), tables=[spec], key=key)
