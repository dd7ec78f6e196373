from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tracekit.rules.context import Context
from tracekit.rules.fusion import shape_text
from tracekit.rules.model import Found, rule, saved
from tracekit.tables.numbers import total
from tracekit.units import duration, plural


@rule(
    "TK106",
    "mask-converted",
    "A boolean mask is converted on every call",
    severity="note",
    needs=("gpu", "ops", "links", "shapes"),
)
def mask_converted(ctx: Context) -> Iterator[Found]:
    """SDPA turns a boolean mask into an additive one of q's dtype each time it is called.

    What it finds
    -------------
    Fills and a `where` of the score shape inside `scaled_dot_product_attention` that got a boolean
    mask, and inversions of a mask directly before it.

    Why it costs
    ------------
    Three small kernels and their launches a call. More than they, the mask itself costs: a fused
    kernel that is told `is_causal=True` skips half the work, one that is given a mask cannot.

    How to confirm
    --------------
    `trace.attention_events` shows the events with role `mask`; `trace.attention` the mask.

    Fix
    ---
    Pass `is_causal=True` where the mask is causal; else convert it once:
    `torch.zeros(L, S, dtype=q.dtype).masked_fill_(~mask, float("-inf"))`.

    When it is wrong
    ----------------
    Never for the conversion; whether the mask is causal cannot be read from a trace.
    """
    calls = ctx.attention.filter(
        pl.col("mask_work") == "converted", pl.col("direction") == "forward"
    )
    if calls.is_empty():
        return
    events = ctx.attention_events.filter(
        pl.col("call").is_in(calls["call"].implode()), pl.col("role") == "mask"
    )
    each = total(events["dur_ns"]) / calls.height
    yield Found(
        message=(
            f"{plural(calls.height, 'call')} ({shape_text(calls)}) spend "
            f"{duration(each)} each on converting their mask"
        ),
        fix="pass is_causal=True if the mask is causal, else convert the mask once to q's dtype",
        evidence=calls.select(pl.col("op").alias("id"), "call", "step", "mask_ns", "gpu_ns"),
        events=events["id"],
        where=ctx.where(calls),
        calls=calls.height,
        saved=saved(events, pl.col("dur_ns")),
        basis="the conversion's events gone",
    )
