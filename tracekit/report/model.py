"""What a diagnosis is made of: findings, what they would give back, and what could not be checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from tracekit.tables.quality import Quality

Severity = Literal["error", "warning", "note"]
Confidence = Literal["high", "medium", "low"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""Most serious first. Notes never fail a run."""


@dataclass(frozen=True)
class Saving:
    """Time a fix gives back over the whole recorded window, in ns, and how that was worked out.

    >>> Saving(80, 100, 120, "measured sibling").scaled(0.5)
    Saving(low=40, expected=50, high=60, basis='measured sibling')
    """

    low: int = 0
    expected: int = 0
    high: int = 0
    basis: str = ""

    def scaled(self, factor: float) -> Saving:
        """The same times ``factor``."""
        low, expected, high = (round(n * factor) for n in (self.low, self.expected, self.high))
        return Saving(low, expected, high, self.basis)

    def capped(self, limit_ns: int) -> Saving:
        """The same, no figure above ``limit_ns``."""
        low, expected, high = (min(n, limit_ns) for n in (self.low, self.expected, self.high))
        return Saving(low, expected, high, self.basis)


@dataclass(frozen=True)
class Where:
    """Where in the program and on the device; each part empty when the trace does not say.

    >>> str(Where(op="aten::masked_fill", source="model.py(12): forward", step="2–4"))
    'model.py(12): forward · aten::masked_fill · step 2–4'
    """

    op: str = ""
    module: str = ""
    source: str = ""
    step: str = ""
    stream: str = ""

    def __str__(self) -> str:
        """The parts that are known, most useful first."""
        parts = [self.source, self.module, self.op]
        if self.step:
            parts.append(f"step {self.step}")
        if self.stream:
            parts.append(f"stream {self.stream}")
        return " · ".join(p for p in parts if p)


@dataclass(frozen=True)
class Finding:
    """One cause of lost time, how often it was met, and what the fix gives back.

    ``gpu_ns`` is the device time of everything it is about; ``gpu_saving_ns`` and
    ``wall_saving_ns`` are for the whole recorded window. ``evidence`` has one row a call or event,
    always with ``id`` (of an op, launch or device event); ``events`` are the ids of every event it
    rests on.
    """

    code: str
    slug: str
    title: str
    severity: Severity
    message: str
    fix: str
    calls: int
    gpu_ns: int
    gpu_saving_ns: Saving
    wall_saving_ns: Saving
    where: Where
    confidence: Confidence
    evidence: pl.DataFrame = field(repr=False, compare=False)
    events: tuple[int, ...] = field(default=(), repr=False)
    share_pct: float | None = None
    """Share of the window's device time that ``gpu_ns`` is, in percent; ``None`` without any."""

    @property
    def rank_ns(self) -> int:
        """What findings are ranked by: expected gain on the wall, else on the device."""
        return max(self.wall_saving_ns.expected, self.gpu_saving_ns.expected)

    def _repr_html_(self) -> str:
        from tracekit.report.notebook import finding_html

        return finding_html(self)


@dataclass(frozen=True)
class Skipped:
    """A rule that could not look, why, and how to record what it needs."""

    code: str
    slug: str
    because: str
    record: str


@dataclass(frozen=True)
class Report:
    """The diagnosis of one trace.

    ``findings`` are ranked, most time first, notes last; ``folded`` are those below the threshold.
    ``window_ns`` is the wall time of the recorded window, ``gpu_busy_ns`` the union of device work
    in it. ``gpu_saving_ns`` and ``wall_saving_ns`` are for all findings together, overlaps counted
    once.
    """

    source: str
    quality: Quality
    findings: tuple[Finding, ...]
    folded: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    window_ns: int | None = None
    gpu_ns: int = 0
    gpu_busy_ns: int = 0
    steps: int = 0
    devices: tuple[str, ...] = ()
    gpu_saving_ns: Saving = Saving()
    wall_saving_ns: Saving = Saving()

    @property
    def problems(self) -> tuple[Finding, ...]:
        """Findings that are no notes."""
        return tuple(f for f in self.findings if f.severity != "note")

    @property
    def notes(self) -> tuple[Finding, ...]:
        """Findings that only inform."""
        return tuple(f for f in self.findings if f.severity == "note")

    @property
    def exit_code(self) -> int:
        """0 when nothing but notes was found, else 1."""
        return 1 if self.problems else 0

    def _repr_html_(self) -> str:
        from tracekit.report.notebook import report_html

        return report_html(self)


Renderer = Callable[[Report], str]
"""A renderer is a plain function from a report to text."""
