"""Matrix products: cuBLAS, cublasLt (nvjet), xmma, CUTLASS 2 and 3, serving engines."""

from __future__ import annotations

import re

from tracekit.kernels.dtypes import SHORT, find_float, find_types
from tracekit.kernels.model import CUDA_CORE, TENSOR_CORE, KernelClass
from tracekit.kernels.normalise import Name

ARCH = {"50": "maxwell", "52": "maxwell", "60": "pascal", "70": "volta", "75": "turing", "80": "ampere",
        "86": "ampere", "89": "ada", "90": "hopper", "100": "blackwell", "103": "blackwell",
        "110": "blackwell", "120": "blackwell", "121": "blackwell"}  # fmt: skip

_NVJET = re.compile(
    r"nvjet(?:_sm(?P<sm>\d+))?_(?P<types>[a-z]{3,5})(?:_(?P<tf32>tf32))?(?:_mma)?(?:_(?P<tile>\d+x\d+))?"
    r"(?:_(?P<k>\d+)x(?P<stages>\d+))?"
)
_LETTER = {
    "h": "fp16",
    "t": "bf16",
    "s": "fp32",
    "d": "fp64",
    "q": "fp8_e4m3",
    "r": "fp8_e5m2",
    "o": "fp4_e2m1",
}


def nvjet(name: Name) -> KernelClass | None:
    """CublasLt's own kernels since CUDA 12: always tensor cores."""
    found = _NVJET.search(name.text)
    if not found:
        return None
    types = found["types"]
    dtype = _LETTER.get(types[0])
    if types.startswith("biu"):
        dtype = "int8"
    elif len(types) == 5 and {types[0], types[1]} == {"q", "r"}:
        dtype = "fp8"
    elif types == "sss" or found["tf32"]:
        dtype = "tf32"
    layout = re.search(r"_([NT]{2,3})[NT]?$", name.text)
    return KernelClass(
        "gemm",
        TENSOR_CORE,
        compute_dtype=dtype,
        accumulate_dtype="int32" if types.startswith("biu") else "fp32",
        library="cublasLt_nvjet",
        built_for=ARCH.get(found["sm"] or "") or ("blackwell" if "_2cta" in name.text else None),
        tile=f"{found['tile']}x{found['k']}" if found["tile"] and found["k"] else found["tile"],
        stages=int(found["stages"]) if found["stages"] else None,
        layout=layout[1].lower() if layout else None,
        evidence=f"nvjet operand letters {types}",
    )


_T = r"tf32|bf16|f16|f32|f64|e4m3|e5m2|[isu]8|i32"
_XMMA = re.compile(rf"_(?:{_T})(?:{_T})_(?P<math>{_T})(?P<acc>{_T})_")
_GENERATION = {"volta": "volta", "turing": "turing", "ampere": "ampere", "hopper": "hopper"}


def xmma(name: Name) -> KernelClass | None:
    """``sm80_xmma_gemm_f32f32_tf32f32_…``: the second pair is what the arithmetic runs in."""
    text = name.text
    if "_xmma_" not in text:
        return None
    found = _XMMA.search(text)
    what = re.search(r"_xmma_([a-z]+)", text)
    verb = what[1] if what else "gemm"
    kind = "conv" if verb in ("fprop", "dgrad", "wgrad", "conv", "deconv") else "gemm"
    core = not re.search(r"ffma|simt|dfma", text)
    proven = re.search(r"tensor\d+x\d+x\d+|warpgroup|gmma|tensorop|hmma|imma", text) or not core
    dtype = SHORT.get(found["math"]) if found else None
    if found and dtype == "fp32" and not proven:
        unit = CUDA_CORE
    else:
        unit = TENSOR_CORE if core else CUDA_CORE
    sm = re.search(r"sm_?(\d{2,3})_xmma", text)
    generation = re.match(r"(?:cudnn_\w+?_)?(volta|turing|ampere|hopper)", text)
    tile = re.search(r"tilesize(\d+x\d+x\d+)", text)
    stages = re.search(r"stage(\d+)", text)
    align = re.search(r"aligna(\d+)", text)
    return KernelClass(
        kind,
        unit,
        compute_dtype=dtype,
        accumulate_dtype=SHORT.get(found["acc"] or "") if found else None,
        library="cudnn" if kind == "conv" or "cudnn" in text else "cublas",
        built_for=ARCH.get(sm[1]) if sm else _GENERATION.get(generation[1]) if generation else None,
        tile=tile[1] if tile else None,
        stages=int(stages[1]) if stages else None,
        alignment=int(align[1]) if align else None,
        evidence="xmma math pair" + ("" if core else ", ffma"),
    )


