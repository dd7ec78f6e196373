"""What a rule is: its text, what it needs, its options, and the query that finds."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from tracekit.errors import OptionError
from tracekit.report.model import Confidence, Severity, Where

if TYPE_CHECKING:
    from tracekit.rules.context import Context

SECTIONS = ("What it finds", "Why it costs", "How to confirm", "Fix", "When it is wrong")
"""Sections of a rule's docstring, in order. They feed ``explain``, the docs, HTML and SARIF."""

SAVED = pl.Schema(
    {"id": pl.UInt32(), "low_ns": pl.Int64(), "expected_ns": pl.Int64(), "high_ns": pl.Int64()}
)
"""Time given back by one event: of a device event on the GPU, of an op or call on the host."""

Need = Literal["gpu", "ops", "links", "shapes", "stacks", "steps", "memory", "ranks"]

_CODE = re.compile(r"^[A-Z]{2,8}[0-9]{3,4}$")


@dataclass(frozen=True)
class Opt:
    """One option of a rule: default (its type is the option's), unit, meaning."""

    default: bool | int | float | str
    meaning: str
    unit: str = ""


@dataclass(frozen=True)
class Found:
    """What a rule yields for one cause.

    ``saved`` (:data:`SAVED`) says how much of each device event's time the fix gives back (negative
    where it adds work), ``host_saved`` the same for ops and launches on the host, in recorded time.
    The engine caps both at the time the event took, and works out what the wall gains.
    """

    message: str
    fix: str
    evidence: pl.DataFrame
    events: pl.Series
    where: Where
    confidence: Confidence = "high"
    calls: int = 1
    saved: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SAVED))
    host_saved: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SAVED))
    basis: str = ""
    severity: Severity | None = None
    """Instead of the rule's own."""


Check = Callable[["Context"], Iterator[Found]]


@dataclass(frozen=True)
class Rule:
    """A rule as registered; made by :func:`rule`.

    >>> from tracekit.rules import get_rule
    >>> get_rule("TK101").slug
    'sdpa-math-backend'
    """

    code: str
    slug: str
    title: str
    severity: Severity
    needs: tuple[Need, ...]
    options: Mapping[str, Opt]
    check: Check

    @cached_property
    def text(self) -> str:
        """The whole documentation, dedented."""
        return inspect.cleandoc(self.check.__doc__ or "")

    @cached_property
    def sections(self) -> dict[str, str]:
        """Documentation by section title; raises ``OptionError`` when one of SECTIONS is absent."""
        pattern = r"^(" + "|".join(map(re.escape, SECTIONS)) + r")\n-+\n"
        parts = re.split(pattern, self.text, flags=re.MULTILINE)
        found = {parts[i]: parts[i + 1].strip() for i in range(1, len(parts), 2)}
        absent = [s for s in SECTIONS if not found.get(s)]
        if absent:
            raise OptionError(f"rule {self.code} has no section {', '.join(absent)}")
        return found

    @property
    def family(self) -> str:
        """The code's first digit with its letters, e.g. ``TK1``."""
        return re.sub(r"\d+$", "", self.code) + re.sub(r"\D", "", self.code)[0]


def rule(
    code: str,
    slug: str,
    title: str,
    *,
    severity: Severity = "warning",
    needs: Iterable[Need] = ("gpu",),
    **options: Opt,
) -> Callable[[Check], Rule]:
    """Make a :class:`Rule` of a function that takes a :class:`Context` and yields :class:`Found`.

    Raises :class:`OptionError` for a code that is not letters and three or four digits.

    >>> @rule("ACME001", "big-kernel", "A kernel of over a second", limit_s=Opt(1.0, "limit", "s"))
    ... def big(ctx):
    ...     yield from ()
    >>> big.code, big.options["limit_s"].default
    ('ACME001', 1.0)
    """
    if not _CODE.match(code):
        raise OptionError(f"bad rule code {code!r}", hint="letters, then three or four digits")

    def register(check: Check) -> Rule:
        return Rule(code, slug, title, severity, tuple(needs), dict(options), check)

    return register


def saved(
    frame: pl.DataFrame,
    expected: pl.Expr,
    *,
    low: pl.Expr | None = None,
    high: pl.Expr | None = None,
) -> pl.DataFrame:
    """``frame`` (with ``id``) as :data:`SAVED`; ``low`` and ``high`` default to ``expected``.

    >>> f = pl.DataFrame({"id": [4], "dur_ns": [100]})
    >>> saved(f, pl.col("dur_ns"), low=pl.col("dur_ns") * 0.9).row(0)
    (4, 90, 100, 100)
    """
    low = expected if low is None else low
    high = expected if high is None else high
    columns = {"low_ns": low, "expected_ns": expected, "high_ns": high}
    return frame.select(
        pl.col("id").cast(pl.UInt32),
        *(e.fill_null(0).round().cast(pl.Int64).alias(n) for n, e in columns.items()),
    )


def options_of(rule_: Rule, given: Mapping[str, Any]) -> dict[str, Any]:
    """The rule's options with ``given`` over the defaults.

    Raises :class:`OptionError` for an unknown name or a value of another type.
    """
    values = {name: opt.default for name, opt in rule_.options.items()}
    for name, value in given.items():
        if name not in values:
            known = ", ".join(values) or "none"
            raise OptionError(f"rule {rule_.code} has no option {name!r}", hint=f"it has: {known}")
        default = values[name]
        fits = isinstance(value, type(default)) and isinstance(value, bool) == isinstance(
            default, bool
        )
        if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
            value, fits = float(value), True  # noqa: PLW2901
        if not fits:
            raise OptionError(
                f"option {name!r} of rule {rule_.code} is {value!r}",
                hint=f"it takes a {type(default).__name__}, default {default!r}",
            )
        values[name] = value
    return values
