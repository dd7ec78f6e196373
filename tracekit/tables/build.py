"""From a raw trace to its tables, in one pass."""

from __future__ import annotations

from functools import cached_property

import polars as pl

from tracekit import schema
from tracekit.io.raw import RawTrace
from tracekit.kernels.devices import Device, find_device
from tracekit.tables import activity as act
from tracekit.tables import classes, device, host, links
from tracekit.tables.problems import Problems
from tracekit.tables.quality import Quality
from tracekit.tables.slices import slices
from tracekit.tables.where import places


class Tables:
    """All tables of one raw trace, each made when first asked for."""

    def __init__(self, raw: RawTrace) -> None:
        self.raw = raw
        self._problems = Problems()

    @cached_property
    def slices(self) -> pl.DataFrame:
        """Every event that lasts."""
        return slices(self.raw, self._problems)

    @cached_property
    def _marks(self) -> pl.DataFrame:
        return host.steps(self.slices)

    @cached_property
    def _host_ops(self) -> pl.DataFrame:
        return host.ops(self.slices, self._marks, self.raw)

    @cached_property
    def _calls(self) -> pl.DataFrame:
        return host.calls(self.slices, self._host_ops, self._marks)

    @cached_property
    def _device(self) -> pl.DataFrame:
        events = device.device_events(self.slices, self.raw, self._problems)
        return device.link(events, self._calls, self._host_ops, self._problems)

    @cached_property
    def devices(self) -> dict[int, Device]:
        """Data sheet of each device index, from the trace's own properties and our tables."""
        found: dict[int, Device] = {}
        listed = self.raw.metadata.get("deviceProperties")
        for number, properties in enumerate(listed if isinstance(listed, list) else []):
            if not isinstance(properties, dict):
                continue
            index = properties.get("id", number)
            sheet = find_device(str(properties.get("name", "")), properties)
            if sheet is not None and isinstance(index, int):
                found[index] = sheet
        return found

    @cached_property
    def kernels(self) -> pl.DataFrame:
        """:data:`tracekit.schema.KERNELS`."""
        return schema.KERNELS.conform(
            classes.add_classes(self._device, self._host_ops, self.devices).sort("id")
        )

    @cached_property
    def ops(self) -> pl.DataFrame:
        """:data:`tracekit.schema.OPS`."""
        frame = self._host_ops
        time = links.device_time(frame, self._device)
        frame = (
            frame.join(time, left_on="id", right_on="op", how="left")
            .join(links.forward_of(frame), on="id", how="left")
            .join(places(self.slices, frame), on="id", how="left")
            .with_columns(pl.col(c).fill_null(0) for c in ("gpu_ns", "self_gpu_ns", "gpu_events"))
        )
        return schema.OPS.conform(frame.sort("id"))

    @cached_property
    def launches(self) -> pl.DataFrame:
        """:data:`tracekit.schema.LAUNCHES`."""
        started = self._device.group_by("launch").agg(pl.len().cast(pl.Int64).alias("gpu_events"))
        frame = self._calls.join(started, left_on="id", right_on="launch", how="left")
        return schema.LAUNCHES.conform(
            frame.with_columns(pl.col("gpu_events").fill_null(0)).sort("id")
        )

    @cached_property
    def steps(self) -> pl.DataFrame:
        """:data:`tracekit.schema.STEPS`."""
        work = self._device.drop_nulls("step")
        sums = work.group_by("rank", "step").agg(
            pl.col("dur_ns").sum().alias("gpu_ns"), pl.len().cast(pl.Int64).alias("gpu_events")
        )
        busy = (
            device.busy_ns(work, ["rank", "step", "device"])
            .group_by("rank", "step")
            .agg(pl.col("busy_ns").sum().alias("gpu_busy_ns"))
        )
        frame = self._marks.join(sums, on=["rank", "step"], how="left").join(
            busy, on=["rank", "step"], how="left"
        )
        return schema.STEPS.conform(
            frame.with_columns(
                pl.col(c).fill_null(0) for c in ("gpu_ns", "gpu_busy_ns", "gpu_events")
            ).sort("rank", "ts_ns", "id")
        )

    @cached_property
    def links(self) -> pl.DataFrame:
        """:data:`tracekit.schema.LINKS`."""
        return links.edges(self.ops, self.launches, self.kernels)

    @cached_property
    def frames(self) -> pl.DataFrame:
        """:data:`tracekit.schema.FRAMES`."""
        return host.frames(self.slices)

    @cached_property
    def memory(self) -> pl.DataFrame:
        """:data:`tracekit.schema.MEMORY`."""
        return memory(self.raw, self.slices, self._host_ops)

    @cached_property
    def collectives(self) -> pl.DataFrame:
        """:data:`tracekit.schema.COLLECTIVES`."""
        return collectives(self.raw, self._host_ops, self.kernels)

    @cached_property
    def span_ns(self) -> tuple[int, int] | None:
        """First start and last end of measured work; markers, overhead and annotations of the
        device row do not stretch it. ``None`` for a trace without any.
        """
        timed = self.slices.filter(
            pl.col("activity").is_in((act.CPU_OP, act.ANNOTATION, *act.CALLS, *act.DEVICE_WORK)),
            pl.col("ts_ns").is_not_null(),
        )
        ends = timed.join(
            self._device.select("id", pl.col("end_ns").alias("cut")), on="id", how="left"
        )
        ends = ends.filter(pl.col("dur_ns").is_not_null())
        if "mixed_timebase" in self.quality.codes:
            ends = ends.filter(~pl.col("activity").is_in(act.DEVICE_WORK))
        if ends.is_empty():
            return None
        low, high = ends.select(
            pl.col("ts_ns").min(), pl.coalesce("cut", "end_ns").max().alias("e")
        ).row(0)
        return low, high

    @cached_property
    def quality(self) -> Quality:
        """What was lost, what is missing, and counts."""
        events = self._device
        marks = self.steps
        problems = self._problems
        if self.slices.is_empty():
            problems.note("empty_trace", 1, "the trace holds no event that lasts")
        elif events.is_empty():
            problems.note("no_gpu_activity", 1, "no device activity was recorded: CPU-only")
        if marks["gpu_events"].sum():
            # A step in which no op starts has nothing to launch.
            busy = self._host_ops.filter(pl.col("activity") == act.CPU_OP)["step"].drop_nulls()
            problems.add(
                "step_without_gpu",
                marks.filter(pl.col("gpu_events") == 0, pl.col("step").is_in(busy.implode()))["id"],
                "steps without any device work while others have some",
            )
        linked = events.filter(pl.col("link_evidence").is_not_null())
        ops = self._host_ops
        counts = {
            "entries": self.raw.entries,
            "events": self.raw.table("events").height,
            "slices": self.slices.height,
            "ops": ops.height,
            "launches": self._calls.filter(pl.col("kind").is_in(STARTERS)).height,
            "device_events": events.height,
            "kernels": events.filter(pl.col("activity") == act.KERNEL).height,
            "linked": linked.height,
            "gpu_ns": int(events["dur_ns"].sum() or 0),
            "unlinked_ns": int(
                events.filter(pl.col("link_evidence").is_null())["dur_ns"].sum() or 0
            ),
        }
        warnings = pl.concat([self.raw.losses, problems.frame()]).sort(
            "code", "offset", "event", nulls_last=True
        )
        return Quality(counts, warnings, self._missing())

    def _missing(self) -> tuple[tuple[str, str], ...]:
        """What was not recorded, and the profiler option that records it."""
        ops = self._host_ops.filter(pl.col("activity") == act.CPU_OP)
        out = []
        if self._device.height and self._calls.is_empty():
            out.append(("launches", "activities for CPU and CUDA together"))
        if ops.height and ops["input_dims"].null_count() == ops.height:
            out.append(("input shapes", "record_shapes=True"))
        stacks = self.slices.filter(pl.col("activity") == act.PYTHON).height
        if ops.height and not stacks and ops["call_stack"].null_count() == ops.height:
            out.append(("Python stacks", "with_stack=True"))
        return tuple(out)


