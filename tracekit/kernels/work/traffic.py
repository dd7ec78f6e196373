"""HBM traffic of each device event, estimated from the shapes of the op that launched it."""

from __future__ import annotations

import polars as pl

from tracekit.kernels.work.ops import op_work


def event_bytes(kernels: pl.DataFrame, ops: pl.DataFrame) -> pl.DataFrame:
    """``id``, ``hbm_bytes`` and ``basis`` of each device event of ``kernels``.

    A copy on the device reads and writes its bytes; a copy to or from the host and a fill move them
    once. A kernel moves what its op must read and write; where an op launched several kernels, the
    longest carries it all and the others 0, so that sums stay right. The figure is compulsory
    traffic: what the L2 cache keeps is not taken off, what a kernel reads twice not added. Null
    where the shapes do not say.

    >>> from tracekit import schema
    >>> event_bytes(schema.KERNELS.empty(), schema.OPS.empty()).columns
    ['id', 'hbm_bytes', 'basis']
    """
    owners = ops.filter(pl.col("id").is_in(kernels["op"].drop_nulls().unique().implode()))
    work = op_work(owners).select(
        pl.col("id").alias("op"),
        (pl.col("read_bytes") + pl.col("write_bytes")).alias("moved"),
        pl.col("basis"),
    )
    kind = pl.col("kind").cast(pl.String)
    frame = kernels.select("id", "op", "activity", "kind", "bytes", "dur_ns").join(
        work, on="op", how="left"
    )
    is_kernel = pl.col("activity").cast(pl.String) == "kernel"
    lead = (
        frame.filter(is_kernel)
        .sort("dur_ns", "id", descending=[True, False], nulls_last=True)
        .unique("op", keep="first", maintain_order=True)
        .select("id", lead=pl.lit(value=True))
    )
    frame = frame.join(lead, on="id", how="left")
    return frame.select(
        "id",
        pl.when(~is_kernel)
        .then(pl.col("bytes") * pl.when(kind == "memcpy_d2d").then(2).otherwise(1))
        .when(pl.col("lead"))
        .then(pl.col("moved"))
        .when(pl.col("moved").is_not_null())
        .then(0)
        .alias("hbm_bytes"),
        pl.when(~is_kernel)
        .then(pl.lit("recorded size"))
        .when(pl.col("lead"))
        .then(pl.col("basis"))
        .when(pl.col("moved").is_not_null())
        .then(pl.lit("with the main kernel of its op"))
        .alias("basis"),
    )
