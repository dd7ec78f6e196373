"""Every event that lasts: complete (X) events and matched begin/end (B/E) pairs, with clean ids."""

from __future__ import annotations

import re

import orjson
import polars as pl

from tracekit.io.raw import RawTrace
from tracekit.tables import activity as act
from tracekit.tables.problems import Problems

NO_ID = (0, -1, 2**32 - 1, 2**64 - 1)
"""Ids that mean "none": 0 and -1, also cast to unsigned (Kineto, ROCm)."""

_RANK_LABEL = re.compile(r"^(\[[^\]]{1,80}\]|rank[ _-]?\d{1,6}:?) +(.+)$", re.IGNORECASE)


def process_names(raw: RawTrace) -> dict[str, str]:
    """Process row names by pid, from the ``process_name`` metadata events."""
    named = (
        raw.table("events")
        .filter(
            pl.col("ph").cast(pl.String) == "M", pl.col("name").cast(pl.String) == "process_name"
        )
        .select("id", "pid")
        .join(raw.table("extra"), on="id")
    )
    names: dict[str, str] = {}
    for _, pid, _, text in named.select("id", "pid", "event_json", "args_json").iter_rows():
        value = orjson.loads(text).get("name") if text else None
        if pid is not None and isinstance(value, str):
            names[pid] = value
    return names


def rank_of_pid(pid: str) -> str | None:
    """The rank label of a process row in a merged trace, e.g. SGLang's ``[TP00-…] 4121``.

    >>> rank_of_pid("[TP01-DP00] 4121"), rank_of_pid("4121")
    ('[TP01-DP00]', None)
    """
    found = _RANK_LABEL.match(pid)
    return found.group(1) if found else None


def slices(raw: RawTrace, problems: Problems) -> pl.DataFrame:
    """One row a slice: id, activity, name, rank, pid, thread, ts_ns, dur_ns, end_ns and ids.

    ``dur_ns`` is null where the recorded time is no measurement (missing, negative, or the op never
    finished); ``end_ns`` is what nesting uses. Slices without a usable start keep ``ts_ns`` null.
    """
    events = raw.table("events")
    complete = events.filter(pl.col("ph").cast(pl.String) == "X").drop("ph")
    frame = pl.concat([complete, _begin_end(events, problems)])
    frame = frame.with_columns(act.activities(frame, process_names(raw)))
    frame = _threads(frame, problems)
    frame = _times(frame, raw, problems)
    ids = raw.table("ids").select("id", "external_id", "correlation")
    frame = frame.join(ids, on="id", how="left")
    device = pl.col("activity").is_in(act.DEVICE_WORK)
    zero = frame.filter(device, pl.col("correlation") == 0)
    problems.add(
        "zero_correlation",
        zero["id"],
        "device events carry correlation id 0, which ties them to no launch",
    )
    return frame.with_columns(
        pl.when(pl.col(c).is_in(NO_ID[:3])).then(None).otherwise(pl.col(c)).alias(c)
        for c in ("external_id", "correlation")
    ).sort("ts_ns", "id", nulls_last=True)


def _begin_end(events: pl.DataFrame, problems: Problems) -> pl.DataFrame:
    """Slices of B/E pairs, matched as a stack per process and thread."""
    marks = events.filter(
        pl.col("ph").cast(pl.String).is_in(["B", "E"]), pl.col("ts_ns").is_not_null()
    )
    columns = [c for c in events.columns if c != "ph"]
    if marks.is_empty():
        return marks.select(columns)
    # Equal times: an end goes before a begin, so that touching ranges do not nest.
    marks = marks.with_columns(pl.col("ph").cast(pl.String).alias("phase")).sort(
        "ts_ns", pl.col("phase") == "B", "id"
    )
    open_: dict[tuple[str, str], list[tuple[int, int]]] = {}
    pairs: list[tuple[int, int]] = []
    lonely: list[int] = []
    for id_, phase, pid, tid, ts in marks.select("id", "phase", "pid", "tid", "ts_ns").iter_rows():
        stack = open_.setdefault((pid, tid), [])
        if phase == "B":
            stack.append((id_, ts))
        elif stack:
            begin, start = stack.pop()
            pairs.append((begin, ts - start))
        else:
            lonely.append(id_)
    unmatched = lonely + [id_ for stack in open_.values() for id_, _ in stack]
    problems.add(
        "unmatched_begin",
        pl.Series(unmatched, dtype=pl.UInt32),
        "begin events without an end (or the reverse) have no duration and are left out",
    )
    ends = pl.DataFrame(pairs, schema={"id": pl.UInt32, "length": pl.Int64}, orient="row")
    return marks.join(ends, on="id").with_columns(pl.col("length").alias("dur_ns")).select(columns)