_CUTLASS3 = re.compile(
    r"cutlass3x?_(?:sm)?(?P<sm>\d+)_(?P<op>bstensorop|tensorop|simt|sptensorop)_(?P<acc>[a-z]*?)(?P<mnk>\d+x\d+x\d+)?(?P<tf32>tf32)?gemm"
    r"(?:_grouped)?_(?P<a>[a-z0-9]+)_(?P<b>[a-z0-9]+)_(?P<c>f32|f16|s32|bf16)"
)


def cutlass3(name: Name) -> KernelClass | None:
    """``cutlass3x_sm90_tensorop_s64x128x16gemm_bf16_bf16_f32_…``."""
    text = name.text
    if not re.search(r"cutlass3x?_", text):
        return None
    found = _CUTLASS3.search(text)
    simt = "simt" in text
    dtype = None
    if found:
        # Block-scaled operands are written scale x data.
        operand = found["a"].rsplit("x", 1)[-1] if "x" in found["a"] else found["a"]
        dtype = "tf32" if found["tf32"] else SHORT.get(operand)
        if dtype == "fp32" and not simt:
            dtype = "tf32"
    elif simt and "sgemm" in text:
        dtype = "fp32"
    sm = re.search(r"_sm(\d+)", text)
    tile = re.search(r"_(\d+x\d+x\d+)_\d+x\d+x\d+_", text)
    align = re.search(r"align(\d+)", text)
    return KernelClass(
        "gemm", CUDA_CORE if simt else TENSOR_CORE, compute_dtype=dtype,
        accumulate_dtype=SHORT.get(found["c"]) if found else None,
        library="cutlass3x", built_for=ARCH.get(sm[1]) if sm else None,
        tile=tile[1] if tile else None, alignment=int(align[1]) if align else None,
        evidence="CUTLASS 3 name: " + ("simt" if simt else "tensorop"),
    )  # fmt: skip


_CUTLASS2 = re.compile(
    r"cutlass_(?:(?P<sm>\d\d)_)?(?P<op>wmma_tensorop|tensorop|simt)_(?:(?P<out>[a-z]+\d*|[a-z]\d+)_)?"
    r"(?P<acc>[shdicgz]*)(?P<mnk>\d{3,6})?(?P<verb>gemm|fprop|dgrad|wgrad)"
)


def cutlass2(name: Name) -> KernelClass | None:
    """``cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x4_nn_align8`` as cuBLAS ships them."""
    text = name.text
    found = _CUTLASS2.search(text)
    if not found:
        return None
    verb = found["verb"]
    rest = text[found.end() :]
    after = re.match(r"(?:_(?:relu|grouped|optimized|analytic|few_channels|fixed_channels|unity_stride|strided|planar_complex))*"
                     r"_(tf32|bf16|f16|s8|e4m3|f64|f32|fp16|i8|u8)(?=_)", rest)  # fmt: skip
    operand = SHORT.get(after[1]) if after else None
    before = SHORT.get(found["out"] or "")
    simt = found["op"] == "simt"
    acc = found["acc"]
    if simt:
        dtype = {"s": "fp32", "d": "fp64", "h": "fp16", "i": "int8", "c": "complex64"}.get(acc)
    elif acc == "d" or (found["mnk"] == "884" and acc == "d"):
        dtype = "fp64"
    elif acc == "i":
        dtype = "int8"
    elif operand:
        dtype = operand if operand != "fp32" else "tf32"
    elif before and before != "fp32":
        dtype = before
    elif found["mnk"] in ("1688", "16816") and acc == "s":
        dtype = "tf32" if found["mnk"] == "1688" else None
    elif acc == "h":
        dtype = "fp16"
    else:
        dtype = None
    tile = re.search(r"_(\d+x\d+)(?:_(\d+)x(\d+))?", rest)
    layout = re.search(r"_([nt]{2})(?=_|>|$)", rest)
    align = re.search(r"align(\d+)", rest)
    kind = "gemm" if verb == "gemm" else "conv"
    return KernelClass(
        kind, CUDA_CORE if simt else TENSOR_CORE, compute_dtype=dtype,
        accumulate_dtype={"s": "fp32", "d": "fp64", "h": "fp16", "i": "int32"}.get(acc),
        library="cudnn" if kind == "conv" or "cudnn" in text else "cublas",
        built_for=ARCH.get(found["sm"] or ""),
        tile=(f"{tile[1]}x{tile[2]}" if tile[2] else tile[1]) if tile else None,
        stages=int(tile[3]) if tile and tile[3] else None,
        layout=layout[1] if layout else None,
        alignment=int(align[1]) if align else None,
        evidence=f"CUTLASS 2 name: {found['op']}",
    )  # fmt: skip


