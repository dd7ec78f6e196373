"""``tracekit check``."""

from __future__ import annotations

from tracekit.cli import output
from tracekit.report import text


def command(trace: str) -> int:
    """Print what was lost, damaged, doubtful or not recorded; exit code 1 if there is any loss.

    Example: tracekit check trace.json.gz

    Parameters
    ----------
    trace:
        Path, URL, or - for standard input.
    """
    from tracekit import load

    with output.progress(f"reading {trace}"):
        quality = load(trace).quality
    lines = [f"{text.safe(trace)}: {text.quality_summary(quality)}"]
    lines += [f"  {text.safe(line)}" for line in text.quality_lines(quality)]
    output.emit("\n".join(lines) + "\n", None)
    return 1 if quality.codes else 0
