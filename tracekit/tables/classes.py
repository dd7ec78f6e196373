"""Classifier and occupancy columns for device events, from name, launching op and geometry."""

from __future__ import annotations

import polars as pl

from tracekit.kernels.classify import classify
from tracekit.kernels.devices import Device
from tracekit.kernels.occupancy import occupancy
from tracekit.kernels.refine import refine
from tracekit.tables import activity as act

_OCCUPANCY = ("theoretical_occupancy_pct", "occupancy_limiter")


def add_classes(
    events: pl.DataFrame, op_frame: pl.DataFrame, devices: dict[int, Device]
) -> pl.DataFrame:
    """``events`` with the columns of :data:`tracekit.schema.KERNELS` that come from ``kernels/``."""
    text = events.with_columns(pl.col("name").cast(pl.String))
    names = classify(text["name"]).rename({"evidence": "name_evidence"})
    owner = op_frame.select(
        pl.col("id").alias("op"),
        pl.col("name").cast(pl.String).alias("op_name"),
        pl.col("input_types").cast(pl.String).alias("op_input_types"),
    )
    frame = text.join(names, on="name", how="left").join(owner, on="op", how="left")
    frame = refine(frame.with_columns(pl.lit(None, pl.Boolean).alias("tf32_allowed")))
    # A copy or fill is what its activity says, whatever its name.
    kind = pl.col("kind").cast(pl.String)
    is_copy = pl.col("activity") == act.MEMCPY
    frame = frame.with_columns(
        pl.when(pl.col("activity") == act.MEMSET)
        .then(pl.lit("memset"))
        .when(is_copy & ~kind.str.starts_with("memcpy").fill_null(value=False))
        .then(pl.lit("other"))
        .otherwise(kind)
        .alias("kind"),
        pl.when(is_copy).then(pl.col("name").str.contains("(?i)pageable")).alias("pageable"),
    )
    return _occupancy(frame, devices)


def _occupancy(frame: pl.DataFrame, devices: dict[int, Device]) -> pl.DataFrame:
    """Theoretical occupancy of kernels whose launch geometry and device are known."""
    key = ["block_x", "block_y", "block_z", "registers", "shared_memory_bytes"]
    parts = []
    for index, sheet in devices.items():
        shapes = (
            frame.filter(pl.col("activity") == act.KERNEL, pl.col("device") == index)
            .select(*key, "grid_x", "grid_y", "grid_z")
            .drop_nulls(key)
            .unique(key)
        )
        if shapes.height:
            known = occupancy(shapes, sheet).select(_OCCUPANCY)
            parts.append(
                shapes.select(key).hstack(known).with_columns(device=pl.lit(index, pl.Int64))
            )
    if not parts:
        return frame.with_columns(
            pl.lit(None, pl.Float64).alias(_OCCUPANCY[0]),
            pl.lit(None, pl.String).alias(_OCCUPANCY[1]),
        )
    return frame.join(pl.concat(parts), on=["device", *key], how="left")
