"""The device side: everything that ran on a stream, and the launch and op that started it."""

from __future__ import annotations

import polars as pl

from tracekit.io.raw import RawTrace
from tracekit.tables import activity as act
from tracekit.tables.host import by_external_id
from tracekit.tables.problems import Problems

CLOCK_FAULT_NS = 10**9
"""A device event this far before its own launch is on another clock, not merely skewed."""

SKEW_NS = 5_000
"""Device and host clocks of one trace agree to a few microseconds (CUPTI's own calibration)."""


def device_events(slices: pl.DataFrame, raw: RawTrace, problems: Problems) -> pl.DataFrame:
    """Kernels, copies and fills with their device arguments and usable durations."""
    frame = slices.filter(pl.col("activity").is_in(act.DEVICE_WORK))
    frame = frame.join(raw.table("device_args"), on="id", how="left").with_columns(
        pl.when(pl.col("stream").is_in([-1, 2**32 - 1]))
        .then(None)
        .otherwise(pl.col("stream"))
        .alias("stream"),
        # A producer without a device argument has the device as the process row.
        pl.coalesce(
            pl.when(pl.col("device") >= 0).then(pl.col("device")),
            pl.col("pid").cast(pl.String).str.extract(r"(?:^|\s)(\d{1,4})$").cast(pl.Int64),
        ).alias("device"),
    )
    return _impossible(frame, slices, raw, problems)


def _impossible(
    frame: pl.DataFrame, slices: pl.DataFrame, raw: RawTrace, problems: Problems
) -> pl.DataFrame:
    """Clip durations that run far past both the next start on their stream and the recording.

    Overlap on one stream is legal (programmatic dependent launch, branches of a CUDA graph), so an
    event is only called impossible when it also outlasts everything else that was recorded.
    """
    ends = slices.filter(pl.col("activity") != act.OVERHEAD, pl.col("dur_ns").is_not_null())
    marker = (
        raw.table("events")
        .filter(pl.col("name").cast(pl.String) == "Record Window End")["ts_ns"]
        .drop_nulls()
    )
    tops = pl.concat([ends["end_ns"].top_k(64), marker]).sort(descending=True).to_list()
    frame = frame.sort("ts_ns", "id", nulls_last=True).with_columns(
        pl.col("ts_ns").shift(-1).over("rank", "device", "stream").alias("next_ns")
    )
    suspects = frame.filter(
        pl.col("end_ns") - pl.col("next_ns") > 0.5 * pl.col("dur_ns"), pl.col("dur_ns") > 0
    ).filter(pl.col("end_ns") >= (tops[-1] if tops else 0))
    bad = []
    for id_, end, dur in suspects.select("id", "end_ns", "dur_ns").iter_rows():
        others = [t for t in tops if t != end]
        if not others or end - max(others) > 0.5 * dur:
            bad.append(id_)
    ids = pl.Series("id", bad, dtype=pl.UInt32)
    problems.add(
        "impossible_duration",
        ids,
        "device events outlast the recording and overlap the next on their stream; "
        "cut at the next start",
    )
    is_bad = pl.col("id").is_in(ids.implode())
    return frame.with_columns(
        pl.when(is_bad)
        .then(pl.col("next_ns") - pl.col("ts_ns"))
        .otherwise(pl.col("dur_ns"))
        .alias("dur_ns"),
        pl.when(is_bad).then(pl.col("next_ns")).otherwise(pl.col("end_ns")).alias("end_ns"),
    ).drop("next_ns")


