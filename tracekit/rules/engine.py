"""Runs rules over a trace, works out what each finding gives back, ranks and reconciles."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from tracekit.graph.replay import Overhead, Schedule
from tracekit.report.model import SEVERITIES, Finding, Report, Saving, Skipped
from tracekit.rules.config import Config
from tracekit.rules.context import NEEDS, Context, Facts
from tracekit.rules.model import SAVED, Found, Rule, options_of
from tracekit.tables.numbers import total

if TYPE_CHECKING:
    from tracekit.trace import Trace

LEVELS = ("low_ns", "expected_ns", "high_ns")

PROFILER = Overhead(op_ns=700, call_ns=700, frame_ns=150)
"""Host time that Kineto adds to each recorded op, call and frame; see benchmarks/overhead.py."""

DOUBT = (0.5, 1.0, 1.5)
"""The overhead's own uncertainty: a wall saving is worked out for each."""


def diagnose(
    trace: Trace,
    select: Iterable[str] | None = None,
    ignore: Iterable[str] | None = None,
    config: Config | None = None,
) -> Report:
    """Run the rules that ``config`` (with ``select`` and ``ignore`` over it) chooses.

    Raises :class:`OptionError` for a code that no rule has or a wrong option.
    """
    from tracekit.rules import all_rules

    config = config or Config()
    if select is not None or ignore is not None:
        config = config.override(select, ignore)
    facts = Facts(trace)
    wall = _Wall(trace)
    findings: list[Finding] = []
    edits: dict[str, list[pl.DataFrame]] = {"gpu": [], "host": []}
    skipped = []
    for rule in config.chosen(all_rules()):
        unmet = [need for need in rule.needs if need not in facts.met]
        if unmet:
            because, record = NEEDS[unmet[0]]
            skipped.append(Skipped(rule.code, rule.slug, because, record))
            continue
        context = Context(facts, options_of(rule, config.rules.get(rule.code, {})))
        for found in rule.check(context):
            saved = _capped(found.saved, facts.by_id)
            host = _capped(found.host_saved, wall.host)
            edits["gpu"].append(saved)
            edits["host"].append(host)
            findings.append(_finding(rule, found, saved, host, facts, wall, config))
    kept, folded = _fold(findings, facts, config)
    total_gpu, total_host = (_together(edits[k]) for k in ("gpu", "host"))
    return Report(
        source=trace.source,
        quality=trace.quality,
        findings=tuple(sorted(kept, key=_order)),
        folded=tuple(sorted(folded, key=_order)),
        skipped=tuple(skipped),
        window_ns=facts.window_ns,
        gpu_ns=facts.gpu_ns,
        gpu_busy_ns=facts.busy_ns,
        steps=trace.steps.height,
        devices=tuple(sorted({d.name for d in trace.devices.values()})),
        gpu_saving_ns=_sums(total_gpu),
        wall_saving_ns=wall.saving(total_gpu, total_host),
    )


def _finding(
    rule: Rule,
    found: Found,
    saved: pl.DataFrame,
    host: pl.DataFrame,
    facts: Facts,
    wall: _Wall,
    config: Config,
) -> Finding:
    events = found.events.cast(pl.UInt32).unique().sort()
    touched = facts.by_id.filter(pl.col("id").is_in(events.implode()))
    gpu_ns = total(touched["dur_ns"])
    gpu = _sums(saved)
    return Finding(
        code=rule.code,
        slug=rule.slug,
        title=rule.title,
        severity=config.severity.get(rule.code) or found.severity or rule.severity,
        message=found.message,
        fix=found.fix,
        calls=found.calls,
        gpu_ns=gpu_ns,
        gpu_saving_ns=Saving(gpu.low, gpu.expected, gpu.high, found.basis),
        wall_saving_ns=wall.saving(saved, host),
        where=found.where,
        confidence=found.confidence,
        evidence=found.evidence,
        events=tuple(events.to_list()),
        share_pct=100.0 * gpu_ns / facts.gpu_ns if facts.gpu_ns else None,
    )


def _capped(saved: pl.DataFrame, lengths: pl.DataFrame) -> pl.DataFrame:
    """No event gives back more than it took; one row an event, the largest claim."""
    if saved.is_empty():
        return saved
    limit = pl.col("dur_ns").fill_null(0)
    return (
        saved.group_by("id")
        .agg(pl.col(LEVELS).max())
        .join(lengths, on="id")
        .select("id", *(pl.min_horizontal(c, limit).alias(c) for c in LEVELS))
        .sort("id")
    )


def _together(edits: list[pl.DataFrame]) -> pl.DataFrame:
    """The edits of several findings as one: an event's time is given back once."""
    return (
        pl.concat([pl.DataFrame(schema=SAVED), *edits])
        .group_by("id")
        .agg(pl.col(LEVELS).max())
        .sort("id")
    )


def _sums(saved: pl.DataFrame) -> Saving:
    low, expected, high = (total(saved[c]) for c in LEVELS)
    return Saving(low, expected, high)


class _Wall:
    """Wall time gained by edits, by running the recorded schedule again."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @cached_property
    def host(self) -> pl.DataFrame:
        """``id`` and ``dur_ns`` of every op and call."""
        return pl.concat(
            [f.select("id", "dur_ns") for f in (self._trace.ops, self._trace.launches)]
        )

    @cached_property
    def _schedules(self) -> list[Schedule]:
        trace = self._trace
        frames = trace.frames
        return [
            Schedule(trace.ops, trace.launches, trace.kernels, PROFILER.scaled(f), frames)
            for f in DOUBT
        ]

    def saving(self, saved: pl.DataFrame, host: pl.DataFrame) -> Saving:
        """Low: the least of the doubtful schedules with the low edits; high: the most."""
        if saved.is_empty() and host.is_empty():
            return Saving()
        gains = [
            [s.gain(_edits(saved, level), _edits(host, level)) for level in LEVELS]
            for s in self._schedules
        ]
        low = min(g[0] for g in gains)
        high = max(g[2] for g in gains)
        expected = min(max(gains[len(gains) // 2][1], low), high)
        return Saving(low, expected, high, "recorded schedule run again without it")


def _edits(saved: pl.DataFrame, level: str) -> dict[int, int]:
    return dict(saved.filter(pl.col(level) != 0).select("id", level).iter_rows())


def _fold(
    findings: list[Finding], facts: Facts, config: Config
) -> tuple[list[Finding], list[Finding]]:
    """Part findings that give back too little to matter from the rest."""
    span = max(facts.window_ns or 0, facts.busy_ns)
    least = span * config.threshold_pct / 100
    kept: list[Finding] = []
    folded: list[Finding] = []
    for finding in findings:
        promises = finding.gpu_saving_ns.high or finding.wall_saving_ns.high
        small = promises and finding.severity != "note" and finding.rank_ns < least
        (folded if small else kept).append(finding)
    return kept, folded


def _order(finding: Finding) -> tuple[bool, int, int, str, str]:
    """Problems by time given back; then notes."""
    return (
        finding.severity == "note",
        -finding.rank_ns,
        SEVERITIES.index(finding.severity),
        finding.code,
        finding.message,
    )
