"""One renderer a file: a plain function from a report to text."""

from __future__ import annotations

import importlib

from tracekit.errors import OptionError
from tracekit.report.model import Renderer

FORMATS = ("terminal", "json", "markdown", "github", "sarif", "junit", "html")
"""Formats of a diagnosis."""


def renderer(name: str) -> Renderer:
    """The renderer of a format; raises :class:`OptionError` for an unknown one.

    >>> renderer("markdown").__name__
    'render'
    """
    if name not in FORMATS:
        raise OptionError(f"no format {name!r}", hint=f"one of {', '.join(FORMATS)}")
    found: Renderer = importlib.import_module(f"tracekit.report.render.{name}").render
    return found
