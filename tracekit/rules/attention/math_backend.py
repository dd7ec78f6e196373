from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tracekit.rules.context import Context
from tracekit.rules.fusion import fused_saving, shape_text
from tracekit.rules.model import Found, rule
from tracekit.tables.numbers import mean
from tracekit.units import duration, plural


@rule(
    "TK101",
    "sdpa-math-backend",
    "SDPA runs on the math backend",
    severity="error",
    needs=("gpu", "ops", "links"),
)
def math_backend(ctx: Context) -> Iterator[Found]:
    """`scaled_dot_product_attention` fell back to its unfused reference code.

    What it finds
    -------------
    Calls of `scaled_dot_product_attention` in which `_scaled_dot_product_attention_math` ran.

    Why it costs
    ------------
    The math backend is a composition of some 20 kernels. It converts bf16 and fp16 to fp32, runs
    the products in fp32 on CUDA cores unless TF32 is allowed, builds its causal mask anew on every
    call, and writes the scores of all heads to HBM several times. A fused backend is one kernel on
    tensor cores that keeps the scores on the chip.

    How to confirm
    --------------
    `tracekit compare TRACE` shows kernels, unit, dtype and traffic of each call. In the program:
    `with torch.nn.attention.sdpa_kernel([SDPBackend.FLASH_ATTENTION]):` around the call makes torch
    warn why each fused backend refuses its inputs.

    Fix
    ---
    Give the call inputs that a fused backend takes: q, k and v in bf16 or fp16 (autocast does it),
    head dim a multiple of 8 and at most 256, a mask of q's dtype that broadcasts to
    [batch, heads, queries, keys] or `is_causal=True` instead, `enable_gqa=True` with fewer k and v
    heads; and do not force `SDPBackend.MATH` or disable the others.

    When it is wrong
    ----------------
    The program wants a reference result in fp32, or runs on a device without any fused backend.
    """
    calls = ctx.attention.filter(pl.col("backend") == "math")
    if calls.is_empty():
        return
    for direction, group in calls.group_by("direction", maintain_order=True):
        edits, basis = fused_saving(ctx, group)
        events = ctx.attention_events.filter(
            pl.col("call").is_in(group["call"].implode()), pl.col("place") == "inside"
        )
        each = mean(group["gpu_ns"])
        kernels = round(mean(group["kernels"]) or 0)
        ran = f"{group['compute_dtype'][0] or 'unknown dtype'} on {_unit(group['unit'][0])}"
        given = group["dtype"][0]
        wide = f", converted from {given}" if given in ("bf16", "fp16") else ""
        yield Found(
            message=(
                f"{plural(group.height, 'call')} ({direction[0]}; {shape_text(group)}) took "
                f"{kernels} kernels and {duration(each)} each, in {ran}{wide}; "
                f"likely reason: {likely_reason(group)}"
            ),
            fix=fix(group),
            evidence=group.select(
                pl.col("op").alias("id"), "call", "step", "gpu_ns", "kernels", "cast_ns", "mask_ns",
                "compute_dtype", "unit",
            ),
            events=events["id"],
            where=ctx.where(group),
            calls=group.height,
            saved=edits,
            basis=basis,
        )  # fmt: skip


def _unit(unit: str | None) -> str:
    return {"cuda_core": "CUDA cores", "tensor_core": "tensor cores"}.get(
        unit or "", "an unknown unit"
    )


def likely_reason(calls: pl.DataFrame) -> str:
    """Why the fused backends refused, as far as the recorded arguments show.

    The conditions are those of ``sdp_utils_cpp.h`` and ``sdp_utils.cpp`` of torch 2.5 to 2.13.
    """
    row = calls.row(0, named=True)
    dim = row["head_dim"]
    if row["q_len"] is None:
        return "unknown, as input shapes were not recorded"
    if row["dtype"] == "fp64":
        return "no fused backend takes fp64"
    if row["heads"] != row["kv_heads"]:
        return (
            "fewer k and v heads than q heads, which fused backends take only with enable_gqa=True"
        )
    if dim is not None and dim > 256:
        return f"head dim {dim} is above 256"
    if dim is not None and dim % 8:
        return f"head dim {dim} is no multiple of 8"
    if row["mask"] in ("bool", "float"):
        return f"the {row['mask']} mask: its shape, dtype or alignment is not one they take"
    if row["dtype"] == "fp32":
        return "fp32 inputs, with the memory-efficient backend switched off"
    return "the arguments fit the fused backends, so it was forced (sdpa_kernel, enable_flash_sdp(False) …)"


def fix(calls: pl.DataFrame) -> str:
    """The one change that fits the likely reason."""
    row = calls.row(0, named=True)
    if row["dtype"] in ("fp32", "fp64"):
        return "run attention in bf16 (torch.autocast), so that a fused backend takes it"
    if row["heads"] is not None and row["heads"] != row["kv_heads"]:
        return "pass enable_gqa=True to scaled_dot_product_attention"
    if row["head_dim"] is not None and (row["head_dim"] % 8 or row["head_dim"] > 256):
        return "pad the head dim to a multiple of 8 (at most 256), or choose such a model size"
    if row["mask"] in ("bool", "float"):
        return "pass is_causal=True instead of a mask, or a contiguous mask of q's dtype that broadcasts to [batch, heads, queries, keys]"
    return "do not force SDPBackend.MATH; let scaled_dot_product_attention choose (sdpa_kernel, torch.backends.cuda.enable_flash_sdp)"
