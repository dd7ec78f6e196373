"""The native event sink, where the package was built with it."""

from __future__ import annotations

from tracekit.io.python_sink import PythonSink


def status() -> tuple[bool, str]:
    """Whether the native reader can be used, and why or why not."""
    return False, "this installation was built without it"


NativeSink = PythonSink
