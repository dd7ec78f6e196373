"""One small parser a library family; the first that knows a name answers."""

from __future__ import annotations

from collections.abc import Callable

from tracekit.kernels.grammar import amd, aten, attention, cudnn, device, gemm, triton, words
from tracekit.kernels.model import KernelClass
from tracekit.kernels.normalise import Name

Parser = Callable[[Name], KernelClass | None]

PARSERS: tuple[Parser, ...] = (
    device.copies,  # Memcpy, Memset and the kernels that stand for them
    device.collectives,  # NCCL, RCCL, all-reduce kernels of serving engines, DeepEP
    attention.fused,  # before cuDNN and CUTLASS, whose names carry attention too
    gemm.nvjet,
    gemm.xmma,
    gemm.cutlass3,
    gemm.cutlass2,
    gemm.cublas,
    gemm.serving,  # trtllm-gen, DeepGEMM, Marlin, TensorRT-LLM
    amd.tensile,
    amd.others,  # Composable Kernel, MIOpen, aiter
    cudnn.convolutions,
    triton.inductor,
    aten.templates,
    words.by_words,  # what the words of a function's name say
)
"""Parsers in the order they are asked."""
