"""From the spellings of a dtype in kernel names, ops and templates to one word each."""

from __future__ import annotations

import re

__all__ = ["SHORT", "TYPES", "find_float", "find_type", "find_types", "op_type", "short"]

TYPES = {
    "float": "fp32",
    "double": "fp64",
    "half": "fp16",
    "__half": "fp16",
    "Half": "fp16",
    "half_t": "fp16",
    "_Float16": "fp16",
    "fp16_t": "fp16",
    "nv_half": "fp16",
    "float16": "fp16",
    "fp16": "fp16",
    "BFloat16": "bf16",
    "bfloat16": "bf16",
    "bfloat16_t": "bf16",
    "bf16_t": "bf16",
    "bhalf_t": "bf16",
    "__nv_bfloat16": "bf16",
    "nv_bfloat16": "bf16",
    "__hip_bfloat16": "bf16",
    "hip_bfloat16": "bf16",
    "__bf16": "bf16",
    "bf16": "bf16",
    "tfloat32_t": "tf32",
    "Float8_e4m3fn": "fp8_e4m3",
    "Float8_e4m3fnuz": "fp8_e4m3",
    "__nv_fp8_e4m3": "fp8_e4m3",
    "__hip_fp8_e4m3": "fp8_e4m3",
    "__hip_fp8_e4m3_fnuz": "fp8_e4m3",
    "float_e4m3_t": "fp8_e4m3",
    "fp8e4m3": "fp8_e4m3",
    "Float8_e5m2": "fp8_e5m2",
    "Float8_e5m2fnuz": "fp8_e5m2",
    "__nv_fp8_e5m2": "fp8_e5m2",
    "__hip_fp8_e5m2": "fp8_e5m2",
    "float_e5m2_t": "fp8_e5m2",
    "fp8e5m2": "fp8_e5m2",
    "__nv_fp4_e2m1": "fp4_e2m1",
    "float_e2m1_t": "fp4_e2m1",
    "Float4_e2m1fn_x2": "fp4_e2m1",
    "long": "int64",
    "int64_t": "int64",
    "int": "int32",
    "int32_t": "int32",
    "short": "int16",
    "schar": "int8",
    "int8_t": "int8",
    "uchar": "uint8",
    "uint8_t": "uint8",
    "bool": "bool",
    "complex<float>": "complex64",
    "complex<double>": "complex128",
}
"""C++ type names, namespace dropped, after ``normalise`` has made each one word."""

_TYPE = re.compile(
    r"(?<![\w])(complex<(?:float|double)>|"
    + "|".join(sorted((re.escape(t) for t in TYPES if "<" not in t), key=len, reverse=True))
    + r")(?![\w])(?!\*)(?!::)"
)

SHORT = {
    "f64": "fp64",
    "f32": "fp32",
    "tf32": "tf32",
    "f16": "fp16",
    "fp16": "fp16",
    "bf16": "bf16",
    "e4m3": "fp8_e4m3",
    "e5m2": "fp8_e5m2",
    "f8e4m3": "fp8_e4m3",
    "f8e5m2": "fp8_e5m2",
    "fp8": "fp8_e4m3",
    "f8": "fp8_e4m3",
    "e2m1": "fp4_e2m1",
    "f4": "fp4_e2m1",
    "fp4": "fp4_e2m1",
    "s8": "int8",
    "i8": "int8",
    "int8": "int8",
    "s4": "int4",
    "s32": "int32",
    "i32": "int32",
    "fp32": "fp32",
    "fp64": "fp64",
    "b1": "bool",
}
"""Short dtype tags inside names (``s16816gemm_bf16``, ``f32f32``)."""

_OP = {
    "float": "fp32",
    "double": "fp64",
    "Half": "fp16",
    "BFloat16": "bf16",
    "Float8_e4m3fn": "fp8_e4m3",
    "Float8_e4m3fnuz": "fp8_e4m3",
    "Float8_e5m2": "fp8_e5m2",
    "Float8_e5m2fnuz": "fp8_e5m2",
    "Float4_e2m1fn_x2": "fp4_e2m1",
    "long": "int64",
    "long int": "int64",
    "int": "int32",
    "short": "int16",
    "short int": "int16",
    "signed char": "int8",
    "unsigned char": "uint8",
    "bool": "bool",
    "complex<float>": "complex64",
    "complex<double>": "complex128",
}


def find_types(text: str, limit: int = 8) -> list[str]:
    """The first ``limit`` dtype words of the data types in ``text``, in order.

    Pointers are left out: they belong to argument lists, not to arithmetic.

    >>> find_types("4,at::native::CUDAFunctor_add<c10::BFloat16>,std::array<char*,3>")
    ['bf16']
    """
    out = []
    for m in _TYPE.finditer(text):
        out.append(TYPES[m.group(1)])
        if len(out) >= limit:
            break
    return out


def find_type(text: str) -> str | None:
    """The first data type in ``text``; null behind an ``OpaqueType``, which hides it.

    >>> find_type("128,4,OpaqueType<4>,float") is None
    True
    """
    m = _TYPE.search(text)
    if m is None:
        return None
    opaque = text.find("OpaqueType", 0, m.start())
    return TYPES[m.group(1)] if opaque < 0 else None


def find_float(text: str) -> str | None:
    """The first data type in ``text`` that is no integer or bool; else the first of any.

    >>> find_float("int,int,__nv_bfloat16,float")
    'bf16'
    """
    found = find_types(text)
    return next(
        (t for t in found if t[:3] not in ("int", "uin", "boo")), found[0] if found else None
    )


def short(tag: str | None) -> str | None:
    """Dtype word of a short tag, or null.

    >>> short("e4m3")
    'fp8_e4m3'
    """
    return SHORT.get(tag) if tag else None


def op_type(name: str) -> str | None:
    """Dtype word of an element of Kineto's ``Input type``; null for scalars and lists.

    >>> op_type("c10::BFloat16"), op_type("Scalar")
    ('bf16', None)
    """
    return _OP.get(name.removeprefix("c10::").strip())
