"""Opens whatever holds a trace and yields its decompressed bytes in blocks."""

from __future__ import annotations

import importlib
import io
import os
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from tracekit.errors import MissingExtraError, TraceError
from tracekit.io.losses import Losses

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZIP = b"PK\x03\x04"
_BLOCK = 1 << 20


def open_source(source: Any) -> tuple[IO[bytes], str]:
    """A binary stream for ``source`` and its name for people.

    ``source`` is a path, URL, ``"-"`` for standard input, bytes, an open file, or a live
    ``torch.profiler.profile``. Raises :class:`TraceError` for one that cannot be opened.

    >>> open_source(b"{}")[1]
    '<bytes>'
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return io.BytesIO(source), "<bytes>"
    if hasattr(source, "export_chrome_trace"):
        return _exported(source), "<live profiler>"
    if hasattr(source, "read"):
        name = getattr(source, "name", None)
        return _binary(source), str(name) if isinstance(name, str) else "<file>"
    if not isinstance(source, (str, os.PathLike)):
        raise TraceError(
            f"cannot read a trace from a {type(source).__name__}",
            hint="pass a path, URL, bytes, open file, or torch profiler",
        )
    name = os.fspath(source)
    if name == "-":
        return sys.stdin.buffer, "<stdin>"
    if isinstance(name, str) and "://" in name:
        return _remote(name), name
    try:
        return Path(name).open("rb"), str(name)
    except FileNotFoundError:
        raise TraceError("no such file", where=str(name), hint="check the path") from None
    except IsADirectoryError:
        raise TraceError(
            "is a directory", where=str(name), hint="name one trace, or use 'tracekit batch'"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TraceError(f"cannot be opened: {reason}", where=str(name)) from None


def _exported(profiler: Any) -> IO[bytes]:
    """The trace of a live profiler, through the one exporter it has: a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        try:
            profiler.export_chrome_trace(str(path))
        except Exception as error:
            raise TraceError(
                f"the profiler cannot export its trace: {str(error).splitlines()[0]}",
                where="<live profiler>",
                hint="load it after the profiler has stopped, once",
            ) from error
        return io.BytesIO(path.read_bytes())


def _binary(stream: Any) -> IO[bytes]:
    buffer = getattr(stream, "buffer", None)
    if buffer is not None:
        return buffer  # type: ignore[no-any-return]
    if isinstance(stream, io.TextIOBase):
        return io.BytesIO(stream.read().encode())
    return stream  # type: ignore[no-any-return]


def _remote(url: str) -> IO[bytes]:
    try:
        fsspec = importlib.import_module("fsspec")
    except ImportError:
        raise MissingExtraError(f"reading {url.partition(':')[0]}://", extra="remote") from None
    try:
        return fsspec.open(url, "rb").open()  # type: ignore[no-any-return]
    except ImportError as error:
        raise TraceError(str(error), where=url, hint="install the file system it names") from None
    except Exception as error:
        raise TraceError(f"cannot be opened: {error}", where=url) from error


def blocks(stream: IO[bytes], name: str, losses: Losses) -> Iterator[bytes]:
    """Decompressed text in blocks of bounded size; what is wrong with the data goes to losses."""
    try:
        head = stream.read(_BLOCK)
        if head[:2] == _GZIP:
            yield from _gunzip(_rest(head, stream), losses)
        elif head[:4] == _ZSTD:
            yield from _unzstd(_rest(head, stream), losses)
        elif head[:4] == _ZIP:
            yield from _unzip(head + stream.read(), name, losses)
        else:
            yield from _rest(head, stream)
    except OSError as error:
        raise TraceError(f"cannot be read: {error.strerror or error}", where=name) from None


def _rest(head: bytes, stream: IO[bytes]) -> Iterator[bytes]:
    while head:
        yield head
        head = stream.read(_BLOCK)


def _inflater() -> Any:
    """ISA-L where it is installed (extra ``fast``): three times as fast as zlib."""
    try:
        return importlib.import_module("isal.isal_zlib").decompressobj(31)
    except ImportError:
        return zlib.decompressobj(31)


def _gunzip(chunks: Iterator[bytes], losses: Losses) -> Iterator[bytes]:
    inflater, members, offset = _inflater(), 0, 0
    fresh = True
    for chunk in chunks:
        data = chunk
        while data:
            if fresh and members and not data.lstrip(b"\0"):
                break  # padding with zeros is usual on tape and some object stores
            if fresh and members and data[:1] != _GZIP[:1]:
                losses.add("gzip_trailing_garbage", offset)
                return
            fresh = False
            try:
                out = inflater.decompress(data, _BLOCK)
            except Exception as error:  # noqa: BLE001 - zlib.error and isal's own class
                losses.add("gzip_corrupt" if "memory" not in str(error) else "truncated", offset)
                return
            if out:
                offset += len(out)
                yield out
            if inflater.eof:
                data = inflater.unused_data
                inflater, members, fresh = _inflater(), members + 1, True
            else:
                data = inflater.unconsumed_tail
                if not out and not data:
                    break
    if not fresh and not inflater.eof:
        while True:
            out = inflater.decompress(b"", _BLOCK)
            if not out:
                break
            offset += len(out)
            yield out
        losses.add("truncated", offset)


def _unzstd(chunks: Iterator[bytes], losses: Losses) -> Iterator[bytes]:
    try:
        zstd = importlib.import_module("zstandard")
    except ImportError:
        raise MissingExtraError("reading .zst", extra="zstd") from None
    reader = zstd.ZstdDecompressor().stream_reader(
        _Chunks(chunks), read_across_frames=True, read_size=_BLOCK
    )
    offset = 0
    while True:
        try:
            out = reader.read(_BLOCK)
        except zstd.ZstdError:
            losses.add("truncated" if offset else "gzip_corrupt", offset)
            return
        if not out:
            return
        offset += len(out)
        yield out


class _Chunks(io.RawIOBase):
    """A file over an iterator of bytes, for decoders that want one."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._left:
            following = next(self._chunks, None)
            if following is None:
                return 0
            self._left = following
        count = min(len(target), len(self._left))
        target[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


def _unzip(data: bytes, name: str, losses: Losses) -> Iterator[bytes]:
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = [m for m in archive.infolist() if not m.is_dir()]
    except zipfile.BadZipFile as error:
        raise TraceError(f"is a broken zip archive: {error}", where=name) from None
    if len(members) != 1:
        raise TraceError(
            f"is a zip archive of {len(members)} files", where=name, hint="unpack it, name one"
        )
    offset = 0
    try:
        with archive.open(members[0]) as stream:
            inner = blocks(stream, f"{name}:{members[0].filename}", losses)
            for out in inner:
                offset += len(out)
                yield out
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        if not offset:
            raise TraceError(f"cannot be unpacked: {error}", where=name) from None
        losses.add("gzip_corrupt", offset)
