"""``tracekit info``."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from tracekit._version import __version__
from tracekit.cli import output
from tracekit.io import reader_status


def command() -> int:
    """Print versions, and which reader is in use and why."""
    lines = [f"tracekit {__version__}, Python {platform.python_version()}, {platform.platform()}"]
    for package in (
        "polars",
        "pyarrow",
        "msgspec",
        "orjson",
        "networkx",
        "isal",
        "zstandard",
        "torch",
    ):
        try:
            lines.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            lines.append(f"{package} not installed")
    usable, why = reader_status()
    lines.append(f"reader: {'native' if usable else 'python'} ({why})")
    output.emit("\n".join(lines) + "\n", None)
    return 0
