"""What a rule sees: the trace's tables, its options, and facts that several rules need."""

from __future__ import annotations

from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import polars as pl

from tracekit.kernels.devices import Device
from tracekit.report.model import Where
from tracekit.tables.device import busy_ns

if TYPE_CHECKING:
    from tracekit.trace import Trace

NEEDS = {
    "gpu": ("the trace has no device activity", "activities=[ProfilerActivity.CUDA, …]"),
    "ops": ("the trace has no CPU ops", "activities=[ProfilerActivity.CPU, …]"),
    "links": ("no device event is tied to a launch", "activities for CPU and CUDA together"),
    "shapes": ("input shapes were not recorded", "record_shapes=True"),
    "stacks": ("Python stacks were not recorded", "with_stack=True"),
    "steps": ("no steps are marked", "prof.step() after each iteration"),
    "memory": ("allocator events were not recorded", "profile_memory=True"),
    "ranks": ("only one rank is in the trace", "one trace a rank, diagnosed together"),
}
"""Why a rule could not look, and what records what it needs."""


class Facts:
    """Facts of one trace, worked out once and shared by all rules."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    @cached_property
    def met(self) -> frozenset[str]:
        """Which of :data:`NEEDS` the trace meets."""
        trace = self.trace
        kernels, ops = trace.kernels, trace.ops
        cpu_ops = ops.filter(pl.col("kind") == "cpu_op")
        have = {
            "gpu": kernels.height > 0,
            "ops": cpu_ops.height > 0,
            "links": kernels["link_evidence"].null_count() < kernels.height,
            "shapes": cpu_ops["input_dims"].null_count() < cpu_ops.height,
            "stacks": ops["source"].null_count() < ops.height,
            "steps": trace.steps.height > 0,
            "memory": trace.memory.height > 0,
            "ranks": ops["rank"].n_unique() > 1,
        }
        return frozenset(name for name, yes in have.items() if yes)

    @cached_property
    def gpu_ns(self) -> int:
        """Device time of all events, unlinked ones included."""
        return int(self.trace.kernels["dur_ns"].sum() or 0)

    @cached_property
    def window_ns(self) -> int | None:
        """Wall time of the recorded work; ``None`` where nothing was recorded."""
        span = self.trace.span_ns
        return span[1] - span[0] if span else None

    @cached_property
    def busy_ns(self) -> int:
        """Time in which a device did anything, summed over devices."""
        return int(busy_ns(self.trace.kernels, ["rank", "device"])["busy_ns"].sum() or 0)

    @cached_property
    def by_id(self) -> pl.DataFrame:
        """``id`` and ``dur_ns`` of every device event."""
        return self.trace.kernels.select("id", "dur_ns")

    @cached_property
    def device(self) -> Device | None:
        """Data sheet of the device that did most of the work."""
        sheets = self.trace.devices
        work = (
            self.trace.kernels.drop_nulls("device")
            .group_by("device")
            .agg(pl.col("dur_ns").sum())
            .sort("dur_ns", "device", descending=[True, False])
        )
        for index in work["device"].to_list():
            if index in sheets:
                return sheets[index]
        return next(iter(sheets.values()), None)


class Context:
    """One rule's view of a trace: ``ctx.kernels``, ``ctx.ops`` … and ``ctx.options.name``."""

    def __init__(self, facts: Facts, options: dict[str, Any]) -> None:
        self.facts = facts
        self.trace = facts.trace
        self.options = SimpleNamespace(**options)

    @property
    def kernels(self) -> pl.DataFrame:
        """:data:`tracekit.schema.KERNELS`."""
        return self.trace.kernels

    @property
    def ops(self) -> pl.DataFrame:
        """:data:`tracekit.schema.OPS`."""
        return self.trace.ops

    @property
    def launches(self) -> pl.DataFrame:
        """:data:`tracekit.schema.LAUNCHES`."""
        return self.trace.launches

    @property
    def attention(self) -> pl.DataFrame:
        """:data:`tracekit.schema.ATTENTION`."""
        return self.trace.attention

    @property
    def attention_events(self) -> pl.DataFrame:
        """:data:`tracekit.schema.ATTENTION_EVENTS` with the columns of the device events."""
        return self.trace.attention_events.join(self.trace.kernels, on="id")

    def where(self, ops: pl.Series | pl.DataFrame) -> Where:
        """Where these ops (ids) lie: the place with most device time, the range of steps."""
        ids = ops if isinstance(ops, pl.Series) else ops["op"]
        frame = self.ops.filter(pl.col("id").is_in(ids.drop_nulls().unique().implode()))
        return place(frame)


def place(frame: pl.DataFrame) -> Where:
    """The :class:`Where` of some ops: most common by device time, then by name."""
    if frame.is_empty():
        return Where()

    def most(column: str) -> str:
        best = (
            frame.select(pl.col(column).cast(pl.String).alias("v"), "gpu_ns", "dur_ns")
            .drop_nulls("v")
            .group_by("v")
            .agg(pl.col("gpu_ns").sum(), pl.col("dur_ns").sum())
            .sort("gpu_ns", "dur_ns", "v", descending=[True, True, False], nulls_last=True)
        )
        if best.is_empty():
            return ""
        others = best.height - 1
        return str(best["v"][0]) + (f" (+{others} more)" if others else "")

    return Where(most("name"), most("module"), most("source"), steps_text(frame["step"]))


def steps_text(steps: pl.Series) -> str:
    """A range of steps: ``2``, ``2–4``, ``2, 5``.

    >>> steps_text(pl.Series([4, 2, 3, None])), steps_text(pl.Series([2, 5]))
    ('2–4', '2, 5')
    """
    numbers = steps.drop_nulls().unique().sort().to_list()
    if not numbers:
        return ""
    if len(numbers) > 1 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]}–{numbers[-1]}"
    text = ", ".join(str(n) for n in numbers[:4])
    return text + (f" … {numbers[-1]}" if len(numbers) > 4 else "")
