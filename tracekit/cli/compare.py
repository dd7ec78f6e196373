"""``tracekit compare``."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import orjson
from cyclopts import Parameter

from tracekit.cli import output
from tracekit.errors import OptionError, TracekitError


def command(
    *traces: str,
    format: Annotated[Literal["terminal", "json"], Parameter(alias="-f")] = "terminal",  # noqa: A002
    out: Annotated[Path | None, Parameter(alias="-o")] = None,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Put the attention calls of traces side by side: kernels, time, unit, dtype, mask, traffic.

    Examples: tracekit compare naive.json.gz flash.json.gz; tracekit compare traces/

    Parameters
    ----------
    traces:
        Traces, or folders of traces.
    format:
        terminal or json.
    out:
        File to write instead of standard output.
    force:
        Overwrite a file that exists.
    """
    from tracekit import load
    from tracekit.compare import compare
    from tracekit.report.render import backends

    if not traces:
        raise OptionError("no trace given", hint="tracekit compare TRACE…")
    loaded = []
    failed = False
    for source in _expanded(traces):
        try:
            with output.progress(f"reading {source}"):
                loaded.append(load(source))
        except TracekitError as error:
            if len(traces) == 1 and not Path(traces[0]).is_dir():
                raise
            print(f"error: {error}", file=sys.stderr)  # noqa: T201
            failed = True
    rows = compare(*loaded)
    text = (
        backends.render(rows)
        if format == "terminal"
        else orjson.dumps([asdict(r) for r in rows], option=orjson.OPT_INDENT_2).decode() + "\n"
    )
    output.emit(text, out, force=force)
    return 2 if failed else 0


def _expanded(traces: tuple[str, ...]) -> list[str]:
    found = []
    for item in traces:
        folder = Path(item)
        if "://" not in item and folder.is_dir():
            names = ("*.json", "*.json.gz", "*.json.zst")
            files = sorted(
                {str(p) for n in names for p in folder.glob(n)} - {str(folder / "manifest.json")}
            )
            if not files:
                raise OptionError("holds no traces", where=item, hint="*.json or *.json.gz")
            found += files
        else:
            found.append(item)
    return found
