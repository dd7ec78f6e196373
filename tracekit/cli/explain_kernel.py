"""``tracekit explain-kernel``."""

from __future__ import annotations

from tracekit.cli import output
from tracekit.kernels.explain import explain_name
from tracekit.report.text import safe


def command(name: str) -> int:
    """Say what each part of a kernel name means.

    Example: tracekit explain-kernel nvjet_tst_128x64_64x8_1x2_h_bz_TNT

    Parameters
    ----------
    name:
        A kernel name as a profiler writes it.
    """
    rows = explain_name(name)
    width = max((len(p) for p, _ in rows), default=0)
    lines = [safe(name, 200), *(f"  {safe(p).ljust(width)}  {safe(m)}" for p, m in rows)]
    output.emit("\n".join(lines) + "\n", None)
    return 0
