"""Reading traces: from any source to tables of what it says, and back to a valid file."""

from __future__ import annotations

import os
from typing import Any

import msgspec
import polars as pl

from tracekit import schema
from tracekit.errors import OptionError
from tracekit.io import native_sink
from tracekit.io.document import Document
from tracekit.io.losses import Losses
from tracekit.io.python_sink import PythonSink
from tracekit.io.raw import RawTrace
from tracekit.io.repair import repair
from tracekit.io.sink import EventSink
from tracekit.io.source import blocks, open_source

__all__ = ["decode_args", "read", "reader_status", "repair"]

READERS = ("auto", "native", "python")


def read(source: Any, *, reader: str | None = None) -> RawTrace:
    """Read a trace from a path, URL, ``"-"``, bytes, open file or live torch profiler.

    ``reader`` is ``auto``, ``native`` or ``python``; by default the environment variable
    ``TRACEKIT_READER``, else ``auto``: the native reader where it was built.

    Raises :class:`tracekit.TraceError` for what cannot be opened or is no trace. A damaged trace is
    read as far as it can be, and the loss is counted in :attr:`RawTrace.losses`.

    >>> read(b'{"traceEvents": [{"ph": "X", "name": "mm", "ts": 1, "dur": 2}]}').entries
    1
    """
    stream, name = open_source(source)
    losses = Losses()
    sink, used = _sink(reader)
    try:
        document = Document(blocks(stream, name, losses), sink, name, losses)
        document.read()
    finally:
        if stream is not source:
            stream.close()
    result = sink.finish()
    if result.not_objects and result.first_not_object is not None:
        event, offset = result.first_not_object
        losses.add("malformed_event", offset, event, result.not_objects)
    return RawTrace(result.tables, document.metadata, name, used, result.entries, losses.frame())


def reader_status(reader: str | None = None) -> tuple[bool, str]:
    """Whether the native reader is in use, and why or why not.

    >>> reader_status("python")
    (False, 'asked for')
    """
    wanted = reader or os.environ.get("TRACEKIT_READER") or "auto"
    if wanted not in READERS:
        raise OptionError(f"no reader {wanted!r}", hint=f"one of {', '.join(READERS)}")
    if wanted == "python":
        return False, "asked for"
    usable, why = native_sink.status()
    if wanted == "native" and not usable:
        raise OptionError(f"the native reader cannot be used: {why}", hint="TRACEKIT_READER=python")
    return usable, why


def _sink(reader: str | None) -> tuple[EventSink, str]:
    usable, _ = reader_status(reader)
    return (native_sink.NativeSink(), "native") if usable else (PythonSink(), "python")


def decode_args(raw: RawTrace, ids: list[int]) -> list[dict[str, Any]]:
    """The recorded ``args`` of these events, decoded, in the order of ``ids``.

    >>> raw = read(b'[{"ph": "X", "ts": 1, "args": {"stream": 7, "grid": [1, 2, 3], "x": "y"}}]')
    >>> decode_args(raw, [0])
    [{'stream': 7, 'grid': [1, 2, 3], 'x': 'y'}]
    """
    wanted = pl.Series("id", sorted(set(ids)), dtype=pl.UInt32)
    found: dict[int, dict[str, Any]] = {id_: {} for id_ in wanted.to_list()}
    first: dict[tuple[str, str], schema.ArgKey] = {}
    for key in schema.ARG_KEYS:
        first.setdefault((key.table, key.column), key)
    for name in {k.table for k in schema.ARG_KEYS}:
        rows = raw.table(name).filter(pl.col("id").is_in(wanted.implode()))
        keys = [k for (table, _), k in first.items() if table == name]
        for row in rows.iter_rows(named=True):
            for key in keys:
                value = _value(key, row)
                if value is not None:
                    found[row["id"]][key.key] = value
    extra = raw.table("extra").filter(pl.col("id").is_in(wanted.implode()))
    for id_, text in extra.select("id", "args_json").iter_rows():
        if text is not None:
            rest = msgspec.json.decode(text)
            found[id_].update(rest if isinstance(rest, dict) else {"args": rest})
    return [found[id_] for id_ in ids]


def _value(key: schema.ArgKey, row: dict[str, Any]) -> Any:
    if key.kind == "int3":
        parts = [row[f"{key.column}_{axis}"] for axis in "xyz"]
        return None if parts[0] is None else parts
    value = row[key.column]
    return msgspec.json.decode(value) if key.kind == "json" and value is not None else value
