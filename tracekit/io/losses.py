"""Warning codes: what each means, and a collector for those met while reading."""

from __future__ import annotations

import polars as pl

from tracekit import schema

CODES: dict[str, str] = {
    "truncated": "the file ends before the trace does; events before that point were kept",
    "bad_escape": "strings with invalid backslash escapes were repaired",
    "unescaped_quote": "strings with unescaped quotes were repaired",
    "control_char": "strings with raw control characters were repaired",
    "invalid_utf8": "bytes that are no UTF-8 were replaced by U+FFFD",
    "nonfinite_literal": "NaN or Infinity stood for a number; read as no value",
    "bad_literal": "a bare word stood for a value; read as no value",
    "bad_syntax": "broken JSON was repaired or, where that failed, the event was left out",
    "bad_trailer": "the text after the events is broken; the events are whole",
    "extra_data": "more text follows the trace; it was not read",
    "gzip_corrupt": "the compressed data is corrupt; what comes before was kept",
    "gzip_trailing_garbage": "bytes that are no gzip data follow the compressed trace",
    "malformed_event": "entries that are no event were left out",
    "empty_trace": "the trace holds no event that lasts",
    "no_gpu_activity": "no device activity was recorded",
    "no_rank": "one of several ranks' files does not say which rank it is",
    "not_kineto": "the trace is no profile of PyTorch",
    "zero_timestamp": "events whose time was lost (0); left out of all sums",
    "negative_duration": "negative durations; left out of all sums",
    "missing_duration": "complete events without a duration; left out of all sums",
    "unfinished_event": "ops still running when the profiler stopped; their length is unknown",
    "impossible_duration": "device events longer than the recording; cut at the next start",
    "mixed_timebase": "device and host events are on different clocks",
    "kernel_before_launch": "device events that start before their own launch",
    "unmatched_begin": "begin events without an end, or the reverse",
    "zero_correlation": "device events with correlation id 0, which ties them to no launch",
    "duplicate_correlation": "several kernels of one launch that can start only one",
    "unlinked_kernel": "device events without a launch in the trace",
    "launch_without_kernel": "launches without device activity in the trace",
    "step_without_gpu": "steps without device work while others have some",
    "multi_rank_merged": "several ranks are merged in one file",
}
"""Every code that ``trace.quality.warnings`` can hold."""


class Losses:
    """Counts losses by code, with the first byte offset of each.

    >>> losses = Losses()
    >>> losses.add("bad_escape", 120)
    >>> losses.add("bad_escape", 90)
    >>> losses.frame().select("code", "count", "offset").row(0)
    ('bad_escape', 2, 90)
    """

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, int | None, int | None]] = {}

    def add(self, code: str, offset: int | None, event: int | None = None, count: int = 1) -> None:
        """Count one more ``code``, met at ``offset`` of the decompressed text."""
        total, first, at = self._found.get(code, (0, None, None))
        if offset is not None and (first is None or offset < first):
            first, at = offset, event
        self._found[code] = (total + count, first, at)

    def __contains__(self, code: str) -> bool:
        """Whether ``code`` was met."""
        return code in self._found

    def frame(self) -> pl.DataFrame:
        """:data:`tracekit.schema.LOSSES`, sorted by code."""
        rows = [
            (code, count, offset, event, CODES[code])
            for code, (count, offset, event) in sorted(self._found.items())
        ]
        return pl.DataFrame(rows, schema=schema.LOSSES.polars, orient="row")
