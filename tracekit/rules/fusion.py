"""What attention calls would take if they were fused: shared by the rules that recommend it."""

from __future__ import annotations

import polars as pl

from tracekit.attention.expected import Estimate, fused_ns
from tracekit.rules.context import Context
from tracekit.rules.model import saved

FUSED = ("flash", "efficient", "cudnn", "flex", "fused")
_SHAPE = ["direction", "batch", "heads", "q_len", "kv_len", "head_dim"]


def fused_saving(ctx: Context, calls: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Time that fusing ``calls`` gives back, by device event (SAVED), and how it was worked out.

    What a call would take is that of a fused call of the same shape in the trace, else the model of
    :func:`tracekit.attention.expected.fused_ns`; each of its events shrinks in proportion.
    """
    siblings = _siblings(ctx)
    rows = []
    bases = set()
    for call in calls.iter_rows(named=True):
        sibling = siblings.get(tuple(call[c] for c in _SHAPE))
        estimate = Estimate(sibling, sibling, sibling) if sibling else _modelled(ctx, call)
        if estimate is None:
            continue
        bases.add(
            "fused call of the same shape in this trace"
            if sibling
            else "data-sheet model of a fused kernel"
        )
        total = max(call["gpu_ns"], 1)
        shares = [
            max(0.0, 1 - e / total) for e in (estimate.worst, estimate.expected, estimate.best)
        ]
        rows.append((call["call"], *shares))
    table = pl.DataFrame(
        rows,
        schema={"call": pl.Int32, "low": pl.Float64, "mid": pl.Float64, "high": pl.Float64},
        orient="row",
    )
    events = ctx.attention_events.filter(pl.col("place") == "inside").join(table, on="call")
    took = pl.col("dur_ns")
    edits = saved(
        events, took * pl.col("mid"), low=took * pl.col("low"), high=took * pl.col("high")
    )
    return edits, " and ".join(sorted(bases))


def _siblings(ctx: Context) -> dict[tuple[object, ...], int]:
    fused = ctx.attention.filter(
        pl.col("backend").cast(pl.String).is_in(FUSED), pl.col("gpu_ns") > 0
    ).drop_nulls(_SHAPE)
    medians = fused.group_by(_SHAPE).agg(pl.col("gpu_ns").median())
    return {tuple(row[:-1]): round(row[-1]) for row in medians.iter_rows()}


def _modelled(ctx: Context, call: dict[str, object]) -> Estimate | None:
    numbers = {k: call[k] for k in ("batch", "heads", "q_len", "kv_len", "head_dim")}
    if any(not isinstance(v, int) for v in numbers.values()):
        return None
    kv_heads = call["kv_heads"]
    return fused_ns(
        ctx.facts.device,
        **numbers,  # type: ignore[arg-type]
        kv_heads=kv_heads if isinstance(kv_heads, int) else numbers["heads"],  # type: ignore[arg-type]
        dtype=str(call["dtype"]) if call["dtype"] else None,
        causal=bool(call["causal"]),
        backward=call["direction"] == "backward",
    )


def shape_text(calls: pl.DataFrame) -> str:
    """The calls' shape in words, where they share one.

    >>> shape_text(pl.DataFrame({"batch": [8], "heads": [16], "kv_heads": [4], "q_len": [1024],
    ...     "kv_len": [1024], "head_dim": [64], "dtype": ["bf16"]}))
    'batch 8, 16 heads (4 for k and v), sequence 1024, head dim 64, bf16'
    """
    keys = ["batch", "heads", "kv_heads", "q_len", "kv_len", "head_dim", "dtype"]
    shapes = calls.select(keys).unique(maintain_order=True)
    if shapes.height != 1:
        return f"{shapes.height} shapes"
    batch, heads, kv_heads, q_len, kv_len, dim, dtype = shapes.row(0)
    if q_len is None:
        return "shape not recorded"
    parts = [f"batch {batch}" if batch is not None else ""]
    if heads is not None:
        parts.append(
            f"{heads} heads"
            + (f" ({kv_heads} for k and v)" if kv_heads not in (heads, None) else "")
        )
    parts.append(f"sequence {q_len}" if q_len == kv_len else f"{q_len} queries on {kv_len} keys")
    parts += [f"head dim {dim}", str(dtype) if dtype else ""]
    return ", ".join(p for p in parts if p)
