"""Names whose modules are imported when they are first asked for: those of packages, and of classes in recipes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

Kind = TypeVar("Kind")


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


class Registry(Mapping[str, type[Kind]], Generic[Kind]):
    """Classes by the names that recipes call them by.

    A class is known as soon as its module is imported. ``homes`` names the modules of those that nobody has asked for
    yet, so that one of them does not bring all the others into memory.
    """

    def __init__(self) -> None:
        self._classes: dict[str, type[Kind]] = {}
        self._homes: dict[str, str] = {}

    def add(self, kind: str, cls: type[Kind]) -> None:
        """Make a class known."""
        self._classes[kind] = cls

    def add_homes(self, homes: Mapping[str, str]) -> None:
        """Say in which modules classes live, by kind."""
        self._homes.update(homes)

    def __getitem__(self, kind: str) -> type[Kind]:
        if kind not in self._classes:
            import_module(self._homes[kind])
        return self._classes[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._classes, *self._homes}))

    def __len__(self) -> int:
        return len({*self._classes, *self._homes})
