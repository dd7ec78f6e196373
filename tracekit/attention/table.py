"""One row an attention call: shapes, backend, units, times, traffic."""

from __future__ import annotations

import polars as pl

from tracekit import schema
from tracekit.attention.spans import Call

_BY_LIBRARY = (
    ("cudnn", r"(?i)cudnn"),
    ("efficient", r"(?i)fmha_cutlass|mem_?eff|xformers|efficient"),
    ("flex", r"(?i)flex_attention"),
    ("flash", r"(?i)flash"),
)


def summarise(
    calls: list[Call],
    events: pl.DataFrame,
    ops: pl.DataFrame,
    launches: pl.DataFrame,
    kernels: pl.DataFrame,
    traffic: pl.DataFrame,
) -> pl.DataFrame:
    """:data:`tracekit.schema.ATTENTION`. ``events`` is call, id, role, place; ``traffic`` id and
    ``hbm_bytes`` of device events.
    """
    base = pl.DataFrame(
        [_row(n, c) for n, c in enumerate(calls)],
        schema={
            "call": pl.UInt32, "op": pl.UInt32, "name": pl.String, "op_backend": pl.String,
            "direction": pl.String, "batch": pl.Int64, "heads": pl.Int64, "kv_heads": pl.Int64,
            "q_len": pl.Int64, "kv_len": pl.Int64, "head_dim": pl.Int64, "v_head_dim": pl.Int64,
            "dtype": pl.String, "causal": pl.Boolean, "op_mask": pl.String, "cpu_ns": pl.Int64,
        },
        orient="row",
    )  # fmt: skip
    work = (
        events.join(kernels.drop("op"), on="id")
        .join(traffic.select("id", "hbm_bytes"), on="id", how="left")
        .with_columns(
            pl.col(c).cast(pl.String)
            for c in (
                "name",
                "unit",
                "compute_dtype",
                "library",
                "helper_of",
                "fused_attention",
                "kind",
            )
        )
    )
    frame = (
        base.join(_sums(work), on="call", how="left")
        .join(_main(work), on="call", how="left")
        .join(_launch_time(calls, launches), on="call", how="left")
        .join(
            ops.select(pl.col("id").alias("op"), "rank", "step", "module", "source"),
            on="op",
            how="left",
        )
    )
    frame = frame.with_columns(
        pl.col(c).fill_null(0)
        for c in (
            "mask_ns",
            "cast_ns",
            "copy_ns",
            "kernels",
            "copies",
            "fills",
            "gpu_ns",
            "before_ns",
        )
    )
    frame = frame.with_columns(
        backend=_backend(),
        mask=_mask(),
        mask_work=_mask_work(),
        rank=pl.coalesce("rank", "event_rank").fill_null(0),
        step=pl.coalesce("step", "event_step"),
    )
    return schema.ATTENTION.conform(frame.sort("call"))


def _row(number: int, call: Call) -> tuple[object, ...]:
    s = call.shape
    host = sum(end - start for _, start, end in call.spans) if call.spans else None
    return (
        number, call.op, call.name, call.backend, call.direction, s.batch, s.heads, s.kv_heads,
        s.q_len, s.kv_len, s.head_dim, s.v_head_dim, s.dtype, s.causal, s.mask, host,
    )  # fmt: skip


def _sums(work: pl.DataFrame) -> pl.DataFrame:
    inside = pl.col("place") == "inside"

    def total(column: str, chosen: pl.Expr) -> pl.Expr:
        return pl.col(column).filter(chosen).sum()

    def role(name: str) -> pl.Expr:
        return pl.col("role") == name

    return work.group_by("call").agg(
        total("dur_ns", role("mask")).alias("mask_ns"),
        total("dur_ns", role("cast")).alias("cast_ns"),
        total("dur_ns", role("copy")).alias("copy_ns"),
        _known_sum("hbm_bytes", inside & role("cast")).alias("cast_bytes"),
        _known_sum("hbm_bytes", inside & role("copy")).alias("copy_bytes"),
        (inside & (pl.col("activity") == "kernel")).sum().cast(pl.Int64).alias("kernels"),
        (inside & (pl.col("activity") == "memcpy")).sum().cast(pl.Int64).alias("copies"),
        (inside & (pl.col("activity") == "memset")).sum().cast(pl.Int64).alias("fills"),
        total("dur_ns", inside).alias("gpu_ns"),
        total("dur_ns", ~inside).alias("before_ns"),
        _known_sum("hbm_bytes", inside).alias("hbm_bytes"),
        (role("mask") & pl.col("made")).any().alias("mask_made"),
        role("mask").any().alias("masked"),
        role("mask_apply").any().alias("applies"),
        pl.col("rank").first().alias("event_rank"),
        pl.col("step").drop_nulls().min().alias("event_step"),
    )