def link(
    events: pl.DataFrame, calls: pl.DataFrame, op_frame: pl.DataFrame, problems: Problems
) -> pl.DataFrame:
    """Add ``launch``, ``op``, ``link_evidence``, ``step`` and ``queue_delay_ns`` to device events."""
    linked = _by_correlation(events, calls)
    details = calls.select(
        pl.col("id").alias("launch"), pl.col("ts_ns").alias("launch_ts"), "op", "step",
        pl.col("kind").alias("launch_kind"),
    )  # fmt: skip
    linked = linked.join(details, on="launch", how="left")
    cpu_ops = op_frame.filter(pl.col("activity") == act.CPU_OP)
    alone = linked.filter(pl.col("launch").is_null())
    owned = by_external_id(
        alone.drop("op").with_columns(pl.lit(None, pl.UInt32).alias("op")), cpu_ops
    )
    op_steps = cpu_ops.select(pl.col("id").alias("op"), pl.col("step").alias("op_step"))
    owned = (
        owned.join(op_steps, on="op", how="left")
        .with_columns(
            pl.col("op_step").alias("step"),
            pl.when(pl.col("op").is_not_null()).then(pl.lit("external_id")).alias("link_evidence"),
        )
        .drop("op_step", "op_evidence")
    )
    tied = linked.filter(pl.col("launch").is_not_null()).with_columns(
        pl.lit("correlation").alias("link_evidence")
    )
    result = pl.concat([tied, owned.select(tied.columns)])
    _warn(result, calls, problems)
    delay = pl.col("ts_ns") - pl.col("launch_ts")
    result = result.with_columns(
        pl.when(delay > -CLOCK_FAULT_NS).then(delay).alias("queue_delay_ns")
    )
    return result.drop("launch_ts", "launch_kind").sort("ts_ns", "id", nulls_last=True)


