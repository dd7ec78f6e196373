"""What kind of activity an event is, whatever its producer calls it."""

from __future__ import annotations

import re

import polars as pl

CPU_OP, ANNOTATION, PYTHON = "cpu_op", "annotation", "python"
RUNTIME, DRIVER = "runtime", "driver"
KERNEL, MEMCPY, MEMSET = "kernel", "memcpy", "memset"
GPU_ANNOTATION, SYNC, OVERHEAD, OTHER = "gpu_annotation", "sync", "overhead", "other"

HOST_RANGES = (CPU_OP, ANNOTATION)
CALLS = (RUNTIME, DRIVER)
DEVICE_WORK = (KERNEL, MEMCPY, MEMSET)
"""Activities that occupy a device stream. A synchronisation or annotation row never counts."""

_BY_CATEGORY = {
    "cpu_op": CPU_OP,
    "operator": CPU_OP,  # Kineto before 1.11
    "user_annotation": ANNOTATION,
    "python_function": PYTHON,
    "kernel": KERNEL,
    "concurrent_kernel": KERNEL,
    "gpu_memcpy": MEMCPY,
    "memcpy": MEMCPY,
    "memcpy2": MEMCPY,
    "gpu_memcpy2": MEMCPY,
    "gpu_memset": MEMSET,
    "memset": MEMSET,
    "gpu_user_annotation": GPU_ANNOTATION,
    "cuda_sync": SYNC,
    "cuda_event": SYNC,
    "sync": SYNC,
    "overhead": OVERHEAD,
    "cpu_instant_event": OTHER,
}

_LEGACY_ROWS = {"CPU functions": CPU_OP, "CUDA functions": KERNEL}
"""Process rows of the profiler before Kineto (torch < 1.8 and builds without it); no categories."""

_COPY_NAMES = r"^(?i:memcpy|copy(hosttodevice|devicetohost|devicetodevice|peertopeer))"


def of_category(category: str | None) -> str:
    """The activity that a category means; spelling and capitals vary by producer and version.

    >>> of_category("Kernel"), of_category("cuda_runtime"), of_category("xpu_driver")
    ('kernel', 'runtime', 'driver')
    >>> of_category("py-spy")
    'other'
    """
    word = (category or "").strip().lower()
    if word in _BY_CATEGORY:
        return _BY_CATEGORY[word]
    # cuda_, xpu_, mtia_, privateuse1_ …; old Kineto wrote "Runtime" alone
    if word.endswith("runtime"):
        return RUNTIME
    return DRIVER if word.endswith("driver") else OTHER


def activities(slices: pl.DataFrame, process_names: dict[str, str]) -> pl.Series:
    """Activity of each slice, from its category or, where there is none, from its process row.

    ``slices`` has ``cat``, ``name`` and ``pid``. JAX writes no categories: rows of a process named
    ``/device:…`` are device work, those of ``/host:…`` are host ranges.

    >>> frame = pl.DataFrame({"cat": ["kernel", None], "name": ["k", "fusion"], "pid": ["0", "1"]})
    >>> activities(frame, {"1": "/device:GPU:0 (pid 1)"}).to_list()
    ['kernel', 'kernel']
    """
    words = slices["cat"].cast(pl.String)
    mapped = {word: of_category(word) for word in words.unique().to_list()}
    result = words.replace_strict(mapped, return_dtype=pl.String)
    if words.null_count():
        rows = {
            pid: KERNEL if name.startswith("/device:") else CPU_OP
            for pid, name in process_names.items()
            if name.startswith(("/device:", "/host:"))
        } | _LEGACY_ROWS
        by_process = (
            slices["pid"]
            .cast(pl.String)
            .replace_strict(rows, default=OTHER, return_dtype=pl.String)
        )
        by_process = pl.select(
            pl.when(
                (by_process == KERNEL) & slices["name"].cast(pl.String).str.contains(_COPY_NAMES)
            )
            .then(pl.lit(MEMCPY))
            .otherwise(by_process)
        ).to_series()
        result = pl.select(pl.when(words.is_null()).then(by_process).otherwise(result)).to_series()
    named: pl.Series = result.alias("activity")
    return named


_LAUNCH_KINDS = (
    # order matters: the first that fits wins
    ("graph", r"(?i)graphlaunch"),
    (
        "memcpy",
        r"(?i)^(cuda|cu|hip|musa|npu)?_?memcpy|enqueue(usm)?(mem)?(memcpy|copy)|appendmemorycopy",
    ),
    (
        "memset",
        r"(?i)^(cuda|cu|hip|musa|npu)?_?memset|enqueue(usm)?(mem)?(fill|memset)|appendmemoryfill",
    ),
    (
        "kernel",
        r"(?i)launch(cooperative)?kernel|launchhostfunc|cu(da)?launch\w*kernel|enqueuekernel"
        r"|hip\w*launch\w*|^kernellaunch|^aclnn|launchkernel",
    ),
    ("sync", r"(?i)synchronize|zefencehost|eventhostsync"),
    ("alloc", r"(?i)^(cuda|cu|hip)(host|mem)?_?(malloc|alloc|create(?=address))|hostregister"),
    ("free", r"(?i)^(cuda|cu|hip)(host|mem)?_?(free|release)|hostunregister"),
)


def launch_kind(name: str) -> str:
    """What a runtime or driver call does: kernel, graph, memcpy, memset, sync, alloc, free, other.

    >>> [launch_kind(n) for n in ("cudaLaunchKernelExC", "cuLaunchKernelEx", "hipGraphLaunch")]
    ['kernel', 'kernel', 'graph']
    >>> [launch_kind(n) for n in ("cudaMemcpyAsync", "cudaStreamSynchronize", "cudaMalloc")]
    ['memcpy', 'sync', 'alloc']
    >>> launch_kind("cudaLaunchHostFunc"), launch_kind("cudaFuncGetAttributes")
    ('other', 'other')
    """
    if re.search(r"(?i)launchhostfunc", name):
        return "other"
    for kind, pattern in _LAUNCH_KINDS:
        if re.search(pattern, name):
            return kind
    return "other"
