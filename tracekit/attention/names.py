"""Which ops are attention, on which backend, and what their arguments mean."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import orjson

ROOT = (
    r"^aten::(scaled_dot_product_attention|_scaled_dot_product_\w*attention\w*"
    r"|_(flash|efficient|cudnn)_attention_(forward|backward)|_fused_sdp_attention\w*)$"
    r"|ScaledDotProduct\w*Attention\w*Backward\d*$"
    r"|flex_attention"
    r"|(?i:(^|::|_|: )(flash_?attn|flash_?attention)\w*)"
    r"|(?i:flash\w*attn\w*func|fused_?attn_?func|fmha|memory_efficient_attention)"
    r"|^xformers::efficient_attention|^xformers_flash|^vllm::unified_attention|^sglang::\w*attention"
    r"|^transformer_engine\w*::fused_attn|^_?sage_?attn"
)
"""Ops that stand for one attention call, whatever runs inside."""

MATMUL = r"^aten::(bmm|baddbmm|mm|_scaled_mm)$"
SOFTMAX = r"^aten::_softmax$|^triton_\w*softmax\w*$"
SOFTMAX_BACKWARD = r"^aten::_softmax_backward_data$"

_BACKENDS = (
    # the first that fits an op inside the call wins
    ("math", r"_scaled_dot_product_attention_math"),
    ("flex", r"flex_attention"),
    ("cudnn", r"(?i)_cudnn_attention|dot_product_cudnn|DotProductCudnn"),
    (
        "efficient",
        r"(?i)_efficient_attention|dot_product_efficient|DotProductEfficient|fmha_cutlass|xformers",
    ),
    ("flash", r"(?i)_flash_attention|dot_product_flash|DotProductFlash|flash_?attn|xformers_flash"),
)

_DTYPES = {
    "c10::BFloat16": "bf16",
    "c10::Half": "fp16",
    "float": "fp32",
    "double": "fp64",
    "c10::Float8_e4m3fn": "fp8_e4m3",
    "c10::Float8_e5m2": "fp8_e5m2",
    "bool": "bool",
}
_MAX_TEXT = 100_000
_MAX_DIM = 2**40


def backend_of(names: list[str]) -> str | None:
    """Backend that the ops of a call speak of, or ``None``.

    >>> backend_of(["aten::scaled_dot_product_attention", "aten::_flash_attention_forward"])
    'flash'
    """
    for backend, pattern in _BACKENDS:
        if any(re.search(pattern, name) for name in names):
            return backend
    return None


def dtype_of(name: str | None) -> str | None:
    """Our word for a c10 type name; ``None`` for one that is no dtype of attention.

    >>> dtype_of("c10::Half"), dtype_of("Scalar")
    ('fp16', None)
    """
    return _DTYPES.get(name or "")


@dataclass(frozen=True)
class Shape:
    """What an attention call works on; ``None`` where the trace does not say.

    >>> Shape(batch=8, heads=16, q_len=1024, kv_len=1024).scores
    134217728
    """

    batch: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    q_len: int | None = None
    kv_len: int | None = None
    head_dim: int | None = None
    v_head_dim: int | None = None
    dtype: str | None = None
    causal: bool | None = None
    mask: str | None = None

    @property
    def scores(self) -> int | None:
        """Elements of the score matrix of all heads."""
        parts = (self.batch, self.heads, self.q_len, self.kv_len)
        if any(p is None for p in parts):
            return None
        total = 1
        for part in parts:
            total *= part or 0
        return total


@dataclass(frozen=True)
class _Signature:
    """Positions of the arguments of an op; -1 for one it does not have."""

    q: int = 0
    mask: int = -1
    causal: int = -1
    heads_second: bool = True
    """[batch, heads, length, dim]; else [batch, length, heads, dim]."""


_SIGNATURES = {
    "aten::scaled_dot_product_attention": _Signature(mask=3, causal=5),
    "aten::_scaled_dot_product_attention_math": _Signature(mask=3, causal=5),
    "aten::_scaled_dot_product_flash_attention": _Signature(causal=4),
    "aten::_scaled_dot_product_efficient_attention": _Signature(mask=3, causal=6),
    "aten::_scaled_dot_product_cudnn_attention": _Signature(mask=3, causal=6),
    "aten::_scaled_dot_product_fused_attention_overrideable": _Signature(mask=3, causal=5),
    "aten::_scaled_dot_product_flash_attention_backward": _Signature(q=1, causal=11),
    "aten::_scaled_dot_product_efficient_attention_backward": _Signature(q=1, mask=4, causal=11),
    "aten::_scaled_dot_product_cudnn_attention_backward": _Signature(q=1),
    "aten::_flash_attention_forward": _Signature(causal=8, heads_second=False),
    "aten::_efficient_attention_forward": _Signature(mask=3, heads_second=False),
    "flash_attn::_flash_attn_forward": _Signature(causal=5, heads_second=False),
    "flash_attn::_flash_attn_backward": _Signature(q=1, heads_second=False),
}
"""Argument positions, from PyTorch's native_functions.yaml (2.1 to 2.13) and flash-attn 2."""


