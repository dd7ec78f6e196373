"""Device events of attention calls, the part each plays, and work done just before a call."""

from __future__ import annotations

import re

import polars as pl

from tracekit.attention import names
from tracekit.attention.spans import Call, within

INSIDE, BEFORE = "inside", "before"

_MASK_OPS = (
    r"^aten::(ones|zeros|full|tril|triu|tril_|triu_|bitwise_not|logical_not|logical_and|bitwise_and"
    r"|logical_or|scalar_tensor|where|masked_fill_?|arange|lt|le|gt|ge|eq|ne|new_ones|new_zeros"
    r"|ones_like|zeros_like|full_like|fill_|rsub|sub|to|_to_copy|add|mul|neg)$"
)
_MASK_MAKERS = (
    r"^aten::(tril|triu|tril_|triu_|bitwise_not|logical_not|masked_fill_?|where|lt|le|gt|ge|ones"
    r"|zeros|full|to|_to_copy|logical_and|bitwise_and|rsub|sub|mul)$"
)
_ANY_TENSOR = r"^aten::(to|_to_copy|mul|sub|rsub|where|masked_fill_?)$"
"""Ops that work on hidden states too, which may by chance have the mask's last two sizes."""

_MASK_CREATORS = (
    r"^aten::(tril_?|triu_?|arange|lt|le|gt|ge|eq|ne|ones|zeros|full|new_ones|new_zeros)$"
)
"""Ops that make a mask anew; the rest of the mask ops only convert one."""

_APPLY = r"^aten::(masked_fill_?|where|add_?|sub_?|baddbmm)$"
_SCALE = r"^aten::(mul_?|div_?|true_divide)$"
_COPIERS = r"^aten::(contiguous|clone|reshape|repeat_interleave|expand_copy|repeat|_unsafe_view)$"

_BACK_NS = 50_000_000
"""Work further than 50 ms of host time before a call was not done for it."""


def inside(calls: list[Call], kernels: pl.DataFrame, ops: pl.DataFrame) -> pl.DataFrame:
    """``id`` and ``call`` of the device events whose op lies in a span of a call."""
    spans = pl.DataFrame(
        [(t, a, b, n) for n, c in enumerate(calls) for t, a, b in c.spans],
        schema={"thread": pl.String, "at": pl.Int64, "end": pl.Int64, "call": pl.UInt32},
        orient="row",
    ).sort("at", "call")
    owners = ops.select(pl.col("id").alias("op"), pl.col("thread").cast(pl.String), "ts_ns")
    points = kernels.drop_nulls("op").select("id", "op").join(owners, on="op")
    return within(points.select("id", "thread", "ts_ns"), spans)


def roles(
    members: pl.DataFrame, calls: list[Call], kernels: pl.DataFrame, ops: pl.DataFrame
) -> pl.DataFrame:
    """``members`` (id, call) with the ``role`` each event plays in its call.

    ``made``: true for an event of role mask that makes the mask anew rather than converts it.
    """
    owner = ops.select(
        pl.col("id").alias("op"), pl.col("name").cast(pl.String).alias("op_name"), "input_dims",
        "parent",
    )  # fmt: skip
    frame = members.join(
        kernels.select(
            "id", "op", "activity", pl.col("kind").cast(pl.String), "is_cast", "fused_attention"
        ),
        on="id",
    ).join(owner, on="op", how="left")
    inner = ops.filter(pl.col("name").cast(pl.String) == "aten::_safe_softmax")["id"]
    within_softmax = set(_below(frame, inner, ops))
    roles_ = [
        _role(calls[call], activity, kind, is_cast, fused, op_name, dims, id_ in within_softmax)
        for id_, call, activity, kind, is_cast, fused, op_name, dims in frame.select(
            "id", "call", "activity", "kind", "is_cast", "fused_attention", "op_name", "input_dims"
        ).iter_rows()
    ]
    return frame.select(
        "id",
        "call",
        role=pl.Series(roles_, dtype=pl.String),
        made=pl.col("op_name").str.contains(_MASK_CREATORS).fill_null(value=False),
    )


def _below(frame: pl.DataFrame, wanted: pl.Series, ops: pl.DataFrame) -> list[int]:
    """Ids of events whose op lies in one of the ``wanted`` ops."""
    if wanted.is_empty():
        return []
    from tracekit.tables.host import nearest

    places = frame.select(pl.col("op").alias("id"), "parent").unique("id")
    held = nearest(places, wanted, parents=ops.select("id", "parent"))["id"]
    both = held.append(wanted)
    return frame.filter(pl.col("op").is_in(both.implode()))["id"].to_list()


def _role(
    call: Call,
    activity: str,
    kind: str,
    is_cast: bool | None,
    fused: str | None,
    op: str | None,
    dims: str | None,
    in_softmax: bool,
) -> str:
    if activity == "memset":
        return "fill"
    if fused is not None:
        return "fused"
    if is_cast:
        return "cast"
    if activity == "memcpy":
        return "copy"
    if kind == "gemm":
        return "matmul"
    if (
        in_softmax
        or "softmax" in kind
        or ((op or "").startswith("triton_")
        and "softmax" in (op or ""))
    ):
        return "softmax"
    op = op or ""
    if re.search(_MASK_OPS, op) and _is_mask_size(call, dims):
        return "mask"
    if re.search(_SCALE, op):
        return "scale"
    if re.search(_APPLY, op):
        return "mask_apply"
    if kind == "copy" or op in ("aten::copy_", "aten::clone"):
        return "copy"
    return "other"


