"""A diagnosis as GitHub workflow commands, which become annotations."""

from __future__ import annotations

import re

from tracekit.report import text
from tracekit.report.model import Report

_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}
_SOURCE = re.compile(r"^(?P<file>.+?)\((?P<line>\d+)\): ")


def render(report: Report) -> str:
    """One command a finding, at its source line where the trace has stacks."""
    lines = []
    for f in report.findings:
        properties = [f"title={_property(f'{f.code} {f.title}')}"]
        found = _SOURCE.match(f.where.source)
        if found:
            properties += [f"file={_property(found['file'])}", f"line={found['line']}"]
        gain = text.gain(f)
        body = f"{f.message}. Fix: {f.fix}" + (f". Saves {gain} (estimate)" if gain else "")
        lines.append(f"::{_LEVELS[f.severity]} {','.join(properties)}::{_data(body)}")
    lines.append(f"::notice title=tracekit::{_data(text.quality_summary(report.quality))}")
    return "\n".join(lines) + "\n"


def _data(line: str) -> str:
    return text.safe(line, 2000).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(line: str) -> str:
    return _data(line).replace(":", "%3A").replace(",", "%2C")
