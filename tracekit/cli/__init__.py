"""The command ``tracekit``: one file a command, each imported when it is called."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence

from tracekit.errors import TracekitError

COMMANDS = {
    "diagnose": "what is slow, why, and what the fix gives back",
    "compare": "attention backends, or two or more runs, side by side",
    "explain": "what a rule finds, why it costs, and the fix",
    "explain-kernel": "what each part of a kernel name says",
    "rules": "all rules",
    "tables": "show or write a table of a trace",
    "query": "SQL over the tables of a trace",
    "check": "what was lost, damaged or not recorded",
    "repair": "write a valid copy of a damaged trace",
    "info": "versions, and which reader is in use and why",
    "collect": "run attention variants or workloads and save traces",
}
"""Commands and their one-line help; ``tracekit.cli.<name>`` has the function ``command``."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code: 0 clean, 1 findings, 2 error, 130 interrupted."""
    tokens = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(tokens)
    except TracekitError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)  # noqa: T201
        return 130
    except BrokenPipeError:
        # The reader of our output has gone; what is left in the buffer has no one to read it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(tokens: list[str]) -> int:
    from tracekit.cli.app import build

    app = build(COMMANDS, tokens)
    result = app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    return result if isinstance(result, int) else 0


def load_command(name: str) -> Callable[..., int]:
    """The function of a command."""
    module = importlib.import_module(f"tracekit.cli.{name.replace('-', '_')}")
    command: Callable[..., int] = module.command
    return command
