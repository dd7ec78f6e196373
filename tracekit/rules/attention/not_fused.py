from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tracekit.rules.context import Context
from tracekit.rules.fusion import fused_saving, shape_text
from tracekit.rules.model import Found, rule
from tracekit.tables.numbers import mean, total
from tracekit.units import duration, percent, plural, size


@rule(
    "TK102",
    "attention-not-fused",
    "Attention is written out instead of fused",
    severity="warning",
    needs=("gpu", "ops", "links", "shapes"),
)
def not_fused(ctx: Context) -> Iterator[Found]:
    """Attention as matmul, scale, mask, softmax, matmul, each its own kernel.

    What it finds
    -------------
    A matmul whose result passes through a softmax into a second matmul, by shape and order on one
    thread, outside any attention op: eager code, or code that `torch.compile` only fused in part.

    Why it costs
    ------------
    Every step writes the scores, [batch, heads, queries, keys], to HBM and the next reads them
    back. A fused kernel keeps them on the chip.

    How to confirm
    --------------
    `tracekit compare TRACE` shows the calls' kernels and their traffic beside q, k, v and output.

    Fix
    ---
    Call `torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)`, or FlexAttention
    under `torch.compile` for masks and biases that SDPA does not know. In Hugging Face models:
    `attn_implementation="sdpa"`.

    When it is wrong
    ----------------
    The program needs the attention weights themselves, or a bias or softmax that no fused kernel
    offers. The prediction takes the mask for a full one unless the trace shows it is causal.
    """
    calls = ctx.attention.filter(
        pl.col("backend").is_in(["eager", "compiled"]), pl.col("gpu_ns") > 0
    )
    for key, group in calls.group_by("backend", "direction", maintain_order=True):
        backend, direction = str(key[0]), str(key[1])
        edits, basis = fused_saving(ctx, group)
        events = ctx.attention_events.filter(
            pl.col("call").is_in(group["call"].implode()), pl.col("place") == "inside"
        )
        spent = total(group["gpu_ns"])
        share = percent(100 * spent / ctx.facts.gpu_ns) if ctx.facts.gpu_ns else "unknown"
        moved = mean(group["hbm_bytes"])
        traffic = f", about {size(moved)} of traffic" if moved is not None else ""
        kernels = round(mean(group["kernels"]) or 0)
        yield Found(
            message=(
                f"{plural(group.height, 'call')} ({direction}; {shape_text(group)}) took {kernels} "
                f"kernels and {duration(spent / group.height)} each{traffic}; {share} of device time"
            ),
            fix="call torch.nn.functional.scaled_dot_product_attention"
            + (" instead of compiling the composition" if backend == "compiled" else "")
            + " (is_causal=True for a causal mask)",
            evidence=group.select(
                pl.col("op").alias("id"), "call", "step", "gpu_ns", "kernels", "hbm_bytes",
                "copy_ns", "cast_ns", "mask_ns",
            ),
            events=events["id"],
            where=ctx.where(group),
            calls=group.height,
            confidence="high" if direction == "forward" else "medium",
            saved=edits,
            basis=basis,
        )  # fmt: skip
