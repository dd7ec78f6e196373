"""Repair of one damaged entry: a tolerant reading of JSON that writes strict JSON."""

from __future__ import annotations

import re

MAX_ENTRY = 1 << 20
"""A damaged entry longer than this is not repaired but skipped."""

_NEXT = re.compile(rb"\}\s*(?=,\s*\{\s*\"|\]|\Z)|\}\s+(?=\{\s*\")")
"""Where an entry may end: before another that begins, or before the end of the list."""

_LITERALS = (b"true", b"false", b"null")
_NONFINITE = re.compile(rb"[+-]?(NaN|nan|Infinity|Inf|inf|1\.#\w+)\Z")
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LOOSE_NUMBER = re.compile(rb"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?\Z")
_WORD = re.compile(rb"[^\s,:{}\[\]\"]+")
_SPACE = re.compile(rb"[ \t\r\n]*")
_AFTER_STRING = re.compile(
    rb"[ \t\r\n]*(?::|[\]}](?:[ \t\r\n]*[,\]}]|[ \t\r\n]*\Z)"
    rb"|,[ \t\r\n]*(?:\"[^\"\n]{1,80}\"[ \t\r\n]*[:,\]]|[-0-9\[{]|true|false|null|\w+\"[ \t]*:)|\Z)"
)
_ESCAPE = re.compile(rb"\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4})")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_PAIR = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_CONTROL = re.compile(rb"[\x00-\x1f]")
_DEPTH = 200


def ends(text: bytes, start: int) -> list[int]:
    """Where an entry that starts before ``start`` may end, nearest first.

    >>> ends(b'{"a": "x"y"}, {"b": 1}]', 0)
    [12, 22]
    """
    found = (m.end() for m in _NEXT.finditer(text, start, min(len(text), start + MAX_ENTRY)))
    return [e for e, _ in zip(found, range(8), strict=False)]


def repair(text: bytes) -> tuple[bytes, set[str]] | None:
    r"""Strict JSON for a damaged object and the codes of what was wrong; ``None`` if hopeless.

    >>> repair(b'{"name": "a "b" c", "dur": NaN, "x": N/A}')[0]
    b'{"name":"a \\\\"b\\\\" c","dur":null,"x":null}'
    >>> repair(b'{tid": 0}')
    (b'{"tid":0}', {'bad_syntax'})
    """
    codes: set[str] = set()
    try:
        text.decode()
    except UnicodeDecodeError:
        codes.add("invalid_utf8")
        text = text.decode(errors="replace").encode()
    reader = _Tolerant(text, codes)
    try:
        value = reader.value(0)
    except _HopelessError:
        return None
    rest = text[reader.at :].strip()
    if rest or not value.startswith(b"{"):
        return None
    return value, codes


class _HopelessError(Exception):
    """The text cannot be read even tolerantly."""


