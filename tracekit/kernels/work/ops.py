"""FLOPs and compulsory bytes of one op: what any implementation must compute and move.

FLOPs count a multiply-add as two and follow ``torch.utils.flop_counter`` for products, convolutions
and attention (a causal mask counts as full there; ``op_work`` halves it, since fused kernels skip
the masked half; see ``causal`` in :func:`tracekit.kernels.work.attention.work`).
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from tracekit.kernels.work import attention, products, tensors
from tracekit.kernels.work.args import Args, parse

SCHEMA = {
    "id": pl.UInt32(),
    "flops": pl.Int64(),
    "read_bytes": pl.Int64(),
    "write_bytes": pl.Int64(),
    "basis": pl.String(),
}
_LIMIT = 2**62
_TEXTS = ["name", "input_dims", "input_types", "input_strides", "concrete_inputs"]


class Work(NamedTuple):
    """FLOPs, bytes read, bytes written, and the formula's name."""

    flops: int | None
    read: int | None
    write: int | None
    basis: str


FAMILIES = (products.work, attention.work, tensors.work)
"""Each takes an op's name and arguments; the first that knows the op answers."""


def work_of(name: str, args: Args) -> Work | None:
    """Work of one op, ``None`` where its shapes do not say.

    >>> args = parse("[[2,3],[3,4]]", '["float","float"]', None, None)
    >>> work_of("aten::mm", args)
    Work(flops=48, read=72, write=32, basis='matmul')
    """
    for family in FAMILIES:
        found = family(name, args)
        if found is not None:
            numbers = found[:3]
            if any(n is not None and not 0 <= n < _LIMIT for n in numbers):
                return None
            return Work(*found)
    return None


def op_work(ops: pl.DataFrame) -> pl.DataFrame:
    """``id``, ``flops``, ``read_bytes``, ``write_bytes`` and ``basis`` of each op of ``ops``.

    ``ops`` has the columns of :data:`tracekit.schema.OPS`. FLOPs count a multiply-add as two; bytes
    are compulsory: each tensor once. Null where the recorded arguments do not say.

    >>> from tracekit import schema
    >>> op_work(schema.OPS.empty()).height
    0
    """
    texts = ops.select("id", *(pl.col(c).cast(pl.String) for c in _TEXTS))
    cases = texts.select(_TEXTS).unique(maintain_order=True)
    rows = []
    for name, *recorded in cases.iter_rows():
        found = work_of(name, parse(*recorded)) if recorded[0] is not None else None
        rows.append(found or (None, None, None, None))
    table = pl.DataFrame(rows, schema={k: v for k, v in SCHEMA.items() if k != "id"}, orient="row")
    return texts.join(
        cases.hstack(table), on=_TEXTS, how="left", nulls_equal=True, maintain_order="left"
    ).select(list(SCHEMA))
