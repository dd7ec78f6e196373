"""Where attention calls lie on the host: one or more spans of a thread each."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import polars as pl

from tracekit.attention import names
from tracekit.tables.host import nearest

_Row = tuple[int, str, str | None, str | None]
"""A matmul: id, name, input dims, input types."""

_Anchor = tuple[int, str, str | None]
"""A softmax: id, name, input dims."""

LOOK_BACK = 4
"""Matmuls to look back for the one that made the scores (position biases come in between)."""


@dataclass
class Call:
    """One attention call before its device events are known."""

    op: int | None
    name: str
    direction: str
    backend: str | None
    spans: list[tuple[str, int, int]] = field(default_factory=list)
    """Thread, start and end (ns) of the host ranges that belong to it."""
    forward: int | None = None
    """Index of the forward call a backward one belongs to."""
    shape: names.Shape = field(default_factory=names.Shape)


def find(ops: pl.DataFrame) -> list[Call]:
    """All calls that ops show: fused or SDPA ops, eager compositions, and their backwards."""
    cpu = ops.filter(pl.col("kind") == "cpu_op").select(
        "id", "name", "thread", "ts_ns", "parent", "forward_id", "input_dims", "input_types",
        "concrete_inputs", (pl.col("ts_ns") + pl.col("dur_ns").fill_null(0)).alias("end"),
    )  # fmt: skip
    parents = ops.select("id", "parent")
    roots = _roots(cpu, parents)
    calls = _root_calls(cpu, parents, roots)
    calls += _eager(cpu, parents, roots)
    calls.sort(key=lambda c: (c.spans[0][1], c.spans[0][0]))
    return calls + _backward(cpu, calls)


def _named(cpu: pl.DataFrame, pattern: str) -> pl.DataFrame:
    """Rows whose op name matches, tested on distinct names."""
    words = cpu["name"].cast(pl.String).unique().to_list()
    hits = [w for w in words if w is not None and re.search(pattern, w)]
    return cpu.filter(pl.col("name").cast(pl.String).is_in(hits))


def _roots(cpu: pl.DataFrame, parents: pl.DataFrame) -> pl.DataFrame:
    """Attention ops that lie in no other attention op."""
    found = _named(cpu, names.ROOT)
    inner = nearest(found, found["id"], parents=parents)
    return found.join(inner, on="id", how="anti").sort("ts_ns", "id")


def _root_calls(cpu: pl.DataFrame, parents: pl.DataFrame, roots: pl.DataFrame) -> list[Call]:
    if roots.is_empty():
        return []
    inside = _named(cpu, names.ROOT)
    owner = nearest(inside, roots["id"], parents=parents).rename({"ancestor": "root"})
    below = inside.join(owner, on="id").sort("ts_ns", "id")
    rows: dict[int, list[tuple[str, str | None, str | None, str | None]]] = {}
    columns = ("name", "input_dims", "input_types", "concrete_inputs")
    for root, *row in below.select("root", *columns).iter_rows():
        rows.setdefault(root, []).append(tuple(row))
    calls = []
    for id_, thread, start, end, *own in roots.select(
        "id", "thread", "ts_ns", "end", *columns
    ).iter_rows():
        members = [tuple(own), *rows.get(id_, [])]
        text = [str(m[0]) for m in members]
        backward = any(re.search(r"(?i)backward|_bwd\b", t) for t in text)
        known = [m for m in members if names.has_signature(str(m[0]))]
        shapes = [names.shape_of(*m) for m in known]
        shape = next((s for s in shapes if s.batch is not None), shapes[0] if shapes else None)
        calls.append(
            Call(
                id_,
                str(own[0]),
                "backward" if backward else "forward",
                names.backend_of(text),
                [(thread, start, end)],
                shape=shape or names.Shape(),
            )
        )
    return calls


def _eager(cpu: pl.DataFrame, parents: pl.DataFrame, roots: pl.DataFrame) -> list[Call]:
    """Matmul → … → softmax → … → matmul on one thread, tied by their shapes."""
    anchors = _named(cpu, names.SOFTMAX)
    matmuls = _named(cpu, names.MATMUL)
    if anchors.is_empty() or matmuls.is_empty():
        return []
    in_root = nearest(pl.concat([anchors, matmuls]), roots["id"], parents=parents)
    anchors = anchors.join(in_root, on="id", how="anti")
    matmuls = matmuls.join(in_root, on="id", how="anti")
    rows = {
        row[0]: row for row in matmuls.select("id", "name", "input_dims", "input_types").iter_rows()
    }
    triples = []
    for thread in anchors["thread"].cast(pl.String).unique().sort().to_list():
        here = matmuls.filter(pl.col("thread").cast(pl.String) == thread).sort("ts_ns", "id")
        order = here["id"].to_list()
        starts = here["ts_ns"]
        chosen = anchors.filter(pl.col("thread").cast(pl.String) == thread).sort("ts_ns", "id")
        places = starts.search_sorted(chosen["ts_ns"], side="left").to_list()
        used = -1
        for place, (id_, name, dims) in zip(
            places, chosen.select("id", "name", "input_dims").iter_rows(), strict=True
        ):
            if place >= len(order) or place - 1 <= used:
                continue
            second = rows[order[place]]
            for back in range(place - 1, max(place - 1 - LOOK_BACK, used), -1):
                first = rows[order[back]]
                if _chained(first, second, dims):
                    triples.append((thread, first, (id_, str(name), dims), second))
                    used = place
                    break
    return _composed(cpu, parents, triples)


def _chained(first: _Row, second: _Row, softmax: str | None) -> bool:
    """Whether the second matmul multiplies what the first made, of the softmax's size."""
    a, b = operands(first[1], first[2]), operands(second[1], second[2])
    if (
        len(a) < 2
        or len(b) < 2
        or len(a[0]) < 2
        or len(a[0]) != len(a[1])
        or len(b[0]) != len(b[1])
    ):
        return False
    scores = (*a[0][:-1], a[1][-1])
    if b[0] != scores or b[0][-1] != b[1][-2]:
        return False
    tensors = names.all_dims(softmax)
    total = _numel(scores)
    return not tensors or not tensors[0] or any(_numel(t) == total for t in tensors if t)


