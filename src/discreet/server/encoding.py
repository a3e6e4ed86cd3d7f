"""Answers as bytes: the formats of publication, and Arrow for large ones."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from discreet.errors import unknown_name
from discreet.files.published import FORMATS, Heading
from discreet.files.published.jsonstat import ReadyDimensions, jsonstat_text
from discreet.model.public import PublicTable
from discreet.server.question import QuestionRefusal

Encoder = Callable[[PublicTable, Heading], bytes]
ReadyEncoder = Callable[[PublicTable, Heading, ReadyDimensions], bytes]


class Encoding(NamedTuple):
    """A format of answers: what HTTP calls it, what files of it end with, and what makes it."""

    media_type: str
    suffix: str
    encode: Encoder
    encode_ready: ReadyEncoder | None = None
    """The same with dimensions that are written already, where a format has such."""

    def encoded(self, table: PublicTable, heading: Heading, ready: ReadyDimensions | None = None) -> bytes:
        """A table in this format."""
        if self.encode_ready is None or ready is None:
            return self.encode(table, heading)
        return self.encode_ready(table, heading, ready)


def encoding_named(name: str) -> Encoding:
    """A format by its name.

    Raises
    ------
    QuestionRefusal
        When there is none of that name.
    """
    if name not in ENCODINGS:
        raise QuestionRefusal("unknown-format", unknown_name("format", name[:40], ENCODINGS), status=406)
    return ENCODINGS[name]


def kinds_accepted(accept: str) -> list[str]:
    """The types of a header ``Accept`` without their options, what is wanted most first."""
    wanted = []
    for place, part in enumerate(accept.split(",")):
        kind, *options = (word.strip().lower() for word in part.split(";"))
        weight = next((option[2:] for option in options if option.startswith("q=")), "1")
        try:
            wanted.append((-float(weight), place, kind))
        except ValueError:
            continue
    return [kind for rank, _, kind in sorted(wanted) if rank != 0]


def format_accepted(accept: str) -> str:
    """The format that a header ``Accept`` asks for; JSON-stat where it does not say.

    Raises
    ------
    QuestionRefusal
        When it asks for none of ours.
    """
    for kind in kinds_accepted(accept):
        if kind in ("*/*", "application/*", ""):
            return "jsonstat"
        for name, encoding in ENCODINGS.items():
            if kind == encoding.media_type.partition(";")[0]:
                return name
    raise QuestionRefusal(
        "unknown-format",
        "None of the formats in Accept is ours.",
        hint=f"Ask for {ENCODINGS['jsonstat'].media_type} or {ENCODINGS['csv'].media_type}, or use ?format=.",
        status=406,
    )


def _by_file(name: str) -> Encoder:
    def encode(table: PublicTable, heading: Heading) -> bytes:
        with tempfile.TemporaryDirectory(prefix="discreet-answer-") as folder:
            path = Path(folder, "answer")
            FORMATS[name].write(path, table, heading)
            return path.read_bytes()

    return encode


def _arrow(table: PublicTable, _heading: Heading) -> bytes:
    import pyarrow as pa

    frame = table.to_frame()
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, frame.schema) as writer:
        writer.write_table(frame)
    return sink.getvalue()


ENCODINGS: dict[str, Encoding] = {
    "jsonstat": Encoding("application/json", ".json", jsonstat_text, jsonstat_text),
    "csv": Encoding("text/csv; charset=utf-8", ".csv", _by_file("csv")),
    "arrow": Encoding("application/vnd.apache.arrow.stream", ".arrows", _arrow),
    "xlsx": Encoding("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".xlsx", _by_file("xlsx")),
    "sdmx-csv": Encoding("application/vnd.sdmx.data+csv", ".sdmx.csv", _by_file("sdmx-csv")),
    "sdmx-json": Encoding("application/vnd.sdmx.data+json", ".sdmx.json", _by_file("sdmx-json")),
    "px": Encoding("text/x-pcaxis", ".px", _by_file("px")),
    "parquet": Encoding("application/vnd.apache.parquet", ".parquet", _by_file("parquet")),
}
"""Formats of answers by name."""
