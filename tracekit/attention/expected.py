"""How long a fused kernel would take for an attention call: the model behind predicted savings."""

from __future__ import annotations

from typing import NamedTuple

from tracekit.kernels.devices import Device

FLOOR_NS = 5_000
"""Least time of a fused attention kernel, whatever its size (H200: decode calls take 6 to 7 µs)."""

_EFFICIENCY = {"hopper": 0.30, "ampere": 0.45, "ada": 0.45, "blackwell": 0.30}
"""Share of the tensor-core peak that the default fused backend reaches at common sizes.

Hopper: measured on an H200 with head dim 64, sequence 1024, causal (cuDNN 299 TFLOP/s of 989).
Ampere: FlashAttention-2 reaches 50 to 73 % of an A100's peak at head dim 128 and less at 64
(https://arxiv.org/abs/2307.08691, section 4).
"""
_SPREAD = (0.5, 2.0)
"""A real call runs within half and twice that efficiency."""

_BANDWIDTH = 0.75
"""Share of the HBM bandwidth that streaming kernels reach."""

_SIZES = {"bf16": 2, "fp16": 2, "fp32": 4, "fp8_e4m3": 1, "fp8_e5m2": 1}


class Estimate(NamedTuple):
    """Time of a fused call, ns: at best, expected, at worst."""

    best: int
    expected: int
    worst: int


def fused_ns(
    device: Device | None,
    *,
    batch: int,
    heads: int,
    kv_heads: int,
    q_len: int,
    kv_len: int,
    head_dim: int,
    dtype: str | None,
    causal: bool,
    backward: bool = False,
) -> Estimate | None:
    """Time of one fused call of this shape, ``None`` where the device's peak is unknown.

    The larger of products at the tensor cores' usual efficiency and q, k, v and output at the
    memory's. A causal mask halves the products. A backward has five products for the forward's two.

    >>> from tracekit.kernels.devices import find_device
    >>> estimate = fused_ns(find_device("NVIDIA H200"), batch=8, heads=16, kv_heads=16, q_len=1024,
    ...                     kv_len=1024, head_dim=64, dtype="bf16", causal=True)
    >>> 50_000 < estimate.expected < 70_000
    True
    """
    if device is None:
        return None
    narrow = dtype if dtype in ("bf16", "fp16") else "bf16"
    peak = device.peak_tflops("tensor_core", narrow) or device.peak_tflops("tensor_core", "fp16")
    if not peak or not device.hbm_gb_s:
        return None
    flops = 4 * batch * heads * q_len * kv_len * head_dim * (0.5 if causal else 1.0)
    size = _SIZES.get(dtype or "", 2)
    moved = size * batch * head_dim * (2 * heads * q_len + 2 * kv_heads * kv_len)
    if backward:
        flops, moved = flops * 2.5, moved * 2
    streaming = moved / (device.hbm_gb_s * _BANDWIDTH)
    usual = _EFFICIENCY.get(device.architecture or "", 0.30)

    def at(factor: float) -> int:
        products = flops / (peak * 1e3 * usual * factor)
        return round(max(products, streaming) + FLOOR_NS)

    return Estimate(at(_SPREAD[1]), at(1.0), at(_SPREAD[0]))
