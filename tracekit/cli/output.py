"""Where commands write: standard output, a file that is not overwritten, and notices on stderr."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracekit.errors import OptionError


def emit(text: str, out: Path | None, *, force: bool = False) -> None:
    """Write ``text`` to ``out``, or to standard output."""
    if out is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with fresh(out, force=force) as path:
        path.write_text(text, encoding="utf-8")


@contextmanager
def fresh(out: Path, *, force: bool) -> Iterator[Path]:
    """``out``, which must not exist unless ``force``; says "Wrote" when done."""
    if out.exists() and not force:
        raise OptionError("exists already", where=str(out), hint="--force overwrites it")
    try:
        yield out
    except OSError as error:
        raise OptionError(f"cannot be written: {error.strerror}", where=str(out)) from None
    print(f"Wrote {out}", file=sys.stderr)  # noqa: T201


def width() -> int:
    """Columns of the terminal; 100 when there is none."""
    return shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100


def colour() -> bool:
    """Whether standard output takes colours (https://no-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def progress(text: str, after_s: float = 1.0) -> Iterator[None]:
    """Show ``text`` on stderr while something takes over a second; silent without a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    shown = threading.Event()

    def show() -> None:
        shown.set()
        sys.stderr.write(f"{text} …")
        sys.stderr.flush()

    timer = threading.Timer(after_s, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if shown.is_set():
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
