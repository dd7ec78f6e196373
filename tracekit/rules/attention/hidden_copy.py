from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tracekit.rules.context import Context
from tracekit.rules.model import Found, Opt, rule, saved
from tracekit.tables.host import nearest
from tracekit.tables.numbers import mean
from tracekit.units import duration, plural, size

TWINS = (
    "masked_fill", "masked_scatter", "index_fill", "index_copy", "index_add", "index_put",
    "index_reduce", "scatter", "scatter_add", "scatter_reduce", "put", "fill", "fill_diagonal",
    "bernoulli", "squeeze_copy", "diagonal_scatter", "slice_scatter", "select_scatter",
)  # fmt: skip
"""Out-of-place ops that clone their input and then work on the clone in place."""


@rule(
    "TK105",
    "hidden-device-copy",
    "An out-of-place op hides a full device copy",
    severity="warning",
    needs=("gpu", "ops", "links"),
    min_us=Opt(1.0, "shortest copy that is reported", "µs"),
)
def hidden_copy(ctx: Context) -> Iterator[Found]:
    """`masked_fill` and its kin clone the whole tensor before they change a part of it.

    What it finds
    -------------
    Device copies that `aten::clone` made inside `masked_fill`, `index_put`, `scatter` and other
    out-of-place ops which have an in-place twin.

    Why it costs
    ------------
    The copy reads and writes the whole tensor at HBM speed and is often as long as the op itself.

    How to confirm
    --------------
    In the trace a `Memcpy DtoD` or a copy kernel stands before the op's own kernel; the in-place
    twin has none.

    Fix
    ---
    Use the in-place twin (`masked_fill_`) where the input is not needed any more, or `torch.where`,
    which writes its result directly. Under autograd the twin works when no backward needs the input.

    When it is wrong
    ----------------
    The input is used later, so that the copy is wanted.
    """
    names = [f"aten::{t}" for t in TWINS]
    owners = ctx.ops.filter(pl.col("name").cast(pl.String).is_in(names), pl.col("gpu_events") > 1)
    if owners.is_empty():
        return
    copies = ctx.kernels.filter(
        pl.col("kind").cast(pl.String).is_in(["memcpy_d2d", "copy"]),
        ~pl.col("is_cast").fill_null(value=False),
        pl.col("dur_ns") >= ctx.options.min_us * 1000,
        pl.col("op").is_not_null(),
    )
    within = nearest(
        copies.select(pl.col("op").alias("id"))
        .unique()
        .join(ctx.ops.select("id", "parent"), on="id"),
        owners["id"],
        parents=ctx.ops.select("id", "parent"),
    ).rename({"id": "op", "ancestor": "owner"})
    cloned = nearest(
        copies.select(pl.col("op").alias("id"))
        .unique()
        .join(ctx.ops.select("id", "parent"), on="id"),
        ctx.ops.filter(pl.col("name") == "aten::clone")["id"],
        parents=ctx.ops.select("id", "parent"),
    )
    found = copies.join(within, on="op").filter(pl.col("op").is_in(cloned["id"].implode()))
    found = found.join(
        owners.select(
            pl.col("id").alias("owner"), pl.col("name").cast(pl.String).alias("owner_name")
        ),
        on="owner",
    )
    for key, group in found.group_by("owner_name", maintain_order=True):
        name = str(key[0]).removeprefix("aten::")
        moved = mean(group["bytes"])
        much = f" of {size(moved)}" if moved is not None else ""
        yield Found(
            message=(
                f"{plural(group.height, 'call')} of {name} make a device copy{much} first, "
                f"{duration(mean(group['dur_ns']))} each"
            ),
            fix=f"use {name}_ in place where the input is not needed any more, or torch.where",
            evidence=group.select(
                "id", pl.col("owner").alias("op"), "step", "name", "dur_ns", "bytes"
            ),
            events=group["id"],
            where=ctx.where(group["owner"]),
            calls=group.height,
            saved=saved(group, pl.col("dur_ns"), low=pl.col("dur_ns") * 0.9),
            basis="the copy gone",
        )
