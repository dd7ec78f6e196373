"""Finds the event list in a trace's text, feeds it to a sink, and rescues what is damaged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tracekit.errors import TraceError
from tracekit.io import salvage
from tracekit.io.losses import Losses
from tracekit.io.sink import EventSink, Stop

LIST_KEY = "traceEvents"
MAX_MEMBER = 64 << 20
"""A top-level member longer than this is not kept."""

_SPACE = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"


@dataclass
class Document:
    """One trace document while it is read."""

    blocks: Iterator[bytes]
    sink: EventSink
    name: str
    losses: Losses
    metadata: dict[str, Any] = field(default_factory=dict)
    _buffer: bytes = b""
    _offset: int = 0
    """Of the buffer's first byte in the whole text."""
    _done: bool = False

    def read(self) -> None:
        """Read all; raises :class:`TraceError` for text that is no trace."""
        self._more()
        if self._buffer[:3] == _BOM:
            self._drop(3)
        head = self._peek()
        if not head:
            raise TraceError("is empty", where=self.name, hint="the profiler wrote nothing")
        if head == b"[":
            self._drop(1)
            self._events()
            self._end()
        elif head == b"{":
            self._drop(1)
            self._object()
        else:
            raise TraceError(
                f"is no JSON (byte {self._offset})",
                where=self.name,
                hint="pass a Chrome trace (.json, .json.gz) that a profiler exported",
            )

    # --- text ---

    def _more(self) -> bool:
        """Add text to the buffer; False at the end of the text."""
        wanted = self.sink.block_bytes
        parts = [self._buffer]
        size = 0
        while size < wanted:
            block = next(self.blocks, None)
            if block is None:
                self._done = True
                break
            parts.append(block)
            size += len(block)
        self._buffer = b"".join(parts) if len(parts) > 1 else self._buffer
        return size > 0

    def _drop(self, count: int) -> None:
        self._buffer = self._buffer[count:]
        self._offset += count

    def _peek(self) -> bytes:
        """The next byte that is no white space; empty at the end."""
        while True:
            self._drop(len(self._buffer) - len(self._buffer.lstrip(_SPACE)))
            if self._buffer or not self._more():
                return self._buffer[:1]

    # --- the document around the list ---

    def _object(self) -> None:
        found = False
        while True:
            head = self._peek()
            if head == b"}":
                self._drop(1)
                break
            if head == b",":
                self._drop(1)
                continue
            key = self._key(found)
            if key is None:
                break
            if key == LIST_KEY and self._peek() == b"[" and not found:
                self._drop(1)
                found = True
                if not self._events():
                    return
            elif key == LIST_KEY and not found:
                raise TraceError(
                    f"{LIST_KEY} is not a list (byte {self._offset})",
                    where=self.name,
                    hint="unwrap the object that holds the list of events",
                )
            elif not self._member(key, found):
                break
        if not found:
            if "truncated" in self.losses or (self._done and not self._buffer and not self.metadata):
                raise TraceError(
                    f"ends before any event (byte {self._offset})", where=self.name,
                    hint="the file is cut off; copy or export it again",
                )  # fmt: skip
            raise TraceError(
                f"is JSON, but no trace: it has no {LIST_KEY}",
                where=self.name,
                hint="pass the file that export_chrome_trace or tensorboard_trace_handler wrote",
            )
        self._end()

    def _key(self, found: bool) -> str | None:
        """The next member's name; ``None`` where the text breaks behind the events."""
        value = self._value()
        text = None
        if value is not None and value[:1] == b'"':
            try:
                text = msgspec.json.decode(value, type=str)
            except (msgspec.DecodeError, UnicodeDecodeError):
                text = None
        if text is not None and self._peek() == b":":
            self._drop(1)
            return text
        self._broken(found)
        return None

    def _member(self, key: str, found: bool) -> bool:
        value = self._value()
        if value is None:
            self._broken(found)
            return False
        if len(value) > MAX_MEMBER:
            return True
        try:
            self.metadata[key] = msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            fixed = salvage.repair_value(value)
            if fixed is None:
                self.losses.add("bad_trailer" if found else "bad_syntax", self._offset)
            else:
                self.metadata[key] = msgspec.json.decode(fixed[0])
                for code in fixed[1]:
                    self.losses.add(code, self._offset)
        return True

    def _broken(self, found: bool) -> None:
        """The text around the list is no JSON, or ends."""
        if found:
            self._peek()
            cut = self._done and not self._buffer
            self.losses.add("truncated" if cut else "bad_trailer", self._offset)
            self._skip_all()
            return
        if self._done and not self._buffer:
            raise TraceError(
                f"ends before any event (byte {self._offset})", where=self.name,
                hint="the file is cut off; copy or export it again",
            )  # fmt: skip
        raise TraceError(
            f"is no JSON (byte {self._offset})",
            where=self.name,
            hint="pass a Chrome trace (.json, .json.gz) that a profiler exported",
        )

    def _value(self) -> bytes | None:
        """The text of the next value, taken off the buffer; ``None`` where it does not end."""
        if not self._peek():
            return None
        start = 0
        while True:
            end = salvage.value_end(self._buffer, start)
            if end is not None:
                value = self._buffer[:end]
                self._drop(end)
                return value
            if len(self._buffer) > 4 * MAX_MEMBER or not self._more():
                self._drop(len(self._buffer))
                return None

    def _end(self) -> None:
        if self._peek():
            if not self._buffer.strip(b"\0 \t\r\n"):
                return
            self.losses.add("extra_data", self._offset)
            self._skip_all()

    def _skip_all(self) -> None:
        """Drain what is left, so that damage of the compressed data is still seen."""
        self._drop(len(self._buffer))
        for block in self.blocks:
            self._offset += len(block)
        self._done = True

    # --- the list ---

    def _events(self) -> bool:
        """Feed the list to the sink; False where the text ended inside it."""
        while True:
            progress = self.sink.feed(self._buffer, self._offset)
            if progress.stop is Stop.DAMAGE:
                at = progress.at - progress.consumed
                self._drop(progress.consumed)
                if self._rescue(max(at, 0)):
                    return True
                continue
            self._drop(progress.consumed)
            if progress.stop is Stop.END:
                return True
            if not self._more():
                self._cut_off()
                return False

    def _rescue(self, at: int) -> bool:
        """Deal with what is no entry at the start of the buffer; True where the list ended."""
        head = self._buffer[:1]
        if head == b"]":
            self._drop(1)
            return True
        if head == b",":
            self.losses.add("bad_syntax", self._offset)
            self._drop(1)
            return False
        if head == b"}":
            self.losses.add("bad_trailer", self._offset)
            return True
        offset = self._offset + at
        ends = salvage.ends(self._buffer, at)
        while not ends and not self._done and len(self._buffer) < salvage.MAX_ENTRY + at:
            self._more()
            ends = salvage.ends(self._buffer, at)
        # The damage may have been found behind the end of its own entry.
        for end in sorted({*salvage.ends(self._buffer, 0), *ends}):
            if end > salvage.MAX_ENTRY:
                break
            fixed = salvage.repair(self._buffer[:end])
            if fixed is not None and self._feed_one(fixed[0]):
                for code in sorted(fixed[1]) or ["bad_syntax"]:
                    self.losses.add(code, offset, self.sink.entries - 1)
                self._drop(end)
                return self._separator()
        if not ends:
            if self._done:
                self._cut_off()
            else:
                self.losses.add("bad_syntax", offset)
            self._skip_all()
            return True
        self.losses.add("bad_syntax", offset, self.sink.entries)
        self._drop(ends[0])
        return self._separator()

    def _feed_one(self, entry: bytes) -> bool:
        before = self.sink.entries
        self.sink.feed(entry + b",", self._offset)
        return self.sink.entries > before

    def _separator(self) -> bool:
        """Take the separator behind a rescued entry; True where the list ends."""
        head = self._peek()
        if head in (b",", b"]"):
            self._drop(1)
        elif not head:
            self.losses.add("truncated", self._offset)
            return True
        else:
            self.losses.add("bad_syntax", self._offset)
        return head == b"]"

    def _cut_off(self) -> None:
        """The text ends inside the list: keep the last entry if it is whole."""
        rest = self._buffer.strip(_SPACE)
        if rest.endswith(b"}"):
            self.sink.feed(rest + b",", self._offset)
        self.losses.add("truncated", self._offset + len(self._buffer))
        self._drop(len(self._buffer))
