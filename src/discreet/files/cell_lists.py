"""What officers say of single cells, as files: hints on costs, and cells that are accepted without a proof."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.errors import InputError, listed, missing_extra
from discreet.files.frames import code_text, column_names, read_columns

LARGEST_TEXT = 10_000_000
"""Bytes of the largest yaml file that is read."""


def read_hints(source: Any, delimiter: str = ",") -> tuple[dict[str, Any], ...]:
    """Hints on costs from a csv or Parquet file or a data frame, one cell per line.

    Columns ``table`` (where there are several tables), ``times``, ``cost`` and ``use`` say what is meant; all others
    are the variables with the cell's codes, and an empty one stands for the total.

    Examples
    --------
    >>> import discreet as ds
    >>> import pyarrow as pa
    >>> ds.read_hints(pa.table({"trade": ["food"], "region": ["North"], "times": [10]}))
    ({'cell': {'trade': 'food', 'region': 'North'}, 'times': 10.0},)
    """
    rows, variables = _rows(source, ("table", "times", "cost", "use"), delimiter)
    result = []
    for number, row in enumerate(rows, start=1):
        entry: dict[str, Any] = {"cell": {v: row[v] for v in variables if row[v]}} if variables else {}
        for field in ("table", "use"):
            if row.get(field):
                entry[field] = row[field]
        for field in ("times", "cost"):
            if row.get(field):
                entry[field] = _number(row[field], field, number)
        if not entry.get("cell"):
            # The grand total has no code of its own to name it by.
            entry["cell"] = dict.fromkeys(variables, "")
        result.append(entry)
    return tuple(result)


def read_acceptances(path: str | Path, delimiter: str = ",") -> tuple[dict[str, Any], ...]:
    """Acceptances from a file: csv with one cell or class a line, or yaml with a list of entries.

    The csv has the columns ``reason`` and ``name``, and ``table`` and ``class`` where they are needed; all others are
    the variables with the cell's codes.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "accepted.csv")
    ...     size = file.write_text("trade,region,reason,name\\nfood,North,the firm agreed,J. Doe\\n")
    ...     print(ds.read_acceptances(file)[0]["reason"])
    the firm agreed
    """
    path = Path(path)
    if path.suffix.lower() in (".yaml", ".yml"):
        return _read_yaml(path)
    rows, variables = _rows(path, ("table", "class", "reason", "name"), delimiter)
    result = []
    for row in rows:
        entry: dict[str, Any] = {field: row.get(field, "") for field in ("reason", "name")}
        if row.get("table"):
            entry["table"] = row["table"]
        if row.get("class"):
            entry["class"] = row["class"]
        codes = {v: row[v] for v in variables if row[v]}
        if codes or not row.get("class"):
            entry["cells"] = [codes]
        result.append(entry)
    return tuple(result)


def _rows(source: Any, fields: tuple[str, ...], delimiter: str) -> tuple[list[dict[str, str]], list[str]]:
    names = column_names(source, delimiter)
    table = read_columns(source, names, text=names, delimiter=delimiter)
    rows = [{k: "" if x is None else code_text(x) for k, x in row.items()} for row in table.to_pylist()]
    return rows, [name for name in names if name not in fields]


def _number(text: str, field: str, record: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"Column {field!r} of the hints holds {text!r} in record {record}, which is not a number.",
            hint="Give a number with a decimal point; 'never' and 'avoid' belong into the column 'use'.",
        ) from None


def _read_yaml(path: Path) -> tuple[dict[str, Any], ...]:
    if not path.is_file():
        raise InputError(f"There is no file {path.name!r}.", hint=f"Check the name and the folder. Looked for: {path}")
    if path.stat().st_size > LARGEST_TEXT:
        raise InputError(f"The file {path.name!r} is too large.", hint="Write a csv file instead.")
    try:
        import yaml
    except ModuleNotFoundError:
        raise missing_extra("pyyaml", "yaml", "Reading yaml") from None

    class PlainLoader(yaml.BaseLoader):  # type: ignore[misc]
        """Every scalar stays text (a code such as 01 or no is no number or truth value), and nothing stands twice."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("aliases are not allowed")
            return super().compose_node(parent, index)

    try:
        found = yaml.load(path.read_text(encoding="utf-8"), Loader=PlainLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(
            f"The file {path.name!r} is not valid yaml.", hint="Compare with the manual.", details=str(error)
        ) from None
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        kind = "entries that are not mappings" if isinstance(found, list) else f"a {type(found).__name__}"
        raise InputError(
            f"The file {path.name!r} holds {kind}.",
            hint=f"Write a list; every entry has {listed(('cells', 'reason', 'name'))} or a class instead of cells.",
        )
    return tuple(found)
