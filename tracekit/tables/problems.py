"""Warnings about the meaning of a trace, collected stage by stage."""

from __future__ import annotations

import polars as pl

from tracekit import schema


class Problems:
    """Collects warning codes with a count, the first event and plain words.

    >>> problems = Problems()
    >>> problems.add("negative_duration", pl.Series([7, 3], dtype=pl.UInt32), "ignored")
    >>> problems.frame().select("code", "count", "event").row(0)
    ('negative_duration', 2, 3)
    """

    def __init__(self) -> None:
        self._rows: list[tuple[str, int, int | None, int | None, str]] = []

    def add(self, code: str, events: pl.Series, detail: str) -> None:
        """Note ``code`` for ``events`` (ids); does nothing when there are none."""
        if events.len():
            first: int = events.sort()[0]
            self._rows.append((code, events.len(), None, first, detail))

    def note(self, code: str, count: int, detail: str) -> None:
        """Note ``code`` for the trace as a whole."""
        self._rows.append((code, count, None, None, detail))

    def frame(self) -> pl.DataFrame:
        """All of them, as :data:`tracekit.schema.LOSSES`, sorted by code."""
        return pl.DataFrame(self._rows, schema=schema.LOSSES.polars, orient="row").sort(
            "code", "event", nulls_last=True
        )