STARTERS = ("kernel", "graph", "memcpy", "memset")
"""Kinds of calls that start device work."""


def memory(raw: RawTrace, slice_frame: pl.DataFrame, ops: pl.DataFrame) -> pl.DataFrame:
    """Allocator events with the op they happened in."""
    args = raw.table("memory_args")
    if args.is_empty():
        return schema.MEMORY.empty()
    events = raw.table("events").filter(pl.col("ts_ns").is_not_null()).join(args, on="id")
    points = events.with_columns(
        pl.concat_str("pid", "tid", separator="/", ignore_nulls=True)
        .cast(pl.Categorical)
        .alias("thread"),
        pl.lit(act.OTHER).alias("activity"),
        (pl.col("ts_ns")).alias("end_ns"),
    )
    ranges = slice_frame.filter(pl.col("activity").is_in(act.HOST_RANGES))
    shared = ["id", "activity", "name", "thread", "ts_ns", "end_ns"]
    both = pl.concat([ranges, points.select(shared)], how="diagonal")
    places_ = host.nested(both, (*act.HOST_RANGES, act.OTHER))
    owner = host.nearest(
        places_.filter(pl.col("activity") == act.OTHER),
        ops.filter(pl.col("activity") == act.CPU_OP)["id"],
        parents=places_.select("id", "parent"),
    ).rename({"ancestor": "op"})
    return schema.MEMORY.conform(points.join(owner, on="id", how="left").sort("id"))


def collectives(raw: RawTrace, ops: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """Collective calls: the ``record_param_comms`` op (or, without one, the device event)."""
    args = raw.table("collective_args")
    work = kernels.filter(pl.col("kind").cast(pl.String) == "collective")
    if args.is_empty() and work.is_empty():
        return schema.COLLECTIVES.empty()
    exposed = device.exposed_ns(work, kernels)
    work = work.join(exposed, on="id", how="left")
    callers = ops.select("id", "ts_ns", "step").join(args, on="id")
    # The kernel is launched inside record_param_comms, or carries the arguments itself.
    inside = work.filter(pl.col("op").is_in(callers["id"].implode()))
    sums = inside.group_by("op").agg(
        pl.col("dur_ns").sum().alias("gpu_ns"), pl.col("exposed_ns").sum()
    )
    by_op = callers.join(sums, left_on="id", right_on="op", how="left")
    alone = (
        work.filter(~pl.col("id").is_in(inside["id"].implode()))
        .select("id", "ts_ns", "step", pl.col("dur_ns").alias("gpu_ns"), "exposed_ns")
        .join(args, on="id", how="left")
    )
    both = pl.concat([by_op, alone.select(by_op.columns)])
    return schema.COLLECTIVES.conform(
        both.filter(pl.col("ts_ns").is_not_null())
        .with_columns(pl.col("gpu_ns").fill_null(0), pl.col("exposed_ns").fill_null(0))
        .sort("id")
    )
