"""Recorded arguments of an op, decoded within bounds: anything odd is simply absent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from tracekit.kernels.dtypes import op_type

MAX_TEXT = 100_000
MAX_DIM = 2**40
MAX_ARGS = 64

Dims = tuple[int, ...]

ITEM_BYTES = {
    "fp64": 8, "complex64": 8, "complex128": 16, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2,
    "fp8_e4m3": 1, "fp8_e5m2": 1, "fp4_e2m1": 0.5, "int64": 8, "int32": 4, "int16": 2, "int8": 1,
    "uint8": 1, "bool": 1,
}  # fmt: skip


def json_list(text: str | None) -> list[Any]:
    """A JSON list, or an empty one for anything else.

    >>> json_list("[1, 2]"), json_list("oops")
    ([1, 2], [])
    """
    if not text or len(text) > MAX_TEXT:
        return []
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return []
    return value if isinstance(value, list) else []


def as_dims(value: Any) -> Dims:
    """Dimensions of one tensor; empty for what is none.

    >>> as_dims([2, 3]), as_dims([2, "x"]), as_dims([])
    ((2, 3), (), ())
    """
    if not isinstance(value, list) or not value or len(value) > 16:
        return ()
    if not all(isinstance(d, int) and not isinstance(d, bool) and 0 <= d < MAX_DIM for d in value):
        return ()
    return tuple(value)


def numel(dims: Dims) -> int:
    """Elements of a tensor of these dimensions; 1 for a scalar.

    >>> numel((2, 3))
    6
    """
    return math.prod(dims)


@dataclass(frozen=True)
class Args:
    """Arguments of one op: ``dims`` (empty for no tensor), ``lists`` of dims for tensor lists,
    ``types`` (our dtype words), ``strides`` and ``concrete`` (texts of the plain arguments).
    """

    dims: tuple[Dims, ...]
    lists: tuple[tuple[Dims, ...], ...]
    types: tuple[str | None, ...]
    strides: tuple[Dims, ...]
    concrete: tuple[str, ...]

    def is_tensor(self, i: int) -> bool:
        """Whether argument ``i`` is a tensor; a tensor without dimensions has a type only."""
        return i < len(self.dims) and (bool(self.dims[i]) or self.type(i) is not None)

    def type(self, i: int) -> str | None:
        """Dtype of argument ``i``."""
        return self.types[i] if i < len(self.types) else None

    def size(self, i: int) -> float | None:
        """Bytes an element of argument ``i``."""
        return ITEM_BYTES.get(self.type(i) or "")

    def bytes(self, i: int) -> int | None:
        """Bytes of argument ``i`` that exist in memory: dimensions of stride 0 count once."""
        size = self.size(i)
        if not self.is_tensor(i) or size is None:
            return None
        dims = self.dims[i]
        strides = self.strides[i] if i < len(self.strides) else ()
        if len(strides) == len(dims):
            dims = tuple(d for d, s in zip(dims, strides, strict=True) if s != 0)
        return math.ceil(numel(dims) * size)

    def text(self, i: int) -> str:
        """Argument ``i`` as recorded, e.g. ``"True"``; empty where it is none."""
        return self.concrete[i] if i < len(self.concrete) else ""


@lru_cache(maxsize=1 << 14)
def parse(dims: str | None, types: str | None, strides: str | None, concrete: str | None) -> Args:
    """Decode the four texts that the profiler records.

    >>> parse("[[2,3],[]]", '["float","Scalar"]', None, '["","1"]').bytes(0)
    24
    """
    sizes = json_list(dims)[:MAX_ARGS]
    return Args(
        tuple(as_dims(v) for v in sizes),
        tuple(
            tuple(as_dims(x) for x in v)
            if isinstance(v, list) and v and isinstance(v[0], list)
            else ()
            for v in sizes
        ),
        tuple(op_type(v) if isinstance(v, str) else None for v in json_list(types)[:MAX_ARGS]),
        tuple(as_dims(v) for v in json_list(strides)[:MAX_ARGS]),
        tuple(v if isinstance(v, str) else "" for v in json_list(concrete)[:MAX_ARGS]),
    )


def int_list(text: str) -> tuple[int, ...] | None:
    """``"[1, 2]"`` as integers (negative allowed); ``None`` for another text.

    >>> int_list("[-1]"), int_list("x")
    ((-1,), None)
    """
    if len(text) > 400:
        return None
    try:
        value = orjson.loads(text) if text else None
    except orjson.JSONDecodeError:
        return None
    value = [value] if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(value, list) or not all(isinstance(v, int) for v in value):
        return None
    return tuple(value)


def broadcast(shapes: list[Dims]) -> Dims | None:
    """Shape of the result of broadcasting; ``None`` where they do not fit.

    >>> broadcast([(4, 1), (3,)])
    (4, 3)
    """
    out: list[int] = []
    for place in range(max((len(s) for s in shapes), default=0)):
        sizes = {s[-1 - place] for s in shapes if place < len(s)} - {1}
        if len(sizes) > 1:
            return None
        out.append(sizes.pop() if sizes else 1)
    return tuple(reversed(out))
