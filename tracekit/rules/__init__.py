"""The rules: one file each, grouped by family, found by looking into the family folders."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points

from tracekit.errors import OptionError
from tracekit.rules.config import Config, nearest_codes
from tracekit.rules.engine import diagnose
from tracekit.rules.model import Found, Opt, Rule, rule

__all__ = ["Config", "Found", "Opt", "Rule", "all_rules", "diagnose", "get_rule", "rule"]

FAMILIES = ("attention", "precision", "copies", "host", "collectives", "memory", "quality")


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, ours and those of installed packages (entry point group ``tracekit.rules``).

    An entry point names a :class:`Rule` or a module that holds some. Raises :class:`OptionError`
    when two rules share a code.

    >>> [r.code for r in all_rules()][:1]
    ['TK101']
    """
    found: list[Rule] = []
    for family in FAMILIES:
        package = importlib.import_module(f"tracekit.rules.{family}")
        for info in pkgutil.iter_modules(package.__path__):
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            found += [v for v in vars(module).values() if isinstance(v, Rule)]
    for entry in entry_points(group="tracekit.rules"):
        loaded = entry.load()
        candidates = [loaded] if isinstance(loaded, Rule) else vars(loaded).values()
        found += [v for v in candidates if isinstance(v, Rule)]
    by_code: dict[str, Rule] = {}
    for candidate in found:
        other = by_code.setdefault(candidate.code, candidate)
        if other is not candidate:
            raise OptionError(
                f"two rules have the code {candidate.code}: {other.slug} and {candidate.slug}"
            )
    return tuple(sorted(by_code.values(), key=lambda r: r.code))


def get_rule(code: str) -> Rule:
    """The rule of a code or slug; raises :class:`OptionError` with the nearest names.

    >>> get_rule("hidden-device-copy").code
    'TK105'
    """
    known = {r.code: r for r in all_rules()}
    for found in known.values():
        if code.upper() == found.code or code.lower() == found.slug:
            return found
    raise OptionError(f"no rule {code!r}", hint=nearest_codes(code, known))