def _threads(frame: pl.DataFrame, problems: Problems) -> pl.DataFrame:
    """Add ``rank`` (number of the merged rank) and ``thread`` (process/thread as one text)."""
    pids = frame["pid"].cast(pl.String).unique().drop_nulls().to_list()
    labels = sorted({label for pid in pids if (label := rank_of_pid(pid))})
    if len(labels) > 1:
        problems.note(
            "multi_rank_merged",
            len(labels),
            f"{len(labels)} ranks are merged in this file; each has its own ids and devices",
        )
    number = {pid: labels.index(label) for pid in pids if (label := rank_of_pid(pid))}
    return frame.with_columns(
        pl.col("pid")
        .cast(pl.String)
        .replace_strict(number, default=0, return_dtype=pl.Int32)
        .alias("rank"),
        pl.concat_str("pid", "tid", separator="/", ignore_nulls=True)
        .cast(pl.Categorical)
        .alias("thread"),
    ).drop("tid")


def _times(frame: pl.DataFrame, raw: RawTrace, problems: Problems) -> pl.DataFrame:
    """Null every time that is no measurement and say so."""
    ts, dur = pl.col("ts_ns"), pl.col("dur_ns")
    measured = pl.col("activity") != act.OVERHEAD
    zero = (ts == 0) & (dur == 0)
    # A trace may start at 0; only several slices at 0 with no duration are the torch 2.12 fault.
    faulty = frame.filter(zero & measured)
    if faulty.height > 1 or (faulty.height == 1 and faulty["activity"][0] in act.DEVICE_WORK):
        problems.add(
            "zero_timestamp",
            faulty["id"],
            "events have time 0 and duration 0 (torch 2.12 lost their times); left out of all sums",
        )
        frame = frame.with_columns(
            pl.when(zero & measured).then(None).otherwise(pl.col(c)).alias(c)
            for c in ("ts_ns", "dur_ns")
        )
        lost = faulty["id"]
    else:
        lost = faulty["id"].clear()
    late = ~pl.col("id").is_in(lost.implode())
    problems.add(
        "negative_duration",
        frame.filter(measured & (dur < 0))["id"],
        "negative durations are no measurement; left out of all sums",
    )
    told = raw.table("extra").filter(pl.col("event_json").str.contains('"dur":', literal=True))[
        "id"
    ]
    problems.add(
        "missing_duration",
        frame.filter(measured & dur.is_null() & late & ~pl.col("id").is_in(told.implode()))["id"],
        "complete events without a duration; left out of all sums",
    )
    problems.add(
        "malformed_event",
        frame.filter(measured & ts.is_null() & late)["id"],
        "events without a usable start time; left out of all sums",
    )
    unfinished = _unfinished(raw, frame)
    problems.add(
        "unfinished_event",
        unfinished,
        "ops were still running when the profiler stopped; their durations are no measurement",
    )
    frame = frame.with_columns(pl.when(dur >= 0).then(dur).alias("dur_ns"))
    return frame.with_columns(
        (ts + dur.fill_null(0)).alias("end_ns"),
        pl.when(pl.col("id").is_in(unfinished.implode())).then(None).otherwise(dur).alias("dur_ns"),
    )


def _unfinished(raw: RawTrace, frame: pl.DataFrame) -> pl.Series:
    """Ids of slices that Kineto marked ``finished: false``."""
    flagged = raw.table("extra").filter(
        pl.col("args_json").str.contains('"finished"', literal=True)
    )
    flagged = flagged.join(frame.select("id"), on="id", how="semi")
    ids = [
        id_
        for id_, text in flagged.select("id", "args_json").iter_rows()
        if str(orjson.loads(text).get("finished")).lower() == "false"
    ]
    return pl.Series("id", ids, dtype=pl.UInt32)
