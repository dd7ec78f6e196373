"""What the wall clock gains when events get shorter: the recorded schedule, run again with edits.

The model: one host clock issues calls in recorded order; a device event starts when its call has
been issued, the one before it on its stream has ended, and whatever else it visibly waited for; a
blocking call returns when the device event it waited for has ended. Edits shorten device events or
host work; everything behind moves up as far as these arrows allow.

Host time recorded under a profiler is longer than without it. :class:`Overhead` says by how much;
the schedule is run with that taken off, both with and without the edits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

BACK_TO_BACK_NS = 3_000
"""A device event that starts this soon after another ended was waiting for it."""

LAUNCH_LATENCY_NS = 4_000
"""Least time from a launch call to the start of its kernel on an idle stream (4 to 6 µs, H200)."""

SYNC_COST_NS = 2_000
"""What a blocking call costs when there is nothing to wait for."""


@dataclass(frozen=True)
class Overhead:
    """Host time the profiler adds to each recorded op, call and Python frame, in ns.

    >>> Overhead(1000, 500, 300).scaled(2).call_ns
    1000
    """

    op_ns: int = 0
    call_ns: int = 0
    frame_ns: int = 0

    def scaled(self, factor: float) -> Overhead:
        """The same times ``factor``."""
        return Overhead(*(round(n * factor) for n in (self.op_ns, self.call_ns, self.frame_ns)))


class _Call(NamedTuple):
    """A call that starts device work or waits for some."""

    id: int
    ts: int
    end: int
    tax: int
    """Profiler overhead between the call before and this one."""
    work: int
    """Index of the device event it waits for, or -1."""


class _Work(NamedTuple):
    """A device event, in order of start."""

    id: int
    start: int
    length: int
    stream: int
    launch: int | None
    issued: int | None
    """When its call was made."""
    before: int
    """Index of the device event that ended last before it started and it may have waited for."""


class Schedule:
    """The recorded schedule, ready to be run again.

    >>> import tracekit
    >>> t = tracekit.load("fixtures/attention/sdpa_math.json.gz")
    >>> schedule = Schedule(t.ops, t.launches, t.kernels)
    >>> schedule.gain({}, {})
    0
    >>> slow = t.kernels.filter(pl.col("op").is_not_null()).sort("dur_ns")[-1]
    >>> schedule.gain({slow["id"][0]: slow["dur_ns"][0]}, {}) >= slow["dur_ns"][0]
    True
    """

    def __init__(
        self,
        ops: pl.DataFrame,
        launches: pl.DataFrame,
        kernels: pl.DataFrame,
        overhead: Overhead | None = None,
        frames: pl.DataFrame | None = None,
    ) -> None:
        timed = pl.col("ts_ns").is_not_null() & pl.col("dur_ns").is_not_null()
        end = (pl.col("ts_ns") + pl.col("dur_ns")).alias("end")
        self._host = pl.concat(
            [f.filter(timed).select("id", "ts_ns", "dur_ns", end) for f in (ops, launches)]
        )
        self._taxes = _taxes(ops, launches, frames, overhead or Overhead())
        work = kernels.filter(timed).with_columns(end).sort("ts_ns", "id")
        self._work = _device_order(work, launches)
        self._calls = self._call_order(launches.filter(timed), work)
        self._recorded = self.run({}, {})

    def gain(self, saved: Mapping[int, int], host_saved: Mapping[int, int]) -> int:
        """How much sooner the window ends with these edits, in ns; never below 0.

        ``saved`` is time taken off device events, ``host_saved`` recorded time taken off ops and
        calls, both by id. A device event that is taken off whole takes its launch gap along.
        """
        return max(self._recorded - self.run(saved, host_saved), 0)

    def run(self, saved: Mapping[int, int], host_saved: Mapping[int, int]) -> int:
        """When the edited window ends, in ns on the trace's clock."""
        device = _Device(self._work, saved)
        edits = iter(self._edits(host_saved))
        edit = next(edits, None)
        gain = 0
        end = 0
        for call in self._calls:
            gain += call.tax
            while edit is not None and edit[0] <= call.ts:
                gain += edit[1]
                edit = next(edits, None)
            if call.work < 0:
                device.gain[call.id] = gain
            else:
                # The call itself may have started the copy it waits for.
                device.gain[call.id] = gain
                lag = call.end - self._work[call.work].start - self._work[call.work].length
                ready = device.end_of(call.work) + lag
                gain = call.end - max(call.ts - gain + SYNC_COST_NS, ready)
            end = max(end, call.end - gain)
        return max(end, device.finish())

    def _edits(self, host_saved: Mapping[int, int]) -> list[tuple[int, int]]:
        """When host time is saved and how much, in order, without the profiler's part of it."""
        if not host_saved:
            return []
        wanted = pl.DataFrame(
            {"id": list(host_saved), "saved": list(host_saved.values())},
            schema={"id": pl.UInt32, "saved": pl.Int64},
        )
        places = self._host.join(wanted, on="id")
        spent = self._spent(places, "end") - self._spent(places, "ts_ns")
        rows = places.with_columns(spent.alias("spent")).select(
            "end",
            (
                pl.col("saved") * (1 - pl.col("spent") / pl.col("dur_ns")).clip(0, 1).fill_nan(0)
            ).round().cast(pl.Int64),
        )  # fmt: skip
        return rows.sort("end", "saved").rows()

    def _spent(self, frame: pl.DataFrame, column: str) -> pl.Series:
        """Profiler overhead up to each moment of ``column``, in the order of ``frame``."""
        if self._taxes.is_empty():
            return pl.Series([0] * frame.height, dtype=pl.Int64)
        at = frame.select(pl.col(column).alias("ts_ns")).with_row_index("row").sort("ts_ns")
        near = at.join_asof(self._taxes, on="ts_ns", check_sortedness=False).sort("row")
        return near["cost"].fill_null(0)

    def _call_order(self, launches: pl.DataFrame, work: pl.DataFrame) -> list[_Call]:
        """Calls that start or wait for device work, in order of time."""
        chosen = launches.filter((pl.col("gpu_events") > 0) | (pl.col("kind") == "sync"))
        chosen = chosen.with_columns(end=pl.col("ts_ns") + pl.col("dur_ns")).sort("ts_ns", "id")
        chosen = chosen.with_columns(spent=self._spent(chosen, "ts_ns"))
        ended = work.select("rank", "end", pl.col("launch").alias("starter")).with_row_index("work")
        waits = chosen.sort("end").join_asof(
            ended.sort("end", "work"), on="end", by="rank", check_sortedness=False, coalesce=False
        )
        # A copy from or to pageable memory returns only when the copy is done.
        blocks = (pl.col("end_right") >= pl.col("ts_ns")) & (
            (pl.col("kind") == "sync")
            | ((pl.col("kind") == "memcpy") & (pl.col("starter") == pl.col("id")))
        )
        return [
            _Call(*row)
            for row in waits.sort("ts_ns", "id")
            .select(
                "id", "ts_ns", "end",
                pl.col("spent").diff().fill_null(pl.col("spent")),
                pl.when(blocks).then(pl.col("work").cast(pl.Int64)).otherwise(-1).fill_null(-1),
            )
            .iter_rows()
        ]  # fmt: skip


