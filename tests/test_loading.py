"""One table brings no more of the package into memory than it needs."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import discreet as ds

READY_MADE = "table = ds.examples.small_table()"
TABULATED = """
import pyarrow as pa
areas, sexes, taxes = ["N", "N", "S", "S", "S"], ["f", "m", "f", "m", "m"], [9, 1, 40, 3, 5]
records = pa.table({"area": areas * 2, "sex": sexes * 2, "tax": taxes * 2})
by = {"area": ds.Hierarchy.flat(["N", "S"]), "sex": ds.Hierarchy.flat(["f", "m"])}
table = ds.tabulate(records, by=by, value="tax")
"""


def loaded(*lines: str) -> list[str]:
    """Modules of ours that a process of its own has loaded after some lines."""
    script = "\n".join(["import sys", "import discreet as ds", *lines, "print(*sorted(sys.modules))"])
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return [name for name in run.stdout.split() if name.split(".")[0] == "discreet"]


# About five more than they do; the second brings the engine besides.
@pytest.mark.parametrize(("table", "most"), [(READY_MADE, 114), (TABULATED, 131)], ids=["ready-made", "tabulated"])
def test_protecting_one_small_table_loads_few_modules(table, most):
    names = loaded(table, "release = ds.protect(table.assess(ds.PPercent(10)), ds.Suppress())")
    assert "discreet.tables.suppress.method" in names
    assert len(names) <= most, names
    assert not [name for name in names if name.startswith(("discreet.records", "discreet.files.records"))]


@pytest.mark.parametrize(
    "package", [ds.analyse, ds.attack, ds.generate, ds.private], ids=lambda package: package.__name__
)
def test_a_package_shows_what_it_offers_and_loads_it_late(package):
    assert dir(package) == sorted(package.__all__)
    for _ in range(2):  # a module that was loaded meanwhile must not stand in the place of a function
        assert not [name for name in package.__all__ if isinstance(getattr(package, name), ModuleType)]
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nothing'"):
        package.nothing  # noqa: B018
    assert len(loaded(f"import {package.__name__}")) < len(
        loaded(f"ds.{package.__name__.split('.')[1]}.{package.__all__[0]}")
    )