def operands(name: str, text: str | None) -> tuple[tuple[int, ...], ...]:
    """Dimensions of the two operands of a matmul; ``aten::baddbmm`` has a third before them.

    >>> operands("aten::bmm", "[[8,4,2],[8,2,4],[8,4,4]]")
    ((8, 4, 2), (8, 2, 4))
    """
    dims = names.all_dims(text)
    return dims[1:3] if name == "aten::baddbmm" else dims[:2]


def _numel(dims: tuple[int, ...]) -> int:
    total = 1
    for d in dims:
        total *= d
    return total


def _composed(
    cpu: pl.DataFrame, parents: pl.DataFrame, triples: list[tuple[str, _Row, _Anchor, _Row]]
) -> list[Call]:
    if not triples:
        return []
    up = dict(parents.iter_rows())
    wanted = set()
    lines = []
    for thread, first, anchor, second in triples:
        around = set(_chain(anchor[0], up))
        begin = _outermost(first[0], around, up)
        last = _outermost(second[0], around, up)
        wanted |= {begin, last}
        lines.append((thread, first, anchor, second, begin, last))
    known = {
        row[0]: row[1:]
        for row in cpu.filter(pl.col("id").is_in(list(wanted)))
        .select("id", "name", "ts_ns", "end", "input_dims")
        .iter_rows()
    }
    calls = []
    for thread, first, anchor, second, begin, last in lines:
        start, end = known[begin], known[last]
        backend = "compiled" if anchor[1].startswith("triton_") else "eager"
        shape = _composed_shape(first, second, (known[begin][3], anchor[2]))
        calls.append(
            Call(
                begin, str(start[0]), "forward", backend, [(thread, start[1], end[2])], shape=shape
            )
        )
    return calls


