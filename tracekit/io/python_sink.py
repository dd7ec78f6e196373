"""The event sink in plain Python: the specification that the native one is held to.

A block is decoded in one call into the raw text of each member; values are read from that text, so
times keep every digit. Nothing of a block stays alive after it but its columns.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec
import polars as pl

from tracekit import schema
from tracekit.io.sink import MAX_DEPTH, Progress, SinkResult, Stop

_RAW = msgspec.json.Decoder(list[msgspec.Raw])
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_OBJECTS = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_BYTE = re.compile(r"\(byte (\d+)\)$")
_ENTRY_END = re.compile(rb"[\]}\"0-9el]\s*,")
_INTEGER = re.compile(rb"-?(0|[1-9][0-9]*)\Z")
_NUMBER = re.compile(rb"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")
_TEXT_FIELDS = ("ph", "cat", "name")
_OWNERS = ("pid", "tid")
_TIMES = ("ts", "dur")
_SPACE = b" \t\r\n"
_INT64 = 2**63
_EXACT_FLOAT = 2**53
_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}

_KEYS = {k.key: k for k in schema.ARG_KEYS}
_FIRST: dict[tuple[str, str], str] = {}
for _key in schema.ARG_KEYS:
    _FIRST.setdefault((_key.table, _key.column), _key.key)

_Row = dict[str, Any]


class PythonSink:
    """See :mod:`tracekit.io.sink`.

    >>> sink = PythonSink()
    >>> sink.feed(b'{"ph":"X","name":"mm","ts":1.5,"dur":2}]', 0).stop.name
    'END'
    >>> sink.finish().tables["events"].select("name", "ts_ns", "dur_ns").row(0)
    ('mm', 1500, 2000)
    """

    block_bytes = 8 << 20

    def __init__(self) -> None:
        self._entries = 0
        self._not_objects = 0
        self._first_not_object: tuple[int, int] | None = None
        self._parts: dict[str, list[pl.DataFrame]] = {t.name: [] for t in schema.RAW}
        self._words: dict[bytes, str] = {}

    @property
    def entries(self) -> int:
        """Entries done so far."""
        return self._entries

    def feed(self, buffer: bytes, offset: int) -> Progress:
        """Take entries from ``buffer``, whose first byte lies at ``offset`` of the whole text."""
        limit, bad = _valid_text(buffer)
        text = buffer if limit == len(buffer) else buffer[:limit]
        end, stop, at, entries = _entries(text)
        if bad is not None and (stop is Stop.MORE or (stop is Stop.DAMAGE and at >= bad)):
            stop, at = Stop.DAMAGE, bad
        self._take(entries, text[:end], offset)
        if stop is Stop.DAMAGE:
            end = _skip_space(buffer, end)
        return Progress(end, stop, at if stop is Stop.DAMAGE else 0)

    def finish(self) -> SinkResult:
        """The tables. Called once, after the last ``feed``."""
        tables = {}
        for table in schema.RAW:
            parts = self._parts[table.name]
            tables[table.name] = pl.concat(parts, rechunk=True) if parts else table.empty()
        self._parts = {}
        return SinkResult(tables, self._entries, self._not_objects, self._first_not_object)

    def _take(self, entries: list[Any], text: bytes, offset: int) -> None:
        """Columns of a run of whole entries."""
        rows: dict[str, list[_Row]] = {t.name: [] for t in schema.RAW}
        for entry in entries:
            id_ = self._entries
            self._entries += 1
            if entry is None:
                self._not_objects += 1
                if self._first_not_object is None:
                    self._first_not_object = (id_, offset + _entry_offset(text, entries))
                continue
            self._event(id_, entry, rows)
        for table in schema.RAW:
            if rows[table.name]:
                self._parts[table.name].append(_frame(table, rows[table.name]))

    def _event(self, id_: int, entry: dict[str, msgspec.Raw], rows: dict[str, list[_Row]]) -> None:
        row: _Row = {"id": id_}
        flow: _Row = {}
        rest: list[str] = []
        args_json = None
        for key, raw in entry.items():
            value = bytes(raw)
            if key in _TEXT_FIELDS:
                text = self._text(value)
                if text is None:
                    rest.append(_member(key, value))
                row[key] = text
            elif key in _OWNERS:
                owner = self._owner(value)
                if owner is None:
                    rest.append(_member(key, value))
                row[key] = owner
            elif key in _TIMES:
                row[key + "_ns"] = _time(value)
                if row[key + "_ns"] is None or value[:1] == b'"':
                    rest.append(_member(key, value))
            elif key == "args":
                args_json = self._args(id_, value, rows)
            elif key == "id":
                flow["flow_id"] = _int(value)
                if flow["flow_id"] is None or value[:1] == b'"':
                    rest.append(_member(key, value))
            elif key == "bp":
                flow["binding"] = self._text(value)
                if flow["binding"] is None:
                    rest.append(_member(key, value))
            else:
                rest.append(_member(key, value))
        rows["events"].append(row)
        if any(v is not None for v in flow.values()):
            rows["flows"].append({"id": id_, **flow})
        if rest or args_json:
            event_json = "{" + ",".join(rest) + "}" if rest else None
            rows["extra"].append({"id": id_, "event_json": event_json, "args_json": args_json})

    def _args(self, id_: int, value: bytes, rows: dict[str, list[_Row]]) -> str | None:
        """Put known members of ``args`` into their tables; the others' JSON, or ``None``."""
        if value[:1] != b"{":
            return value.decode()
        found: dict[str, _Row] = {}
        rest = []
        members = _MEMBERS.decode(value)
        for key, raw in members.items():
            where = _KEYS.get(key)
            text = bytes(raw)
            fits = None if where is None else self._fit(where, text)
            if where is None or fits is None:
                rest.append(_member(key, text))
                continue
            first = _FIRST[where.table, where.column] == key
            quoted = text[:1] == b'"' and where.kind in ("int", "float", "int3")
            row = found.setdefault(where.table, {"id": id_})
            if first or not self._first_fits(where, members):
                row.update(fits)
            if quoted or not first:
                rest.append(_member(key, text))
        for table, row in found.items():
            if len(row) > 1:
                rows[table].append(row)
        return "{" + ",".join(rest) + "}" if rest else None

    def _first_fits(self, where: schema.ArgKey, members: dict[str, msgspec.Raw]) -> bool:
        first = _FIRST[where.table, where.column]
        return first in members and self._fit(_KEYS[first], bytes(members[first])) is not None

    def _fit(self, where: schema.ArgKey, text: bytes) -> _Row | None:
        """Columns that a member fills, or ``None`` where its value does not fit."""
        kind = where.kind
        value: Any
        if kind == "int":
            value = _int(text)
        elif kind == "json":
            value = self._interned(text)
        elif kind == "text":
            value = self._text(text)
        elif kind == "float":
            value = _float(text)
        else:
            return _int3(where.column, text)
        return None if value is None else {where.column: value}

    def _text(self, value: bytes) -> str | None:
        if value[:1] != b'"':
            return None
        known = self._words.get(value)
        if known is None:
            known = self._remember(value, msgspec.json.decode(value, type=str))
        return known

    def _owner(self, value: bytes) -> str | None:
        """A process or thread: a string, or a number as text."""
        if value[:1] == b'"':
            return self._text(value)
        if _INTEGER.match(value):
            return "0" if value == b"-0" else value.decode()
        return value.decode() if _NUMBER.match(value) else None

    def _interned(self, value: bytes) -> str:
        # The key may not meet that of a string's value: a JSON text never starts with NUL.
        key = b"\0" + value
        known = self._words.get(key)
        return self._remember(key, value.decode()) if known is None else known

    def _remember(self, key: bytes, word: str) -> str:
        if len(self._words) > 1 << 18:
            self._words.clear()
        self._words[key] = word
        return word


