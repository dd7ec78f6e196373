"""The backend table: what each attention call costs and why, fastest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from tracekit.kernels.occupancy import explain_low_occupancy
from tracekit.trace import Trace


@dataclass(frozen=True)
class Backend:
    """Attention calls of one trace, backend, direction and shape; figures are means per call.

    Times in ns, sizes in bytes. ``hbm_bytes`` is estimated from shapes and leaves the copies out.
    ``measured_ns`` is the time without the profiler, from a manifest beside the trace.
    """

    label: str
    backend: str
    direction: str
    calls: int
    shape: str
    kernels: int
    copies: int
    fills: int
    gpu_ns: float
    cpu_ns: float | None
    launch_ns: float | None
    unit: str | None
    dtype: str | None
    compute_dtype: str | None
    mask: str
    hbm_bytes: float | None
    copy_bytes: float | None
    occupancy_pct: float | None
    occupancy: str
    setup_ns: float | None
    measured_ns: float | None = None
    to_fastest: float = 1.0
    to_inplace: float | None = None


_KEYS = [
    "backend",
    "direction",
    "batch",
    "heads",
    "kv_heads",
    "q_len",
    "kv_len",
    "head_dim",
    "dtype",
]


def backend_table(traces: Sequence[Any]) -> list[Backend]:
    """Rows of the table, fastest first within a direction and shape."""
    rows = [row for trace in traces for row in _rows(trace)]
    groups: dict[tuple[str, str], list[Backend]] = {}
    for row in rows:
        groups.setdefault((row.direction, row.shape), []).append(row)
    done = []
    for group in groups.values():
        done += _ratios(sorted(group, key=lambda r: (r.gpu_ns, r.label)))
    return done


def _ratios(group: list[Backend]) -> list[Backend]:
    from dataclasses import replace

    fastest = group[0].gpu_ns or 1.0
    eager = [r for r in group if r.backend == "eager"]
    plain = [r for r in eager if not r.copies]
    base = plain[0].gpu_ns if plain else None
    return [
        replace(r, to_fastest=r.gpu_ns / fastest, to_inplace=r.gpu_ns / base if base else None)
        for r in group
    ]


def _rows(source: Any) -> list[Backend]:
    import tracekit
    from tracekit.compare.manifest import measured_ns

    trace: Trace = source if isinstance(source, Trace) else tracekit.load(source)
    calls = trace.attention.filter((pl.col("gpu_ns") > 0) | (pl.col("cpu_ns") > 0))
    label = _label(trace)
    rows = []
    for _, group in calls.group_by(_KEYS, maintain_order=True):
        first = group.row(0, named=True)
        rows.append(
            Backend(
                label=label,
                backend=first["backend"],
                direction=first["direction"],
                calls=group.height,
                shape=_shape(first),
                kernels=round(_mean(group, "kernels") or 0),
                copies=round(_mean(group, "copies") or 0),
                fills=round(_mean(group, "fills") or 0),
                gpu_ns=_mean(group, "gpu_ns") or 0.0,
                cpu_ns=_mean(group, "cpu_ns"),
                launch_ns=_mean(group, "launch_ns"),
                unit=first["unit"],
                dtype=first["dtype"],
                compute_dtype=first["compute_dtype"],
                mask=_mask(first),
                hbm_bytes=_traffic(group),
                copy_bytes=_mean(group, "copy_bytes"),
                occupancy_pct=first["occupancy_pct"],
                occupancy=explain_low_occupancy(
                    first["occupancy_pct"], first["occupancy_limiter"],
                    "forward" if first["backend"] not in ("eager", "math", "compiled") else None,
                    first["unit"],
                ) or "",
                setup_ns=_setup(trace, group),
                measured_ns=measured_ns(trace.source, label),
            )
        )  # fmt: skip
    return rows


def _label(trace: Trace) -> str:
    name = trace.source.replace("\\", "/").rsplit("/", 1)[-1]
    for suffix in (".gz", ".zst", ".zip", ".json", ".trace", ".pt"):
        name = name.removesuffix(suffix)
    return name


def _shape(row: dict[str, Any]) -> str:
    if row["q_len"] is None:
        return "shape not recorded"
    kv = "" if row["kv_heads"] in (row["heads"], None) else f"/{row['kv_heads']}"
    lengths = (
        f"{row['q_len']}" if row["q_len"] == row["kv_len"] else f"{row['q_len']}x{row['kv_len']}"
    )
    return f"B{row['batch']} H{row['heads']}{kv} L{lengths} D{row['head_dim']}"


def _mask(row: dict[str, Any]) -> str:
    work = {
        "rebuilt": "rebuilt every call",
        "converted": "converted every call",
        "applied": "applied to the scores",
    }.get(row["mask_work"], "")
    kind = row["mask"] or ""
    if kind == "causal" and not work:
        return "causal, none built"
    return (
        ", ".join(p for p in (kind if kind not in ("scored", "none") else "", work) if p) or "none"
    )


def _mean(group: pl.DataFrame, column: str) -> float | None:
    value = group[column].mean()
    return float(value) if value is not None else None  # type: ignore[arg-type]


def _traffic(group: pl.DataFrame) -> float | None:
    """Estimated traffic beside the copies."""
    total, copies = _mean(group, "hbm_bytes"), _mean(group, "copy_bytes")
    return None if total is None or copies is None else total - copies


def _setup(trace: Trace, group: pl.DataFrame) -> float | None:
    """Host time inside cuDNN's op that is neither a launch nor another op: plan look-up, set-up."""
    if group["backend"][0] != "cudnn" or group["op"][0] is None:
        return None
    ops = trace.ops
    inner = ops.filter(
        pl.col("name").cast(pl.String).str.contains("_cudnn_attention_(forward|backward)$")
    )
    if inner.is_empty():
        return None
    calls = trace.launches.filter(pl.col("op").is_in(inner["id"].implode()))
    spent = calls.group_by("op").agg(pl.col("dur_ns").sum().alias("calls_ns"))
    own = inner.join(spent, left_on="id", right_on="op", how="left")
    return float(
        own.select((pl.col("self_ns") - pl.col("calls_ns").fill_null(0)).clip(0).mean()).item()
        or 0.0
    )
