"""Figures as people read them: three significant digits and a unit."""

from __future__ import annotations


def duration(ns: float | None) -> str:
    """A time in the unit that fits.

    >>> [duration(n) for n in (950, 57_500, 2_637_470, 3_400_000_000, None)]
    ['950 ns', '57.5 µs', '2.64 ms', '3.4 s', 'unknown']
    """
    if ns is None:
        return "unknown"
    for limit, divisor, unit in ((999.5, 1, "ns"), (999.5e3, 1e3, "µs"), (999.5e6, 1e6, "ms")):
        if abs(ns) < limit:
            return f"{significant(ns / divisor)} {unit}"
    return f"{significant(ns / 1e9)} s"


def size(count: float | None) -> str:
    """Bytes in decimal units.

    >>> size(2_215_641_100), size(67_108_864), size(12)
    ('2.22 GB', '67.1 MB', '12 B')
    """
    if count is None:
        return "unknown"
    for limit, divisor, unit in (
        (999.5, 1, "B"),
        (999.5e3, 1e3, "kB"),
        (999.5e6, 1e6, "MB"),
        (999.5e9, 1e9, "GB"),
    ):
        if abs(count) < limit:
            return f"{significant(count / divisor)} {unit}"
    return f"{significant(count / 1e12)} TB"


def percent(share: float | None) -> str:
    """A share in percent.

    >>> percent(12.345), percent(0.04), percent(None)
    ('12.3 %', '<0.1 %', 'unknown')
    """
    if share is None:
        return "unknown"
    if 0 < share < 0.1:
        return "<0.1 %"
    return f"{significant(share)} %"


def significant(number: float) -> str:
    """Three significant digits, no trailing zeros, no exponent.

    >>> [significant(n) for n in (2.6374, 57.50, 100.4, 0.0, 1234.5)]
    ['2.64', '57.5', '100', '0', '1234']
    """
    magnitude = abs(number)
    digits = 0 if magnitude >= 99.95 else 1 if magnitude >= 9.995 else 2
    text = f"{number:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def plural(count: int, noun: str) -> str:
    """A count with its noun.

    >>> plural(1, "call"), plural(3, "copy")
    ('1 call', '3 copies')
    """
    if count == 1:
        return f"1 {noun}"
    many = noun[:-1] + "ies" if noun.endswith("y") and noun[-2] not in "aeiou" else noun + "s"
    if noun.endswith(("sh", "ch", "x", "ss")):
        many = noun + "es"
    return f"{count:,} {many}"
