"""What a method empties is not in the public part, not even where nobody looks."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

import discreet as ds


@pytest.mark.parametrize("keep_order", [False, True])
def test_a_pickled_release_has_no_code_that_local_suppression_emptied(keep_order):
    """Arrow may keep a value under a gap; rows in their original order were published with it."""
    codes = [f"canary {i:03d}" if i % 29 == 0 else "common" for i in range(300)]
    data = ds.Microdata(pa.table({"code": codes}), keys=["code"])
    done = ds.protect(data, ds.LocalSuppress(3), key=ds.Key(bytes(32)), keep_order=keep_order)
    content = pickle.dumps(done)
    assert done.public.records.columns["code"].null_count > 0
    assert not [code for code in set(codes) - {"common"} if code.encode() in content]
