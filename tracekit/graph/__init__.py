"""The correlation graph as networkx views of the columnar edges, and the recorded schedule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import polars as pl

from tracekit.errors import OptionError
from tracekit.tables.host import nearest

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["LIMIT", "correlation_graph"]

LIMIT = 200_000
"""Nodes of the largest graph that is made: networkx takes about 1 kB a node and edge."""


def correlation_graph(
    ops: pl.DataFrame,
    launches: pl.DataFrame,
    kernels: pl.DataFrame,
    links: pl.DataFrame,
    *,
    op: int | None = None,
    step: int | None = None,
    events: Iterable[int] | None = None,
) -> nx.DiGraph:
    """Nodes and edges of the whole trace, or of one op and all below it, a step, or some events.

    Nodes are event ids with ``kind`` (cpu_op, annotation, runtime, driver, kernel, memcpy, memset),
    ``name``, ``ts_ns`` and ``dur_ns``; edges carry ``relation`` and ``evidence``. Some ``events``
    come with the launches and ops that lead to them.

    Raises :class:`OptionError` for an op or step that does not exist, or for more than
    :data:`LIMIT` nodes.
    """
    import networkx as nx

    columns = ["id", "kind", "name", "ts_ns", "dur_ns"]
    nodes = pl.concat(
        [
            frame.with_columns(pl.col(kind).cast(pl.String).alias("kind")).select(
                "id", "kind", pl.col("name").cast(pl.String), "ts_ns", "dur_ns", "step"
            )
            for frame, kind in ((ops, "kind"), (launches, "api"), (kernels, "activity"))
        ]
    )
    if op is not None:
        nodes = nodes.join(_below(op, ops, launches, kernels), on="id", how="semi")
    if step is not None:
        nodes = nodes.filter(pl.col("step") == step)
        if nodes.is_empty():
            raise OptionError(f"no step {step}", hint="trace.steps lists them")
    if events is not None:
        nodes = nodes.join(_leading_to(list(events), ops, launches, kernels), on="id", how="semi")
    if nodes.height > LIMIT:
        raise OptionError(
            f"the graph would have {nodes.height:,} nodes, more than {LIMIT:,}",
            hint="choose op=, step= or finding=; trace.links has all edges as a table",
        )
    ids = nodes.select("id")
    edges = links.join(ids, left_on="source", right_on="id", how="semi").join(
        ids, left_on="target", right_on="id", how="semi"
    )
    graph = nx.DiGraph()
    for id_, *values in nodes.select(columns).sort("id").iter_rows():
        graph.add_node(id_, **dict(zip(columns[1:], values, strict=True)))
    for source, target, relation, evidence in edges.iter_rows():
        graph.add_edge(source, target, relation=relation, evidence=evidence)
    return graph


def _below(
    op: int, ops: pl.DataFrame, launches: pl.DataFrame, kernels: pl.DataFrame
) -> pl.DataFrame:
    """``id`` of an op, the ops inside it, and what they launched."""
    if op not in ops["id"]:
        raise OptionError(f"no op {op}", hint="trace.ops lists them by id")
    wanted = pl.Series("id", [op], dtype=pl.UInt32)
    inner = nearest(ops.select("id", "parent"), wanted, parents=ops.select("id", "parent"))
    inside = pl.concat([wanted, inner["id"]]).implode()
    return pl.concat(
        [
            ops.filter(pl.col("id").is_in(inside)).select("id"),
            launches.filter(pl.col("op").is_in(inside)).select("id"),
            kernels.filter(pl.col("op").is_in(inside)).select("id"),
        ]
    )


def _leading_to(
    events: list[int], ops: pl.DataFrame, launches: pl.DataFrame, kernels: pl.DataFrame
) -> pl.DataFrame:
    """``id`` of the events, their launches, and every op around those."""
    chosen = pl.Series("id", events, dtype=pl.UInt32).implode()
    found = kernels.filter(pl.col("id").is_in(chosen))
    calls = launches.filter(
        pl.col("id").is_in(chosen) | pl.col("id").is_in(found["launch"].drop_nulls().implode())
    )
    inner = pl.concat([found["op"], calls["op"], ops.filter(pl.col("id").is_in(chosen))["id"]])
    layer = ops.filter(pl.col("id").is_in(inner.drop_nulls().unique().implode()))
    around = [layer]
    while layer.height:
        layer = ops.filter(pl.col("id").is_in(layer["parent"].drop_nulls().unique().implode()))
        around.append(layer)
    return pl.concat(
        [found.select("id"), calls.select("id"), *(a.select("id") for a in around)]
    ).unique()
