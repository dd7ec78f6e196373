"""Theoretical occupancy of a kernel launch from its geometry, registers and shared memory.

Kineto's own "est. achieved occupancy %" is 0 or wrong for most Hopper kernels; this agrees with
Nsight Compute's theoretical occupancy.

Sources of the rules: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"
(limits, in ``devices.toml``); the occupancy calculator that ships with the CUDA toolkit
(``cuda_occupancy.h``, 13.0) and Nsight Compute's documentation of its Occupancy Calculator
(https://docs.nvidia.com/nsight-compute/NsightCompute/index.html#occupancy-calculator) for the
allocation granularities; CUDA Ampere Tuning Guide, "Unified Shared Memory/L1/Texture Cache"
(https://docs.nvidia.com/cuda/ampere-tuning-guide/) for the 1 KB a block that the driver reserves.
"""

from __future__ import annotations

import polars as pl

from tracekit.kernels.devices import Device

__all__ = ["by_design", "explain_low_occupancy", "occupancy"]

_REGISTER_UNIT = 256
"""Registers are handed to a warp in units of 256 (7.0 to 12.0)."""

_SUB_PARTITIONS = 4
"""An SM's registers and warp slots lie in four partitions; a warp lives in one (7.0 to 12.0)."""

_MAX_REGISTERS_PER_THREAD = 255

_LOW_PCT = 50.0
"""Below this, occupancy is worth a word: half the warp slots usually hide memory latency."""

_OUTPUT = {
    "theoretical_occupancy_pct": pl.Float64,
    "occupancy_limiter": pl.String,
    "blocks_per_sm": pl.Int64,
    "waves": pl.Float64,
    "tail_pct": pl.Float64,
    "grid_occupancy_pct": pl.Float64,
}


def _shared_rules(capability: tuple[int, int]) -> tuple[int, int]:
    """Allocation unit of shared memory and what the driver reserves a block, both in bytes.

    256 and nothing on 7.x; 128 and 1 KB from 8.0.
    """
    return (256, 0) if capability < (8, 0) else (128, 1024)


def _capability(device: Device) -> tuple[int, int] | None:
    major, dot, minor = (device.compute_capability or "").partition(".")
    return (int(major), int(minor)) if dot and major.isdigit() and minor.isdigit() else None


def _round_up(expr: pl.Expr, unit: int) -> pl.Expr:
    return (expr + (unit - 1)) // unit * unit


