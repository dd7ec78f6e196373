"""Paths and loaded traces that tests share."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

import tracekit
from tracekit.trace import Trace

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"


@pytest.fixture(autouse=True)
def _in_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples name fixtures relative to the project."""
    monkeypatch.chdir(ROOT)


@cache
def loaded(name: str) -> Trace:
    """The trace ``fixtures/<name>.json.gz``, loaded once a process."""
    return tracekit.load(os.fspath(FIXTURES / f"{name}.json.gz"))


@pytest.fixture(scope="session")
def trace() -> object:
    """The loader of fixtures, by name."""
    return loaded
