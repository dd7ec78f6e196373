"""The attention backend table as text."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.compare.backends import Backend
from tracekit.report.text import safe
from tracekit.units import duration, significant, size

_UNITS = {"cuda_core": "CUDA cores", "tensor_core": "tensor cores", None: "unknown"}


def render(rows: Sequence[Backend]) -> str:
    """One block a shape and direction: a table, then what the columns leave unsaid."""
    if not rows:
        return "no attention calls\n"
    blocks = []
    groups: dict[tuple[str, str], list[Backend]] = {}
    for row in rows:
        groups.setdefault((row.shape, row.direction), []).append(row)
    for (shape, direction), group in groups.items():
        blocks.append(_block(shape, direction, group))
    return "\n".join(blocks)


def _block(shape: str, direction: str, group: list[Backend]) -> str:
    measured = any(r.measured_ns for r in group)
    inplace = any(r.to_inplace for r in group)
    head = ["trace", "backend", "calls", "kernels", "copies", "fills", "GPU/call"]
    head += ["measured"] if measured else []
    head += ["x fastest"] + (["x in-place"] if inplace else [])
    head += ["CPU/call", "launch", "unit", "dtype", "mask", "HBM (est.)", "+copy", "occup."]
    table = [head]
    for r in group:
        line = [
            safe(r.label, 40),
            r.backend,
            str(r.calls),
            str(r.kernels),
            str(r.copies),
            str(r.fills),
            duration(r.gpu_ns),
        ]
        line += [duration(r.measured_ns) if r.measured_ns else "–"] if measured else []
        line += [significant(r.to_fastest)]
        line += [significant(r.to_inplace) if r.to_inplace else "–"] if inplace else []
        dtype = r.compute_dtype or "unknown"
        if r.dtype and r.compute_dtype and r.dtype != r.compute_dtype:
            dtype = f"{r.compute_dtype} from {r.dtype}"
        line += [
            duration(r.cpu_ns), duration(r.launch_ns), _UNITS.get(r.unit, str(r.unit)), dtype, r.mask,
            size(r.hbm_bytes), size(r.copy_bytes) if r.copy_bytes else "–",
            f"{r.occupancy_pct:.4g} %" if r.occupancy_pct is not None else "unknown",
        ]  # fmt: skip
        table.append(line)
    sizes = [max(len(row[i]) for row in table) for i in range(len(head))]
    lines = [f"attention {direction}, {shape}; means per call"]
    lines += [
        "  " + "  ".join(c.ljust(s) for c, s in zip(row, sizes, strict=True)).rstrip()
        for row in table
    ]
    notes = [f"  occupancy of {safe(r.label, 40)}: {r.occupancy}" for r in group if r.occupancy]
    notes += [
        f"  {safe(r.label, 40)}: cuDNN's own set-up takes {duration(r.setup_ns)} of CPU time a call"
        for r in group
        if r.setup_ns
    ]
    notes.append(
        "  GPU/call is device time; CPU/call and launch were recorded under the profiler, which inflates them"
    )
    return "\n".join([*lines, *notes]) + "\n"
