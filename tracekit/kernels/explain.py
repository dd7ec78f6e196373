"""What a kernel name says, part by part, for ``tracekit explain-kernel``."""

from __future__ import annotations

from dataclasses import fields

from tracekit.kernels.classify import classify_name
from tracekit.kernels.model import KernelClass

__all__ = ["explain_name"]

_WORDS = {
    "kind": "kind",
    "unit": "runs on",
    "compute_dtype": "arithmetic in",
    "accumulate_dtype": "accumulates in",
    "library": "from",
    "built_for": "built for",
    "tile": "tile of the output a block computes (M x N or M x N x K)",
    "stages": "pipeline stages",
    "layout": "operand layouts (n as stored, t transposed)",
    "alignment": "elements that operands must be aligned to",
    "cast_from": "converts from",
    "cast_to": "converts to",
    "is_cast": "converts dtypes",
    "fused_attention": "fused attention",
    "head_dim": "head dim",
    "helper_of": "helper of",
    "evidence": "rests on",
}


def explain_name(name: str) -> list[tuple[str, str]]:
    """What the name says: each known property with its value; ``unknown`` where it says nothing.

    >>> dict(explain_name("nvjet_tst_128x64_64x8_1x2_h_bz_TNT"))["runs on"]
    'tensor_core'
    """
    found = classify_name(name)
    rows = []
    for field in fields(KernelClass):
        value = getattr(found, field.name)
        if value is None:
            continue
        text = (
            {True: "yes", False: "no"}.get(value, str(value))
            if isinstance(value, bool)
            else str(value)
        )
        rows.append((_WORDS[field.name], text))
    return rows
