"""Words about reports that every renderer uses, and strings from traces made safe to show."""

from __future__ import annotations

import re

from tracekit.report.model import Finding, Report, Saving
from tracekit.tables.quality import Quality
from tracekit.units import duration, percent, plural

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def safe(text: str, limit: int = 400) -> str:
    r"""``text`` without control characters and direction marks, cut in the middle at ``limit``.

    >>> safe("a\\x1b[31mb")
    'a�[31mb'
    """
    if len(text) > limit:
        half = (limit - 1) // 2
        text = text[:half] + "…" + text[-half:]
    return _CONTROL.sub("\ufffd", text)


def saving(value: Saving) -> str:
    """A saving with its range; an estimate, and marked so.

    >>> saving(Saving(900_000, 1_000_000, 1_200_000)), saving(Saving())
    ('≈1 ms (900 µs to 1.2 ms)', 'none')
    """
    if not value.high:
        return "none"
    if value.low == value.high:
        return f"≈{duration(value.expected)}"
    return f"≈{duration(value.expected)} ({duration(value.low)} to {duration(value.high)})"


def quality_lines(quality: Quality) -> list[str]:
    """What was lost or doubtful, one line a code, then what was not recorded."""
    lines = [
        f"{code} ×{count}: {detail}" + (f" (first at byte {offset})" if offset is not None else "")
        for code, count, offset, detail in quality.warnings.select(
            "code", "count", "offset", "detail"
        ).iter_rows()
    ]
    lines += [f"not recorded: {what} (record with {how})" for what, how in quality.missing]
    return lines


def quality_summary(quality: Quality) -> str:
    """One line: how much was read, how much of it is linked, what was lost.

    >>> quality_summary(Quality({"entries": 4, "device_events": 2, "linked": 2}))
    '4 events read, 2 device events, all linked to their launch, nothing lost'
    """
    counts = quality.counts
    device = counts.get("device_events", 0)
    linked = counts.get("linked", 0)
    parts = [f"{plural(counts.get('entries', 0), 'event')} read"]
    if device:
        parts.append(plural(device, "device event"))
        parts.append(
            "all linked to their launch"
            if linked == device
            else f"{device - linked} unlinked ({duration(counts.get('unlinked_ns', 0))} of device time)"
        )
    else:
        parts.append("no device activity (CPU-only)")
    losses = [c for c in quality.codes if c not in ("unlinked_kernel", "no_gpu_activity")]
    parts.append(f"warnings: {', '.join(losses)}" if losses else "nothing lost")
    return ", ".join(parts)


def header_lines(report: Report) -> list[str]:
    """Device, steps, window and how busy the device was."""
    parts = []
    if report.devices:
        parts.append(safe(", ".join(report.devices)))
    if report.steps:
        parts.append(plural(report.steps, "step"))
    if report.window_ns:
        parts.append(f"{duration(report.window_ns)} recorded")
        if report.gpu_busy_ns:
            busy = 100 * report.gpu_busy_ns / report.window_ns
            parts.append(f"device busy {percent(min(busy, 100.0))}")
    return [" · ".join(parts)] if parts else []


def gain(finding: Finding) -> str:
    """The headline figure of a finding."""
    if finding.gpu_saving_ns.high:
        return f"device {saving(finding.gpu_saving_ns)}"
    if finding.wall_saving_ns.high:
        return f"wall {saving(finding.wall_saving_ns)}"
    return ""


def share(finding: Finding) -> str:
    """Its share of the device time."""
    return "" if finding.share_pct is None else f"{percent(finding.share_pct)} of device time"


def verdict(report: Report) -> str:
    """One sentence on the whole."""
    if not report.problems:
        return (
            "No finding that costs time."
            if report.quality.counts.get("device_events")
            else ("No device activity was recorded, so only host-side findings are possible.")
        )
    text = plural(len(report.problems), "finding")
    if report.gpu_saving_ns.high:
        text += f"; together they would give back {saving(report.gpu_saving_ns)} of device time"
        if report.wall_saving_ns.high:
            text += f", {saving(report.wall_saving_ns)} on the wall"
    elif report.wall_saving_ns.high:
        text += f"; together they would give back {saving(report.wall_saving_ns)} on the wall"
    return text + " in the recorded window (estimates)."
