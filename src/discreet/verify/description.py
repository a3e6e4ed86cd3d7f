"""The custodian's descriptions: every field is known, of its kind, and says what the other files say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import InputError
from discreet.model.custodian import TableCustodian
from discreet.verify.rule_shapes import LEVEL, PERCENT, SOME, TEXTS, rule
from discreet.verify.shapes import (
    Shape,
    by_name,
    either,
    flag,
    many,
    number,
    one_of,
    optional,
    plain,
    record,
    row,
    text,
    whole,
    wrong,
)

DECIMALS = whole(0, 40)
NAME = text(most=1000)
FILE = text(r"[\w.-]+\.(csv|arrow)", most=1000)
VALUE, PLACES_OF = either(number(), text(most=100)), optional(whole(-30, 30))
GROUPING = row(SOME, many(row(SOME, one_of(1, -1)), least=1))
CODES: dict[str, Shape] = {
    "total": optional(SOME),
    "codes": many(text(), least=1),
    "groupings": many(GROUPING),
    "labels": by_name(text()),
    "missing": many(text()),
}
HIERARCHY = record(CODES)
VARIABLE = record({"name": SOME, **CODES})
PLACES = either(
    record(
        {"kind": one_of("hexagons"), "x": SOME, "y": SOME, "size": number(0), "origin": row(number(), number())},
    ),
    record({"kind": one_of("areas"), "codes": many(text()), "pairs": many(row(text(), text()))}),
)
TABLE: dict[str, Shape] = {
    "file": FILE,
    "name": SOME,
    "variables": many(VARIABLE, least=1),
    "value": optional(SOME),
    "where": TEXTS,
    "weight": optional(SOME),
    "period": NAME,
    "shadow": optional(SOME),
    "absolute": flag,
    "cost": optional(SOME),
    "shown_decimals": optional(whole(0, 15)),
    "fewest_decimals": flag,
    "cells": one_of("nonempty", "all"),
    "places": by_name(PLACES),
    "top": whole(1, 20),
    "levels": many(LEVEL, least=1),
    "holders": flag,
    "decimals": DECIMALS,
    "shadow_decimals": DECIMALS,
    "weight_decimals": DECIMALS,
    "key_modulus": optional(whole(0)),
    "slack": optional(whole(-1)),
    "from_records": flag,
    "notes": TEXTS,
    "rules": optional(many(rule)),
    "profile": optional(one_of("handbook", "argus")),
    "options": optional(record({}, {"missing_safe": flag, "manual_range": PERCENT, "unrelated": TEXTS})),
}
STATEMENT = text(r".+")  # as long as columns are many: it names them
CLAIM = record(
    {"method": SOME, "statement": STATEMENT, "attackers": TEXTS, "not_considered": TEXTS, "together_with": TEXTS}
)
TIMES = text(r"-?[0-9]{1,300}/[1-9][0-9]{0,299}")
REASON = record(
    {
        "use": one_of(0, 1),
        "relations": many(
            record({"table": SOME, "cell": TEXTS, "variable": text(), "number": whole(), "times": TIMES})
        ),
        "insiders": many(row(SOME, TEXTS, whole())),
    }
)
ACCEPTED = record(
    {
        "table": SOME,
        "cell": TEXTS,
        "reason": text(),
        "name": text(),
        "kind": one_of("", "impossible", "revealed", "undecided"),
        "because": optional(REASON),
    }
)
EVIDENCE = record(
    {
        "method": by_name(plain),
        "claim": CLAIM,
        "decimals": DECIMALS,
        "effort": by_name(whole()),
        "accepted": many(ACCEPTED),
        "facts": by_name(plain, names=text("[a-z0-9_]+", most=60)),
        "findings": TEXTS,
        "files": by_name(FILE),
        "parts": by_name(many(SOME, least=1)),
    }
)
EARLIER = record(
    {
        "tables": many(record({**TABLE, "release": NAME, "original": NAME})),
        "equations": TEXTS,
        "known": many(
            record(
                {
                    "source": text(),
                    "table": SOME,
                    "rows": many(whole()),
                    "fingerprint": text("[0-9a-f]{16}"),
                    "ignored": whole(),
                }
            )
        ),
        "figures": many(
            record({"formula": SOME, "value": VALUE, "decimals": PLACES_OF, "cells": many(row(SOME, TEXTS))})
        ),
        "set_apart": TEXTS,
    }
)
ZONE = r"\d{4}-\d\d-\d\d[T ][0-9:.,]+(Z|[+-][0-9:]+)"
DESCRIPTION = record(
    {
        "format": whole(),
        "heading": record(
            {
                "agency": text(r"[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z][A-Za-z0-9_-]*)*"),
                "units": text(),
                "source": text(),
                "prepared": text(ZONE, most=60),
            }
        ),
        "tables": many(record(TABLE, {"published_decimals": DECIMALS}), least=1),
        "equations": TEXTS,
        "one_pattern": flag,
        "evidence": many(EVIDENCE),
        "already_published": EARLIER,
    }
)
"""tables.json."""
LOG = record(
    {
        "discreet": text(r"[0-9A-Za-z.+!-]+", most=60),
        "assess": many(
            record({"table": SOME, "rules": many(rule), "profile": SOME, "options": by_name(plain)}), least=1
        ),
        "protect": many(by_name(plain)),
        "effort": by_name(whole()),
        "notes": TEXTS,
        "already_published": TEXTS,
    },
    {
        "key": record({"fingerprint": text("[0-9a-f]{8,64}"), "made": flag, "insecure": one_of(False)}),
        "pattern": record({"name": text(), "digest": text("[0-9a-f]*"), "cells": by_name(whole())}),
        "recipe": text(most=10**7),
        "inputs": by_name(text("[0-9a-f]{64}")),
    },
)
"""log.json."""


def check_description(description: Any, log: Any) -> None:
    """Raise an error where a field is not known, of another kind, or contradicts another."""
    DESCRIPTION(description, "tables.json")
    LOG(log, "log.json")
    tables, evidence = description["tables"], description["evidence"]
    assessed = [
        {
            "table": table["name"],
            "rules": table["rules"] or [],
            "profile": table["profile"] or "handbook",
            "options": table["options"] or {},
        }
        for table in tables
    ]
    for name, stated, other in (
        ("assess", log["assess"], assessed),
        ("protect", log["protect"], [entry["method"] for entry in evidence]),
        ("effort", [{}] * (len(evidence) - 1) + [log["effort"]], [entry["effort"] for entry in evidence]),
    ):
        if not same(stated, other):
            raise wrong(f"log.json.{name}", "is not what tables.json says")
    for table in tables:
        parts = {table[name] is None for name in ("rules", "profile", "options")}
        if len(parts) > 1:
            raise wrong(f"tables.json: table {table['name']!r}", "states rules, profile and options only in part")


def check_names(description: Any) -> set[str]:
    """Names of the custodian's files that a description speaks of; other names than those of a release are errors."""
    whole_set = [*description["tables"], *description["already_published"]["tables"]]
    expected = table_files([table["name"] for table in whole_set])
    for table, name in zip(whole_set, expected, strict=True):
        if table["file"] != name:
            raise wrong(f"tables.json: the file {table['file']!r}", f"is not {name!r}, as that of its table must be")
    names = {"tables.json", "log.json", *expected}
    for i, entry in enumerate(description["evidence"]):
        if set(entry["files"]) != {*entry["parts"], *PROOF_FILES}:
            raise wrong(f"tables.json.evidence[{i}].files", "are not those of the evidence and its parts")
        for part, name in entry["files"].items():
            if name != f"evidence_{i}_{part}.arrow":
                raise wrong(f"tables.json.evidence[{i}].files.{part}", "is not named as it must be")
            names.add(name)
    return names


