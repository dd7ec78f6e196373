"""Writes a valid copy of a damaged trace."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import IO, Any

import orjson
import polars as pl

from tracekit.errors import TraceError
from tracekit.io.document import Document
from tracekit.io.losses import Losses
from tracekit.io.python_sink import PythonSink
from tracekit.io.source import blocks, open_source


class _CopySink(PythonSink):
    """Passes the text of whole entries on instead of taking them apart."""

    def __init__(self, out: IO[bytes] | gzip.GzipFile) -> None:
        super().__init__()
        self._out = out
        self._wrote = False

    def _take(self, entries: list[Any], text: bytes, offset: int) -> None:  # noqa: ARG002
        if not entries:
            return
        self._entries += len(entries)
        body = text.strip()
        if body[-1:] in (b",", b"]"):
            body = body[:-1].rstrip()
        self._out.write((b",\n" if self._wrote else b"\n") + body)
        self._wrote = True


def repair(source: Any, out: Path) -> pl.DataFrame:
    """Write a valid trace of all that can be read of ``source``; ``.gz`` compresses it.

    Sound events are copied as they are, damaged ones repaired or left out. Returns what was wrong
    (:data:`tracekit.schema.LOSSES`). Raises :class:`TraceError` for what is no trace.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> repair(b'[{"ph": "X", "name": "a", "dur": NaN}', folder / "a.json")["code"].to_list()
    ['nonfinite_literal', 'truncated']
    >>> (folder / "a.json").read_bytes().split()[-1]
    b']}'
    """
    stream, name = open_source(source)
    losses = Losses()
    part = out.with_name(out.name + ".part")
    try:
        with (
            gzip.GzipFile(part, "wb", mtime=0) if out.suffix == ".gz" else part.open("wb") as target
        ):
            target.write(b'{"traceEvents": [')
            sink = _CopySink(target)
            document = Document(blocks(stream, name, losses), sink, name, losses)
            document.read()
            target.write(b"\n]")
            for key, value in document.metadata.items():
                target.write(b",\n" + orjson.dumps(key) + b": " + orjson.dumps(value))
            target.write(b"\n}\n" if document.metadata else b"}\n")
        part.replace(out)
    except OSError as error:
        raise TraceError(f"cannot be written: {error.strerror}", where=str(out)) from None
    finally:
        part.unlink(missing_ok=True)
        if stream is not source:
            stream.close()
    return losses.frame()
