"""What a device can do: limits, peaks and bandwidth, from a data sheet and the trace's properties.

The sheet is ``devices.toml``; every entry in it names its sources. The trace's own
``deviceProperties`` win where both know a value, because they describe the device that ran.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib.resources import files
from typing import Any

from tracekit.errors import OptionError

__all__ = ["Device", "find_device", "known_devices"]

_GIB = 1024**3

_FAMILY = {
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "fp4_e2m1": "fp4",
    "uint8": "int8",
}
"""Operand dtypes that run at the rate of another name in the sheet."""

_QUALIFIERS = frozenset({"laptop", "mobile", "max", "maxq", "ti", "super"})
"""Words that make a GeForce name another part with another clock and memory."""

_PROPERTIES = {
    "maxThreadsPerBlock": "max_threads_per_block",
    "maxThreadsPerMultiprocessor": "max_threads_per_sm",
    "regsPerBlock": "registers_per_block",
    "regsPerMultiprocessor": "registers_per_sm",
    "warpSize": "warp_size",
    "sharedMemPerBlockOptin": "shared_memory_per_block_bytes",
    "sharedMemPerMultiprocessor": "shared_memory_per_sm_bytes",
    # ROCm builds of Kineto spell it so.
    "maxSharedMemoryPerMultiProcessor": "shared_memory_per_sm_bytes",
    "numSms": "sms",
}
"""Kineto's ``deviceProperties`` keys and our fields."""


@dataclass(frozen=True)
class Device:
    """One GPU. ``None`` means unknown, never zero.

    Args:
        name: as the trace gives it.
        part: the data-sheet entries it was matched to, joined by " + "; ``None`` without one.
        architecture: volta, turing, ampere, ada, hopper, blackwell, cdna2, cdna3, cdna4.
        compute_capability: "9.0" on NVIDIA, the LLVM target ("gfx942") on AMD.
        sms: streaming multiprocessors (NVIDIA) or compute units (AMD).
        clock_mhz: highest boost clock.
        peaks: dense TFLOP/s (TOP/s for integers) by (unit, operand dtype).
        hbm_gb_s: device memory bandwidth, GB/s (1e9 bytes).
        hbm_gb: device memory, as sold; GiB where only the trace knows it.
        l2_mb: level-2 cache, MB.
        nvlink_gb_s: NVLink or Infinity Fabric, both directions together.
        sources: documents the values come from.

    >>> find_device("NVIDIA H100 80GB HBM3").peak_tflops("tensor_core", "bf16")
    989.4
    """

    name: str
    part: str | None = None
    architecture: str | None = None
    compute_capability: str | None = None
    sms: int | None = None
    clock_mhz: float | None = None
    peaks: Mapping[tuple[str, str], float] | None = field(default=None, hash=False)
    hbm_gb_s: float | None = None
    hbm_gb: float | None = None
    l2_mb: float | None = None
    nvlink_gb_s: float | None = None
    shared_memory_per_sm_bytes: int | None = None
    shared_memory_per_block_bytes: int | None = None
    registers_per_sm: int | None = None
    registers_per_block: int | None = None
    max_threads_per_sm: int | None = None
    max_threads_per_block: int | None = None
    max_blocks_per_sm: int | None = None
    warp_size: int | None = None
    sources: tuple[str, ...] = ()

    @property
    def max_warps_per_sm(self) -> int | None:
        """Resident warps an SM can hold.

        >>> find_device("Tesla T4").max_warps_per_sm
        32
        """
        if self.max_threads_per_sm is None or not self.warp_size:
            return None
        return self.max_threads_per_sm // self.warp_size

    @property
    def l2_bytes(self) -> int | None:
        """Level-2 cache in bytes (an MB of a cache is 1024² bytes)."""
        return None if self.l2_mb is None else int(self.l2_mb * 1024**2)

    def peak_tflops(self, unit: str | None, dtype: str | None) -> float | None:
        """Dense peak of ``unit`` ("tensor_core", "cuda_core") for operands of ``dtype``.

        ``None`` where the sheet has no figure: it is never taken from another unit or dtype. Both
        fp8 kinds share a rate, so do int8 and uint8.

        >>> find_device("Tesla V100-SXM2-16GB").peak_tflops("tensor_core", "bf16") is None
        True
        """
        if not self.peaks or unit is None or dtype is None:
            return None
        return self.peaks.get((unit, dtype), self.peaks.get((unit, _FAMILY.get(dtype, dtype))))