def occupancy(frame: pl.DataFrame, device: Device) -> pl.DataFrame:
    """Occupancy of each launch of ``frame``, row for row.

    Args:
        frame: columns block_x, block_y, block_z (threads), registers (a thread),
            shared_memory_bytes (a block: static and dynamic, without the driver's own part, as
            CUPTI and Nsight Compute report it), grid_x, grid_y, grid_z (blocks).
        device: where it ran.

    Returns:
        theoretical_occupancy_pct: resident warps an SM over the most it can hold, were there
            blocks enough. Shared memory is taken at the largest carve-out, which the driver picks
            when a kernel needs it.
        occupancy_limiter: what allows the fewest blocks: warps, block (the block slots),
            registers or shared_memory; the first of these in a tie, as the first two cannot be
            bought off.
        blocks_per_sm: resident blocks an SM.
        waves: blocks of the grid over the blocks the whole device holds at once.
        tail_pct: share of the block slots of all waves together that stays empty in the last one.
        grid_occupancy_pct: the theoretical figure, or less where the grid is too small to fill
            the device once; blocks are taken to spread evenly.

    All null where an input is missing, the launch is impossible (more than the hardware can hold),
    or the device's limits are unknown (AMD, or compute capability before 7.0 or after 12.0).
    Thread-block clusters can lower the resident blocks further; traces do not record them.

    >>> h200 = find_device("NVIDIA H200")
    >>> launch = dict(block_x=384, block_y=1, block_z=1, registers=168, shared_memory_bytes=213188,
    ...               grid_x=2, grid_y=66, grid_z=1)
    >>> occupancy(pl.DataFrame([launch]), h200).row(0)
    (18.75, 'registers', 1, 1.0, 0.0, 18.75)
    """
    capability = _capability(device)
    sms, max_warps = device.sms, device.max_warps_per_sm
    if (
        capability is None
        or not (7, 0) <= capability < (13, 0)
        or sms is None
        or max_warps is None
        or device.warp_size is None
        or device.max_threads_per_block is None
        or device.max_blocks_per_sm is None
        or device.registers_per_sm is None
        or device.registers_per_block is None
        or device.shared_memory_per_sm_bytes is None
        or device.shared_memory_per_block_bytes is None
    ):
        return pl.DataFrame(
            {name: pl.Series([None] * frame.height, dtype=t) for name, t in _OUTPUT.items()}
        )
    unit, reserve = _shared_rules(capability)

    def whole(name: str) -> pl.Expr:
        return pl.col(name).cast(pl.Int64)

    threads = whole("block_x") * whole("block_y") * whole("block_z")
    sized = frame.select(
        threads=threads,
        warps=_round_up(threads, device.warp_size) // device.warp_size,
        blocks=whole("grid_x") * whole("grid_y") * whole("grid_z"),
        registers=whole("registers"),
        # What the SM sets aside; a request already checked against the limit of a block.
        shared=_round_up(whole("shared_memory_bytes") + reserve, unit),
        requested=whole("shared_memory_bytes"),
    )
    warp_registers = _round_up(pl.col("registers") * device.warp_size, _REGISTER_UNIT)
    block_registers = warp_registers * _round_up(pl.col("warps"), _SUB_PARTITIONS)
    resident_warps = (
        device.registers_per_sm // _SUB_PARTITIONS // warp_registers
    ) * _SUB_PARTITIONS
    possible = (
        pl.col("threads").is_between(1, device.max_threads_per_block)
        & (pl.col("blocks") >= 1)
        & pl.col("registers").is_between(0, _MAX_REGISTERS_PER_THREAD)
        & (block_registers <= device.registers_per_block)
        & pl.col("requested").is_between(0, device.shared_memory_per_block_bytes)
    )
    pl.lit(device.max_blocks_per_sm)
    warps, blocks = pl.col("warps"), pl.col("blocks")
    limits = {
        "warps": max_warps // warps,
        "block": pl.lit(device.max_blocks_per_sm, pl.Int64),
        "registers": pl.when(pl.col("registers") == 0)
        .then(device.max_blocks_per_sm)
        .otherwise(resident_warps // warps),
        "shared_memory": pl.when(pl.col("shared") == 0)
        .then(device.max_blocks_per_sm)
        .otherwise(device.shared_memory_per_sm_bytes // pl.col("shared")),
    }
    resident = pl.min_horizontal(*(e.cast(pl.Int64) for e in limits.values()))
    limiter = pl.coalesce(
        *(
            pl.when(e.cast(pl.Int64) == pl.col("resident")).then(pl.lit(n))
            for n, e in limits.items()
        )
    )
    waves = blocks / (pl.col("resident") * sms)
    slots = (waves.ceil() * pl.col("resident") * sms).cast(pl.Int64)
    full = 100.0 * pl.col("resident") * warps / max_warps
    spread = 100.0 * blocks * warps / (sms * max_warps)
    known = possible & (pl.col("resident") > 0)
    return (
        sized.with_columns(resident=resident)
        .with_columns(known=known)
        .select(
            pl.when("known").then(full).alias("theoretical_occupancy_pct"),
            pl.when("known").then(limiter).alias("occupancy_limiter"),
            pl.when("known").then(pl.col("resident")).alias("blocks_per_sm"),
            pl.when("known").then(waves).alias("waves"),
            pl.when("known").then(100.0 * (slots - blocks) / slots).alias("tail_pct"),
            pl.when("known").then(pl.min_horizontal(full, spread)).alias("grid_occupancy_pct"),
        )
    )


def by_design(fused_attention: str | None, unit: str | None) -> bool:
    """Whether a kernel is built to run with few warps: fused attention and tensor-core products.

    They keep tiles in registers and shared memory and hide latency with asynchronous copies, not
    with more warps (FlashAttention-2, section 3.3, https://arxiv.org/abs/2307.08691).

    >>> by_design("forward", "tensor_core"), by_design(None, "cuda_core")
    (True, False)
    """
    return fused_attention is not None or unit == "tensor_core"


def explain_low_occupancy(
    pct: float | None, limiter: str | None, fused_attention: str | None, unit: str | None
) -> str | None:
    """One sentence on a low theoretical occupancy; ``None`` where it is not low or not known.

    >>> explain_low_occupancy(18.75, "registers", "forward", "tensor_core")
    '18.75 % by design: tiles are kept in registers, so few warps fit; no fault'
    """
    if pct is None or pct >= _LOW_PCT:
        return None
    reason = {"shared_memory": "shared memory", "block": "block slots"}.get(limiter or "", limiter)
    if by_design(fused_attention, unit):
        kept = "registers" if limiter == "registers" else "shared memory"
        return f"{pct:.4g} % by design: tiles are kept in {kept}, so few warps fit; no fault"
    return f"{pct:.4g} %, limited by {reason}"
