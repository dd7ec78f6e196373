"""A diagnosis for a terminal: quality first, one block a finding, then what to do next."""

from __future__ import annotations

import textwrap

from tracekit.report import text
from tracekit.report.model import Finding, Report

_MARKS = {"error": "E", "warning": "W", "note": "i"}
_COLOURS = {"error": "31", "warning": "33", "note": "36"}


def render(report: Report, *, width: int = 100, colour: bool = False, verbose: bool = False) -> str:
    """The report as lines of at most ``width`` columns (never below 60)."""
    paint = _Paint(colour)
    width = max(width, 60)
    lines = [paint.bold(text.safe(report.source, width))]
    lines += _wrapped("quality: " + text.quality_summary(report.quality), width, 2)
    if verbose or any(c != "unlinked_kernel" for c in report.quality.codes):
        for line in text.quality_lines(report.quality):
            lines += _wrapped("- " + text.safe(line), width, 4)
    for line in text.header_lines(report):
        lines += _wrapped(line, width, 2)
    lines.append("")
    for finding in report.findings:
        lines += _finding(finding, width, paint, verbose)
    if report.findings:
        lines.append("")
    lines += _wrapped(text.verdict(report), width, 0)
    lines += _rest(report, width, verbose)
    return "\n".join(lines) + "\n"


def _finding(finding: Finding, width: int, paint: _Paint, verbose: bool) -> list[str]:
    mark = paint.severity(finding.severity, f"{_MARKS[finding.severity]} {finding.code}")
    lines = [f"{mark} {paint.bold(finding.title)} [{finding.slug}]"]
    lines += _wrapped(text.safe(finding.message), width, 4)
    where = text.safe(str(finding.where))
    if where:
        lines += _wrapped(f"where: {where}", width, 4)
    if finding.severity != "note" or finding.gpu_saving_ns.high:
        figures = [g for g in (text.gain(finding), text.share(finding)) if g]
        if finding.gpu_saving_ns.high and finding.wall_saving_ns.high:
            figures.insert(1, f"wall {text.saving(finding.wall_saving_ns)}")
        if figures:
            lines += _wrapped("saves: " + ", ".join(figures), width, 4)
        lines += _wrapped("fix: " + finding.fix, width, 4)
    if verbose:
        basis = f", {finding.gpu_saving_ns.basis}" if finding.gpu_saving_ns.basis else ""
        lines += _wrapped(f"confidence: {finding.confidence}{basis}", width, 4)
        lines += _evidence(finding, width)
    return lines


def _evidence(finding: Finding, width: int) -> list[str]:
    """The first rows of the evidence, as a plain table."""
    frame = finding.evidence.head(5)
    rows = [list(frame.columns)]
    rows += [["" if v is None else text.safe(str(v), 40) for v in row] for row in frame.iter_rows()]
    sizes = [max(len(r[i]) for r in rows) for i in range(frame.width)]
    lines = [
        "      " + "  ".join(c.ljust(s) for c, s in zip(row, sizes, strict=True)) for row in rows
    ]
    more = finding.evidence.height - frame.height
    if more > 0:
        lines.append(f"      … {more} more")
    return [line.rstrip()[:width] for line in lines]


def _rest(report: Report, width: int, verbose: bool) -> list[str]:
    lines = []
    if report.folded:
        codes = ", ".join(dict.fromkeys(f.code for f in report.folded))
        lines += _wrapped(f"{len(report.folded)} below the threshold: {codes}", width, 0)
        if verbose:
            for finding in report.folded:
                lines += _wrapped(f"{finding.code} {text.safe(finding.message)}", width, 4)
    if report.skipped:
        by_reason: dict[tuple[str, str], list[str]] = {}
        for skip in report.skipped:
            by_reason.setdefault((skip.because, skip.record), []).append(skip.code)
        for (because, record), codes_ in by_reason.items():
            line = f"not checked: {', '.join(codes_)} ({because}; record with {record})"
            lines += _wrapped(line, width, 0)
    if report.problems:
        lines += _wrapped(f"next: tracekit explain {report.problems[0].code}", width, 0)
    return lines


def _wrapped(line: str, width: int, indent: int) -> list[str]:
    return textwrap.wrap(
        line, width, initial_indent=" " * indent, subsequent_indent=" " * (indent + 2 if indent else 0),
        break_on_hyphens=False,
    ) or [""]  # fmt: skip


class _Paint:
    """ANSI colours, or none."""

    def __init__(self, on: bool) -> None:
        self._on = on

    def _code(self, code: str, line: str) -> str:
        return f"\x1b[{code}m{line}\x1b[0m" if self._on else line

    def bold(self, line: str) -> str:
        return self._code("1", line)

    def severity(self, severity: str, line: str) -> str:
        return self._code(_COLOURS[severity], line)
