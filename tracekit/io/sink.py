r"""The contract between the document reader and whatever turns events into tables.

:mod:`tracekit.io.document` finds the event list in the decompressed text and hands it to an
:class:`EventSink` piece by piece. There are two sinks of one specification: the Python one
(:mod:`tracekit.io.python_sink`, the oracle) and the native one. For the same calls they must stop
at the same places and build equal tables, frame for frame.

**The text.** Every buffer starts where an entry of the event list is expected (white space may come
first), never at a separator. An entry is *done* only when the separator behind it, ``,`` or ``]``,
has been seen. A sink takes as many done entries as it can and says why it stopped:

- ``MORE``: the rest of the buffer is a valid beginning of an entry (or nothing, or white space).
  The same bytes come again with more behind them.
- ``END``: the last entry was followed by ``]``; ``consumed`` points behind that ``]``.
- ``DAMAGE``: the next entry is not valid JSON (RFC 8259 in valid UTF-8, and ``\\uD800``–``\\uDFFF``
  only in pairs, nested at most :data:`MAX_DEPTH` deep), or there is no entry: a ``,``, ``]`` or
  ``}`` where one should begin, or something else than ``,`` or ``]`` behind one. ``consumed`` is
  the start of that entry, ``at`` the byte at which it turned out to be damaged. The document
  reader then repairs or skips it, feeds the repaired entry as a buffer of its own followed by
  ``,``, and goes on behind it. (An empty list stops this way too, at its ``]``.)

**The tables** (:mod:`tracekit.schema`):

- ``id`` counts entries from 0 in the order they were done, entries that are no object included;
  those have an ``id`` but no row anywhere, and are counted in :attr:`SinkResult.not_objects`.
- Duplicate keys: the last one wins, on every level that is modelled; in EXTRA a key keeps the
  place of its first occurrence.
- ``ph``, ``cat``, ``name``, ``bp``: a string, unescaped. ``pid``, ``tid``: a string, unescaped, or
  a number: an integer's decimal digits (``-0`` is ``0``), any other number as written.
- ``ts``, ``dur``: a number of microseconds, exactly times 1000, rounded half-even to an integer.
- ``id`` (the member): an integer, to FLOWS. An event has a FLOWS row when ``flow_id`` or
  ``binding`` is not null; the same rule holds for all tables of args.
- ``args``: an object; its members go by :data:`tracekit.schema.ARG_KEYS`. ``int`` fits an integer
  without fraction or exponent within int64; ``float`` fits a number that is finite, and if it is
  written without fraction or exponent lies within ±2^53; ``text`` a string; ``json`` anything, its
  text as written; ``int3`` a list of exactly three that fit ``int``.
- A string whose text is a number that would fit (``int``, ``ts``, ``dur``, ``id``; no white space
  around it) fills the column *and* stays in EXTRA. So does a member under another than a column's
  first key in ARG_KEYS (``external id``), unless the first key's value fits, which wins.
- What fits nowhere, and every member not modelled, goes to EXTRA: ``event_json`` and ``args_json``
  are JSON objects without white space between members, ``{"key":value,"key":value}``, in order;
  keys unescaped and escaped again in the shortest way (``\\"``, ``\\\\``, ``\\b \\f \\n \\r \\t``,
  ``\\u00XX`` in lower case for other control characters, everything else as UTF-8), values as
  written. Null when there is no such member. ``args`` that is no object: ``args_json`` is its text.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, Protocol

import polars as pl

MAX_DEPTH = 200
"""Lists and objects an entry may nest, itself included."""


class Stop(IntEnum):
    """Why a sink stopped."""

    MORE = 0
    END = 1
    DAMAGE = 2


class Progress(NamedTuple):
    """How far a sink came in one buffer; both numbers are byte offsets in that buffer.

    >>> Progress(120, Stop.MORE)
    Progress(consumed=120, stop=<Stop.MORE: 0>, at=0)
    """

    consumed: int
    stop: Stop
    at: int = 0


class SinkResult(NamedTuple):
    """What a sink made of all it was fed.

    ``tables`` has one frame for each of :data:`tracekit.schema.RAW`, in that schema, sorted by id.
    ``first_not_object`` is (id, byte offset in the whole text) of the first entry that is no
    object.
    """

    tables: dict[str, pl.DataFrame]
    entries: int
    not_objects: int
    first_not_object: tuple[int, int] | None


class EventSink(Protocol):
    """Turns the text of an event list into tables."""

    block_bytes: int
    """How much text the sink likes to be fed at a time."""

    @property
    def entries(self) -> int:
        """Entries done so far."""
        ...

    def feed(self, buffer: bytes, offset: int) -> Progress:
        """Take entries from ``buffer``, whose first byte lies at ``offset`` of the whole text."""
        ...

    def finish(self) -> SinkResult:
        """The tables. Called once, after the last ``feed``."""
        ...
