"""Inductor's Triton kernels: the name lists the ops that were fused, in no order that matters."""

from __future__ import annotations

import re

from tracekit.kernels.model import CUDA_CORE, UNKNOWN, KernelClass
from tracekit.kernels.normalise import Name

_INDUCTOR = re.compile(
    r"^triton_(poi|red|per|tem|mm|for|spl)_fused_?(?P<ops>\w*?)_?\d*(?:\.kd)?$|^triton_(?P<bare>mm|bmm|poi|red|per|tem)_?\w*$"
)
_OLD = re.compile(r"^triton__?(?:\d+(?:d\d+)*\w*|\w{0,4})$")
_PRODUCT = re.compile(
    r"(?:^|_)(?:mm|bmm|addmm|baddbmm|scaled_mm|int_mm|matmul|convolution|conv2d)(?:_|$)"
)


def inductor(name: Name) -> KernelClass | None:
    """``poi``, ``red`` and ``per`` hold no product; ``tem`` is a GEMM, convolution or attention."""
    func = name.func
    if not func.startswith("triton"):
        return None
    found = _INDUCTOR.match(func)
    sort = (found[1] or found["bare"]) if found else None
    ops = (found["ops"] or "") if found else ""
    if sort in ("poi", "red", "per", "for", "spl"):
        return KernelClass(
            "triton", CUDA_CORE, library="inductor",
            is_cast=True if re.fullmatch(r"_?(?:_to_copy|convert_element_type)(?:_(?:view|transpose|clone|t|permute))*", ops)
            or re.match(r"_?_to_copy_abs_(?:amax_)?clamp_div_", ops) else None,
            evidence=f"Inductor {sort}: no matrix product",
        )  # fmt: skip
    if sort in ("tem", "mm", "bmm"):
        conv = "conv" in ops
        return KernelClass(
            "conv" if conv else "gemm", UNKNOWN, library="inductor",
            evidence="Inductor template: a product, unit and dtype are not in the name",
        )  # fmt: skip
    if _OLD.match(func) or func.startswith(("triton_", "triton__")):
        return KernelClass(
            "triton", UNKNOWN, library="inductor", evidence="Triton name that says nothing"
        )
    return None
