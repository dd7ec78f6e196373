"""What a kernel is, from its name alone: kind, unit, dtype, library, and what the name rests on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, fields
from functools import lru_cache

import polars as pl

from tracekit import schema
from tracekit.kernels.grammar import PARSERS
from tracekit.kernels.model import KernelClass
from tracekit.kernels.normalise import normalise

__all__ = ["classify", "classify_name"]

_COLUMNS = ["name", *(f.name for f in fields(KernelClass))]
_SCHEMA = {
    name: pl.String() if dtype == pl.Categorical else dtype
    for name, dtype in schema.CLASSES.polars.items()
}


@lru_cache(maxsize=1 << 15)
def classify_name(name: str) -> KernelClass:
    """The class of one name; ``other`` and ``unknown`` where no grammar knows it.

    >>> c = classify_name("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_ffma")
    >>> c.kind, c.unit, c.compute_dtype
    ('gemm', 'cuda_core', 'fp32')
    >>> classify_name("my_kernel").kind
    'other'
    """
    parsed = normalise(name)
    for parser in PARSERS:
        found = parser(parsed)
        if found is not None:
            return found
    return KernelClass("other")


def classify(names: Iterable[str]) -> pl.DataFrame:
    """:data:`tracekit.schema.CLASSES`: one row a distinct name, in order of first appearance.

    >>> classify(["nvjet_tst_128x64_64x8_1x2_h_bz_TNT"]).select("kind", "unit", "compute_dtype").row(0)
    ('gemm', 'tensor_core', 'bf16')
    """
    distinct = list(dict.fromkeys(n for n in names if n is not None))
    rows = [(name, *astuple(classify_name(name))) for name in distinct]
    return schema.CLASSES.conform(
        pl.DataFrame(rows, schema={c: _SCHEMA[c] for c in _COLUMNS}, orient="row")
    )
