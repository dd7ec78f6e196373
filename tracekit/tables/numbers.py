"""Sums and means of integer columns as plain numbers."""

from __future__ import annotations

import polars as pl


def total(column: pl.Series) -> int:
    """Sum of an integer column, 0 for an empty one.

    >>> total(pl.Series([1, None, 2]))
    3
    """
    value = column.cast(pl.Int64).sum()
    return int(value) if isinstance(value, int) else 0


def mean(column: pl.Series) -> float | None:
    """Mean of a numeric column; ``None`` for an empty one.

    >>> mean(pl.Series([1, 2])), mean(pl.Series([], dtype=pl.Int64))
    (1.5, None)
    """
    value = column.cast(pl.Float64).mean()
    return value if isinstance(value, float) else None
