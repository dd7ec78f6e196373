from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tracekit.rules.context import Context
from tracekit.rules.fusion import shape_text
from tracekit.rules.model import Found, Opt, rule, saved
from tracekit.tables.numbers import total
from tracekit.units import duration, plural


@rule(
    "TK103",
    "mask-rebuilt",
    "The attention mask is built anew on every call",
    severity="warning",
    needs=("gpu", "ops", "links", "shapes"),
    min_share=Opt(0.5, "least share of a step's calls that rebuild their mask"),
)
def mask_rebuilt(ctx: Context) -> Iterator[Found]:
    """The same mask is made again for each attention call.

    What it finds
    -------------
    `tril`, `triu`, comparisons and fills of the call's score shape, inside the call (math backend)
    or directly before it on its thread, in most calls of a step. A mask made once a step for all
    layers is not reported.

    Why it costs
    ------------
    The mask has queries times keys elements; making it takes several kernels and launches a call,
    which for short sequences is as long as the attention itself.

    How to confirm
    --------------
    `trace.attention_events` lists the events with role `mask` and their place.

    Fix
    ---
    Pass `is_causal=True`, which needs no mask; or make the mask once, in the dtype of q, and keep
    it (`register_buffer`).

    When it is wrong
    ----------------
    The mask really differs from call to call, e.g. packed sequences of changing lengths.
    """
    calls = ctx.attention.filter(pl.col("direction") == "forward")
    rebuilt = calls.filter(pl.col("mask_work") == "rebuilt", pl.col("backend") != "math")
    inside = calls.filter(pl.col("mask_work") == "rebuilt", pl.col("backend") == "math")
    many = rebuilt.height >= 2 and rebuilt.height >= ctx.options.min_share * calls.height
    for group, text, fix in (
        (
            rebuilt if many else rebuilt.clear(),
            "before or in the call",
            "pass is_causal=True, or build the mask once in q's dtype and keep it",
        ),
        (
            inside,
            "by the math backend itself",
            "leave the math backend (TK101); fused kernels need no causal mask",
        ),
    ):
        if group.is_empty():
            continue
        events = ctx.attention_events.filter(
            pl.col("call").is_in(group["call"].implode()), pl.col("role") == "mask"
        )
        each = total(events["dur_ns"]) / group.height
        yield Found(
            message=(
                f"{plural(group.height, 'call')} ({shape_text(group)}): the mask is built {text}, "
                f"{round(events.height / group.height)} kernels and {duration(each)} each time"
            ),
            fix=fix,
            evidence=group.select(
                pl.col("op").alias("id"), "call", "step", "mask_ns", "mask", "gpu_ns"
            ),
            events=events["id"],
            where=ctx.where(group),
            calls=group.height,
            confidence="high" if group is inside else "medium",
            saved=saved(events, pl.col("dur_ns"), low=pl.col("dur_ns") * 0.5),
            basis="the mask's events gone",
        )
