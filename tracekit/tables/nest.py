"""Which slice lies in which, by time alone: the one algorithm behind ops, frames and calls."""

from __future__ import annotations

import polars as pl

SCHEMA = {
    "id": pl.UInt32(),
    "parent": pl.UInt32(),
    "depth": pl.Int32(),
    "self_ns": pl.Int64(),
}


def nest(frame: pl.DataFrame) -> pl.DataFrame:
    """``id``, ``parent``, ``depth`` and ``self_ns`` of each slice of ``frame``.

    ``frame`` has ``id``, ``thread``, ``ts_ns`` and ``dur_ns`` (no nulls, ``dur_ns`` >= 0). The
    parent is the innermost slice of the thread that has started by the start of the slice and ends
    after it; an event of no length ends where it starts and holds nothing. A child may outlast its
    parent (Kineto's clocks allow it by some nanoseconds). Of slices with the same start the longer
    is outside; of equal ones the one that comes first in ``frame``. ``self_ns`` is the length less
    the part that direct children cover, each counted to the end of the parent, never below 0.

    >>> f = pl.DataFrame({"id": [0, 1, 2], "thread": ["a"] * 3, "ts_ns": [0, 2, 4],
    ...                   "dur_ns": [10, 5, 1]}, schema_overrides={"id": pl.UInt32})
    >>> nest(f).rows()
    [(0, None, 0, 5), (1, 0, 1, 4), (2, 1, 2, 1)]
    """
    ordered = frame.select(
        "id",
        pl.col("thread").to_physical().rank("dense").alias("thread")
        if frame.schema["thread"] == pl.Categorical
        else pl.col("thread").rank("dense").alias("thread"),
        "ts_ns",
        "dur_ns",
    ).sort("thread", "ts_ns", "dur_ns", descending=[False, False, True], maintain_order=True)
    parents, depths, selfs = _stack(
        ordered["thread"].to_list(), ordered["ts_ns"].to_list(), ordered["dur_ns"].to_list()
    )
    ids = ordered["id"]
    row = pl.Series(parents, dtype=pl.UInt32)
    return pl.DataFrame(
        {
            "id": ids,
            "parent": ids.gather(row),
            "depth": pl.Series(depths, dtype=pl.Int32),
            "self_ns": pl.Series(selfs, dtype=pl.Int64),
        },
        schema=SCHEMA,
    )


def _stack(
    threads: list[int], starts: list[int], lengths: list[int]
) -> tuple[list[int | None], list[int], list[int]]:
    """Parent row, depth and self time of rows sorted by thread, start and falling length."""
    parents: list[int | None] = []
    depths: list[int] = []
    selfs = list(lengths)
    open_: list[int] = []
    ends: list[int] = []
    thread = None
    for row, (current, start, length) in enumerate(zip(threads, starts, lengths, strict=True)):
        if current != thread:
            thread, open_, ends = current, [], []
        while ends and ends[-1] <= start:
            open_.pop()
            ends.pop()
        end = start + length
        if open_:
            outer = open_[-1]
            parents.append(outer)
            covered = selfs[outer] - (min(end, ends[-1]) - start)
            selfs[outer] = max(covered, 0)
        else:
            parents.append(None)
        depths.append(len(open_))
        open_.append(row)
        ends.append(end)
    return parents, depths, selfs