@cache
def _sheet() -> dict[str, Any]:
    # tomllib is in the standard library from Python 3.11; tomli is the same parser before it.
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    text = files("tracekit.kernels").joinpath("devices.toml").read_text("utf-8")
    sheet: dict[str, Any] = toml.loads(text)
    return sheet


def known_devices() -> list[Device]:
    """Every entry of the data sheet, in its order.

    >>> "H200 SXM" in [d.name for d in known_devices()]
    True
    """
    return [
        _from_sheet(Device(entry["name"]), entry, entry["name"]) for entry in _sheet()["device"]
    ]


def find_device(
    name: str,
    properties: Mapping[str, Any] | None = None,
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
) -> Device | None:
    """The device a trace ran on; ``None`` when neither the sheet nor the trace knows anything.

    Args:
        name: device name as the trace prints it; may be empty.
        properties: the trace's ``deviceProperties`` entry for it.
        overrides: the user's own devices: a name (its words must all be in ``name``) to fields of
            `Device`, ``peaks`` as ``{"tensor_core": {"bf16": 148}}``; they win over all else.

    A part cut down or partitioned (MIG) has fewer SMs than the sheet says: peaks are scaled to the
    trace's SMs, and bandwidth, L2 and NVLink become unknown for a MIG slice. Bandwidth is unknown
    too when the memory size differs from the sheet's by more than 15 %: then it is another board.

    Raises:
        OptionError: an override has an unknown field or a value of the wrong kind.

    >>> find_device("Tesla V100-SXM2-16GB").sms
    80
    >>> find_device("NVIDIA A100-SXM4-80GB").hbm_gb_s
    2039
    >>> mine = {"H20": {"peaks": {"tensor_core": {"bf16": 148}}}}
    >>> find_device("NVIDIA H20", overrides=mine).peaks
    {('tensor_core', 'bf16'): 148.0}
    >>> find_device("Some GPU") is None
    True
    """
    properties = properties or {}
    words = _words(name)
    entry = _match(words, _memory_gib(properties))
    device = Device(name)
    if entry is not None:
        device = _from_sheet(device, entry, entry["name"])
    known = entry is not None or bool(properties)
    if properties:
        device = _from_properties(device, properties, words)
    for key, values in sorted((overrides or {}).items()):
        if (wanted := _words(key)) and wanted <= words:
            device = _override(device, key, values)
            known = True
    return device if known else None


def _words(name: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9]+", name.lower())) - {"nvidia", "amd", "tesla"}


def _match(words: frozenset[str], memory_gib: float | None) -> dict[str, Any] | None:
    candidates = [
        (-len(entry["match"]), abs(entry["hbm_gb"] - (memory_gib or entry["hbm_gb"])), i, entry)
        for i, entry in enumerate(_sheet()["device"])
        if words.issuperset(entry["match"]) and not words & _QUALIFIERS
    ]
    return min(candidates, key=lambda c: c[:3])[3] if candidates else None


def _from_sheet(device: Device, entry: Mapping[str, Any], part: str) -> Device:
    values = {k: v for k, v in entry.items() if k not in ("name", "match", "peaks", "source")}
    capability = entry["compute_capability"]
    return replace(
        device,
        part=part,
        peaks=_flat_peaks(entry["peaks"], part),
        sources=tuple(entry["source"]),
        **_capability_limits(capability) | values,
    )


