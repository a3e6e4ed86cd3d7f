"""What a generator returns: records, the trees of their codes and labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from discreet.errors import InputError, counted, listed
from discreet.generate.codes import TOTAL, CodeTree

Format = Literal["parquet", "csv"]


@dataclass(frozen=True, repr=False)
class Generated:
    """Generated records with the trees of their codes.

    Attributes
    ----------
    records
        One row per unit. Code columns are dictionary-encoded; their dictionary lists all base codes in tree
        order, those that do not occur too.
    parents
        For every code column each code and its parent, parents before children; the root is ``"Total"`` and
        is not itself a key.
    labels
        For every code column a label for each code, the total included.

    Examples
    --------
    >>> from discreet.generate import business_survey
    >>> survey = business_survey(1_000)
    >>> survey
    Generated(1,000 records; base codes: activity 60, region 21, size 5)
    >>> survey.parents["size"]
    {'1': 'Total', '2': 'Total', '3': 'Total', '4': 'Total', '5': 'Total'}
    """

    records: pa.Table
    parents: dict[str, dict[str, str]]
    labels: dict[str, dict[str, str]]

    def __repr__(self) -> str:
        counts = (f"{name} {len(tree) - len(set(tree.values()) - {TOTAL})}" for name, tree in self.parents.items())
        return f"Generated({counted(self.records.num_rows, 'record')}; base codes: {', '.join(counts)})"

    def write(self, folder: str | Path, *, format: Format = "parquet") -> list[Path]:
        """Write the records and one ``.hrc`` file per code column.

        A ``.hrc`` file has one code per line, with one ``@`` before it for every level below the first; the
        total is not listed. Files of the same names are replaced.

        Parameters
        ----------
        folder
            Where to write; made if it does not exist.
        format
            ``"parquet"`` or ``"csv"``: the format of the records.

        Returns
        -------
        list of Path
            The files written: ``records.parquet`` or ``records.csv``, then ``<column>.hrc`` for every code
            column.

        Raises
        ------
        InputError
            If the format is not one of the two.
        """
        if format not in get_args(Format):
            raise InputError(
                f"There is no format {format!r} for records.", hint=f"Use one of {listed(get_args(Format))}."
            )
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        written = [place / f"records.{format}"]
        if format == "parquet":
            pa.parquet.write_table(self.records, written[0], compression="zstd")
        else:
            _write_csv(self.records, written[0])
        for name, parents in self.parents.items():
            written.append(place / f"{name}.hrc")
            written[-1].write_text(_hrc_text(parents), encoding="utf-8", newline="\n")
        return written


def code_column(tree: CodeTree, positions: NDArray[np.integer]) -> pa.DictionaryArray:
    """Make a dictionary-encoded column from positions in the leaves of a tree."""
    leaves = tree.leaves
    width = next(kind for kind in (np.int8, np.int16, np.int32) if len(leaves) <= np.iinfo(kind).max)
    return pa.DictionaryArray.from_arrays(pa.array(positions.astype(width)), pa.array(leaves, type=pa.string()))


def _hrc_text(parents: dict[str, str]) -> str:
    depths = {TOTAL: -1}
    lines: list[str] = []
    for code, parent in parents.items():
        depths[code] = depths[parent] + 1
        lines.append("@" * depths[code] + code + "\n")
    return "".join(lines)


def _write_csv(records: pa.Table, file: Path) -> None:
    # The writer takes no dictionary columns; decoding batch by batch keeps memory flat.
    plain = pa.schema(
        [
            (field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
            for field in records.schema
        ]
    )
    options = pa.csv.WriteOptions(quoting_style="needed", quoting_header="needed")
    with pa.csv.CSVWriter(file, plain, write_options=options) as writer:
        for batch in records.to_batches(max_chunksize=1 << 18):
            writer.write_table(pa.Table.from_batches([batch]).cast(plain))
