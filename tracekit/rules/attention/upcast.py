from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tracekit.rules.context import Context
from tracekit.rules.model import Found, rule, saved
from tracekit.tables.numbers import total
from tracekit.units import duration, plural

_SOFTMAX_GAIN = (0.0, 0.2, 0.5)
"""What a softmax gains in bf16: half the bytes, but the same arithmetic. On an H200 a row of 1024
elements takes 260 µs in fp32 and 204 µs in bf16, a fifth less."""


@rule(
    "TK104",
    "fp32-upcast",
    "Attention scores are converted to fp32 and back",
    severity="warning",
    needs=("gpu", "ops", "links", "shapes"),
)
def upcast(ctx: Context) -> Iterator[Found]:
    """A softmax over bf16 or fp16 scores runs in fp32, with a cast kernel before and behind.

    What it finds
    -------------
    A cast to fp32, `softmax` on the result, and a cast back to 16 bits, of one size and directly
    after one another, inside an attention call or alone.

    Why it costs
    ------------
    Each cast reads and writes all scores. The softmax kernel accumulates in fp32 by itself, so the
    result is the same but for the rounding of its input.

    How to confirm
    --------------
    `trace.attention_events` shows roles `cast`, `softmax`, `cast`; the op names are `aten::to`,
    `aten::softmax`, `aten::to`.

    Fix
    ---
    Call `softmax(scores, dim=-1)` on the 16-bit scores, or `softmax(scores, dim=-1,
    dtype=torch.float32)`, which converts inside the kernel; best, use
    `scaled_dot_product_attention`, which keeps fp32 on the chip.

    When it is wrong
    ----------------
    The scores come in fp32 from the step before.
    """
    copies = ctx.kernels.filter(
        pl.col("is_cast").fill_null(value=False), pl.col("op").is_not_null()
    )
    softmax = ctx.ops.filter(
        pl.col("name").cast(pl.String).is_in(["aten::_softmax", "aten::_softmax_backward_data"]),
        pl.col("self_gpu_ns") > 0,
    )
    if copies.is_empty() or softmax.is_empty():
        return
    order = (
        ctx.kernels.filter(pl.col("activity") == "kernel", pl.col("op").is_not_null())
        .sort("ts_ns", "id")
        .with_columns(
            pl.col(c).shift(n).over("rank", "device", "stream").alias(f"{c}_{side}")
            for c in ("id", "is_cast", "cast_from", "cast_to", "dur_ns", "grid_x")
            for n, side in ((1, "before"), (-1, "behind"))
        )
        .filter(pl.col("op").is_in(softmax["id"].implode()))
    )
    both = order.filter(
        pl.col("is_cast_before"),
        pl.col("cast_to_before").fill_null("fp32") == "fp32",
        pl.col("is_cast_behind"),
        pl.col("cast_from_behind").fill_null("fp32") == "fp32",
        pl.col("cast_to_behind").fill_null("bf16").is_in(["bf16", "fp16"]),
    )
    if both.is_empty():
        return
    ends = pl.concat(
        [
            both.select(pl.col(f"id_{s}").alias("id"), pl.col(f"dur_ns_{s}").alias("dur_ns"))
            for s in ("before", "behind")
        ]
    )
    low, mid, high = (pl.col("dur_ns") * g for g in _SOFTMAX_GAIN)
    edits = pl.concat([saved(ends, pl.col("dur_ns")), saved(both, mid, low=low, high=high)])
    each = total(ends["dur_ns"]) / both.height
    narrow = next(iter(both["cast_to_behind"].drop_nulls().to_list()), "16-bit")
    yield Found(
        message=(
            f"{plural(both.height, 'softmax')} run in fp32 between casts of their "
            f"{narrow} scores; "
            f"the casts take {duration(each)} each time"
        ),
        fix="call softmax on the 16-bit scores (it accumulates in fp32), or use scaled_dot_product_attention",
        evidence=both.select(
            "id", "op", "step", "dur_ns", pl.col("dur_ns_before").alias("cast_before_ns"),
            pl.col("dur_ns_behind").alias("cast_behind_ns"),
        ),
        events=pl.concat([both["id"], ends["id"]]),
        where=ctx.where(both["op"]),
        calls=both.height,
        saved=edits,
        basis="casts gone, softmax at 16 bits",
    )  # fmt: skip