def _capability_limits(capability: str | None) -> dict[str, Any]:
    """Limits that follow from an NVIDIA compute capability; the same for all of them are inline."""
    limits = _sheet()["capability"].get(capability)
    if limits is None:
        return {}
    common = {
        "warp_size": 32,
        "registers_per_sm": 65536,
        "registers_per_block": 65536,
        "max_threads_per_block": 1024,
    }
    return {**common, **limits}


def _from_properties(
    device: Device, properties: Mapping[str, Any], words: frozenset[str]
) -> Device:
    found: dict[str, Any] = {
        ours: value
        for key, ours in _PROPERTIES.items()
        if (value := _positive(properties.get(key))) is not None
    }
    # ROCm reports computeMajor 9 for gfx9xx, which is no Hopper: the spelling of the shared memory
    # key and the wave of 64 tell the vendors apart.
    nvidia = found.get("warp_size", 32) == 32 and "sharedMemPerMultiprocessor" in properties
    major, minor = properties.get("computeMajor"), properties.get("computeMinor")
    if nvidia and isinstance(major, int) and isinstance(minor, int):
        capability = f"{major}.{minor}"
        found = {"compute_capability": capability, **_capability_limits(capability), **found}
    memory = _memory_gib(properties)
    peaks, bandwidth = device.peaks, device.hbm_gb_s
    mig = "mig" in words
    sms = found.get("sms")
    if peaks and device.sms and sms and sms != device.sms:
        peaks = {k: v * sms / device.sms for k, v in peaks.items()}
    if mig or (memory and device.hbm_gb and abs(memory / device.hbm_gb - 1) > 0.15):
        bandwidth = None
    return replace(
        device,
        peaks=peaks,
        hbm_gb_s=bandwidth,
        hbm_gb=device.hbm_gb if bandwidth is not None else memory,
        l2_mb=None if mig else device.l2_mb,
        nvlink_gb_s=None if mig else device.nvlink_gb_s,
        **found,
    )


def _memory_gib(properties: Mapping[str, Any]) -> float | None:
    size = _positive(properties.get("totalGlobalMem"))
    return None if size is None else size / _GIB


def _positive(value: object) -> int | None:
    """A property is untrusted: only a positive whole number counts."""
    ok = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return value if ok else None  # type: ignore[return-value]


def _flat_peaks(peaks: object, where: str) -> dict[tuple[str, str], float]:
    if not isinstance(peaks, Mapping) or not all(isinstance(v, Mapping) for v in peaks.values()):
        raise OptionError(
            "peaks must be a table of units", where=where, hint="peaks.tensor_core.bf16 = 989"
        )
    flat = {(u, d): v for u, by_dtype in peaks.items() for d, v in by_dtype.items()}
    for key, value in flat.items():
        if not isinstance(value, int | float) or value <= 0:
            raise OptionError(f"peak {'.'.join(key)} must be a positive number", where=where)
    return {key: float(value) for key, value in flat.items()}


def _override(device: Device, key: str, values: Mapping[str, Any]) -> Device:
    where = f"device {key!r}"
    allowed = {f.name: str(f.type) for f in fields(Device)}
    given = {k: v for k, v in values.items() if k != "peaks"}
    for setting, value in given.items():
        kind = allowed.get(setting)
        if kind is None or setting in ("name", "part"):
            raise OptionError(
                f"no field {setting!r}", where=where, hint="fields: " + ", ".join(allowed)
            )
        number = kind.startswith(("int", "float"))
        if number and (isinstance(value, bool) or not isinstance(value, int | float) or value <= 0):
            raise OptionError(f"{setting} must be a positive number", where=where)
        if kind.startswith("str") and not isinstance(value, str):
            raise OptionError(f"{setting} must be text", where=where)
    if "sources" in given:
        given["sources"] = tuple(given["sources"])
    if "compute_capability" in given:
        given = {**_capability_limits(given["compute_capability"]), **given}
    peaks = {**(device.peaks or {}), **_flat_peaks(values.get("peaks", {}), where)}
    part = f"{device.part} + {key}" if device.part else key
    return replace(device, part=part, peaks=peaks or None, **given)
