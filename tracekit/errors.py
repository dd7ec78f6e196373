"""Every error a user can meet: what is wrong, where, and what to do about it."""

from __future__ import annotations

__all__ = ["MissingExtraError", "OptionError", "TraceError", "TracekitError"]


class TracekitError(Exception):
    """Base of all errors raised on purpose; the command exits with ``exit_code``.

    >>> str(TracekitError("no such file", where="a.json", hint="check the path"))
    'a.json: no such file (hint: check the path)'
    """

    exit_code = 2

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(what)

    def __reduce__(self) -> tuple[object, ...]:
        """Keep keyword-only state when the error crosses a process boundary."""
        return _rebuild, (type(self), self.what, self.where, self.hint)

    def __str__(self) -> str:
        """One line: ``where: what (hint: …)``."""
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text} (hint: {self.hint})" if self.hint else text


def _rebuild(
    cls: type[TracekitError], what: str, where: str | None, hint: str | None
) -> TracekitError:
    return cls(what, where=where, hint=hint)


class TraceError(TracekitError):
    """The input is not a trace that can be read; ``where`` names the file and the byte or event."""


class OptionError(TracekitError):
    """An argument, option or configuration value is wrong."""


class MissingExtraError(TracekitError):
    """An optional dependency is not installed.

    >>> str(MissingExtraError("reading s3://", extra="remote"))
    "reading s3:// needs an optional dependency (hint: pip install 'torch-tracekit[remote]')"
    """

    def __init__(
        self,
        what: str,
        *,
        extra: str | None = None,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        if extra is not None:
            what = f"{what} needs an optional dependency"
            hint = f"pip install 'torch-tracekit[{extra}]'"
        super().__init__(what, where=where, hint=hint)
