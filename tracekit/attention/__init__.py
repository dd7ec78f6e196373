"""Which calls are attention, by which backend, and what each of their device events is for."""

from __future__ import annotations

import polars as pl

from tracekit import schema
from tracekit.attention import events, spans, table
from tracekit.kernels.work import event_bytes

__all__ = ["attention_calls"]


def attention_calls(
    ops: pl.DataFrame, launches: pl.DataFrame, kernels: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables :data:`tracekit.schema.ATTENTION` and :data:`tracekit.schema.ATTENTION_EVENTS`.

    A call is an attention op with all that runs inside it, or matmul → softmax → matmul tied by
    shapes, or the backward of either, or, where no op was recorded (CUDA graphs), a fused kernel.

    >>> calls, parts = attention_calls(*(t.empty() for t in (schema.OPS, schema.LAUNCHES, schema.KERNELS)))
    >>> calls.height, parts.height
    (0, 0)
    """
    calls = spans.find(ops)
    members = events.inside(calls, kernels, ops)
    alone = kernels.join(members, on="id", how="anti").filter(
        pl.col("fused_attention").is_not_null(), pl.col("helper_of").is_null()
    )
    lonely = [
        (id_, len(calls) + n, spans.Call(None, str(name), str(way), None))
        for n, (id_, name, way) in enumerate(
            alone.sort("ts_ns", "id").select("id", "name", "fused_attention").iter_rows()
        )
    ]
    calls += [call for _, _, call in lonely]
    if not calls:
        return schema.ATTENTION.empty(), schema.ATTENTION_EVENTS.empty()
    members = pl.concat(
        [
            members.select("id", "call"),
            pl.DataFrame(
                [(id_, n) for id_, n, _ in lonely],
                schema={"id": pl.UInt32, "call": pl.UInt32},
                orient="row",
            ),
        ]
    )
    parts = pl.concat(
        [
            events.roles(members, calls, kernels, ops).with_columns(place=pl.lit(events.INSIDE)),
            events.before(calls, kernels, ops).with_columns(place=pl.lit(events.BEFORE)),
        ]
    )
    wanted = kernels.filter(pl.col("id").is_in(parts["id"].implode()))
    traffic = event_bytes(wanted, ops)
    rows = table.summarise(calls, parts, ops, launches, kernels, traffic)
    return _in_time(rows, parts, ops, kernels)


def _in_time(
    rows: pl.DataFrame, parts: pl.DataFrame, ops: pl.DataFrame, kernels: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Number the calls by the time of their op, or of their first device event."""
    first = (
        parts.join(kernels.select("id", "ts_ns"), on="id")
        .group_by("call")
        .agg(pl.col("ts_ns").min().alias("kernel_ts"))
        .with_columns(pl.col("call").cast(pl.Int32))
    )
    order = (
        rows.select("call", "op")
        .join(ops.select(pl.col("id").alias("op"), "ts_ns"), on="op", how="left")
        .join(first, on="call", how="left")
        .sort(pl.coalesce("ts_ns", "kernel_ts"), "call", nulls_last=True)
        .with_row_index("number")
        .select("call", pl.col("number").cast(pl.Int32))
    )
    renumbered = [
        frame.with_columns(pl.col("call").cast(pl.Int32))
        .join(order, on="call")
        .with_columns(pl.col("number").alias("call"))
        for frame in (rows, parts)
    ]
    return (
        schema.ATTENTION.conform(renumbered[0]).sort("call"),
        schema.ATTENTION_EVENTS.conform(renumbered[1]).sort("call", "id"),
    )
