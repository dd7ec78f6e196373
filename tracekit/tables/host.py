"""The host side: ops nested by time, Python frames, steps, and the calls that start device work."""

from __future__ import annotations

import polars as pl

from tracekit import schema
from tracekit.io.raw import RawTrace
from tracekit.tables import activity as act
from tracekit.tables.nest import nest

_OUTSIDE_FIRST = (act.ANNOTATION, act.PYTHON, act.CPU_OP, act.RUNTIME, act.DRIVER)
STEP = r"^ProfilerStep#(\d{1,15})$"


def nested(slices: pl.DataFrame, activities: tuple[str, ...]) -> pl.DataFrame:
    """Slices of these activities with ``parent``, ``depth`` and ``self_ns`` by time on a thread.

    Of slices with equal times (Kineto before 2.2 wrote whole microseconds) the annotation is
    outside, then the frame, the op, the call; then the lower External id, which counts ops as they
    start. So the order of events in the file does not matter.
    """
    chosen = slices.filter(pl.col("activity").is_in(activities), pl.col("ts_ns").is_not_null())
    order = {name: number for number, name in enumerate(_OUTSIDE_FIRST)}
    chosen = (
        chosen.with_columns(
            pl.col("activity")
            .replace_strict(order, default=9, return_dtype=pl.Int8)
            .alias("_order"),
            pl.col("name").cast(pl.String).alias("_name"),
        )
        .sort("ts_ns", "_order", "external_id", "correlation", "_name", "id", nulls_last=True)
        .drop("_order", "_name")
    )
    places = nest(
        chosen.select("id", "thread", "ts_ns", (pl.col("end_ns") - pl.col("ts_ns")).alias("dur_ns"))
    )
    return chosen.join(places, on="id", how="left", maintain_order="left")


def nearest(frame: pl.DataFrame, wanted: pl.Series, *, parents: pl.DataFrame) -> pl.DataFrame:
    """For each id of ``frame`` (``id``, ``parent``) the nearest ancestor that is in ``wanted``.

    ``parents`` (``id``, ``parent``) is the whole nesting. Returns ``id`` and ``ancestor`` for those
    that have one. Each round climbs one level for all rows at once.
    """
    up = parents.select(pl.col("id").alias("ancestor"), pl.col("parent").alias("next"))
    open_ = frame.select("id", pl.col("parent").alias("ancestor")).drop_nulls()
    found = []
    wanted_ids = pl.DataFrame({"ancestor": wanted})
    while open_.height:
        found.append(open_.join(wanted_ids, on="ancestor", how="semi"))
        open_ = (
            open_.join(wanted_ids, on="ancestor", how="anti")
            .join(up, on="ancestor")
            .select("id", pl.col("next").alias("ancestor"))
            .drop_nulls()
        )
    empty = frame.select("id", pl.col("parent").alias("ancestor")).clear()
    return pl.concat([empty, *found])


def steps(slices: pl.DataFrame) -> pl.DataFrame:
    """Profiler steps: the ``ProfilerStep#N`` annotations, else the outermost user annotation that
    repeats most, else none. Columns id, step, name, rank, thread, ts_ns, dur_ns, end_ns.
    """
    marks = slices.filter(
        pl.col("activity") == act.ANNOTATION, pl.col("ts_ns").is_not_null()
    ).with_columns(pl.col("name").cast(pl.String))
    found = marks.with_columns(
        pl.col("name").str.extract(STEP).cast(pl.Int64).alias("step")
    ).drop_nulls("step")
    if found.is_empty() and marks.height:
        outer = nested(marks, (act.ANNOTATION,)).filter(pl.col("depth") == 0)
        counts = (
            outer.group_by("name")
            .agg(pl.len(), pl.col("ts_ns").min())
            .sort("len", "ts_ns", descending=[True, False])
        )
        if counts["len"][0] > 1:
            found = outer.filter(pl.col("name") == counts["name"][0]).sort("ts_ns", "id")
            found = found.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("step"))
        else:
            found = outer.clear().with_columns(pl.lit(None, pl.Int64).alias("step"))
    return found.select("id", "step", "name", "rank", "thread", "ts_ns", "dur_ns", "end_ns").sort(
        "ts_ns", "id"
    )


