"""AMD: Tensile (rocBLAS, hipBLASLt), Composable Kernel, MIOpen, aiter's assembly kernels."""

from __future__ import annotations

import re

from tracekit.kernels.dtypes import SHORT, find_type
from tracekit.kernels.model import CUDA_CORE, TENSOR_CORE, KernelClass
from tracekit.kernels.normalise import Name

_TENSILE = re.compile(
    r"Cijk_(A[ijlk]{3})_(B[ijlk]{3})_(?P<types>[A-Z0-9]+(?:_[A-Z]+)?)_(?P<rest>\w*)"
)
_TYPES = (("F8B8", "fp8_e4m3"), ("B8F8", "fp8_e5m2"), ("F8", "fp8_e4m3"), ("B8", "fp8_e5m2"), ("I8", "int8"),
          ("4xi8", "int8"), ("BB", "bf16"), ("B", "bf16"), ("HH", "fp16"), ("H", "fp16"), ("S", "fp32"),
          ("D", "fp64"), ("X", "tf32"))  # fmt: skip


def tensile(name: Name) -> KernelClass | None:
    """``Cijk_Alik_Bljk_BBS_BH_MT128x128x32_MI16x16x1_…``: MI is a matrix instruction."""
    found = _TENSILE.search(name.text)
    if not found:
        return None
    types = found["types"]
    dtype = next((word for tag, word in _TYPES if types.startswith(tag)), None)
    matrix = re.search(r"_MI\d+x\d+x\d+", name.text)
    tile = re.search(r"_MT(\d+x\d+x\d+)", name.text)
    isa = re.search(r"ISA(90a|942|950|1201|1200|908)|gfx(90a|942|950|1201|908)", name.text)
    core = matrix is not None or "MFMA" in name.text or "shortname" in name.text
    return KernelClass(
        "gemm",
        TENSOR_CORE if core else CUDA_CORE,
        compute_dtype=dtype,
        library="tensile",
        built_for=f"gfx{isa[1] or isa[2]}" if isa else None,
        tile=tile[1] if tile else None,
        layout=("n" if found[1] == "Ailk" else "t") + ("n" if found[2] == "Bljk" else "t"),
        evidence="Tensile name" + (": matrix instruction" if core else ": no matrix instruction"),
    )


def others(name: Name) -> KernelClass | None:
    """Composable Kernel, MIOpen and aiter."""
    text, raw = name.text, name.raw
    if re.search(r"igemm_(?:fwd|bwd|wrw)_gtc", text):
        tag = re.search(r"_(fp32|fp16|bf16|int8)_", text)
        arch = "gfx942" if "gtcx3" in text else "gfx90a" if "gtcx2" in text else None
        return KernelClass(
            "conv", TENSOR_CORE, compute_dtype=SHORT.get(tag[1]) if tag else None, library="miopen",
            built_for=arch, evidence="MIOpen implicit GEMM on MFMA",
        )  # fmt: skip
    if re.search(
        r"(?i)miopen|Op\dd?TensorGeneric|^Im2d?2?Col|Col2Im2d|batched_transpose_\d|^gridwise_|naive_conv_|SubTensorOp|MIOpenConv|gcnAsmConv|miopenSp3",
        text,
    ):
        return _miopen(text)
    if "ck::" in text or "ck_tile" in text or "2ck" in raw[:12] or "N2ck" in raw:
        core = re.search(r"(?i)xdl|mfma|wmma", raw) is not None
        conv = re.search(r"(?i)conv|grouped_conv", raw) is not None
        moe = re.search(r"(?i)moe|MulticastMoe", raw) is not None
        dtype = (
            "bf16"
            if re.search(r"DF16b|bhalf|bf16|ushort|E(?:t|j)?tt|ILi\\d+Ett|(?<=I)t(?=t)", raw + text)
            else "fp16"
            if "DF16_" in raw
            else find_type(name.template)
        )
        if re.search(r"(?i)gemm|conv", raw):
            return KernelClass(
                "moe" if moe else "conv" if conv else "gemm", TENSOR_CORE if core else CUDA_CORE,
                compute_dtype=dtype, library="composable_kernel",
                evidence="Composable Kernel: " + ("xdl is MFMA" if core else "no matrix instruction"),
            )  # fmt: skip
        return None
    return _aiter(name)


def _miopen(text: str) -> KernelClass | None:
    if re.search(r"(?i)batch_?norm|bnorm", text):
        kind = "norm"
    elif re.search(r"(?i)transpose|im2d?2?col|col2im", text):
        kind = "transpose"
    elif re.search(r"(?i)tensor|activ", text):
        kind = "elementwise"
    elif re.search(r"(?i)conv|sp3|gridwise", text):
        core = re.search(r"xdlops|mfma|wmma", text) is not None
        return KernelClass(
            "conv", TENSOR_CORE if core else CUDA_CORE, library="miopen",
            compute_dtype="fp32" if "fp32" in text or "_f32" in text else None, evidence="MIOpen convolution",
        )  # fmt: skip
    elif re.search(r"(?i)pool", text):
        kind = "other"
    else:
        return None
    return KernelClass(kind, CUDA_CORE, library="miopen", evidence="MIOpen kernel name")


def _aiter(name: Name) -> KernelClass | None:
    """Aiter's assembly: ``fmoe_…``, ``bf16gemm_…``: the first dtype may be the output."""
    func = name.func
    moe = re.match(r"(?:aiter::)?(?:fmoe_|mfma_moe|moe_ck|ck_moe)", func)
    if moe:
        quant = re.search(
            r"(?i)pertoken(Fp8|Int8|Mxfp4)|block(?:scale)?(Fp8)|_(i8|fp8|int8|vs)_|afp(8|4)",
            name.text,
        )
        word = next((g for g in quant.groups() if g), "").lower() if quant else ""
        dtype = (
            "fp8_e4m3"
            if "int4fp8" in func
            else {"fp8": "fp8_e4m3", "int8": "int8", "i8": "int8", "mxfp4": "fp4_e2m1"}.get(word)
        )
        return KernelClass(
            "moe", TENSOR_CORE, compute_dtype=dtype, library="aiter", evidence="aiter fused MoE"
        )
    gemm = re.search(
        r"^(?P<a>bf16|fp8|I8|i8|f4|fp4|a8w8|flatmm)_?gemm|^f4gemm|^gemm_(?:a8w8|kernel_func)|^flatmm_",
        func,
    )
    if gemm and "::" not in name.path.removeprefix("aiter::"):
        word = (gemm["a"] or "").lower()
        dtype = {
            "bf16": "bf16",
            "fp8": "fp8_e4m3",
            "i8": "int8",
            "f4": "fp4_e2m1",
            "fp4": "fp4_e2m1",
        }.get(word)
        if func.startswith("f4gemm"):
            dtype = "fp4_e2m1"
        return KernelClass(
            "gemm",
            TENSOR_CORE,
            compute_dtype=dtype,
            library="aiter",
            evidence="aiter assembly GEMM",
        )
    return None