class _Tolerant:
    def __init__(self, text: bytes, codes: set[str]) -> None:
        self.text = text
        self.codes = codes
        self.at = 0

    def value(self, depth: int) -> bytes:
        """One value, written strictly."""
        if depth > _DEPTH:
            raise _HopelessError
        self._space()
        head = self.text[self.at : self.at + 1]
        if head == b"{":
            return self._object(depth)
        if head == b"[":
            return self._list(depth)
        if head == b'"':
            return self._string()
        if head in (b",", b"}", b"]", b""):
            if not head:
                raise _HopelessError
            self.codes.add("bad_syntax")  # "key": ,
            return b"null"
        return self._word()

    def _space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _peek(self) -> bytes:
        self._space()
        return self.text[self.at : self.at + 1]

    def _object(self, depth: int) -> bytes:
        self.at += 1
        members: list[bytes] = []
        while True:
            head = self._peek()
            if head == b"}":
                self.at += 1
                return b"{" + b",".join(members) + b"}"
            if head == b",":
                self.at += 1
                self.codes.add("bad_syntax")
                continue
            key = self._key()
            if self._peek() != b":":
                raise _HopelessError
            self.at += 1
            members.append(key + b":" + self.value(depth + 1))
            self._separator(b"}")

    def _separator(self, close: bytes) -> None:
        head = self._peek()
        if head == b",":
            self.at += 1
            if self._peek() == close:
                self.codes.add("bad_syntax")
        elif head not in (close, b'"'):
            raise _HopelessError
        elif head == b'"':
            self.codes.add("bad_syntax")  # a comma is missing

    def _key(self) -> bytes:
        if self._peek() == b'"':
            return self._string()
        found = re.compile(rb"([\w .%()/-]{1,80}?)\"?(?=\s*:)").match(self.text, self.at)
        if found is None:
            raise _HopelessError
        self.codes.add("bad_syntax")
        self.at = found.end()
        return b'"' + found[1] + b'"'

    def _list(self, depth: int) -> bytes:
        self.at += 1
        items: list[bytes] = []
        while True:
            head = self._peek()
            if head == b"]":
                self.at += 1
                return b"[" + b",".join(items) + b"]"
            if head == b",":
                self.at += 1
                self.codes.add("bad_syntax")
                continue
            if head in (b"", b"}"):
                raise _HopelessError
            items.append(self.value(depth + 1))
            head = self._peek()
            if head == b",":
                self.at += 1
                if self._peek() == b"]":
                    self.codes.add("bad_syntax")
            elif head != b"]":
                raise _HopelessError

    def _word(self) -> bytes:
        found = _WORD.match(self.text, self.at)
        if found is None:
            raise _HopelessError
        word = found[0]
        self.at = found.end()
        if word in _LITERALS or _NUMBER.fullmatch(word):
            return word
        if _NONFINITE.match(word):
            self.codes.add("nonfinite_literal")
        elif _LOOSE_NUMBER.match(word):
            self.codes.add("bad_syntax")
            return b'"' + word + b'"'
        else:
            self.codes.add("bad_literal")
        return b"null"

    def _string(self) -> bytes:
        """A string up to the quote that ends it: one that JSON can go on behind."""
        start = self.at + 1
        at = start
        while True:
            at = self.text.find(b'"', at)
            if at < 0:
                raise _HopelessError
            slashes = 0
            while at - slashes > start and self.text[at - slashes - 1] == 0x5C:
                slashes += 1
            if slashes % 2 == 0 and _AFTER_STRING.match(self.text, at + 1):
                break
            at += 1
        self.at = at + 1
        return b'"' + self._inner(self.text[start:at]) + b'"'

    def _inner(self, inner: bytes) -> bytes:
        bare = _ESCAPE.sub(b"", inner)
        if b"\\" in bare or _SURROGATE.search(_PAIR.sub(b"", inner)):
            # One wrong escape shows that nothing in the string was escaped (Windows paths).
            self.codes.add("bad_escape")
            inner = re.sub(rb'\\(?!")', rb"\\\\", inner)
        quoted = re.sub(rb'(?<!\\)((?:\\\\)*)"', rb'\1\\"', inner)
        if quoted != inner:
            self.codes.add("unescaped_quote")
        if _CONTROL.search(quoted):
            if "unescaped_quote" not in self.codes:
                self.codes.add("control_char")
            quoted = _CONTROL.sub(lambda m: b"\\u%04x" % m[0][0], quoted)
        return quoted


_STRUCTURE = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_SCALAR = re.compile(rb'[^\s,:{}\[\]"]+')


def value_end(text: bytes, start: int) -> int | None:
    """Where the value that starts at ``start`` ends, by its brackets; ``None`` if it does not.

    >>> value_end(b'{"a": [1, "}"]}, 2', 0), value_end(b"[1", 0)
    (15, None)
    """
    head = text[start : start + 1]
    if head not in (b"{", b"[", b'"'):
        found = _SCALAR.match(text, start)
        return found.end() if found and found.end() < len(text) else None
    depth = 0
    for token in _STRUCTURE.finditer(text, start):
        mark = token[0][:1]
        if mark in (b"{", b"["):
            depth += 1
        elif mark in (b"}", b"]"):
            depth -= 1
        if depth <= 0:
            return token.end()
    return None


def repair_value(text: bytes) -> tuple[bytes, set[str]] | None:
    """As :func:`repair`, for a value of any type."""
    codes: set[str] = set()
    text = text.decode(errors="replace").encode()
    reader = _Tolerant(text, codes)
    try:
        return reader.value(0), codes
    except _HopelessError:
        return None