def _valid_text(buffer: bytes) -> tuple[int, int | None]:
    """How much of ``buffer`` is UTF-8, and where the first wrong byte is, if one is."""
    try:
        buffer.decode()
    except UnicodeDecodeError as error:
        # A character may be cut by the end of the block.
        cut = error.end == len(buffer) and error.reason == "unexpected end of data"
        return error.start, None if cut else error.start
    return len(buffer), None


def _entries(text: bytes) -> tuple[int, Stop, int, list[Any]]:
    """End of the whole entries in ``text``, why it ends there, the damaged byte, the entries."""
    reach = len(text)
    damage: int | None = None
    while True:
        cut = _last_separator(text, reach)
        if cut < 0:
            return _tail(text, damage)
        chunk = text[:cut]
        entries, at = _decode(chunk)
        if entries is not None:
            after = cut + 1
            end, stop, byte, more = _tail(text[after:], None if damage is None else damage - after)
            return after + end, stop, byte + after, entries + more
        if at is None:
            reach = cut
        elif at < 0:  # the list ended before
            return _ended(text, -at)
        else:
            damage = at if damage is None else min(damage, at)
            reach = min(cut, damage)


def _last_separator(text: bytes, reach: int) -> int:
    """The last comma before ``reach`` that may part two entries: one behind a closing brace, or,
    where there is none, any.
    """
    at = reach
    while True:
        at = text.rfind(b",", 0, at)
        if at < 0:
            return -1
        before = at - 1
        while before >= 0 and text[before] in _SPACE:
            before -= 1
        if before < 0:
            return -1
        if text[before] in b"}":
            return at
        after = _skip_space(text, at + 1)
        if text[before] in b']"0123456789el' and text[after : after + 1] == b"{":
            return at


def _decode(chunk: bytes) -> tuple[list[Any] | None, int | None]:
    """Entries of ``chunk``, or the byte that is wrong; ``None`` where it is merely cut.

    A negative byte: the list ended there and other text follows.
    """
    text = b"[" + chunk + b"]"
    try:
        return list(_OBJECTS.decode(text)), None
    except msgspec.ValidationError:
        pass
    except (msgspec.DecodeError, RecursionError) as error:
        return None, _fault(error)
    try:
        entries = _RAW.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        return None, _fault(error)
    return [_object(raw) for raw in entries], None


