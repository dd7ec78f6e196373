"""How reports and findings show in a notebook; every string from a trace is escaped."""

from __future__ import annotations

from html import escape

from tracekit.report import text
from tracekit.report.model import Finding, Report

_COLOURS = {"error": "#b00020", "warning": "#9a6700", "note": "#0b6bcb"}


def report_html(report: Report) -> str:
    """The report as a fragment of HTML.

    >>> import tracekit
    >>> report = tracekit.load("fixtures/attention/naive.json.gz").diagnose()
    >>> "TK102" in report_html(report)
    True
    """
    rows = "".join(f"<li>{_finding(f)}</li>" for f in report.findings)
    return (
        f"<div><b>{_safe(report.source)}</b><br><small>{_safe(text.quality_summary(report.quality))}"
        f"</small><ol>{rows}</ol><p>{_safe(text.verdict(report))}</p></div>"
    )


def finding_html(finding: Finding) -> str:
    """One finding as a fragment of HTML."""
    return f"<div>{_finding(finding)}</div>"


def _finding(f: Finding) -> str:
    gain = text.gain(f)
    saves = f"<br>saves {_safe(gain)} (estimate)" if gain else ""
    return (
        f'<b style="color:{_COLOURS[f.severity]}">{f.code}</b> <b>{_safe(f.title)}</b><br>'
        f"{_safe(f.message)}<br><i>{_safe(str(f.where))}</i>{saves}<br>fix: {_safe(f.fix)}"
    )


def _safe(value: str) -> str:
    return escape(text.safe(value))
