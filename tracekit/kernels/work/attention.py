"""Attention ops, forward and backward: two products of the score matrix each way.

Forward: 2·B·H·L·S·(D + Dv) FLOPs. Backward: 2.5 times that for fused kernels, which compute the
scores again (FlashAttention-2, appendix; ``torch.utils.flop_counter`` counts the same).
"""

from __future__ import annotations

import math
import re

from tracekit.kernels.work.args import Args, numel

_OPS = re.compile(
    r"^aten::(?:scaled_dot_product_attention"
    r"|_scaled_dot_product_(?:flash|efficient|cudnn|fused)_attention\w*|_scaled_dot_product_attention_math"
    r"|_(?:cudnn)_attention_(?:forward|backward))$|^triton_tem_fused_flex_attention\w*$"
)
_LENGTH_FIRST = re.compile(
    r"^aten::_(?:flash|efficient)_attention_(?:forward|backward)$|^flash_attn::_flash_attn_(?:forward|backward)$"
)
_CAUSAL = {
    "aten::scaled_dot_product_attention": 5,
    "aten::_scaled_dot_product_attention_math": 5,
    "aten::_scaled_dot_product_flash_attention": 4,
    "aten::_scaled_dot_product_efficient_attention": 6,
    "aten::_scaled_dot_product_cudnn_attention": 6,
    "aten::_flash_attention_forward": 8,
    "flash_attn::_flash_attn_forward": 5,
}


def work(name: str, args: Args) -> tuple[int | None, int | None, int | None, str] | None:
    """Work of one attention op. A causal mask halves the FLOPs of the square part."""
    length_first = _LENGTH_FIRST.match(name) is not None
    if not length_first and not _OPS.match(name):
        return None
    backward = "backward" in name
    first = 1 if backward else 0
    if len(args.dims) < first + 3:
        return None
    q, k, v = args.dims[first : first + 3]
    if len(q) != 4 or len(k) != 4 or len(v) != 4:
        return None
    if length_first:
        q, k, v = ((t[0], t[2], t[1], t[3]) for t in (q, k, v))
    batch, heads, rows, dim = q
    columns, v_dim = k[2], v[3]
    # Pairs of one query and one key that a causal mask keeps (upper-left aligned, as SDPA's).
    pairs = rows * columns
    at = _CAUSAL.get(name)
    causal = at is not None and args.text(at) == "True"
    if causal:
        short = min(rows, columns)
        pairs = short * (short + 1) // 2 + max(rows - columns, 0) * columns
    flops = 2 * batch * heads * pairs * (dim + v_dim)
    size = args.size(first)
    if size is None:
        return flops, None, None, "attention"
    inputs = numel(q) + numel(k) + numel(v)
    out = batch * heads * rows * v_dim
    mask = 0
    if not backward and len(args.dims) > 3 and at in (5, 6) and args.dims[3]:
        mask = args.bytes(3) or 0
    if backward:
        flops = flops * 5 // 2
        return (
            flops,
            math.ceil((inputs + 2 * out) * size),
            math.ceil(inputs * size),
            "attention backward",
        )
    return flops, math.ceil(inputs * size) + mask, math.ceil(out * size), "attention"