def _known_sum(column: str, chosen: pl.Expr) -> pl.Expr:
    """Sum where every event that carries time is known, else null."""
    values = pl.col(column).filter(chosen)
    return pl.when(values.null_count() == 0).then(values.sum())


def _main(work: pl.DataFrame) -> pl.DataFrame:
    """Unit and dtype of the call's matmuls; occupancy and name of its longest one."""
    matmuls = work.filter(pl.col("role").is_in(["matmul", "fused"]), pl.col("place") == "inside")
    main = matmuls.filter(pl.col("helper_of").is_null())

    def agreed(column: str) -> pl.Expr:
        known = pl.col(column).drop_nulls().unique()
        return (
            pl.when(known.len() == 1)
            .then(known.first())
            .when(known.len() > 1)
            .then(pl.lit("mixed"))
        ).alias(column)

    return (
        main.sort("call", "dur_ns", "id", descending=[False, True, False], nulls_last=True)
        .group_by("call", maintain_order=True)
        .agg(
            agreed("unit"),
            agreed("compute_dtype"),
            pl.col("theoretical_occupancy_pct").first().alias("occupancy_pct"),
            pl.col("occupancy_limiter").first(),
            pl.col("name").first().alias("main_kernel"),
            pl.col("fused_attention").first().alias("main_fused"),
        )
    )


def _launch_time(calls: list[Call], launches: pl.DataFrame) -> pl.DataFrame:
    """Host time of the runtime and driver calls in each call's spans."""
    from tracekit.attention.spans import within

    spans = pl.DataFrame(
        [(t, a, b, n) for n, c in enumerate(calls) for t, a, b in c.spans],
        schema={"thread": pl.String, "at": pl.Int64, "end": pl.Int64, "call": pl.UInt32},
        orient="row",
    ).sort("at", "call")
    inside = within(launches.select("id", pl.col("thread").cast(pl.String), "ts_ns"), spans)
    return (
        inside.join(launches.select("id", "dur_ns"), on="id")
        .group_by("call")
        .agg(pl.col("dur_ns").sum().alias("launch_ns"))
    )


def _backend() -> pl.Expr:
    """From the ops; for a fused kernel whose op does not say, from its name."""
    by_kernel = pl.coalesce(
        *(
            pl.when(pl.col("main_kernel").str.contains(pattern)).then(pl.lit(word))
            for word, pattern in _BY_LIBRARY
        ),
        pl.when(pl.col("main_fused").is_not_null()).then(pl.lit("fused")),
    )
    return pl.coalesce("op_backend", by_kernel, pl.lit("unknown"))


def _mask() -> pl.Expr:
    """The recorded argument; for a composition, whether it applies one."""
    composed = pl.col("op_backend").is_in(["eager", "compiled"])
    return (
        pl.when(pl.col("op_mask").is_not_null())
        .then(pl.col("op_mask"))
        .when(composed & pl.col("applies"))
        .then(pl.lit("scored"))
    )


def _mask_work() -> pl.Expr:
    composed = pl.col("op_backend").is_in(["eager", "compiled"])
    return (
        pl.when(pl.col("mask_made"))
        .then(pl.lit("rebuilt"))
        .when(pl.col("masked"))
        .then(pl.lit("converted"))
        .when(pl.col("applies"))
        .then(pl.lit("applied"))
        .when(pl.col("op_mask").is_not_null() | composed)
        .then(pl.lit("none"))
        .otherwise(pl.lit("unknown"))
    )
