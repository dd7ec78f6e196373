"""Two or more traces side by side."""

from __future__ import annotations

from tracekit.compare.backends import Backend, backend_table

__all__ = ["Backend", "backend_table", "compare"]


def compare(*traces: object) -> list[Backend]:
    """The attention backend table: one row a trace and kind of attention call.

    ``traces`` are loaded traces, or anything :func:`tracekit.load` takes.

    >>> rows = compare("fixtures/attention/naive.json.gz", "fixtures/attention/sdpa_flash.json.gz")
    >>> [(r.backend, r.kernels) for r in rows]
    [('flash', 1), ('eager', 5)]
    """
    return backend_table(list(traces))
