"""Which rules run and how: selection by code or prefix, options, severities, thresholds."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tracekit.errors import OptionError
from tracekit.report.model import SEVERITIES, Severity
from tracekit.rules.model import Rule, options_of


@dataclass(frozen=True)
class Config:
    """Settings of a diagnosis; :meth:`from_mapping` reads those of ``[tool.tracekit]``.

    ``threshold_pct``: findings that would give back less than this share of the recorded time are
    folded. ``rules`` has the options of each rule by code, ``severity`` overrides by code.

    >>> Config.from_mapping({"ignore": ["TK4"], "rules": {"TK104": {"min_us": 5.0}}}).ignore
    ('TK4',)
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    threshold_pct: float = 1.0
    severity: Mapping[str, Severity] = field(default_factory=dict)
    rules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any], *, where: str | None = None) -> Config:
        """Settings from decoded TOML; raises :class:`OptionError` naming a wrong key or value."""
        values: dict[str, Any] = {}
        for key, value in data.items():
            name = key.replace("-", "_")
            if name in ("select", "ignore", "extend_select"):
                if not (isinstance(value, list) and all(isinstance(v, str) for v in value)):
                    raise OptionError(f"{key} must be a list of rule codes", where=where)
                values[name] = tuple(value)
            elif name == "threshold_pct":
                if isinstance(value, bool) or not isinstance(value, (int, float)):
                    raise OptionError(f"{key} must be a number of percent", where=where)
                values[name] = float(value)
            elif name in ("severity", "rules"):
                if not isinstance(value, Mapping):
                    raise OptionError(f"{key} must be a table by rule code", where=where)
                values[name] = dict(value)
            elif name not in ("baseline", "devices"):  # read by the command
                raise OptionError(
                    f"unknown setting {key!r}",
                    where=where,
                    hint="select, ignore, extend-select, threshold-pct, severity, rules, baseline, "
                    "devices",
                )
        for code, severity in values.get("severity", {}).items():
            if severity not in SEVERITIES:
                raise OptionError(
                    f"severity of {code} is {severity!r}", where=where, hint=", ".join(SEVERITIES)
                )
        for code, options in values.get("rules", {}).items():
            if not isinstance(options, Mapping):
                raise OptionError(f"options of {code} must be a table", where=where)
        return cls(**values)

    def override(self, select: Iterable[str] | None, ignore: Iterable[str] | None) -> Config:
        """The same with these instead of its own ``select`` and ``ignore``, where given."""
        return replace(
            self,
            select=self.select if select is None else tuple(select),
            ignore=self.ignore if ignore is None else tuple(ignore),
        )

    def chosen(self, rules: Iterable[Rule]) -> list[Rule]:
        """The rules to run, in order of code. Raises :class:`OptionError` for an unknown code."""
        rules = sorted(rules, key=lambda r: r.code)
        known = {r.code: r for r in rules}
        for prefix in (*self.select, *self.ignore, *self.extend_select):
            check_prefix(prefix, known)
        for code in (*self.severity, *self.rules):
            if code not in known:
                raise OptionError(f"no rule {code!r}", hint=nearest_codes(code, known))
        for code, options in self.rules.items():
            options_of(known[code], options)
        wanted = self.select or ("",)
        return [
            r
            for r in rules
            if _strength(r.code, (*wanted, *self.extend_select)) > _strength(r.code, self.ignore)
        ]


def _strength(code: str, prefixes: Iterable[str]) -> int:
    """How closely the best of ``prefixes`` fits; the longer prefix wins, as with ruff."""
    return max((len(p) for p in prefixes if code.startswith(p)), default=-1)


def check_prefix(prefix: str, known: Mapping[str, Rule]) -> None:
    """Raise :class:`OptionError` unless some rule's code starts with ``prefix``."""
    if not prefix or not any(code.startswith(prefix) for code in known):
        raise OptionError(f"no rule {prefix!r}", hint=nearest_codes(prefix, known))


def nearest_codes(code: str, known: Mapping[str, Rule]) -> str:
    """A "did you mean" for a wrong code or slug."""
    words = [*known, *(r.slug for r in known.values())]
    close = difflib.get_close_matches(code, words, n=2, cutoff=0.5)
    close = close or difflib.get_close_matches(code.upper(), words, n=2, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else "'tracekit rules' lists them"
