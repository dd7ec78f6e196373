"""``tracekit diagnose``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from tracekit.cli import baseline as accepted
from tracekit.cli import output
from tracekit.cli.settings import settings
from tracekit.errors import OptionError, TracekitError
from tracekit.report.model import SEVERITIES, Report
from tracekit.report.render import FORMATS, renderer

Format = Literal["terminal", "json", "markdown", "github", "sarif", "junit", "html"]
Level = Literal["error", "warning", "note"]


def command(
    *traces: str,
    format: Annotated[Format, Parameter(alias="-f")] = "terminal",  # noqa: A002
    out: Annotated[Path | None, Parameter(alias="-o")] = None,
    verbose: Annotated[bool, Parameter(alias="-v", negative="")] = False,
    select: list[str] | None = None,
    ignore: list[str] | None = None,
    extend_select: list[str] | None = None,
    fail_on: Level = "warning",
    exit_zero: Annotated[bool, Parameter(negative="")] = False,
    baseline: Path | None = None,
    write_baseline: Path | None = None,
    config: Path | None = None,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Say what is slow in each trace, why, and what the fix gives back.

    Examples: tracekit diagnose trace.json.gz; tracekit diagnose trace.json --select TK1 -v;
    tracekit diagnose *.json.gz --format markdown -o report.md

    Parameters
    ----------
    traces:
        Traces: paths, URLs, or - for standard input.
    format:
        Format of the output.
    out:
        File to write instead of standard output.
    verbose:
        Show evidence, confidence and folded findings.
    select:
        Rule codes or prefixes to run, e.g. TK1 or TK101,TK3; may be given again.
    ignore:
        Rule codes or prefixes not to run.
    extend_select:
        Codes or prefixes to run besides those selected.
    fail_on:
        Least severity that makes the exit code 1.
    exit_zero:
        Exit with 0 whatever is found.
    baseline:
        File of accepted findings, which are left out.
    write_baseline:
        Write all findings as accepted to this file.
    config:
        Configuration file instead of the nearest tracekit.toml or pyproject.toml.
    force:
        Overwrite files that exist.
    """
    if not traces:
        raise OptionError("no trace given", hint="tracekit diagnose TRACE…")
    chosen = settings(config, select=select, ignore=ignore, extend_select=extend_select)
    known_file = baseline or chosen.baseline
    known = accepted.accepted(known_file) if known_file else frozenset()
    from tracekit import load
    from tracekit.rules import diagnose

    reports: list[Report] = []
    failed: list[TracekitError] = []
    for source in traces:
        try:
            with output.progress(f"reading {source}"):
                report = diagnose(load(source), config=chosen.config)
        except TracekitError as error:
            if len(traces) == 1 or isinstance(error, OptionError):
                raise
            failed.append(error)
            continue
        reports.append(accepted.without(report, known))
    if write_baseline is not None:
        output.emit(accepted.write(reports), write_baseline, force=force)
    output.emit(_text(reports, format, out, verbose), out, force=force)
    for failure in failed:
        print(f"error: {failure}", file=sys.stderr)  # noqa: T201
    if failed:
        return 2
    limit = SEVERITIES.index(fail_on)
    found = any(SEVERITIES.index(f.severity) <= limit for r in reports for f in r.findings)
    return 1 if found and not exit_zero else 0


def _text(reports: list[Report], name: str, out: Path | None, verbose: bool) -> str:
    if name == "terminal":
        from tracekit.report.render import terminal

        return "\n".join(
            terminal.render(
                r,
                width=output.width(),
                colour=output.colour() and out is None,
                verbose=verbose,
            )
            for r in reports
        )
    if len(reports) > 1 and name in ("json", "sarif", "junit", "html"):
        raise OptionError(
            f"format {name} holds one trace",
            hint="run diagnose once a trace, or use 'tracekit batch'",
        )
    render = renderer(name)
    return "\n".join(render(r) for r in reports)


__all__ = ["FORMATS", "command"]