_LEGACY = re.compile(
    r"^(?:trt_)?(?:(?P<gen>maxwell|pascal|volta|turing|ampere|sm\d\d)_)(?:(?P<a>fp16|bf16|int8|fp8|tf32)_)?(?P<acc>gc|c|z|s|h|d|i|b)(?P<mnk>\d{3,5})?gemm"
    r"(?:_(?P<out>fp16|bf16|int8|tf32|fp32))?(?P<rest>\w*)"
)
_PLAIN = re.compile(r"(?:^|_|:)(?P<acc>s|d|h|c|z)gemm(?:_|$|N|Ex)")
_VECTOR = re.compile(
    r"gemv|dot_kernel|gemmk1|gemmSN|gemm_small|reduce_1Block|asum_kernel|nrm2|scal_kernel|axpy|_ger_?kernel|iamax|symv"
)


def _letter(letter: str) -> str | None:
    """Dtype of a BLAS letter."""
    return {"s": "fp32", "d": "fp64", "h": "fp16", "c": "complex64", "z": "complex128"}.get(letter)


def cublas(name: Name) -> KernelClass | None:
    """Older cuBLAS kernels, split-K tails and matrix-vector products."""
    text = name.text
    if re.search(r"splitK?_?[rR]educe", text):
        return KernelClass(
            "reduction", CUDA_CORE, compute_dtype=find_float(name.template), library="cublas",
            helper_of="gemm", evidence="tail of a split-K product",
        )  # fmt: skip
    if re.search(r"trsm|trsv|syrk_|getrf|potrf", name.func):
        return KernelClass(
            "other", CUDA_CORE, compute_dtype=find_float(name.template), library="cublas",
            evidence="triangular solve or factorisation",
        )  # fmt: skip
    found = _LEGACY.search(text)
    if found and "cudnn" not in text:
        return _legacy(found)
    if re.search(
        r"(?:^|:)internal::|^(?:void )?(?:dot_|gemv|gemm|reduce_1)|cublas", text
    ) or _VECTOR.search(name.func):
        vector = _VECTOR.search(text)
        if vector and not re.search(r"marlin|quant|awq|4bit|w8a|fp8", text):
            reducing = "reduce_1Block" in text
            shown = [t for t in find_types(name.template, 16) if t not in ("int32", "bool")]
            if "dot_kernel" in text or reducing:
                # The first type is the accumulator; operands stand in the tensor parameters.
                dtype = next(
                    (t for t in shown if t in ("bf16", "fp16")), shown[0] if shown else None
                )
            else:
                dtype = shown[0] if shown else None
            return KernelClass(
                "reduction" if reducing else "gemm",
                CUDA_CORE, compute_dtype=dtype, library="cublas",
                helper_of="gemm" if "reduce_1Block" in text else None,
                evidence="matrix-vector or dot product: no matrix instruction",
            )  # fmt: skip
    plain = _PLAIN.search(name.func)
    if plain and not re.search(r"triton|group|moe|quant|convolve", text):
        return KernelClass(
            "gemm", CUDA_CORE, compute_dtype=_letter(plain["acc"]), library="cublas",
            evidence="plain BLAS name: no matrix instruction",
        )  # fmt: skip
    return None