def _is_mask_size(call: Call, dims: str | None) -> bool:
    """Whether no operand is larger than one score matrix a sample, so without the heads."""
    shape = call.shape
    if shape.q_len is None or shape.kv_len is None:
        return False
    limit = shape.q_len * shape.kv_len * (shape.batch or 1)
    if (shape.heads or 1) == 1:
        # One head: a mask is as large as the scores, so only what has no batch is one.
        limit = shape.q_len * shape.kv_len
    # q, k and v are smaller than the mask where sequences are long; they have the head dim.
    sizes = [d for d in names.all_dims(dims) if d]
    if any(d[-1] == shape.head_dim and len(d) >= 3 for d in sizes):
        return False
    if any(len(d) == 4 and d[1] == shape.heads and d[1] > 1 for d in sizes):
        return False
    return all(_numel(d) <= limit for d in sizes)


def _numel(dims: tuple[int, ...]) -> int:
    total = 1
    for d in dims:
        total *= d
    return total


def before(calls: list[Call], kernels: pl.DataFrame, ops: pl.DataFrame) -> pl.DataFrame:
    """Work done on a call's behalf between the call before it and its own start.

    Masks of its score size, and copies of tensors shaped like its q, k and v that run directly
    before it on its thread, under the same parent op. Columns id, call, role, made.
    """
    columns = {"id": pl.UInt32, "call": pl.UInt32, "role": pl.String, "made": pl.Boolean}
    forward = [
        (n, c)
        for n, c in enumerate(calls)
        if c.direction == "forward" and c.shape.q_len is not None
    ]
    if not forward:
        return pl.DataFrame(schema=columns)
    busy = ops.filter(pl.col("self_gpu_ns") > 0, pl.col("kind") == "cpu_op")
    columns_ = ("id", "parent", "name", "input_dims", "concrete_inputs", "kind", "ts_ns")
    owner: dict[int, _Owner] = {row[0]: row[1:] for row in ops.select(columns_).iter_rows()}
    events: dict[int, list[int]] = {}
    for id_, op in kernels.drop_nulls("op").select("id", "op").iter_rows():
        events.setdefault(op, []).append(id_)
    rows = []
    for thread, on_thread in _by_thread(forward).items():
        here = busy.filter(pl.col("thread").cast(pl.String) == thread).sort("ts_ns", "id")
        ids, starts = here["id"].to_list(), here["ts_ns"]
        last = None
        for number, call in on_thread:
            start, end = call.spans[0][1], call.spans[0][2]
            floor = max(start - _BACK_NS, last if last is not None else start - _BACK_NS)
            low = int(starts.search_sorted(floor, side="left"))
            high = int(starts.search_sorted(start, side="left"))
            last = end
            parent = owner[call.op][0] if call.op in owner else None
            for op in ids[low:high]:
                part = _prior_part(call, op, parent, owner)
                if part is not None:
                    rows += [(event, number, *part) for event in events.get(op, [])]
    return pl.DataFrame(rows, schema=columns, orient="row")


def _by_thread(forward: list[tuple[int, Call]]) -> dict[str, list[tuple[int, Call]]]:
    threads: dict[str, list[tuple[int, Call]]] = {}
    for number, call in forward:
        threads.setdefault(call.spans[0][0], []).append((number, call))
    return threads


_Owner = tuple[int | None, str, str | None, str | None, str, int]
"""An op: parent, name, input dims, concrete inputs, kind, start."""


def _prior_part(
    call: Call, op: int, parent: int | None, owner: dict[int, _Owner]
) -> tuple[str, bool] | None:
    """Role of an op before the call, and whether it makes a mask anew.

    By the outermost op around it that is a sibling of the call.
    """
    top = op
    while True:
        up = owner[top][0]
        if up is None or up == parent or owner[up][4] != "cpu_op":
            break
        top = up
    if owner[top][0] != parent:
        return None
    name, dims, concrete = str(owner[top][1]), owner[top][2], owner[top][3]
    shape = call.shape
    tail = (shape.q_len, shape.kv_len)
    tensors = [d for d in names.all_dims(dims) if d]
    made = names.concrete_list(concrete)
    plain = re.search(_ANY_TENSOR, name) is not None
    if plain and not all(_has_no_heads(d) for d in tensors if len(d) > 1):
        return None
    if re.search(_MASK_MAKERS, name) and _is_mask_size(call, dims):
        # A comparison of two ranges, [L, 1] against [1, S], makes a mask as well.
        spread = any(d[-1] == tail[1] for d in tensors) and any(
            d[-2:-1] == (tail[0],) for d in tensors
        )
        if any(d[-2:] == tail for d in (*tensors, made)) or (len(tensors) > 1 and spread):
            return "mask", re.search(_MASK_CREATORS, name) is not None
    if re.search(_COPIERS, name) and tensors and _is_operand(shape, tensors[0]):
        return "copy", False
    return None


def _has_no_heads(dims: tuple[int, ...]) -> bool:
    """[L, S] or [batch, 1, L, S], the shapes of masks and not of hidden states."""
    return len(dims) == 2 or (len(dims) == 4 and dims[1] == 1)


def _is_operand(shape: names.Shape, dims: tuple[int, ...]) -> bool:
    """Whether ``dims`` are those of the call's q, k or v, in either order of heads and length."""
    if len(dims) not in (4, 5) or shape.head_dim is None:
        return False
    if dims[-1] not in (shape.head_dim, shape.v_head_dim) or dims[0] != shape.batch:
        return False
    total = _numel(dims)
    sizes = {
        (shape.batch or 0) * (heads or 0) * (length or 0) * dims[-1]
        for heads in (shape.heads, shape.kv_heads)
        for length in (shape.q_len, shape.kv_len)
    }
    return total in sizes
