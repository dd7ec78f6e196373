"""What every reader returns, whatever the format it read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tracekit import schema


@dataclass(frozen=True)
class RawTrace:
    """A trace as tables of its source, before any meaning is given to it.

    ``tables`` holds one frame for each of :data:`tracekit.schema.RAW` by name; ``metadata`` the
    document's other top-level members, decoded; ``losses`` (:data:`tracekit.schema.LOSSES`) what
    was damaged; ``entries`` the number of entries of the event list, of any type.

    >>> RawTrace({"events": schema.EVENTS.empty()}, {}, "a.json").table("flows").height
    0
    """

    tables: dict[str, pl.DataFrame]
    metadata: dict[str, Any]
    source: str
    reader: str = "python"
    entries: int = 0
    losses: pl.DataFrame = field(default_factory=schema.LOSSES.empty)

    def table(self, name: str) -> pl.DataFrame:
        """The table called ``name``; empty when the source has no such rows."""
        frame = self.tables.get(name)
        if frame is None:
            frame = next(t for t in schema.RAW if t.name == name).empty()
        return frame
