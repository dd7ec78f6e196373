"""What the launching op adds to a name: dtypes it cannot show, casts, and disagreements."""

from __future__ import annotations

import orjson
import polars as pl

from tracekit.kernels.dtypes import op_type
from tracekit.kernels.model import TENSOR_CORE, UNKNOWN

_KEYS = [
    "kind", "unit", "compute_dtype", "is_cast", "cast_from", "cast_to", "name_evidence", "op_name",
    "op_input_types",
]  # fmt: skip
_FILLED = ("unit", "compute_dtype", "is_cast", "cast_from", "cast_to")
_PRODUCTS = ("gemm", "conv", "attention_fwd", "attention_bwd", "moe")
_NARROW = ("bf16", "fp16", "fp8_e4m3", "fp8_e5m2", "int8")
_COPIES = ("aten::copy_", "aten::_to_copy", "aten::to")

_Answer = tuple[str | None, str | None, bool | None, str | None, str | None, str]


def refine(frame: pl.DataFrame) -> pl.DataFrame:
    """``frame`` with unit, dtype and cast columns completed from the launching op.

    ``frame`` has the columns of :data:`tracekit.schema.CLASSES` (its evidence as
    ``name_evidence``), ``op_name`` and ``op_input_types`` (JSON text); either may be null. Adds
    ``class_evidence``. A name that says something wins over its op, and a disagreement is told.
    """
    plain = frame.with_columns(
        pl.col(c).cast(pl.String) for c in _KEYS if frame.schema[c] == pl.Categorical
    )
    cases = plain.select(_KEYS).unique(maintain_order=True)
    answers = [_answer(*row) for row in cases.iter_rows()]
    found = cases.with_columns(
        pl.Series([a[0] for a in answers], dtype=pl.String).alias("unit_"),
        pl.Series([a[1] for a in answers], dtype=pl.String).alias("compute_dtype_"),
        pl.Series([a[2] for a in answers], dtype=pl.Boolean).alias("is_cast_"),
        pl.Series([a[3] for a in answers], dtype=pl.String).alias("cast_from_"),
        pl.Series([a[4] for a in answers], dtype=pl.String).alias("cast_to_"),
        pl.Series([a[5] for a in answers], dtype=pl.String).alias("class_evidence"),
    )
    joined = plain.join(found, on=_KEYS, how="left", nulls_equal=True, maintain_order="left")
    return joined.with_columns(pl.col(f"{c}_").alias(c) for c in _FILLED).drop(
        f"{c}_" for c in _FILLED
    )


def _types(text: str | None) -> list[str | None]:
    if not text or len(text) > 100_000:
        return []
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return []
    if not isinstance(value, list):
        return []
    return [op_type(v) if isinstance(v, str) else None for v in value[:64]]


def _answer(
    kind: str,
    unit: str,
    dtype: str | None,
    is_cast: bool | None,
    source: str | None,
    target: str | None,
    evidence: str,
    op: str | None,
    types_text: str | None,
) -> _Answer:
    types = _types(types_text)
    known = [t for t in types if t is not None]
    notes = [evidence]
    if kind in ("copy", "memcpy_d2d") and op in _COPIES:
        is_cast, source, target = _cast(op, types, is_cast, source, target, notes)
    floats = [t for t in known if t[:3] not in ("int", "uin", "boo")] or known
    operand = floats[0] if floats else None
    if kind in _PRODUCTS and operand is not None:
        if dtype is None and unit != "cuda_core":
            dtype, unit = _product(operand, unit, notes)
        elif dtype is not None and not _agree(dtype, floats):
            notes.append(f"name says {dtype}, the op has {operand}")
    elif (
        dtype is None
        and operand is not None
        and kind in ("softmax", "norm", "reduction", "elementwise", "triton")
    ) and len(set(floats)) == 1:
        dtype = operand
        notes.append(f"dtype from {op}")
    return unit, dtype, is_cast, source, target, "; ".join(notes)


def _product(operand: str, unit: str, notes: list[str]) -> tuple[str | None, str]:
    """Dtype and unit of a product whose name does not say: from the dtype of its operands."""
    if operand in _NARROW:
        notes.append(f"operands are {operand}")
        # No compiler multiplies 16-bit or 8-bit tiles on CUDA cores where it has a choice.
        return operand, TENSOR_CORE if unit == UNKNOWN else unit
    if operand == "fp32" and unit == TENSOR_CORE:
        notes.append("fp32 operands on tensor cores: TF32")
        return "tf32", unit
    notes.append(f"operands are {operand}; the name does not say how they are multiplied")
    return None, unit


def _agree(dtype: str, operands: list[str]) -> bool:
    if dtype in operands or (dtype == "tf32" and "fp32" in operands):
        return True
    return dtype.startswith("fp8") and any(o.startswith("fp8") for o in operands)


def _cast(
    op: str,
    types: list[str | None],
    is_cast: bool | None,
    source: str | None,
    target: str | None,
    notes: list[str],
) -> tuple[bool | None, str | None, str | None]:
    """A copy's ends: ``aten::copy_(self, src)`` writes the first and reads the second."""
    if op != "aten::copy_" or len(types) < 2 or types[0] is None or types[1] is None:
        return is_cast, source, target
    differ = types[0] != types[1]
    if is_cast is not None and is_cast != differ:
        notes.append(f"name and op disagree: the op copies {types[1]} to {types[0]}")
    else:
        notes.append(f"the op copies {types[1]} to {types[0]}")
    return differ, types[1] if differ else None, types[0] if differ else None
