from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tracekit.kernels.occupancy import explain_low_occupancy
from tracekit.rules.context import Context
from tracekit.rules.fusion import FUSED
from tracekit.rules.model import Found, rule
from tracekit.units import plural


@rule(
    "TK110",
    "low-occupancy-by-design",
    "Low occupancy of a fused attention kernel is by design",
    severity="note",
    needs=("gpu",),
)
def occupancy_note(ctx: Context) -> Iterator[Found]:
    """A fused attention kernel shows few warps an SM and is fast all the same.

    What it finds
    -------------
    Fused attention kernels whose theoretical occupancy is below 50 %.

    Why it costs
    ------------
    It does not. These kernels keep tiles of q, k, v and the accumulator in registers and shared
    memory, so few warps fit; asynchronous copies hide latency instead of more warps.

    How to confirm
    --------------
    `tracekit compare` shows such a kernel beside unfused ones with high occupancy that are slower.

    Fix
    ---
    None. Do not tune for occupancy here.

    When it is wrong
    ----------------
    A kernel of one's own with low occupancy that is not limited by registers or shared memory.
    """
    calls = ctx.attention.filter(
        pl.col("backend").cast(pl.String).is_in(FUSED), pl.col("occupancy_pct") < 50
    )
    if calls.is_empty():
        return
    shown = []
    keys = ["backend", "occupancy_pct", "occupancy_limiter"]
    for backend, pct, limiter in calls.select(keys).unique(maintain_order=True).iter_rows():
        text = explain_low_occupancy(pct, limiter, "forward", "tensor_core")
        shown.append(f"{backend} {text}")
    events = ctx.attention_events.filter(
        pl.col("call").is_in(calls["call"].implode()), pl.col("role") == "fused"
    )
    yield Found(
        message=f"{plural(calls.height, 'fused call')}: " + " / ".join(sorted(shown)[:3]),
        fix="nothing to do",
        evidence=calls.select(pl.col("op").alias("id"), "call", "step", *keys),
        events=events["id"],
        where=ctx.where(calls),
        calls=calls.height,
    )
