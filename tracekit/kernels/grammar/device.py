"""Copies, fills and collectives."""

from __future__ import annotations

import re

from tracekit.kernels.dtypes import SHORT, find_type
from tracekit.kernels.model import CUDA_CORE, UNKNOWN, KernelClass
from tracekit.kernels.normalise import Name

_COPY = re.compile(
    r"^(?:\[CUDA )?mem(?:cpy|ory copy)\W*(?P<way>[A-Za-z]+to[A-Za-z]+|[A-Za-z]+-to-[A-Za-z]+|DtoD|PtoP)?",
    re.IGNORECASE,
)
_JAX_COPY = re.compile(r"^Memcpy(?P<way>[HDP]2[HDP])$")
_WAYS = {
    "htod": "memcpy_h2d",
    "hosttodevice": "memcpy_h2d",
    "host-to-device": "memcpy_h2d",
    "h2d": "memcpy_h2d",
    "copyhosttodevice": "memcpy_h2d",
    "dtoh": "memcpy_d2h",
    "devicetohost": "memcpy_d2h",
    "device-to-host": "memcpy_d2h",
    "d2h": "memcpy_d2h",
    "copydevicetohost": "memcpy_d2h",
    "dtod": "memcpy_d2d",
    "devicetodevice": "memcpy_d2d",
    "device-to-device": "memcpy_d2d",
    "d2d": "memcpy_d2d",
    "copydevicetodevice": "memcpy_d2d",
    "ptop": "memcpy_p2p",
    "peertopeer": "memcpy_p2p",
    "peer-to-peer": "memcpy_p2p",
    "p2p": "memcpy_p2p",
}
_HOST_UNIT = re.compile(r"(?i)pinned|pageable")
_REDUCED = re.compile(
    r"_(?:[Ss]um|[Pp]rod|[Mm]ax|[Mm]in|PreMulSum|SumPostDiv|Avg)_([A-Za-z0-9_]+?)(?:_(?:RING|TREE|COLLNET|NVLS|LL|SIMPLE|LD|ST|PAT|f8)|\(|$)"
)
_NCCL = re.compile(
    r"ncclDev?Kernel|ncclKernel|ncclSymDevKernel|ncclSymkDevKernel|ncclDevFunc|nccl\w*Kernel"
)
_OTHER = re.compile(
    r"_all_?reduce_|_reduce_scatter_|_all_?gather_(?!weights)|deep_ep|_cross_device_reduce_|_all_to_all_"
    r"|_barrier_kernel_|_userbuffers_|_nvshmem|_symm_mem_|_quick_?reduce_|_allreduce|_multimem_"
)


def copies(name: Name) -> KernelClass | None:
    """``Memcpy HtoD (Pageable -> Device)``, ``[CUDA memcpy Host-to-Device]``, ``CopyDeviceToHost``."""
    raw = name.raw.strip()
    lower = raw.lower()
    if "rocclr_fillbuffer" in lower or lower.startswith(("memset", "[cuda memset", "fillbuffer")):
        kernel = "rocclr" in lower
        return KernelClass(
            "memset",
            CUDA_CORE if kernel else UNKNOWN,
            library="rocclr" if kernel else "cuda_runtime",
            evidence="name of a fill",
        )
    if "rocclr_copybuffer" in lower:
        return KernelClass("memcpy_d2d", CUDA_CORE, library="rocclr", evidence="copy as a kernel")
    found = _JAX_COPY.match(raw) or _COPY.match(raw)
    way = found["way"] if found else None
    if found is None and lower.startswith("copy") and lower in _WAYS:
        way = lower
    if way is None or way.lower() not in _WAYS:
        return None
    kind = _WAYS[way.lower()]
    engine = kind in ("memcpy_h2d", "memcpy_d2h") and _HOST_UNIT.search(raw)
    return KernelClass(
        kind,
        "copy_engine" if engine else UNKNOWN,
        library="cuda_runtime",
        is_cast=False,
        evidence="direction in the name",
    )


def collectives(name: Name) -> KernelClass | None:
    """Device kernels of NCCL and RCCL, and all-reduce or expert-dispatch kernels of engines."""
    text = name.text
    if _NCCL.search(text):
        dtype = None
        found = _REDUCED.search(name.raw)
        if found and not re.search(r"AllGather|Broadcast|SendRecv|AllToAll", text):
            word = found[1]
            dtype = (
                SHORT.get(word)
                or find_type(word)
                or {"half": "fp16", "u8": "uint8", "f8e5m2": "fp8_e5m2", "f8e4m3": "fp8_e4m3"}.get(
                    word
                )
            )
        generic = "Generic" in text
        return KernelClass(
            "collective",
            CUDA_CORE,
            compute_dtype=None if generic else dtype,
            library="rccl" if generic else "nccl",
            evidence="nccl kernel name",
        )
    words = name.words
    if _OTHER.search(words) and not re.search(r"_rms_?norm_kernel_$|_gemm_", words):
        dtype = None
        if "deep_ep" not in words:
            dtype = find_type(name.template) or find_type(name.params.replace("*", ""))
        return KernelClass(
            "collective", CUDA_CORE, compute_dtype=dtype,
            library="deep_ep" if "deep_ep" in words else "custom", evidence="collective in the name",
        )  # fmt: skip
    return None
