"""What one kernel name says: the record that every grammar returns."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CUDA_CORE", "TENSOR_CORE", "UNKNOWN", "KernelClass"]

TENSOR_CORE = "tensor_core"
"""Matrix units: NVIDIA tensor cores, AMD MFMA or WMMA."""
CUDA_CORE = "cuda_core"
"""Scalar and vector units: NVIDIA CUDA cores, AMD vector ALU."""
UNKNOWN = "unknown"


@dataclass(frozen=True)
class KernelClass:
    """The columns of ``tracekit.schema.CLASSES`` for one name, without the name.

    Every default is "the name does not say".

    >>> KernelClass("gemm", library="cublas").unit
    'unknown'
    """

    kind: str
    unit: str = UNKNOWN
    compute_dtype: str | None = None
    accumulate_dtype: str | None = None
    library: str = UNKNOWN
    built_for: str | None = None
    tile: str | None = None
    stages: int | None = None
    layout: str | None = None
    alignment: int | None = None
    cast_from: str | None = None
    cast_to: str | None = None
    is_cast: bool | None = None
    fused_attention: str | None = None
    head_dim: int | None = None
    helper_of: str | None = None
    evidence: str = "no grammar knows this name"
