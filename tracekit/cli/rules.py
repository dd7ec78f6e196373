"""``tracekit rules``."""

from __future__ import annotations

from typing import Annotated, Literal

import orjson
from cyclopts import Parameter

from tracekit.cli import output
from tracekit.rules import all_rules


def command(
    *,
    format: Annotated[Literal["text", "json"], Parameter(alias="-f")] = "text",  # noqa: A002
) -> int:
    """List all rules: code, severity, slug, title.

    Parameters
    ----------
    format:
        text or json.
    """
    rules = all_rules()
    if format == "json":
        rows = [
            {
                "code": r.code,
                "slug": r.slug,
                "title": r.title,
                "severity": r.severity,
                "needs": list(r.needs),
            }
            for r in rules
        ]
        output.emit(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode() + "\n", None)
        return 0
    wide = max(len(r.slug) for r in rules)
    output.emit(
        "".join(f"{r.code}  {r.severity:<7}  {r.slug:<{wide}}  {r.title}\n" for r in rules), None
    )
    return 0
