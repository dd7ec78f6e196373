"""One loaded profile: its tables, its quality, and the way to a diagnosis."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from tracekit.errors import OptionError
from tracekit.io.raw import RawTrace
from tracekit.kernels.devices import Device
from tracekit.tables.build import Tables
from tracekit.tables.quality import Quality

if TYPE_CHECKING:
    import networkx as nx

    from tracekit.report.model import Finding, Report


class Trace:
    """One loaded profile. Tables are polars frames, built when first asked for.

    Times are integer nanoseconds; the columns of every table are in :mod:`tracekit.schema`.

    >>> import tracekit
    >>> trace = tracekit.load("fixtures/attention/sdpa_math.json.gz")
    >>> trace.kernels.height, trace.attention.height
    (68, 3)
    """

    def __init__(self, raw: RawTrace) -> None:
        self._raw = raw
        self._tables = Tables(raw)

    @property
    def source(self) -> str:
        """Where the trace came from, as text for people."""
        return self._raw.source

    @property
    def metadata(self) -> dict[str, Any]:
        """Top-level members of the document other than its events, e.g. ``distributedInfo``."""
        return self._raw.metadata

    @property
    def devices(self) -> dict[int, Device]:
        """Data sheet of each device, by the index used in ``kernels["device"]``."""
        return self._tables.devices

    @property
    def rank(self) -> int | None:
        """Rank of the process that recorded the trace, where it says so."""
        info = self.metadata.get("distributedInfo")
        rank = info.get("rank") if isinstance(info, dict) else None
        return rank if isinstance(rank, int) else None

    @property
    def world_size(self) -> int | None:
        """Number of ranks of the run, where the trace says so."""
        info = self.metadata.get("distributedInfo")
        size = info.get("world_size") if isinstance(info, dict) else None
        return size if isinstance(size, int) else None

    @property
    def base_time_ns(self) -> int:
        """What to add to any ``ts_ns`` for Unix time; 0 where times are absolute already."""
        base = self.metadata.get("baseTimeNanoseconds")
        return base if isinstance(base, int) else 0

    @property
    def span_ns(self) -> tuple[int, int] | None:
        """First start and last end of recorded work, in ns; ``None`` for an empty trace."""
        return self._tables.span_ns

    @property
    def quality(self) -> Quality:
        """What was lost, what is missing, warning codes with counts."""
        return self._tables.quality

    @property
    def events(self) -> pl.DataFrame:
        """Every event as written (:data:`tracekit.schema.EVENTS`)."""
        return self._raw.table("events")

    def args(self, ids: Iterable[int]) -> list[dict[str, Any]]:
        """The recorded arguments of these events, decoded, in the order given.

        >>> import tracekit
        >>> trace = tracekit.load("fixtures/attention/sdpa_flash.json.gz")
        >>> trace.args([int(trace.kernels["id"][0])])[0]["stream"]
        7
        """
        from tracekit.io import decode_args

        return decode_args(self._raw, list(ids))

    @property
    def ops(self) -> pl.DataFrame:
        """CPU ops and annotations (:data:`tracekit.schema.OPS`)."""
        return self._tables.ops

    @property
    def launches(self) -> pl.DataFrame:
        """Runtime and driver calls (:data:`tracekit.schema.LAUNCHES`)."""
        return self._tables.launches

    @property
    def kernels(self) -> pl.DataFrame:
        """Everything that ran on a device stream (:data:`tracekit.schema.KERNELS`)."""
        return self._tables.kernels

    @property
    def links(self) -> pl.DataFrame:
        """Edges of the correlation graph (:data:`tracekit.schema.LINKS`)."""
        return self._tables.links

    @property
    def steps(self) -> pl.DataFrame:
        """Profiler steps (:data:`tracekit.schema.STEPS`)."""
        return self._tables.steps

    @property
    def frames(self) -> pl.DataFrame:
        """Python frames (:data:`tracekit.schema.FRAMES`)."""
        return self._tables.frames

    @property
    def memory(self) -> pl.DataFrame:
        """Allocator events (:data:`tracekit.schema.MEMORY`)."""
        return self._tables.memory

    @property
    def collectives(self) -> pl.DataFrame:
        """Collective calls (:data:`tracekit.schema.COLLECTIVES`)."""
        return self._tables.collectives

    @cached_property
    def _attention(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        from tracekit.attention import attention_calls

        return attention_calls(self.ops, self.launches, self.kernels)

    @property
    def attention(self) -> pl.DataFrame:
        """Attention calls (:data:`tracekit.schema.ATTENTION`)."""
        return self._attention[0]

    @property
    def attention_events(self) -> pl.DataFrame:
        """Device events of attention calls (:data:`tracekit.schema.ATTENTION_EVENTS`)."""
        return self._attention[1]

    def table(self, name: str) -> pl.DataFrame:
        """The table called ``name``; raises :class:`OptionError` when there is none."""
        from tracekit import schema

        names = ["events", *(t.name for t in schema.PUBLIC)]
        if name not in names:
            raise OptionError(f"no table {name!r}", hint=f"one of {', '.join(names)}")
        frame: pl.DataFrame = getattr(self, name)
        return frame

    def graph(
        self,
        *,
        op: int | None = None,
        step: int | None = None,
        finding: Finding | None = None,
    ) -> nx.DiGraph:
        """The correlation graph as a :class:`networkx.DiGraph`, of one op, step or finding.

        Nodes are event ids with ``kind``, ``name``, ``ts_ns`` and ``dur_ns``; edges carry
        ``relation`` and ``evidence``. Without a choice the whole trace, if it is small.

        Raises :class:`OptionError` for an op or step that does not exist, or for the whole of a
        trace of more than :data:`tracekit.graph.LIMIT` nodes.

        >>> import tracekit
        >>> trace = tracekit.load("fixtures/attention/sdpa_flash.json.gz")
        >>> sorted(d["kind"] for _, d in trace.graph(step=2).nodes(data=True))[0]
        'annotation'
        """
        from tracekit.graph import correlation_graph

        events = finding.events if finding is not None else None
        return correlation_graph(
            self.ops, self.launches, self.kernels, self.links, op=op, step=step, events=events
        )

    def diagnose(
        self, select: Iterable[str] | None = None, ignore: Iterable[str] | None = None
    ) -> Report:
        """Run the rules and rank what they find.

        ``select`` and ``ignore`` take codes or prefixes, e.g. ``["TK1", "TK302"]``.
        Raises :class:`OptionError` for a code that no rule has.

        >>> import tracekit
        >>> report = tracekit.load("fixtures/attention/sdpa_math.json.gz").diagnose()
        >>> report.findings[0].code
        'TK101'
        """
        from tracekit.rules import diagnose

        return diagnose(self, select=select, ignore=ignore)

    def __repr__(self) -> str:
        """Source and size in one line."""
        counts = self.quality.counts
        return (
            f"<Trace {self.source}: {counts['events']} events, {counts['ops']} ops, "
            f"{counts['device_events']} device events>"
        )