def _chain(op: int | None, up: dict[int, int | None]) -> list[int]:
    chain = []
    while op is not None:
        chain.append(op)
        op = up.get(op)
    return chain


def _outermost(op: int, around: set[int], up: dict[int, int | None]) -> int:
    """The outermost op around ``op`` that does not hold the softmax as well."""
    best = op
    for ancestor in _chain(op, up):
        if ancestor in around:
            break
        best = ancestor
    return best


def _composed_shape(first: _Row, second: _Row, around: tuple[str | None, ...]) -> names.Shape:
    """Shape from the two matmuls; heads from a four-dimensional operand around the first one, or
    of the softmax.
    """
    a, b = operands(first[1], first[2]), operands(second[1], second[2])
    types = names.dtypes(first[3])
    wide = [d[:2] for text in around for d in names.all_dims(text) if len(d) == 4]
    fits = [w for w in wide if len(a[0]) != 3 or w[0] * w[1] == a[0][0]]
    batch, heads = fits[0] if fits else (None, None)
    return names.Shape(
        batch=batch,
        heads=heads,
        kv_heads=heads,
        q_len=a[0][-2],
        kv_len=a[1][-1],
        head_dim=a[0][-1],
        v_head_dim=b[1][-1],
        dtype=next((t for t in types if t), None),
    )


def _backward(cpu: pl.DataFrame, calls: list[Call]) -> list[Call]:
    """Backwards of composed calls, by the autograd nodes their forward ops made."""
    linked = cpu.drop_nulls("forward_id")
    if linked.is_empty():
        return []
    spans = pl.DataFrame(
        [
            (thread, start, end, number)
            for number, call in enumerate(calls)
            if call.direction == "forward"
            for thread, start, end in call.spans
        ],
        schema={"thread": pl.String, "at": pl.Int64, "end": pl.Int64, "call": pl.UInt32},
        orient="row",
    ).sort("at")
    made = cpu.filter(pl.col("id").is_in(linked["forward_id"].unique().implode()))
    inside = within(made.select("id", pl.col("thread").cast(pl.String), "ts_ns"), spans)
    nodes = linked.join(inside, left_on="forward_id", right_on="id").sort("ts_ns", "id")
    # Each node shows twice, the engine's range around the node's own: keep the outer one.
    nodes = nodes.join(nodes.select(pl.col("id").alias("parent")), on="parent", how="anti")
    taken = [
        (thread, start, end)
        for c in calls
        if c.direction == "backward"
        for thread, start, end in c.spans
    ]
    busy = pl.DataFrame(
        taken, schema={"thread": pl.String, "at": pl.Int64, "end": pl.Int64}, orient="row"
    ).with_columns(call=pl.lit(0, pl.UInt32)).sort("at")  # fmt: skip
    known = within(nodes.select("id", pl.col("thread").cast(pl.String), "ts_ns"), busy)
    nodes = nodes.join(known.select("id"), on="id", how="anti")
    found: dict[int, Call] = {}
    for number, id_, name, thread, start, end in nodes.select(
        "call", "id", "name", "thread", "ts_ns", "end"
    ).iter_rows():
        forward = calls[number]
        call = found.setdefault(
            number,
            Call(id_, str(name), "backward", forward.backend, [], number, forward.shape),
        )
        call.spans.append((thread, start, end))
    return [found[n] for n in sorted(found)]


def within(points: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """``id`` and ``call`` of the points (id, thread, ts_ns) that lie in a span (thread, at, end)."""
    near = (
        points.drop_nulls("ts_ns")
        .sort("ts_ns")
        .join_asof(spans, left_on="ts_ns", right_on="at", by="thread", check_sortedness=False)
    )
    return near.filter(pl.col("ts_ns") < pl.col("end")).select("id", "call")
