"""Settings from ``tracekit.toml`` or ``[tool.tracekit]`` of ``pyproject.toml``."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tracekit.errors import OptionError
from tracekit.rules.config import Config


@dataclass(frozen=True)
class Settings:
    """What a configuration file says: the rules' settings and the baseline file."""

    config: Config
    baseline: Path | None = None


def settings(
    path: Path | None,
    *,
    select: list[str] | None = None,
    ignore: list[str] | None = None,
    extend_select: list[str] | None = None,
) -> Settings:
    """Settings of ``path``, else of the nearest file upward from here, with options over them."""
    found = path or _nearest()
    data = _table(found, required=path is not None) if found is not None else {}
    config = Config.from_mapping(data, where=str(found) if found else None)
    config = replace(
        config,
        select=config.select if select is None else _codes(select),
        ignore=config.ignore if ignore is None else _codes(ignore),
        extend_select=config.extend_select + _codes(extend_select or []),
    )
    baseline = data.get("baseline")
    if baseline is not None and not isinstance(baseline, str):
        raise OptionError("baseline must be a path", where=str(found))
    folder = found.parent if found is not None else Path()
    return Settings(config, folder / baseline if baseline else None)


def _codes(given: list[str]) -> tuple[str, ...]:
    return tuple(code for item in given for code in item.split(",") if code)


def _nearest() -> Path | None:
    for folder in (Path.cwd(), *Path.cwd().parents):
        own = folder / "tracekit.toml"
        if own.is_file():
            return own
        project = folder / "pyproject.toml"
        if project.is_file() and _table(project, required=False):
            return project
    return None


def _table(path: Path, *, required: bool) -> dict[str, Any]:
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        data = toml.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"cannot be read: {error}", where=str(path)) from None
    except toml.TOMLDecodeError as error:
        if not required and path.name == "pyproject.toml":
            return {}
        raise OptionError(f"is no TOML: {error}", where=str(path)) from None
    if path.name == "pyproject.toml":
        data = data.get("tool", {}).get("tracekit", {})
    return data if isinstance(data, dict) else {}
