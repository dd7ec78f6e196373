"""``tracekit tables``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import polars as pl
from cyclopts import Parameter

from tracekit.cli import output
from tracekit.errors import OptionError
from tracekit.report.text import safe


def command(
    trace: str,
    *,
    table: Annotated[str, Parameter(alias="-t")] = "kernels",
    out: Annotated[Path | None, Parameter(alias="-o")] = None,
    head: Annotated[int, Parameter(alias="-n")] = 20,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Show a table of a trace, or write it to a file.

    Examples: tracekit tables trace.json.gz --table kernels;
    tracekit tables trace.json.gz -t attention -o attention.parquet

    Parameters
    ----------
    trace:
        Path, URL, or - for standard input.
    table:
        events, ops, launches, kernels, links, steps, frames, memory, collectives, attention or
        attention_events.
    out:
        File to write: .parquet, .csv, .arrow or .json (one object a line).
    head:
        Rows to show.
    force:
        Overwrite a file that exists.
    """
    from tracekit import load

    with output.progress(f"reading {trace}"):
        frame = load(trace).table(table)
    if out is not None:
        write(frame, out, force=force)
    else:
        output.emit(show(frame, head), None)
    return 0


def write(frame: pl.DataFrame, out: Path, *, force: bool) -> None:
    """Write a frame in the format of the file's suffix."""
    writers: dict[str, Callable[[Path], object]] = {
        ".parquet": frame.write_parquet,
        ".csv": frame.write_csv,
        ".arrow": frame.write_ipc,
        ".feather": frame.write_ipc,
        ".json": frame.write_ndjson,
        ".ndjson": frame.write_ndjson,
    }
    writer = writers.get(out.suffix)
    if writer is None:
        raise OptionError(
            f"no format for {out.suffix or 'no suffix'}", where=str(out), hint=", ".join(writers)
        )
    with output.fresh(out, force=force) as path:
        writer(path)


def show(frame: pl.DataFrame, head: int) -> str:
    """The first rows, one line each, columns that are all null left out."""
    shown = frame.head(max(head, 0))
    full = [c for c in shown.columns if shown[c].null_count() < shown.height] or shown.columns
    rows = [full]
    for row in shown.select(full).iter_rows():
        rows.append(["" if v is None else safe(_cell(v), 48) for v in row])
    sizes = [max(len(r[i]) for r in rows) for i in range(len(full))]
    lines = ["  ".join(c.ljust(s) for c, s in zip(r, sizes, strict=True)).rstrip() for r in rows]
    dropped = frame.width - len(full)
    tail = f"{frame.height} rows, {frame.width} columns"
    tail += f" ({dropped} empty ones not shown)" if dropped else ""
    return "\n".join([*lines, tail]) + "\n"


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
