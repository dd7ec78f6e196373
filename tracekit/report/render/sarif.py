"""A diagnosis as SARIF 2.1.0 (OASIS), for code scanning."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import orjson

from tracekit._version import __version__
from tracekit.report import text
from tracekit.report.model import Finding, Report

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_SOURCE = re.compile(r"^(?P<file>.+?)\((?P<line>\d+)\): (?P<function>.*)$", re.DOTALL)


def render(report: Report) -> str:
    """One run; rules carry the documentation of those that found something."""
    rules = {f.code: f for f in report.findings}
    order = sorted(rules)
    document = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "tracekit",
                        "semanticVersion": __version__,
                        "rules": [_rule(rules[code]) for code in order],
                    }
                },
                "artifacts": [{"location": {"uri": _uri(report.source)}}],
                "results": [
                    _result(f, order.index(f.code), report.source) for f in report.findings
                ],
                "properties": {
                    "quality": text.quality_summary(report.quality),
                    "notChecked": [s.code for s in report.skipped],
                },
            }
        ],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n"


def _rule(finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.code,
        "name": "".join(w.capitalize() for w in finding.slug.split("-")),
        "shortDescription": {"text": finding.title},
        "help": {"text": f"tracekit explain {finding.code}"},
        "defaultConfiguration": {"level": finding.severity},
    }


def _result(finding: Finding, index: int, source: str) -> dict[str, Any]:
    body = f"{finding.message}. Fix: {finding.fix}"
    if text.gain(finding):
        body += f". Saves {text.gain(finding)} (estimate)"
    found = _SOURCE.match(finding.where.source)
    physical: dict[str, Any] = {
        "artifactLocation": {"uri": _uri(found["file"] if found else source)}
    }
    if found:
        physical["region"] = {"startLine": max(int(found["line"]), 1)}
    location: dict[str, Any] = {"physicalLocation": physical}
    if finding.where.module:
        location["logicalLocations"] = [
            {"fullyQualifiedName": text.safe(finding.where.module), "kind": "module"}
        ]
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": text.safe(body, 2000)},
        "locations": [location],
        "partialFingerprints": {
            "tracekit/v1": f"{finding.code}:{finding.where.op}:{finding.where.module}"
        },
        "properties": {
            "gpuSavingNs": finding.gpu_saving_ns.expected,
            "wallSavingNs": finding.wall_saving_ns.expected,
            "confidence": finding.confidence,
        },
    }


def _uri(path: str) -> str:
    return quote(text.safe(path).replace("\\", "/"), safe="/:._-~")
