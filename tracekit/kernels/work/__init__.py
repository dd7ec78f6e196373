"""Work of ops and kernels from recorded shapes: FLOPs and the bytes they cannot avoid moving."""

from __future__ import annotations

from tracekit.kernels.work.ops import op_work
from tracekit.kernels.work.traffic import event_bytes

__all__ = ["event_bytes", "op_work"]
