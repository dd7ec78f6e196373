"""Accepted findings: known ones are told apart from new ones by what stays the same in a rerun."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from tracekit.errors import OptionError
from tracekit.report.model import Finding, Report

VERSION = 1


def fingerprint(finding: Finding) -> str:
    """Code and place of a finding; no times, steps or counts, which change from run to run."""
    place = (finding.code, finding.where.op, finding.where.module, finding.where.source)
    return hashlib.sha256("\0".join(place).encode()).hexdigest()[:16]


def write(reports: list[Report]) -> str:
    """A baseline of all findings of ``reports``, as JSON text."""
    rows = {
        fingerprint(f): {"code": f.code, "where": str(replace(f.where, step="")), "title": f.title}
        for report in reports
        for f in report.findings
    }
    return (
        orjson.dumps(
            {"version": VERSION, "accepted": rows},
            option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS,
        ).decode()
        + "\n"
    )


def accepted(path: Path) -> frozenset[str]:
    """Fingerprints that a baseline file accepts."""
    try:
        data: Any = orjson.loads(path.read_bytes())
        if data["version"] != VERSION:
            raise OptionError(
                f"is of version {data['version']}", where=str(path), hint="write it anew"
            )
        return frozenset(data["accepted"])
    except OSError as error:
        raise OptionError(f"cannot be read: {error.strerror}", where=str(path)) from None
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise OptionError(
            "is no baseline", where=str(path), hint="--write-baseline makes one"
        ) from None


def without(report: Report, known: frozenset[str]) -> Report:
    """``report`` less its accepted findings."""
    kept = tuple(f for f in report.findings if fingerprint(f) not in known)
    return replace(report, findings=kept)