def has_signature(name: str) -> bool:
    """Whether the arguments of this op are understood.

    >>> has_signature("aten::_scaled_dot_product_flash_attention"), has_signature("aten::add")
    (True, False)
    """
    return name in _SIGNATURES or name.startswith("triton_tem_fused_flex_attention")


@lru_cache(maxsize=4096)
def shape_of(name: str, dims: str | None, types: str | None, concrete: str | None) -> Shape:
    """Shape, dtype and mask of an attention op from its recorded arguments (JSON text).

    >>> shape_of("aten::_scaled_dot_product_flash_attention",
    ...          "[[2,4,64,32],[2,4,64,32],[2,4,64,32],[],[]]",
    ...          '["c10::Half","c10::Half","c10::Half","Scalar","Scalar"]',
    ...          '["","","","0.","True"]').causal
    True
    """
    sizes, kinds, values = _list(dims), _list(types), _list(concrete)
    signature = _SIGNATURES.get(name, _Signature())
    q, k, v = (dims_at(sizes, signature.q + i) for i in range(3))
    if len(q) != 4 or len(k) != 4:
        return Shape(dtype=dtype_of(_at(kinds, signature.q)))
    if signature.heads_second:
        shape = Shape(q[0], q[1], k[1], q[2], k[2], q[3])
    else:
        shape = Shape(q[0], q[2], k[2], q[1], k[1], q[3])
    causal = _at(values, signature.causal)
    return replace(
        shape,
        v_head_dim=v[3] if len(v) == 4 else None,
        dtype=dtype_of(_at(kinds, signature.q)),
        causal={"True": True, "False": False}.get(str(causal)) if signature.causal >= 0 else None,
        mask=_mask(signature, sizes, kinds, causal),
    )


def _mask(signature: _Signature, sizes: list[Any], kinds: list[Any], causal: object) -> str | None:
    if "flex" in str(kinds) or (signature.mask < 0 and signature.causal < 0):
        return None
    if signature.mask >= 0 and dims_at(sizes, signature.mask):
        return "bool" if _at(kinds, signature.mask) == "bool" else "float"
    if causal is None or str(causal) not in ("True", "False"):
        return None
    return "causal" if str(causal) == "True" else "none"


def dims_at(sizes: list[Any], index: int) -> tuple[int, ...]:
    """Dimensions of the tensor at ``index``; empty when there is none or it makes no sense.

    >>> dims_at([[2, 3], []], 0), dims_at([[2, "x"]], 0)
    ((2, 3), ())
    """
    dims = _at(sizes, index)
    if not isinstance(dims, list) or not dims or len(dims) > 16:
        return ()
    if not all(isinstance(d, int) and not isinstance(d, bool) and 0 <= d < _MAX_DIM for d in dims):
        return ()
    return tuple(dims)


@lru_cache(maxsize=4096)
def all_dims(text: str | None) -> tuple[tuple[int, ...], ...]:
    """Dimensions of every argument of an op, empty for those that are no tensor.

    >>> all_dims("[[8,16],[]]")
    ((8, 16), ())
    """
    sizes = _list(text)
    return tuple(dims_at(sizes, i) for i in range(min(len(sizes), 64)))


@lru_cache(maxsize=4096)
def dtypes(text: str | None) -> tuple[str | None, ...]:
    """Our words for the types of an op's arguments.

    >>> dtypes('["c10::Half","Scalar"]')
    ('fp16', None)
    """
    return tuple(dtype_of(t) if isinstance(t, str) else None for t in _list(text)[:64])


def concrete_list(text: str | None) -> tuple[int, ...]:
    """The first argument of an op where it is a list of sizes, e.g. that of ``aten::ones``.

    >>> concrete_list('["[1024, 1024]","15"]')
    (1024, 1024)
    """
    first = _at(_list(text), 0)
    return dims_at([_list(first)], 0) if isinstance(first, str) and first.startswith("[") else ()


def _list(text: str | None) -> list[Any]:
    if not text or len(text) > _MAX_TEXT:
        return []
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return []
    return value if isinstance(value, list) else []


def _at(values: list[Any], index: int) -> Any:
    return values[index] if 0 <= index < len(values) else None
