"""Sums over links, forward-backward pairs, and the edge list of the correlation graph."""

from __future__ import annotations

import polars as pl

from tracekit import schema


def device_time(op_frame: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """Per op with device work: ``gpu_ns`` and ``gpu_events`` of it and all inside, ``self_gpu_ns``."""
    own = (
        kernels.drop_nulls("op")
        .group_by("op")
        .agg(pl.col("dur_ns").sum().alias("gpu_ns"), pl.len().cast(pl.Int64).alias("gpu_events"))
    )
    parents = op_frame.select(pl.col("id").alias("op"), "parent")
    layers, layer = [], own
    while layer.height:
        layers.append(layer)
        layer = (
            layer.join(parents, on="op")
            .drop_nulls("parent")
            .group_by(pl.col("parent").alias("op"))
            .agg(pl.col("gpu_ns").sum(), pl.col("gpu_events").sum())
        )
    total = (
        pl.concat(layers or [own])
        .group_by("op")
        .agg(pl.col("gpu_ns").sum(), pl.col("gpu_events").sum())
    )
    return total.join(own.select("op", pl.col("gpu_ns").alias("self_gpu_ns")), on="op", how="left")


def forward_of(op_frame: pl.DataFrame) -> pl.DataFrame:
    """``id`` of a backward op and ``forward_id`` of the op that made its autograd node.

    Among forward ops of one thread with the same sequence number the last to start made the node
    (torch/csrc/profiler: the number is read at the start of every op and taken by the node's). The
    number is counted per thread, so a number used by several forward threads is left unlinked.
    """
    numbered = op_frame.drop_nulls("sequence_number").filter(pl.col("sequence_number") >= 0)
    backward = pl.col("fwd_thread").fill_null(0) > 0
    makers = (
        numbered.filter(~backward)
        .sort("ts_ns", "id")
        .group_by("rank", "sequence_number")
        .agg(
            pl.col("id").last().alias("forward_id"),
            pl.col("ts_ns").last().alias("forward_ts"),
            pl.col("thread").n_unique().alias("threads"),
        )
        .filter(pl.col("threads") == 1)
    )
    return (
        numbered.filter(backward)
        .join(makers, on=["rank", "sequence_number"])
        .filter(pl.col("forward_ts") <= pl.col("ts_ns"))
        .select("id", "forward_id")
    )


def edges(ops: pl.DataFrame, launches: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """The table :data:`tracekit.schema.LINKS`: every edge with its evidence."""
    parts = [
        _edge(ops.drop_nulls("parent"), "parent", "id", "encloses", pl.lit("time")),
        _edge(launches.drop_nulls("op"), "op", "id", "calls", pl.col("op_evidence")),
        _edge(kernels.drop_nulls("launch"), "launch", "id", "starts", pl.col("link_evidence")),
        _edge(
            kernels.filter(pl.col("launch").is_null(), pl.col("op").is_not_null()),
            "op", "id", "starts", pl.col("link_evidence"),
        ),
        _edge(
            ops.drop_nulls("forward_id"), "forward_id", "id", "backward", pl.lit("sequence_number")
        ),
        _stream_order(kernels),
        _waits(launches, kernels),
    ]  # fmt: skip
    return pl.concat(parts).sort("source", "target", "relation")


def _edge(
    frame: pl.DataFrame, source: str, target: str, relation: str, evidence: pl.Expr
) -> pl.DataFrame:
    return schema.LINKS.conform(
        frame.select(
            pl.col(source).alias("source"),
            pl.col(target).alias("target"),
            pl.lit(relation).alias("relation"),
            evidence.cast(pl.String).alias("evidence"),
        )
    )


def _stream_order(kernels: pl.DataFrame) -> pl.DataFrame:
    """From each device event to the next on its stream."""
    ordered = (
        kernels.drop_nulls("ts_ns")
        .sort("ts_ns", "id")
        .with_columns(pl.col("id").shift(1).over("rank", "device", "stream").alias("before"))
    )
    return _edge(ordered.drop_nulls("before"), "before", "id", "stream_order", pl.lit("time"))


def _waits(launches: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """From the last device event that ended during a blocking call to that call."""
    syncs = launches.filter(pl.col("kind") == "sync", pl.col("dur_ns").is_not_null())
    ends = (
        kernels.drop_nulls(["ts_ns", "dur_ns"])
        .select(
            "rank", pl.col("id").alias("work"), (pl.col("ts_ns") + pl.col("dur_ns")).alias("at")
        )
        .sort("at", "work")
    )
    calls = syncs.with_columns((pl.col("ts_ns") + pl.col("dur_ns")).alias("at")).sort("at")
    waited = calls.join_asof(ends, on="at", by="rank", coalesce=False, check_sortedness=False)
    waited = waited.filter(pl.col("at_right") >= pl.col("ts_ns"))
    return _edge(waited, "work", "id", "waits", pl.lit("time"))