def _by_correlation(events: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Add ``launch``: the host call of the rank with the event's correlation id.

    Several host records of one id: nested ones (a driver call inside the runtime call, XPU) are one
    launch, the outermost; ids used again later (32-bit wrap) go to the last call before the event.
    """
    keys = ["rank", "correlation"]
    tagged = calls.drop_nulls("correlation").sort(
        "ts_ns", pl.col("end_ns"), "id", descending=[False, True, False]
    )
    tagged = tagged.with_columns(
        (pl.col("ts_ns") < pl.col("end_ns").cum_max().shift(1).over([*keys, "thread"]))
        .fill_null(value=False)
        .alias("inner")
    ).filter(~pl.col("inner"))
    single = tagged.unique(keys, keep="none").select(*keys, pl.col("id").alias("launch"))
    many = tagged.join(single, on=keys, how="anti").select(
        *keys, "ts_ns", pl.col("id").alias("launch")
    )
    joined = events.join(single, on=keys, how="left")
    reused = joined.join(many.select(keys).unique(), on=keys, how="semi")
    if reused.is_empty():
        return joined
    timed = reused.drop("launch").filter(pl.col("ts_ns").is_not_null()).sort("ts_ns")
    near = timed.join_asof(
        many.sort("ts_ns"), on="ts_ns", by=keys, strategy="backward", check_sortedness=False
    )
    rest = joined.join(near.select("id"), on="id", how="anti")
    return pl.concat([rest, near.select(rest.columns)])


def _warn(linked: pl.DataFrame, calls: pl.DataFrame, problems: Problems) -> None:
    """Warnings about links: lost on either side, doubled, or against the arrow of time."""
    kernels = linked.filter(pl.col("activity") == act.KERNEL)
    if calls.height:  # else launches were not recorded at all, which is no loss
        problems.add(
            "unlinked_kernel",
            linked.filter(pl.col("launch").is_null())["id"],
            "device events have no launch in the trace (started before it, or the launch was "
            "lost); their time counts for the device, not for an op",
        )
    shared = kernels.filter(pl.col("launch_kind") == "kernel").filter(
        pl.col("id").count().over("launch") > 1
    )
    problems.add(
        "duplicate_correlation",
        shared["id"],
        "kernels share the correlation id of one launch that can start only one",
    )
    started = linked["launch"].drop_nulls().unique()
    lost = calls.filter(
        pl.col("kind").is_in(["kernel", "graph"]), ~pl.col("id").is_in(started.implode()),
        ~pl.col("correlation").is_in(linked["correlation"].drop_nulls().unique().implode()),
    )  # fmt: skip
    problems.add(
        "launch_without_kernel",
        lost["id"],
        "launches have no kernel in the trace (dropped by the profiler, or still queued at its end)",
    )
    delay = linked.select("id", (pl.col("ts_ns") - pl.col("launch_ts")).alias("delay")).drop_nulls()
    foreign = delay.filter(pl.col("delay").abs() > CLOCK_FAULT_NS * 60)
    early = delay.filter(pl.col("delay") < -SKEW_NS, pl.col("delay") >= -CLOCK_FAULT_NS)
    before = delay.filter(pl.col("delay") < -CLOCK_FAULT_NS)
    mixed = pl.concat([foreign, before])["id"].unique()
    problems.add(
        "mixed_timebase",
        mixed,
        "device and host events are on different clocks; sums hold, but spans, idle time and "
        "launch delays do not",
    )
    problems.add(
        "kernel_before_launch",
        early["id"],
        "device events start before their own launch: the two clocks are skewed",
    )


def busy_ns(frame: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Union of the intervals of ``frame`` (``ts_ns``, ``dur_ns``) per ``by``: columns by, busy_ns.

    >>> f = pl.DataFrame({"device": [0, 0, 0], "ts_ns": [0, 5, 30], "dur_ns": [10, 10, 1]})
    >>> busy_ns(f, ["device"]).row(0)
    (0, 16)
    """
    timed = (
        frame.filter(pl.col("ts_ns").is_not_null(), pl.col("dur_ns").is_not_null())
        .select(*by, "ts_ns", (pl.col("ts_ns") + pl.col("dur_ns")).alias("end"))
        .sort("ts_ns", "end")
    )
    reach = pl.col("end").cum_max().shift(1).over(by) if by else pl.col("end").cum_max().shift(1)
    start = pl.max_horizontal("ts_ns", reach.fill_null(pl.col("ts_ns")))
    gain = timed.with_columns((pl.col("end") - start).clip(0).alias("busy_ns"))
    if not by:
        return gain.select(pl.col("busy_ns").sum())
    return gain.group_by(by).agg(pl.col("busy_ns").sum()).sort(by)


def exposed_ns(some: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """Per ``id`` of ``some``: the part of its time in which no other work of its device ran.

    ``others`` is all device work; events of ``some`` do not cover each other.
    """
    cover = (
        others.join(some.select("id"), on="id", how="anti")
        .filter(pl.col("ts_ns").is_not_null(), pl.col("dur_ns") > 0)
        .select("rank", "device", "ts_ns", (pl.col("ts_ns") + pl.col("dur_ns")).alias("end"))
    )
    # Merge the cover into disjoint intervals, with the covered time up to each start.
    keys = ["rank", "device"]
    reach = pl.col("end").cum_max().shift(1).over(keys)
    merged = (
        cover.sort("ts_ns", "end")
        .with_columns(
            (pl.col("ts_ns") > reach).fill_null(value=True).cum_sum().over(keys).alias("run")
        )
        .group_by(*keys, "run")
        .agg(pl.col("ts_ns").min(), pl.col("end").max())
        .sort("ts_ns")
        .with_columns((pl.col("end") - pl.col("ts_ns")).cum_sum().over(keys).alias("upto"))
    )
    timed = some.filter(pl.col("ts_ns").is_not_null(), pl.col("dur_ns").is_not_null())

    def covered_until(moment: pl.Expr) -> pl.DataFrame:
        """Covered time of the device before ``moment``, per id."""
        at = timed.select("id", *keys, moment.alias("ts_ns")).sort("ts_ns")
        near = at.join_asof(
            merged.select(*keys, "ts_ns", "end", "upto"),
            on="ts_ns",
            by=keys,
            check_sortedness=False,
        )
        return near.select(
            "id",
            (pl.col("upto") - (pl.col("end") - pl.col("ts_ns")).clip(0)).fill_null(0).alias("c"),
        )

    start = covered_until(pl.col("ts_ns"))
    end = covered_until(pl.col("ts_ns") + pl.col("dur_ns")).rename({"c": "c_end"})
    both = timed.select("id", "dur_ns").join(start, on="id").join(end, on="id")
    return both.select(
        "id", (pl.col("dur_ns") - (pl.col("c_end") - pl.col("c"))).clip(0).alias("exposed_ns")
    )
