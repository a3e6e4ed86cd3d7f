"""Packages that offer names from their modules, and import a module when one of its names is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def names_from(
    package: str, homes: Mapping[str, Iterable[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package, so that using one of its modules does not load all the others.

    Parameters
    ----------
    package
        Its name.
    homes
        For every module of the package the names that it offers. A name that is also that of a module cannot be offered
        late: as soon as the module is loaded, the package shows the module in its place.

    Examples
    --------
    >>> getattr_of, dir_of = names_from("discreet.rules", {"concentration": ["PPercent"]})
    >>> getattr_of("PPercent").__module__, "PPercent" in dir_of()
    ('discreet.rules.concentration', True)
    """
    for module, names in homes.items():
        assert homes.keys().isdisjoint(names), f"{module} offers the name of a module"
    where = {name: f"{package}.{module}" for module, names in homes.items() for name in names}

    def found(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(where[name]), name)

    return found, lambda: sorted(import_module(package).__all__)