def _object(raw: msgspec.Raw) -> dict[str, msgspec.Raw] | None:
    return _MEMBERS.decode(raw) if bytes(raw)[:1] == b"{" else None


def _fault(error: Exception) -> int | None:
    """The byte of the chunk that an error of the decoder names."""
    found = _BYTE.search(str(error))
    if found is None:
        return None
    byte = int(found[1]) - 1
    # msgspec counts from 1 for this error, from 0 for the others.
    return 1 - byte if "trailing characters" in str(error) else byte


def _ended(text: bytes, end: int) -> tuple[int, Stop, int, list[Any]]:
    """The list ended before ``end``, where other text begins."""
    listed = text[:end].rstrip(_SPACE)
    entries, _ = _decode(listed[:-1])
    return len(listed), Stop.END, 0, entries or []


def _tail(text: bytes, damage: int | None) -> tuple[int, Stop, int, list[Any]]:
    """One entry, or none, at the start of ``text``: what comes behind the last sure comma."""
    start = _skip_space(text, 0)
    if start == len(text):
        return 0, Stop.MORE, 0, []
    if text[start] in b",]}":
        return start, Stop.DAMAGE, start, []
    try:
        _RAW.decode(b"[" + text)
    except msgspec.DecodeError as error:
        byte = _fault(error)
        if byte is not None and byte < 0:
            return _ended(text, -byte)
        if byte is None and damage is None:
            return 0, Stop.MORE, 0, []
        return start, Stop.DAMAGE, max(start, byte if byte is not None else damage or 0), []
    except RecursionError:
        return start, Stop.DAMAGE, start, []
    end = len(text.rstrip(_SPACE))
    return end, Stop.END, 0, _decode(text[: end - 1])[0] or []


def _skip_space(text: bytes, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _entry_offset(text: bytes, entries: list[Any]) -> int:
    """Byte at which the first entry that is no object starts."""
    at = 0
    for raw in _RAW.decode(b"[" + text.rstrip(_SPACE).rstrip(b",]") + b"]") if entries else ():
        at = text.find(bytes(raw), at)
        if bytes(raw)[:1] != b"{":
            return at
        at += len(bytes(raw))
    return 0


def _frame(table: schema.Table, rows: list[_Row]) -> pl.DataFrame:
    return pl.DataFrame(
        {c.name: pl.Series([r.get(c.name) for r in rows], dtype=c.dtype) for c in table.columns}
    )


def _unquoted(value: bytes) -> bytes:
    return value[1:-1] if value[:1] == b'"' else value


def _int(value: bytes) -> int | None:
    """A whole number within int64, also as a string of digits."""
    text = _unquoted(value)
    if len(text) > 20 or not _INTEGER.match(text):
        return None
    number = int(text)
    return number if -_INT64 <= number < _INT64 else None


def _int3(column: str, value: bytes) -> _Row | None:
    if value[:1] != b"[":
        return None
    parts = _RAW.decode(value)
    numbers = [_int(bytes(p)) if bytes(p)[:1] != b'"' else None for p in parts]
    if len(numbers) != 3 or any(n is None for n in numbers):
        return None
    return {f"{column}_{axis}": n for axis, n in zip("xyz", numbers, strict=True)}


def _float(value: bytes) -> float | None:
    if not _NUMBER.match(value) or len(value) > 400:
        return None
    number = float(value)
    if number in (float("inf"), float("-inf")):
        return None
    if _INTEGER.match(value) and abs(int(value)) > _EXACT_FLOAT:
        return None
    return number


def _time(value: bytes) -> int | None:
    """Microseconds as decimal text, times 1000, rounded half-even; ``None`` beyond int64."""
    text = _unquoted(value)
    whole, point, fraction = text.partition(b".")
    if (
        len(whole) < 16
        and len(fraction) <= 3
        and whole.isdigit()
        and (fraction.isdigit() if point else True)
    ):
        if len(whole) > 1 and whole[:1] == b"0":
            return None
        return int(whole) * 1000 + (int(fraction.ljust(3, b"0")) if fraction else 0)
    if len(text) > 400 or not _NUMBER.match(text):
        return None
    try:
        number = Decimal(text.decode())
        if number.adjusted() > 20:
            return None
        scaled = int((number * 1000).to_integral_value()) if number.adjusted() > -30 else 0
    except InvalidOperation:
        return None
    return scaled if -_INT64 <= scaled < _INT64 else None


def _member(key: str, value: bytes) -> str:
    return f'"{_escaped(key)}":{value.decode()}'


def _escaped(key: str) -> str:
    """A key in the shortest JSON spelling."""
    if key.isprintable() and '"' not in key and "\\" not in key:
        return key
    return "".join(_ESCAPES.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in key)


__all__ = ["MAX_DEPTH", "PythonSink"]
