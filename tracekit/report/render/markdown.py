"""A diagnosis as Markdown, for a pull request or an issue."""

from __future__ import annotations

import re

from tracekit.report import text
from tracekit.report.model import Report

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+|!~@&])")


def render(report: Report) -> str:
    """A heading, the quality line, a table of findings, details of each."""
    lines = [
        f"### tracekit: {_escape(report.source)}",
        "",
        f"{_escape(text.verdict(report))}",
        "",
        f"- quality: {_escape(text.quality_summary(report.quality))}",
        *(f"- {_escape(line)}" for line in text.quality_lines(report.quality)),
        *(f"- {_escape(line)}" for line in text.header_lines(report)),
        "",
    ]
    if report.findings:
        lines += ["| code | finding | where | saves (estimate) |", "|---|---|---|---|"]
        for f in report.findings:
            lines.append(
                f"| {f.code} | {_escape(f.title)} | {_escape(str(f.where))} | {_escape(text.gain(f) or '–')} |"
            )
        lines.append("")
    for f in report.findings:
        lines += [
            f"**{f.code} {_escape(f.title)}** ({f.severity})",
            "",
            _escape(f.message),
            "",
            f"Fix: {_escape(f.fix)}",
            "",
        ]
    for skip in report.skipped:
        lines.append(
            f"- not checked: {skip.code}: {_escape(skip.because)}; record with `{skip.record}`"
        )
    return "\n".join(lines).rstrip() + "\n"


def _escape(line: str) -> str:
    return _SPECIAL.sub(r"\\\1", text.safe(line))
