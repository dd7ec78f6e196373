"""Builds the command-line application for the tokens at hand."""

from __future__ import annotations

import difflib
from typing import Any

import cyclopts

from tracekit._version import __version__
from tracekit.cli import load_command
from tracekit.errors import OptionError


def build(commands: dict[str, str], tokens: list[str]) -> Any:
    """An application that knows every command and has imported the one that is called."""
    called = next((t for t in tokens if not t.startswith("-")), None)
    if called is not None and called not in commands:
        close = difflib.get_close_matches(called, commands, n=1)
        hint = f"did you mean {close[0]}?" if close else "'tracekit --help' lists them"
        raise OptionError(f"no command {called!r}", hint=hint)
    app = _App(
        name="tracekit",
        version=f"tracekit {__version__}",
        help="Reads a saved GPU profile and says what is slow, why, and what the fix gives back.\n\n"
        "Exit codes: 0 nothing found, 1 findings, 2 error.",
        help_format="plaintext",
    )
    for name, text in commands.items():
        if name == called:
            app.command(load_command(name), name=name)
        else:
            app.command(cyclopts.App(name=name, help=text))
    return app


class _App(cyclopts.App):
    """Turns cyclopts' own errors into ours: one line and exit code 2."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except cyclopts.CycloptsError as error:
            text = " ".join(str(error).split())
            raise OptionError(text, hint="'tracekit COMMAND --help' shows the options") from None
