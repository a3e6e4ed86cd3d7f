"""The field's own engines: each proposes a pattern, and claims nothing.

Every engine is a module with ``propose(system, cost, settings) -> Proposal`` and a frozen dataclass of settings, which
:data:`SETTINGS` names. :func:`propose` finds both by the engine's name. Progress and cancelling go through
:mod:`discreet.progress`. An audit says what a proposal is worth; the certified method completes what falls short.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError, unknown_name
from discreet.model.arrays import Floats
from discreet.progress import onwards
from discreet.relations import System

if TYPE_CHECKING:
    from discreet.tables.engines.proposal import Proposal

__all__ = ["SETTINGS", "check_settings", "propose"]

SETTINGS = {
    "gauss": "GaussSettings",
    "hypercube": "HypercubeSettings",
    "network": "NetworkSettings",
    "modular": "ModularSettings",
}
"""For every engine the name of its settings."""


def propose(algorithm: str, system: System, cost: Floats, **settings: Any) -> Proposal:
    """The pattern that an engine proposes.

    Parameters
    ----------
    algorithm
        ``"gauss"``, ``"hypercube"``, ``"network"`` or ``"modular"``.
    system
        Cells and relations, with what is unsafe, forced and given.
    cost
        What withholding each cell costs.
    **settings
        Settings of the engine; unknown ones are errors.

    Examples
    --------
    >>> import discreet as ds
    >>> from discreet.relations import build_system
    >>> system = build_system(ds.examples.small_table().assess(ds.PPercent(10)))
    >>> int(propose("modular", system, system.cost("value")).withheld.sum())
    4
    """
    module, made = _settings(algorithm, settings)
    with onwards():
        result: Proposal = module.propose(system, cost, made)
    return result


def check_settings(algorithm: str, settings: Mapping[str, Any]) -> None:
    """Refuse settings that an engine does not have or cannot take."""
    _settings(algorithm, settings)


def _settings(algorithm: str, settings: Mapping[str, Any]) -> tuple[Any, Any]:
    """The module of an engine, and its settings."""
    if algorithm not in SETTINGS:
        raise ParameterError(unknown_name("algorithm", algorithm, SETTINGS))
    module = import_module(f"discreet.tables.engines.{algorithm}")
    kind = getattr(module, SETTINGS[algorithm])
    for name in settings:
        if name not in kind.__dataclass_fields__:
            raise ParameterError(unknown_name("setting", name, kind.__dataclass_fields__, f"algorithm {algorithm!r}"))
    return module, kind(**settings)