def _legacy(found: re.Match[str]) -> KernelClass:
    mnk, acc, a = found["mnk"], found["acc"], found["a"]
    out = found["out"]
    generation = found["gen"]
    tagged = SHORT.get(a or "") or SHORT.get(out or "")
    dtype: str | None
    if mnk is None:
        dtype = "int8" if acc == "i" else _letter(acc)
        if acc == "gc":
            dtype = "complex64"
        if tagged and acc == "s":
            dtype = "fp32"
    elif acc == "d":
        dtype = "fp64"
    elif acc == "i":
        dtype = "int8"
    elif acc == "h":
        dtype = "fp16"
    elif tagged and tagged != "fp32":
        dtype = tagged
    elif mnk == "1688" and generation == "ampere":
        dtype = "tf32"
    else:
        dtype = "fp16" if mnk == "884" or (mnk == "1688" and generation == "turing") else None
    tile = re.search(r"_(\d+x\d+)", found["rest"])
    layout = re.search(r"_([nt]{2})(?:_|$)", found["rest"])
    return KernelClass(
        "gemm", TENSOR_CORE if mnk else CUDA_CORE, compute_dtype=dtype,
        accumulate_dtype={"s": "fp32", "h": "fp16", "d": "fp64", "i": "int32"}.get(acc),
        library="cublas", built_for=ARCH.get(generation[2:], generation) if generation.startswith("sm") else generation,
        tile=tile[1] if tile else None, layout=layout[1] if layout else None,
        evidence=f"cuBLAS name: {'MMA shape ' + mnk if mnk else 'no MMA shape'}",
    )  # fmt: skip


_TRTLLM = re.compile(
    r"^(?P<verb>bmm|gemm|gemmGatedAct)_(?P<c>[A-Z][a-z0-9]+)_(?P<ab>(?:[A-Z]x?[a-z0-9]+)+?)_(?P<acc>Fp32)"
)
_GEN_TYPES = {
    "E4m3": "fp8_e4m3",
    "E2m1": "fp4_e2m1",
    "Bfloat16": "bf16",
    "Fp16": "fp16",
    "MxE4m3": "fp8_e4m3",
    "MxE2m1": "fp4_e2m1",
}


def serving(name: Name) -> KernelClass | None:
    """trtllm-gen, DeepGEMM, Marlin and other quantised products of serving engines."""
    text, raw = name.text, name.raw
    found = _TRTLLM.search(raw.removeprefix("void "))
    if found:
        first = re.match(r"(?:Mx)?(?:E4m3|E2m1|Bfloat16|Fp16)", found["ab"])
        return KernelClass(
            "moe" if found["verb"] == "bmm" else "gemm", TENSOR_CORE,
            compute_dtype=_GEN_TYPES.get(first[0]) if first else None, accumulate_dtype="fp32",
            library="trtllm_gen", built_for="blackwell", evidence="trtllm-gen name: output, then operands",
        )  # fmt: skip
    if "deep_gemm::fp8_gemm_kernel" in text:
        return KernelClass(
            "gemm", TENSOR_CORE, compute_dtype="fp8_e4m3", accumulate_dtype="fp32",
            library="deep_gemm", built_for="hopper", evidence="DeepGEMM name",
        )  # fmt: skip
    deep = re.search(
        r"sm(90|100)_(?:m_grouped_)?(fp8_fp4|fp8|bf16|tf32)_\w*?(?:gemm|mqa_logits|bmm|bhr|bmk)\w*",
        text,
    )
    if deep and "mqa_logits" not in text:
        grouped = re.search(r"GemmType\)?(?:\(?)([12])|GemmType\)[12]", raw)
        dtype = {"fp8": "fp8_e4m3", "fp8_fp4": None, "bf16": "bf16", "tf32": "tf32"}[deep[2]]
        return KernelClass(
            "moe" if grouped or "grouped" in text else "gemm", TENSOR_CORE, compute_dtype=dtype,
            accumulate_dtype="fp32", library="deep_gemm", built_for=ARCH[deep[1]],
            evidence="DeepGEMM name",
        )  # fmt: skip
    if re.search(r"marlin", text, re.IGNORECASE) and not re.search(r"repack|permute|gather", text):
        moe = "moe" in text.lower()
        number = re.search(r"1125899906909960|1125899906910725", raw)
        dtype = (
            {"1125899906909960": "bf16", "1125899906910725": "fp16"}.get(number[0])
            if number
            else None
        )
        return KernelClass(
            "moe" if moe else "gemm", TENSOR_CORE, compute_dtype=dtype or find_float(name.template),
            library="marlin", evidence="Marlin: dequantises to 16 bit, multiplies on tensor cores",
        )  # fmt: skip
    return None


__all__ = ["ARCH", "cublas", "cutlass2", "cutlass3", "nvjet", "serving", "xmma"]
