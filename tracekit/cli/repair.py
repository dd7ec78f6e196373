"""``tracekit repair``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tracekit.cli import output
from tracekit.io import repair
from tracekit.report.text import quality_lines
from tracekit.tables.quality import Quality


def command(
    trace: str,
    *,
    out: Annotated[Path, Parameter(alias="-o")],
    force: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Write a valid copy of a damaged trace: repaired events repaired, hopeless ones left out.

    Example: tracekit repair broken.json.gz -o good.json.gz

    Parameters
    ----------
    trace:
        Path, URL, or - for standard input.
    out:
        File to write; .gz compresses it.
    force:
        Overwrite a file that exists.
    """
    with output.fresh(out, force=force) as path, output.progress(f"repairing {trace}"):
        losses = repair(trace, path)
    for line in quality_lines(Quality({}, losses)):
        output.emit(f"{line}\n", None)
    return 0
