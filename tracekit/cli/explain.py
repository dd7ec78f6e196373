"""``tracekit explain``."""

from __future__ import annotations

from tracekit.cli import output
from tracekit.rules import get_rule
from tracekit.rules.model import Rule


def command(code: str) -> int:
    """Print the documentation of a rule.

    Example: tracekit explain TK101

    Parameters
    ----------
    code:
        Code or slug of a rule.
    """
    output.emit(text(get_rule(code)), None)
    return 0


def text(rule: Rule) -> str:
    """The rule's documentation as plain text."""
    lines = [
        f"{rule.code} {rule.title} [{rule.slug}], {rule.severity}",
        "",
        rule.text.split("\n", 1)[0],
        "",
    ]
    for title, body in rule.sections.items():
        lines += [title, *(f"    {line}".rstrip() for line in body.splitlines()), ""]
    if rule.options:
        lines.append("Options")
        for name, opt in rule.options.items():
            unit = f" {opt.unit}" if opt.unit else ""
            lines.append(f"    {name} = {opt.default!r}{unit}: {opt.meaning}")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"
