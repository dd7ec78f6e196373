"""How much of a trace can be trusted: what was lost, what is missing, what stayed unlinked."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl


@dataclass(frozen=True)
class Quality:
    """Counts and warnings of one trace.

    ``warnings`` is :data:`tracekit.schema.LOSSES`: one row a code, with its count, the first byte
    offset or event, and plain words. ``missing`` names what was not recorded, and how to record it.

    >>> Quality(counts={"device_events": 4, "linked": 3}).linked_pct
    75.0
    >>> Quality(counts={"device_events": 0, "linked": 0}).linked_pct is None
    True
    """

    counts: dict[str, int]
    warnings: pl.DataFrame = field(default_factory=pl.DataFrame)
    missing: tuple[tuple[str, str], ...] = ()

    @property
    def codes(self) -> list[str]:
        """Warning codes, sorted, each once."""
        if self.warnings.is_empty():
            return []
        codes: list[str] = self.warnings["code"].unique().sort().to_list()
        return codes

    @property
    def linked_pct(self) -> float | None:
        """Share of device events tied to a launch or op, in percent; ``None`` without any."""
        total = self.counts.get("device_events", 0)
        return 100.0 * self.counts.get("linked", 0) / total if total else None

    def __bool__(self) -> bool:
        """True when nothing was lost or doubtful."""
        return not self.codes
