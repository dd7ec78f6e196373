"""``tracekit query``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars as pl
from cyclopts import Parameter

from tracekit import schema
from tracekit.cli import output
from tracekit.cli.tables import show, write
from tracekit.errors import OptionError


def command(
    trace: str,
    sql: str,
    *,
    out: Annotated[Path | None, Parameter(alias="-o")] = None,
    head: Annotated[int, Parameter(alias="-n")] = 50,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Run SQL over the tables of a trace.

    Example: tracekit query trace.json.gz "select name, sum(dur_ns) as ns from kernels group by name order by ns desc"

    Parameters
    ----------
    trace:
        Path, URL, or - for standard input.
    sql:
        A SELECT over the tables that 'tracekit tables' names.
    out:
        File to write: .parquet, .csv, .arrow or .json.
    head:
        Rows to show.
    force:
        Overwrite a file that exists.
    """
    from tracekit import load

    with output.progress(f"reading {trace}"):
        loaded = load(trace)
        tables = {t.name: loaded.table(t.name) for t in (schema.EVENTS, *schema.PUBLIC)}
    context = pl.SQLContext(frames=tables, eager=True)
    words = sql.split(None, 1)
    if not words or words[0].lower() not in ("select", "with", "show"):
        raise OptionError("only queries are run", hint="begin with SELECT or WITH")
    try:
        frame = context.execute(sql)
    except pl.exceptions.PolarsError as error:
        raise OptionError(f"the query fails: {str(error).splitlines()[0]}") from None
    if out is not None:
        write(frame, out, force=force)
    else:
        output.emit(show(frame, head), None)
    return 0
