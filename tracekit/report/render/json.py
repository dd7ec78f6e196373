"""A diagnosis as JSON; the schema is ``schema.json`` beside this file."""

from __future__ import annotations

from typing import Any

import orjson

from tracekit import schema
from tracekit.report.model import Finding, Report, Saving

VERSION = 1
"""Version of the JSON layout; a change that breaks readers raises it."""

MAX_EVIDENCE = 100
"""Rows of evidence written for a finding; ``evidence_rows`` says how many there are."""


def render(report: Report) -> str:
    """The whole report; times in ns, keys sorted."""
    return (
        orjson.dumps(as_dict(report), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()
        + "\n"
    )


def as_dict(report: Report) -> dict[str, Any]:
    """The report as plain values."""
    return {
        "version": VERSION,
        "tables_version": schema.VERSION,
        "source": report.source,
        "devices": list(report.devices),
        "steps": report.steps,
        "window_ns": report.window_ns,
        "gpu_ns": report.gpu_ns,
        "gpu_busy_ns": report.gpu_busy_ns,
        "gpu_saving_ns": _saving(report.gpu_saving_ns),
        "wall_saving_ns": _saving(report.wall_saving_ns),
        "quality": {
            "counts": report.quality.counts,
            "warnings": report.quality.warnings.to_dicts(),
            "missing": [{"what": w, "record": r} for w, r in report.quality.missing],
        },
        "findings": [_finding(f) for f in report.findings],
        "folded": [_finding(f) for f in report.folded],
        "skipped": [
            {"code": s.code, "slug": s.slug, "because": s.because, "record": s.record}
            for s in report.skipped
        ],
    }


def _saving(value: Saving) -> dict[str, Any]:
    return {"low": value.low, "expected": value.expected, "high": value.high, "basis": value.basis}


def _finding(f: Finding) -> dict[str, Any]:
    return {
        "code": f.code,
        "slug": f.slug,
        "title": f.title,
        "severity": f.severity,
        "confidence": f.confidence,
        "message": f.message,
        "fix": f.fix,
        "calls": f.calls,
        "gpu_ns": f.gpu_ns,
        "share_pct": f.share_pct,
        "gpu_saving_ns": _saving(f.gpu_saving_ns),
        "wall_saving_ns": _saving(f.wall_saving_ns),
        "where": {
            "op": f.where.op, "module": f.where.module, "source": f.where.source,
            "step": f.where.step, "stream": f.where.stream,
        },
        "evidence_rows": f.evidence.height,
        "evidence": [
            {k: v if isinstance(v, (int, float, bool, str)) or v is None else str(v) for k, v in row.items()}
            for row in f.evidence.head(MAX_EVIDENCE).to_dicts()
        ],
        "events": list(f.events),
    }  # fmt: skip