PROOF_FILES = ("certificates", "entries", "proofs", "proof_entries")
"""Files that all evidence has."""
OTHERS = frozenset({"tables", "log", "manifest", "report", "key"})
"""Names of the custodian's own files."""


def table_files(tables: list[str]) -> list[str]:
    """How the files of tables are named: by their letters, digits, dots and dashes, no two alike."""
    found: list[str] = []
    for table in tables:
        name, gap = "", False
        for sign in table:
            if sign.isalnum() or sign in "_.-":
                name, gap = name + sign, False
            elif not gap:
                name, gap = name + "_", True
        name = name.strip("._") or "table"
        name += "_" if name in OTHERS else ""
        while f"{name}.csv".lower() in [other.lower() for other in found]:
            name += "_"
        found.append(f"{name}.csv")
    return found


def check_log(log: Mapping[str, Any], custodian: TableCustodian) -> None:
    """Raise an error where the log contradicts what was read beside it."""
    if list(log["already_published"]) != list(custodian.already.together_with()):
        raise wrong("log.json.already_published", "is not what the release was made together with")
    key, stated = custodian.key, log.get("key")
    if (key is not None) != (stated is not None and stated["made"]):
        raise InputError("The log does not say whether the key was made for the release, or the key is missing.")
    if key is not None and stated is not None and stated["fingerprint"] != key.fingerprint:
        raise wrong("log.json.key.fingerprint", "is not that of the key")


def same(one: Any, other: Any) -> bool:
    """Whether plain data say the same, with numbers of the same kind."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return type(one) is type(other) and bool(one == other)
