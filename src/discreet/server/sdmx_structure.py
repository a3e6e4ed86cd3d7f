"""What SDMX calls the parts of a data set: flows, dimensions, code lists; and what a key asks.

A data set has one structure, whose dimensions are its variables, and a flow for each universe and each thing that is
counted or summed: ``census``, ``census@adults``, ``census@all@income``. A dimension whose code is ``_T`` is not in the
table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from discreet.errors import counted, unknown_name
from discreet.files.published.sdmx import code_id, dimension_ids
from discreet.model.hierarchy import Hierarchy
from discreet.server.catalogue import EVERYBODY
from discreet.server.dataset import Dataset
from discreet.server.question import QuestionBody, QuestionRefusal, VariableAsked

TOTAL = "_T"
VALUE, STATUS, NOTE = "OBS_VALUE", "OBS_STATUS", "NOTE"
VERSION = re.compile(r"[0-9]+(\.[0-9]+)*")
"""What SDMX takes for a version; editions with other names cannot be asked for in it."""


@dataclass(frozen=True)
class SdmxFlow:
    """A flow: who is counted, or what is summed of them."""

    universe: str
    value: str | None

    def id(self, dataset: Dataset) -> str:
        """Its identifier."""
        if self.value is not None:
            return f"{dataset.name}@{self.universe}@{self.value}"
        return dataset.name if self.universe == EVERYBODY else f"{dataset.name}@{self.universe}"

    def title(self, dataset: Dataset) -> str:
        """Its name in words."""
        catalogue = dataset.catalogue
        words = [catalogue.title or dataset.name]
        words += [part.label or part.name for part in catalogue.universes if part.name == self.universe]
        if self.value is not None:
            part = catalogue.values[self.value]
            words.append((part.label or self.value) + (f" ({part.unit})" if part.unit else ""))
        return ", ".join([*words, *([catalogue.period] if catalogue.period else [])])


@dataclass(frozen=True, eq=False)
class SdmxDimension:
    """A dimension: a variable, and its codes as SDMX spells them."""

    id: str
    variable: str
    label: str
    hierarchy: Hierarchy

    @cached_property
    def ids(self) -> dict[str, str]:
        """Codes, and how SDMX spells them."""
        total = self.hierarchy.total
        return {code: TOTAL if code == total else _spelt(code) for code in self.hierarchy.codes}

    @cached_property
    def codes(self) -> dict[str, str]:
        """Codes by how SDMX spells them."""
        return {spelt: code for code, spelt in self.ids.items()}


def _spelt(code: str) -> str:
    return f"${ord('_'):X}$T" if code == TOTAL else code_id(code)


@dataclass(frozen=True, eq=False)
class SdmxStructure:
    """The structure of a data set.

    Parameters
    ----------
    dataset
        The data set.
    """

    dataset: Dataset

    @property
    def agency(self) -> str:
        """Who maintains it."""
        return self.dataset.catalogue.agency

    @property
    def version(self) -> str:
        """The edition."""
        return self.dataset.edition

    @property
    def concepts(self) -> str:
        """Identifier of its scheme of concepts."""
        return f"CS_{self.dataset.name}"

    @property
    def statuses(self) -> str:
        """Identifier of the code list of statuses."""
        return self._code_list(STATUS)

    def code_list(self, dimension: SdmxDimension) -> str:
        """Identifier of the code list of a dimension."""
        return self._code_list(dimension.id)

    def _code_list(self, id: str) -> str:
        """With the length of the first name, so that no two pairs of names make the same."""
        return f"CL{len(self.dataset.name)}_{self.dataset.name}_{id}"

    @cached_property
    def dimensions(self) -> tuple[SdmxDimension, ...]:
        """Dimensions in the order of keys, which is that of the catalogue."""
        parts = self.dataset.catalogue.variables
        ids = dimension_ids(list(parts), [VALUE, STATUS, NOTE, "TIME_PERIOD", "FREQ", "ID"])
        return tuple(
            SdmxDimension(id, name, part.label or name, self.dataset.hierarchies[name])
            for id, (name, part) in zip(ids, parts.items(), strict=True)
        )

    @cached_property
    def flows(self) -> dict[str, SdmxFlow]:
        """Flows by identifier."""
        found = [
            SdmxFlow(universe, value)
            for value in (None, *self.dataset.catalogue.values)
            for universe in self.dataset.conditions
        ]
        return {flow.id(self.dataset): flow for flow in found}

    def question(self, flow: SdmxFlow, key: str) -> QuestionBody:
        """What a key asks: codes of each dimension in order, dots between, all codes where there are none.

        Raises
        ------
        QuestionRefusal
            When the key is not one of this structure.
        """
        chosen = {part.variable: codes for part, codes in self._positions(key)}
        asked = {name: codes for name, codes in chosen.items() if codes != [str(self.dataset.hierarchies[name].total)]}
        body = QuestionBody(variables=[], universe=flow.universe, value=flow.value)
        fixed = self.dataset.method.kind == "drop_add"
        geography = asked.get(str(self.dataset.geography))
        if geography is not None and len(geography) == 1 and len(asked) > 1 and not fixed:
            body.area = geography[0]
            del asked[str(self.dataset.geography)]
        body.variables = [
            VariableAsked(name, None if fixed else self._level(name, codes)) for name, codes in asked.items()
        ]
        # All codes are listed, also those that nobody has: what an SDMX message does not have is not known.
        body.select = {
            name: list(self.dataset.hierarchies[name].codes) if codes is None else codes
            for name, codes in asked.items()
        }
        body.totals = False
        return body

    def _level(self, name: str, codes: list[str] | None) -> int:
        """The coarsest level that has all the codes."""
        levels = self.dataset.levels[name]
        if codes is None:
            return len(levels)
        return next(n for n, level in enumerate(levels, 1) if all(code in level.hierarchy.index for code in codes))

    def _positions(self, key: str) -> Iterator[tuple[SdmxDimension, list[str] | None]]:
        parts = [""] * len(self.dimensions) if key in ("", "all") else key.split(".")
        if len(parts) != len(self.dimensions):
            raise QuestionRefusal(
                "bad-key",
                f"The key has {counted(len(parts), 'position')}, and the structure {len(self.dimensions)} dimensions.",
                hint="In this order, with dots between: " + ".".join(part.id for part in self.dimensions),
                status=400,
            )
        for dimension, part in zip(self.dimensions, parts, strict=True):
            wanted = set(part.split("+")) if part else set()
            for code in sorted(wanted - dimension.codes.keys()):
                raise QuestionRefusal(
                    "unknown-code", unknown_name("code", code[:80], dimension.codes, repr(dimension.id)), status=404
                )
            yield dimension, [code for code, spelt in dimension.ids.items() if spelt in wanted] if part else None