def _taxes(
    ops: pl.DataFrame, launches: pl.DataFrame, frames: pl.DataFrame | None, overhead: Overhead
) -> pl.DataFrame:
    """``ts_ns`` and ``cost``: the profiler's overhead up to each recorded host event."""
    costs = [
        (ops.filter(pl.col("kind") == "cpu_op"), overhead.op_ns),
        (launches, overhead.call_ns),
    ]
    if frames is not None:
        costs.append((frames, overhead.frame_ns))
    parts = [f.select("ts_ns", cost=pl.lit(c, pl.Int64)) for f, c in costs if c]
    if not parts:
        return pl.DataFrame(schema={"ts_ns": pl.Int64, "cost": pl.Int64})
    return pl.concat(parts).sort("ts_ns").with_columns(pl.col("cost").cum_sum())


def _device_order(work: pl.DataFrame, launches: pl.DataFrame) -> list[_Work]:
    """Device events in order of start, with what each visibly waited for."""
    issued = launches.select(pl.col("id").alias("launch"), pl.col("ts_ns").alias("issued"))
    frame = work.join(issued, on="launch", how="left", maintain_order="left").with_row_index("row")
    ended = frame.select("rank", "end", pl.col("row").alias("ended")).sort("end", "ended")
    frame = frame.with_columns(pl.col("ts_ns").alias("at")).join_asof(
        ended, left_on="at", right_on="end", by="rank", coalesce=False, check_sortedness=False
    )
    near = (pl.col("at") - pl.col("end_right") <= BACK_TO_BACK_NS) & (
        pl.col("ended") < pl.col("row")
    )
    rows = frame.sort("row").select(
        "id", "ts_ns", "dur_ns",
        pl.struct("rank", "device", "stream").rank("dense").cast(pl.Int64),
        "launch", "issued",
        pl.when(near).then(pl.col("ended").cast(pl.Int64)).otherwise(-1).fill_null(-1),
    )  # fmt: skip
    return [_Work(*row) for row in rows.iter_rows()]


class _Device:
    """The device side of one run: places events in recorded order as far as they are asked for."""

    def __init__(self, work: list[_Work], saved: Mapping[int, int]) -> None:
        self.gain: dict[int, int] = {}
        """By call: how much earlier it is made."""
        self._work = work
        self._saved = saved
        self._ends: list[int] = []
        self._streams: dict[int, tuple[int, int]] = {}
        """By stream: recorded and new end of its last event."""
        self._latest = 0

    def end_of(self, index: int) -> int:
        """New end of a device event."""
        while len(self._ends) <= index:
            self._place(self._work[len(self._ends)])
        return self._ends[index]

    def finish(self) -> int:
        """New end of all device work."""
        if self._work:
            self.end_of(len(self._work) - 1)
        return self._latest

    def _place(self, event: _Work) -> None:
        gain = self.gain.get(event.launch, 0) if event.launch is not None else 0
        old, new = self._streams.get(event.stream, (None, None))
        begin = event.start - gain
        queued = old is not None and event.start - old <= BACK_TO_BACK_NS
        if event.before >= 0 or queued:
            # It waited for device work, so the host could have been later without harm.
            issued = event.start if event.issued is None else event.issued + LAUNCH_LATENCY_NS
            begin = min(event.start, issued) - gain
        if event.before >= 0:
            other = self._work[event.before]
            moved = other.start + other.length - self._ends[event.before]
            begin = max(begin, event.start - moved)
        if old is not None and new is not None:
            begin = max(begin, new + max(event.start - old, 0) if queued else new)
        left = max(event.length - self._saved.get(event.id, 0), 0)
        end = begin + left
        if left == 0 and event.length and new is not None:
            end = new
        self._ends.append(end)
        self._streams[event.stream] = (max(event.start + event.length, old or 0), end)
        self._latest = max(self._latest, end)
