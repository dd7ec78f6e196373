"""A diagnosis as JUnit XML: one test case a finding, failed unless it is a note."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from tracekit.report import text
from tracekit.report.model import Report


def render(report: Report) -> str:
    """One test suite named after the trace."""
    failures = len(report.problems)
    tests = max(len(report.findings), 1)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites tests="{tests}" failures="{failures}">',
        f'  <testsuite name={_quoted("tracekit: " + report.source)} tests="{tests}" '
        f'failures="{failures}" skipped="{len(report.skipped)}">',
    ]
    for f in report.findings:
        name = _quoted(f"{f.code} {f.title}")
        head = f'    <testcase classname="tracekit.{f.slug}" name={name}'
        if f.severity == "note":
            lines.append(head + "/>")
            continue
        body = f"{f.message}. Where: {f.where}. Fix: {f.fix}. Saves: {text.gain(f) or 'unknown'}"
        lines += [
            head + ">",
            f'      <failure type="{f.severity}" message={_quoted(body)}/>',
            "    </testcase>",
        ]
    if not report.findings:
        lines.append('    <testcase classname="tracekit" name="no findings"/>')
    for s in report.skipped:
        lines += [
            f'    <testcase classname="tracekit.{s.slug}" name={_quoted(s.code)}>',
            f"      <skipped message={_quoted(f'{s.because}; record with {s.record}')}/>",
            "    </testcase>",
        ]
    lines += ["  </testsuite>", "</testsuites>"]
    return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    return quoteattr(text.safe(value, 2000).replace("\ufffe", "").replace("\uffff", ""))
