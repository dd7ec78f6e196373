"""cuDNN convolutions, norms and layout changes."""

from __future__ import annotations

import re

from tracekit.kernels.dtypes import SHORT, find_float
from tracekit.kernels.grammar.gemm import ARCH
from tracekit.kernels.model import CUDA_CORE, TENSOR_CORE, UNKNOWN, KernelClass
from tracekit.kernels.normalise import Name

_MARK = re.compile(
    r"cudnn|cask_|scudnn|hcudnn|implicit_convolve|winograd|wgrad_alg|dgrad_engine|dgrad2d|wgrad2d|fprop2d|conv2d_|grouped_direct|"
    r"^fft2d_|fft1d_|_fft_|convolve_|precomputed_convolve|explicit_convolve|im2col4d|col2im4d|s\d{4}cudnn|conv_depthwise|nchwToNhwc|nhwcToNchw"
)
_NAMED = re.compile(
    r"(?:(maxwell|volta|turing|ampere|sm\d\d)_)?(?:(fp16|bf16|int8|tf32)_)?([shi])(\d{3,5})?cudnn(?:_(fp16|bf16|int8|tf32))?"
)


def convolutions(name: Name) -> KernelClass | None:
    """Convolution kernels by engine; batch norms and NCHW/NHWC transposes of cuDNN."""
    text = name.text
    if not (_MARK.search(text) or _MARK.search(name.raw)) or "at::native" in text:
        return None
    dtype = find_float(name.template)
    if re.search(r"nchwToNhwc|nhwcToNchw|nchw2nhwc|transpose|ToNhwc|ToNchw", name.func):
        return _cuda("transpose", dtype, "layout change")
    if re.search(r"(?:^|::)bn_|batch_?norm|bnorm", text, re.IGNORECASE):
        return _cuda("norm", dtype, "cuDNN batch norm")
    if re.search(r"softmax", text, re.IGNORECASE):
        return _cuda("softmax", dtype, "cuDNN softmax")
    if re.search(r"pooling", text, re.IGNORECASE):
        return _cuda("other", dtype, "cuDNN pooling")
    if re.search(
        r"ops::scalePackedTensor|scale_?tensor|op_generic_tensor|add_tensor|activation",
        text,
        re.IGNORECASE,
    ):
        return _cuda("elementwise", dtype, "cuDNN tensor op")
    if re.search(r"reduce_?tensor|reduction", text, re.IGNORECASE):
        return _cuda("reduction", dtype, "cuDNN reduction")
    named = _NAMED.search(text)
    if named:
        tagged = SHORT.get(named[2] or "") or SHORT.get(named[5] or "")
        core = named[4] is not None
        plain = {"s": "fp32", "h": "fp16", "i": "int8"}[named[3]]
        arch = named[1]
        if core and not tagged:
            tagged = "tf32" if named[4] == "1688" and arch == "ampere" else "fp16"
        return KernelClass(
            "conv", TENSOR_CORE if core else CUDA_CORE, compute_dtype=tagged if core else plain,
            library="cudnn", built_for=ARCH.get(arch[2:], arch) if arch and arch[:2] == "sm" else arch,
            evidence="cuDNN name: " + ("MMA shape" if core else "no MMA shape"),
        )  # fmt: skip
    if re.search(r"Implicit_?Gemm|cutlass", text):
        core = "tensorop" in text or "OpClassTensorOp" in text
        simt = "simt" in text.lower() or "OpClassSimt" in text
        unit = TENSOR_CORE if core else CUDA_CORE if simt else UNKNOWN
        return KernelClass("conv", unit, library="cudnn", evidence="CUTLASS convolution")
    if re.search(
        r"convolve|winograd|wgrad|dgrad|fprop|fft|scudnn|conv|Offsets|im2col|col2im|cask_", text
    ):
        helper = (
            "conv"
            if re.search(r"Offsets|winograd\w*(?:Data|Filter|Output|Delta)|fft\w*(?:r2c|c2r)", text)
            else None
        )
        if dtype == "int32":
            dtype = None
        return KernelClass(
            "conv", CUDA_CORE, compute_dtype=dtype, library="cudnn", helper_of=helper,
            evidence="scalar convolution engine or its helper",
        )  # fmt: skip
    return None


def _cuda(kind: str, dtype: str | None, why: str) -> KernelClass:
    return KernelClass(kind, CUDA_CORE, compute_dtype=dtype, library="cudnn", evidence=why)
