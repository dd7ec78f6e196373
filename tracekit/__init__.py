"""Reads a saved GPU profile and says what is slow, why, how sure it is, and what the fix gives back.

>>> import tracekit
>>> report = tracekit.load("fixtures/attention/sdpa_math.json.gz").diagnose()
>>> report.findings[0].slug
'sdpa-math-backend'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tracekit._version import __version__
from tracekit.errors import TracekitError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from tracekit.compare import compare
    from tracekit.report.model import Finding, Report
    from tracekit.rules.model import Rule, rule
    from tracekit.trace import Trace

__all__ = [
    "Finding",
    "Report",
    "Rule",
    "Trace",
    "TracekitError",
    "__version__",
    "classify",
    "compare",
    "load",
    "rule",
]

_LAZY = {
    "Trace": "tracekit.trace",
    "Report": "tracekit.report.model",
    "Finding": "tracekit.report.model",
    "Rule": "tracekit.rules.model",
    "rule": "tracekit.rules.model",
    "compare": "tracekit.compare",
}


def load(source: Any, *, reader: str | None = None) -> Trace:
    """Load one profile.

    ``source`` is a path or URL (plain, gzip, zstd or zip, told by content), ``"-"`` for standard
    input, bytes, an open file, or a live ``torch.profiler.profile``. ``reader`` is ``auto``,
    ``native`` or ``python``.

    Raises :class:`TracekitError` for what cannot be opened or is no trace. A damaged trace is
    loaded as far as it can be; ``trace.quality`` says what was lost.

    >>> load("fixtures/attention/naive.json.gz").kernels.height
    21
    """
    from tracekit.io import read
    from tracekit.trace import Trace

    return Trace(read(source, reader=reader))


def classify(names: Iterable[str]) -> pl.DataFrame:
    """What kernel names say (:data:`tracekit.schema.CLASSES`), one row a distinct name.

    >>> classify(["nvjet_tst_128x64_64x8_1x2_h_bz_TNT"])["unit"].to_list()
    ['tensor_core']
    """
    from tracekit.kernels.classify import classify as run

    return run(names)


def __getattr__(name: str) -> Any:
    """Import the rest of the public names when first used."""
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'tracekit' has no attribute {name!r}")
    return getattr(importlib.import_module(module), name)


def __dir__() -> list[str]:
    """Public names only."""
    return __all__