def step_at(frame: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    """Add ``step``: the latest step of the rank that has started by ``ts_ns`` and not yet ended.

    Backward threads run inside the step of the thread that waits for them, so the thread is not
    part of the match.
    """
    if marks.is_empty():
        return frame.with_columns(pl.lit(None, pl.Int64).alias("step"))
    right = marks.select("rank", "ts_ns", "step", pl.col("end_ns").alias("step_end")).sort("ts_ns")
    timed = frame.filter(pl.col("ts_ns").is_not_null()).sort("ts_ns")
    joined = timed.join_asof(
        right, on="ts_ns", by="rank", strategy="backward", check_sortedness=False
    )
    joined = joined.with_columns(
        pl.when(pl.col("ts_ns") < pl.col("step_end")).then(pl.col("step")).alias("step")
    ).drop("step_end")
    rest = frame.filter(pl.col("ts_ns").is_null()).with_columns(
        pl.lit(None, pl.Int64).alias("step")
    )
    return pl.concat([joined, rest])


def ops(slices: pl.DataFrame, marks: pl.DataFrame, raw: RawTrace) -> pl.DataFrame:
    """CPU ops and annotations with parent, depth, self time, step and their recorded arguments."""
    frame = nested(slices, act.HOST_RANGES)
    frame = step_at(frame, marks)
    frame = frame.join(raw.table("op_args").drop("record_function_id"), on="id", how="left")
    return frame.with_columns(
        pl.col("activity").alias("kind"),
        # Self time of an op whose duration is no measurement is none either.
        pl.when(pl.col("dur_ns").is_not_null()).then(pl.col("self_ns")).alias("self_ns"),
    )


def calls(slices: pl.DataFrame, op_frame: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    """Runtime and driver calls, each with the op that made it and how that is known.

    The op is the innermost ``cpu_op`` on the call's thread that contains the call's start; where
    there is none, the op with the call's External id that had started by then.
    """
    both = nested(slices, (*act.HOST_RANGES, *act.CALLS))
    # Calls whose time was lost (torch 2.12) still tie their correlation id to an op.
    untimed = slices.filter(pl.col("activity").is_in(act.CALLS), pl.col("ts_ns").is_null())
    frame = pl.concat([both.filter(pl.col("activity").is_in(act.CALLS)), untimed], how="diagonal")
    cpu_ops = op_frame.filter(pl.col("activity") == act.CPU_OP)
    by_time = nearest(frame, cpu_ops["id"], parents=both.select("id", "parent"))
    frame = frame.join(by_time, on="id", how="left")
    frame = by_external_id(frame.rename({"ancestor": "op"}), cpu_ops)
    kinds = {n: act.launch_kind(n) for n in frame["name"].cast(pl.String).unique().drop_nulls()}
    return step_at(frame, marks).with_columns(
        pl.col("activity").alias("api"),
        pl.col("name")
        .cast(pl.String)
        .replace_strict(kinds, default="other", return_dtype=pl.String)
        .alias("kind"),
    )


def by_external_id(frame: pl.DataFrame, cpu_ops: pl.DataFrame) -> pl.DataFrame:
    """Fill ``op`` by External id where time found none, and add ``op_evidence``.

    External ids are no proof: some producers write the correlation id there (torch 1.x) and ids
    repeat between ranks; so the op must be of the rank and have started before the call.
    """
    owners = (
        cpu_ops.drop_nulls("external_id")
        .sort("ts_ns", "id")
        .unique(["rank", "external_id"], keep="first", maintain_order=True)
        .select(
            "rank", "external_id", pl.col("id").alias("owner"), pl.col("ts_ns").alias("owner_ts")
        )
    )
    frame = frame.join(owners, on=["rank", "external_id"], how="left")
    usable = pl.col("op").is_null() & (pl.col("owner_ts") <= pl.col("ts_ns"))
    return frame.with_columns(
        pl.when(pl.col("op").is_not_null())
        .then(pl.lit("time"))
        .when(usable)
        .then(pl.lit("external_id"))
        .alias("op_evidence"),
        pl.when(usable).then(pl.col("owner")).otherwise(pl.col("op")).alias("op"),
    ).drop("owner", "owner_ts")


def frames(slices: pl.DataFrame) -> pl.DataFrame:
    """Python frames, nested by time on their thread."""
    return schema.FRAMES.conform(nested(slices, (act.PYTHON,)).sort("id"))
